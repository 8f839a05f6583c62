"""The wheel for sets: every item owns an arc of a circle under your own public seed; report a point of the circle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.exponentials import exp, expm1
from ...errors import BoundNotApplicableError, ParameterError
from ...numerics.pair import ShuffledPair, both_directions
from ...numerics.swap.family import SwapSet
from ...numerics.swap.pair import SwapPair, among
from ...randomness.sampling import Array, Source, below, below_each, bernoulli
from ...randomness.thresholds import exact_chance, threshold
from ..codecs import Digits
from ..frequency import FixedSets
from ..laws import independent
from ..parameters import Free, real, whole
from .circle import positions, supported, wrapped
from .wheel_types import MOST_ITEMS, SLACK, seen_of_two, table


@dataclass(frozen=True, kw_only=True)
class Wheel(FixedSets):
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
    arcs; beta rises toward sw = 1/2, so that rounding W away from it keeps the stated value safe.

    *Blanket*: t = 1/Omega everywhere (a sound choice, no point has less).  Then (u, v) = (R0/t, R1/t) lies in [1, e]^2,
    and X = u - E v is linear, so splitting (u, v) over the corners with weights pu = (u-1)/(e-1) for u = e and
    pv alike for v = e, independently, keeps the mean and spreads X (docs/proofs.md, section 2).  pu averages sw on
    every circle, pv too, and for disjoint sets they are independent: the corner (e, e) gets (sw)^2.  If the sets
    share items, pu and pv are alike and independent given where those lie, so E[pu pv] = E[E[pu|shared]^2] >= (sw)^2.
    Moving mass from (e, e) and (1, 1) to (e, 1) and (1, e) keeps the mean of X and spreads it, so (sw)^2 is the
    worst case, in both directions, and one shuffled pair covers all pairs of sets.

    *Swap bound*: wheel_types.py covers the laws of every two sets among every third one, for s up to 4.

    *Lower bound*: the adversary sees only whether y lies on an arc of a set; an independent point does so with
    probability 1 - (1-w)^k for k items.  For s = 2 and three disjoint sets it also sees about how far arcs overlap.

    *Estimator*: a report supports v if y is on its arc, with probability we/Omega if v is held, else w.

    Examples
    --------
    >>> Wheel(eps0=1.0, d=100, s=2).variation_ratio().beta.__round__(4)
    0.2894
    >>> import numpy as np
    >>> m = Wheel(eps0=3.0, d=4, s=2)
    >>> sets = np.array([[0, 1], [1, 3]] * 1000)
    >>> est = m.estimate(m.privatize(sets, rng=np.random.default_rng(0)))
    >>> bool(abs(est.value[0] - 0.5) < 5 * est.stderr[0])
    True
    """

    name = "wheel"
    _in_words = "the wheel on sets of {s} of {d:,} items, arcs of {w:.4g}, with eps0 = {eps0}"
    _points = 2**31 - 1  # a prime; sums of two positions fit in 32 bits

    d: int = whole(low=2, high=lambda m: m._points, hint="d counts the items")
    w: float = real(
        low=0.0,
        high=lambda m: 1.0 / m.s,
        low_open=True,
        high_open=True,
        hint="arcs must leave a gap",
        # an arc has at least one point, whatever the rounding of w
        choose=lambda m: max(1.0 / (2 * m.s - 1 + m.s * exp(m.eps0)), 1.5 / m._points),
        # the mean error over the items; eps0 would be above 50 to use shorter arcs than 2^-30 well
        free=Free(4.0, lambda m: m.s / m.d, lambda m: (2.0**-30, (1.0 - 2.0**-20) / m.s)),
    )

    def _check_together(self) -> None:
        if not 1 <= self._width <= (self._points - 1) // self.s:
            raise ParameterError(
                f"w must leave a point of the circle of {self._points} on and off the arcs, got {self.w!r}; "
                "leave w out for the best one."
            )

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
    def _on(self) -> float:
        """e/Omega, N times the probability of a point on the arcs."""
        return _density(self._covered, self.eps0)

    @property
    def keep(self) -> float:
        """we/Omega: y is on the arc of an item that is held."""
        return self.stray * self._on

    @property
    def stray(self) -> float:
        """w: y is on the arc of another item."""
        return self._width / self._points

    @property
    def beta(self) -> float:
        """min(sw, 1-sw)(e-1)/Omega."""
        covered = self.s * Fraction(self.w)
        return float(min(covered, 1 - covered)) * -expm1(-self.eps0) * _density(covered, self.eps0)

    @property
    def codec(self) -> Digits:
        """The seed, then the point; a chunk of seeds and places stays in the cache."""
        return Digits(self._terms + 1, self._points, scratch=16 * (self._terms + 1) + 64 * self.s)

    # -- accounting -------------------------------------------------------------------------------------------

    def _blanket(self) -> list[ShuffledPair]:
        """The four corners of (u, v), each coordinate on its own at e with probability sw (see Notes)."""
        share = [float(self._covered), float(1 - self._covered)]
        hit, miss = self._on, exp(-self.eps0) * self._on
        held, t = [share[0] * hit, share[1] * miss], miss * independent(share, share)
        return [ShuffledPair(independent(held, share), independent(share, held), t)]

    def _swap(self) -> SwapSet:
        """Through the laws of wheel_types.py; for more than two items they are too many to list one by one."""
        if self.s > MOST_ITEMS:
            raise BoundNotApplicableError(
                f"bound 'swap' needs the laws of all that another user may hold, and the wheel lists them for s = 1 "
                f"to {MOST_ITEMS} only, got s = {self.s}; use bound='auto'."
            )
        densities = self._on, exp(-self.eps0) * self._on
        make = partial(table, self._points, self._width, self.s, densities, min(self.d, 3 * self.s))
        found, blanket = make(), self.law.blanket()
        types = replace(
            among([found.pair(row) for row in range(len(found) if self.s <= 2 else 1)], blanket), slack=SLACK
        )
        (alone,) = blanket.pairs(1) or ()  # by itself it reveals as much as any two sets
        return SwapSet([types if self.s <= 2 else replace(types, victim=alone, more=make)])

    def _swap_members(self, most: int) -> Sequence[SwapPair] | None:
        """Those of single items: for sets, tuples would need a victim who keeps a set among all types as well."""
        return super()._swap_members(most) if self.s == 1 else None

    def _constant_datasets(self) -> list[ShuffledPair]:
        """Others hold x0, or a set disjoint from both; seen: is y on an arc of an item that only x0 has, and so on?"""
        own = min(self.s, self.d - self.s)  # items of x0 that are not in x1
        chance = 1 - Fraction(self._points - self._width, self._points) ** own
        free = [float(chance), float(1 - chance)]  # y on such an arc, or not, if the set is not held
        spare = float(self._covered - chance) + exp(-self.eps0) * float(1 - self._covered)
        held = [self._on * free[0], self._on * spare]
        pairs = both_directions(ShuffledPair(independent(held, free), independent(free, held), independent(held, free)))
        if self.d >= 3 * self.s:
            free, held = self._seen if self.s == 2 else (free, held)
            pairs.append(ShuffledPair(*(independent(*np.roll([held, free, free], k, axis=0)) for k in range(3))))
        return pairs

    @property
    def _seen(self) -> tuple[list[float], list[float]]:
        """Of two items: the chances of on and of blocks of distances, and the same for the set that is held."""
        blocks, reach = seen_of_two(self._points, self._width), float(self._width) / (self._points - self._width)
        low = exp(-self.eps0) * self._on
        density = [self._on, *(low + (self._on - low) * reach * float(height) for _, height in blocks[1:])]
        free = [float(chance) for chance, _ in blocks]
        return free, [x * y for x, y in zip(free, density, strict=True)]

    # -- running it -------------------------------------------------------------------------------------------

    @property
    def _on_arc(self) -> Fraction:
        """s w e/Omega."""
        off = float(1 - self._covered) * exp(-self.eps0)
        return exact_chance(float(self._covered) * self._on, off * self._on)

    def _portable_law(self) -> dict[str, Any]:
        return {
            "kind": "wheel",
            "points": self._points,
            "width": self._width,
            "terms": self._terms,
            "on": threshold(self._on_arc),
        }

    def _randomize(self, values: Array, src: Source) -> Array:
        """With probability s w e/Omega a uniform point of a uniform arc, unless the next arc covers it as well.

        Then every point of the union is reported with density e/Omega, by the last arc that starts before it; all
        the remaining probability, Omega - L e, goes to a uniform point off the union.
        """
        n = len(values)
        out = np.empty((self._terms + 1, n), dtype=self.codec.dtype)  # one row per digit: contiguous work
        out[:-1] = below(src, self._points, self._terms * n).reshape(self._terms, n)
        items = np.ascontiguousarray(values.T, dtype=np.uint64)
        start = np.stack([positions(out[:-1], item, self._points) for item in items])
        start.sort(axis=0)
        spacing = np.empty_like(start)
        np.subtract(start[1:], start[:-1], out=spacing[:-1])
        np.subtract(start[0] + np.uint64(self._points), start[-1], out=spacing[-1])
        arc = below(src, self.s, n).astype(np.intp) * n + np.arange(n)
        offset = below(src, self._width, n)
        on = bernoulli(src, self._on_arc, n) & (offset < spacing.reshape(-1)[arc])
        y = start.reshape(-1)[arc] + offset
        off = np.flatnonzero(~on)
        y[off] = start[0, off] + self._between(start[:, off] - start[0, off], spacing[:, off], src)
        out[-1] = wrapped(y, self._points)
        return out.T

    def _between(self, start: Array, spacing: Array, src: Source) -> NDArray[np.uint64]:
        """A uniform point off the union, counted from the first arc: skip the part that each arc adds to it."""
        added = np.minimum(spacing, np.uint64(self._width))
        point = below_each(src, np.uint64(self._points) - added.sum(axis=0, dtype=np.uint64))
        for first, more in zip(start, added, strict=True):
            point += more * (point >= first)
        return point

    def _tally(self, data: Array) -> Array:
        return supported(data, self.d, self._width, self._points)


def _density(covered: Fraction, eps0: float) -> float:
    """e/Omega = 1/(sw + (1-sw) e^-eps0)."""
    return 1.0 / (float(covered) + float(1 - covered) * exp(-eps0))
