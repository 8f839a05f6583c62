"""The plans of a calibrated programme as a folder of files: one for every question, and a lock that knows them all.

The lock holds the programme as it was asked, the digest of every plan and the budget, so that a folder can be checked
by itself (shipped.py).  It is written last: whatever interrupts the writing, a check then finds what does not match,
and writing again completes it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._support.files import sync_folder, write_whole
from .._support.locking import alone_in
from .._support.numbers import round_up
from .._support.reading import Kind, as_written, mapping, read_json
from .._support.text import shortened
from ..errors import ParameterError, ShuffleDPError
from ..mechanisms.base import Mechanism
from ..mechanisms.parameters import declared
from ..protocol.plan import Plan

if TYPE_CHECKING:
    from .asking import Chosen
    from .calibrated import CalibratedProgramme
    from .spec import Terms

LOCK_NAME = "programme.lock.json"
LOCK = Kind("the lock of the plans", 2**26, "write the plans again with shuffledp calibrate", "lock")
VERSION = 1
_KEYS = ("version", "programme", "files", "digest", "budget", "rounds")
#: Bits of a salt that is derived, not drawn.
_SALT_BITS = 50
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,99}\.json", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True)
class Source:
    """A programme as it was asked, and the digests of the files that it names."""

    programme: dict[str, Any]
    files: dict[str, str]

    @property
    def digest(self) -> str:
        """SHA-256 of what is asked, without spaces, comments, other spellings of a number and where the plans are."""
        content = {key: value for key, value in self.programme.items() if key != "plans"}
        whole = {"programme": _meant(content), "files": self.files}
        text = json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class PlanDraft:
    """What the plan of a question is made of: the place and the terms of its round, and what was chosen for it."""

    number: int
    terms: Terms
    chosen: Chosen
    mechanism: Mechanism
    delta: float

    @property
    def name(self) -> str:
        """Of the round."""
        return self.terms.name or self.chosen.asked.title

    def plan(self, source: Source) -> Plan:
        """The plan; public hash functions follow from the programme, so that the same one gives the same plan."""
        salted = self.mechanism
        if "salt" in declared(type(salted)):
            text = f"{source.digest} {self.number}".encode()
            salt = int.from_bytes(hashlib.sha256(text).digest(), "big") % 2**_SALT_BITS or 1
            salted = replace(salted, salt=salt)  # type: ignore[type-var]
        query, crowd = self.chosen.asked.query(salted, self.chosen.candidate.variant), self.terms.crowd
        kept: dict[str, Any] = {"users": crowd.n, "minimum_batch": crowd.n - crowd.dropouts, "delta": self.delta}
        reports = self.terms.numbers.get("reports_per_user", 1)
        return Plan(query=query, **kept, reports_per_user=reports, name=self.name)


def plans_of(source: Source, drafts: Iterable[PlanDraft]) -> dict[str, Plan]:
    """File names, which follow from those of the rounds, and plans."""
    found: dict[str, Plan] = {}
    for draft in drafts:
        stem = re.sub(r"[^a-z0-9]+", "-", draft.name.lower()).strip("-")[:60] or f"round-{draft.number}"
        name, times = f"{stem}.json", 1
        while name in found or name == LOCK_NAME:
            times += 1
            name = f"{stem}-{times}.json"
        found[name] = draft.plan(source)
    return found


def save_plans(folder: str | os.PathLike[str], found: CalibratedProgramme) -> list[str]:
    """Write plans and lock; other files in the folder are refused, plans of an earlier lock are replaced."""
    plans = found.plans()
    if not plans:
        raise ParameterError(
            "a programme must have a round with a task to make plans, got none; write task and column into it, or save "
            "the programme instead."
        )
    where = _folder(folder)
    lock = _lock(found, plans)
    with alone_in(where):
        stale = _refuse_others(where, plans)
        for name, plan in plans.items():
            _write(where / name, _text(plan.to_dict()))
        for name in stale:
            (where / name).unlink(missing_ok=True)
        sync_folder(where)
        _write(where / LOCK_NAME, _text(lock))
    return [os.path.join(os.fspath(folder), name) for name in (*plans, LOCK_NAME)]


def _folder(folder: str | os.PathLike[str]) -> Path:
    if not isinstance(folder, str | os.PathLike) or not os.fspath(folder):
        raise ParameterError(f"plans must be the path of a folder, got {folder!r:.60}; name one.")
    where = Path(folder)
    try:
        where.mkdir(exist_ok=True)
        return where.resolve(strict=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ParameterError(
            f"plans must be a folder that can be written, got {os.fspath(folder)!r:.300} ({reason}); choose another."
        ) from None


def _refuse_others(where: Path, plans: Mapping[str, Plan]) -> list[str]:
    """The plans of an earlier calibration that are no longer needed; anything else that is there is refused."""
    held = names_in(where)
    known = set(plans)
    if LOCK_NAME in held:
        known |= set(read_lock(where).names)
    else:  # what an interrupted calibration left behind are plans
        known = {name for name in known if name not in held or _is_plan(where / name)}
    others = sorted(held - known - {LOCK_NAME})
    if others:
        more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
        raise ParameterError(
            f"plans must be a folder of its own, got {str(where)!r} with {shortened(others[0])!r}{more}, which no "
            "calibration has written; choose an empty folder, or move them."
        )
    return sorted(held - set(plans) - {LOCK_NAME})


def names_in(where: Path) -> set[str]:
    """The names in a folder, without hidden ones, such as parts of files that a crash left behind."""
    try:
        return {entry.name for entry in os.scandir(where) if not entry.name.startswith(".")}
    except OSError as error:
        raise ParameterError(
            f"plans must be a readable folder, got {str(where)!r} ({error.strerror}); check the path."
        ) from None


def _is_plan(path: Path) -> bool:
    try:
        Plan.load(path, verify=False)
    except ShuffleDPError:
        return False
    return True


def _write(path: Path, text: str) -> None:
    """Unless it is there already."""
    try:
        if path.is_file() and path.read_bytes() == text.encode("utf-8"):
            return
    except OSError:
        pass
    write_whole(path, text, name="plans")


def _text(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False, default=str) + "\n"


# -- the lock --------------------------------------------------------------------------------------------------


def _lock(found: CalibratedProgramme, plans: Mapping[str, Plan]) -> dict[str, Any]:
    check, by_number = found.check, dict(zip((draft.number for draft in found.drafts), plans, strict=True))
    rounds: list[dict[str, Any]] = []
    for i, one in enumerate(check.rounds):
        entry: dict[str, Any] = {"name": one.name}
        if i in by_number:
            name = by_number[i]
            entry = {"name": plans[name].name, "file": name, "digest": plans[name].digest}
        else:
            entry["mechanism"] = one.mechanism
        rounds.append(entry)
    target = found.source.programme["target"]
    return {
        "version": VERSION,
        "budget": {**{key: str(value) for key, value in target.items()}, "spent": round_up(check.epsilon)},
        "digest": found.source.digest,
        "rounds": rounds,
        "files": found.source.files,
        "programme": {key: value for key, value in found.source.programme.items() if key != "plans"},
    }


@dataclass(frozen=True)
class Locked:
    """A round of a lock: the file of its plan and its digest, or a mechanism that needs no plan."""

    name: str
    file: str | None
    digest: str | None
    mechanism: str | None


@dataclass(frozen=True)
class Lock:
    """What a lock says."""

    source: Source
    digest: str
    rounds: tuple[Locked, ...]

    @property
    def names(self) -> list[str]:
        """The files of the plans."""
        return [entry.file for entry in self.rounds if entry.file is not None]


def read_lock(where: Path) -> Lock:
    """The lock of a folder; what cannot be one is refused in a sentence."""
    path = where / LOCK_NAME
    if not os.path.lexists(path):
        raise ParameterError(
            f"plans must be a folder with {LOCK_NAME}, got {str(where)!r} without it; write it with shuffledp "
            "calibrate --programme FILE --plans DIR."
        )
    data = mapping("the lock", read_json(path, LOCK), needed=_KEYS)
    version = data["version"]
    if isinstance(version, bool) or version != VERSION:
        raise ParameterError(f"version of the lock must be {VERSION}, got {version!r:.40}; update shuffledp.")
    rounds = data["rounds"]
    if not isinstance(rounds, list) or not isinstance(data["programme"], dict):
        raise _damaged("rounds must be a list and programme a mapping")
    files = data["files"]
    if not isinstance(files, dict) or not all(isinstance(x, str) for pair in files.items() for x in pair):
        raise _damaged("files must map names to digests")
    found = tuple(_locked(entry) for entry in rounds)
    names = [entry.file for entry in found if entry.file is not None]
    if len(set(names)) < len(names) or not isinstance(data["digest"], str):
        raise _damaged("every plan must have a file of its own")
    return Lock(Source(data["programme"], files), data["digest"], found)


def _locked(entry: object) -> Locked:
    given = mapping("a round of the lock", entry, needed=["name"], optional=["file", "digest", "mechanism"])
    name, file, digest, spec = (given.get(key) for key in ("name", "file", "digest", "mechanism"))
    plan = isinstance(file, str) and bool(_NAME.fullmatch(file)) and file != LOCK_NAME
    fine = plan and isinstance(digest, str) and bool(_DIGEST.fullmatch(digest)) and spec is None
    if not isinstance(name, str) or not (fine or (file is None and digest is None and isinstance(spec, str))):
        raise _damaged(f"a round must name a plan such as screens.json and its digest, got {file!r:.60}")
    return Locked(name, file if plan else None, digest if plan else None, spec)


def _damaged(why: str) -> ParameterError:
    return ParameterError(f"the lock must be as calibrate wrote it, got a damaged one ({why}); {LOCK.advice}.")


def _meant(value: Any) -> Any:
    """The same content with every number, also one that was read as text, in one spelling; labels are no numbers.

    >>> _meant({"users": "1_000", "delta": 1e-09}) == _meant({"users": 1000, "delta": "1e-9"})
    True
    """
    if isinstance(value, Mapping):
        return {key: item if key == "labels" else _meant(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_meant(item) for item in value]
    number = None if isinstance(value, bool) else as_written(str(value))
    return value if number is None else str(number)
