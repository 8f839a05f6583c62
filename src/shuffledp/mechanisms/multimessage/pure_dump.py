"""pureDUMP: the value itself among uniform dummy points."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...randomness.sampling import Array, Source
from ..known.variation_ratio import VariationRatio
from .dump import Dump


@dataclass(frozen=True, kw_only=True)
class PureDump(Dump):
    """pureDUMP: the value itself among uniform dummy points (Li et al., TDSC 2023).

    A user sends its value; a blanket message is uniform on [d].  Estimate (count - m/d)/n, variance
    m (1/d)(1-1/d)/n^2.

    Parameters
    ----------
    d : int >= 2
        Number of options; values are 0, ..., d-1.
    messages : float >= 0
        Dummy points per user; or total_messages, their fixed total, or poisson, their mean per user.

    Notes
    -----
    Symbols {x0}, {x1}; permutations of the options make all pairs alike.  The others' values are known in the worst
    case and are subtracted, so upper and lower bound agree.  Paper, Table 4: p = inf, beta = 1, q = d.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> float(sdp.profile(PureDump(d=4, messages=0.5), n=200, epsilon=1.0).round(7))
    7.48e-05
    """

    name = "pure-dump"
    _in_words = "pureDUMP on {d:,} options with {_blanket_words}"

    def variation_ratio(self) -> VariationRatio:
        """p = inf, beta = 1, q = d."""
        return VariationRatio(p=math.inf, beta=1.0, q=float(self.d))

    def _own(self, values: Array, src: Source) -> Array:
        return values
