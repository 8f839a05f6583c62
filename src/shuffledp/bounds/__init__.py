"""One published bound per entry, all with one signature."""

from .base import Bound, DeltaFormula, EpsilonFormula, Numerical
from .registry import BOUNDS, called, choose, known, names, unalias

__all__ = [
    "BOUNDS",
    "Bound",
    "DeltaFormula",
    "EpsilonFormula",
    "Numerical",
    "called",
    "choose",
    "known",
    "names",
    "unalias",
]
