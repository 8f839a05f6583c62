"""Binomial and Poisson laws, number by number, wherever their probability is not negligible.

A law is built by the ratios of neighbouring masses, outward from its mode, and divided by its sum: no special
function, and every mass has a small *relative* error, however far in the tail it is.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .binomial import first_rare
from .pair import FloatArray

#: Binomial windows leave out at most this log-probability on either side.
LOG_LEFT_OUT = -110.0
#: Poisson windows reach this many deviations, above the mean a little more; what is left out is below the last number:
#: Chernoff's bound gives e^-72 on the left, and Pr[> mean + 12 sqrt(mean) + 60] < 1e-30 for every mean.
_DEVIATIONS, _MORE, _POISSON_LEFT_OUT = 12.0, 60, 2e-30


class Window(NamedTuple):
    """A law on start, start + 1, ...: its masses given that it is there, and a bound on the chance that it is not."""

    start: int
    mass: FloatArray
    left_out: float

    @property
    def stop(self) -> int:
        """One more than the last number."""
        return self.start + self.mass.size


def ends_of_binomial(size: int, chance: float, other: float) -> tuple[int, int]:
    """The window [start, stop) of Bin(size, chance); ``other`` is 1 - chance, without cancellation."""
    return max(0, size - _first_rare(size, other) + 1), _first_rare(size, chance)


def ends_of_poisson(mean: float) -> tuple[int, int]:
    """The window [start, stop) of a Poisson number."""
    reach = _DEVIATIONS * math.sqrt(mean)
    return max(math.floor(mean - reach), 0), math.ceil(mean + reach) + _MORE + 1


def binomial(size: int, odds: float) -> Window:
    """Bin(size, p) with p = odds/(1 + odds).

    A mass is a product of at most as many ratios as the window is long, each right to 5 roundings and that of the odds.

    Examples
    --------
    >>> binomial(2, 1.0).mass.tolist()
    [0.25, 0.5, 0.25]
    """
    other = 1.0 / (1.0 + odds)
    chance = odds * other
    start, stop = ends_of_binomial(size, chance, other)
    mode = min(max(int((size + 1) * chance), start), stop - 1)
    up = np.arange(mode, stop - 1, dtype=np.float64)
    down = np.arange(mode - 1, start - 1, -1, dtype=np.float64)
    mass = _outward((size - up) / (up + 1.0) * odds, (down + 1.0) / (size - down) / odds)
    lost = math.exp(LOG_LEFT_OUT + 1.0) * ((start > 0) + (stop <= size))  # + 1: rounding of the exponent
    return Window(start, mass, lost)


def poisson(mean: float) -> Window:
    """A Poisson number of this mean.

    Examples
    --------
    >>> poisson(2.0).mass[:3].round(4).tolist()
    [0.1353, 0.2707, 0.2707]
    """
    start, stop = ends_of_poisson(mean)
    mode = min(max(int(mean), start), stop - 1)
    up = np.arange(mode + 1, stop, dtype=np.float64)
    down = np.arange(mode, start, -1, dtype=np.float64)
    return Window(start, _outward(mean / up, down / mean), _POISSON_LEFT_OUT)


def _outward(up: FloatArray, down: FloatArray) -> FloatArray:
    """Masses that sum to 1 from the ratios above and below the mode."""
    with np.errstate(under="ignore"):
        mass = np.concatenate([np.cumprod(down)[::-1], [1.0], np.cumprod(up)])
        return np.asarray(mass / mass.sum())


def _first_rare(size: int, chance: float) -> int:
    """The smallest j >= 1 with log Pr[Bin(size, chance) >= j] <= LOG_LEFT_OUT; size + 1 if there is none."""
    return first_rare(size, chance, LOG_LEFT_OUT, low=1, high=size + 1) or size + 1
