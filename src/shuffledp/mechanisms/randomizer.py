"""What a mechanism is to the collecting side: it privatises values, and estimates from the reports.

A randomizer fills in four small steps (check, randomise, tally, infer); chunking, secure randomness and
bookkeeping are done here once, so memory stays flat whatever the number of users.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Number
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

#: Bytes of work space that one chunk of users may take.
CHUNK_BYTES = 8_000_000


@dataclass(frozen=True, eq=False)
class Reports:
    """Privatised reports of one mechanism: ``data`` has one row (or entry) per report, in the smallest dtype.

    ``users`` is the number of users behind them; ``for_release`` is False if a seeded generator made them, None if
    that is not known.

    The order.  Messages of multi-message mechanisms come in a uniformly random order.  All other reports stand in the
    order of the users: report i is that of user i, as it is before a shuffler.  An amplified guarantee holds only for
    those who see them shuffled, so pass on :meth:`shuffled` and not the reports themselves.
    """

    data: NDArray[Any]
    mechanism: str
    users: int
    for_release: bool | None

    def __len__(self) -> int:
        return len(self.data)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return np.asarray(self.data, dtype=dtype)

    def shuffled(self, *, rng: np.random.Generator | None = None) -> Reports:
        """The same reports in a uniformly random order, which says nothing about who sent what.

        Secure unless a seeded ``rng`` is passed (then not for release).  These reports stay as they are, and memory
        grows by the copy that is returned and not by more.

        Examples
        --------
        >>> import shuffledp as sdp
        >>> reports = sdp.GRR(eps0=1.0, d=4).privatise([0, 1, 2, 3])
        >>> sorted(reports.shuffled().data) == sorted(reports.data)
        True
        """
        src = randomness.source(rng)
        data = self.data.copy()
        permute(src, data)
        return replace(self, data=data, for_release=src.for_release and self.for_release)


@dataclass(frozen=True, eq=False)
class Tally:
    """All that an estimate needs of the reports: sums over reports, and the number of users."""

    counts: NDArray[Any]
    mechanism: str
    users: int
    for_release: bool | None

    def __add__(self, other: Tally) -> Tally:
        if self.mechanism != other.mechanism:
            raise ParameterError(f"tallies must be of one mechanism, got {self.mechanism} and {other.mechanism}.")
        known = {self.for_release, other.for_release}
        release = next((answer for answer in (False, None) if answer in known), True)
        return Tally(self.counts + other.counts, self.mechanism, self.users + other.users, release)


class Randomizer(Mechanism):
    """A mechanism that can be run."""

    # -- four steps that a mechanism fills in -------------------------------------------------------------

    @abstractmethod
    def _check(self, values: NDArray[Any]) -> NDArray[Any]:
        """The inputs, validated and in a compact dtype, one row per user."""

    @abstractmethod
    def _randomise(self, values: NDArray[Any], src: Source) -> NDArray[Any]:
        """Reports of some users (the first axis may be longer than that of values: several messages each)."""

    @abstractmethod
    def _tally(self, data: NDArray[Any]) -> NDArray[Any]:
        """Sums over reports (additive over chunks): what :meth:`_infer` needs."""

    @abstractmethod
    def _infer(self, counts: NDArray[Any], users: int) -> Estimate:
        """The unbiased estimate from the sums."""

    @property
    def _report_shape(self) -> tuple[int, ...] | None:
        """The shape of one report, where the tally alone would not notice a wrong one."""
        return None

    #: Bytes of scratch memory per user, which sets the chunk length.
    _bytes_per_user: int = 64
    #: Reports come in a random order, not in that of the users.
    _shuffles: ClassVar[bool] = False

    # -- what users call ----------------------------------------------------------------------------------

    def privatise(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> Reports:
        """Randomise one value per user; secure unless a seeded ``rng`` is passed (then not for release).

        Reports stand in the order of the users and must be shuffled before anyone sees them
        (:meth:`Reports.shuffled`), except for the messages of multi-message mechanisms, whose order is random.
        """
        src = randomness.source(rng)
        checked = self._inputs(values)
        chunks = self._chunks(checked)
        data = _stacked((self._randomise(chunk, src) for chunk in chunks), len(chunks))
        if self._shuffles:  # all at once: a chunk of the messages is one of the users
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

        Raw arrays do not know whether secure randomness made them: say so by ``for_release``, or it stays unknown.
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
            _refuse_single("reports", "report", data, reports)
            count, release = len(data) if users is None else check.users(users, "users"), _said(for_release)
        if not len(data):
            raise ParameterError("reports must hold at least one report, got none; collect some first.")
        total: NDArray[Any] | None = None
        try:
            if self._report_shape not in (None, data.shape[1:]) or not _countable(data):
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

        A bare array does not know whether secure randomness made it: say so by ``for_release``, or the estimate
        answers None (unknown).
        """
        total = self._tally_of(reports, users, for_release)
        return replace(self._infer(total.counts, total.users), for_release=total.for_release)

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
        return np.asarray(data).astype(np.int64)

    # -- helpers ------------------------------------------------------------------------------------------

    def _inputs(self, values: ArrayLike) -> NDArray[Any]:
        array = as_array("values", values)
        _refuse_single("values", "user", array, values)
        if len(array) == 0:
            raise ParameterError("values must be an array with one entry per user, got none; collect some first.")
        return self._check(array)

    def _chunks(self, array: NDArray[Any]) -> list[NDArray[Any]]:
        step = max(1, CHUNK_BYTES // self._bytes_per_user)
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
            f"for_release must be left out with a {kind}, which knows it, got {for_release!r}; it is for bare arrays."
        )


