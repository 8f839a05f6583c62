"""A privacy profile as a convex polygon, and the discrete pair of laws that has exactly this profile.

Let h(E) be the largest D_E(P || Q) over all neighboring datasets, in both directions.  A supremum of convex
functions is convex, h falls from h(0) = 1, and h(E) >= 1 - E; every such function is the profile of one pair of laws
(Zhu, Dong, Wang, AISTATS 2022, Proposition 9), and that pair dominates every round, adaptively composed ones
included (their Theorem 10).  So taking the maximum over input pairs at every eps separately is valid for composition,
although no single pair of inputs need attain it.

Only upper values u_j >= h(E_j) at some nodes are needed.  The largest convex function below all (E_j, u_j) is at least
h, because h is one of those functions: it is the lower convex hull of the points, a polygon, and the pair that has it
as its profile is discrete ("connect the dots": Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, PoPETs 2022).  With
x = E - 1 and the likelihood ratio L = P/Q, D_E = E_Q[(L - E)_+], so Pr_Q[L = E_j] is the change of slope at E_j.

Below E = 1 no samples are needed: D_E(P||Q) = 1 - E + E D_{1/E}(Q||P), so a symmetric pair suffices, in which the
loss -eps has under P the mass that eps has under Q.

For the same reason the chord in E between two upper values is an upper value: a profile at many eps is evaluated at few
of them.  Lower values have no such chords and are evaluated everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .. import tuning
from ..ledger import charge
from ..pair import FloatArray, IntArray, Side

#: Positive upper values are raised to at least this, so no mass underflows (a likelihood ratio is at most e^200 here).
_LEAST = 1e-200
#: Charged on every mass for the rounding of hulls, slopes and exponentials (a few thousand roundings).
MASS_SLACK = 1e-12
_U = 2.0**-53


class Curve(NamedTuple):
    """Upper values of log delta at nodes 0 = eps[0] < eps[1] < ...; delta stays at its last value beyond."""

    eps: FloatArray
    log_delta: FloatArray

    def joined(self, eps: FloatArray, log_delta: FloatArray) -> Curve:
        """The curve with further nodes."""
        every = np.append(self.eps, eps)
        order = np.argsort(every)
        return Curve(every[order], np.minimum.accumulate(np.append(self.log_delta, log_delta)[order]))


#: A curve that has not been sampled yet.
EMPTY = Curve(np.zeros(0), np.zeros(0))
#: log delta at some eps.
Values = Callable[[FloatArray], FloatArray]
#: log delta of some curves, named by their numbers, each at its own eps.
Ask = Callable[[Sequence[int], Sequence[FloatArray]], Sequence[FloatArray]]


class Ladder(NamedTuple):
    """Where to sample, in units of sigma = delta(0) / 0.4, and the relative accuracy of delta there.

    Steps up to 2, 5 and 8 sigma, then a geometric ratio.  A step w raises the variance of the privacy loss by
    about w^2/6 sigma^2, so eps by about w^2/12 of itself.
    """

    steps: tuple[float, float, float]
    ratio: float
    tol: float


FINEST = Ladder((0.01, 0.025, 0.05), 1.05, 1e-5)
FINE = Ladder((0.02, 0.05, 0.1), 1.1, 1e-5)
MEDIUM = Ladder((0.05, 0.125, 0.25), 1.15, 3e-5)
COARSE = Ladder((0.12, 0.3, 0.5), 1.2, 3e-4)
#: The finer ladder on which a profile with kinks is sampled.
FINER = {COARSE: MEDIUM, MEDIUM: FINE, FINE: FINEST}
_RUNGS = (2.0, 5.0, 8.0)


def ladder_for(kinds: int) -> Ladder:
    """The more different profiles are composed, the fewer nodes each of them gets."""
    return FINE if kinds <= 8 else MEDIUM if kinds <= 64 else COARSE


class Losses(NamedTuple):
    """Atoms of a symmetric dominating pair: Pr_Q[loss = eps_j] for eps_j > 0, and Pr_P[loss = inf]."""

    eps: FloatArray
    under_q: FloatArray
    infinite: float
    #: D_1, the total variation distance of the pair
    distance: float

    @property
    def second_moment(self) -> float:
        """E_P[loss^2] of the finite part."""
        with np.errstate(over="ignore"):
            return float(self.under_q @ (self.eps**2 * (1.0 + np.exp(self.eps))))


class Masses(NamedTuple):
    """Pr_P[loss = k step] for k = -K, ..., K on a grid, and Pr_P[loss = inf]."""

    mass: FloatArray
    infinite: float


class Plan(NamedTuple):
    """How far and how densely a curve is sampled.

    Parameters
    ----------
    limit : delta is 0 from here on (the local guarantee), or inf
    ladder : density of the nodes
    lowest : sampling stops where log delta is at most this
    """

    limit: float
    ladder: Ladder
    lowest: float

    def missing(self, curve: Curve) -> FloatArray:
        """The nodes that come next; none if the curve is complete."""
        eps, value = curve
        if not eps.size:
            return np.zeros(1)
        top = min(self.limit, tuning.LARGEST_EPSILON)
        if value[-1] == -np.inf or eps[-1] >= top or (value[-1] <= self.lowest and eps.size > 1):
            return np.zeros(0)
        if eps.size > 1:
            batch = eps[-1] * self.ladder.ratio ** np.arange(1, 9)
        else:
            ends = zip((0.0, *_RUNGS), _RUNGS, self.ladder.steps, strict=False)
            batch = np.concatenate([np.arange(a + step, b + 0.5 * step, step) for a, b, step in ends])
            batch = batch * (np.exp(value[0]) / 0.4)
        return batch if batch[-1] < top else np.append(batch[batch < top], top)


def sampled(ask: Ask, plans: Sequence[Plan], known: Sequence[Curve]) -> list[Curve]:
    """Upper bounds on log delta for eps >= 0 at the nodes that the plans want and that are not ``known`` yet.

    Examples
    --------
    >>> coin = lambda which, eps: [np.log(np.maximum(0.75 - 0.25 * np.exp(x), 1e-300)) for x in eps]
    >>> sampled(coin, [Plan(np.log(3.0), COARSE, -60.0)], [EMPTY])[0].eps.max().round(4).item()
    1.0986
    """
    curves = list(known)
    while wanted := {i: at for i, plan in enumerate(plans) if (at := plan.missing(curves[i])).size}:
        found = ask(list(wanted), list(wanted.values()))
        for (i, at), value in zip(wanted.items(), found, strict=True):
            value = np.where(at >= plans[i].limit, -np.inf, np.minimum(value, 0.0))
            curves[i] = Curve(np.append(curves[i].eps, at), np.append(curves[i].log_delta, value))
    return curves


@charge("a profile between its nodes, and rounding of its masses", "docs/proofs.md, section 7")
def losses(curve: Curve, *, lowest: float = -np.inf) -> Losses:
    """The dominating pair of a curve; the tail from the first node below ``lowest`` on is an infinite loss.

    The masses are changes of slope, which cancel.  So the profile is summed up again from the masses (positive terms
    only) and the masses are raised by the largest ratio at which it misses an upper value, and by MASS_SLACK.
    """
    u = _values(curve)
    below = np.flatnonzero(curve.log_delta <= lowest)
    if below.size:  # cutting later would be tighter, cutting here keeps the grid short
        u = u[: below[0] + 1]
    x = np.expm1(curve.eps[: u.size])
    # the hull of the mirrored points passes E = 1 at most here; without this Pr[loss = 0] could come out negative
    u = u.copy()
    u[0] = min(u[0], float(np.min((x + 2.0 * u) / (x + 2.0))))
    keep = lower_hull(x, u)
    x, u, eps = x[keep], u[keep], curve.eps[keep]
    if x.size == 1:
        return Losses(np.zeros(0), np.zeros(0), float(u[0]), float(u[0]))
    slope = np.append(np.diff(u) / np.diff(x), 0.0)
    mass = np.maximum(np.diff(slope), 0.0)  # at the nodes 1, 2, ...
    tail = np.cumsum(mass[::-1])[::-1]
    again = u[-1] + np.cumsum((tail * np.diff(x))[::-1])[::-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        raised = float(np.nanmax(np.where(again > 0.0, u[:-1] / again, 1.0)))
    mass = mass * (max(raised, 1.0) * (1.0 + MASS_SLACK))
    return Losses(eps[1:], mass, float(u[-1]), float(u[0]) * (1.0 + 1e-9))


def symmetric(pair: Losses, step: float) -> Masses:
    """The pair with its mirrored half on multiples of ``step``.

    The masses of eps under P are rounded up, and the rest, up to 1, has the loss 0.  Rounding raises the profile at
    every E: mass that moves from the loss 0 to eps adds E (1 - e^-eps) times itself below E = 1, and more beyond.
    """
    under_p = pair.under_q * np.exp(pair.eps) * (1.0 + MASS_SLACK)
    rest = max(1.0 - pair.infinite - float(under_p.sum() + pair.under_q.sum()), 0.0) + MASS_SLACK
    loss = np.concatenate([-pair.eps, [0.0], pair.eps])
    return on_grid(loss, np.concatenate([pair.under_q, [rest], under_p]), pair.infinite, step)


@charge("losses between the points of a grid", "docs/proofs.md, section 7")
def on_grid(loss: FloatArray, mass: FloatArray, infinite: float, step: float) -> Masses:
    """Split every atom between the two multiples of ``step`` beside it, keeping its masses under P and Q; rounded up.

    The split is a mean-preserving spread of Q/P under P, so it raises D_E at every E, and so does raising a loss or a
    mass.  Up to 8 roundings of a loss are covered.  The masses need not sum to 1: composition only uses that the
    profile is nowhere below the true one.
    """
    loss = loss + 8.0 * _U * np.abs(loss)
    index = np.floor(loss / step).astype(np.int64)
    index = np.where(index * step > loss, index - 1, index)
    upward = np.expm1(index * step - loss) / math.expm1(-step)
    upward = np.clip(upward + 8.0 * _U * (1.0 + np.abs(loss) / step), 0.0, 1.0)
    half = int(np.abs(index).max(initial=0)) + 1
    places = np.concatenate([index, index + 1]) + half
    out = np.bincount(places, np.concatenate([mass * (1.0 - upward), mass * upward]), 2 * half + 1)
    return Masses(np.asarray(out * (1.0 + MASS_SLACK), dtype=np.float64), infinite)


def lower_hull(x: FloatArray, y: FloatArray) -> np.ndarray:
    """Indices of the lower convex hull of points with rising x (Andrew's monotone chain)."""
    hull: list[int] = []
    xs, ys = x.tolist(), y.tolist()
    for i in range(len(xs)):
        while len(hull) > 1:
            a, b = hull[-2], hull[-1]
            # b stays if it lies below the line from a to i
            if (ys[b] - ys[a]) * (xs[i] - xs[a]) < (ys[i] - ys[a]) * (xs[b] - xs[a]):
                break
            hull.pop()
        hull.append(i)
    return np.array(hull)


def _values(curve: Curve) -> FloatArray:
    with np.errstate(under="ignore"):
        u = np.exp(curve.log_delta)
    return np.where(curve.log_delta > -np.inf, np.maximum(u, _LEAST), 0.0)


def profile(ask: Values, eps: FloatArray, tol: float, side: Side) -> FloatArray:
    """log delta at every eps, to a relative accuracy of about tol in delta; ``ask`` evaluates it.

    Examples
    --------
    >>> asked = []
    >>> at = np.linspace(0.0, 2.0, 1000)
    >>> found = profile(lambda x: (asked.append(x.size), -x)[1], at, 1e-3, "upper")
    >>> bool(np.all((found >= -at) & (found <= -at + 1e-3))), sum(asked) < 300
    (True, True)
    """
    if side == "lower" or eps.size < tuning.MANY_POINTS:
        return falling(eps, ask(eps)) if side == "upper" else ask(eps)
    at, place = np.unique(eps, return_inverse=True)
    out = np.full(at.size, np.nan)
    knots = np.unique(np.linspace(0, at.size - 1, tuning.FIRST_KNOTS).astype(np.int64))
    out[knots] = ask(at[knots])
    start, stop = knots[:-1], knots[1:]
    while True:  # halve intervals until the chord is as good as the value in the middle
        wide = stop > start + 1
        start, stop = start[wide], stop[wide]
        deep = out[start] < tuning.UNDERFLOW  # delta falls, and rounds to 0 there
        for a, b in zip(start[deep], stop[deep], strict=True):
            out[a + 1 : b] = out[a]
        start, stop = start[~deep], stop[~deep]
        if not start.size:
            break
        middle = (start + stop) // 2
        out[middle] = ask(at[middle])
        good = chord(at, out, start, stop, middle) <= out[middle] + 0.8 * tol
        for a, b in [*zip(start[good], middle[good], strict=True), *zip(middle[good], stop[good], strict=True)]:
            inner = np.arange(a + 1, b)
            out[inner] = chord(at, out, np.full(inner.size, a), np.full(inner.size, b), inner)
        bad = ~good
        start, stop = np.concatenate([start[bad], middle[bad]]), np.concatenate([middle[bad], stop[bad]])
    return falling(at, out)[place].reshape(eps.shape)


@charge("a profile between two places", "docs/proofs.md, section 7")
@np.errstate(all="ignore")
def chord(at: FloatArray, out: FloatArray, a: IntArray, b: IntArray, k: IntArray) -> FloatArray:
    """log of the chord in E from a to b at k, rounded up; where it is not a number, the value at a: delta falls."""
    share = np.expm1(at[k] - at[a]) / np.expm1(at[b] - at[a])
    value = np.logaddexp(np.log1p(-share) + out[a], np.log(share) + out[b]) + 1e-13
    return np.where(np.isnan(value), out[a], value)


def falling(eps: FloatArray, log_delta: FloatArray) -> FloatArray:
    """The smallest upper value at this eps or below: the true delta falls with eps, but its upper values need not."""
    order = np.argsort(eps, kind="stable")
    out = np.empty_like(log_delta)
    out[order] = np.minimum.accumulate(log_delta[order])
    return out
