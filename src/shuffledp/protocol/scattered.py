"""Messages in private temporary files, each message in one of them, chosen uniformly at random."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..randomness.permutation import permute
from ..randomness.sampling import Source, below

FILES = 256


def divided(rows: NDArray[Any], files: int, src: Source) -> Iterator[tuple[int, bytes]]:
    """Every message to a file chosen uniformly: the number of each file that gets some, and its messages."""
    where = below(src, files, len(rows))
    order = np.argsort(where, kind="stable")
    ends = np.searchsorted(where[order], np.arange(files + 1))
    for i, (first, last) in enumerate(pairwise(ends)):
        if last > first:
            yield i, rows[order[first:last]].tobytes()


def permuted(parts: Iterable[bytearray], size: int, src: Source) -> Iterator[bytearray]:
    """The contents of the files, each in a uniformly random order of its messages, which have ``size`` bytes."""
    for raw in parts:
        permute(src, np.frombuffer(raw, dtype=f"V{size}"))
        yield raw


class Scattered:
    """The files; how many bytes of each count is known to the caller, and what lies behind is cut off."""

    def __init__(self, size: int, folder: str | os.PathLike[str] | None) -> None:
        self._size, self._process = size, os.getpid()
        self._parent = Path(folder or tempfile.gettempdir())
        with self._failures():
            home = tempfile.mkdtemp(prefix="shuffledp-", dir=folder)  # readable by its owner only
        self._paths = [Path(home) / f"{i:03d}" for i in range(FILES)]
        self.remove = weakref.finalize(self, _remove, home, self._process)

    def scatter(self, raw: bytes, lengths: tuple[int, ...], src: Source) -> tuple[int, ...]:
        """Append every message to a random file of that length, and give the new lengths."""
        new = list(lengths)
        for i, some in divided(np.frombuffer(raw, dtype=f"V{self._size}"), FILES, src):
            with self._failures(), self._paths[i].open("ab") as stream:
                self._refuse_short(stream.seek(0, os.SEEK_END), lengths[i])
                stream.truncate(lengths[i])
                stream.write(some)
            new[i] += len(some)
        return tuple(new)

    def contents(self, lengths: tuple[int, ...]) -> Iterator[bytearray]:
        """What was appended to every file."""
        for path, length in zip(self._paths, lengths, strict=True):
            if length:
                with self._failures(), path.open("rb") as stream:
                    raw = bytearray(stream.read(length))
                self._refuse_short(len(raw), length)
                yield raw

    @contextmanager
    def _failures(self) -> Iterator[None]:
        if os.getpid() != self._process:
            raise ParameterError(
                "a shuffler with temporary files must be used by the process that filled it, got a forked one; make a "
                "Shuffler in every process."
            )
        try:
            yield
        except OSError as error:
            raise ParameterError(
                f"folder must take the temporary files of a shuffler, got {str(self._parent)!r} ({error.strerror}); "
                "make room there and try again, nothing is lost, or start a Shuffler with another folder."
            ) from None

    def _refuse_short(self, found: int, wanted: int) -> None:
        if found < wanted:
            raise ParameterError(
                f"temporary files of a shuffler must stay as they are, got one that was cut in {str(self._parent)!r}; "
                "its messages are lost, so collect them again."
            )


def _remove(home: str, process: int) -> None:
    """Only the process that made them removes the files: a forked one that ends leaves them to its parent."""
    if os.getpid() == process:
        shutil.rmtree(home, ignore_errors=True)
