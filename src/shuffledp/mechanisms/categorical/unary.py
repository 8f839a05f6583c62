"""Symmetric unary encoding: report a bit per option, each flipped with the same probability."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .one_hot import Coin, OneHot


@dataclass(frozen=True, kw_only=True)
class Unary(OneHot):
    """Symmetric unary encoding, also basic RAPPOR (Erlingsson, Pihur, Korolova, CCS 2014) and "binary RR".

    The value is written as d bits of which one is set, and every bit is flipped with probability
    f = 1/(e^{eps0/2} + 1).  Reports are packed bits (numpy.packbits), ceil(d/8) bytes each.

    Parameters
    ----------
    eps0, d : local budget and number of options, as in :class:`~shuffledp.FrequencyOracle`

    Notes
    -----
    p = q = e^eps0, beta = 1 - 2f = tanh(eps0/4).  Permutations of the options permute the bits, so all ordered pairs
    of inputs are alike and one shuffled pair gives their maximum.  The blanket min_x R(x) is attained at any option
    whose bit is 0; only the report with all bits set has none.

    Examples
    --------
    >>> import numpy as np
    >>> m = Unary(eps0=2.0, d=10)
    >>> m.variation_ratio().beta.__round__(4)
    0.4621
    >>> reports = m.privatize(np.array([0, 1, 1, 3] * 1000), rng=np.random.default_rng(0))
    >>> reports.data.shape
    (4000, 2)
    """

    name = "unary"
    _in_words = "symmetric unary encoding of {d:,} options with eps0 = {eps0}"

    @property
    def coins(self) -> tuple[Coin, Coin]:
        """Both flip with probability f."""
        odds = math.exp(-0.5 * self.eps0)
        flip, true = odds / (1.0 + odds), 1.0 / (1.0 + odds)
        return Coin(zero=flip, one=true), Coin(zero=true, one=flip)

    @property
    def beta(self) -> float:
        """tanh(eps0/4)."""
        return math.tanh(0.25 * self.eps0)
