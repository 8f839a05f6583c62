"""The least error that any mechanism of one message per user could have, to leading order (docs/designs.md).

Among many users, and for a small eps, the guarantee of a randomizer that all users share depends on its law through

    V = max over inputs x0, x1, r of sum over reports y of (P_x0(y) - P_x1(y))^2/P_r(y)

alone: it is about that of a Gaussian release with mu^2 = V/n.  What V allows bounds every unbiased linear estimate from
below: Theorem F for histograms, Theorem M for means and other linear queries.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from ..errors import ShuffleDPError
from ..mechanisms.local_budget import LocalBudget
from ..mechanisms.registry import find
from ..numerics.composition.conversions import mu_of
from ..numerics.search import bisect
from .candidates import Candidate
from .solving import Budget

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
