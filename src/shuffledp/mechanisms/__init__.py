"""One family of mechanisms per file."""

from .base import Mechanism
from .known.finite import FiniteRandomizer
from .known.general import General
from .known.variation_ratio import VariationRatio
from .registry import mechanism

__all__ = ["FiniteRandomizer", "General", "Mechanism", "VariationRatio", "mechanism"]
