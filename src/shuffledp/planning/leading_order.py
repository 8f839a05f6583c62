"""About where a mechanism meets a target, by one number of its law: to leading order its guarantee depends on no other.

That number is its chi-square divergence D, the largest sum of (P0 - P1)^2/t over the pairs of inputs: among n users the
guarantee is about that of a Gaussian release with n mu^2 = D.  Searches start here; nothing rests on it.
"""

from __future__ import annotations

import math

import numpy as np

from ..calibration.search import largest
from ..calibration.target import Target
from ..calibration.unknowns import Unknown
from ..errors import ParameterError, ShuffleDPError
from ..mechanisms.base import Mechanism
from ..numerics.composition.conversions import mu_of

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
