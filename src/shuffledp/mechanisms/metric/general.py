"""A mechanism of which only its metric privacy is known."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...numerics.pair import ShuffledPair
from ..known.eps0_vertices import informative
from ..known.variation_ratio import VariationRatio
from .base import MetricPair


@dataclass(frozen=True, kw_only=True)
class MetricGeneral(MetricPair):
    """Any metric-private mechanism, the same for all: R(x)_y <= e^d(x,x') R(x')_y (Chatzikokolakis et al., PETS 2013).

    Parameters
    ----------
    d01 : float in [1e-6, 500]
        Largest distance of two neighboring inputs; the guarantee is for replacing one input by another that near.
    dmax : float in [d01, 500]
        Largest distance of any two inputs.

    Notes
    -----
    Parameters (paper, Table 3): p = e^d01, beta = tanh(d01/2), q = e^dmax.  All three rise with d01 and dmax, and the
    bound with them.

    Examples
    --------
    >>> MetricGeneral(d01=1.0, dmax=2.0).variation_ratio().beta.__round__(4)
    0.4621
    """

    name = "metric-general"
    _in_words = "the same metric-private randomizer, {_distances}"
    _lower_scope = "mechanisms known only by their metric privacy"

    @property
    def local_epsilon(self) -> float:
        """d01."""
        return self.d01

    def variation_ratio(self) -> VariationRatio:
        """p = e^d01, beta = tanh(d01/2), q = e^dmax."""
        return VariationRatio(p=math.exp(self.d01), beta=math.tanh(0.5 * self.d01), q=math.exp(self.dmax))

    def _constant_datasets(self) -> list[ShuffledPair]:
        """Mechanisms on three inputs with these distances, the others at the third (docs/swap.md, Theorem 3)."""
        return informative(self.d01, self.dmax)
