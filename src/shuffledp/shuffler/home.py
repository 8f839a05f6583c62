"""The directory of a shuffler: settings and keys, whom it trusts, the plans that were dropped in, the outbox."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
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

    def plans(self) -> Plans:
        """All that is in the folder of plans and that a trusted publisher signed; the rest is named in ``problems``."""
        trusted = keys.trusted(self.publishers)
        found: dict[bytes, Publication] = {}
        withdrawals, problems = [], []
        for path in sorted(self.plans_folder.glob("*.json")):
            try:
                envelope = signed.read(path)
                if _is_withdrawal(envelope):
                    withdrawals.append((Withdrawal.read(envelope, trusted), envelope))
                    continue
                new = Publication.read(envelope, trusted)
                old = found.get(digest := bytes.fromhex(new.digest))
                if old and _fixed(old) != _fixed(new):
                    raise ParameterError("a plan that is published again must keep its periods, minimum and analyst")
                if not old or old.serial < new.serial:
                    found[digest] = new
            except ShuffleDPError as error:
                problems.append(f"{path.name}: {error}")
        withdrawn = frozenset(digest for digest, p in found.items() if any(w.voids(p) for w, _ in withdrawals))
        return Plans(found, withdrawn, tuple(e for _, e in withdrawals), tuple(problems))


def _missing(path: Path) -> bool:
    """Whether a file is still to be written: a crash may have left an empty one."""
    return not path.exists() or not path.stat().st_size


def _is_withdrawal(envelope: object) -> bool:
    """What it says that it is; its signature decides."""
    return isinstance(envelope, dict) and '"shuffledp withdrawal"' in str(envelope.get("payload"))[:100]


def _fixed(publication: Publication) -> tuple[object, ...]:
    """What a second publication of a plan must leave as it is: reports were given under it."""
    p = publication
    return p.name, p.starts, p.length, p.minimum, p.slots, p.sealed_bytes, p.analyst
