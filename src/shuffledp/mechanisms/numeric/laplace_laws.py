"""The laws of laplace_types.py in numbers: all slots at once, on the ends of their pieces."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...numerics.pair import FloatArray, ShuffledPair
from ...numerics.swap.pair import TypeTable

#: a^k for whole k.
Power = Callable[[NDArray[Any]], FloatArray]
Whole = NDArray[np.int64]

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


def law(slot: Slot, rate: float, power: Power) -> ShuffledPair:
    """The victim's two laws and t on the ends of the pieces."""
    return table([slot], [False], rate, power).pair(0)


def table(slots: Sequence[Slot], both_ways: Sequence[bool], rate: float, power: Power) -> TypeTable:
    """The laws of all slots; those in ``both_ways`` appear with P0 and P1 in either order."""
    laws: list[FloatArray] = []
    twice: list[bool] = []
    for wide, made in ((False, _plain), (True, _wide)):
        some = [k for k, slot in enumerate(slots) if (slot.nearest is not None) == wide]
        if some:
            laws.append(made([slots[k] for k in some], rate, power))
            twice += [both_ways[k] for k in some]
    width = max(part.shape[2] for part in laws)
    p0, p1, t = np.concatenate([np.pad(part, ((0, 0), (0, 0), (0, width - part.shape[2]))) for part in laws], axis=1)
    return TypeTable(np.concatenate([p0, p1[twice]]), np.concatenate([p1, p0[twice]]), np.concatenate([t, t[twice]]))


def _plain(slots: Sequence[Slot], rate: float, power: Power) -> FloatArray:
    """(P0, P1, t) of every slot: a^|y-x| at the ends of the pieces, with what the pieces hold."""
    apart, held = (np.array([slot[k] for slot in slots], dtype=np.int64) for k in (0, 1))
    row, ends = _ends(apart, held, rate)
    same = row[1:] == row[:-1]
    count = np.diff(ends)[same] + 1.0
    more = np.expm1(-rate * count) / (math.expm1(-rate) * (1.0 + np.exp(-rate * (count - 1.0)))) - 1.0
    weight = np.ones(ends.size)
    first, last = np.append(True, ~same), np.append(~same, True)
    weight[first | last] = -1.0 / math.expm1(-rate)  # with the whole tail
    weight[~last] += more
    weight[~first] += more
    weight *= -math.expm1(-rate) / (1.0 + math.exp(-rate))
    column = np.arange(ends.size) - np.flatnonzero(first)[row]
    made = np.zeros((3, len(slots), int(column.max()) + 1))
    falls = power(np.arange(max(apart.max(), held.max()) + 1))
    for law, x in zip(made, (np.zeros_like(apart), apart, held), strict=True):
        law[row, column] = weight * falls[np.abs(ends - x[row])]
    made[2] *= np.array([slot.share for slot in slots])[:, None]
    return made


def _wide(slots: Sequence[Slot], rate: float, power: Power) -> FloatArray:
    """The laws that cover the distances ``nearest`` to ``apart``: u is K or 0, v is put on the ends of pieces."""
    apart, held, nearest = (np.array([slot[k] or 0 for slot in slots], dtype=np.int64) for k in (0, 1, 3))
    beyond = np.maximum(held - nearest, apart - held)  # K = a^-this
    ends = _wide_ends(held, rate)  # padded with ``held``
    # the points of every piece but its right end, and in the last column held, ..., max(held, apart)
    top = np.maximum(held, apart)
    points = np.diff(ends, append=top[:, None] + 1, axis=1)
    live = points > 0
    size = points[live]
    first = np.cumsum(size) - size
    inside = np.arange(first[-1] + size[-1]) - np.repeat(first, size)
    y = inside + np.repeat(ends[live], size)
    whole = points.sum(axis=1)
    from_held = y - np.repeat(held, whole)
    from_apart = np.abs(y - np.repeat(apart, whole))
    at_held = np.abs(from_held)
    weight = np.full(y.size, -math.expm1(-rate) / (1.0 + math.exp(-rate)))
    last = np.cumsum(whole) - 1
    weight[last] = weight[last - top] = 1.0 / (1.0 + math.exp(-rate))  # with the whole tail
    steps = np.arange(2 * int(top.max()) + 1)
    falls, less = power(steps), -np.expm1(-rate * steps)  # a^k and 1 - a^k
    # u/K = a^(|y - apart| - |y - held| + beyond); the part with u = K, and the rest
    masses = (
        weight * falls[from_apart] * np.repeat(power(beyond), whole),
        weight * falls[at_held] * less[from_apart - at_held + np.repeat(beyond, whole)],
    )
    step = np.where(live, points, 1)
    ahead = less[2 * inside] / np.repeat(less[2 * step[live]], size)  # the part that goes to the right
    ahead[from_held >= 0] = 0.0  # already at the right end
    parts = []
    for mass in masses:
        at = np.zeros((2, *ends.shape))
        at[0, live] = np.add.reduceat(mass * (1.0 - ahead), first)
        at[1, live] = np.add.reduceat(mass * ahead, first)
        at[0, :, 1:] += at[1, :, :-1]  # to the next end; the padding of a row stands for ``held`` too
        parts.append(at[0])
    v = power(2 * ends - held[:, None])
    sent, rest = parts
    p0 = np.concatenate([sent * v, rest * v], axis=1)
    p1 = np.concatenate([sent * power(-beyond)[:, None], np.zeros(rest.shape)], axis=1)
    share = np.array([slot.share for slot in slots])[:, None]
    return np.stack([p0, p1, share * np.concatenate([sent, rest], axis=1)])


