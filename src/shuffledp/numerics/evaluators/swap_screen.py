"""Cheap upper bounds on the swap sums of many types on one line, to decide which of them need an evaluation.

With X' an independent copy of X under the tilted law, |M(c+iy)/M(c)|^2 = E cos(y(X - X')), so with V its variance and
m4 = E(X - X')^4

    |M(c+iy)/M(c)| <= exp(-(V y^2 - m4 y^4/24)/2) for all y, and <= exp(-(2/pi^2) V y^2) for y <= pi/range(X).

Beyond that the dither bounds the nodes; or the modulus is evaluated at the first nodes, and from there on once for a
block of them, as it changes by at most sqrt(V) M(c) per unit of y.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..pair import FloatArray
from . import swap_nodes
from .swap import ULP, Line, Waiting, log_sums

#: Nodes that are bounded one by one.
_NODES = 40
#: What is beyond this many deviations of the dither is left to it.
_REACH = 6.0
#: Nodes whose modulus is evaluated one by one, blocks of one size beyond them, and how many sizes there are.
_FIRST, _BLOCKS, _LEVELS = 48, 96, 6
#: How much the modulus may change within a block; from how many tilted deviations on; how blocks grow before.
_CHANGE, _FAR, _GROWTH = 0.15, 1.2, 4.0
#: Rows x values evaluated at once.
_CELLS = 25_000


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
    """The rows whose log U may exceed ``most``: by two cheap bounds if quick, else by samples of the modulus."""
    left = np.arange(len(x))
    for bound in (_flat, _near) if quick else (_sampled,):
        if not left.size:
            break
        rows = line.at(left)
        value = bound(Screen.of(x[left], t[left], rows.c), waiting.at(left), rows)
        left = left[~(value <= most[left] - 1e-9)]
    return left


def _flat(rows: Screen, waiting: Waiting, line: Line) -> FloatArray:
    """log U by |M(c+iy)| <= M(c) at every node: the node 0, and an integral for the others."""
    return _value(line.h / (2.0 * np.pi * line.c**2) + 0.5 / line.c, rows, waiting, line)


def _near(rows: Screen, waiting: Waiting, line: Line) -> FloatArray:
    """log U where the nodes beyond the cliff are bounded by the dither."""
    return _value(_sum(rows, waiting, line, _dithered(line, rows.cliff)), rows, waiting, line)


def _sampled(rows: Screen, waiting: Waiting, line: Line) -> FloatArray:
    """log U by the modulus at the first nodes and, from there on, in the middle of blocks of nodes."""
    total = np.empty(len(rows.x))
    step = max(1, int(_CELLS / rows.x.shape[1]))
    for first in range(0, len(rows.x), step):
        part = slice(first, first + step)
        some = np.arange(len(total))[part]
        total[part] = _samples(Screen(*(field[part] for field in rows)), waiting.at(some), line.at(some))
    return _value(line.h / (2.0 * np.pi) * total, rows, waiting, line)


def _samples(rows: Screen, waiting: Waiting, line: Line) -> FloatArray:
    """The sum over all nodes, by samples of the modulus: at the first ones, then in wider and wider blocks."""
    c, h, s = line.c, line.h, line.s
    y = h[:, None] * np.arange(_FIRST + 1)
    log_r = rows.log_m[:, None] + np.minimum(_log_ratio(rows, h, _FIRST), 0.0)
    nodes = np.exp(log_sums(waiting, log_r) - waiting.log_sum(rows.log_m)[:, None] - 0.5 * (s[:, None] * y) ** 2)
    nodes /= c[:, None] ** 2 + y**2
    total = nodes[:, 0] + 2.0 * nodes[:, 1:].sum(axis=1)
    deviation = np.sqrt(rows.variance) * (1.0 + 1e-8)
    end = h * (_FIRST + 0.5)
    size = 1.0
    for _ in range(_LEVELS):
        if bool(np.all(s * end >= _REACH)):
            break
        size = _next_size(size, float(np.median(deviation * h)))
        wide = size * h  # the block around k wide has its nodes within wide/2
        count = int(min(np.max(np.ceil(_REACH / (s * wide))), _BLOCKS))
        middle = wide[:, None] * np.arange(count + 1)
        left = np.maximum(middle - 0.5 * wide[:, None], end[:, None])
        right = middle + 0.5 * wide[:, None]
        log_r = np.minimum(_log_ratio(rows, wide, count, 0.5 * deviation * wide), 0.0)
        slow = -(2.0 / np.pi**2) * rows.variance[:, None] * left**2
        log_r = np.where(right <= rows.cliff[:, None], np.minimum(log_r, slow), log_r)
        blocks = size * np.exp(waiting.fewest * log_r - 0.5 * (s[:, None] * left) ** 2) / (c[:, None] ** 2 + left**2)
        total += 2.0 * np.where(right > end[:, None], blocks, 0.0).sum(axis=1)
        end = right[:, -1]
    return np.asarray(total + _dithered(line, end)) * (1.0 + 1e-9)


def _next_size(size: float, per_node: float) -> float:
    """Nodes of the next blocks, given those of the last ones and sqrt(V) h: the modulus may change by _CHANGE at most.

    Where it is still close to M(c) that is too much, and blocks grow slowly.
    """
    most = max(math.floor(2.0 * _CHANGE / per_node), 1.0) if per_node > 0.0 else 1.0
    far = _FIRST * size * per_node > _FAR  # what the last blocks reached, at least
    return most if far else max(min(_GROWTH * size, most), 1.0)


def _log_ratio(rows: Screen, step: FloatArray, count: int, more: FloatArray | float = 0.0) -> FloatArray:
    """log(|M(c+iy)|/M(c) + more) at y = 0, step, ..., count step, rounded up."""
    idle = np.zeros(len(rows.x))
    grown = swap_nodes.growth(rows.x, rows.weight, idle, step, count + 1)  # tilted masses and "nothing" sum to 1
    far = ULP * count * rows.x.shape[1] * (rows.weight * np.abs(rows.x)).sum(axis=1) * step
    size = np.hypot(1.0 + grown.real, grown.imag) + (far + 1e-14 + more)[:, None]
    return np.asarray(np.log(size))


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
