"""Laws of a few atoms in plain floats: at this size the cost of an array operation is the call, not the arithmetic."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .pair import Atoms

#: Laws of at most this many atoms are kept in plain floats.
MOST = 8
#: M(c) - 1 is not taken below this: M(c) itself is a normalisation, so any value is valid.
_LEAST_GROWTH = -1.0 + 2.0**-52


class Few(NamedTuple):
    """X at E takes the value gap - (E - 1) v with probability t, else 0 (with probability ``rest``)."""

    gap: tuple[float, ...]
    v: tuple[float, ...]
    t: tuple[float, ...]
    rest: float

    @classmethod
    def of(cls, atoms: Atoms) -> Few | None:
        """The same law; None if it has too many atoms, or none."""
        if not 0 < atoms.t.size <= MOST:
            return None
        t = atoms.t.tolist()
        return cls(tuple(atoms.gap.tolist()), tuple(atoms.v.tolist()), tuple(t), max(0.0, 1.0 - math.fsum(t)))

    def values(self, growth: float) -> list[float]:
        """X at E = 1 + growth."""
        return [g - growth * v for g, v in zip(self.gap, self.v, strict=True)]


class Tilt(NamedTuple):
    """The tilted law at an abscissa c: M(c) - 1, its weights t e^(cx)/M(c), its mean and its variance."""

    c: float
    growth: float
    weights: list[float]
    mean: float
    variance: float


def first_abscissa(x: list[float], t: tuple[float, ...], n: float) -> float:
    """The minimum of n log M(c) - 2 log c if M were Gaussian."""
    mean = square = 0.0
    for value, mass in zip(x, t, strict=True):
        mean += mass * value
        square += mass * value * value
    drift = n * mean
    root = math.sqrt(drift * drift + 8.0 * n * square)
    return 4.0 / (root + drift) if drift > 0.0 else (root - drift) / (2.0 * n * square)


def tilted(x: list[float], t: tuple[float, ...], c: float) -> Tilt:
    """The law tilted by e^(cx)."""
    growth, weights, first, second = 0.0, [], 0.0, 0.0
    for value, mass in zip(x, t, strict=True):
        grown = mass * math.expm1(c * value)
        growth += grown
        weight = grown + mass
        weights.append(weight)
        weight *= value
        first += weight
        second += weight * value
    growth = max(growth, _LEAST_GROWTH)
    scale = 1.0 / (1.0 + growth)
    mean = first * scale
    return Tilt(c, growth, [w * scale for w in weights], mean, max(second * scale - mean * mean, 0.0))


def saddle(x: list[float], t: tuple[float, ...], n: float, c: float = 0.0, *, most: float = 600.0) -> Tilt:
    """The law tilted near the minimum of n log M(c) - 2 log c, from a first guess at c (any c would be sound).

    c max(x) is at most ``most``.
    """
    top = max(x)
    most = most / top if top > 1e-300 else 1e300
    c = min(c or first_abscissa(x, t, n), most)
    low, high = 0.0, math.inf  # the function is convex: its minimum is between
    for _ in range(80):
        at = tilted(x, t, c)
        pull = n * at.mean - 2.0 / c
        low, high = (low, c) if pull > 0.0 else (c, high)
        new = min(max(c - pull / (n * at.variance + 2.0 / (c * c)), 0.3 * c), 3.0 * c, most)
        if not low <= new <= high:  # Newton's method may go back and forth for ever
            new = math.sqrt(low) * math.sqrt(high)
        if abs(new - c) <= 4e-3 * c:  # Newton's method: the next one is right to about the square of that
            return tilted(x, t, new)
        c = new
    return at
