"""Mechanisms of which only parameters are known: (p, beta, q), or eps0 alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ..._support import validation as check
from ..._support.numbers import round_down
from ...errors import ParameterError
from ...numerics.families.base import PairSet
from ...numerics.pair import ShuffledPair
from ...numerics.solve import log_up
from ..base import Mechanism, plain

#: Room for the rounding of user-supplied parameters that sit exactly on a limit.
_EDGE = 1e-12


@dataclass(frozen=True, kw_only=True)
class VariationRatio(Mechanism):
    """Everything the variation-ratio analysis knows of a mechanism (paper, section 4, properties I and II).

    Parameters
    ----------
    p : float > 1, may be inf
        Largest ratio R(x0)_y / R(x1)_y of the victim's message.
    beta : float in [0, min((p-1)/(p+1), q-1)]
        Largest total variation distance of such a pair.
    q : float >= 1, may be inf
        Largest ratio of the victim's law to the law of any other message.

    Notes
    -----
    With alpha = beta/(p-1) the victim's message decomposes as P0 = (p alpha, alpha, s), P1 = (alpha, p alpha, s),
    s = 1 - alpha - p alpha, and every other message contains t = (p alpha, p alpha, s)/q, because pointwise
    p alpha Q0 + p alpha Q1 + s Q2 = max(R0, R1) <= q R_i.  This is the repaired form of the paper's Theorem 4.7;
    the printed one lets all the remaining mass 1 - 2r hide the third symbol and is not a bound.

    The bound is attained: other users may send a fourth symbol with their remaining mass, so no analysis
    that knows only (p, beta, q) can claim less.

    Examples
    --------
    >>> VariationRatio(p=3.0, beta=0.4, q=3.0).round().t.round(4).tolist()
    [0.2, 0.2, 0.0667]
    """

    name: ClassVar[str] = "variation-ratio"
    lower_scope: ClassVar[str] = "mechanisms known only by (p, beta, q)"

    p: float
    beta: float
    q: float

    def __post_init__(self) -> None:
        p = check.in_range("p", self.p, low=1.0, low_open=True, hint="p is a ratio of probabilities, exp(eps0) for LDP")
        q = check.in_range("q", self.q, low=1.0, hint="q is a ratio of probabilities, exp(eps0) for LDP")
        most = min(1.0 if math.isinf(p) else (p - 1.0) / (p + 1.0), q - 1.0)
        beta = check.real("beta", self.beta)
        if not 0.0 <= beta <= most * (1.0 + _EDGE) + 2.0**-52:
            raise ParameterError(
                f"beta must lie in [0, {most:.6g}] = [0, min((p-1)/(p+1), q-1)], got {beta!r}; "
                "it is a total variation distance: check p, beta and q against each other."
            )
        for name, value in (("p", p), ("beta", min(beta, most)), ("q", q)):
            object.__setattr__(self, name, value)

    @property
    def local_epsilon(self) -> float:
        """log p, rounded up."""
        return log_up(self.p)

    @property
    def crowd_epsilon(self) -> float:
        """log q, rounded up."""
        return log_up(self.q)

    @property
    def description(self) -> str:
        """In words."""
        return (
            f"a randomizer with variation-ratio parameters p = {round_down(self.p, 6)}, "
            f"beta = {round_down(self.beta, 6)}, q = {round_down(self.q, 6)}"
        )

    def variation_ratio(self) -> VariationRatio:
        """Itself."""
        return self

    def masses(self) -> tuple[float, float, float]:
        """(p alpha, alpha, s); s is rounded down, which is sound (X of its symbol is negative, 0 without it)."""
        alpha = 0.0 if math.isinf(self.p) else self.beta / (self.p - 1.0)
        top = alpha + self.beta
        rest = 1.0 - alpha - top - 1e-15
        return top, alpha, rest if rest > 1e-13 else 0.0

    def pair(self) -> ShuffledPair:
        """The dominating pair, sound for every mechanism with these parameters."""
        top, alpha, rest = self.masses()
        return _padded(top, alpha, rest, [top / self.q, top / self.q, rest / self.q])

    def published_pair(self) -> ShuffledPair:
        """The pair of Theorems 4.1, 4.7 and 4.8 as printed: t = (r, r, 1 - 2r).  Not a bound if s > 0."""
        top, alpha, rest = self.masses()
        r = top / self.q
        return _padded(top, alpha, rest, [r, r, max(0.0, 1.0 - 2.0 * r)])

    def constant_datasets(self) -> PairSet:
        """The dominating pair is attained (see Notes), so its lower evaluation is a lower bound."""
        return PairSet([self.pair()])


@dataclass(frozen=True, kw_only=True)
class General(Mechanism):
    """Any eps0-LDP randomizer: p = q = e^eps0, beta = (p-1)/(p+1) (Kairouz et al. 2014).

    The variation-ratio bound with these parameters is the stronger clone of Feldman, McMillan and
    Talwar (2023); there is no remainder, so the printed and the repaired law agree.

    Parameters
    ----------
    eps0 : float in (0, 500]

    Examples
    --------
    >>> General(eps0=1.0).variation_ratio().beta.__round__(6)
    0.462117
    """

    name: ClassVar[str] = "general"
    lower_scope: ClassVar[str] = "mechanisms known only by eps0"

    eps0: float

    def __post_init__(self) -> None:
        eps0 = check.local_budget(self.eps0)
        object.__setattr__(self, "eps0", eps0)

    @property
    def description(self) -> str:
        """In words."""
        return f"any {plain(self.eps0)}-LDP randomizer"

    def variation_ratio(self) -> VariationRatio:
        """p = q = e^eps0, beta = tanh(eps0/2)."""
        p = math.exp(self.eps0)
        return VariationRatio(p=p, beta=math.tanh(0.5 * self.eps0), q=p)

    def constant_datasets(self) -> PairSet:
        """Randomized response on 2 and on 3 options is eps0-LDP: its exact divergence bounds every analysis."""
        p = math.exp(self.eps0)
        keep, flip = p / (p + 1.0), 1.0 / (p + 1.0)
        two = ShuffledPair(P0=[keep, flip], P1=[flip, keep], t=[keep, flip])  # others hold x0
        keep, flip = p / (p + 2.0), 1.0 / (p + 2.0)
        three = ShuffledPair(
            P0=[keep, flip, flip], P1=[flip, keep, flip], t=[flip, flip, keep]
        )  # others hold the third
        return PairSet([two, three])


def _padded(top: float, alpha: float, rest: float, t: list[float]) -> ShuffledPair:
    """Three symbols; the rounding of their sum goes to the largest of them, a relative 2^-52."""
    scale = top + alpha + rest
    return ShuffledPair(
        P0=[top / scale, alpha / scale, rest / scale], P1=[alpha / scale, top / scale, rest / scale], t=t
    )
