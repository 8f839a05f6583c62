"""The laws of laplace_types.py in numbers, on the ends of their pieces."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...numerics.pair import FloatArray, ShuffledPair
from ...numerics.rows import pad
from ...numerics.swap.pair import TypeTable

#: a^k for whole k.
Power = Callable[[NDArray[Any]], FloatArray]
Whole = NDArray[np.int64]
#: P0, P1 and t.
Laws = tuple[FloatArray, FloatArray, FloatArray]

#: Pieces of a law.
PIECES = 96


class Slot(NamedTuple):
    """The pair (0, apart) and the others' type ``held``, present with probability ``share``.

    With ``nearest`` the law is the wider one that covers the distances from there to ``apart``.
    """

    apart: int
    held: int
    share: float
    nearest: int | None = None


class Powers(NamedTuple):
    """a^k and 1 - a^k for whole k, a = e^-rate."""

    rate: float
    falls: Power

    def less(self, k: Whole) -> FloatArray:
        """1 - a^k."""
        return np.asarray(-np.expm1(-self.rate * k))

    def weights(self, ends: Whole) -> FloatArray:
        """What a law that is a multiple of a^y or a^-y on every piece has at its ends, with what is moved there."""
        count, step = np.diff(ends) + 1, -math.expm1(-self.rate)
        more = self.less(count) / (step * (1.0 + self.falls(count - 1))) - 1.0
        weight = np.ones(ends.size)
        weight[[0, -1]] = 1.0 / step  # with the whole tail
        weight[:-1] += more
        weight[1:] += more
        return weight * (step / (1.0 + math.exp(-self.rate)))


def law(slot: Slot, rate: float, power: Power) -> ShuffledPair:
    """The victim's two laws and t on the ends of the pieces."""
    return ShuffledPair(*_laws(slot, Powers(rate, power)))


def table(slots: Sequence[Slot], rate: float, power: Power) -> TypeTable:
    """The laws of all slots, with P0 and P1 in either order."""
    laws = [_laws(slot, Powers(rate, power)) for slot in slots]
    p0, p1, t = (pad(list(column)) for column in zip(*laws, strict=True))
    return TypeTable(np.concatenate([p0, p1]), np.concatenate([p1, p0]), np.concatenate([t, t]))


def _laws(slot: Slot, powers: Powers) -> Laws:
    """P0, P1 and t."""
    p0, p1, t = _plain(slot, powers) if slot.nearest is None else _wide(slot, slot.nearest, powers)
    return p0, p1, slot.share * t


def _plain(slot: Slot, powers: Powers) -> Laws:
    """a^|y-x| at the ends of the pieces, with what the pieces hold."""
    ends = _ends(slot.apart, slot.held, powers.rate)
    weight = powers.weights(ends)
    p0, p1, t = (weight * powers.falls(np.abs(ends - x)) for x in (0, slot.apart, slot.held))
    return p0, p1, t


def _wide(slot: Slot, nearest: int, powers: Powers) -> Laws:
    """The law that covers the distances ``nearest`` to ``apart``: u is K or 0, v is put on the ends of pieces."""
    rate = powers.rate
    apart, held, top = slot.apart, slot.held, max(slot.held, slot.apart)
    beyond = max(held - nearest, apart - held)  # K = a^-this
    ends, level = _wide_ends(held, rate), powers.falls(np.array(beyond))
    points = np.diff(ends, append=top + 1)  # of every piece but its right end; of the last one up to the top
    y = np.arange(top + 1)
    weight = np.full(y.size, -math.expm1(-rate) / (1.0 + math.exp(-rate)))
    weight[[0, -1]] = 1.0 / (1.0 + math.exp(-rate))  # with the whole tail
    # u/K = a^(|y - apart| - |y - held| + beyond); the part with u = K, and the rest
    from_apart, from_held = np.abs(y - apart), np.abs(y - held)
    masses = (
        weight * powers.falls(from_apart) * level,
        weight * powers.falls(from_held) * powers.less(from_apart - from_held + beyond),
    )
    ahead = powers.less(2 * (y - np.repeat(ends, points)))  # the part that goes to the right end
    ahead /= np.repeat(powers.less(2 * points), points)
    ahead[held:] = 0.0  # already there
    parts, first = [], np.cumsum(points) - points
    for mass in masses:
        at = np.add.reduceat(mass * (1.0 - ahead), first)
        at[1:] += np.add.reduceat(mass * ahead, first)[:-1]
        parts.append(at)
    sent, rest = parts
    v = powers.falls(2 * ends - held)
    p1 = np.concatenate([sent / level, np.zeros(rest.size)])
    return np.concatenate([sent * v, rest * v]), p1, np.concatenate([sent, rest])


def _wide_ends(held: int, rate: float) -> Whole:
    """0, ..., held, finest near 0, in PIECES/2 pieces or fewer."""
    most = PIECES // 2
    if held <= most:
        return np.arange(held + 1)
    return np.unique(np.append(np.minimum(_depths(np.arange(most) / most, held, rate), held), held))


def _depths(shares: FloatArray, length: int, rate: float) -> Whole:
    """Points up to ``length`` that leave these shares of 1 - a^length behind."""
    return np.asarray(np.rint(-np.log1p(np.expm1(-rate * length) * shares) / rate), dtype=np.int64)


def _ends(apart: int, held: int, rate: float) -> Whole:
    """Ends of the pieces: 0, apart, held, and points in between.

    A piece of width w adds about f w^3 to the variance, f the density t times the square of the slope of X.  So widths
    are proportional to f^(-1/3), which is a^-y, or a^y between a type and ``apart`` to its right.
    """
    spans = list(pairwise(sorted((0, apart, held))))
    weights = [_weight(i, j, apart, held, rate) for i, j in spans]
    found = [np.array([0, apart, held])]
    for (i, j), weight in zip(spans, weights, strict=True):
        count = max(1, round(PIECES * weight / max(sum(weights), 1e-300)))
        inner = _depths(np.arange(1, count) / count, j - i, rate) if count < j - i else np.arange(1, j - i)
        inner = inner[(inner > 0) & (inner < j - i)]
        found.append(j - inner if i >= held else i + inner)
    return np.unique(np.concatenate(found))


def _weight(i: int, j: int, apart: int, held: int, rate: float) -> float:
    """The integral of f^(1/3) from i to j: f = e^(held - 3y) left of the type, times (e^apart - 1)^2 right of apart;
    e^(-held) times the mirror image between a type and ``apart`` to its right."""
    if i == j:
        return 0.0
    size, outer = ((apart - held) / 3.0, apart - j) if i >= held else (held / 3.0, i)  # from where a piece is finest
    level = 2.0 / 3.0 * math.log(math.expm1(min(rate * apart, 300.0))) if i >= apart else 0.0
    return math.exp(min(rate * size + level - rate * outer, 600.0)) * -math.expm1(-rate * (j - i))
