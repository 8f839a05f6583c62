"""One published bound per entry, all with one signature."""

from .base import Bound, DeltaFormula, EpsilonFormula, Numerical
from .registry import BOUNDS, choose, known, names

__all__ = ["BOUNDS", "Bound", "DeltaFormula", "EpsilonFormula", "Numerical", "choose", "known", "names"]
