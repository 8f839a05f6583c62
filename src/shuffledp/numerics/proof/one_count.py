"""Proofs for one Poisson count that a user raises by up to r: the formula of poisson/one_count.py in ball arithmetic.

Let N ~ Poisson(mu) have the masses g.  The ratio R(k) = g(k-r)/g(k) = k (k-1) ... (k-r+1) / mu^r rises with k, so that
with K the first k of R(k) > E, and with K' the first k of R(k) >= 1/E,

    D_E(N+r || N) = Pr[K-r <= N < K] - (E-1) Pr[N >= K],    D_E(N || N+r) = Pr[K'-r <= N < K'] - (E-1) Pr[N < K'-r].

Bisection finds K and K' in balls; where balls cannot tell which of two neighbors it is, the larger value
counts.  Masses are summed as balls.  A tail that is cut off is at most a geometric series, and leaving it out only
raises the upper end.  A proof takes no number from the certificate but the precision, and none from floating point: the
mean of the file is an exact decimal, so it needs no slack for the rounding of a law either.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from flint import arb

from ...errors import CertificationError
from ..poisson.one_count import LARGEST_MEAN, RaisedCount
from .balls import ball, largest, precision
from .pairs import Method, Proof

#: A tail is cut off where what remains is less than this part of it.
_CUT = Fraction(1, 2**64)
#: Neighboring k that balls may leave undecided: R(k) = E has at most one solution.
_UNDECIDED = 2


def choose(n: int) -> Method:
    """The precision of a proof: exponents of size n log n lose 2 log2(n) bits."""
    return Method("count", 128 + 2 * n.bit_length())


def work(law: RaisedCount, n: int, method: Method) -> float:
    """Steps of one proof, in units of about 5 microseconds: r masses and a tail, both ways."""
    return (law.most + _terms(_mean(law, n))) * max(1.0, method.bits / 256)


def prove(law: RaisedCount, n: int, eps: Fraction, method: Method) -> Proof:
    """An interval with delta(eps) <= upper, the larger one of both directions."""
    if method.kind != "count":
        raise CertificationError(f"a Poisson count is proved by 'count', got {method.kind!r}; certify again.")
    mean = _mean(law, n)
    if not mean:
        return Proof(Fraction(1), Fraction(1))
    with precision(method.bits):
        count = _Count(mean, law.most)
        both = [
            count.excess(k, eps, up=up) for up, level in ((True, eps), (False, -eps)) for k in count.crossing(level)
        ]
        return Proof.of(largest([low for low, _ in both]), largest([high for _, high in both]))


def _mean(law: RaisedCount, n: int) -> Fraction:
    """mu, or the largest mean that is evaluated: delta falls with mu."""
    return min(n * Fraction(law.mean), Fraction(LARGEST_MEAN))


def _terms(mean: Fraction) -> int:
    """Masses of a tail that are summed, at most: 12 deviations beyond the mean less than 2^-64 of a tail is left."""
    return math.ceil(12.0 * math.sqrt(mean)) + 200


class _Count:
    """N ~ Poisson(mean), and a shift by r."""

    def __init__(self, mean: Fraction, most: int) -> None:
        self.mean, self.most, self.mu = mean, most, ball(mean)

    def mass(self, k: int) -> arb:
        """g(k)."""
        return (k * self.mu.log() - self.mu - arb(k + 1).lgamma()).exp() if k >= 0 else arb(0)

    def crossing(self, level: Fraction) -> range:
        """Where the first k of log R(k) > level, or >= level, may be: one k, or two if balls cannot tell."""
        start = self.most * self.mu.log() + ball(level)

        def above(k: int) -> arb:
            return arb(k - self.most + 1).rising(self.most).log() - start

        low = self._last(lambda k: above(k) < 0)
        high = self._last(lambda k: not above(k) > 0)
        if high - low > _UNDECIDED:
            raise CertificationError("the balls are too wide to find the best event; raise n or delta.")
        return range(low + 1, high + 2)

    def _last(self, holds: Callable[[int], bool]) -> int:
        """The last k with this property, which no k below r lacks (R is 0 there)."""
        width = 1
        while holds(self.most - 1 + width):
            width *= 2
        low, high = self.most - 1 + width // 2, self.most - 1 + width
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if holds(middle) else (low, middle)
        return low

    def excess(self, k: int, eps: Fraction, *, up: bool) -> tuple[arb, arb]:
        """Pr[k-r <= N < k] - (E-1) Pr[N >= k] (``up``) or - (E-1) Pr[N < k-r], from below and from above."""
        mass = term = self.mass(k - 1)
        for j in range(k - 1, k - self.most, -1):
            term *= j / self.mu
            mass += term
        least, most = self._tail(k, up=True) if up else self._tail(k - self.most - 1, up=False)
        growth = ball(eps).expm1()
        return mass - growth * most, mass - growth * least

    def _tail(self, k: int, *, up: bool) -> tuple[arb, arb]:
        """Pr[N >= k] (``up``) or Pr[N <= k], from below and from above."""
        term, total, cut = self.mass(k), arb(0), ball(_CUT)
        for _ in range(_terms(self.mean)):
            total += term
            ratio = self.mu / (k + 1) if up else k / self.mu  # of the next mass, and it falls
            if ratio < 1 and (rest := term * ratio / (1 - ratio)) <= total * cut:
                return total, total + rest
            term *= ratio
            k += 1 if up else -1
        raise CertificationError("the balls grew too wide to sum a tail; raise n or delta.")
