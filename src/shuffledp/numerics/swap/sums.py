"""The sum of Theorem 2 (docs/swap.md) on a line, for rows of types.

    delta(E) <= max_x (U(x) + exposed(x)) + Pr[nobody is free] local(E),
    U(x) = (h/2 pi) sum_{y in hZ} e^(s^2 (c^2 - y^2)/2) / (c^2 + y^2) A(|M_x(c+iy)|),   M_x(z) = E exp(z X).

Every (c, h, s) is sound if it is the same for all types: dither raises E(S)_+, the trapezoid sum exceeds the integral
by positive aliases, and moduli are at least real parts.  All terms are positive, so a node, a block of nodes or a whole
type may be replaced by any upper value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import tuning
from ..ledger import charge
from ..line import Nodes, Tilt, block_bounds, blocks, in_parts, whole_blocks
from ..pair import FloatArray
from ..rows import ULP, chunks, take_rows
from ..screen import erfcx_above
from .waiting import Waiting


class Line(NamedTuple):
    """Where the sum is taken, by row: abscissa, step and dither."""

    c: FloatArray
    h: FloatArray
    s: FloatArray

    @classmethod
    def at(cls, c: FloatArray, deviation: FloatArray, dither: FloatArray) -> Line:
        """A line with its step for this abscissa; the unit of ``dither`` is the deviation of the tilted sum."""
        step = np.minimum(tuning.SWAP_STEP / deviation, tuning.SWAP_NARROW * c)
        return cls(c, step, dither * deviation)


class Swapped(NamedTuple):
    """Types as rows: the law of X, tilted on the line, and the waiting times."""

    x: FloatArray
    at: Tilt
    waiting: Waiting
    line: Line

    @property
    def peak(self) -> FloatArray:
        """log A(M(c)), rounded up."""
        return self.waiting.log_sum(np.arange(len(self.x)), log_top(self.at))


@charge("rounding of M(c)", "docs/proofs.md, Lemma 9")
def log_top(at: Tilt) -> FloatArray:
    """log M(c), rounded up: the exponents carry c sum t |x| max(1, e^(cx)) / M(c) roundings."""
    return np.asarray(at.log_m + 2.0 * ULP * at.c * at.load + ULP * np.abs(at.log_m))


@np.errstate(all="ignore")
def log_upper(types: Swapped) -> FloatArray:
    """log U of every row; inf where the arithmetic fails."""
    line, top, peak = types.line, log_top(types.at), types.peak
    last = whole_blocks(node_count(types))
    total = np.empty(top.size)
    for part in chunks(2.0 * ((last + 1.0) / tuning.BLOCK + tuning.BLOCK) * types.x.shape[1]):
        total[part] = _sum(take_rows(types, part), last[part], top[part], peak[part])
    return weighed(total, peak, line)


@charge("rounding of the terms of the swap sum", "docs/proofs.md, Lemma 9")
def weighed(total: FloatArray, peak: FloatArray, line: Line) -> FloatArray:
    """log of (h/2 pi) e^(s^2 c^2/2) e^peak total, raised by 1e-11 for a few thousand roundings; inf if not a number.

    Given |M|, terms are right to a few units in the last place.  |M| itself was rounded up before, with all errors that
    grow with n.
    """
    value = np.log(total) + peak + np.log(line.h / (2.0 * np.pi)) + 0.5 * (line.s * line.c) ** 2 + 1e-11
    return np.where(np.isnan(value), np.inf, value)


def node_count(types: Swapped) -> FloatArray:
    """Nodes of every row: to the end of the Gaussian tail of M if dither covers all beyond pi/range, else of dither."""
    at, line = types.at, types.line
    cliff = np.pi / at.width
    early = np.sqrt(tuning.SWAP_CUT / ((2.0 / np.pi**2) * at.variance * types.waiting.fewest))
    quick = (early <= cliff) & (0.5 * (line.s * cliff) ** 2 >= tuning.SWAP_CUT)
    most = dithered_count(line)
    return np.where(quick, np.fmin(early / line.h, most), most)


def dithered_count(line: Line) -> FloatArray:
    """Nodes of every row up to where the dither ends the sum, at most SWAP_NODES; the weights fall as 1/y^2."""
    c, h, s = line
    reach = np.sqrt(2.0 * np.maximum(tuning.SWAP_CUT - 8.0 + np.log(s * c * c / h), 2.0)) / s
    count = np.minimum(reach / h, tuning.SWAP_NODES)
    return np.where(count >= 0.0, count, 0.0)


def _sum(types: Swapped, last: FloatArray, top: FloatArray, peak: FloatArray) -> FloatArray:
    """The sum over all nodes, in units of e^peak: large blocks node by node, the others by upper values."""
    x, at, waiting, (c, h, s) = types
    row, number = blocks(last)
    total = nodes_beyond(types, (last + 1.0) * h)
    if row.size > 2 * len(x):
        start, bound = block_bounds(x, at, h, row, number)
        size = waiting.log_sums(row, np.log(bound) + top[row], top) - peak[row] - 0.5 * (s[row] * start) ** 2
        block = 2.0 * tuning.BLOCK * np.exp(size) / (c[row] ** 2 + start**2)
        live = ~(block <= (np.exp(-tuning.SWAP_CUT) * tuning.BLOCK / (c * c * last))[row]) | (number == 0)
        total = total + np.bincount(row[~live], block[~live], len(x))
        row, number = row[live], number[live]
    for node in in_parts(x, at, h, row, number):
        r = np.broadcast_to(node.row[:, None], node.y.shape)
        value = np.exp(waiting.log_sums(r, log_modulus(node, top), top) - peak[r])
        value *= 2.0 * np.exp(-0.5 * (s[r] * node.y) ** 2) / (c[r] ** 2 + node.y**2)
        value[node.y == 0.0] *= 0.5
        total = total + np.bincount(node.row, value.sum(axis=1), len(x))
    return np.asarray(total)


@charge("rounding of |M| at a node", "docs/proofs.md, Lemma 9")
def log_modulus(node: Nodes, top: FloatArray) -> FloatArray:
    """log |M(c+iy)|, rounded up by twice the bound on its error, and never above log M(c)."""
    return np.asarray(np.minimum(node.log_size + 2.0 * node.doubt, 0.0) + top[node.row, None])


@charge("nodes beyond the last one", "docs/proofs.md, Lemma 8")
def nodes_beyond(types: Swapped, end: FloatArray) -> FloatArray:
    """An upper value of what all nodes from ``end`` on add, on both sides, in units of A(M(c)).

    |M(c+iy)| <= M(c), so terms are below e^(-s^2 y^2/2)/(c^2+y^2).  Up to the cliff pi/range(X) also A(M r) <=
    A(M) r^fewest with r <= exp(-(2/pi^2) Var y^2) (line.block_bounds).  A sum of falling terms is at most the first one
    and an integral.
    """
    c, h = types.line.c, types.line.h
    cliff = np.pi / types.at.width * (1.0 - 1e-12)
    rate = (2.0 / np.pi**2) * types.at.variance * types.waiting.fewest
    near = 2.0 * np.exp(-rate * end * end) / (c * c + end * end) * (1.0 + 1.0 / (2.0 * rate * end * h))
    alone = dithered_nodes(types.line, end)
    both = np.where(end < cliff, near, 0.0) + dithered_nodes(types.line, np.maximum(end, cliff))
    return np.asarray(np.fmin(alone, both) * (1.0 + 1e-9))


def dithered_nodes(line: Line, end: FloatArray) -> FloatArray:
    """An upper value of what all nodes from ``end`` on add, if |M(c+iy)| is only known to be at most M(c)."""
    c, h, s = line
    first = np.exp(-0.5 * (s * end) ** 2) / (c * c + end * end)
    spread = np.fmin(1.0 / (s * s * end), np.arctan2(c, end) / c * (c * c + end * end))
    return np.asarray(2.0 * first * (1.0 + spread / h))


@charge("types that are bounded, not evaluated", "docs/proofs.md, Lemma 12")
@np.errstate(all="ignore")
def log_screen(types: Swapped) -> FloatArray:
    """An upper value of log U from M(c), two tilted moments and the range alone.

    |M(c+iy)/M(c)|^2 = E cos(y(X - X')) under the tilted law, and cos a <= 1 - a^2/2 + a^4/24, so it is at most
    exp(-V y^2 (1 - K y^2/(24 V))), K = E(X - X')^4 = 2 E(X - EX)^4 + 6 V^2; for |y| <= pi/range also at most
    exp(-(4/pi^2) V y^2); beyond, the dither bounds the terms.  Alternatively |M(c+iy)| <= M(c) everywhere: the node 0,
    and an integral for the others.
    """
    at, (c, h, s) = types.at, types.line
    copies = types.waiting.fewest
    cliff = np.pi / at.width * (1.0 - 1e-12)
    close = np.minimum(8.0 / np.sqrt(at.variance * copies), cliff)
    mean, alone = (at.weight * types.x).sum(axis=1), np.maximum(1.0 - at.weight.sum(axis=1), 0.0)
    off = types.x - mean[:, None]
    square = off * off
    fourth = (at.weight * square * square).sum(axis=1) + alone * mean**4
    flat = 1.0 - close**2 * (fourth / at.variance + 3.0 * at.variance) / 12.0 * (1.0 + 1e-8)
    near = _gaussian_sum(0.5 * at.variance * copies * np.maximum(flat, 4.0 / np.pi**2) + 0.5 * s * s, c, h) / h
    slow = (2.0 / np.pi**2) * at.variance * copies
    middle = 2.0 * np.exp(-slow * close**2) * (1.0 / (c * c + close**2) + np.arctan2(c, close) / (c * h))
    far = _beyond_cliff(types, cliff, off, square)
    crude = 1.0 / (c * c) + np.pi / (c * h)
    return weighed(np.fmin(near + middle + far, crude) * (1.0 + 1e-9), types.peak, types.line)


def _beyond_cliff(types: Swapped, cliff: FloatArray, off: FloatArray, square: FloatArray) -> FloatArray:
    """What the nodes beyond pi/range add, at most; ``off`` is X less its mean, and ``square`` the square of that.

    Given that X is within w of its mean, of chance q and with variance V, |E e^(iyX)| <= exp(-(2/pi^2) V y^2) for
    |y| <= pi/(2 w), so that |M(c+iy)/M(c)| <= 1 - q (1 - exp(-(2/pi^2) V y^2)) there.  Each w bounds the nodes up to
    three times as far out as the one before, by the value at the nearest of them.
    """
    total, start = np.zeros(cliff.size), cliff
    for _ in range(tuning.SWAP_WINDOWS):
        end = 3.0 * start
        weight = np.where(square <= ((0.5 * np.pi / end) ** 2)[:, None], types.at.weight, 0.0)
        q = weight.sum(axis=1) * (1.0 - 1e-9)
        spread = np.einsum("ij,ij->i", weight, square) * (1.0 - 1e-6) - np.einsum("ij,ij->i", weight, off) ** 2 / q
        fall = np.log1p(q * np.expm1(-(2.0 / np.pi**2) * np.maximum(spread / q, 0.0) * start**2))
        fall = np.where(fall < 0.0, fall, 0.0) * types.waiting.fewest
        total, start = total + np.exp(fall) * dithered_nodes(types.line, start), end
    return np.asarray(total + dithered_nodes(types.line, start))


def _gaussian_sum(rate: FloatArray, c: FloatArray, h: FloatArray) -> FloatArray:
    """An upper value of h sum over y in hZ of g(y) = e^(-rate y^2)/(c^2 + y^2).

    By Poisson summation it is sum_k G(2 pi k/h), where G(0) = (pi/c) erfcx(c sqrt(rate)), and G(w) = (pi/c) E e^(-c|w -
    N|), N Gaussian of variance 2 rate, is at most (pi/c) (e^(rate c^2 - c w) + Pr[N > w]), with Pr[N > k w] <= e^(-k
    w^2/(4 rate))/2: geometric sums over k.
    """
    w = 2.0 * np.pi / h
    far = w * w / (4.0 * rate)
    alias = 2.0 * (np.exp(rate * c * c - c * w) / -np.expm1(-c * w) + 0.5 * np.exp(-far) / -np.expm1(-far))
    return np.asarray(np.pi / c * (erfcx_above(c * np.sqrt(rate)) + alias))
