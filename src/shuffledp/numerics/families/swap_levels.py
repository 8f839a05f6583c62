"""The swap bound of a matrix whose columns have few levels: its distinct laws, of which there are few."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..evaluators.choose import Side, mass_slack
from ..pair import FloatArray, ShuffledPair
from .base import Answer
from .swap import SwapPair, SwapSet

#: Levels, and cells of the table of joint masses, up to which equal laws are found.
_FEW_LEVELS, _MOST_CELLS, _MOST_LAWS = 3, 2e8, 64
#: Room for masses that agree to a relative 2^-40.
_SAME_LAW = 8.0 * 2.0**-40


def distinct(rows: FloatArray) -> SwapSet | None:
    """The distinct pairs of a matrix whose columns have few levels; None elsewhere."""
    d, outputs = rows.shape
    top = rows.max(axis=0)
    mantissa, exponent = np.frexp(rows / top)
    levels, code = np.unique(np.ldexp(np.round(mantissa * 2.0**41) / 2.0**41, exponent), return_inverse=True)
    if levels.size > _FEW_LEVELS or float(d) ** 3 * outputs * levels.size**3 > _MOST_CELLS:
        return None
    code = code.reshape(rows.shape)
    hot = np.stack([code == i for i in range(levels.size)]).astype(np.float64)  # level, row, output
    pairs = (hot[:, None, :, None, :] * hot[None, :, None, :, :]) * top  # levels, then rows, of a and b
    masses = np.einsum("ijabk,lxk->abxijl", pairs, hot, optimize=True).reshape(d, d, d, -1)
    mantissa, exponent = np.frexp(masses.reshape(d**3, -1))  # alike means alike in every mass, however small
    keys = np.concatenate([np.round(mantissa * 2.0**41), exponent], axis=1)
    _, label = np.unique(keys, axis=0, return_inverse=True)
    label = label.reshape(d, d, d)
    seen: dict[tuple[int, ...], SwapPair] = {}
    common = float(rows.min(axis=0).sum()) * (1.0 - mass_slack(outputs))
    for a, b in zip(*np.nonzero(~np.eye(d, dtype=bool)), strict=True):
        kinds, first = np.unique(label[a, b], return_index=True)
        key = tuple(kinds.tolist())
        if key not in seen:
            types = tuple(_law(masses[a, b, x], levels) for x in first)
            seen[key] = SwapPair(types, common)
        if len(seen) > _MOST_LAWS:
            return None
    return Alike(list(seen.values()))


class Alike(SwapSet):
    """Laws that stand for others whose masses and levels agree to a relative 2^-40.

    t is a little smaller, and eps larger; an eps below 0 is a valid question too.
    """

    def __init__(self, members: Sequence[SwapPair]) -> None:
        thin = 1.0 - _SAME_LAW
        super().__init__([SwapPair(tuple(t.thinned(thin) for t in m.types), m.common_mass * thin) for m in members])

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The largest eps over the members, and the room."""
        found = super().epsilon(n=n, delta=delta, tol=tol, side=side)
        return found._replace(epsilon=found.epsilon + _SAME_LAW)

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """The largest log delta over the members, a little to the left."""
        return super().log_delta(eps - _SAME_LAW, n=n, tol=tol, side=side) + _SAME_LAW

    def members(self, most: int) -> None:
        """None: the members alone are short of that room."""
        return None

    def thinned(self, chance: float) -> SwapSet:
        """Every other user takes part with this probability, independently."""
        return Alike([member.thinned(chance) for member in self._members])


def _law(masses: FloatArray, levels: FloatArray) -> ShuffledPair:
    """The shuffled pair whose symbols are triples of levels."""
    u, v, t = (grid.reshape(-1) for grid in np.meshgrid(levels, levels, levels, indexing="ij"))
    kept = masses > 0.0
    return ShuffledPair(*(law[kept] * masses[kept] for law in (u, v, t)))
