"""The wheel for sets: every item owns an arc of a circle under your own public seed; report a point of the circle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..._support import validation as check
from ..._support.numbers import round_down
from ...errors import ParameterError
from ...estimation.constraints import FixedSum
from ...estimation.estimate import Estimate, pure
from ...numerics.families.base import PairSet, both_directions
from ...numerics.pair import ShuffledPair
from ...randomness.sampling import Source, below, bernoulli, words
from ..free_setting import FreeSetting, open_setting
from ..known.variation_ratio import VariationRatio
from ..parameters import budget
from ..randomizer import Randomizer
from ..values import categories


@dataclass(frozen=True, kw_only=True)
class Wheel(Randomizer):
    """The Wheel mechanism for sets of s items (Wang et al., IEEE Transactions on Mobile Computing 2024).

    The circle is GF(N), N = 2^31 - 1, and an arc has W = wN points.  Every user draws a fresh seed c, uniform on
    GF(N)^(3s-1), which puts item v at h(v) = c_1 v + c_2 v^2 + ... mod N.  Let A be the union of the arcs
    [h(v), h(v)+W) of the user's items, L its share of the circle (L <= sw), e = e^eps0, Omega = s w e + 1 - s w.
    The report is (c, y), the point y having N times the probability

        e/Omega  on A,    (Omega - L e)/((1-L) Omega)  elsewhere.

    Parameters
    ----------
    eps0 : float > 0
        Local budget.
    d : int > s
        Number of items; a value is a set of s different numbers in 0, ..., d-1 (one row per user).
    s : int >= 1
        Items in a set.
    w : float in (0, 1/s), optional
        Arc length; by default 1/(2s-1+se), the optimum for s = 1 and within 0.3 % of it for more.  W is wN
        rounded away from N/(2s); the law below is that of W.

    Notes
    -----
    *The family.*  The wheel commutes with rotations, so a rotation by a public uniform constant term changes nothing;
    with it the positions are a uniform polynomial of degree below 3s, hence any 3s different items are
    independent and uniform.

    *Parameters*: p = q = e, beta = min(sw, 1-sw)(e-1)/Omega (paper, Table 2, for sw <= 1/2), attained by disjoint
    arcs; beta rises towards sw = 1/2, so that rounding W away from it keeps the stated value safe.

    *Blanket*: t = 1/Omega everywhere (a sound choice, no point has less).  Then (u, v) = (R0/t, R1/t) lies in [1, e]^2,
    and X = u - E v is linear, so splitting (u, v) over the corners with weights pu = (u-1)/(e-1) for u = e and
    pv alike for v = e, independently, keeps the mean and spreads X (theory, section 1).  pu averages sw on
    every circle, pv too, and for disjoint sets they are independent: the corner (e, e) gets (sw)^2.  If the sets
    share items, pu and pv are alike and independent given where those lie, so E[pu pv] = E[E[pu|shared]^2] >= (sw)^2.
    Moving mass from (e, e) and (1, 1) to (e, 1) and (1, e) keeps the mean of X and spreads it, so (sw)^2 is the
    worst case, in both directions, and one round covers all pairs of sets.

    *Lower bound*: what is seen is only whether y lies on an arc of a set, which happens to a point on its own with
    probability 1 - (1-w)^k for k items.

    *Estimator*: a report supports v if y is on its arc, with probability we/Omega if v is held, else w.

    Examples
    --------
    >>> Wheel(eps0=1.0, d=100, s=2).variation_ratio().beta.__round__(4)
    0.2894
    >>> import numpy as np
    >>> m = Wheel(eps0=3.0, d=4, s=2)
    >>> sets = np.array([[0, 1], [1, 3]] * 1000)
    >>> est = m.estimate(m.privatise(sets, rng=np.random.default_rng(0)))
    >>> bool(abs(est.value[0] - 0.5) < 5 * est.stderr[0])
    True
    """

    name: ClassVar[str] = "wheel"
    _points: ClassVar[int] = 2**31 - 1  # a prime; sums of two positions fit in 32 bits

    eps0: float = budget()
    d: int
    s: int
    w: float = None  # type: ignore[assignment]  # replaced by the optimum

    @classmethod
    def free_setting(cls, given: dict[str, Any]) -> FreeSetting | None:
        """w."""
        limits, frequency = (lambda m: (2.0**-30, (1.0 - 2.0**-20) / m.s)), (lambda m: m.s / m.d)
        return open_setting(cls, given, "w", limits=limits, whole=False, ratio=4.0, frequency=frequency)

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", check.local_budget(self.eps0))
        d = check.whole("d", self.d, low=2, high=self._points, hint="d counts the items")
        s = check.whole("s", self.s, low=1, high=d - 1, hint="s counts the items of a set, fewer than d")
        if (w := self.w) is None:  # an arc has at least one point, whatever the rounding of w
            w = max(1.0 / (2 * s - 1 + s * math.exp(self.eps0)), 1.5 / self._points)
        w = check.in_range("w", w, low=0.0, high=1.0 / s, low_open=True, high_open=True, hint="arcs must leave a gap")
        for name, value in (("d", d), ("s", s), ("w", w)):
            object.__setattr__(self, name, value)
        if not 1 <= self._width <= (self._points - 1) // s:
            raise ParameterError(
                f"w must leave a point of the circle of {self._points} on and off the arcs, got {w!r}; "
                "leave w out for the best one."
            )

    @property
    def description(self) -> str:
        """In words."""
        budget = round_down(self.eps0, 6)
        return f"the wheel on sets of {self.s} of {self.d:,} items, arcs of {self.w:.4g}, with eps0 = {budget}"

    @property
    def _width(self) -> int:
        """W: whole points of an arc, rounded away from N/(2s)."""
        exact = Fraction(self.w) * self._points
        return math.floor(exact) if 2 * self.s * Fraction(self.w) <= 1 else math.ceil(exact)

    @property
    def _covered(self) -> Fraction:
        """sW/N, the share of the circle under disjoint arcs; 1 - this must not lose digits."""
        return Fraction(self.s * self._width, self._points)

    @property
    def _terms(self) -> int:
        """Coefficients of a seed."""
        return 3 * self.s - 1

    @property
    def _keep(self) -> float:
        """e/Omega."""
        return _density(self._covered, self.eps0)

    # -- accounting -------------------------------------------------------------------------------------------

    def variation_ratio(self) -> VariationRatio:
        """p = q = e^eps0, beta = min(sw, 1-sw)(e-1)/Omega."""
        p, covered = math.exp(self.eps0), self.s * Fraction(self.w)
        beta = float(min(covered, 1 - covered)) * -math.expm1(-self.eps0) * _density(covered, self.eps0)
        return VariationRatio(p=p, beta=beta, q=p)

    def blanket(self) -> PairSet:
        """The four corners of (u, v), each coordinate on its own at e with probability sw (see Notes)."""
        share = [float(self._covered), float(1 - self._covered)]
        hit, miss = self._keep, math.exp(-self.eps0) * self._keep
        level = [share[0] * hit, share[1] * miss]
        return PairSet([ShuffledPair(_product(level, share), _product(share, level), miss * _product(share, share))])

    def constant_datasets(self) -> PairSet:
        """Others hold x0, or a set apart from both, seen through "y is on an arc of an item that only x0 has" etc."""
        own = min(self.s, self.d - self.s)  # items of x0 that x1 has not
        chance = 1 - Fraction(self._points - self._width, self._points) ** own
        free = [float(chance), float(1 - chance)]  # y on such an arc, or not, if the set is not held
        spare = float(self._covered - chance) + math.exp(-self.eps0) * float(1 - self._covered)
        held = [self._keep * free[0], self._keep * spare]
        pairs = both_directions(ShuffledPair(_product(held, free), _product(free, held), _product(held, free)))
        if self.d >= 3 * self.s:
            pairs.append(ShuffledPair(*(_product(*np.roll([held, free, free], k, axis=0)) for k in range(3))))
        return PairSet(pairs)

    # -- running it -------------------------------------------------------------------------------------------

    @property
    def _bytes_per_user(self) -> int:
        """Generous on purpose: a chunk of difference tables should stay in the cache."""
        return 160 * (self._terms + 1)

    def _check(self, values: NDArray[Any]) -> NDArray[Any]:
        if self.s == 1 and values.ndim == 1:
            values = values[:, None]
        if values.ndim != 2 or values.shape[1] != self.s:
            raise ParameterError(
                f"values must have shape (users, {self.s}), got {values.shape}; give {self.s} items per user."
            )
        sets = categories(values.reshape(-1), self.d).reshape(values.shape)
        ordered = np.sort(sets, axis=1)
        if np.any(ordered[:, 1:] == ordered[:, :-1]):
            raise ParameterError(
                f"values must hold {self.s} different items in every row, got a repeated one; pad sets with dummies."
            )
        return sets

    def _positions(self, seed: NDArray[Any], items: NDArray[Any]) -> NDArray[np.uint64]:
        """h(v) = v (c_1 + v (c_2 + ...)) mod N; ``seed`` has one row per coefficient."""
        total = np.zeros(np.broadcast_shapes(seed.shape[1:], items.shape), dtype=np.uint64)
        for coefficient in seed[::-1]:
            total += coefficient
            total *= items  # below 2^63
            total -= total // np.uint64(self._points) * np.uint64(self._points)
        return total

    def _randomise(self, values: NDArray[Any], src: Source) -> NDArray[Any]:
        """With probability s w e/Omega a uniform point of a uniform arc, unless the next arc covers it as well.

        Then every point of the union is reported with density e/Omega, by the last arc that starts before it; all
        the remaining probability, Omega - L e, goes to a uniform point off the union.
        """
        n = len(values)
        seed = below(src, self._points, self._terms * n).reshape(self._terms, n)
        start = np.sort(self._positions(seed[:, :, None], values.astype(np.uint64)), axis=1)
        spacing = np.diff(start, axis=1, append=start[:, :1] + np.uint64(self._points))
        arc, offset = below(src, self.s, n), below(src, self._width, n)
        rows = np.arange(n)
        on = bernoulli(src, min(1.0, float(self._covered) * self._keep), n) & (offset < spacing[rows, arc])
        y = start[rows, arc] + offset
        off = np.flatnonzero(~on)
        y[off] = start[off, 0] + self._between(start[off] - start[off, :1], spacing[off], src)
        return np.vstack([seed, self._wrap(y)]).astype(np.min_scalar_type(self._points), copy=False).T

    def _between(self, start: NDArray[Any], spacing: NDArray[Any], src: Source) -> NDArray[np.uint64]:
        """A uniform point off the union, counted from the first arc: skip the part that each arc adds to it."""
        added = np.minimum(spacing, np.uint64(self._width))
        point = _below_each(src, np.uint64(self._points) - added.sum(axis=1))
        for first, more in zip(start.T, added.T, strict=True):
            point += more * (point >= first)
        return point

    def _wrap(self, total: NDArray[Any]) -> NDArray[Any]:
        """Numbers below 2N, mod N: where they are below N, subtracting N wraps to something larger."""
        return np.asarray(np.minimum(total, total - total.dtype.type(self._points)))

    @property
    def _report_shape(self) -> tuple[int, ...]:
        return (self._terms + 1,)

    def _tally(self, data: NDArray[Any]) -> NDArray[Any]:
        """How many reports support each item: (y - h(v)) mod N < W, with y - h(v) by its forward differences in v."""
        m, n = self._terms, np.uint32(self._points)
        report = np.ascontiguousarray(data.T, dtype=np.uint32)
        table = np.empty((m + 1, report.shape[1]), dtype=np.uint32)
        for v in range(m + 1):
            table[v] = self._positions(report[:m], np.array([v], dtype=np.uint64))
        table = self._wrap(report[m] + (n - table))
        for level in range(1, m + 1):
            table[level:] = self._wrap(table[level:] + (n - table[level - 1 : -1]))
        hits = np.empty(self.d, dtype=np.int64)
        total, less = np.empty_like(table[1:]), np.empty_like(table[1:])
        for v in range(self.d):
            hits[v] = np.count_nonzero(table[0] < np.uint32(self._width))
            np.add(table[:-1], table[1:], out=total)
            np.subtract(total, n, out=less)
            np.minimum(total, less, out=table[:-1])
        return hits

    def _infer(self, counts: NDArray[Any], users: int) -> Estimate:
        w = self._width / self._points
        return pure(counts, users, w * self._keep, w, FixedSum(self.s))

    def variance(self, n: int, frequency: float = 0.0) -> float:
        """Variance of one estimated frequency: [f a(1-a) + (1-f) b(1-b)]/(n (a-b)^2), a = we/Omega, b = w."""
        b = self._width / self._points
        a = b * self._keep
        return (frequency * a * (1 - a) + (1 - frequency) * b * (1 - b)) / (n * (a - b) ** 2)


def _density(covered: Fraction, eps0: float) -> float:
    """e/Omega = 1/(sw + (1-sw) e^-eps0)."""
    return 1.0 / (float(covered) + float(1 - covered) * math.exp(-eps0))


def _product(*factors: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """The law of independent symbols."""
    law = np.ones(1)
    for factor in factors:
        law = np.outer(law, np.asarray(factor)).reshape(-1)
    return law


def _below_each(src: Source, bounds: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One uniform integer below each bound (at most 2^32), exactly: Lemire's method, as in ``below``."""
    product = words(src, bounds.size, 32).astype(np.uint64) * bounds
    low, reject = np.uint64(2**32 - 1), np.uint64(2**32) % bounds
    bad = np.flatnonzero((product & low) < reject)
    while bad.size:
        product[bad] = words(src, bad.size, 32).astype(np.uint64) * bounds[bad]
        bad = bad[(product[bad] & low) < reject[bad]]
    return np.asarray(product >> np.uint64(32))
