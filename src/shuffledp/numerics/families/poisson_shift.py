"""Independent Poisson counts, some of which one user raises by one: the law of a Poisson histogram.

Every index carries N ~ Poisson(mu) messages that nobody's value decides.  A user with the set A of indices raises the
counts of A by one, with the set B those of B; counts of indices in both say nothing, and what the others sent is known
in the worst case and is subtracted.  So with a indices in A alone and b in B alone the two laws are products of a + b
independent counts, and the privacy loss is a sum of a losses log(N/mu), N ~ 1 + Poisson(mu), and b losses log(mu/N),
N ~ Poisson(mu).

*Which (a, b).*  Leaving a count out is post-processing, so the divergence rises with a and with b: of all sets of at
most k of d indices, a = b = k is the worst if 2k <= d.  Else the candidates are a + b = d with a, b <= k; both
directions are among them, and the largest divergence is taken at every eps.  If there are many, several
are covered by one that is larger in both numbers (upper bound), or only some are tried (lower bound).

*Monotone in mu.*  Adding independent Poisson numbers to all counts is post-processing: the divergence falls with mu, so
mu may be rounded down for an upper bound.

The sums are evaluated by numerics/composition (poisson_losses.py, loss_grid.py): the cost does not grow with mu.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from ...errors import BoundNotApplicableError
from ..composition import poisson_losses, sequential
from ..composition.loss_grid import Sum
from ..evaluators.choose import Side
from ..pair import FloatArray, ShuffledPair
from .base import Answer
from .message_counts import Count
from .participation import Split

#: Candidates (a, b) that are evaluated.
_MOST_MEMBERS = 32
#: Largest number of cells of the window of the sum, about.
_CELLS = 2.0**19
#: Share of delta that cutting off tails may cost, and the deepest cut (a smaller mass is not a normal double).
_TAIL, _DEEPEST = math.log(1e-6), -706.0
#: How deep a profile is followed at first, and then.
_DEPTHS = (-60.0, -200.0, _DEEPEST)
#: Means below this are taken to reveal everything: an index that nobody else sends has probability e^-mu.
_LEAST_MEAN = 1e-9


class PoissonShift:
    """At most ``most`` of ``d`` counts are raised, among the Poisson(n mean) messages of each that n users add.

    Examples
    --------
    >>> one = PoissonShift(mean=0.01, d=100, most=1)
    >>> round(one.epsilon(n=10_000, delta=1e-6, tol=1e-4, side="upper").epsilon, 3)
    0.596
    """

    #: A whole curve is quick: one law of the sum serves many eps.
    quick = True

    def __init__(self, *, mean: float, d: int, most: int) -> None:
        self._mean, self._d, self._most = mean, d, most

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The largest eps over the candidates."""
        mu, members = self._mu(n, side), self._members(side)
        if mu < _LEAST_MEAN:
            nothing = side == "lower" and delta >= 1.0 - 2.0 * mu
            return Answer(0.0 if nothing else math.inf, 1, len(members))
        best = 0.0
        for a, b in members:
            if side == "upper":
                whole = _above(mu, a, b, _depth(math.log(delta), a + b), tol)
                best = max(best, sequential.epsilon_of(whole, delta, math.inf))
            else:
                best = max(best, self._lower(mu, a, b, delta, tol))
            if best == math.inf:
                break
        return Answer(best, len(members), len(members))

    def _lower(self, mu: float, a: int, b: int, delta: float, tol: float) -> float:
        if mu > poisson_losses.MOST_MEAN:
            return 0.0
        depth = _depth(math.log(delta), a + b)
        whole = _below(mu, a, b, depth, tol)
        if whole.infinite * math.exp(whole.log_mass) * (1.0 - 1e-9) > delta:
            return math.inf
        upper = sequential.epsilon_of(_above(mu, a, b, depth, tol), delta, math.inf)
        return sequential.lower_epsilon_of(whole, delta, min(upper, (whole.reach + 1) * whole.step))

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """The largest log delta over the candidates, for every eps."""
        mu = self._mu(n, side)
        if mu < _LEAST_MEAN:
            return np.full(eps.shape, 0.0 if side == "upper" else -mu)
        if side == "lower" and mu > poisson_losses.MOST_MEAN:
            return np.full(eps.shape, -np.inf)
        curve = _upper_curve if side == "upper" else _lower_curve
        flat = eps.reshape(-1)
        best = np.full(flat.shape, -np.inf)
        for a, b in self._members(side):
            best = np.maximum(best, curve(mu, a, b, flat, tol))
        return best.reshape(eps.shape)

    def pairs(self, most: int) -> Sequence[ShuffledPair] | None:
        """None: several counts move together, which no shuffled pair describes."""
        return None

    def thinned(self, chance: float) -> _Present:
        """Every other user takes part with this probability, with all of its messages or none."""
        return _Present(self, chance)

    def _mu(self, n: int, side: Side) -> float:
        """The mean of a count, rounded to the side's safe side."""
        mu = n * self._mean
        if side == "lower":
            return mu * (1.0 + 2.0**-50)
        return min(mu * (1.0 - 2.0**-50), poisson_losses.MOST_MEAN)

    def _members(self, side: Side) -> list[tuple[int, int]]:
        """The numbers (a, b) of counts that are raised and lowered."""
        k, d = self._most, self._d
        if 2 * k <= d:
            return [(k, k)]
        every = k - (d - k) + 1
        if every <= _MOST_MEMBERS:
            return [(a, d - a) for a in range(d - k, k + 1)]
        cuts = [d - k + round(i * every / _MOST_MEMBERS) for i in range(_MOST_MEMBERS + 1)]
        ranges = [(first, end - 1) for first, end in pairwise(cuts)]
        if side == "upper":
            return [(last, d - first) for first, last in ranges]
        return [(first, d - first) for first, _ in ranges] + [(k, d - k)]


