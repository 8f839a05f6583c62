"""Counts of dummies that a shuffler adds, two of which one user moves: the law of an augmented shuffle.

The shuffler keeps the value of a user with probability b and adds an independent number D of dummies of every item.
Let f be the mass function of D, B ~ Bernoulli(b) and R the law of D + B.  If a user's value x0 is replaced by x1, the
counts of all other items are as before and independent of these two:

    P = R (count of x0) x D (count of x1),        Q = D x R.

*The others do not matter.*  A user with x0 or x1 adds an independent Bernoulli(b) to one of the two counts under P and
under Q alike, which is post-processing: it lowers D_E(P||Q).  With a third item (d >= 3) nobody else need hold either
of the two, so (P, Q) is the exact law of a dataset; if keep = 1 what the others add is known and is subtracted, so that
d = 2 is exact too.  Otherwise one count alone, which is post-processing of any dataset in which all others hold the
other item, is a lower bound.

*Symmetric.*  Exchanging the counts exchanges P and Q: one direction is enough.

*The loss.*  r(N) = R(N)/D(N) = 1 - b + b f(N-1)/f(N) rises with N if f is log-concave, and the loss of (N, M) is
log r(N) - log r(M).  For the event A = {log r(N) - log r(M) > eps} = {M < J(N)}, with J rising,

    P(A) = sum_N R(N) D[M < J(N)],     Q(A) = sum_N D(N) R[M < J(N)],     delta(eps) = P(A) - e^eps Q(A):

one sum over N, with sums of D and R up to every place, so that delta is exact up to rounding at no more cost than the
number of values that matter.  What only P can produce (r infinite, or r(M) = 0) is added.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .binomial import Window, binomial, poisson
from .family import Answer, OneByOne
from .ledger import charge
from .pair import FloatArray, Side
from .search import bisect

_U = 2.0**-53
#: A loss is right to this times 1 + the largest one: its two logarithms are of numbers that are right to a few ulps.
_LOSS_DOUBT = 2.0**-47
#: Beyond, e^eps is not a double.
_MOST_EPS = 700.0
#: The smallest normal double: a mass that underflows is counted as this one from above.
_TINY = 2.0**-1022
#: A product or sum below the normal doubles is right to this.
_STEP = 2.0**-1074


class Moved(NamedTuple):
    """The count of an item without (D) and with (R) one user who holds it, on the values that both can have.

    Attributes
    ----------
    without : Pr[D = N]
    ratio : Pr[R = N]/Pr[D = N], rising
    only_with, only_without : what R has where D has nothing, and D where R has nothing
    left_out : a bound on what each of them has beyond all this
    error : relative, of every mass
    """

    without: FloatArray
    ratio: FloatArray
    only_with: float
    only_without: float
    left_out: float
    error: float


class CountLaw(ABC):
    """A log-concave law of a number of dummies; equal laws are equal objects, whose tables are kept."""

    @abstractmethod
    def moved(self, keep: float) -> Moved:
        """The count with and without a user whose value is kept with this probability."""

    def limit(self, keep: float) -> float:
        """The largest loss of both counts together, rounded up: eps at delta = 0; inf where losses have no limit."""
        return math.inf


def _normal(mass: float) -> float:
    """The mass, or 0 where it is below the normal doubles and not right to the last figure; left_out covers it."""
    return mass if mass > _TINY else 0.0


def _neighbors(window: Window, back: FloatArray, keep: float, *, ends: bool) -> Moved:
    """From a window of D and the ratios f(N-1)/f(N); ``ends``: D has no value beyond the window above.

    Without such an end R has the mass b f(last) just beyond the window, which counts as left out.  As in one_count.py a
    mass is a product of ratios and is divided by a sum: 64 roundings per entry of the window cover all of it.
    """
    mass, ratio = window.mass, (1.0 - keep) + keep * back  # terms >= 0: right to a few ulps however small it is
    first, last = (float(mass[0]) if window.start == 0 and keep == 1.0 else 0.0), keep * float(mass[-1])
    left_out = window.left_out + (0.0 if ends else last) + 2.0 * _TINY * (mass.size + 2)
    live = (mass > _TINY) & (ratio > 0.0)
    error = 64.0 * (mass.size + 8) * _U
    return Moved(mass[live], ratio[live], _normal(last) if ends else 0.0, _normal(first), left_out, error)


@dataclass(frozen=True)
class PoissonDummies(CountLaw):
    """A Poisson number."""

    mean: float

    def moved(self, keep: float) -> Moved:
        """f(N-1)/f(N) = N/mean."""
        window = poisson(self.mean)
        return _neighbors(window, (window.start + np.arange(window.mass.size)) / self.mean, keep, ends=False)


@dataclass(frozen=True)
class BinomialDummies(CountLaw):
    """Bin(size, mean/size) with mean <= size/2."""

    size: int
    mean: float

    def moved(self, keep: float) -> Moved:
        """f(N-1)/f(N) = N/((size - N + 1) odds)."""
        odds = self.mean / (self.size - self.mean)
        window = binomial(self.size, odds)
        at = window.start + np.arange(window.mass.size, dtype=np.float64)
        ends = window.start + window.mass.size == self.size + 1
        return _neighbors(window, at / ((self.size - at + 1.0) * odds), keep, ends=ends)


@dataclass(frozen=True)
class GeometricDummies(CountLaw):
    """The asymmetric two-sided geometric law: weights left^(mode - N) below the mode, right^(N - mode) from it on.

    A user moves it by three ratios only: 1 - b at N = 0, 1 - b + b left up to the mode and 1 - b + b/right beyond it.
    """

    left: float
    right: float
    mode: int

    def moved(self, keep: float) -> Moved:
        """Three values: N = 0, N up to the mode, and N beyond it."""
        mass, ratio = self._grouped(keep)
        live = (mass > _TINY) & (ratio > 0.0)
        gone = float(mass[0]) if ratio[0] == 0.0 else 0.0
        return Moved(mass[live], ratio[live], 0.0, _normal(gone), 8.0 * _TINY, 64.0 * _U)

    def _grouped(self, keep: float) -> tuple[FloatArray, FloatArray]:
        other = 1.0 - keep
        beyond = self.right / (1.0 - self.right)
        if self.mode == 0 or self.left == 0.0:  # nothing below the mode: the mode is the lowest value
            masses, ratios = [1.0, beyond], [other, other + keep / self.right]
        else:
            below = -math.expm1(self.mode * math.log(self.left)) / (1.0 - self.left)  # of N = 1, ..., mode
            masses = [self.left**self.mode, below, beyond]
            ratios = [other, other + keep * self.left, other + keep / self.right]
        mass = np.array(masses)
        return mass / mass.sum(), np.array(ratios)

    def limit(self, keep: float) -> float:
        """That of the lowest and of the highest value: finite if keep < 1."""
        _, ratio = self._grouped(keep)
        if ratio[0] == 0.0:
            return math.inf
        return float(np.log(ratio[-1]) - np.log(ratio[0])) * (1.0 + 64.0 * _U) + 64.0 * _U


class Sums(NamedTuple):
    """Masses and losses in their order, and the sums up to every place."""

    with_: FloatArray
    without: FloatArray
    loss: FloatArray
    sum_with: FloatArray
    sum_without: FloatArray
    moved: Moved


@lru_cache(maxsize=8)
def _sums(law: CountLaw, keep: float) -> Sums:
    moved = law.moved(keep)
    r, d, loss = moved.without * moved.ratio, moved.without, np.log(moved.ratio)
    return Sums(r, d, loss, np.append(0.0, np.cumsum(r)), np.append(0.0, np.cumsum(d)), moved)


@charge("rounding and window of counts of dummies", "numerics/dummies.py: an event, its losses, and what is left out")
def both_counts(law: CountLaw, keep: float, eps: float, side: Side) -> float:
    """delta(eps) of two counts, rounded to the named side.

    The event A holds every outcome whose computed loss exceeds eps - u, where u bounds the error of a loss; so it holds
    all of those that count.  The others in it have e^eps Q <= e^(2u) P: leaving them in costs at most (e^(2u) - 1) P(A)
    from above.  From below any event gives a bound.  Sums of k positive terms are right to k roundings.
    """
    s = _sums(law, keep)
    doubt = _LOSS_DOUBT * (1.0 + float(np.abs(s.loss).max(initial=0.0)))
    place = np.searchsorted(s.loss, s.loss - (eps - doubt), side="left")
    # no BLAS: it would divide even short sums among threads, which wait for each other
    p = float(np.add.reduce(s.with_ * s.sum_without[place]))
    q = float(np.add.reduce(s.without * s.sum_with[place]))
    m, error = s.moved, 2.0 * s.moved.error + (4.0 * s.loss.size + 32.0) * _U
    alone = m.only_with + m.only_without
    alone -= m.only_with * m.only_without
    growth = math.exp(min(eps, _MOST_EPS))  # at most e^eps
    if side == "upper":
        least = p * (1.0 + error + math.expm1(2.0 * doubt)) - growth * (1.0 - 8.0 * _U) * q * (1.0 - error)
        return min(max(least, 0.0) + alone * (1.0 + error) + 2.0 * m.left_out, 1.0)
    if eps > _MOST_EPS:
        return alone * (1.0 - error)
    q += 2.0 * s.loss.size * _STEP  # what underflowed: e^eps may make it large
    return max(p * (1.0 - error) - growth * (1.0 + 8.0 * _U) * q * (1.0 + error), 0.0) + alone * (1.0 - error)


@charge("one count of dummies, from below", "numerics/dummies.py: dropping a count is post-processing")
def one_count(law: CountLaw, keep: float, eps: float) -> float:
    """A lower bound on the larger delta(eps) of one count, over both directions: some event in each."""
    s = _sums(law, keep)
    m, error = s.moved, s.moved.error + (2.0 * s.loss.size + 32.0) * _U
    if eps > _MOST_EPS:
        return max(m.only_with, m.only_without) * (1.0 - error)
    growth = math.exp(eps) * (1.0 + 8.0 * _U)
    k = int(np.searchsorted(s.loss, eps, side="right"))
    up = float(s.with_[k:].sum()) * (1.0 - error) - growth * float(s.without[k:].sum()) * (1.0 + error)
    k = int(np.searchsorted(s.loss, -eps, side="left"))
    hidden = float(s.sum_with[k]) + s.loss.size * _STEP  # products of a mass and a small ratio may have underflowed
    down = float(s.sum_without[k]) * (1.0 - error) - growth * hidden * (1.0 + error)
    return max(max(up, 0.0) + m.only_with * (1.0 - error), max(down, 0.0) + m.only_without * (1.0 - error))


class DummyCounts(OneByOne):
    """One user moves two counts of dummies, each kept value with probability ``keep``; n users hide nothing else.

    ``others_hide``: all other users must hold one of the two items (d = 2), and their values may be left out.

    Examples
    --------
    >>> one = DummyCounts(PoissonDummies(100.0), keep=1.0)
    >>> [round(one.epsilon(n=1, delta=1e-6, tol=1e-4, side=s).epsilon, 4) for s in ("lower", "upper")]
    [0.5958, 0.5958]
    >>> pure = DummyCounts(GeometricDummies(0.0, 1.0 / (1.0 + math.exp(0.5)), 0), keep=-math.expm1(-0.5))
    >>> round(pure.epsilon(n=1, delta=1e-300, tol=1e-4, side="upper").epsilon, 9)
    1.0
    """

    def __init__(self, law: CountLaw, *, keep: float, others_hide: bool = False) -> None:
        self._law, self._keep = law, keep
        self._others_hide = others_hide and keep < 1.0
        self._limit = law.limit(keep)

    quick = True  # one table serves many eps

    def _delta(self, eps: float, n: int, side: Side) -> float:
        if side == "upper":
            return 0.0 if eps >= self._limit else both_counts(self._law, self._keep, eps, side)
        if self._others_hide and n > 1:
            return one_count(self._law, self._keep, eps)
        return both_counts(self._law, self._keep, eps, side)

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The smallest eps with delta(eps) <= delta, by bisection to a thousandth of the tolerance."""

        def fine(eps: float) -> bool:
            return self._delta(eps, n, side) <= delta

        def close(at: float) -> float:
            return 1e-3 * tol * max(at, _LOSS_DOUBT)

        top = min(self._limit, _MOST_EPS)
        if fine(0.0):
            return Answer(0.0, 1, 1)
        if not fine(top):
            return Answer(top if top == self._limit else math.inf, 1, 1)
        if side == "upper":
            return Answer(bisect(fine, safe=top, unsafe=0.0, close=close), 1, 1)
        return Answer(bisect(lambda eps: not fine(eps), safe=0.0, unsafe=top, close=close), 1, 1)

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """log delta at every eps."""
        with np.errstate(divide="ignore"):
            found = np.log(np.array([self._delta(x, n, side) for x in eps.reshape(-1).tolist()]))
        return np.asarray(found.reshape(eps.shape))
