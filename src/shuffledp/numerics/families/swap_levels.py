"""The swap bound of a matrix whose columns have few levels: its distinct laws, of which there are few."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..evaluators.choose import Side, mass_slack
from ..pair import FloatArray, ShuffledPair
from .alike import SAME_LAW, groups, representatives
from .base import Answer
from .swap import SwapPair, SwapSet

#: Levels up to which equal laws are found, joint masses and the products they take, and laws.
_FEW_LEVELS, _MOST_MASSES, _MOST_CELLS, _MOST_LAWS = 3, 1e7, 1e9, 64


def distinct(rows: FloatArray) -> SwapSet | None:
    """The distinct pairs of a matrix whose columns have few levels; None elsewhere."""
    d, outputs = rows.shape
    top = rows.max(axis=0)
    levels, code = groups(rows / top)
    if levels.size > _FEW_LEVELS:
        return None
    pairs = representatives(rows)
    cells = float(pairs.size) * d * levels.size**3
    if cells > _MOST_MASSES or cells * outputs > _MOST_CELLS:
        return None
    hot = np.stack([code == i for i in range(levels.size)]).astype(np.float64)  # level, row, output
    first, second = np.divmod(pairs, d)
    both = hot[:, None, first] * hot[None, :, second] * top  # level of a, level of b, pair, output
    masses = np.tensordot(both, hot, axes=(3, 2))  # level of a, of b, pair, level of x, x
    masses = masses.transpose(2, 4, 0, 1, 3).reshape(pairs.size * d, -1)
    label = _numbered(masses, top).reshape(pairs.size, d)  # alike means alike in every mass, however small
    masses = masses.reshape(pairs.size, d, -1)
    seen: dict[bytes, SwapPair] = {}
    common = float(rows.min(axis=0).sum()) * (1.0 - mass_slack(outputs)) * (1.0 - SAME_LAW)
    order = np.sort(label, axis=1)
    for i in range(pairs.size):
        kinds = order[i]
        key = kinds[np.append(True, kinds[1:] != kinds[:-1])].tobytes()
        if key not in seen:
            _, first_place = np.unique(label[i], return_index=True)
            seen[key] = SwapPair(tuple(_law(masses[i, x], levels) for x in first_place), common)
            if len(seen) > _MOST_LAWS:
                return None
    return Alike(list(seen.values()))


def _numbered(masses: FloatArray, top: FloatArray) -> NDArray[np.int64]:
    """A number for every row of masses: rows that are alike have the same one."""
    weights, _ = groups(top)
    if weights.size == 1:  # sums of equal weights are multiples of one
        code = np.rint(masses / weights[0]).astype(np.int64)
        base = float(code.max(initial=0)) + 1.0
        if base ** code.shape[1] < 2.0**62:
            packed = code @ (int(base) ** np.arange(code.shape[1], dtype=np.int64))
            return np.asarray(np.unique(packed, return_inverse=True)[1].reshape(-1))
    else:
        code = groups(masses)[1]
    return np.asarray(np.unique(code, axis=0, return_inverse=True)[1].reshape(-1))


class Alike(SwapSet):
    """Laws that stand for others that are alike (alike.py): their t is a little smaller, and eps is larger.

    An eps below 0 is a valid question too.
    """

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The largest eps over the members, and the room."""
        found = super().epsilon(n=n, delta=delta, tol=tol, side=side)
        return found._replace(epsilon=found.epsilon + SAME_LAW)

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """The largest log delta over the members, a little to the left."""
        return super().log_delta(eps - SAME_LAW, n=n, tol=tol, side=side) + SAME_LAW

    def members(self, most: int) -> None:
        """None: the members alone are short of that room."""
        return None

    def thinned(self, chance: float) -> SwapSet:
        """Every other user takes part with this probability, independently."""
        return Alike([member.thinned(chance) for member in self._members])


def _law(masses: FloatArray, levels: FloatArray) -> ShuffledPair:
    """The shuffled pair whose symbols are triples of levels, with the room that its t needs."""
    u, v, t = (grid.reshape(-1) for grid in np.meshgrid(levels, levels, levels, indexing="ij"))
    kept = masses > 0.0
    return ShuffledPair(*(law[kept] * masses[kept] for law in (u, v, t * (1.0 - SAME_LAW))))
