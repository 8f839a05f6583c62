"""Cheap upper bounds on the swap sums of many types on one line, to decide which of them need an evaluation.

With X' an independent copy of X under the tilted law, |M(c+iy)/M(c)|^2 = E cos(y(X - X')), so with V its variance and
m4 = E(X - X')^4

    |M(c+iy)/M(c)| <= exp(-(V y^2 - m4 y^4/24)/2) for all y, and <= exp(-(2/pi^2) V y^2) for y <= pi/range(X).

Beyond that the dither bounds the nodes; or the modulus is evaluated once for a block of them, as it changes by at most
sqrt(V) M(c) per unit of y.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..pair import FloatArray
from .swap import ULP, Line, Waiting

#: Nodes that are bounded one by one.
_NODES = 40
#: How much the modulus may change within a block of later nodes; how many blocks there are at most.
_CHANGE, _BLOCKS = 0.1, 512
#: Blocks pay from so many nodes each on.
_PAYS = 16.0
#: Narrow blocks become one node wider after this many.
_NARROW = 16
#: What is beyond this many deviations of the dither is left to it.
_REACH = 6.0
#: Rows x blocks x values evaluated at once.
_CELLS = 200_000


class Screen(NamedTuple):
    """What the bounds need of every row: tilted masses, the largest modulus, and two moments."""

    x: FloatArray
    weight: FloatArray
    nothing: FloatArray
    log_m: FloatArray
    variance: FloatArray
    fourth: FloatArray
    cliff: FloatArray

    @classmethod
    def of(cls, x: FloatArray, t: FloatArray, c: FloatArray) -> Screen:
        """The laws in the rows of x and t, each tilted by its c."""
        exponent = c[:, None] * x
        growth = (t * np.expm1(exponent)).sum(axis=1)
        doubt = ULP * (t * np.abs(exponent) * np.exp(np.maximum(exponent, 0.0))).sum(axis=1)
        log_m = np.where(growth > -0.5, np.log1p(growth) + 2.0 * doubt, np.nan)
        weight = t * np.exp(exponent)
        nothing = np.maximum(1.0 - t.sum(axis=1), 0.0)
        total = weight.sum(axis=1) + nothing
        weight, nothing = weight / total[:, None], nothing / total
        mean = (weight * x).sum(axis=1)
        square = (x - mean[:, None]) ** 2
        variance = ((weight * square).sum(axis=1) + nothing * mean**2) * (1.0 - 1e-9)
        fourth = 2.0 * ((weight * square**2).sum(axis=1) + nothing * mean**4) + 6.0 * variance**2
        high = np.where(t > 0.0, x, -np.inf).max(axis=1)
        low = np.where(t > 0.0, x, np.inf).min(axis=1)
        span = np.maximum(high, 0.0) - np.minimum(low, 0.0)  # as if "nothing" were always possible
        return cls(x, weight, nothing, log_m, variance, fourth * (1.0 + 1e-8), np.pi / span * (1.0 - 1e-12))


@np.errstate(all="ignore")  # overflow gives inf or NaN, which excludes nothing
def above(
    x: FloatArray, t: FloatArray, waiting: Waiting, line: Line, most: FloatArray, *, quick: bool = False
) -> np.ndarray:
    """The rows whose log U may exceed ``most``: four bounds (two if quick), each on what the one before has left."""
    left = np.arange(len(x))
    if not left.size:
        return left
    for bound in (_flat, _near) if quick else (_flat, _near, _blocks, _fine_blocks):
        rows = line.at(left)
        screen = Screen.of(x[left], t[left], rows.c)
        if bound in (_blocks, _fine_blocks) and float(np.median(_block(screen, rows))) < _PAYS:
            break  # so many blocks cost more than all nodes of the sum (swap_nodes.py)
        value = bound(screen, waiting, rows)
        left = left[~(value <= most[left] - 1e-9)]
        if not left.size:
            break
    return left


def _flat(rows: Screen, waiting: Waiting, line: Line) -> FloatArray:
    """log U by |M(c+iy)| <= M(c) at every node: the node 0, and an integral for the others."""
    return _value(line.h / (2.0 * np.pi * line.c**2) + 0.5 / line.c, rows, waiting, line)


def _near(rows: Screen, waiting: Waiting, line: Line) -> FloatArray:
    """log U where the nodes beyond the cliff are bounded by the dither."""
    return _value(_sum(rows, waiting, line, _dithered(line, rows.cliff)), rows, waiting, line)


def _blocks(rows: Screen, waiting: Waiting, line: Line) -> FloatArray:
    """log U where the nodes beyond the cliff are bounded in wide blocks."""
    return _value(_sum(rows, waiting, line, _beyond(rows, waiting, line, fine=False)), rows, waiting, line)


def _fine_blocks(rows: Screen, waiting: Waiting, line: Line) -> FloatArray:
    """The same with blocks that are narrow near the cliff, where the modulus is still close to M(c)."""
    return _value(_sum(rows, waiting, line, _beyond(rows, waiting, line, fine=True)), rows, waiting, line)


def _value(nodes: FloatArray, rows: Screen, waiting: Waiting, line: Line) -> FloatArray:
    """log U if the sum over the nodes is at most ``nodes``, in units of A(M(c)) e^{s^2 c^2/2}."""
    return np.asarray(waiting.log_sum(rows.log_m) + np.log(nodes) + 0.5 * (line.s * line.c) ** 2)


def _sum(rows: Screen, waiting: Waiting, line: Line, beyond: FloatArray) -> FloatArray:
    """(h/2 pi) times the sum over all nodes, given those beyond the cliff; A(M r) <= A(M) r^fewest for r <= 1."""
    c, h, s = line.c, line.h, line.s
    copies = waiting.fewest
    y = h[:, None] * np.arange(_NODES + 1)
    gauss = rows.variance[:, None] * y**2
    rate = np.maximum(0.5 * (gauss - rows.fourth[:, None] * y**4 / 24.0), (2.0 / np.pi**2) * gauss)
    node = np.exp(-copies * rate - 0.5 * (s[:, None] * y) ** 2) / (c[:, None] ** 2 + y**2)
    node[:, 1:] *= 2.0
    near = np.where(y <= rows.cliff[:, None], node, 0.0).sum(axis=1)
    # from the last of these nodes to the cliff: a Gaussian tail
    few = y[:, -1]
    slope = (2.0 / np.pi**2) * rows.variance * copies
    middle = np.exp(-slope * few**2) / ((c**2 + few**2) * slope * few * h)
    return np.asarray(h / (2.0 * np.pi) * (near + np.where(few < rows.cliff, middle, 0.0) + beyond))


def _dithered(line: Line, start: FloatArray) -> FloatArray:
    """Both sides' nodes beyond ``start`` by the dither alone: falling terms are at most the first and an integral."""
    c, h, s = line.c, line.h, line.s
    spread = np.minimum(1.0 / (s * s * start), np.arctan2(c, start) / c * (c * c + start**2))
    return np.asarray(2.0 * np.exp(-0.5 * (s * start) ** 2) / (c**2 + start**2) * (1.0 + spread / h))