def _stacked(parts: Iterator[NDArray[Any]], count: int) -> NDArray[Any]:
    """One array of ``count`` parts, each of which is forgotten once it is in: there is never a second copy of all."""
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


def _refuse_single(name: str, of: str, array: NDArray[Any], given: object) -> None:
    """One bare value is no array of values: the sentence shows how to write it as one."""
    if array.ndim > 0:
        return
    if array.dtype.kind == "O" and not isinstance(given, Number):  # None, a set, a dictionary, a generator
        raise ParameterError(
            f"{name} must have one entry per {of}, got {type(given).__name__}; pass a list or an array."
        )
    text = repr(array.item())
    one = text if len(text) <= 40 else f"{text[:37]}..."
    raise ParameterError(f"{name} must have one entry per {of}, got the single value {one}; pass [{one}] for one {of}.")


def as_array(name: str, values: Any) -> NDArray[Any]:
    """numpy, arrow and pandas arrays and lists as one plain array; ragged and masked ones are refused."""
    if isinstance(values, np.ma.MaskedArray):
        raise ParameterError(f"{name} must not be masked, got a masked array; drop the masked entries first.")
    if hasattr(values, "to_numpy"):
        try:
            values = values.to_numpy(zero_copy_only=False)  # pyarrow copies only when asked
        except TypeError:
            values = values.to_numpy()
    try:
        return np.asarray(values)
    except ValueError:
        raise ParameterError(
            f"{name} must have rows of equal length, got ragged ones; give one entry per user."
        ) from None


def categories(values: NDArray[Any], d: int, name: str = "values") -> NDArray[Any]:
    """Whole numbers in [0, d) in the smallest unsigned dtype."""
    if values.dtype.kind not in "iu" or values.ndim != 1:
        raise ParameterError(
            f"{name} must be a flat array of whole numbers in [0, {d}), got {values.dtype} of shape {values.shape}."
        )
    if values.min() < 0 or values.max() >= d:
        bad = int(values.min()) if values.min() < 0 else int(values.max())
        raise ParameterError(f"{name} must lie in [0, {d}), got {bad}; number the categories from 0.")
    return values.astype(np.min_scalar_type(d - 1), copy=False)


def numbers(values: NDArray[Any], low: float, high: float, columns: int | None = None) -> NDArray[np.float64]:
    """Finite reals in [low, high]; with ``columns``, one row of that many per user."""
    if values.dtype.kind not in "iufb":
        raise ParameterError(f"values must be real numbers, got an array of {values.dtype}; convert it first.")
    out = values.astype(np.float64, copy=False)
    wanted = 1 if columns is None else 2
    if out.ndim != wanted or (columns is not None and out.shape[1] != columns):
        shape = "(users,)" if columns is None else f"(users, {columns})"
        raise ParameterError(f"values must have shape {shape}, got {out.shape}; give one row per user.")
    if not np.all(np.isfinite(out)) or out.min() < low or out.max() > high:
        raise ParameterError(
            f"values must lie in [{low:g}, {high:g}], got others; rescale them (clipping is yours to decide)."
        )
    return out
