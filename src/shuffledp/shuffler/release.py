"""A released batch: written once by the shuffler, in one uniformly random order; checked by the analyst.

The batch is written into a hidden directory and made durable; the store notes that it is ready; it is renamed; the
store notes that it is released and erases the reports.  A crash between any two of these steps is made good by doing
the rest: before "ready" the hidden directory is thrown away, since nobody saw it; after it, it is never written again,
so that there is no second batch, not even if the first was taken away before the crash was noticed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.files import sync_folder, write_whole
from .._support.locking import alone_in
from .._support.optional import require
from .._support.reading import Kind, mapping, opened, read_json
from ..errors import ParameterError, ShuffleDPError
from ..protocol.scattered import FILES, Scattered, permuted
from ..randomness.sampling import source
from . import signed
from .publication import Publication
from .store import CLOSING, DISCARDED, OPEN, READY, RELEASED, PeriodState, Store

#: Bytes of messages that are permuted in memory; more go through private files, in the directory that is hidden.
_MEMORY = 1 << 26
_ROWS = 1_000_000
Sign = Callable[[dict[str, Any]], dict[str, Any]]


def due(held: PeriodState, publication: Publication, *, withdrawn: bool, now: float) -> str | None:
    """Return RELEASED or DISCARDED if this is due for a period now, else None.

    What a withdrawn publication has collected does not leave, and is kept until it would have been discarded.
    """
    end = publication.window(held.place[1])[1]
    over = now >= end + max(publication.dispose, publication.grace)
    if held.state == READY:
        return RELEASED
    if held.state not in (OPEN, CLOSING):
        return None
    if withdrawn:
        return DISCARDED if over else None
    if held.state == CLOSING:
        return RELEASED
    if now < end + publication.grace:
        return None
    if held.contributors >= publication.minimum:
        return RELEASED
    return DISCARDED if over else None


def release(
    store: Store, held: PeriodState, publication: Publication, *, outbox: Path, owner: str, sign: Sign
) -> Path | None:
    """Write a batch and erase its reports; None if another shuffler has it in hand."""
    final, hidden = _places(outbox, held)
    with alone_in(outbox), store.release_lock(held.place) as locked:
        if not locked:
            return None
        held = store.close(held.place)
        if held.state == CLOSING:
            shutil.rmtree(hidden, ignore_errors=True)
            try:
                _write(store, held, publication, hidden, sign)
            except BaseException:
                shutil.rmtree(hidden, ignore_errors=True)
                raise
            # if this fails, the hidden directory stays: the store may have noted it all the same
            store.ready(held.place)
        elif held.state != READY or held.owner != owner:
            return None  # another has it, or had it
        if hidden.exists():
            if final.exists():
                raise ShuffleDPError(
                    f"the outbox must have room for a batch, got another {final.name!r}; move it away."
                )
            hidden.rename(final)
            sync_folder(outbox)
        store.finish(held.place, RELEASED)
    return final


def remove_abandoned(held: PeriodState, *, outbox: Path, owner: str) -> None:
    """Throw away what was written of a batch that another shuffler has taken over, or that is not to leave any more."""
    if held.finished or (held.state == READY and held.owner != owner):
        shutil.rmtree(_places(outbox, held)[1], ignore_errors=True)


def _places(outbox: Path, held: PeriodState) -> tuple[Path, Path]:
    """Return the final and the hidden directory of a batch."""
    name = f"{held.place[0].hex()}-{held.place[1]}"
    return outbox / name, outbox / f".tmp-{name}"


def shuffled(pieces: Iterable[bytes], size: int, folder: Path) -> Iterator[bytearray]:
    """Messages of ``size`` bytes in one uniformly random order, in memory that does not grow with their number.

    Each goes to one of many files, chosen uniformly and independently, and every file is permuted: see
    ``protocol/shuffler.py`` for why that is uniform.
    """
    src, near = source(None), bytearray()
    far: Scattered | None = None
    lengths = (0,) * FILES
    try:
        for piece in pieces:
            near += piece
            if len(near) > _MEMORY:
                far = far or Scattered(size, folder)
                lengths, near = far.scatter(bytes(near), lengths, src), bytearray()
        if far:
            lengths, near = far.scatter(bytes(near), lengths, src), bytearray()
            yield from permuted(far.contents(lengths), size, src)
        elif near:
            yield from permuted([near], size, src)
    finally:
        if far:
            far.remove()


def _write(store: Store, held: PeriodState, publication: Publication, folder: Path, sign: Sign) -> None:
    folder.mkdir(mode=0o700)
    size, period = publication.sealed_bytes, held.place[1]
    files = list(_parts(shuffled(store.messages(held.place), size, folder), size, folder))
    messages, wanted = sum(one["messages"] for one in files), held.contributors * publication.slots
    if messages != wanted:
        raise ShuffleDPError(
            f"the store must hold {wanted:,} messages of period {period}, got {messages:,}; it is damaged, so nothing "
            "is released."
        )
    manifest = {
        "format": "shuffledp manifest",
        "version": 1,
        "batch": held.batch,
        "publication": publication.digest,
        "period": period,
        "contributors": held.contributors,
        "messages": messages,
        "files": files,
        "refused": held.refused,
    }
    write_whole(folder / "manifest.json", json.dumps(sign(manifest), indent=1) + "\n")
    folder.chmod(0o750)
    sync_folder(folder)
    sync_folder(folder.parent)


def _parts(pieces: Iterable[bytearray], size: int, folder: Path) -> Iterator[dict[str, Any]]:
    """Write Parquet files of one column, each durable, and describe them."""
    arrow = require("pyarrow", extra="shuffler", purpose="a batch")
    parquet = require("pyarrow.parquet", extra="shuffler", purpose="a batch")
    schema = arrow.schema([arrow.field("sealed", arrow.binary(size), nullable=False)])
    for number, rows in groupby(_slices(pieces, size), itemgetter(0)):
        path, messages = folder / f"part-{number:05d}.parquet", 0
        with parquet.ParquetWriter(
            path, schema, compression="none", use_dictionary=False, write_statistics=False
        ) as to:
            for _, raw in rows:
                count = len(raw) // size
                column = arrow.Array.from_buffers(arrow.binary(size), count, [None, arrow.py_buffer(raw)])
                to.write_table(arrow.table([column], schema=schema))
                messages += count
        with path.open("rb") as stream:
            os.fsync(stream.fileno())
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        yield {"name": path.name, "messages": messages, "sha256": digest}


def _slices(pieces: Iterable[bytearray], size: int) -> Iterator[tuple[int, memoryview]]:
    """Cut messages so that no slice crosses the boundary of a file, and number the files."""
    written = 0
    for piece in pieces:
        left = memoryview(piece)
        while len(left):
            number, rows = divmod(written, _ROWS)
            taken = left[: (_ROWS - rows) * size]
            written, left = written + len(taken) // size, left[len(taken) :]
            yield number, taken


# -- what the analyst checks -------------------------------------------------------------------------------------------


MANIFEST = Kind("manifest", 2**26, "fetch the released folder again", "released")
CONTEXT = "shuffledp manifest 1"
_PART = Kind("a part of the release", 2**40, "fetch the released folder again", "released")
_KEYS = ("format", "version", "batch", "publication", "period", "contributors", "messages", "files", "refused")
_NAME, _SHA256, _BATCH = (re.compile(text) for text in (r"part-[0-9]{5,9}\.parquet", "[0-9a-f]{64}", "[0-9a-f]{32}"))
#: Sealed messages that are read at once.
ROWS = 8192


def manifest_in(envelope: object, trusted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest that a trusted shuffler signed."""
    found = mapping("manifest", signed.open_(CONTEXT, envelope, trusted), needed=_KEYS)
    if found["format"] != "shuffledp manifest" or type(found["version"]) is not int or found["version"] != 1:
        raise ParameterError(
            f"manifest must be of version 1, got {found['format']!r:.40} {found['version']!r:.20}; update shuffledp."
        )
    files: list[Any] = found["files"] if isinstance(found["files"], list) else [None]
    whole = [found[key] for key in ("period", "contributors", "messages")]
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
class ReleasedBatch:
    """A released folder whose manifest is signed by a trusted shuffler and fits the publication.

    Attributes
    ----------
    folder : where the parts are
    publication : what its contributors answered
    envelope, manifest : what the shuffler signed, and its content
    """

    folder: Path
    publication: Publication
    envelope: dict[str, Any]
    manifest: dict[str, Any]

    @classmethod
    def read(
        cls, folder: str | os.PathLike[str], publication: Publication, shufflers: Mapping[str, Any]
    ) -> ReleasedBatch:
        """Check signature, plan, period, sizes and minimum; the parts are checked by :meth:`verify`."""
        envelope = read_json(Path(folder) / "manifest.json", MANIFEST)
        found = manifest_in(envelope, shufflers)
        messages = found["contributors"] * publication.slots
        for name, got, wanted in (
            ("publication", found["publication"], publication.digest),
            ("messages", found["messages"], messages),
        ):
            if got != wanted:
                raise ParameterError(
                    f"{name} of the manifest must be that of the publication, {wanted}, got {got!r:.80}; collect with "
                    "the publication that its clients had."
                )
        if publication.window(found["period"])[0] >= publication.expires:
            raise ParameterError(
                f"period of the manifest must start before the publication expires, got {found['period']}; ask the "
                "shuffler."
            )
        if found["contributors"] < publication.minimum:
            raise ParameterError(
                f"a batch must have {publication.minimum:,} contributors, got {found['contributors']:,}; a shuffler "
                "must not release it, so tell its operator."
            )
        return cls(Path(folder), publication, envelope, found)

    def paths(self) -> list[Path]:
        """The parts, in the order of the manifest."""
        return [self.folder / part["name"] for part in self.manifest["files"]]

    def verify(self) -> None:
        """Refuse a part that is missing or has other bytes than the shuffler signed."""
        for path, part in zip(self.paths(), self.manifest["files"], strict=True):
            with opened(path, _PART) as stream:
                found = hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]
            # a file that is smaller than its messages would be unpacked to more than there is room for
            fewest = part["messages"] * self.publication.sealed_bytes
            if found != part["sha256"] or path.stat().st_size < fewest:
                raise ParameterError(
                    f"{part['name']} must have the bytes that the shuffler signed, got other bytes; fetch it again."
                )

    def sealed(self) -> Iterator[NDArray[np.uint8]]:
        """The sealed messages, some rows of bytes at a time."""
        arrow = require("pyarrow", extra="shuffler", purpose="reading a released period")
        parquet = require("pyarrow.parquet", extra="shuffler", purpose="reading a released period")
        size = self.publication.sealed_bytes
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
