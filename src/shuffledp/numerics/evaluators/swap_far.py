"""Far nodes of the swap sums in blocks: one look at the transform shows that all nodes around it add next to nothing.

e^(-iym) M(c+iy) changes by at most E e^(cX) |X - m| per unit of y, for any m.  So within w of a place y its modulus is
at most

    R = |M(c+iy)| + w E e^(cX) |X - m|,

and, as A rises with the modulus, a block of k nodes adds at most k times A(R) times the weight of its nearest node.
For y <= pi/range(X) the modulus is also at most M(c) exp(-(2/pi^2) V y^2) (contour.py, fact 3).  The nodes up to the
first block that is negligible are summed as usual, and those of later ones that are not (resonances of few values)
here; the bounds of all others are added to the sum.
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
#: Blocks after the first negligible one are summed alone if at most this share of them is not negligible.
_WORTH = 0.7
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
    x: FloatArray,
    t: FloatArray,
    waiting: Waiting,
    line: Line,
    tilted: Tilted,
    nodes: np.ndarray,
    peak: FloatArray,
    *,
    moduli: bool,
) -> tuple[np.ndarray, FloatArray]:
    """How many of so many nodes are summed, and what bounds those left out, in units of e^peak = A(M(c)).

    If the sum is one of ``moduli``, blocks further away that are not negligible are summed here, node by node.
    """
    count, rest = nodes.copy(), np.zeros(nodes.size)
    with np.errstate(all="ignore"):
        widest = np.floor(np.minimum(_CHANGE * tilted.total / (tilted.change * line.h), nodes / _BLOCKS))
        pays = np.flatnonzero(widest >= _LEAST)
        many = np.ceil(nodes[pays] / widest[pays] + 0.5)
        step = max(1, int(_CELLS / (many.max(initial=1.0) * x.shape[1])))
        for start in range(0, pays.size, step):
            at = pays[start : start + step]
            last = int(many[start : start + step].max())
            mine, width = line.at(at), widest[at]
            nothing = _NEGLIGIBLE / (last * mine.c[:, None] ** 2)
            found = _added(x[at], t[at], waiting, at, mine, tilted.at(at), width, last, peak[at], nothing)
            open_ = ~(found <= nothing)
            open_[:, 0] = True
            inside = (np.arange(last) - 0.5) * width[:, None] <= nodes[at, None]  # later nodes are bounded elsewhere
            open_ &= inside
            first = last - open_[:, ::-1].argmax(axis=1)  # the first of the blocks after the last open one
            if moduli:  # the first that is not open, where few of the later ones are
                near = np.where(open_.all(axis=1), last, (~open_).argmax(axis=1))
                few = (open_.sum(axis=1) - near) < _WORTH * (first - near)
                first = np.where(few, near, first)
            later = np.arange(last) >= first[:, None]
            count[at] = np.minimum(nodes[at], np.ceil((first - 0.5) * width)).astype(np.int64)
            rest[at] = np.where(later & inside & ~open_, found, 0.0).sum(axis=1)
            row, block = np.nonzero(later & open_)
            if row.size:
                pick = at[row]
                sums = _summed(
                    x[pick], t[pick], waiting, pick, line.at(pick), tilted.total[pick], width[row], block, peak[pick]
                )
                rest[at] += np.bincount(row, weights=sums, minlength=at.size)
    return count, rest * (1.0 + 1e-9)


def _summed(
    x: FloatArray,
    t: FloatArray,
    waiting: Waiting,
    owner: np.ndarray,
    line: Line,
    total: FloatArray,
    width: FloatArray,
    block: np.ndarray,
    peak: FloatArray,
) -> FloatArray:
    """The sum of A(|M|) with its weights over the nodes of one block per row, those of both signs of y together."""
    c, h, s = line.c[:, None], line.h[:, None], line.s[:, None]
    first, end = np.ceil((block - 0.5) * width), np.ceil((block + 0.5) * width)
    nodes = int((end - first).max())
    number = first[:, None] + np.arange(nodes)
    y = h * number
    growth = swap_nodes.growth(x, t, line.c, line.h, nodes, y[:, 0])
    load = (t * np.maximum(np.exp(c * x), 1.0) * np.abs(x)).sum(axis=1)[:, None]
    log_r = np.log(np.hypot(1.0 + growth.real, growth.imag) * (1.0 + ULP) + _doubt(x.shape[1]) * load * (c + y))
    # far below the peak one value stands for all, which is sound: A rises with r
    least = np.log(total) - 60.0 / waiting.at(owner).fewest
    live = (log_r > least[:, None]) & (number < end[:, None])
    out = np.broadcast_to(waiting.at(owner).log_sum(least)[:, None], y.shape).copy()
    out[live] = waiting.at(owner[np.nonzero(live)[0]]).log_sums(log_r[live])
    terms = np.exp(out - peak[:, None] - 0.5 * (s * y) ** 2) / (c * c + y * y)
    return np.asarray(2.0 * np.where(number < end[:, None], terms, 0.0).sum(axis=1))


def _doubt(values: int) -> float:
    """What one product of matrices may be wrong by, for each unit of its terms (swap_nodes.py)."""
    return ULP * (1.0 + values / 16.0)


def _added(
    x: FloatArray,
    t: FloatArray,
    waiting: Waiting,
    owner: np.ndarray,
    line: Line,
    tilted: Tilted,
    width: FloatArray,
    count: int,
    peak: FloatArray,
    nothing: FloatArray,
) -> FloatArray:
    """What the blocks around the nodes 0, width, 2 width, ... add at most, those of both signs of y together.

    Where that is at most ``nothing``, it is by a cheap bound: A(r M(c)) <= A(M(c)) r^fewest for r <= 1.
    """
    place = np.arange(count)
    step = (line.h * width)[:, None]
    growth = swap_nodes.growth(x, t, line.c, step[:, 0], count)
    load = (t * np.maximum(np.exp(line.c[:, None] * x), 1.0) * np.abs(x)).sum(axis=1)[:, None]
    doubt = _doubt(x.shape[1]) * load * (line.c[:, None] + step * place)
    size = np.hypot(1.0 + growth.real, growth.imag) + doubt + 0.5 * step * tilted.change[:, None]
    near, far = step * (np.maximum(place, 0.5) - 0.5), step * (place + 0.5)
    copies = np.reshape(waiting.at(owner).fewest, (-1, 1))
    ratio = np.log(size / tilted.total[:, None]) + 1e-12
    log_sum = np.where(ratio <= 0.0, copies * ratio, np.inf)
    gauss = -(2.0 / np.pi**2) * tilted.variance[:, None] * copies * near**2
    cliff = np.pi / tilted.span[:, None] * (1.0 - 1e-12)
    log_sum = np.where(far <= cliff, np.fmin(log_sum, gauss), log_sum)
    s, c = line.s[:, None], line.c[:, None]
    log_weight = np.log(2.0 * (width[:, None] + 1.0) / (c * c + near**2)) - 0.5 * (s * near) ** 2
    row, block = np.nonzero(~(log_sum + log_weight <= np.log(nothing)))
    sharp = waiting.at(owner[row]).log_sums(np.log(size[row, block] * (1.0 + 1e-14))) - peak[row]
    log_sum[row, block] = np.fmin(log_sum[row, block], sharp)
    return np.asarray(np.exp(log_sum + log_weight) * (1.0 + 1e-12))
