"""A randomizer of which only its local budget is known."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...numerics.pair import ShuffledPair
from ..base import Mechanism
from ..parameters import budget
from .eps0_vertices import informative
from .variation_ratio import VariationRatio


@dataclass(frozen=True, kw_only=True)
class General(Mechanism):
    """Any eps0-LDP randomizer, the same for all users: p = q = e^eps0, beta = (p-1)/(p+1) (Kairouz et al. 2014).

    The variation-ratio bound with these parameters is the stronger clone of Feldman, McMillan and Talwar (2023),
    whose proof for adaptive sequences has an erratum; docs/proofs.md proves it for one randomizer that all users run.
    There is no remainder, so the printed and the repaired pair agree.

    Parameters
    ----------
    eps0 : float in (0, 500]

    Examples
    --------
    >>> General(eps0=1.0).variation_ratio().beta.__round__(6)
    0.462117
    """

    name = "general"
    _in_words = "the same {eps0!r}-LDP randomizer"
    _lower_scope = "mechanisms known only by eps0"

    eps0: float = budget()

    def variation_ratio(self) -> VariationRatio:
        """p = q = e^eps0, beta = tanh(eps0/2)."""
        p = math.exp(self.eps0)
        return VariationRatio(p=p, beta=math.tanh(0.5 * self.eps0), q=p)

    def _constant_datasets(self) -> list[ShuffledPair]:
        """Four mechanisms with this budget and the best dataset of each: no analysis from eps0 alone can claim less.

        Randomized response on 2 options with the others on x0 or on x1, on 3 with the others on the third, and
        the choice of 2 out of 3 (docs/swap.md, Theorem 3).
        """
        return informative(self.eps0, self.eps0)
