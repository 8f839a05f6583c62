"""The directory of a shuffler: settings, keys, trusted publishers, publications that were dropped in, the outbox."""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from .._support.files import write_whole
from ..errors import ParameterError, ShuffleDPError
from . import keys, signed
from .oblivious_http import GatewayKeys
from .publication import CONTEXT, WITHDRAWAL, Publication, Withdrawal
from .store import CATALOGS, SqliteStore, Store, StoreUnavailableError


@dataclass(frozen=True)
class Publications:
    """The publications and withdrawals in force, read together; they do not change."""

    found: Mapping[bytes, Publication] = field(default_factory=dict)  # admitted, and in the folder
    kept: Mapping[bytes, str] = field(default_factory=dict)  # envelopes of all that were ever admitted
    withdrawals: Mapping[bytes, str] = field(default_factory=dict)  # envelopes, by the publication that is void
    trusted: frozenset[str] = frozenset()  # names of publishers' keys
    problems: tuple[str, ...] = ()  # one sentence for every file that was refused
    until: float = math.inf  # when one expires, so that another may take its place

    def find(self, digest: bytes) -> tuple[Publication, bool] | None:
        """Return a publication of the folder, and True if it was withdrawn."""
        publication = self.found.get(digest)
        return None if publication is None else (publication, digest in self.withdrawals)

    def remembered(self, digest: bytes) -> tuple[Publication, bool] | None:
        """Return a publication, though its file is gone, and True if it was withdrawn or nobody trusts its key now."""
        if digest in self.found or digest not in self.kept:
            return self.find(digest)
        publication = Publication.with_digest(json.loads(self.kept[digest]), digest.hex())
        return publication, digest in self.withdrawals or publication.key not in self.trusted

    @cached_property
    def in_force(self) -> dict[str, Any]:
        """The envelopes of publications that are not withdrawn, by digest."""
        return {p.digest: p.envelope for digest, p in self.found.items() if digest not in self.withdrawals}

    @cached_property
    def listed(self) -> bytes:
        """The answer to GET /plans."""
        withdrawals = ", ".join(self.withdrawals.values())
        return (
            f'{{"publications": {json.dumps(list(self.in_force.values()))}, "withdrawals": [{withdrawals}]}}'.encode()
        )


class _Term(NamedTuple):
    """Under which name and when a publication is answered, and who signed it; live: neither withdrawn nor expired."""

    digest: bytes
    name: str
    key: str
    starts: int
    expires: int
    live: bool

    def refuse_rivals(self, kept: list[_Term], fresh: list[_Term]) -> None:
        """Refuse a new publication whose name or whose times are taken, by a remembered or by another new one."""
        kept, fresh = ([term for term in terms if term.name == self.name] for terms in (kept, fresh))
        owners = {term.key for term in kept} or {term.key for term in fresh}
        if owners != {self.key}:
            first = "the key that published it first" if kept else "one key"
            raise ParameterError(
                f"a publication of {self.name!r:.60} must be signed by {first}, got one of {self.key} beside "
                f"{min(owners - {self.key})}; choose another name."
            )
        for other in (*kept, *fresh):
            overlap = self.starts < other.expires and other.starts < self.expires
            if other.digest != self.digest and self.live and other.live and overlap:
                raise ParameterError(
                    f"publications of {self.name!r:.60} must not be answered at one time, got one that starts at "
                    f"{self.starts} beside {other.digest.hex()[:12]}{', which is new too' if other in fresh else ''}; "
                    f"withdraw one of them, or start it at {other.expires}."
                )


