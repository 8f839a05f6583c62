"""The directory of a shuffler: settings and keys, whom it trusts, the plans that were dropped in, the outbox."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from .._support.files import write_whole
from ..errors import ParameterError, ShuffleDPError
from . import keys, signed
from .ohttp_keys import Keys
from .publication import Publication, Withdrawal
from .store import Store, StoreUnavailableError


@dataclass(frozen=True)
class Plans:
    """The publications and withdrawals in force, read together; they do not change."""

    found: Mapping[bytes, Publication] = field(default_factory=dict)
    withdrawn: frozenset[bytes] = frozenset()
    withdrawals: tuple[Any, ...] = ()
    problems: tuple[str, ...] = ()  # one sentence for every file that was refused

    def find(self, digest: bytes) -> tuple[Publication, bool] | None:
        """The publication of a plan, and whether it was withdrawn."""
        publication = self.found.get(digest)
        return None if publication is None else (publication, digest in self.withdrawn)

    @cached_property
    def publications(self) -> dict[str, Any]:
        """The envelopes of those in force, by the digest."""
        return {p.digest: p.envelope for digest, p in self.found.items() if digest not in self.withdrawn}

    @cached_property
    def listed(self) -> bytes:
        """What GET /plans answers."""
        return json.dumps(
            {"publications": list(self.publications.values()), "withdrawals": list(self.withdrawals)}
        ).encode()


class Home:
    """A shuffler's directory, made by ``keygen``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.outbox, self.plans_folder, self.publishers = (folder / name for name in ("outbox", "plans", "publishers"))
        self.ohttp = folder / "keys" / "ohttp.json"
        self._signing = folder / "keys" / "signing.key"

    @classmethod
    def make(cls, folder: Path, *, store: str = "") -> Home:
        """Make what is missing of a directory; keys that exist stay."""
        home = cls(folder)
        for place in (folder, folder / "keys"):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        for place in (home.outbox, home.plans_folder, home.publishers):
            place.mkdir(exist_ok=True)
        if not home._signing.exists():
            keys.generate(folder / "keys", "signing")
        if _missing(home.ohttp):
            Keys.fresh().save(home.ohttp)
        config = folder / "config.json"
        if _missing(config):
            config.touch(mode=0o600)  # the address of a database may hold a password
            settings = {"format": "shuffledp shuffler", "version": 1, "owner": secrets.token_hex(8), "store": store}
            write_whole(config, json.dumps(settings, indent=1) + "\n")
        return home

    @cached_property
    def config(self) -> dict[str, Any]:
        """The settings: who owns batches that are being released, and where the store is."""
        try:
            found = json.loads((self.folder / "config.json").read_text("utf-8"))
            if found["format"] != "shuffledp shuffler" or found["version"] != 1 or not isinstance(found["owner"], str):
                raise ValueError
        except (OSError, ValueError, KeyError, TypeError):
            raise ParameterError(
                f"DIR must be a shuffler's directory of this version, got {str(self.folder)!r}; make one with keygen."
            ) from None
        return dict(found)

    def open_store(self) -> Store:
        """The store of the settings: PostgreSQL where they have an address, else a file of SQLite."""
        address, owner = self.config.get("store") or "", self.config["owner"]
        from .postgres import PostgresStore
        from .sqlite import SqliteStore

        try:
            return PostgresStore(address, owner) if address else SqliteStore(self.folder / "store.sqlite", owner)
        except StoreUnavailableError as error:
            raise ParameterError(
                f"the store of {str(self.folder)!r} must be in reach, got none ({error.reason}); check config.json."
            ) from None

    @cached_property
    def _key(self) -> Any:
        return keys.signing(self._signing)

    def sign(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """A manifest in its signed envelope."""
        return signed.sign("shuffledp manifest 1", manifest, self._key)

    def seen(self) -> tuple[object, ...]:
        """What changes when a plan, a publisher or a key is dropped in or taken away."""
        files = [self.ohttp, *self.publishers.glob("*.pub"), *self.plans_folder.glob("*.json")]
        return tuple(sorted((str(f), s.st_mtime_ns, s.st_size, s.st_ino) for f in files for s in [f.stat()]))

    def plans(self, terms: Callable[[bytes, str], str]) -> Plans:
        """All that is in the folder of plans and that a trusted publisher signed; the rest is named in ``problems``.

        terms : gives those of the first publication of a plan, which are the given ones if there was none; clients
            have answered under them, and under others they might answer a period twice
        """
        trusted = keys.trusted(self.publishers)
        published: list[tuple[str, Publication]] = []
        withdrawals, problems = [], []
        for path in sorted(self.plans_folder.glob("*.json")):
            try:
                envelope = signed.read(path)
                if _is_withdrawal(envelope):
                    withdrawals.append((Withdrawal.read(envelope, trusted), envelope))
                else:
                    published.append((path.name, Publication.read(envelope, trusted)))
            except ShuffleDPError as error:
                problems.append(f"{path.name}: {error}")
        found: dict[bytes, Publication] = {}
        for name, new in sorted(published, key=lambda one: one[1].serial):
            digest, mine = bytes.fromhex(new.digest), _terms(new)
            first = _terms(found[digest]) if digest in found else terms(digest, mine)
            if first != mine:
                problems.append(f"{name}: {_other_terms(first)}")
            elif digest not in found or found[digest].serial < new.serial:
                found[digest] = new
        withdrawn = frozenset(digest for digest, p in found.items() if any(w.voids(p) for w, _ in withdrawals))
        return Plans(found, withdrawn, tuple(e for _, e in withdrawals), tuple(problems))


def _missing(path: Path) -> bool:
    """Whether a file is still to be written: a crash may have left an empty one."""
    return not path.exists() or not path.stat().st_size


def _is_withdrawal(envelope: object) -> bool:
    """What it says that it is; its signature decides."""
    return isinstance(envelope, dict) and '"shuffledp withdrawal"' in str(envelope.get("payload"))[:100]


def _terms(publication: Publication) -> str:
    """What a second publication of a plan must leave as it is."""
    p = publication
    fixed = {"name": p.name, "starts": p.starts, "length": p.length, "minimum": p.minimum, "analyst": p.analyst}
    return json.dumps(fixed | {"slots": p.slots, "sealed_bytes": p.sealed_bytes})


def _other_terms(first: str) -> str:
    known = json.loads(first)
    return (
        "a plan that is published again must keep its name, periods, minimum and analyst, got others than at first "
        f"(starts {known['starts']}, length {known['length']} s, minimum {known['minimum']}); publish it with these, "
        "or give the plan another name."
    )
