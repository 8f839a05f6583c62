"""Parties of a collection for tests: keys, a publication, sealed reports and a release that a shuffler could make."""

from __future__ import annotations

import hashlib
import json
import random
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

import shuffledp as sdp
from shuffledp.protocol.portable import draw
from shuffledp.shuffler import keys, signed
from shuffledp.shuffler.publication import Publication, publish
from shuffledp.shuffler.sealing import seal

STARTS, LENGTH = 1_800_000_000, 3600
LABELS = ["home", "search", "settings", "help"]


def plan_of(mechanism: str = "grr:eps0=2", *, users: int = 200, **more: Any) -> sdp.Plan:
    query = sdp.queries.Histogram(column="page", labels=LABELS, mechanism=mechanism)
    return sdp.Plan(query=query, users=max(users, 1000), minimum_batch=users, delta=1e-6, name="pages", **more)


@dataclass
class Field:
    """A folder with the keys of analyst and shuffler, and a publication of the analyst's."""

    folder: Path
    envelope: dict[str, Any]
    publication: Publication

    @classmethod
    def make(cls, folder: Path, plan: sdp.Plan, **terms: Any) -> Field:
        for who in ("analyst", "shuffler"):
            for kind in ("signing", "sealing"):
                if not (folder / who / f"{kind}.key").exists():
                    keys.generate(folder / who, kind)
        times = {"starts": STARTS, "length": LENGTH, "expires": STARTS + 100 * LENGTH, "grace": 60, "serial": 1}
        key, analyst = keys.signing(folder / "analyst/signing.key"), keys.sealing(folder / "analyst/sealing.key")
        envelope = publish(plan, key, analyst.public_key(), **{**times, **terms})
        signed.save(folder / "publication.json", envelope)
        return cls(folder, envelope, Publication.read(envelope, keys.trusted([folder / "analyst/signing.pub"])))

    @property
    def shufflers(self) -> Any:
        return keys.trusted([self.folder / "shuffler/signing.pub"])

    @property
    def analysts(self) -> Any:
        return keys.trusted([self.folder / "analyst/signing.pub"])

    @property
    def sealing_key(self) -> Any:
        return keys.sealing(self.folder / "analyst/sealing.key")

    def sealed(self, message: bytes | None, *, period: int = 3, **other: Any) -> bytes:
        """A message or a blank of this plan, sealed to the analyst unless something else is said."""
        found = self.publication
        terms = {
            "size": found.program["message_bytes"],
            "public": found.sealing,
            "digest": bytes.fromhex(found.digest),
        }
        return seal(message, **{**terms, "period": period, **other})

    def reports(self, values: Iterable[Any], *, period: int = 3) -> list[bytes]:
        """The sealed slots of users with these values, one after the other."""
        made: list[bytes] = []
        for value in values:
            messages: list[bytes | None] = [*draw(self.publication.program, value, secrets.token_bytes)]
            messages += [None] * (self.publication.slots - len(messages))
            made += [self.sealed(message, period=period) for message in messages]
        return made

    def release(self, rows: list[bytes], *, parts: int = 2, name: str = "released", **changed: Any) -> Path:
        """What a shuffler writes; ``changed`` are entries of the manifest that it should not have written."""
        folder = self.folder / name
        folder.mkdir()
        rows = random.Random(1).sample(rows, len(rows))
        found, files = self.publication, []
        schema = pa.schema([pa.field("sealed", pa.binary(found.sealed_bytes), nullable=False)])
        for i in range(parts):
            some = rows[i::parts]
            path = folder / f"part-{i:05d}.parquet"
            pq.write_table(pa.table([pa.array(some, pa.binary(found.sealed_bytes))], schema=schema), path)
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            files.append({"name": path.name, "messages": len(some), "sha256": digest})
        period = changed.get("period", 3)
        manifest = {
            "format": "shuffledp manifest",
            "version": 1,
            "batch": hashlib.sha256(name.encode()).hexdigest()[:32],
            "publication": found.digest,
            "period": period,
            "contributors": len(rows) // found.slots,
            "messages": len(rows),
            "files": files,
            "refused": {"replayed": 2},
            **changed,
        }
        key = keys.signing(self.folder / "shuffler/signing.key")
        (folder / "manifest.json").write_text(json.dumps(signed.sign("shuffledp manifest 1", manifest, key)))
        return folder


def bad_rows(field: Field) -> dict[str, list[bytes]]:
    """Rows that a shuffler cannot tell from others."""
    good = field.sealed(b"\1")
    other = X25519PrivateKey.generate().public_key()
    return {
        "unopened": [
            good[:-1] + bytes([good[-1] ^ 1]),
            bytes(len(good)),
            field.sealed(b"\1", period=4),
            field.sealed(b"\1", digest=bytes(32)),
            field.sealed(b"\1", public=other),
        ],
        "impossible": [field.sealed(b"\5"), field.sealed(b"\xff")],
        "copied": [good, good, good],  # the first of them counts
    }
