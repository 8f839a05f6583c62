"""Mechanisms that can be run and state their local budget and beta: these are all of (p, beta, q)."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

from .known.variation_ratio import VariationRatio
from .parameters import budget
from .randomizer import Randomizer


@dataclass(frozen=True, kw_only=True)
class LocalBudget(Randomizer):
    """A randomizer whose laws of two inputs differ by a factor of at most e^eps0."""

    eps0: float = budget()

    @property
    @abstractmethod
    def beta(self) -> float:
        """Largest total variation distance of two inputs, without cancellation."""

    def variation_ratio(self) -> VariationRatio:
        """p = q = e^eps0, and beta as stated."""
        p = math.exp(self.eps0)
        return VariationRatio(p=p, beta=self.beta, q=p)
