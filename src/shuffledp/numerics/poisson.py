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

*The losses.*  Pr[1 + X = N]/Pr[X = N] = N/mu for X ~ Poisson(mu).  Written in X, which is Poisson(mu) under P in both
cases, the loss log(P/Q) is

    raised under P:   log((X + 1)/mu),         lowered under P:   log(mu/X), infinite at X = 0.

*Blocks.*  There are about sqrt(mu) values that matter, so neighboring ones are put together.  Let S be the mass of a
block [i, j) under P.  log f, f the Poisson mass function, is concave with second derivative -psi'(x+1) > -1/x (because
sum_k 1/(x+k+1)^2 < sum_k 1/((x+k)(x+k+1)) = 1/x), so that f lies above the geometric interpolation of its end values,
and above it by a factor of at most exp((j-1-i)^2/(8 i)): both bounds of S are geometric sums.  The mass under Q is
S - f(i) + f(j) (raised) or S + f(i-1) - f(j-1) (lowered).

*From above* a block is spread over its two end values such that both masses are kept, and every value over its two
neighbors on the grid in the same way: mean-preserving spreads of Q/P under P, which raise D_E at every E ("connect the
dots": Doroshenko et al., PoPETs 2022).  *From below* a block is one atom, and atoms are merged, in fractions where
necessary, until their mean of Q/P is that of a point of the grid: a randomized map of the outcome, which lowers D_E.
Both errors are of second order in the width.  What is left out in the tails is an infinite loss or a
loss moved up (above), or no mass at all (below).

The sums are evaluated by composition/loss_grid.py: the cost does not grow with mu.

*One count that a user raises by up to r* (:class:`PoissonSteps`, a Poisson sum).  Two values move N by s <= r against
each other.  Poisson masses g are log-concave, so g(k-s)/g(k) rises with k: the best events are {k >= K} for the larger
value and {k < K} for the smaller one, and

    D_E(N+s || N) = max_K Pr[N+s >= K] - E Pr[N >= K] = max_K Pr[K-s <= N < K] - (E-1) Pr[N >= K],
    D_E(N || N+s) = max_K Pr[N < K] - E Pr[N+s < K] = max_K Pr[K-s <= N < K] - (E-1) Pr[N < K-s].

Pr[N+s >= K] rises with s, so that s = r is the worst.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .binomial import log_term, poisson
from .composition import fixed_pair, sequential
from .composition.loss_grid import Sum
from .composition.profile_curve import Masses, on_grid
from .counts import Count
from .family import Answer, Family, OneByOne
from .ledger import charge
from .pair import FloatArray, Side
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
_U = 2.0**-53
#: Smaller masses are not right to the last figure: they are raised to it, or left out.
_TINY = 4e-308
#: Relative error of a Poisson mass: its exponent is below 1,000 and is right to a few ulps of 1e5 at most.
_DOUBT = 1e-10
#: Parts of a block, each with bounds on its mass.
_PARTS = 16
#: Counts of larger means are not evaluated one by one as floats.
MOST_MEAN = 1e15
#: Means of one count above this are taken to be this (above), or not to be known (below).
_MOST_SUM = 2.0**28
#: Beyond, e^eps is no double.
_MOST_EPS = 700.0


class PoissonShift(OneByOne):
    """At most ``most`` of ``d`` counts are raised, among the Poisson(n mean) messages of each that n users add.

    Examples
    --------
    >>> one = PoissonShift(mean=0.01, d=100, most=1)
    >>> round(one.epsilon(n=10_000, delta=1e-6, tol=1e-4, side="upper").epsilon, 3)
    0.596
    """

    @property
    def quick(self) -> bool:
        """One law of the sum serves many eps."""
        return True

    def __init__(self, *, mean: float, d: int, most: int) -> None:
        self._mean, self._d, self._most = mean, d, most

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The largest eps over the candidates."""
        mu, members = rounded_mean(n, self._mean, side), self._members(side)
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
        mu = rounded_mean(n, self._mean, side)
        if mu < _LEAST_MEAN:
            return np.full(eps.shape, 0.0 if side == "upper" else -mu)
        if side == "lower" and mu > MOST_MEAN:
            return np.full(eps.shape, -np.inf)
        found = [_log_deltas(mu, a, b, eps.reshape(-1), tol, side) for a, b in self._members(side)]
        return np.asarray(np.max(found, axis=0)).reshape(eps.shape)

    def thinned(self, chance: float) -> Family:
        """Every other user takes part with this probability, with all of its messages or none.

        The batch does not show how many users took part: no lower bound is claimed.
        """
        return self if chance == 1.0 else Split(self, lambda n: Count(0, ((n - 1, chance),)), shown=False)

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


class PoissonSteps(OneByOne):
    """One count is raised by up to ``most``, among the Poisson(n mean) messages that n users add.

    Examples
    --------
    >>> one = PoissonSteps(mean=0.65, most=8)
    >>> [round(one.epsilon(n=10_000, delta=1e-8, tol=1e-4, side=s).epsilon, 5) for s in ("lower", "upper")]
    [0.49962, 0.49962]
    """

    @property
    def quick(self) -> bool:
        """One law of the count serves many eps."""
        return True

    def __init__(self, *, mean: float, most: int) -> None:
        self._mean, self._most = mean, most

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The largest eps at which an event has probability delta more than e^eps times the other one."""
        mu = rounded_mean(n, self._mean, side)
        if side == "lower" and mu > _MOST_SUM:
            return Answer(0.0, 0, 1)
        rise, fall = _events(min(mu, _MOST_SUM), self._most, side)
        live = rise > delta
        with np.errstate(divide="ignore"):
            ratio = float(((rise[live] - delta) / fall[live]).max(initial=0.0))
        return Answer(math.log1p(ratio) * (1.0 + _sign(side) * 2.0**-50), 1, 1)

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """log of the largest excess of an event, for every eps."""
        mu = rounded_mean(n, self._mean, side)
        if side == "lower" and mu > _MOST_SUM:
            return np.full(eps.shape, -np.inf)
        rise, fall = _events(min(mu, _MOST_SUM), self._most, side)
        tried = np.minimum(eps, _MOST_EPS) if side == "upper" else eps
        growth = np.expm1(tried.reshape(-1)) * (1.0 - _sign(side) * 2.0**-50)
        with np.errstate(divide="ignore", over="ignore"):
            found = np.log([float((rise - one * fall).max(initial=0.0)) for one in growth.tolist()])
        return np.asarray(found).reshape(eps.shape)

    def thinned(self, chance: float) -> Family:
        """As for a Poisson histogram."""
        return self if chance == 1.0 else Split(self, lambda n: Count(0, ((n - 1, chance),)), shown=False)


def _sign(side: Side) -> float:
    return 1.0 if side == "upper" else -1.0


@lru_cache(maxsize=8)
@charge("rounding and window of one Poisson count", "poisson.py")
def _events(mu: float, most: int, side: Side) -> tuple[FloatArray, FloatArray]:
    """For all K: Pr[K-r <= N < K], and Pr[N >= K], then Pr[N < K-r]; at least the first and at most the second.

    For "lower" at most the first and at least the second.

    A mass is a product of ratios, each right to a few roundings, and all sums are of positive terms: 64 roundings per
    entry of the window cover both.  What the window leaves out may be anywhere: above it is added to every first
    probability (and stands on its own for K outside of the window), below to every second one.
    """
    window = poisson(mu)
    mass = np.concatenate([window.mass, np.zeros(most)])
    inside = _neighbors(mass, most)
    beyond = np.append(np.cumsum(mass[:0:-1])[::-1], 0.0)  # entry k is that of K = k + 1
    before = np.concatenate([np.zeros(most), np.cumsum(window.mass)])
    error, lost = 64.0 * mass.size * 2.0**-53, window.left_out
    rise, fall = np.concatenate([inside, inside]), np.concatenate([beyond, before])
    if side == "upper":
        return np.append(rise * (1.0 + error) + lost, lost), np.append(fall * (1.0 - error), 0.0)
    return rise * (1.0 - error), fall * (1.0 + error) + lost


def _neighbors(mass: FloatArray, count: int) -> FloatArray:
    """Sums of the ``count`` entries up to each, by sums of 1, 2, 4, ... of them: no differences.

    Examples
    --------
    >>> _neighbors(np.array([1.0, 2.0, 4.0, 8.0]), 3).tolist()
    [1.0, 3.0, 7.0, 14.0]
    """
    total, power, done = np.zeros(mass.size), mass.copy(), 0
    for bit in range(count.bit_length()):
        width = 1 << bit
        if count & width:
            total[done:] += power[: mass.size - done]
            done += width
        power[width:] = power[width:] + power[:-width]
    return total


@charge("rounding of the mean of a Poisson count", "poisson.py: the divergence falls with mu")
def rounded_mean(n: int, mean: float, side: Side) -> float:
    """The mean of a count, rounded to the side's safe side."""
    mu = n * mean
    return mu * (1.0 + 2.0**-50) if side == "lower" else min(mu * (1.0 - 2.0**-50), MOST_MEAN)


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
    if side == "lower" and mu > MOST_MEAN:
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
    todo = np.argsort(eps)
    for lowest in _DEPTHS if side == "upper" else _DEPTHS[1:2]:
        found = _along(_losses(mu, a, b, lowest, tol, side), eps[todo], tol, upper=side == "upper")
        best[todo] = np.minimum(best[todo], found) if side == "upper" else found
        todo = todo[(a + b) * math.exp(lowest) > 1e-3 * tol * np.exp(best[todo])]
        if not todo.size:
            break
    return best


def _along(whole: Sum, eps: FloatArray, tol: float, *, upper: bool) -> FloatArray:
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


class Blocks(NamedTuple):
    """Values first, ..., last of X put together, and bounds on their mass; ``tail`` bounds what lies on either side."""

    first: FloatArray
    last: FloatArray
    least: FloatArray
    most: FloatArray
    tail: float
    from_zero: bool


class Moves(NamedTuple):
    """Q/P - 1 at the ends of every block (``low`` has the smaller loss), and which value Q adds and takes away."""

    at: Blocks
    low: FloatArray
    high: FloatArray
    enters: FloatArray
    leaves: FloatArray


def _moves(mu: float, *, raised: bool, lowest: float, width: float) -> Moves:
    at = _blocks(mu, lowest, width)
    if raised:
        low, high = ((mu - x - 1.0) / (x + 1.0) for x in (at.first, at.last))
        return Moves(at, low, high, at.last + 1.0, at.first)
    if at.from_zero:  # X = 0 is a block of its own, with an infinite loss
        at = Blocks(at.first[1:], at.last[1:], at.least[1:], at.most[1:], at.tail, at.from_zero)
    return Moves(at, (at.last - mu) / mu, (at.first - mu) / mu, at.first - 1.0, at.last)


@charge("blocks, grid and tails of a Poisson count, from above", "poisson.py")
def above(mu: float, *, raised: bool, step: float, lowest: float, width: float) -> Masses:
    """Upper masses of log((X + 1)/mu), raised, or of log(mu/X).

    Tails below ``lowest`` (a log) are cut: on one side an infinite loss, on the other a loss that is moved up.
    ``width`` is that of a block, in deviations.
    """
    at, low, high, enters, leaves = _moves(mu, raised=raised, lowest=lowest, width=width)
    share = _share(low, high, _mean(at, enters, leaves, mu, sign=-1.0))
    mass = np.concatenate([at.most * (1.0 - share), at.most * share])
    if raised and not at.from_zero:
        mass[0] += at.tail
    if not raised:
        mass[low.size - 1] += at.tail
    infinite = math.exp(-mu) * (1.0 + _DOUBT) if at.from_zero and not raised else at.tail
    return on_grid(-np.log1p(np.concatenate([low, high])), mass, infinite, step)


@charge("blocks, grid and tails of a Poisson count, from below", "poisson.py")
def below(mu: float, *, raised: bool, step: float, lowest: float, width: float) -> Masses:
    """Lower masses of log((X + 1)/mu), raised, or of log(mu/X); tails have no mass."""
    at, low, _, enters, leaves = _moves(mu, raised=raised, lowest=lowest, width=width)
    loss = -np.log1p(np.where(at.first == at.last, low, _mean(at, enters, leaves, mu, sign=1.0)))
    if raised:  # the largest loss first
        return _merged(loss[::-1], at.least[::-1], 0.0, step)
    return _merged(loss, at.least, math.exp(-mu) * (1.0 - _DOUBT) if at.from_zero else 0.0, step)


def _mean(at: Blocks, enters: FloatArray, leaves: FloatArray, mu: float, *, sign: float) -> FloatArray:
    """E[Q/P] - 1 over a block, rounded up or down (``sign``): Q has one end of the block shifted by one value."""
    new, old = _density(enters, mu), _density(leaves, mu)
    shift = new - old + sign * _DOUBT * (new + old)
    larger = np.where(sign * shift >= 0.0, at.least, at.most)  # what it is divided by
    return np.divide(shift, larger, out=np.zeros(shift.shape), where=(larger > 0.0) & (at.first < at.last))


def _density(x: FloatArray, mu: float) -> FloatArray:
    """The Poisson mass function."""
    with np.errstate(under="ignore"):
        return np.asarray(np.exp(-log_term(x, mu)))


def _blocks(mu: float, lowest: float, width: float) -> Blocks:
    """The values of X that matter: Pr[X <= mu - y] <= exp(-y^2/2mu), Pr[X >= mu + y] <= exp(-y^2/(2mu + 2y/3))."""
    depth = -lowest
    start = max(math.floor(mu - math.sqrt(2.0 * depth * mu)), 0)
    stop = math.ceil(mu + depth / 3.0 + math.sqrt(depth * depth / 9.0 + 2.0 * depth * mu)) + 1
    wanted = max(int(width * math.sqrt(mu)), 1) if start else 1
    part = max(wanted // _PARTS, 1)  # values whose masses are bounded by one geometric sum
    parts = wanted // part
    starts = np.arange(start, stop, part, dtype=np.float64)
    ends = np.minimum(starts + (part - 1.0), stop - 1.0)
    least, most = _bounds(starts, ends, mu)
    joined = np.arange(0, starts.size, parts)
    least, most = np.add.reduceat(least, joined), np.add.reduceat(most, joined)
    last = np.append(starts[joined[1:]] - 1.0, stop - 1.0)
    tail = math.exp(lowest) * (1.0 + _DOUBT)
    least = np.where(least < _TINY, 0.0, least * (1.0 - _DOUBT))
    return Blocks(starts[joined], last, least, np.maximum(most * (1.0 + _DOUBT), _TINY), tail, start == 0)


def _bounds(first: FloatArray, last: FloatArray, mu: float) -> tuple[FloatArray, FloatArray]:
    """Bounds on Pr[first <= X <= last], by geometric sums (see the top of this file)."""
    gaps, at_first = last - first, -log_term(first, mu)
    with np.errstate(under="ignore"):
        mass = np.exp(at_first)
    if not gaps.any():
        return mass, mass
    fall = -log_term(last, mu) - at_first
    ratio = fall / np.maximum(gaps, 1.0)  # of neighbors, its log
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(np.abs(fall) < 1e-12, gaps + 1.0, np.expm1(fall + ratio) / np.expm1(ratio))
    least = mass * np.where(gaps > 0.0, terms, 1.0) * (1.0 - 1e-11)
    return least, least * np.exp(gaps * gaps / (8.0 * first)) * (1.0 + 3e-11)


def _share(low: FloatArray, high: FloatArray, mean: FloatArray) -> FloatArray:
    """The share of a mass that goes to the end with the larger loss, where Q/P - 1 is ``high`` < ``mean`` < ``low``."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (low - mean) / (low - high)
        share += 8.0 * _U * np.abs(low) / (low - high)
    return np.where(low > high, np.clip(share, 0.0, 1.0), 1.0)


def _merged(loss: FloatArray, mass: FloatArray, infinite: float, step: float) -> Masses:
    """Atoms (the largest loss first) merged to multiples of ``step``, with no more mass and no more loss than they had.

    From the largest loss that is left, with s the multiple just below it: everything from s on is merged with as much
    of the next atoms as brings the mean of Q/P up to e^-s.
    """
    losses, masses = loss.tolist(), mass.tolist()
    found: dict[int, float] = {}
    i, count = 0, len(losses)
    left = masses[0] if count else 0.0
    while i < count:
        cell = math.floor(losses[i] / step - 1e-12)
        s, gained, surplus = cell * step, 0.0, 0.0
        while i < count:
            doubt = 8.0 * _U * abs(losses[i])
            if losses[i] >= s:
                surplus += left * max(-math.expm1(s - losses[i]) - doubt, 0.0) * (1.0 - 1e-13)
                taken = left
            else:
                taken = min(surplus / ((math.expm1(s - losses[i]) + doubt) * (1.0 + 1e-13)), left)
                surplus = 0.0 if taken < left else max(surplus - left * (math.expm1(s - losses[i]) + doubt), 0.0)
            gained += taken
            if taken < left:
                left -= taken
                break
            i += 1
            left = masses[i] if i < count else 0.0
        found[cell] = found.get(cell, 0.0) + gained
    half = max((abs(cell) for cell in found), default=0)
    out = np.zeros(2 * half + 1)
    for cell, total in found.items():
        out[cell + half] = total * (1.0 - 1e-12)
    return Masses(out, infinite)
