"""The shuffler: collects messages, and passes them on in one uniformly random order.

Messages are kept in memory up to a limit.  Beyond it, each is written to one of many files, chosen uniformly at random
and independently; in the end every file is permuted on its own and they are read one after the other.  That is a
uniform permutation of all messages: given the sizes of the files, all ways to divide the messages among them are
equally likely, and so are all orders within each (the splitting of Rao, Sankhya A 1961, in one pass).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._support import validation as check
from ..errors import ParameterError
from ..randomness.permutation import permute
from ..randomness.sampling import Source, below, source
from .batch import Batch, Header, as_tally, write_batch, wrong_number
from .messages import from_bytes, message_length, to_bytes
from .plan import Plan, plan_of

#: Files that messages are scattered over once they exceed the memory.
_FILES = 256


class Shuffler:
    """Takes reports in any order and gives a batch in a uniformly random one.

    Parameters
    ----------
    plan : the plan or its file
    memory : bytes of messages that are kept in memory; beyond, they are scattered over private temporary files
    folder : where these files go; the system's folder for temporary files unless stated
    rng : a seeded generator for tests; the batch is then not for release

    Examples
    --------
    >>> import shuffledp as sdp
    >>> fruit = sdp.queries.Histogram(column="fruit", labels=["apple", "pear"], mechanism="grr:eps0=2")
    >>> plan = sdp.Plan(query=fruit, users=1000, minimum_batch=2, delta=1e-6)
    >>> shuffler, client = sdp.Shuffler(plan), sdp.Client(plan)
    >>> shuffler.add(client.report("pear"))
    >>> shuffler.ready
    False
    """

    def __init__(
        self,
        plan: Plan | str | os.PathLike[str],
        *,
        memory: int = 2**28,
        folder: str | os.PathLike[str] | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.plan = plan_of(plan)
        self.users = 0
        self._codec = self.plan.query.randomizer.codec
        self._size = message_length(self._codec)
        self._memory = check.whole("memory", memory, low=1, high=2**50, hint="it is a number of bytes")
        self._src: Source = source(rng)
        self._for_release: bool | None = self._src.for_release
        self._near = bytearray()
        self._far: _Scattered | None = None
        self._folder = folder
        self._merged: set[str] = set()

    @property
    def ready(self) -> bool:
        """Whether the batch is as large as the guarantee needs."""
        return self.users >= self.plan.smallest_batch

    def add(self, report: Iterable[bytes]) -> None:
        """The messages of one user; a report that no client of the plan can have sent is refused, and the rest stays.

        Bytes do not say whether a seeded generator made them, so that ``for_release`` of the batch is None (unknown).
        """
        messages = list(report)
        for message in messages:
            if not isinstance(message, bytes | bytearray | memoryview) or len(message) != self._size:
                got = f"{len(message)} bytes" if isinstance(message, bytes | bytearray | memoryview) else repr(message)
                raise ParameterError(f"a message of this plan must be {self._size} bytes, got {got[:60]}; refuse it.")
        wanted = wrong_number(self.plan, len(messages), users=1)
        if wanted:
            raise ParameterError(
                f"a report of this plan must have {wanted} messages, got {len(messages)}; every user sends a whole one."
            )
        raw = b"".join(messages)
        if raw:
            self._refuse_impossible(raw)
        self._near += raw
        self.users += 1
        self._for_release = None if self._for_release else self._for_release
        self._relieve()

    def _refuse_impossible(self, raw: bytes) -> None:
        """One such message would make the collector refuse the batch of everybody."""
        try:
            self.plan.query.randomizer.tally(from_bytes(self._codec, raw), users=1, threads=1)
        except ParameterError:
            raise ParameterError(
                f"a message must be one that {self.plan.query.randomizer.spec} can send, got another; refuse it."
            ) from None

    def add_batch(self, batch: Batch) -> None:
        """All messages of a batch of this plan, to be shuffled with others; the same batch again is refused."""
        header = batch.header
        if header.plan != self.plan.digest:
            raise ParameterError(
                f"batch must be of this plan ({self.plan.digest[:12]}...), got one of another "
                f"({header.plan[:12]}...); use the plan that its clients had."
            )
        if header.id in self._merged:
            raise ParameterError(
                f"a batch must be merged once, got {header.id} again, perhaps as a copy under another name; its users "
                "would count twice, so leave one of them out."
            )
        as_tally(self.plan, batch.data, header)
        self.add_reports(batch.data, users=header.users, for_release=header.for_release)
        self._merged.add(header.id)

    def add_reports(self, data: NDArray[Any], *, users: int, for_release: bool | None = True) -> None:
        """The messages of many users, as an array that the plan's mechanism made."""
        self._near += to_bytes(self._codec, data).tobytes()
        self.users += check.users(users, "users")
        if for_release is not True:
            self._for_release = for_release if self._for_release else self._for_release
        self._relieve()

    def _relieve(self) -> None:
        if len(self._near) > self._memory:
            self._far = self._far or _Scattered(self._size, self._folder)
            self._far.scatter(self._near, self._src)
            self._near = bytearray()

    def batch(self, *, early: bool = False) -> Batch:
        """The shuffled batch in memory; the shuffler is then empty.

        A batch below the plan's minimum is refused unless ``early`` says otherwise; its header shows its size, and
        the collector then refuses to release it.
        """
        header, parts = self.parts(early=early)
        raw = b"".join(parts)
        return Batch(header, from_bytes(self._codec, raw))

    def write(self, path: str | os.PathLike[str], *, early: bool = False) -> Header:
        """The shuffled batch as a file, a part at a time; the shuffler is then empty."""
        header, parts = self.parts(early=early)
        write_batch(path, header, parts)
        return header

    def parts(self, *, early: bool = False) -> tuple[Header, Iterator[bytes]]:
        """The header, and the shuffled messages part after part; the shuffler is then empty."""
        if not self.users:
            raise ParameterError("a batch must hold a report at least, got none; collect some first.")
        if not self.ready and not early:
            raise ParameterError(
                f"a batch of this plan must hold {self.plan.smallest_batch:,} users, got {self.users:,}; wait for "
                "more, or pass early=True (--early on the command line) for one that cannot be released."
            )
        count = len(self._near) // self._size + (self._far.messages if self._far else 0)
        header = Header(self.plan.digest, self.users, count, self._size, self._for_release)
        parts = self._parts()
        self.users = 0
        return header, parts

    def _parts(self) -> Iterator[bytes]:
        near, far = self._near, self._far
        self._near, self._far = bytearray(), None
        if far is None:
            yield self._permuted(near)
            return
        with far:
            far.scatter(near, self._src)
            for part in far.files():
                yield self._permuted(part)

    def _permuted(self, raw: bytearray) -> bytes:
        rows = np.frombuffer(raw, dtype=f"V{self._size}")
        rows.flags.writeable = True
        permute(self._src, rows)
        return bytes(raw)


class _Scattered:
    """Messages in private temporary files, each in one chosen uniformly at random."""

    def __init__(self, size: int, folder: str | os.PathLike[str] | None) -> None:
        self._size, self.messages = size, 0
        self._home = tempfile.TemporaryDirectory(prefix="shuffledp-", dir=folder)  # readable by its owner only
        self._paths = [Path(self._home.name) / f"{i:03d}" for i in range(_FILES)]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._home.cleanup()

    def scatter(self, raw: bytearray, src: Source) -> None:
        """Append every message to a random file."""
        rows = np.frombuffer(raw, dtype=f"V{self._size}")
        where = below(src, _FILES, len(rows))
        order = np.argsort(where, kind="stable")
        ends = np.searchsorted(where[order], np.arange(_FILES + 1))
        for path, first, last in zip(self._paths, ends[:-1], ends[1:], strict=True):
            if last > first:
                with path.open("ab") as stream:
                    stream.write(rows[order[first:last]].tobytes())
        self.messages += len(rows)

    def files(self) -> Iterator[bytearray]:
        """The content of every file."""
        for path in self._paths:
            if path.exists():
                yield bytearray(path.read_bytes())
