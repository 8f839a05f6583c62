"""The sums of the swap bound where the nodes are few: all rows side by side in one vector, in few calls (swap.py)."""

from __future__ import annotations

import numpy as np

from ..pair import FloatArray
from .swap_lines import Line
from .swap_moduli import Moduli, from_growth, raised
from .waiting import SUMMING, ULP, Waiting

#: Rows whose first nodes differ by less than this, in units of log A, have their peak in the same place.
_ALIKE = 0.6


def sums(x: FloatArray, t: FloatArray, waiting: Waiting, line: Line, nodes: np.ndarray, peak: FloatArray) -> FloatArray:
    """The trapezoid sum of every row over |y| <= nodes h, in units of e^peak (and without e^{s^2 c^2/2} h/(2 pi)).

    The terms are those of a row by itself; ``nodes`` says how many it has.
    """
    counts = nodes + 1
    ends = np.cumsum(counts)
    starts = ends - counts
    row = np.repeat(np.arange(len(x)), counts)
    y = line.h[row] * (np.arange(row.size) - starts[row])
    at = _moduli(x, t, line.c, row, y)
    log_r = raised(at.log_modulus, at.modulus, at.doubt)
    # far below the first node one value stands for all, which is sound: A rises with r
    first = log_r[starts]
    least = first - 60.0 / waiting.fewest
    live = np.flatnonzero(log_r > least[row])
    size = waiting.log_sum(least)[row]
    alike = bool(np.all(np.ptp(first) <= _ALIKE / waiting.others))  # one peak for all rows
    size[live] = waiting.at(row[live]).log_sums(log_r[live], alike=alike)
    terms = np.exp(size - peak[row] - 0.5 * (line.s[row] * y) ** 2) / ((line.c * line.c)[row] + y * y)
    return np.asarray((2.0 * np.add.reduceat(terms, starts) - terms[starts]) * (1.0 + SUMMING))


def _moduli(x: FloatArray, t: FloatArray, c: FloatArray, row: np.ndarray, y: FloatArray) -> Moduli:
    """M(c + iy) of the law of its row at every y."""
    exponent = c[:, None] * x
    scale = t * np.exp(exponent)
    flat = (t * np.expm1(exponent)).sum(axis=1)
    load = np.maximum(scale, t)
    turn = x.T[:, row] * y
    own = scale.T[:, row]
    half = np.sin(0.5 * turn)
    growth = np.empty(y.size, dtype=np.complex128)
    growth.real = flat[row] - 2.0 * (own * half * half).sum(axis=0)
    growth.imag = (own * np.sin(turn)).sum(axis=0)
    still, moving = (load * np.abs(exponent)).sum(axis=1), (load * np.abs(x)).sum(axis=1)
    doubt = (ULP * (1.0 + x.shape[1] / 16.0)) * (still[row] + moving[row] * y)
    return from_growth(growth, doubt)
