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
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import NamedTuple

import numpy as np

from ..ledger import charge
from ..pair import FloatArray
from ..tuning import LARGEST_EPSILON

#: Positive upper values are raised to this, so that no mass underflows (a likelihood ratio is at most e^200 here).
_LEAST = 1e-200
#: Charged on every mass for the rounding of hulls, slopes and exponentials (a few thousand roundings).
MASS_SLACK = 1e-12
#: How much the mass of a loss -eps and that of eps times e^-eps may differ by rounding.
_MIRROR_SLACK = 2.0**-48


class Curve(NamedTuple):
    """Upper values of log delta at nodes 0 = eps[0] < eps[1] < ...; delta stays at its last value beyond."""

    eps: FloatArray
    log_delta: FloatArray


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
_RUNGS = (2.0, 5.0, 8.0)


class Losses(NamedTuple):
    """Atoms of a symmetric dominating pair: Pr_Q[loss = eps_j] for eps_j > 0, and Pr_P[loss = inf]."""

    eps: FloatArray
    under_q: FloatArray
    infinite: float
    #: D_1, the total variation distance of the pair
    distance: float


class Masses(NamedTuple):
    """Pr_P[loss = k step] for k = -K, ..., K on a grid, and Pr_P[loss = inf]."""

    mass: FloatArray
    infinite: float


def sampling(*, limit: float, ladder: Ladder, lowest: float) -> Generator[FloatArray, FloatArray, Curve]:
    """Nodes of an upper bound on log delta for eps >= 0, as a conversation, so that many curves can be served at once.

    It asks for arrays of eps and is sent log delta there.

    Parameters
    ----------
    limit : delta is 0 from here on (the local guarantee), or inf
    ladder : density of the nodes
    lowest : sampling stops where log delta is below this (the node at ``limit`` is kept)
    """
    zero = float((yield np.zeros(1))[0])
    if zero == -np.inf:  # nothing is ever revealed
        return Curve(np.zeros(1), np.full(1, -np.inf))
    sigma = np.exp(min(zero, 0.0)) / 0.4
    top = min(limit, LARGEST_EPSILON)
    start, eps, parts = 0.0, np.zeros(0), []
    for step, end in zip(ladder.steps, _RUNGS, strict=True):
        parts.append(np.arange(start + step, end + 0.5 * step, step))
        start = end
    batch = sigma * np.concatenate(parts)
    values = np.zeros(0)
    while True:
        fresh = batch[batch < top]
        if fresh.size:
            eps = np.concatenate([eps, fresh])
            values = np.concatenate([values, (yield fresh)])
        if fresh.size < batch.size or values[-1] <= lowest:
            break
        batch = eps[-1] * ladder.ratio ** np.arange(1, 9)
    if values.size == 0 or values[-1] > lowest or limit <= LARGEST_EPSILON:
        last = -np.inf if limit <= LARGEST_EPSILON else float((yield np.array([top]))[0])
        eps, values = np.append(eps, top), np.append(values, last)
    return Curve(np.concatenate([[0.0], eps]), np.minimum(np.concatenate([[zero], values]), 0.0))


def sampled(log_delta: Callable[[FloatArray], FloatArray], *, limit: float, ladder: Ladder, lowest: float) -> Curve:
    """The nodes of one curve.

    Examples
    --------
    >>> coin = lambda eps: np.log(np.maximum(0.75 - 0.25 * np.exp(eps), 1e-300))
    >>> sampled(coin, limit=np.log(3.0), ladder=COARSE, lowest=-60.0).eps.max().round(4).item()
    1.0986
    """
    asking = sampling(limit=limit, ladder=ladder, lowest=lowest)
    eps = next(asking)
    while True:
        try:
            eps = asking.send(log_delta(eps))
        except StopIteration as done:
            found: Curve = done.value
            return found


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


@charge("losses between the points of a grid", "docs/proofs.md, section 7")
def on_grid(pair: Losses, step: float) -> Masses:
    """The pair spread onto multiples of ``step``: every atom is split between its two neighbours on the grid.

    The split keeps the mass and the mean of the likelihood ratio under Q, a mean-preserving spread, so D_E rises at
    every E.  The masses need not sum to 1 exactly: composition only uses that the profile is at least h at every E
    and at least 1 at E = 0.  The mass at 0 fills up to 1 plus the room that the rounding of the mirrored masses takes.
    """
    index = np.floor(pair.eps / step).astype(np.int64)
    index = np.where((index + 1) * step <= pair.eps, index + 1, index)
    low, high = np.expm1(index * step), np.expm1((index + 1) * step)
    # rounded up: a little more on the upper neighbour can only raise D_E
    upward = np.clip((np.expm1(pair.eps) - low + 2.0**-49 * (2.0 + low)) / (high - low), 0.0, 1.0)
    size = int(index.max(initial=-1)) + 2
    q = np.bincount(index, weights=pair.under_q * (1.0 - upward), minlength=size)
    q = q + np.bincount(index + 1, weights=pair.under_q * upward, minlength=size)
    q = np.asarray(q * (1.0 + MASS_SLACK), dtype=np.float64)
    q[0] = 0.0
    p = q * np.exp(np.arange(q.size) * step)
    room = _MIRROR_SLACK * (1.0 + pair.distance / np.expm1(step))
    p[0] = max(1.0 - pair.infinite - float((p + q).sum()), 0.0) + room
    return Masses(np.concatenate([q[:0:-1], p]), pair.infinite)


def second_moment(pair: Losses) -> float:
    """E_P[loss^2] of the finite part."""
    with np.errstate(over="ignore"):
        return float(pair.under_q @ (pair.eps**2 * (1.0 + np.exp(pair.eps))))


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