def _block(rows: Screen, line: Line) -> FloatArray:
    """Nodes of a block."""
    deviation = np.sqrt(rows.variance) * (1.0 + 1e-8)
    return np.asarray(np.maximum(np.floor(2.0 * _CHANGE / (deviation * line.h)), 1.0))


def _beyond(rows: Screen, waiting: Waiting, line: Line, *, fine: bool) -> FloatArray:
    """Both sides' nodes beyond the cliff, in blocks for which |M| is evaluated in the middle."""
    c, h, s = line.c, line.h, line.s
    deviation, most = np.sqrt(rows.variance) * (1.0 + 1e-8), _block(rows, line)[:, None]
    sizes = np.minimum(most, 1.0 + np.arange(_BLOCKS) // _NARROW) if fine else np.repeat(most, _BLOCKS, axis=1)
    ends = rows.cliff[:, None] + h[:, None] * np.cumsum(sizes, axis=1)
    count = min(int((ends < _REACH / s[:, None]).sum(axis=1).max()) + 1, _BLOCKS)
    found = _dithered(line, ends[:, count - 1])
    step = max(1, int(_CELLS / (count * rows.x.shape[1])))
    for first in range(0, len(rows.x), step):
        part = slice(first, first + step)
        nodes = sizes[part, :count]
        length = h[part, None] * nodes
        left = ends[part, :count] - length
        turn = (left + 0.5 * length)[:, :, None] * rows.x[part, None, :]
        real = (rows.weight[part, None, :] * np.cos(turn)).sum(axis=2) + rows.nothing[part, None]
        imag = (rows.weight[part, None, :] * np.sin(turn)).sum(axis=2)
        size = np.hypot(real, imag) + 0.5 * deviation[part, None] * length + 1e-9
        drop = waiting.fewest * np.log(np.minimum(size, 1.0)) - 0.5 * (s[part, None] * left) ** 2
        found[part] += 2.0 * (nodes * np.exp(drop) / (c[part, None] ** 2 + left**2)).sum(axis=1)
    return np.asarray(found)
