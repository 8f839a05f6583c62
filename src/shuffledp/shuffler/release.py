"""The way out: a period that is over leaves once, in one uniformly random order, as a directory with its manifest.

The batch is written into a hidden directory and made durable; the store notes that it is ready; it is renamed; the
store notes that it is released and erases the reports.  A crash between any two of these steps is made good by doing
the rest: before "ready" the hidden directory is thrown away, since nobody saw it; after it, it is never written again,
so that there is no second batch, not even if the first was taken away before the crash was noticed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from .._support.files import sync_folder, write_whole
from .._support.json_ready import json_object
from .._support.locking import alone_in
from .._support.optional import require
from ..errors import ShuffleDPError
from ..protocol.scattered import FILES, Scattered, permuted
from ..randomness.sampling import source
from .publication import Publication
from .store import CLOSING, DISCARDED, OPEN, READY, RELEASED, Held, Store

#: Bytes of messages that are permuted in memory; more go through private files, in the directory that is hidden.
_MEMORY = 1 << 26
_ROWS = 1_000_000
Sign = Callable[[dict[str, Any]], dict[str, Any]]


def due(held: Held, publication: Publication, *, withdrawn: bool, now: float) -> str | None:
    """What is to be done with a period now: it is to be released, to be discarded, or (None) it waits."""
    if held.state in (CLOSING, READY):
        return DISCARDED if withdrawn and held.state == CLOSING else RELEASED
    if held.state != OPEN:
        return None
    end = publication.window(held.place[1])[1]
    if withdrawn:
        return DISCARDED
    if now < end + publication.grace:
        return None
    if held.contributors >= publication.minimum:
        return RELEASED
    return DISCARDED if now >= end + max(publication.dispose, publication.grace) else None


def release(store: Store, held: Held, publication: Publication, *, outbox: Path, owner: str, sign: Sign) -> Path | None:
    """Write a batch and erase its reports; None if another shuffler has it in hand."""
    final, hidden = _places(outbox, held)
    with alone_in(outbox), store.alone(held.place) as alone:
        if not alone:
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


def sweep(held: Held, *, outbox: Path, owner: str) -> None:
    """Throw away what was written of a batch that another shuffler has taken over, or that is not to leave any more."""
    if held.finished or (held.state == READY and held.owner != owner):
        shutil.rmtree(_places(outbox, held)[1], ignore_errors=True)


def _places(outbox: Path, held: Held) -> tuple[Path, Path]:
    """Where a batch will be, and where it is written."""
    name = f"{held.place[0].hex()[:12]}-{held.place[1]}"
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


def _write(store: Store, held: Held, publication: Publication, folder: Path, sign: Sign) -> None:
    folder.mkdir(mode=0o700)
    size, period = publication.sealed_bytes, held.place[1]
    files = list(_parts(shuffled(store.messages(held.place), size, folder), size, folder))
    messages, wanted = sum(one["messages"] for one in files), held.contributors * publication.slots
    if messages != wanted:
        raise ShuffleDPError(
            f"the store must hold {wanted:,} messages of period {period}, got {messages:,}; it is damaged, so nothing "
            "is released."
        )
    starts, ends = publication.window(period)
    manifest = {
        "format": "shuffledp manifest",
        "version": 1,
        "batch": held.batch,
        "plan": publication.digest,
        "serial": publication.serial,
        "period": period,
        "starts": starts,
        "ends": ends,
        "minimum": publication.minimum,
        "contributors": held.contributors,
        "messages": messages,
        "sealed_bytes": size,
        "files": files,
        "refused": held.refused,
    }
    write_whole(folder / "manifest.json", json.dumps(json_object(sign(manifest)), indent=1) + "\n")
    folder.chmod(0o750)
    sync_folder(folder)
    sync_folder(folder.parent)


def _parts(pieces: Iterable[bytearray], size: int, folder: Path) -> Iterator[dict[str, Any]]:
    """Write Parquet files of one column, each durable, and describe them."""
    arrow = require("pyarrow", extra="shuffler", purpose="a batch")
    parquet = require("pyarrow.parquet", extra="shuffler", purpose="a batch")
    schema = arrow.schema([arrow.field("sealed", arrow.binary(size), nullable=False)])
    for number, rows in enumerate(_by_rows(pieces, size)):
        path, messages = folder / f"part-{number:05d}.parquet", 0
        with parquet.ParquetWriter(
            path, schema, compression="none", use_dictionary=False, write_statistics=False
        ) as to:
            for raw in rows:
                count = len(raw) // size
                column = arrow.Array.from_buffers(arrow.binary(size), count, [None, arrow.py_buffer(raw)])
                to.write_table(arrow.table([column], schema=schema))
                messages += count
        with path.open("rb") as stream:
            os.fsync(stream.fileno())
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        yield {"name": path.name, "messages": messages, "sha256": digest}


def _by_rows(pieces: Iterable[bytearray], size: int) -> Iterator[Iterator[memoryview]]:
    """The same messages, in groups of at most _ROWS; each group must be read before the next."""
    rest = iter(memoryview(piece) for piece in pieces)
    head: memoryview | None = next(rest, None)

    def group() -> Iterator[memoryview]:
        nonlocal head
        room = _ROWS * size
        while head is not None and room:
            taken, left = head[:room], head[room:]
            room -= len(taken)
            head = left if len(left) else next(rest, None)
            yield taken

    while head is not None:
        yield group()
