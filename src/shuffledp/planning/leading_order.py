"""What holds to leading order, for many users and a small eps: about where a mechanism meets a target, and the floor.

The guarantee of a randomizer that all users share then depends on its law through one number alone, and is about that
of a Gaussian release with n mu^2 = D.  For one mechanism this is its chi-square divergence D, the largest sum of
(P0 - P1)^2/t over the pairs of inputs.  Searches start there; nothing rests on it.

For any mechanism of one message it is

    V = max over inputs x0, x1, r of sum over reports y of (P_x0(y) - P_x1(y))^2/P_r(y),

and what V allows bounds every unbiased linear estimate from below (docs/designs.md): Theorem F for histograms,
Theorem M for means and other linear queries.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..calibration.search import largest
from ..calibration.target import Target
from ..calibration.unknowns import Unknown
from ..errors import ParameterError, ShuffleDPError
from ..mechanisms.base import Mechanism
from ..mechanisms.local_budget import LocalBudget
from ..mechanisms.registry import find
from ..numerics.composition.conversions import mu_of
from ..numerics.search import bisect

if TYPE_CHECKING:
    from .candidates import Candidate
    from .solving import Budget

#: Most pairs of inputs whose divergences are compared.
PAIRS = 256
#: Smaller targets are looked for from here.
_SMALLEST = 1e-100


def likely_place(target: Target, row: Unknown) -> float | None:
    """Where to start, to leading order: n mu^2 = D, D the divergence below and mu that of a Gaussian; None if unknown.

    Of m blanket messages in all, each with mass 1/q in the cells of the pair, D is 2 q n/m.
    """
    level = target.n * mu_of(min(max(target.epsilon, _SMALLEST), 10.0), target.delta) ** 2
    if row.role in ("budget", "noise", "flip"):
        return at_divergence(row, level, None if row.is_budget else 0.5 * math.log(level))
    if row.role != "messages" or row.whole:
        return None
    try:
        q = row.make(row.private).variation_ratio().q
    except ShuffleDPError:
        return None
    return row.coordinate(min(max(2.0 * q / level, row.loose), row.private))


def at_divergence(row: Unknown, level: float, start: float | None) -> float | None:
    """The coordinate at which the divergence reaches a level."""

    def excess(u: float) -> float:
        try:
            found = divergence(row.at(u))
        except ParameterError:  # outside of its range nothing is private enough
            return math.inf
        return math.inf if not found else math.log(found / level)

    low, high = row.coordinate(row.private), row.coordinate(row.loose)
    first = math.log(level) if start is None else start
    return largest(excess, low=low, high=high, start=first, window=1e-3, slope=1.0)


def divergence(mechanism: Mechanism) -> float | None:
    """The largest sum of (P0 - P1)^2/t over the input pairs; None where they are not listed."""
    try:
        pairs = mechanism.law.blanket_pairs(PAIRS)
    except ShuffleDPError:
        return None
    if not pairs:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        return max(
            float(np.nansum((np.asarray(pair.P0) - np.asarray(pair.P1)) ** 2 / np.asarray(pair.t))) for pair in pairs
        )


# -- the least error of one message ----------------------------------------------------------------------------

_USERS = "To leading order (many users, small eps), no single-message randomizer shared by all users, with an unbiased"


class Floor(NamedTuple):
    """An error that no mechanism of one message can go below, to leading order.

    Attributes
    ----------
    error : root-mean-square error per item, in the units of the task
    words : what is proved, in a sentence
    """

    error: float
    words: str


def of_histogram(d: int, rows: Iterable[Candidate], budget: Budget, epsilon: float) -> Floor | None:
    """Theorem F at the local budget with which generalized randomized response meets the target over all rounds."""
    budgets = []
    for row in rows:
        if find(row.mechanism)._is_response:
            with suppress(ShuffleDPError):  # it cannot meet the target
                made = budget.anyhow.least_noisy(row, epsilon)
                budgets += [made.eps0] if isinstance(made, LocalBudget) else []
    return theorem_f(d, max(budgets), n=budget.n) if budgets else None


def theorem_f(d: int, eps0: float, *, n: int) -> Floor:
    """The floor of histograms at the eps of generalized randomized response with local budget eps0.

    With q = e^eps0 and s = (q-1)/(q+d-1) it has V = 2 (q-1) s, and n times its total squared error is
    (d-1)(1/lam - 1/d) with lam = d s^2.  For d = 2, and where V >= 8/(d-2), nothing is better.  Below that every
    randomizer has an s of its own with 2 s^2 (1/(1+(d-1)s) + (d-1)/(1-s)) <= V (part (c)), and with
    d s^2 <= ((d-2)^2 V/2 + 4)/(d(d-1)) (part (d)); the largest such s gives the floor.

    Examples
    --------
    >>> "than GRR" in theorem_f(16, 4.0, n=10_000).words, "below GRR" in theorem_f(3, 1.0, n=10_000).words
    (True, True)
    """
    above = math.expm1(eps0)
    s = above / (above + d)
    V, own = 2.0 * above * s, (d - 1) / d * _excess(s, d / (above + d))
    if d == 2 or V * (d - 2) >= 8.0:
        words = f"{_USERS} linear estimator, has smaller total squared error than GRR at the same eps."
        return Floor(math.sqrt(own / (n * d)), words)

    def allowed(s: float) -> bool:
        return 2.0 * s * s * (1.0 / (1.0 + (d - 1) * s) + (d - 1) / (1.0 - s)) <= V

    tangent = math.sqrt((0.5 * (d - 2) ** 2 * V + 4.0) / (d - 1)) / d
    best = min(bisect(allowed, safe=s, unsafe=1.0), max(tangent, s))
    least = (d - 1) / d * _excess(best, 1.0 - best)
    share = f"{100.0 * (1.0 - least / own):.2g} %"
    words = f"{_USERS} linear estimator, has a total squared error of more than {share} below GRR's at the same eps."
    return Floor(math.sqrt(least / (n * d)), words)


def _excess(s: float, t: float) -> float:
    """1/s^2 - 1 for t = 1 - s.

    >>> _excess(0.5, 0.5)
    3.0
    """
    return t * (1.0 + s) / (s * s)


def of_linear(width: float, budget: Budget, epsilon: float, *, note: str = "") -> Floor | None:
    """Theorem M at the target over all rounds, for a mean of one number per user in a range of this width."""
    if not math.isfinite(epsilon):
        return None
    V = leading_order(epsilon, budget.delta, n=budget.n, rounds=budget.rounds)
    return theorem_m(V, width, n=budget.n, note=note)


def leading_order(epsilon: float, delta: float, *, n: int, rounds: int = 1) -> float:
    """V at this guarantee of all rounds together: n mu^2 of one round.

    Examples
    --------
    >>> round(leading_order(0.1, 1e-8, n=10_000), 2)
    4.74
    """
    return n * mu_of(epsilon, delta) ** 2 / rounds


def theorem_m(V: float, width: float, *, n: int, note: str = "") -> Floor:
    """A report that is unbiased for a number of a range of this width has a variance of at least width^2/V.

    ``note`` ends the sentence.

    Examples
    --------
    >>> theorem_m(4.0, 2.0, n=1).error
    1.0
    """
    words = (
        "To leading order (many users, small eps), no single-message unbiased additive estimator has variance per "
        f"report below {width * width:g}/V* = {width * width / V:.3g}{note}."
    )
    return Floor(width / math.sqrt(n * V), words)
