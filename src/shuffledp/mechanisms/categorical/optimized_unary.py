"""Optimized unary encoding: report a bit per option; coins with the least variance for rare options."""

from __future__ import annotations

from dataclasses import dataclass

from ..._support.exponentials import exp, tanh
from .unary import Coin, OneHot


@dataclass(frozen=True, kw_only=True)
class OptimizedUnary(OneHot):
    """Optimized unary encoding, OUE (Wang, Blocki, Li, Jha, USENIX Security 2017).

    The value is written as d bits of which one is set; that bit is kept with probability 1/2 and every other one is
    set with probability b = 1/(e^eps0 + 1): of all coins with this eps0, those with the least variance for
    rare options.  Reports are packed bits (numpy.packbits), ceil(d/8) bytes each.

    Parameters
    ----------
    eps0, d : local budget and number of options, as in :class:`~shuffledp.FrequencyOracle`

    Notes
    -----
    p = q = e^eps0, beta = 1/2 - b = tanh(eps0/2)/2: the laws of two inputs differ where exactly one of the two bits
    is set, by a(1-b) - (1-a)b in total.  Symmetry and blanket are those of :class:`Unary`.

    Examples
    --------
    >>> m = OptimizedUnary(eps0=2.0, d=10)
    >>> m.variation_ratio().beta.__round__(4)
    0.3808
    """

    name = "optimized-unary"
    _in_words = "optimized unary encoding of {d:,} options with eps0 = {eps0}"

    @property
    def coins(self) -> tuple[Coin, Coin]:
        """1/2 for the bit that is held, b for every other one."""
        odds = exp(-self.eps0)
        return Coin(0.5, 0.5), Coin(zero=1.0 / (1.0 + odds), one=odds / (1.0 + odds))

    @property
    def beta(self) -> float:
        """tanh(eps0/2)/2."""
        return 0.5 * tanh(0.5 * self.eps0)
