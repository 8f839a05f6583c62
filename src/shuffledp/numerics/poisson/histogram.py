"""Independent Poisson counts, some of which one user raises by one: the law of a Poisson histogram.

Every index carries N ~ Poisson(mu) messages that nobody's value decides.  A user with the set A of indices raises the
counts of A by one, with the set B those of B.  Counts of indices in both tell nothing, and in the worst case the
analyst knows what the others sent and subtracts it.  So with a indices in A alone and b in B alone the two laws are
products of a + b independent counts, and the privacy loss is a sum of a losses log(N/mu), N ~ 1 + Poisson(mu), and b
losses log(mu/N), N ~ Poisson(mu).

*Which (a, b).*  Dropping a count is post-processing, so the divergence rises with a and with b: among all sets of at
most k of d indices, a = b = k is the worst if 2k <= d.  Otherwise the candidates are a + b = d with a, b <= k; they
include both directions, and the largest divergence counts at every eps.  If there are many, an upper bound covers
several by one that is larger in both numbers, and a lower bound tries only some.

losses.py puts one loss on a grid, and composition/loss_grid.py evaluates the sum: the cost does not grow with mu.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise

import numpy as np

from ..composition import fixed_pair, sequential
from ..composition.loss_grid import Sum
from ..family import Answer, OneByOne
from ..pair import FloatArray, Side
from .losses import above, below
from .one_count import rounded_mean

#: Candidates (a, b) that are evaluated.
_MOST_MEMBERS = 32
#: Largest number of cells of the window of the sum, about.
_CELLS = 2.0**19
#: Share of delta that cutting off tails may cost, and the deepest cut (a smaller mass is not a normal double).
_TAIL, _DEEPEST = math.log(1e-6), -706.0
#: How deep (log delta) a profile is followed at first, and then, where needed.
_DEPTHS = (-60.0, -200.0, _DEEPEST)
#: A smaller mean counts as revealing everything: with probability e^-mu nobody else sends an index.
_LEAST_MEAN = 1e-9
#: An upper bound takes no larger mean than this, and a lower bound knows nothing beyond it.
_MOST_MEAN = 1e15


class PoissonShift(OneByOne):
    """At most ``most`` of ``d`` counts are raised, among the Poisson(n mean) messages of each that n users add.

    Examples
    --------
    >>> one = PoissonShift(mean=0.01, d=100, most=1)
    >>> round(one.epsilon(n=10_000, delta=1e-6, tol=1e-4, side="upper").epsilon, 3)
    0.596
    """

    quick = True  # one law of the sum serves many eps

    def __init__(self, *, mean: float, d: int, most: int) -> None:
        self._mean, self._d, self._most = mean, d, most

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The largest eps over the candidates."""
        mu, members = rounded_mean(n, self._mean, side, most=_MOST_MEAN), self._members(side)
        if mu < _LEAST_MEAN:
            nothing = side == "lower" and delta >= 1.0 - 2.0 * mu
            return Answer(0.0 if nothing else math.inf, 1, len(members))
        best = 0.0
        for a, b in members:
            best = max(best, _epsilon(mu, a, b, delta, tol, side))
            if best == math.inf:
                break
        return Answer(best, len(members), len(members))

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """The largest log delta over the candidates, for every eps."""
        mu = rounded_mean(n, self._mean, side, most=_MOST_MEAN)
        if mu < _LEAST_MEAN:
            return np.full(eps.shape, 0.0 if side == "upper" else -mu)
        if side == "lower" and mu > _MOST_MEAN:
            return np.full(eps.shape, -np.inf)
        found = [_log_deltas(mu, a, b, eps.reshape(-1), tol, side) for a, b in self._members(side)]
        return np.asarray(np.max(found, axis=0)).reshape(eps.shape)

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


@lru_cache(maxsize=32)
def _losses(mu: float, a: int, b: int, lowest: float, tol: float, side: Side) -> Sum:
    """A sum of losses that dominates a raised and b lowered counts, or (lower) that they dominate.

    The width of cells and blocks, in deviations of one loss, raises eps by about width^2/6 of itself.  From below,
    values further apart than the cells lose a part of first order in the width of a cell when they are merged.
    """
    fewest = 30.0 * math.sqrt(a + b) / _CELLS
    width = max(min(max(math.sqrt(2.0 * tol), 2e-3), 0.05), fewest)
    if side == "lower":
        width = min(width, max(3.0 * tol * math.sqrt(mu), fewest, 1e-4))
    step = sequential.thirty_bits(width / math.sqrt(max(mu, 1.0)))
    make = above if side == "upper" else below
    live = [(raised, count) for raised, count in ((True, a), (False, b)) if count]
    kinds = [make(mu, raised=raised, step=step, lowest=lowest, width=width) for raised, _ in live]
    return Sum(kinds, [count for _, count in live], step)


def _epsilon(mu: float, a: int, b: int, delta: float, tol: float, side: Side) -> float:
    """eps of a raised and b lowered counts."""
    if side == "lower" and mu > _MOST_MEAN:
        return 0.0
    depth = max(math.log(delta) + _TAIL - math.log(a + b), _DEEPEST)
    if side == "lower":
        whole = _losses(mu, a, b, depth, tol, "lower")
        if whole.infinite * math.exp(whole.log_mass) * (1.0 - 1e-9) > delta:
            return math.inf
    upper = sequential.epsilon_of(_losses(mu, a, b, depth, tol, "upper"), delta, math.inf)
    if side == "upper":
        return upper
    return fixed_pair.lower_epsilon_of(whole, delta, min(upper, (whole.reach + 1) * whole.step))


def _log_deltas(mu: float, a: int, b: int, eps: FloatArray, tol: float, side: Side) -> FloatArray:
    """log delta of a raised and b lowered counts at every eps; deeper where what was cut off matters."""
    best = np.full(eps.shape, 0.0 if side == "upper" else -np.inf)
    todo = np.arange(eps.size)
    for lowest in _DEPTHS if side == "upper" else _DEPTHS[1:2]:
        found = _losses(mu, a, b, lowest, tol, side).log_deltas(eps[todo], tol, side)
        # nothing is claimed below the deepest cut
        best[todo] = np.minimum(best[todo], np.maximum(found, _DEEPEST)) if side == "upper" else found
        todo = todo[(a + b) * math.exp(lowest) > 1e-3 * tol * np.exp(best[todo])]
        if not todo.size:
            break
    return best
