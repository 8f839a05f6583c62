"""Everything that the variation-ratio analysis knows of a mechanism: (p, beta, q)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...errors import ParameterError
from ...numerics.pair import ShuffledPair, log_up
from ..base import Mechanism
from ..parameters import real

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
    >>> VariationRatio(p=3.0, beta=0.4, q=3.0).pair().t.round(4).tolist()
    [0.2, 0.2, 0.0667]
    """

    name = "variation-ratio"
    _in_words = "the same randomizer with variation-ratio parameters p = {p}, beta = {beta}, q = {q}"
    _lower_scope = "mechanisms known only by (p, beta, q)"
    _ratios_both_ways = False  # q bounds the victim's law over another user's only

    p: float = real(low=1.0, high=math.inf, low_open=True, hint="p is a ratio of probabilities, exp(eps0) for LDP")
    beta: float = real(low=0.0, high=1.0, hint="beta is a total variation distance")
    q: float = real(low=1.0, high=math.inf, hint="q is a ratio of probabilities, exp(eps0) for LDP")

    def _check_together(self) -> None:
        most = min(1.0 if math.isinf(self.p) else (self.p - 1.0) / (self.p + 1.0), self.q - 1.0)
        if not self.beta <= most * (1.0 + _EDGE) + 2.0**-52:
            raise ParameterError(
                f"beta must lie in [0, {most:.6g}] = [0, min((p-1)/(p+1), q-1)], got {self.beta!r}; "
                "it is a total variation distance: check p, beta and q against each other."
            )
        object.__setattr__(self, "beta", min(self.beta, most))

    @property
    def local_epsilon(self) -> float:
        """log p, rounded up."""
        return log_up(self.p)

    @property
    def _crowd_epsilon(self) -> float:
        """log q, rounded up."""
        return log_up(self.q)

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

    def _constant_datasets(self) -> list[ShuffledPair]:
        """The dominating pair is attained (see Notes), so its lower evaluation is a lower bound."""
        return [self.pair()]


def _padded(top: float, alpha: float, rest: float, t: list[float]) -> ShuffledPair:
    """Three symbols; the rounding of their sum goes to the largest of them, a relative 2^-52."""
    scale = top + alpha + rest
    return ShuffledPair(
        P0=[top / scale, alpha / scale, rest / scale], P1=[alpha / scale, top / scale, rest / scale], t=t
    )
