"""Mechanisms that can be run: they privatize values and estimate from the reports.

A randomizer fills in four small steps (check, randomize, tally, infer), each for one chunk of users.  Chunks, threads,
secure randomness and bookkeeping are done here: every chunk has a random stream of its own, so that reports do not
depend on the number of threads, and the work space does not grow with the number of users.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support import validation as check
from .._support.threads import in_order, thread_count
from ..errors import ParameterError
from ..estimation.estimate import Estimate
from ..estimation.likelihood import METHODS, REPETITIONS, FittedEstimate, fitted
from ..randomness.permutation import permute_by
from ..randomness.sampling import Array, Source, Streams
from .accuracy import Accuracy
from .base import Mechanism
from .codecs import Category, Codec
from .reports import Reports, Tally
from .values import as_array, refuse_single

if TYPE_CHECKING:
    from ..numerics.family import Family

T = TypeVar("T")

#: Bytes of work space that one chunk of users may take.  Larger ones leave the processor's cache; with smaller ones
#: numpy's steps are so short that threads mostly hand the interpreter's lock back and forth.
CHUNK_BYTES = 32_000_000
#: Several chunks are a multiple of this many, so that two or four threads have equally much to do.
_TOGETHER = 4
#: A probability matrix may have this many cells.
MAX_CELLS = 10**6


class Randomizer(Mechanism):
    """A mechanism that can be run.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> isinstance(sdp.Laplace(eps0=1.0), sdp.Randomizer), isinstance(sdp.General(eps0=1.0), sdp.Randomizer)
    (True, False)
    """

    # -- four steps that a mechanism fills in, each for a chunk of users; several may run at once ------------

    @abstractmethod
    def _check(self, values: Array) -> Array:
        """The inputs, validated and in a compact dtype, one row per user."""

    @abstractmethod
    def _randomize(self, values: Array, src: Source) -> Array:
        """Reports of some users, from checked values (several messages each: more rows than values).

        All randomness must come from ``src``, and nothing may be kept: other threads run it for other users.
        """

    def _tally(self, data: Array) -> Array:
        """Sums over reports (additive over chunks): what :meth:`_infer` needs; those of the codec unless overridden."""
        return self.codec.tally(data)

    def _tally_of_sums(self, parts: Sequence[tuple[Array, int]]) -> Array | None:
        """The tally that follows from sums that another program took; None: it needs the reports themselves.

        parts : sums of the codec and the number of messages that they are over, one pair for each answer in a report
        """
        return parts[0][0] if type(self)._tally is Randomizer._tally else None

    @abstractmethod
    def _infer(self, counts: Array, users: int) -> Estimate:
        """The unbiased estimate from the sums."""

    @property
    @abstractmethod
    def codec(self) -> Codec:
        """How a report is written: category, packed bits, set members, numbers or records."""

    @property
    def _number_range(self) -> tuple[float, float] | None:
        """The range of its inputs where they are numbers, or vectors of numbers; None where they are something else."""
        return None

    #: What an input is where that is neither an option nor a number: "sets" of at most s items (-1 for none),
    #: "full sets" of exactly s items, "bits" of which the ones are counted, "key-values", "places" or "unit vectors".
    _takes: ClassVar[str] = ""

    @property
    def _runs_alone(self) -> bool:
        """Whether a user needs to know nothing of the others to send its messages."""
        return True

    @property
    def _message_limits(self) -> tuple[int, int | None]:
        """The fewest and the most messages of a report in a batch; None: as many as its noise requires."""
        return 1, 1

    @property
    def _report_limits(self) -> tuple[int, int | None]:
        """The same of what a user sends to the shuffler."""
        return self._message_limits

    # -- where the shuffler makes the noise: nothing of this matters where users do ---------------------------

    @property
    def _batches(self) -> int:
        """Batches whose noise is in what this draws."""
        return 1

    @property
    def _further(self) -> Randomizer:
        """What draws further parts of a batch of which a part was drawn."""
        return self

    def _as_sent(self, values: Array, rng: np.random.Generator | None) -> Array:
        """What users send to the shuffler."""
        return self.privatize(values, rng=rng).data

    def _at_shuffler(self, data: Array, src: Source, *, first: bool) -> Array:
        """What the shuffler makes of messages as they come, before it permutes; ``first``: of a batch."""
        return data

    def _portable_law(self) -> dict[str, Any]:
        """Its law in whole numbers, for clients in every language (randomness/program.py, docs/shuffler/laws.md).

        Every probability is right to a relative 2^-50, as accounting takes it to be, and rounded down to a multiple of
        2^-128.  In place of the thresholds for a number of messages, ``poisson`` may be its mean.
        """
        options = "grr, subset or pure-dump on listed options"
        instead = "window, binomial or poisson-sum" if self._number_range else options
        if any("vectors" in word for word in self.serves):
            instead = "window-vector, duchi or harmony"
        raise ParameterError(
            "mechanism must have a finite law, small enough to be listed, for clients in every language, got "
            f"{self.name}; use {instead}."
        )

    @property
    def _rounding(self) -> list[Any]:
        """The grids that a number in [-1, 1] is rounded to before the law is drawn; an integer r: r steps."""
        return []

    #: Parameters, beside the sizes, that a plan starts from.
    _design: ClassVar[tuple[tuple[str, float], ...]] = ()

    @classmethod
    def _designs(cls, sizes: Mapping[str, int]) -> list[dict[str, Any]]:
        """Parameters for a task of these sizes (d, dim, s, ...), without the one that is solved for; several to try.

        By default the sizes that it has a parameter for, and ``_design``.
        """
        known = {field.name for field in fields(cls) if field.init}  # type: ignore[arg-type]
        return [{**{name: size for name, size in sizes.items() if name in known}, **dict(cls._design)}]

    def accuracy(self, n: int, *, items: int | None = None) -> Accuracy:
        """The error of the estimate among n users; ``items`` are those that are asked for, without dummies."""
        raise ParameterError(f"{self.name} does not state the error of its estimate; declare accuracy to plan with it.")

    def _sum_variance(self, n: int, items: Array, share: Array) -> NDArray[np.float64]:
        """Variance of the sum of the estimated shares of ``items`` items, which a ``share`` of n users hold."""
        raise ParameterError(f"{self.name} does not state the error of a sum of items; plan with another mechanism.")

    @property
    def messages_per_user(self) -> float:
        """Messages that a user sends on average."""
        return 1.0

    #: Reports come in a random order, not in that of the users.
    _shuffles: ClassVar[bool] = False

    # -- what users call ----------------------------------------------------------------------------------

    def privatize(
        self, values: ArrayLike, *, rng: np.random.Generator | None = None, threads: int | None = None
    ) -> Reports:
        """Randomize one value per user; secure unless a seeded ``rng`` is passed (then not for release).

        Reports are in the order of the users and must be shuffled before anyone sees them
        (:meth:`Reports.shuffled`), except for the messages of multi-message mechanisms, whose order is random.

        ``threads`` is how many threads do the work, by default one per core; the reports of a seeded ``rng`` do not
        depend on it.  Memory beyond the reports is that of a few chunks of users.
        """
        count, inputs, streams = thread_count(threads), self._inputs(values), Streams(rng)
        run = self._run(inputs, streams)
        if not self._shuffles:
            return Reports(self._one_each(inputs, run, count), self.spec, len(inputs), streams.for_release, rng)
        data = _stacked(*self._in_chunks(inputs, run, count))
        permute_by(streams, data, count)  # all at once: a message's chunk would reveal its user's chunk
        return Reports(data, self.spec, len(inputs), streams.for_release, rng)

    def privatize_counts(
        self, values: ArrayLike, *, rng: np.random.Generator | None = None, threads: int | None = None
    ) -> Tally:
        """Randomize and sum at once, keeping no report (for simulations and trusted aggregation).

        ``rng`` and ``threads`` as in :meth:`privatize`; the counts are those of its reports.
        """
        count, inputs, streams = thread_count(threads), self._inputs(values), Streams(rng)
        run = self._run(inputs, streams)
        parts, _ = self._in_chunks(inputs, lambda i, rows: self._tally(run(i, rows)), count)
        return Tally(_summed(parts), self.spec, len(inputs), streams.for_release, self._batches)

    def tally(
        self,
        reports: Reports | ArrayLike,
        *,
        users: int | None = None,
        for_release: bool | None = None,
        threads: int | None = None,
    ) -> Tally:
        """Sum reports (raw arrays need ``users`` where a user sends several messages), on ``threads`` or all cores.

        Raw arrays do not record whether secure randomness made them: state it by ``for_release``, or it stays unknown.
        """
        workers = thread_count(threads)
        if isinstance(reports, Reports):
            _not_said(for_release, "Reports object")
            if reports.mechanism != self.spec:
                raise ParameterError(
                    f"reports must come from {self.spec}, got {reports.mechanism}; use the same mechanism."
                )
            data, count, release = reports.data, reports.users, reports.for_release
        else:
            data = as_array("reports", reports)
            refuse_single("reports", "report", data, reports)
            if users is None and not self.single_message:
                raise ParameterError(f"users must be given with raw messages of {self.name}, got None; pass users=n.")
            count, release = len(data) if users is None else check.users(users, "users"), _said(for_release)
        if not len(data):
            if self._message_limits[0]:
                raise ParameterError("reports must hold at least one report, got none; collect some first.")
            data = np.zeros((0, *self.codec.shape), dtype=self.codec.dtype)  # an empty list has no dtype of its own
        try:
            if not self.codec.readable(data):
                raise ValueError("another kind of array")
            shape = np.shape(self._tally(data[:0]))
            total = _summed(self._in_chunks(data, lambda _, rows: self._tally(_countable(data[rows])), workers)[0])
            if total.shape != shape:
                raise ValueError("values out of range")
        except (ArithmeticError, IndexError, KeyError, TypeError, ValueError) as error:
            if isinstance(error, ParameterError):
                raise
            raise ParameterError(
                f"reports must be what privatize of {self.spec} returns, got an array of {data.dtype} and shape "
                f"{data.shape} that is not; pass its reports, or their data unchanged."
            ) from None
        return Tally(total, self.spec, count, release)

    def estimate(
        self,
        reports: Reports | Tally | ArrayLike,
        *,
        users: int | None = None,
        for_release: bool | None = None,
        threads: int | None = None,
        method: str = "unbiased",
        smooth: bool = False,
        repetitions: int = REPETITIONS,
    ) -> Estimate:
        """The unbiased estimate with standard errors, from reports, from their bare array, or from their tally.

        A bare array does not record whether secure randomness made it: state it by ``for_release``, or that of the
        estimate is None (unknown).  ``threads`` do the work, by default one per core; the result does not depend on
        their number.

        ``method="em"`` gives the most likely share of users with each of :meth:`inputs` instead, for every mechanism
        whose probability matrix is small enough to be listed: never negative, adding up to 1, biased, with the spread
        of a bootstrap of ``repetitions`` fits in place of intervals.  ``smooth=True`` takes neighboring inputs to be
        alike, for bins in their order (EMS; with ``window``, the square wave of Li et al., SIGMOD 2020).
        """
        total = self._tally_of(reports, users, for_release, threads)
        if check.one_of("method", method, METHODS) == "em":
            return replace(self._most_likely(reports, total, smooth, repetitions), for_release=total.for_release)
        if smooth is not False:
            raise ParameterError(f"smooth must be left out of the unbiased estimate, got {smooth!r}; add method='em'.")
        return replace(self._infer_tally(total), for_release=total.for_release)

    def _infer_tally(self, tally: Tally) -> Estimate:
        """From the sums; how many batches they are over does not matter where users make the noise."""
        return self._infer(tally.counts, tally.users)

    def _most_likely(
        self, reports: Reports | Tally | ArrayLike, total: Tally, smooth: object, repetitions: object
    ) -> FittedEstimate:
        """The fit to how many reports are in each column of :meth:`probabilities`."""
        often = check.whole("repetitions", repetitions, low=2, high=10_000, hint="it is how often the fit is repeated")
        if not self.single_message:
            raise ParameterError(
                f"method must be 'unbiased' for several messages per user, got 'em' of {self.name}; leave method out."
            )
        if not isinstance(smooth, bool) or (smooth and self._takes):
            raise ParameterError(
                f"smooth must be True or False, and False for {self._takes or 'inputs'} without an order, got "
                f"{smooth!r}; leave it out."
            )
        law = self.probabilities()
        if not isinstance(reports, Tally):
            data = reports.data if isinstance(reports, Reports) else as_array("reports", reports)
            counts = np.bincount(self._columns(data), minlength=law.shape[1])
        elif isinstance(self.codec, Category) and reports.counts.shape == law.shape[1:]:
            counts = np.asarray(total.counts)
        else:
            raise ParameterError(
                f"reports must be given to method 'em' of {self.name}, got a tally, which does not hold how often each "
                "report came; pass the reports."
            )
        names = tuple(f"{x:.6g}" for x in self.inputs()) if self._number_range else ()
        return fitted(counts, law, smooth=smooth, repetitions=often, names=names)

    def estimates(
        self, reports: Reports | Tally | ArrayLike, *, for_release: bool | None = None, threads: int | None = None
    ) -> list[Estimate]:
        """The estimate of every part, in its own shape, if the mechanism is made of others; else the only one."""
        total = self._tally_of(reports, None, for_release, threads)
        return [replace(e, for_release=total.for_release) for e in self._each(total.counts, total.users)]

    def _each(self, counts: Array, users: int) -> list[Estimate]:
        return [self._infer(counts, users)]

    def _tally_of(
        self,
        reports: Reports | Tally | ArrayLike,
        users: int | None = None,
        for_release: bool | None = None,
        threads: int | None = None,
    ) -> Tally:
        """The tally of reports, or one that is given, of this mechanism."""
        if not isinstance(reports, Tally):
            return self.tally(reports, users=users, for_release=for_release, threads=threads)
        thread_count(threads)
        _not_said(for_release, "Tally")
        if reports.mechanism != self.spec:
            raise ParameterError(f"tally must come from {self.spec}, got {reports.mechanism}; use the same mechanism.")
        return reports

    # -- accounting that follows from the law -------------------------------------------------------------

    def _two_counts(self) -> Family:
        """Theorem 5.1 on the constant datasets of the mechanism."""
        from ..numerics.family import PairSet
        from ..numerics.pair import two_counts

        return PairSet([two_counts(r) for r in self.law.dataset_pairs(1000) or ()])

    @property
    def _truth(self) -> tuple[float, str]:
        """The largest probability, over values, that a message is true, and what that means, to follow "messages".

        0 and no words where no message is true or false, such as a number with noise.
        """
        return 0.0, ""

    # -- for tests: the stated law, in full, where it is small --------------------------------------------

    def inputs(self) -> list[Any]:
        """Every input, in the order of the rows of :meth:`probabilities` (small parameters only)."""
        raise ParameterError(f"{self.name} does not enumerate its inputs; use its law instead.")

    def probabilities(self) -> NDArray[np.float64]:
        """The probability matrix, rows = inputs, columns = outputs (small parameters only)."""
        raise ParameterError(f"{self.name} does not enumerate its outputs; use its law instead.")

    def _columns(self, data: Array) -> NDArray[np.int64]:
        """The column of :meth:`probabilities` that each report belongs to."""
        return self.codec.columns(data)

    def _few_cells(self, cells: float) -> None:
        """Refuse to write down a matrix that is too large."""
        if cells > MAX_CELLS:
            raise ParameterError(
                f"{self.spec} has a matrix of more than {MAX_CELLS:,} cells; use the bounds, which do not need it."
            )

    # -- helpers ------------------------------------------------------------------------------------------

    def _inputs(self, values: ArrayLike) -> Any:
        """What was passed, with one entry per user; :meth:`_check` is called on slices of it."""
        array = as_array("values", values)
        refuse_single("values", "user", array, values)
        if len(array) == 0:
            raise ParameterError("values must be an array with one entry per user, got none; collect some first.")
        return array

    def _run(self, inputs: Any, streams: Streams) -> Callable[[int, slice], Array]:
        """How a chunk is randomized: checked, then with its own stream."""
        return lambda i, rows: self._randomize(self._check(inputs[rows]), streams.source(i))

    def _one_each(self, inputs: Any, run: Callable[[int, slice], Array], threads: int) -> Array:
        """One report per user, each chunk written to its place by the thread that made it."""
        out = np.empty((len(inputs), *self.codec.shape), dtype=self.codec.dtype)

        def place(i: int, rows: slice) -> None:
            np.copyto(out[rows], run(i, rows), casting="equiv")

        deque(self._in_chunks(inputs, place, threads)[0], maxlen=0)
        return out

    def _in_chunks(self, array: Any, work: Callable[[int, slice], T], threads: int) -> tuple[Generator[T], int]:
        """What ``work`` makes of every chunk, in order, and how many chunks there are."""
        chunks = self._chunks(len(array))
        return in_order(lambda i: work(i, chunks[i]), len(chunks), threads), len(chunks)

    def _chunks(self, users: int) -> list[slice]:
        """Chunks of users, about equally long; they depend on the mechanism and the number of users, not on threads."""
        least = max(-(-users // max(1, CHUNK_BYTES // self.codec.scratch)), 1)
        count = least if least == 1 else min(-(-least // _TOGETHER) * _TOGETHER, users)
        ends = [i * users // count for i in range(count + 1)]
        return [slice(first, last) for first, last in itertools.pairwise(ends)]


def portable_law(mechanism: Randomizer) -> dict[str, Any]:
    """Its law in whole numbers; of a class that is not of this library only if it states one itself.

    Such a class may draw otherwise than the one that it is made from, whose law would then be wrong.
    """
    cls, ours = type(mechanism), __name__.partition(".")[0]
    foreign = [c for c in cls.__mro__ if c.__module__.partition(".")[0] not in (ours, "builtins", "abc", "typing")]
    if foreign and not any("_portable_law" in vars(c) for c in foreign):
        return Randomizer._portable_law(mechanism)
    return mechanism._portable_law()


def _said(for_release: object) -> bool | None:
    """True, False or None."""
    if for_release is None or isinstance(for_release, bool | np.bool_):
        return None if for_release is None else bool(for_release)
    raise ParameterError(
        f"for_release must be True, False or None (unknown), got {for_release!r}; say whether rng= was left out."
    )


def _not_said(for_release: object, kind: str) -> None:
    if for_release is not None:
        raise ParameterError(
            f"for_release must be left out with a {kind}, which records it, got {for_release!r}; it is for bare arrays."
        )


def _stacked(parts: Generator[Array], count: int) -> Array:
    """Join ``count`` parts into one array, freeing each part once it is copied: never two copies of everything."""
    with closing(parts):
        first = next(parts)
        if count == 1:
            return first
        out, used = np.empty((len(first) * count, *first.shape[1:]), dtype=first.dtype), 0
        for part in itertools.chain([first], parts):
            if used + len(part) > len(out):
                out.resize((used + len(part) + len(out) // 16, *out.shape[1:]), refcheck=False)
            np.copyto(out[used : used + len(part)], part, casting="equiv")
            used += len(part)
    out.resize((used, *out.shape[1:]), refcheck=False)
    return out


def _summed(parts: Generator[Array]) -> Array:
    """The sum of the parts, in their order."""
    with closing(parts):
        total = next(parts)
        for part in parts:
            total = total + part
    return np.asarray(total)


def _countable(data: Array) -> Array:
    """The same data, refused unless it is integers, bits, records, or finite numbers."""
    if data.dtype.kind in "iubV" or (data.dtype.kind == "f" and bool(np.isfinite(data).all())):
        return data
    raise ValueError("not finite numbers")
