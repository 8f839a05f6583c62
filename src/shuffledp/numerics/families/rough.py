"""About what a family answers, in microseconds: where a search over many mechanisms begins.  Nothing else rests on it.

A family that can tell has a method ``rough_log_delta(eps, n)``, which gives log delta at one eps, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..guess import guess_log_delta
from ..pair import ShuffledPair
from .base import Family


def log_delta(family: Family, eps: float, n: int) -> float | None:
    """About log delta(eps) of this family; None where that is not known quickly.

    Examples
    --------
    >>> from shuffledp.numerics.families.base import PairSet
    >>> coin = PairSet([ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])])
    >>> round(log_delta(coin, 0.0142, 10**5), 2)
    -13.9
    """
    ask: Callable[[float, int], float | None] | None = getattr(family, "rough_log_delta", None)
    return None if ask is None else ask(eps, n)


def largest(pairs: Iterable[ShuffledPair], n: float, eps: float) -> float | None:
    """The largest over some pairs; None if one of them is not known."""
    found = [guess_log_delta(pair.atoms, n, eps) for pair in pairs]
    known = [value for value in found if value is not None]
    return max(known) if found and len(known) == len(found) else None
