"""One family of mechanisms per file."""

from .base import Mechanism
from .finite import FiniteRandomizer
from .general import General, VariationRatio
from .registry import mechanism

__all__ = ["FiniteRandomizer", "General", "Mechanism", "VariationRatio", "mechanism"]
