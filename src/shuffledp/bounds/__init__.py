"""One published bound per entry, all with one signature."""

from .base import Bound
from .registry import BOUNDS, choose, names

__all__ = ["BOUNDS", "Bound", "choose", "names"]
