"""Far nodes of the swap sums in blocks: one look at the transform shows that all nodes around it add next to nothing.

e^(-iym) M(c+iy) changes by at most E e^(cX) |X - m| per unit of y, for any m.  So within w of a place y its modulus is
at most

    R = |M(c+iy)| + w E e^(cX) |X - m|,

and, as A rises with the modulus, a block of k nodes adds at most k times A(R) times the weight of its nearest node.  For
y <= pi/range(X) the modulus is also at most M(c) exp(-(2/pi^2) V y^2) (contour.py, fact 3).  Only the nodes up to the
last block that is not negligible are summed; the bounds of all later ones are added to the sum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..pair import FloatArray
from . import swap_nodes
from .swap_lines import Line
from .waiting import ULP, Waiting

#: Blocks of a row at least, nodes that a block must have to pay, and the change of the modulus within it, over M(c).
_BLOCKS, _LEAST, _CHANGE = 32.0, 4.0, 0.4
#: All blocks together may add this part of the first node.
_NEGLIGIBLE = 1e-8
#: Rows x blocks x values looked at at once.
_CELLS = 400_000


class Tilted(NamedTuple):
    """Of every row: M(c), E e^(cX) |X - m| (rounded up), V (rounded down) and the range of X."""

    total: FloatArray
    change: FloatArray
    variance: FloatArray
    span: FloatArray

    def at(self, rows: np.ndarray) -> Tilted:
        """Some of the rows."""
        return Tilted(*(part[rows] for part in self))


def shortened(
    x: FloatArray, t: FloatArray, waiting: Waiting, line: Line, tilted: Tilted, nodes: np.ndarray, peak: FloatArray
) -> tuple[np.ndarray, FloatArray]:
    """How many of so many nodes are summed, and what bounds those left out, in units of e^peak = A(M(c))."""
    with np.errstate(all="ignore"):
        widest = np.floor(np.minimum(_CHANGE * tilted.total / (tilted.change * line.h), nodes / _BLOCKS))
        count, rest = nodes.copy(), np.zeros(nodes.size)
        pays = np.flatnonzero(widest >= _LEAST)
        many = np.ceil(nodes[pays] / widest[pays] + 0.5)
        step = max(1, int(_CELLS / (many.max(initial=1.0) * x.shape[1])))
        for start in range(0, pays.size, step):
            at = pays[start : start + step]
            last = int(many[start : start + step].max())
            some = waiting.at(np.repeat(at, last))
            found = _added(x[at], t[at], some, line.at(at), tilted.at(at), widest[at], last, peak[at])
            open_ = ~(found <= _NEGLIGIBLE / (last * line.c[at, None] ** 2))
            open_[:, 0] = True
            first = last - open_[:, ::-1].argmax(axis=1)  # the first block of those that are left out
            left_out = np.arange(last) >= first[:, None]
            count[at] = np.minimum(nodes[at], np.ceil((first - 0.5) * widest[at])).astype(np.int64)
            rest[at] = np.where(left_out, found, 0.0).sum(axis=1) * (1.0 + 1e-9)
    return count, rest


def _added(
    x: FloatArray,
    t: FloatArray,
    waiting: Waiting,
    line: Line,
    tilted: Tilted,
    width: FloatArray,
    count: int,
    peak: FloatArray,
) -> FloatArray:
    """What the blocks around the nodes 0, width, 2 width, ... add at most, those of both signs of y together."""
    place = np.arange(count)
    step = (line.h * width)[:, None]
    growth = swap_nodes.growth(x, t, line.c, step[:, 0], count)
    load = (t * np.maximum(np.exp(line.c[:, None] * x), 1.0) * np.abs(x)).sum(axis=1)[:, None]
    doubt = ULP * (1.0 + x.shape[1] / 16.0) * load * (line.c[:, None] + step * place)
    size = np.hypot(1.0 + growth.real, growth.imag) + doubt + 0.5 * step * tilted.change[:, None]
    log_sum = waiting.log_sum(np.log(size * (1.0 + 1e-14)).reshape(-1)).reshape(size.shape) - peak[:, None]
    near, far = step * (np.maximum(place, 0.5) - 0.5), step * (place + 0.5)
    copies = np.reshape(waiting.fewest, (-1, count) if np.ndim(waiting.fewest) else (1, 1))
    gauss = -(2.0 / np.pi**2) * tilted.variance[:, None] * copies * near**2
    cliff = np.pi / tilted.span[:, None] * (1.0 - 1e-12)
    log_sum = np.where(far <= cliff, np.fmin(log_sum, gauss), log_sum)
    s, c = line.s[:, None], line.c[:, None]
    return np.asarray(2.0 * (width[:, None] + 1.0) * np.exp(log_sum - 0.5 * (s * near) ** 2) / (c * c + near**2))
