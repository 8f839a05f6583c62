"""The privacy loss of one Poisson count that is raised by one, on a grid, from above and from below.

Pr[1 + X = N]/Pr[X = N] = N/mu for X ~ Poisson(mu).  Written in X, which is Poisson(mu) under P in both cases, the loss
log(P/Q) is

    raised under P:   log((X + 1)/mu),         lowered under P:   log(mu/X), infinite at X = 0.

*Blocks.*  About sqrt(mu) values matter, so neighboring ones form a block.  Let S be the mass of a block [i, j) under P.
log f, f the Poisson mass function, is concave with second derivative -psi'(x+1) > -1/x (because
sum_k 1/(x+k+1)^2 < sum_k 1/((x+k)(x+k+1)) = 1/x), so f lies above the geometric interpolation of its end values, by a
factor of at most exp((j-1-i)^2/(8 i)): both bounds of S are geometric sums.  The mass under Q is S - f(i) + f(j)
(raised) or S + f(i-1) - f(j-1) (lowered).

*From above* the mass of a block goes to its two end values so that both masses are kept, and every value goes to its
two neighbors on the grid in the same way: mean-preserving spreads of Q/P under P, which raise D_E at every E ("connect
the dots": Doroshenko et al., PoPETs 2022).  *From below* a block is one atom, and atoms are merged, in fractions where
necessary, until their mean of Q/P is that of a point of the grid: a randomized map of the outcome, which lowers D_E.
Both errors are of second order in the width.  The tails that are cut off become an infinite loss or a larger loss
(above), or no mass at all (below).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..binomial import log_term
from ..composition.profile_curve import Masses, on_grid
from ..ledger import charge
from ..pair import FloatArray

_U = 2.0**-53
#: Smaller masses are not right to the last figure: they are raised to this one, or left out.
_TINY = 4e-308
#: Relative error of a Poisson mass: its exponent is below 1,000 and is right to a few ulps of 1e5 at most.
_DOUBT = 1e-10
#: Parts of a block, each with bounds on its mass.
_PARTS = 16


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


@charge("blocks, grid and tails of a Poisson count, from above", "poisson/losses.py")
def above(mu: float, *, raised: bool, step: float, lowest: float, width: float) -> Masses:
    """Upper masses of log((X + 1)/mu), raised, or of log(mu/X).

    Tails of log mass ``lowest`` are cut: one becomes an infinite loss, the other moves up to the nearest loss kept.
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


@charge("blocks, grid and tails of a Poisson count, from below", "poisson/losses.py")
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
    """Bounds on Pr[first <= X <= last], by geometric sums (see the top of this module)."""
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
