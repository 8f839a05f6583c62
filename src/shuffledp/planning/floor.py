"""The least error that any mechanism of one message per user could have, to leading order (docs/designs.md).

Among many users, and for a small eps, the guarantee of a randomizer that all users share depends on its law through

    V = max over inputs x0, x1, r of sum over reports y of (P_x0(y) - P_x1(y))^2/P_r(y)

alone: it is about that of a Gaussian release with mu^2 = V/n.  What V allows bounds every unbiased linear estimate from
below: Theorem F for histograms, Theorem M for means and other linear queries.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..numerics.composition.gaussian import mu_of
from ..numerics.search import bisect

_LEADING = "To leading order (many users, small eps), no single-message randomizer shared by all users"


class Floor(NamedTuple):
    """An error that no mechanism of one message can go below, to leading order.

    Attributes
    ----------
    error : root-mean-square error per item, in the units of the task
    words : what is proved, in a sentence
    """

    error: float
    words: str


def budget_of(epsilon: float, delta: float, *, n: int, rounds: int = 1) -> float:
    """V at this guarantee of all rounds together, to leading order: n mu^2 of one round.

    Examples
    --------
    >>> round(budget_of(0.1, 1e-8, n=10_000), 2)
    4.74
    """
    return n * mu_of(epsilon, delta) ** 2 / rounds


def of_histogram(d: int, eps0: float, *, n: int) -> Floor:
    """Theorem F, from the local budget at which generalized randomized response meets the target.

    With q = e^eps0 it has V = 2 (q-1)^2/(q+d-1), and n times its total squared error is (d-1)(1/lam - 1/d) with
    lam = d (1-t)^2, t = d/(q+d-1).  For d = 2, and where V >= 8/(d-2), nothing is better.  Below that every randomizer
    has a t of its own with 2 (1-t)^2 (1/(d-(d-1)t) + (d-1)/t) <= V, and the smallest such t gives the floor.

    Examples
    --------
    >>> "than GRR" in of_histogram(16, 4.0, n=10_000).words, "below GRR" in of_histogram(3, 1.0, n=10_000).words
    (True, True)
    """
    q = math.exp(eps0)
    V, t = 2.0 * (q - 1.0) ** 2 / (q + d - 1.0), d / (q + d - 1.0)
    own = _total(d, t)
    if d == 2 or V * (d - 2) >= 8.0:
        words = f"{_LEADING}, with an unbiased linear estimator, has smaller total squared error than GRR at the same eps."
        return Floor(math.sqrt(own / (n * d)), words)
    average = lambda t: 2.0 * (1.0 - t) ** 2 * (1.0 / (d - (d - 1) * t) + (d - 1) / t)  # noqa: E731
    least = _total(d, bisect(lambda t: average(t) >= V, safe=1e-300, unsafe=t))
    share = f"{100.0 * (1.0 - least / own):.2g} %"
    words = f"{_LEADING}, with an unbiased linear estimator, has a total squared error more than {share} below GRR's."
    return Floor(math.sqrt(least / (n * d)), words)


def _total(d: int, t: float) -> float:
    """(d-1)(1/lam - 1/d) with lam = d (1-t)^2."""
    return (d - 1) / d * t * (2.0 - t) / (1.0 - t) ** 2


def of_mean(V: float, width: float, *, n: int) -> Floor:
    """Theorem M: a report that is unbiased for a number of a range of this width has a variance of at least width^2/V.

    Examples
    --------
    >>> round(of_mean(4.0, 2.0, n=1).error, 6)
    1.0
    """
    words = "To leading order, no single-message unbiased additive estimator has variance per report below 4/V*"
    known = "; for V* >= 30 the best known is at least twice that" if V >= 30.0 else ""
    return Floor(width / math.sqrt(n * V), f"{words} = {4.0 / V:.3g} on [-1, 1]{known}.")