def _wide_ends(held: Whole, rate: float) -> Whole:
    """0, ..., held, finest near 0, in PIECES/2 pieces or fewer; each row is padded with ``held``."""
    most = PIECES // 2
    share = np.arange(most) / most
    found = np.rint(-np.log1p(np.expm1(-rate * held)[:, None] * share) / rate).astype(np.int64)
    found = np.where(held[:, None] <= most, np.arange(most), found)
    found = np.minimum(found, held[:, None])
    found[:, 1:][found[:, 1:] == found[:, :-1]] = int(held.max()) + 1  # the same twice
    ends = np.sort(np.concatenate([found, held[:, None]], axis=1), axis=1)
    return np.asarray(np.minimum(ends, held[:, None]))


def _ends(apart: Whole, held: Whole, rate: float) -> tuple[Whole, Whole]:
    """Ends of the pieces: 0, apart, held, and points in between; which slot each belongs to, and where it is.

    A piece of width w adds about f w^3 to the variance, f the density t times the square of the slope of X.  So widths
    are proportional to f^(-1/3), which is a^-y, or a^y between a type and ``apart`` to its right.
    """
    cuts = np.sort(np.stack([np.zeros_like(apart), apart, held], axis=1), axis=1)
    i, j = cuts[:, :-1], cuts[:, 1:]
    apart, held = apart[:, None], held[:, None]
    mirrored = i >= held
    outer, inner = np.where(mirrored, apart - j, i), np.where(mirrored, apart - i, j)  # from where a piece is finest
    # f = e^(held - 3y) left of the type, times (e^apart - 1)^2 right of apart; e^(-held) times the mirror image
    size = np.where(mirrored, apart - held, held) / 3.0
    level = np.where(i >= apart, 2.0 / 3.0 * np.log(np.expm1(np.minimum(rate * apart, 300.0))), 0.0)
    exponent = np.minimum(rate * size + level - rate * outer, 600.0)
    weight = np.where(i < j, np.exp(exponent) * -np.expm1(-rate * (inner - outer)), 0.0)
    share = weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-300)
    length, count = j - i, np.maximum(1, np.rint(PIECES * share).astype(np.int64))
    every = count >= length
    points = np.maximum(np.where(every, length, count) - 1, 0).ravel()
    part = np.repeat(np.arange(points.size), points)
    k = 1 + np.arange(part.size) - np.repeat(np.cumsum(points) - points, points)
    span = length.ravel()[part]
    depth = -np.log1p(np.expm1(-rate * span) * (k / np.maximum(count.ravel()[part], 1))) / rate
    place = np.where(every.ravel()[part], k, np.rint(np.where(every.ravel()[part], 0.0, depth)).astype(np.int64))
    inside = (place > 0) & (place < span)
    part, place = part[inside], place[inside]
    at = np.where(mirrored.ravel()[part], j.ravel()[part] - place, i.ravel()[part] + place)
    slot = np.concatenate([np.repeat(np.arange(len(cuts)), 3), part // 2])
    wide = int(cuts.max()) + 1
    keys = np.unique(slot * wide + np.concatenate([cuts.ravel(), at]))
    return keys // wide, keys % wide
