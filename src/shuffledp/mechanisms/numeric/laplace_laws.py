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
    """The laws of all slots; those ``both_ways`` with P0 and P1 in either order."""
    laws = [_Powers(slots, rate, power).laws(wide=wide) for wide in (False, True)]
    width = max(part.t.shape[1] for part in laws)
    rows = np.concatenate([part.slot for part in laws])
    twice = np.array(both_ways, dtype=bool)[rows]
    p0, p1, t = (
        np.concatenate([np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in parts])
        for parts in zip(*(part[1:] for part in laws), strict=True)
    )
    return TypeTable(np.concatenate([p0, p1[twice]]), np.concatenate([p1, p0[twice]]), np.concatenate([t, t[twice]]))


class _Laws(NamedTuple):
    """Which slots, and their laws: (slot, symbol)."""

    slot: Whole
    P0: FloatArray
    P1: FloatArray
    t: FloatArray


class _Powers:
    """Slots, and a table of a^k for all k that their laws need."""

    def __init__(self, slots: Sequence[Slot], rate: float, power: Power) -> None:
        self.rate, self.power = rate, power
        self.apart, self.held = (np.array([slot[k] for slot in slots], dtype=np.int64) for k in (0, 1))
        self.share = np.array([slot.share for slot in slots])
        self.wide = np.array([slot.nearest is not None for slot in slots], dtype=bool)
        self.nearest = np.array([slot.nearest or 0 for slot in slots], dtype=np.int64)
        self.table = power(np.arange(2 * int(max(self.apart.max(), self.held.max())) + 1))

    def laws(self, *, wide: bool) -> _Laws:
        """Those of the wider laws, or those of the others."""
        rows = np.flatnonzero(self.wide == wide)
        if not rows.size:
            return _Laws(rows, *(np.zeros((0, 1)) for _ in range(3)))
        return self._wide(rows) if wide else self._plain(rows)

    def _plain(self, rows: Whole) -> _Laws:
        """P0, P1 and t are a^|y-x| at the ends of the pieces, with what the pieces hold."""
        row, ends = _ends(self.apart[rows], self.held[rows], self.rate)
        same = row[1:] == row[:-1]
        count = np.diff(ends)[same] + 1.0
        rate = self.rate
        more = np.expm1(-rate * count) / (math.expm1(-rate) * (1.0 + np.exp(-rate * (count - 1.0)))) - 1.0
        weight = np.ones(ends.size)
        first, last = np.append(True, ~same), np.append(~same, True)
        weight[first | last] = -1.0 / math.expm1(-rate)  # with the whole tail
        weight[~last] += more
        weight[~first] += more
        weight *= -math.expm1(-rate) / (1.0 + math.exp(-rate))
        apart, held = self.apart[rows][row], self.held[rows][row]
        column = np.arange(ends.size) - np.flatnonzero(first)[row]
        made = np.zeros((3, rows.size, int(column.max()) + 1))
        for part, x in zip(made, (np.zeros_like(apart), apart, held), strict=True):
            part[row, column] = weight * self.table[np.abs(ends - x)]
        made[2] *= self.share[rows, None]
        return _Laws(rows, *made)

    def _wide(self, rows: Whole) -> _Laws:
        """The law that covers the distances ``nearest`` to ``apart``: u is K or 0, v is put on the ends of pieces."""
        rate, apart, held = self.rate, self.apart[rows], self.held[rows]
        beyond = np.maximum(held - self.nearest[rows], apart - held)  # K = a^-this
        ends = self._wide_ends(held)  # filled up with ``held``
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
        less = -np.expm1(-rate * np.arange(self.table.size))  # 1 - a^k
        # u/K = a^(|y - apart| - |y - held| + beyond); the part with u = K, and the rest
        masses = (
            weight * self.table[from_apart] * np.repeat(self.power(beyond), whole),
            weight * self.table[at_held] * less[from_apart - at_held + np.repeat(beyond, whole)],
        )
        step = np.where(live, points, 1)
        ahead = less[2 * inside] / np.repeat(less[2 * step[live]], size)  # the part that goes to the right
        ahead[from_held >= 0] = 0.0  # already at the right end
        parts = []
        for mass in masses:
            at = np.zeros((2, *ends.shape))
            at[0, live] = np.add.reduceat(mass * (1.0 - ahead), first)
            at[1, live] = np.add.reduceat(mass * ahead, first)
            at[0, :, 1:] += at[1, :, :-1]  # to the next end; what fills a row up stands for ``held`` too
            parts.append(at[0])
        v = self.power(2 * ends - held[:, None])
        sent, rest = parts
        k = self.power(-beyond)[:, None]
        p0 = np.concatenate([sent * v, rest * v], axis=1)
        p1 = np.concatenate([sent * k, np.zeros(rest.shape)], axis=1)
        return _Laws(rows, p0, p1, self.share[rows, None] * np.concatenate([sent, rest], axis=1))

    def _wide_ends(self, held: Whole) -> Whole:
        """0, ..., held, finest near 0, in PIECES/2 pieces or fewer; each row is filled up with ``held``."""
        most = PIECES // 2
        share = np.arange(most) / most
        found = np.rint(-np.log1p(np.expm1(-self.rate * held)[:, None] * share) / self.rate).astype(np.int64)
        found = np.where(held[:, None] <= most, np.arange(most), found)
        found = np.minimum(found, held[:, None])
        found[:, 1:][found[:, 1:] == found[:, :-1]] = int(held.max()) + 1  # the same twice
        ends = np.sort(np.concatenate([found, held[:, None]], axis=1), axis=1)
        return np.asarray(np.minimum(ends, held[:, None]))


def _ends(apart: Whole, held: Whole, rate: float) -> tuple[Whole, Whole]:
    """Ends of the pieces: 0, apart, held, and points in between; which slot each belongs to, and where it is.

    A piece of width w adds about f w^3 to the variance, f the density t times the square of the slope of X.  So widths
    go with f^(-1/3), which is a^-y, or a^y between a type and ``apart`` to its right.
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
