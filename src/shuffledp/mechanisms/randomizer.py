"""Mechanisms that can be run: they privatise values and estimate from the reports.

A randomizer fills in four small steps (check, randomise, tally, infer); chunking, secure randomness and
bookkeeping are done here, so the work space does not grow with the number of users.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support import validation as check
from ..errors import ParameterError
from ..estimation.estimate import Estimate
from ..numerics.families.base import Family, PairSet, two_counts
from ..randomness import sampling as randomness
from ..randomness.permutation import permute
from ..randomness.sampling import Source
from .base import Mechanism
from .codecs import Codec
from .reports import Reports, Tally
from .values import as_array, refuse_single

#: Bytes of work space that one chunk of users may take.
CHUNK_BYTES = 8_000_000
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

    # -- four steps that a mechanism fills in -------------------------------------------------------------

    @abstractmethod
    def _check(self, values: NDArray[Any]) -> NDArray[Any]:
        """The inputs, validated and in a compact dtype, one row per user."""

    @abstractmethod
    def _randomise(self, values: NDArray[Any], src: Source) -> NDArray[Any]:
        """Reports of some users (the first axis may be longer than that of values: several messages each)."""

    def _tally(self, data: NDArray[Any]) -> NDArray[Any]:
        """Sums over reports (additive over chunks): what :meth:`_infer` needs; those of the codec unless overridden."""
        return self.codec.tally(data)

    @abstractmethod
    def _infer(self, counts: NDArray[Any], users: int) -> Estimate:
        """The unbiased estimate from the sums."""

    @property
    @abstractmethod
    def codec(self) -> Codec:
        """How a report is written: category, packed bits, set members, numbers or records."""

    @property
    def number_range(self) -> tuple[float, float] | None:
        """The range of its inputs where they are numbers, or vectors of numbers; None where they are something else."""
        return None

    #: What an input is where that is neither an option nor a number: "sets" of at most s items (-1 for none),
    #: "full sets" of exactly s items, "key-values", "places" or "unit vectors".
    takes: ClassVar[str] = ""

    @property
    def runs_alone(self) -> bool:
        """Whether a user needs to know nothing of the others to send its messages."""
        return True

    #: Reports come in a random order, not in that of the users.
    _shuffles: ClassVar[bool] = False

    # -- what users call ----------------------------------------------------------------------------------

    def privatise(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> Reports:
        """Randomise one value per user; secure unless a seeded ``rng`` is passed (then not for release).

        Reports are in the order of the users and must be shuffled before anyone sees them
        (:meth:`Reports.shuffled`), except for the messages of multi-message mechanisms, whose order is random.
        """
        src = randomness.source(rng)
        checked = self._inputs(values)
        chunks = self._chunks(checked)
        data = _stacked((self._randomise(chunk, src) for chunk in chunks), len(chunks))
        if self._shuffles:  # all at once: a message's chunk would reveal its user's chunk
            permute(src, data)
        return Reports(data, self.spec, len(checked), src.for_release)

    def privatise_counts(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> Tally:
        """Randomise and sum at once, keeping no report (for simulations and trusted aggregation)."""
        src = randomness.source(rng)
        checked = self._inputs(values)
        total: NDArray[Any] | None = None
        for chunk in self._chunks(checked):
            part = self._tally(self._randomise(chunk, src))
            total = part if total is None else total + part
        if total is None:
            raise ParameterError("values must hold at least one user, got none; collect some first.")
        return Tally(total, self.spec, len(checked), src.for_release)

    def tally(
        self, reports: Reports | ArrayLike, *, users: int | None = None, for_release: bool | None = None
    ) -> Tally:
        """Sum reports (raw arrays need ``users`` where a user sends several messages).

        Raw arrays do not record whether secure randomness made them: state it by ``for_release``, or it stays unknown.
        """
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
            count, release = len(data) if users is None else check.users(users, "users"), _said(for_release)
        if not len(data):
            raise ParameterError("reports must hold at least one report, got none; collect some first.")
        total: NDArray[Any] | None = None
        try:
            if not self.codec.readable(data) or not _countable(data):
                raise ValueError("another kind of array")
            shape = np.shape(self._tally(data[:0]))
            for chunk in self._chunks(data):
                part = self._tally(chunk)
                total = part if total is None else total + part
            if total is None or total.shape != shape:
                raise ValueError("values out of range")
        except (ArithmeticError, IndexError, KeyError, TypeError, ValueError) as error:
            if isinstance(error, ParameterError):
                raise
            raise ParameterError(
                f"reports must be what privatise of {self.spec} returns, got an array of {data.dtype} and shape "
                f"{data.shape} that is not; pass its reports, or their data unchanged."
            ) from None
        return Tally(np.asarray(total), self.spec, count, release)

    def estimate(
        self, reports: Reports | Tally | ArrayLike, *, users: int | None = None, for_release: bool | None = None
    ) -> Estimate:
        """The unbiased estimate with standard errors, from reports, from their bare array, or from their tally.

        A bare array does not record whether secure randomness made it: state it by ``for_release``, or that of the
        estimate is None (unknown).
        """
        total = self._tally_of(reports, users, for_release)
        return replace(self._infer(total.counts, total.users), for_release=total.for_release)

    def estimates(self, reports: Reports | Tally | ArrayLike, *, for_release: bool | None = None) -> list[Estimate]:
        """The estimate of every part, for a mechanism that is made of others; else the one there is."""
        return [self.estimate(reports, for_release=for_release)]

    def _tally_of(
        self, reports: Reports | Tally | ArrayLike, users: int | None = None, for_release: bool | None = None
    ) -> Tally:
        """The tally of reports, or one that is given, of this mechanism."""
        if not isinstance(reports, Tally):
            return self.tally(reports, users=users, for_release=for_release)
        _not_said(for_release, "Tally")
        if reports.mechanism != self.spec:
            raise ParameterError(f"tally must come from {self.spec}, got {reports.mechanism}; use the same mechanism.")
        return reports

    # -- accounting that follows from the law -------------------------------------------------------------

    def two_counts(self) -> Family:
        """Theorem 5.1 on the constant datasets of the mechanism."""
        return PairSet([two_counts(r) for r in self.constant_datasets().pairs(1000) or ()])

    # -- for tests: the stated law, in full, where it is small --------------------------------------------

    def inputs(self) -> list[Any]:
        """Every input, in the order of the rows of :meth:`probabilities` (small parameters only)."""
        raise ParameterError(f"{self.name} does not enumerate its inputs; use its law instead.")

    def probabilities(self) -> NDArray[np.float64]:
        """The probability matrix, rows = inputs, columns = outputs (small parameters only)."""
        raise ParameterError(f"{self.name} does not enumerate its outputs; use its law instead.")

    def columns(self, data: NDArray[Any]) -> NDArray[np.int64]:
        """The column of :meth:`probabilities` that each report belongs to."""
        return self.codec.columns(data)

    def _few_cells(self, cells: float) -> None:
        """Refuse to write down a matrix that is too large."""
        if cells > MAX_CELLS:
            raise ParameterError(
                f"{self.spec} has a matrix of more than {MAX_CELLS:,} cells; use the bounds, which do not need it."
            )

    # -- helpers ------------------------------------------------------------------------------------------

    def _inputs(self, values: ArrayLike) -> NDArray[Any]:
        array = as_array("values", values)
        refuse_single("values", "user", array, values)
        if len(array) == 0:
            raise ParameterError("values must be an array with one entry per user, got none; collect some first.")
        return self._check(array)

    def _chunks(self, array: NDArray[Any]) -> list[NDArray[Any]]:
        step = max(1, CHUNK_BYTES // self.codec.scratch)
        return [array[i : i + step] for i in range(0, len(array), step)]


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


def _stacked(parts: Iterator[NDArray[Any]], count: int) -> NDArray[Any]:
    """Join ``count`` parts into one array, freeing each part once it is copied: never two copies of everything."""
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


def _countable(data: NDArray[Any]) -> bool:
    """Integers, bits, records, or finite numbers."""
    return data.dtype.kind in "iubV" or (data.dtype.kind == "f" and bool(np.isfinite(data).all()))
