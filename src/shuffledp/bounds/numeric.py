"""The numerical bounds: each is the one formula of core on a different family of rounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import _validation as check
from ..core.evaluate import Side
from ..core.family import Answer, Family, RoundSet
from ..core.round import FloatArray
from ..mechanisms.base import Mechanism
from ..mechanisms.general import VariationRatio


@dataclass(frozen=True)
class Bound:
    """A published or proved bound: where it comes from, whether it is one, and the rounds it evaluates.

    ``side`` "upper" bounds eps from above (what can be claimed), "lower" from below (what cannot be beaten).
    """

    name: str
    title: str
    citation: str
    side: Side
    sound: bool
    family: Callable[[Mechanism], Family]

    def epsilon(self, mechanism: Mechanism, *, n: int, delta: float, tol: float) -> Answer:
        """The eps of this bound; an upper one is capped by the local guarantee, which always holds."""
        answer = self.family(mechanism).epsilon(n=n, delta=delta, tol=tol, side=self.side)
        if self.side == "lower":
            return answer
        return answer._replace(epsilon=min(answer.epsilon, mechanism.local_epsilon))

    def log_delta(self, mechanism: Mechanism, eps: FloatArray, *, n: int, tol: float) -> FloatArray:
        """log delta(eps); -inf exactly where the local guarantee alone gives delta = 0."""
        value = self.family(mechanism).log_delta(eps, n=n, tol=tol, side=self.side)
        return np.where(eps >= mechanism.local_epsilon, -np.inf, np.minimum(value, 0.0))


def variation_ratio_family(mechanism: Mechanism) -> Family:
    """The repaired reduction: t = (p alpha, p alpha, s)/q."""
    if mechanism.local_epsilon <= 0.0:
        return RoundSet([])
    return mechanism.among([mechanism.variation_ratio().round()])


def published_family(mechanism: Mechanism) -> Family:
    """The reduction as printed: t = (r, r, 1 - 2r)."""
    if mechanism.local_epsilon <= 0.0:
        return RoundSet([])
    return mechanism.among([mechanism.variation_ratio().published_round()])


def alone_family(mechanism: Mechanism) -> Family:
    """The victim's report on its own (evaluated at n = 1)."""
    if mechanism.local_epsilon <= 0.0:
        return RoundSet([])
    return RoundSet([mechanism.variation_ratio().round()])


def general_family(mechanism: Mechanism) -> Family:
    """Only eps0 is used: of one report for the victim, and between the reports of two users for the crowd."""
    own, crowd = mechanism.local_epsilon, mechanism.crowd_epsilon
    if own <= 0.0:
        return RoundSet([])
    if max(own, crowd) > check.MAX_EPS0:  # nothing is known: the report may give its input away
        return RoundSet([VariationRatio(p=math.inf, beta=1.0, q=math.inf).round()])
    beta = math.tanh(0.5 * own)  # the largest that eps0 allows; q >= 1 + beta always holds then
    return RoundSet([VariationRatio(p=math.exp(own), beta=beta, q=max(math.exp(crowd), 1.0 + beta)).round()])
