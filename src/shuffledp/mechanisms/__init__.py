"""One family of mechanisms per file."""

from .base import Mechanism
from .known.finite import FiniteRandomizer
from .known.general import General, VariationRatio
from .registry import mechanism

__all__ = ["FiniteRandomizer", "General", "Mechanism", "VariationRatio", "mechanism"]
