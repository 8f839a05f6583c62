"""A randomizer of which only (eps0, delta0) is known: what it may reveal is added to delta, user by user.

*Lemma 20* (docs/proofs.md, section 4).  If all users run one (eps0, delta0)-LDP randomizer, then for every eps

    delta(eps) <= G(eps) + (1 + e^eps) tau,    tau = delta0 (1 + (n-1) c),

where G is delta for eps0 alone, by the stronger clone with c = 4 e^-eps0, or by the swap bound with c = 2 (1 + e^eps0);
and from eps0 on delta(eps) <= delta0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...numerics.family import Answer, Family, OneByOne, PairSet
from ...numerics.pair import FloatArray, ShuffledPair, Side
from ..base import Mechanism
from ..parameters import budget, real
from .eps0_vertices import swap_of
from .general import General
from .variation_ratio import VariationRatio

#: Fixed points are looked for in this many steps; each step is sound.
_STEPS = 8
#: Room for the rounding of tau and of its factor.
_ROOM = 1.0 + 2.0**-48


@dataclass(frozen=True, kw_only=True)
class Approximate(Mechanism):
    """Any (eps0, delta0)-LDP randomizer, the same for all users: P(S) <= e^eps0 Q(S) + delta0 for any two inputs.

    Local guarantees with delta0 > 0 come from noise without limits, such as a Gaussian.  If the law itself is known,
    state it (``gaussian``, a matrix with holes): the answer is then exact, and much smaller where n delta0 is not far
    below delta.

    Parameters
    ----------
    eps0 : float in (0, 500]
    delta0 : float in [1e-300, 1)
        About 8 e^-eps0 n delta0 is added to delta, so it has to be far below delta/n.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> pure = sdp.amplify("general:eps0=2", n=10_000, delta=1e-6).epsilon
    >>> known = sdp.amplify("approximate:eps0=2,delta0=1e-12", n=10_000, delta=1e-6).epsilon
    >>> f"{pure:.3f} {known:.3f}"
    '0.108 0.111'
    """

    name = "approximate"
    _in_words = "the same ({eps0!r}, {delta0!r})-LDP randomizer"
    _lower_scope = "mechanisms known only by (eps0, delta0)"
    _lists_every_type = False

    eps0: float = budget()
    delta0: float = real(low=1e-300, high=1.0, high_open=True, hint="delta0 is a probability")

    @property
    def local_epsilon(self) -> float:
        """Infinite: no eps holds with delta = 0."""
        return math.inf

    def variation_ratio(self) -> VariationRatio:
        """p = q = inf; beta is that of the worst pair (Kairouz, Oh, Viswanath, IEEE Trans. IT 2017)."""
        beta = self.delta0 + (1.0 - self.delta0) * math.tanh(0.5 * self.eps0)
        return VariationRatio(p=math.inf, beta=min(beta, 1.0), q=math.inf)

    def _blanket(self) -> Leaking:
        clone = PairSet([General(eps0=self.eps0).variation_ratio().pair()])
        swap = swap_of(self.eps0, self.eps0)
        costs = 4.0 * math.exp(-self.eps0), 2.0 * (1.0 + math.exp(self.eps0))
        return Leaking(list(zip((clone, swap), costs, strict=True)), self.eps0, self.delta0)

    def _constant_datasets(self) -> Sequence[ShuffledPair]:
        """Those of eps0 alone, which is a special case."""
        return General(eps0=self.eps0).law.dataset_pairs(16) or []


class Leaking(OneByOne):
    """Analyses of a randomizer without delta0, each with what delta0 adds per user; the smallest counts."""

    def __init__(self, pure: Sequence[tuple[Family, float]], eps0: float, delta0: float) -> None:
        self._pure, self._eps0, self._delta0 = pure, eps0, delta0

    def _tau(self, cost: float, n: int) -> float:
        return self._delta0 * (1.0 + (n - 1) * cost) * _ROOM

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The smallest of the analyses, and of eps0 if delta0 is at most delta; nothing is claimed from below."""
        if side == "lower":
            return Answer(0.0, 0, 1)
        least = self._eps0 if delta >= self._delta0 else math.inf
        found = [self._one(family, self._tau(cost, n), n, delta, tol) for family, cost in self._pure]
        return Answer(min(least, *found), len(found), 1)

    def _one(self, family: Family, tau: float, n: int, delta: float, tol: float) -> float:
        """If the eps at delta - (1 + e^x) tau is at most x, it holds at delta: x falls from the largest possible on."""
        at = min(self._eps0, math.log(max(delta / (tau * _ROOM) - 1.0, 1.0)))  # (1 + e^x) tau = delta at the second
        best = math.inf
        for _ in range(_STEPS):
            left = delta - (1.0 + math.exp(at)) * tau * _ROOM
            if left <= 0.0:
                at *= 0.5  # a guess; whether it holds is seen in the next step
                continue
            found = family.epsilon(n=n, delta=left, tol=tol, side="upper").epsilon
            if found > at:
                break
            best, settled, at = found, found >= (1.0 - tol) * at, found
            if settled:
                break
        return best

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """The sum at every eps; from eps0 on at most delta0."""
        if side == "lower":
            return np.full(np.shape(eps), -np.inf)
        best = np.where(eps >= self._eps0, math.log(self._delta0), 0.0)
        for family, cost in self._pure:
            more = np.logaddexp(0.0, eps) + math.log(self._tau(cost, n) * _ROOM)
            best = np.minimum(best, np.logaddexp(family.log_delta(eps, n=n, tol=tol, side="upper"), more) + 2.0**-48)
        return best

    @property
    def quick(self) -> bool:
        """A few values for one."""
        return True
