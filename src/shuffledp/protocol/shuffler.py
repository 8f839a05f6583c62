"""The shuffler: collects messages, and passes them on in one uniformly random order.

Messages are kept in memory up to a limit.  Beyond it, each is written to one of many files, chosen uniformly at random
and independently; at the end every file is permuted on its own and they are read one after the other.  That is a
uniform permutation of all messages: given the sizes of the files, all ways to divide the messages among them are
equally likely, and so are all orders within each (the splitting of Rao, Sankhya A 1961, in one pass).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support import validation as check
from ..errors import ParameterError
from ..mechanisms.reports import both_for_release
from ..randomness.sampling import Source, source
from . import batch as of_batches
from .batch import Batch, Header, as_tally, new_id, refuse_other_plan, refuse_twice, write_batch, wrong_number
from .messages import from_bytes, message_length, to_bytes
from .plan import Plan, plan_of
from .scattered import FILES, Scattered, permuted


class _Held(NamedTuple):
    """What waits for its release.  Messages are only ever appended, and count once this says so.

    It is replaced by a single assignment: whatever fails before, the shuffler is as it was, and what lies behind the
    lengths below is cut off by whoever appends next.
    """

    for_release: bool | None
    batches: set[str]  # ids of all batches that were merged, and of those they were made from
    id: str = ""  # of the batch that it will be
    users: int = 0
    near: int = 0  # bytes of messages in memory
    far: tuple[int, ...] = (0,) * FILES  # bytes of messages in each file


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
        self._randomizer = self.plan.query.randomizer
        self._codec = self._randomizer.codec
        self._size = message_length(self._codec)
        self._memory = check.whole("memory", memory, low=1, high=2**50, hint="it is a number of bytes")
        self._src: Source = source(rng)
        self._held = self._nothing()
        self._near = bytearray()
        self._far: Scattered | None = None
        self._folder = folder
        self._released: set[str] = set()
        self._releasing = False

    def _nothing(self) -> _Held:
        return _Held(self._src.for_release, set())

    @property
    def users(self) -> int:
        """Users whose reports wait to be released."""
        return self._held.users

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
        wanted = wrong_number(self.plan, len(messages), users=1, limits=self._randomizer._report_limits)
        if wanted:
            raise ParameterError(
                f"a report of this plan must have {wanted} messages, got {len(messages)}; every user sends a whole one."
            )
        raw = b"".join(messages)
        if raw:
            self._refuse_impossible(raw)
        self._take(raw, users=1, for_release=None)

    def _refuse_impossible(self, raw: bytes) -> None:
        """One such message would make the collector refuse the batch of everybody."""
        try:
            self.plan.query.randomizer.tally(from_bytes(self._codec, raw), users=1, threads=1)
        except ParameterError:
            raise ParameterError(
                f"a message must be one that {self.plan.query.randomizer.spec} can send, got another; refuse it."
            ) from None

    def add_batch(self, batch: Batch) -> None:
        """All messages of a batch of this plan, to be shuffled with others.

        A batch that passed here before is refused, and so is one that has users in common with such a batch, because
        one was made from the other or both from a third.
        """
        header = batch.header
        refuse_other_plan(self.plan, header.plan)
        if self._randomizer._noise_by_shuffler:
            raise ParameterError(
                f"a batch to merge must be one without noise of its shuffler, got one of {self._randomizer.spec}; let "
                "the collector count every batch."
            )
        for known in (self._held.batches, self._released):
            refuse_twice(header.ids, known, "merged")
        most = of_batches.MOST_MADE_FROM
        if len(self._held.batches) + len(header.ids) > most:
            raise ParameterError(
                f"a batch must be made from {most:,} others at most, got more; release those merged so far."
            )
        as_tally(self.plan, batch.data, header)
        raw = to_bytes(self._codec, batch.data).tobytes()
        self._take(raw, users=header.users, for_release=header.for_release, header=header)

    def add_reports(self, data: NDArray[Any], *, users: int, for_release: bool | None = True) -> None:
        """The messages of many users, as an array of the plan's mechanism; others are refused, and the rest stays."""
        users, sent = check.users(users, "users"), self._randomizer._report_limits
        as_tally(self.plan, data, Header(self.plan.digest, users, len(data), self._size, for_release), limits=sent)
        self._take(to_bytes(self._codec, data).tobytes(), users=users, for_release=for_release)

    def _take(self, raw: bytes, *, users: int, for_release: bool | None, header: Header | None = None) -> None:
        """Hold these messages too, or fail and hold what was held."""
        self._refuse_while_releasing()
        held = self._held
        if len(self._near) != held.near:
            self._near = self._near[: held.near]
        self._near += self._noisy(raw, first=not held.id)
        new = held._replace(
            # drawn with the first report: a forked process that already holds some makes the same batch twice, and an
            # empty one makes another
            id=held.id or new_id(),
            users=held.users + users,
            near=len(self._near),
            for_release=both_for_release(held.for_release, for_release),
        )
        if new.near > self._memory:
            new = self._scattered(new)
        if header:
            held.batches.update(header.ids)
        self._hold(new)

    def _noisy(self, raw: bytes, *, first: bool) -> bytes:
        """Messages with the noise that the shuffler makes, if it makes any.

        It is drawn when messages come, that of the whole batch with the first: whatever fails later, or is forked, has
        the same noise.  Fresh noise at every attempt to release would let it be averaged out.
        """
        if not self._randomizer._noise_by_shuffler:
            return raw
        data = self._randomizer._at_shuffler(from_bytes(self._codec, raw), self._src, first=first)
        return to_bytes(self._codec, data).tobytes()

    def _scattered(self, held: _Held) -> _Held:
        """The same messages, with those in memory moved to the files."""
        self._far = self._far or Scattered(self._size, self._folder)
        near = bytes(memoryview(self._near)[: held.near])
        return held._replace(near=0, far=self._far.scatter(near, held.far, self._src))

    def _hold(self, held: _Held) -> None:
        self._held = held
        if not held.near:
            self._near = bytearray()

    def _refuse_while_releasing(self) -> None:
        if self._releasing:
            raise ParameterError(
                "a shuffler must do one thing at a time, got another while it releases a batch; wait until that is "
                "done, or use a second Shuffler."
            )

    def batch(self, *, early: bool = False) -> Batch:
        """The shuffled batch in memory; the shuffler is then empty.

        A batch below the plan's minimum is refused unless ``early`` says otherwise; its header shows its size, and
        the collector then refuses to release it.
        """
        with self.release(early=early) as (header, parts):
            return Batch(header, from_bytes(self._codec, b"".join(parts)))

    def write(self, path: str | os.PathLike[str], *, early: bool = False) -> Header:
        """The shuffled batch as a file, a part at a time; the shuffler is then empty.

        If the file cannot be written, the shuffler still holds everything: write it elsewhere.
        """
        with self.release(early=early) as (header, parts):
            write_batch(path, header, parts)
        return header

    @contextmanager
    def release(self, *, early: bool = False) -> Iterator[tuple[Header, Iterator[bytearray]]]:
        """The header, and the shuffled messages part after part, to be stored within the ``with`` block.

        The shuffler is empty once the block ends with all parts read; they must then be where a crash cannot take
        them.  If the block ends in any other way, the shuffler is as before, and can take more reports or try again.

        Examples
        --------
        >>> import shuffledp as sdp
        >>> fruit = sdp.queries.Histogram(column="fruit", labels=["apple", "pear"], mechanism="grr:eps0=2")
        >>> shuffler = sdp.Shuffler(sdp.Plan(query=fruit, users=2, delta=1e-6))
        >>> for value in ("pear", "apple"):
        ...     shuffler.add(sdp.Client(shuffler.plan).report(value))
        >>> with shuffler.release() as (header, parts):
        ...     stored = b"".join(parts)
        >>> header.users, len(stored), shuffler.users
        (2, 2, 0)
        """
        self._refuse_while_releasing()
        self._refuse_small(early)
        if any(self._held.far):
            self._hold(self._scattered(self._held))
        # A second attempt has the id of the first and an order of its own.  The id, because all of the first may be
        # stored although an error was reported: a collector then counts one of them.  The order may be seen in both
        # attempts: each is drawn independently of who sent what, so that two say no more than one.  (Whoever saw the
        # first knows its messages from those that are added afterward, whatever the orders are; hence files that are
        # not yet whole are private.)
        held, read = self._held, 0
        length = held.near + sum(held.far)
        inside, number = tuple(sorted(held.batches)), length // self._size
        header = Header(self.plan.digest, held.users, number, self._size, held.for_release, held.id, inside)

        def parts() -> Iterator[bytearray]:
            nonlocal read
            for raw in permuted(self._contents(held), self._size, self._src):
                read += len(raw)
                yield raw

        self._releasing = True
        try:
            yield header, parts()
            if read != length:
                raise ParameterError(
                    f"all {header.messages:,} messages must be read before a batch is released, got "
                    f"{read // self._size:,}; the shuffler still holds them."
                )
            self._released |= held.batches
            self._hold(self._nothing())
        finally:
            self._releasing = False
        if self._far:
            self._far.remove()
            self._far = None

    def _contents(self, held: _Held) -> Iterator[bytearray]:
        """Copies of all messages: those in the files, or else those in memory."""
        if self._far:
            yield from self._far.contents(held.far)
        if held.near:
            yield self._near[: held.near]

    def _refuse_small(self, early: bool) -> None:
        if not self.users:
            raise ParameterError("a batch must hold at least one report, got none; collect some first.")
        if not self.ready and not early:
            raise ParameterError(
                f"a batch of this plan must hold {self.plan.smallest_batch:,} users, got {self.users:,}; wait for "
                "more, or pass early=True (--early on the command line) for one that cannot be released."
            )