class _Present(Split):
    """The upper bound for random participation, by rounding the number of users down (participation.py).

    No lower bound is claimed: the batch does not show how many users took part.
    """

    def __init__(self, family: PoissonShift, chance: float) -> None:
        super().__init__(family, lambda n: Count(0, ((n - 1, chance),)))

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The best eps over the splits; refused for a lower bound."""
        _refuse_lower(side)
        return super().epsilon(n=n, delta=delta, tol=tol, side=side)

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """The best log delta over the splits; refused for a lower bound."""
        _refuse_lower(side)
        return super().log_delta(eps, n=n, tol=tol, side=side)


def _refuse_lower(side: Side) -> None:
    if side == "lower":
        raise BoundNotApplicableError(
            "no lower bound is known for participation below 1 where users send a random number of messages, since the "
            "batch does not show how many users took part; ask for the upper side."
        )


def _depth(log_delta: float, counts: int) -> float:
    return max(log_delta + _TAIL - math.log(counts), _DEEPEST)


def _width(counts: int, tol: float) -> float:
    """The width of cells and blocks, in deviations of one loss: it raises eps by about width^2/6 of itself."""
    return max(min(max(math.sqrt(2.0 * tol), 2e-3), 0.05), 30.0 * math.sqrt(counts) / _CELLS)


def _step(mu: float, width: float) -> float:
    return sequential.thirty_bits(width / math.sqrt(max(mu, 1.0)))


@lru_cache(maxsize=16)
def _above(mu: float, a: int, b: int, lowest: float, tol: float) -> Sum:
    """A sum of losses that dominates a raised and b lowered counts."""
    width = _width(a + b, tol)
    step = _step(mu, width)
    made = (poisson_losses.raised_above, poisson_losses.lowered_above)
    live = [(make, count) for make, count in zip(made, (a, b), strict=True) if count]
    return Sum([f(mu, step=step, lowest=lowest, width=width) for f, _ in live], [count for _, count in live], step)


@lru_cache(maxsize=16)
def _below(mu: float, a: int, b: int, lowest: float, tol: float) -> Sum:
    """A sum of losses that a raised and b lowered counts dominate.

    Values further apart than the cells lose a part of first order in the width of a cell when they are merged.
    """
    width = min(_width(a + b, tol), max(3.0 * tol * math.sqrt(mu), 30.0 * math.sqrt(a + b) / _CELLS, 1e-4))
    step = _step(mu, width)
    made = (poisson_losses.raised_below, poisson_losses.lowered_below)
    live = [(make, count) for make, count in zip(made, (a, b), strict=True) if count]
    return Sum([f(mu, step=step, lowest=lowest, width=width) for f, _ in live], [count for _, count in live], step)


def _upper_curve(mu: float, a: int, b: int, eps: FloatArray, tol: float) -> FloatArray:
    """log of upper values of delta; deeper where what was cut off matters."""
    best = np.full(eps.shape, 0.0)
    todo = np.argsort(eps)
    for lowest in _DEPTHS:
        whole = _above(mu, a, b, lowest, tol)
        best[todo] = np.minimum(best[todo], _log_values(whole, eps[todo], tol, upper=True))
        todo = todo[(a + b) * math.exp(lowest) > 1e-3 * tol * np.exp(best[todo])]
        if not todo.size:
            break
    return best


def _lower_curve(mu: float, a: int, b: int, eps: FloatArray, tol: float) -> FloatArray:
    """log of lower values of delta."""
    best, order = np.full(eps.shape, -np.inf), np.argsort(eps)
    best[order] = _log_values(_below(mu, a, b, _DEPTHS[1], tol), eps[order], tol, upper=False)
    return best


def _log_values(whole: Sum, eps: FloatArray, tol: float, *, upper: bool) -> FloatArray:
    """log delta of a sum of losses at rising eps; a window serves as long as its round-off does not matter."""
    window, values = None, []
    for x in eps.tolist():
        value = 0.0 if window is None else window.delta(x, upper=upper)
        if window is None or not window.round_off(x) + window.beyond <= 1e-3 * tol * value:
            window = whole.around(x)
            value = window.delta(x, upper=upper)
        values.append(value)
    with np.errstate(divide="ignore"):
        found = np.log(np.array(values))
    return np.asarray(np.maximum(found, _DEEPEST) if upper else found)  # nothing is claimed below the deepest cut