class ShufflerFolder:
    """A shuffler's directory, made by ``keygen``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.outbox, self.plans_folder, self.publishers = (folder / name for name in ("outbox", "plans", "publishers"))
        self.ohttp = folder / "keys" / "ohttp.json"
        self._signing = folder / "keys" / "signing.key"

    @classmethod
    def make(cls, folder: Path, *, store: str = "") -> ShufflerFolder:
        """Make what is missing of a directory; keys that exist stay."""
        home = cls(folder)
        for place in (folder, folder / "keys"):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        for place in (home.outbox, home.plans_folder, home.publishers):
            place.mkdir(exist_ok=True)
        if not home._signing.exists():
            keys.generate(folder / "keys", "signing")
        if _missing(home.ohttp):
            GatewayKeys.fresh().save(home.ohttp)
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
            texts = found["owner"], found.get("store", "")
            known = found["format"] == "shuffledp shuffler" and found["version"] == 1
            if not known or not all(isinstance(text, str) for text in texts):
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
        """Return names and times of the files of publications, publishers and keys, to notice a change."""
        files = [self.ohttp, *self.publishers.glob("*.pub"), *self.plans_folder.glob("*.json")]
        return tuple(sorted(map(_stated, files)))

    def _trusted(self) -> tuple[dict[str, Any], list[str]]:
        """Return the keys of publishers, and a sentence for each file that holds none."""
        trusted: dict[str, Any] = {}
        problems = []
        for path in sorted(self.publishers.glob("*.pub")):
            try:
                trusted.update(keys.trusted([path]))
            except ShuffleDPError as error:
                problems.append(f"{path.name}: {error}")
        return trusted, problems

    def publications(self, store: Store, now: float, *, keep: bool = True) -> Publications:
        """Read every publication and withdrawal that a trusted publisher signed; others are named in ``problems``.

        A name belongs to the key that published it first, and has one calendar: of two publications of a name that are
        answered at one time, the one that the store remembers counts; if it remembers none of them, neither does.
        Otherwise a user could answer one period under two publications, and be counted twice.  Withdrawn and expired
        ones do not matter.  ``keep=False`` remembers nothing.
        """
        trusted, problems = self._trusted()
        offered: dict[bytes, tuple[str, Publication]] = {}
        withdrawals: list[tuple[str, Withdrawal, Any]] = []
        for path in sorted(self.plans_folder.glob("*.json")):
            try:
                envelope = signed.read(path)
                if _is_withdrawal(envelope):
                    withdrawals.append((path.name, Withdrawal.read(envelope, trusted), envelope))
                else:
                    new = Publication.read(envelope, trusted)
                    offered.setdefault(bytes.fromhex(new.digest), (path.name, new))
            except ShuffleDPError as error:
                problems.append(f"{path.name}: {error}")
        with store.catalogs() as (catalogs, add):
            kept, void = (dict(catalogs[name]) for name in CATALOGS)
            envelopes = {digest: json.loads(text) for digest, text in kept.items()}
            envelopes |= {digest: new.envelope for digest, (_, new) in offered.items()}
            for file, withdrawal, envelope in withdrawals:
                digest = bytes.fromhex(withdrawal.publication)
                if digest in envelopes and envelopes[digest]["key"] == withdrawal.key:
                    void.setdefault(digest, json.dumps(envelope))
                else:
                    got = "another's" if digest in envelopes else "one that is not here"
                    problems.append(
                        f"{file}: a withdrawal must be of a publication that its own key signed, got {got} "
                        f"({withdrawal.publication[:12]}); withdraw with the key that published."
                    )
            terms = {digest: _term(digest, envelope, void, now) for digest, envelope in envelopes.items()}
            remembered, fresh = ([t for t in terms.values() if (t.digest in kept) is here] for here in (True, False))
            found = {}
            for digest, (file, new) in offered.items():
                try:
                    if digest not in catalogs["publications"]:
                        terms[digest].refuse_rivals(remembered, fresh)
                    found[digest] = new
                    kept[digest] = json.dumps(new.envelope)
                except ParameterError as error:
                    problems.append(f"{file}: {error}")
            for name, texts in zip(CATALOGS, (kept, void), strict=True) if keep else ():
                for digest in sorted(texts.keys() - catalogs[name].keys()):
                    add(name, digest, texts[digest])
        until = min((terms[digest].expires for digest in kept if terms[digest].live), default=math.inf)
        return Publications(found, kept, void, frozenset(trusted), tuple(problems), until)


def _term(digest: bytes, envelope: Any, void: Collection[bytes], now: float) -> _Term:
    given = signed.payload_of(CONTEXT, envelope)
    live = digest not in void and now < given["expires"]
    return _Term(digest, given["name"], envelope["key"], given["starts"], given["expires"], live)


def _is_withdrawal(envelope: object) -> bool:
    """Return True if a file says that it is one; its signature decides."""
    return signed.payload_of(WITHDRAWAL, envelope).get("format") == "shuffledp withdrawal"


def _stated(path: Path) -> tuple[object, ...]:
    """Return what changes when a file does; nothing of one that is gone or leads nowhere."""
    try:
        found = path.stat()
    except OSError:
        return (str(path),)
    return str(path), found.st_mtime_ns, found.st_size, found.st_ino


def _missing(path: Path) -> bool:
    """Return True if a file is still to be written: a crash may have left an empty one."""
    return not path.exists() or not path.stat().st_size
