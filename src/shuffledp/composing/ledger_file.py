"""The file of a ledger: JSON that is always whole, checked key by key, its entries linked by a chain of hashes.

Every entry carries the SHA-256 of the entry before it and of itself, and the head of the file says how many entries
there are and what the last hash is.  So an entry that was edited, removed, added or moved is noticed, and so is a tail
that was cut off.  This detects accidents; anyone who can rewrite the file can also recompute the hashes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._support import validation as check
from .._support.json_ready import json_ready
from .._support.locking import replace_seen
from .._support.reading import LEDGER, contained, mapping, read_json
from ..accounting.resolve import MechanismLike
from ..errors import ParameterError, ShuffleDPError
from ..mechanisms.registry import made_again
from ..numerics.pair import ShuffledPair
from .ledger import LedgerEntry, make_entry, sha256_of

FORMAT = "shuffledp-ledger/2"
#: Most entries of one file; each may stand for many rounds.
MOST_ENTRIES = 20_000
_HEAD = ("format", "neighbors", "entries", "last_hash", "rounds")
_KEYS = ("name", "mechanism", "local_epsilon", "n", "count", "bound", "participation_limit", "reports_per_user")
_RESTORE = "restore it from a copy"


@dataclass(frozen=True)
class LedgerFile:
    """The content of a ledger file.

    Attributes
    ----------
    entries : the rounds, in the order in which they were added
    seen : its digest, by which :func:`save` knows that nothing was added to it since
    """

    entries: tuple[LedgerEntry, ...]
    seen: set[str] = field(default_factory=set)


def save(entries: Iterable[LedgerEntry], path: str | Path, seen: set[str]) -> None:
    """Write a ledger file atomically: a reader sees the old file or the new one, never half of it.

    A file whose digest is not among those ``seen`` is refused; that of the new one is added to them.
    """
    rounds = list(entries)
    neighbors = sorted({entry.mechanism.neighbors for entry in rounds}) or ["replace-one"]
    if len(neighbors) > 1:
        raise ParameterError(f"a ledger must have one kind of neighbors, got {neighbors}; keep a ledger for each.")
    if len(rounds) > MOST_ENTRIES:
        raise ParameterError(
            f"a ledger must have at most {MOST_ENTRIES:,} entries, got {len(rounds):,}; add equal rounds with count."
        )
    items = [entry.to_dict() for entry in rounds]
    hashes = chain(items)
    data = {
        "format": FORMAT,
        "neighbors": neighbors[0],
        "entries": len(items),
        "last_hash": hashes[-1],
        "rounds": [{**item, "hash": found} for item, found in zip(items, hashes[1:], strict=True)],
    }
    text = json.dumps(data, indent=1, allow_nan=False) + "\n"
    if any("\ud800" <= c <= "\udfff" for c in json.dumps(data, ensure_ascii=False)):
        raise ParameterError("names and paths in a ledger must be text, got bytes that are not UTF-8; rename them.")
    if len(text) > LEDGER.most_bytes:
        raise ParameterError(
            f"ledger must have at most {LEDGER.most_bytes:,} bytes, got {len(text):,}; name large matrices by "
            "a spec, or begin another ledger."
        )
    replace_seen(path, text, seen)


def chain(items: Iterable[dict[str, Any]]) -> list[str]:
    """The hash that all ledgers begin with, and that of every entry with what precedes it.

    Examples
    --------
    >>> one, two = {"n": 1}, {"n": 2}
    >>> chain([one, two])[-1] == chain([two, one])[-1]
    False
    """
    hashes = [_digest("", {"format": FORMAT})]
    for item in items:
        hashes.append(_digest(hashes[-1], item))
    return hashes


def _digest(before: str, item: dict[str, Any]) -> str:
    canonical = json.dumps(item, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(f"{before}\n{canonical}".encode()).hexdigest()


def load(path: str | Path) -> LedgerFile:
    """A ledger file; anything missing, unknown, changed or out of range is refused in one sentence."""
    with contained(LEDGER, str(path)):
        return _load(path)


def _load(path: str | Path) -> LedgerFile:
    seen: set[str] = set()
    data = read_json(path, LEDGER, seen=seen)
    shown = repr(str(path))
    form = data.get("format") if isinstance(data, dict) else None
    if form != FORMAT:
        other = isinstance(form, str) and form.startswith("shuffledp-ledger/")
        got, then = (f"{form!r:.60}", "read it with another version") if other else ("another file", "check the path")
        raise ParameterError(f"ledger must have format {FORMAT!r}, got {got} in {shown}; {then}.")
    head = mapping(f"the ledger {shown}", data, needed=_HEAD, advice=_RESTORE)
    items = head["rounds"]
    if not isinstance(items, list) or len(items) > MOST_ENTRIES:
        got = f"{len(items):,} of them" if isinstance(items, list) else type(items).__name__
        raise ParameterError(
            f"rounds must be a list of at most {MOST_ENTRIES:,} entries, got {got} in {shown}; {_RESTORE}."
        )
    items = [
        mapping(f"round {i} of the ledger {shown}", x, needed=(*_KEYS, "hash"), advice=_RESTORE)
        for i, x in enumerate(items)
    ]
    _check_chain(head, items, shown)
    known: dict[str, LedgerEntry] = {}
    entries = tuple(_entry(item, number, known) for number, item in enumerate(items))
    for expected in [entry.mechanism.neighbors for entry in entries] or ["replace-one"]:
        if head["neighbors"] != expected:
            raise ParameterError(
                f"neighbors of a ledger must be those of its rounds, {expected!r}, got "
                f"{str(head['neighbors'])[:60]!r} in {shown}; {_RESTORE}."
            )
    return LedgerFile(entries, seen)


def _check_chain(head: dict[str, Any], items: list[dict[str, Any]], shown: str) -> None:
    """Every entry follows from the one before it, and the last one is the last that was written."""
    number = head["entries"]
    if isinstance(number, bool) or not isinstance(number, int):
        raise ParameterError(f"entries must be the number of rounds, got {number!r:.40} in {shown}; {_RESTORE}.")
    hashes = chain({key: item[key] for key in _KEYS} for item in items)
    for i, (item, found) in enumerate(zip(items, hashes[1:], strict=True)):
        if item["hash"] != found:
            why = "it was edited, or moved here" if number == len(items) else "a round before it was removed or added"
            raise ParameterError(
                f"round {i} of the ledger must be what was recorded {f'after round {i - 1}' if i else 'first'}, got "
                f"a different hash in {shown} ({why}); {_RESTORE}."
            )
    if number != len(items):
        after = f"after round {len(items) - 1}" if items else "from the first on"
        raise ParameterError(
            f"the ledger must hold the {number:,} entries that were recorded, got {len(items):,} in {shown}, so rounds "
            f"were removed or added {after}; {_RESTORE}."
        )
    if head["last_hash"] != hashes[-1]:
        raise ParameterError(
            f"last_hash must be the hash of the last round, {len(items) - 1}, got another in {shown}; the head was "
            f"edited or rounds were replaced, so {_RESTORE.replace('it', 'the ledger')}."
        )


def _entry(item: dict[str, Any], number: int, known: dict[str, LedgerEntry]) -> LedgerEntry:
    """A checked entry; ``known`` are earlier entries by their law, which is made, and its files read, only once."""
    law = json.dumps(item["mechanism"], sort_keys=True)
    terms = {key: item[key] for key in (*_KEYS[3:], "name")}
    try:
        check.real("n", terms["n"])  # people may write "2M", a ledger holds numbers
        if law in known:
            entry = known[law].sharing_law(make_entry(known[law].mechanism, **terms))
        else:
            entry = make_entry(_mechanism(item["mechanism"]), **terms)
            if entry.law.get("files") != item["mechanism"].get("files"):
                raise ParameterError(
                    f"files must hold the SHA-256 of every file that {entry.mechanism.spec!r} was read from, got "
                    "something else; the ledger does not say what was run, so restore it or compose the rounds again."
                )
            known[law] = entry
        local = entry.mechanism.local_epsilon
    except ShuffleDPError as error:
        raise ParameterError(f"round {number} of the ledger is not valid: {error}") from None
    stated = item["local_epsilon"]
    if isinstance(stated, bool) or stated != json_ready(local):
        raise ParameterError(
            f"round {number} of the ledger was run with local_epsilon {stated!r:.40}, but its mechanism now "
            f"has {local!r}; the ledger was edited or comes from another version of shuffledp, {_RESTORE}."
        )
    return entry


def _mechanism(law: object) -> MechanismLike:
    if isinstance(law, dict) and set(law) == {"spec", "files"} and isinstance(law["files"], dict):
        for path, digest in law["files"].items():
            now = sha256_of(path)
            if now is None or now != digest:
                found = "no such file" if now is None else "a file that has changed"
                raise ParameterError(
                    f"{path!r:.300} must be the file that the rounds were run with, got {found}; restore it."
                )
        law = {"spec": law["spec"]}
    if isinstance(law, dict) and len(law) == 1:
        if isinstance(law.get("spec"), str) or "matrix" in law:
            return made_again(law)
        if isinstance(law.get("round"), dict) and set(law["round"]) == {"P0", "P1", "t"}:
            return ShuffledPair(**law["round"])
    raise ParameterError("mechanism must be a spec, a matrix or a shuffled pair, got something else; restore the file.")
