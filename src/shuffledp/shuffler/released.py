"""A released period: the folder that a shuffler wrote, all of it checked before a message is opened."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._support.optional import require
from .._support.reading import Kind, mapping, opened, read_json
from ..errors import ParameterError
from . import signed

if TYPE_CHECKING:
    from .publication import Publication

MANIFEST = Kind("manifest", 2**26, "fetch the released folder again", "released")
CONTEXT = "shuffledp manifest 1"
_PART = Kind("a part of the release", 2**40, "fetch the released folder again", "released")
_KEYS = (
    *("format", "version", "batch", "plan", "period", "starts", "ends", "contributors", "messages", "sealed_bytes"),
    *("files", "refused", "serial", "minimum"),
)
_COUNTS = ("period", "contributors", "messages", "sealed_bytes", "serial", "minimum")
_NAME, _SHA256, _BATCH = (re.compile(text) for text in (r"part-[0-9]{5,9}\.parquet", "[0-9a-f]{64}", "[0-9a-f]{32}"))
#: Sealed messages that are read at once.
ROWS = 8192


def manifest_in(envelope: object, trusted: Mapping[str, Any]) -> dict[str, Any]:
    """What a trusted shuffler signed about a batch, in the form that every manifest has."""
    found = mapping("manifest", signed.open_(CONTEXT, envelope, trusted), needed=_KEYS)
    if (found["format"], found["version"]) != ("shuffledp manifest", 1):
        raise ParameterError(
            f"manifest must be of version 1, got {found['format']!r:.40} {found['version']!r:.20}; update shuffledp."
        )
    files: list[Any] = found["files"] if isinstance(found["files"], list) else [None]
    whole = [found[key] for key in _COUNTS]
    for item in files:
        part = mapping("a file of the manifest", item, needed=("name", "messages", "sha256"))
        whole.append(part["messages"])
        if not (_is(_NAME, part["name"]) and _is(_SHA256, part["sha256"])):
            raise ParameterError(
                f"a file of the manifest must be a part with its SHA-256, got {part['name']!r:.60}; {MANIFEST.advice}."
            )
    counted = all(type(x) is int and 0 <= x < 2**63 for x in whole) and _are_counts(found["refused"])
    named = len({part["name"] for part in files}) == len(files) and _is(_BATCH, found["batch"])
    if not (counted and named and sum(part["messages"] for part in files) == found["messages"]):
        raise ParameterError(
            "manifest must hold counts that add up and each file once, got some that do not; ask the shuffler."
        )
    return found


@dataclass(frozen=True)
class Released:
    """A released folder whose manifest is signed by a trusted shuffler and fits the publication.

    Attributes
    ----------
    folder : where the parts are
    envelope, manifest : what the shuffler signed, and its content
    """

    folder: Path
    envelope: dict[str, Any]
    manifest: dict[str, Any]

    @classmethod
    def read(cls, folder: str | os.PathLike[str], publication: Publication, shufflers: Mapping[str, Any]) -> Released:
        """Check signature, plan, period, sizes and minimum; the parts are checked by :meth:`verify`."""
        envelope = read_json(Path(folder) / "manifest.json", MANIFEST)
        found = manifest_in(envelope, shufflers)
        slots, (starts, ends) = int(publication.portable["slots"]), publication.window(found["period"])
        for name, got, wanted in (
            ("plan", found["plan"], publication.digest),
            ("minimum", found["minimum"], publication.minimum),
            ("starts", found["starts"], starts),
            ("ends", found["ends"], ends),
            ("sealed_bytes", found["sealed_bytes"], publication.sealed_bytes),
            ("messages", found["messages"], found["contributors"] * slots),
        ):
            if got != wanted:
                raise ParameterError(
                    f"{name} of the manifest must be that of the publication, {wanted}, got {got!r:.80}; collect with "
                    "the publication that its clients had."
                )
        if found["contributors"] < publication.minimum:
            raise ParameterError(
                f"a batch must have {publication.minimum:,} contributors, got {found['contributors']:,}; a shuffler "
                "must not release it, so tell its operator."
            )
        return cls(Path(folder), envelope, found)

    @property
    def digest(self) -> str:
        """SHA-256 of what the shuffler signed, which holds the SHA-256 of every part: the digest of the batch."""
        return hashlib.sha256(self.envelope["payload"].encode("utf-8")).hexdigest()

    def paths(self) -> list[Path]:
        """The parts, in the order of the manifest."""
        return [self.folder / part["name"] for part in self.manifest["files"]]

    def verify(self) -> None:
        """Refuse a part that is missing or has other bytes than the shuffler signed."""
        for path, part in zip(self.paths(), self.manifest["files"], strict=True):
            found = hashlib.sha256()
            with opened(path, _PART) as stream:
                for piece in iter(partial(stream.read, 2**20), b""):
                    found.update(piece)
            # a file that is smaller than its messages would be unpacked to more than there is room for
            fewest = part["messages"] * self.manifest["sealed_bytes"]
            if found.hexdigest() != part["sha256"] or path.stat().st_size < fewest:
                raise ParameterError(
                    f"{part['name']} must have the bytes that the shuffler signed, got other bytes; fetch it again."
                )

    def sealed(self) -> Iterator[NDArray[np.uint8]]:
        """The sealed messages, some rows of bytes at a time."""
        arrow = require("pyarrow", extra="shuffler", purpose="reading a released period")
        parquet = require("pyarrow.parquet", extra="shuffler", purpose="reading a released period")
        size = self.manifest["sealed_bytes"]
        for path, part in zip(self.paths(), self.manifest["files"], strict=True):
            with parquet.ParquetFile(path) as file:
                column = file.schema_arrow
                if column.names != ["sealed"] or column.types != [arrow.binary(size)] or column.metadata:
                    raise _wrong(part, f"have one column of {size} bytes", f"{column.names!r:.80}")
                if file.metadata.num_rows != part["messages"]:
                    raise _wrong(part, f"hold {part['messages']:,} messages", f"{file.metadata.num_rows:,}")
                for batch in file.iter_batches(ROWS):
                    rows = batch.column(0)
                    if rows.null_count:
                        raise _wrong(part, "hold a message in each row", "a row without one")
                    raw = np.frombuffer(rows.buffers()[1], np.uint8, len(rows) * size, rows.offset * size)
                    yield raw.reshape(len(rows), size)

    def distinct(self) -> Iterator[tuple[list[bytes], int]]:
        """The sealed messages without copies, and how many rows were copies of earlier ones.

        Copies are equal in all their bytes: whoever changes one makes it unreadable.  Eight bytes of each (of the
        encapsulated key, which is drawn anew for every message) tell which of them need to be compared.
        """
        keys = np.concatenate([rows[:, 8:16].copy().view("<u8").reshape(-1) for rows in self.sealed()])
        values, times = np.unique(keys, return_counts=True)
        repeated, seen = values[times > 1], set()
        for rows in self.sealed():
            keep = np.ones(len(rows), dtype=bool)
            for i in np.flatnonzero(np.isin(rows[:, 8:16].copy().view("<u8").reshape(-1), repeated)):
                row = rows[i].tobytes()
                keep[i] = row not in seen
                seen.add(row)
            yield [row.tobytes() for row in rows[keep]], int(len(rows) - keep.sum())


def _wrong(part: Mapping[str, Any], wanted: str, got: str) -> ParameterError:
    """The error for a part that is not what the manifest says."""
    return ParameterError(f"{part['name']} must {wanted}, got {got}; {_PART.advice}.")


def _is(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _are_counts(found: object) -> bool:
    return isinstance(found, dict) and all(type(x) is int and 0 <= x < 2**63 for x in found.values())
