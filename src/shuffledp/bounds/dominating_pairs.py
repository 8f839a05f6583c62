"""The numerical bounds: each evaluates the formula of numerics/pair.py on another family of shuffled pairs.

Mechanisms whose reports do not depend on the input do not come here: their eps is 0 (base.py).
"""

from __future__ import annotations

import math

from .._support import validation as check
from ..errors import BoundNotApplicableError
from ..mechanisms.base import Mechanism
from ..mechanisms.known.eps0_vertices import swap_of
from ..mechanisms.known.variation_ratio import VariationRatio
from ..numerics.family import Family, PairSet


def variation_ratio(mechanism: Mechanism) -> Family:
    """The repaired reduction: t = (p alpha, p alpha, s)/q."""
    return mechanism.law.among([mechanism.variation_ratio().pair()])


def published(mechanism: Mechanism) -> Family:
    """The reduction as printed: t = (r, r, 1 - 2r)."""
    return mechanism.law.among([mechanism.variation_ratio().published_pair()])


def alone(mechanism: Mechanism) -> Family:
    """The victim's report on its own (evaluated at n = 1)."""
    return PairSet([mechanism.variation_ratio().pair()] if mechanism.local_epsilon > 0.0 else [])


def stronger_clone(mechanism: Mechanism) -> Family:
    """Uses eps0 only: the local guarantee for the victim, the largest ratio between two users for the crowd.

    docs/proofs.md, corollary to the reduction theorem: for one randomizer that all users run, not adaptive.
    """
    return _from_budget(mechanism, weaker=False)


def swap_general(mechanism: Mechanism) -> Family:
    """Uses eps0 only (docs/swap.md, Theorem 3): ratios of the victim's two values, and of two users."""
    if not mechanism.law.ratios_both_ways:
        raise BoundNotApplicableError(
            f"bound 'swap-general' needs a guarantee for any two users, both ways, and {mechanism.name} states only "
            "how much a victim's report may exceed another's; use bound='auto'."
        )
    if mechanism.law.pairwise_epsilon > check.MAX_EPS0:
        raise BoundNotApplicableError(
            f"bound 'swap-general' needs a finite local guarantee, got {mechanism.spec}, whose reports may reveal "
            "their input; use bound='auto'."
        )
    return swap_of(mechanism.local_epsilon, mechanism.law.pairwise_epsilon)


def clone(mechanism: Mechanism) -> Family:
    """As :func:`stronger_clone`, but only a share 1/(2 e^eps0) of a message counts as a clone of either input's."""
    return _from_budget(mechanism, weaker=True)


def _from_budget(mechanism: Mechanism, *, weaker: bool) -> Family:
    own, crowd = mechanism.local_epsilon, mechanism.law.crowd_epsilon
    if mechanism.law.pairwise_epsilon > check.MAX_EPS0:  # nothing is known: the report may reveal its input
        return PairSet([VariationRatio(p=math.inf, beta=1.0, q=math.inf).pair()])
    p, beta = math.exp(own), math.tanh(0.5 * own)  # the largest beta that eps0 allows; q >= 1 + beta always holds then
    q = math.exp(crowd) * (2.0 * p / (p + 1.0) if weaker else 1.0)
    return PairSet([VariationRatio(p=p, beta=beta, q=max(q, 1.0 + beta)).pair()])
