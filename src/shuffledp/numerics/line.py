"""The line c + iy on which both trapezoid sums are taken: its abscissa, the law tilted there, and M at blocks of nodes.

M(z) = E exp(zX), and |M(c+iy)| <= M(c) for every y.  Any c > 0 is sound; at the saddle the sum is short and tight.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from . import tuning
from .ledger import charge
from .pair import FloatArray, IntArray
from .rows import ULP, chunks, take_rows

ComplexArray = np.ndarray[tuple[int, ...], np.dtype[np.complex128]]

#: The exponent c x never exceeds this.
_LARGEST_EXPONENT = 600.0
#: M(c) - 1 is not taken below this.
LEAST_GROWTH = -1.0 + 2.0**-52
#: OpenBLAS computes complex products of up to this many multiplications in one thread.
_UNDIVIDED = 1 << 15
#: Every node of a block is the sum of an entry of the first and one of the second.
_STEPS = np.arange(8), np.arange(0, tuning.BLOCK, 8)
#: Up to this many atoms M is summed atom by atom; beyond, row by row as a matrix product.
_FEW_ATOMS = 16


def first_abscissa(x: FloatArray, t: FloatArray, n: FloatArray) -> FloatArray:
    """The saddle of a normal law with the mean and the square of X."""
    mean, square = n * (t * x).sum(axis=1), n * (t * x * x).sum(axis=1) + 1e-300
    root = np.sqrt(mean * mean + 8.0 * square)
    return np.asarray(np.where(mean > 0.0, 4.0 / (root + mean), (root - mean) / (2.0 * square)))


def saddle(x: FloatArray, t: FloatArray, n: FloatArray, start: FloatArray | None = None) -> FloatArray:
    """The minimum of n log M(c) - 2 log c of every row; a row without positive values keeps its start.

    Where the arithmetic fails it is 1: any abscissa is sound.
    """
    start = first_abscissa(x, t, n) if start is None else start
    most = x.max(axis=1)
    top, idle = _LARGEST_EXPONENT / np.maximum(most, 1e-300), most <= 0.0
    c = np.minimum(start, top)
    low, high, nothing = np.zeros(c.size), np.full(c.size, np.inf), 1.0 - t.sum(axis=1)
    for _ in range(60):
        weight = t * np.exp(c[:, None] * x)
        total = np.maximum(weight.sum(axis=1) + nothing, 1e-300)
        weight *= x
        mean = weight.sum(axis=1) / total
        weight *= x
        pull = n * mean - 2.0 / c
        bend = n * np.maximum(weight.sum(axis=1) / total - mean * mean, 0.0) + 2.0 / (c * c)
        high, low = np.where(pull > 0.0, c, high), np.where(pull > 0.0, low, c)
        new = np.clip(c - pull / bend, 0.3 * c, 3.0 * c)
        astray = (new < low) | (new > high)  # Newton's method may alternate forever
        if astray.any():
            new = np.where(astray, np.sqrt(low) * np.sqrt(high), new)
        new = np.minimum(new, top)
        near = (np.abs(new - c) <= 2e-3 * c) | idle
        c = new
        if near.all():
            break
    return np.where((c > 0.0) & (c < 1e300), c, 1.0)


class Tilt(NamedTuple):
    """The law tilted by e^(cX), by row."""

    c: FloatArray
    weight: FloatArray  # t e^(cx) / M(c)
    log_m: FloatArray  # log M(c)
    variance: FloatArray  # of one X, rounded down
    deviation: FloatArray  # mean of |X - mean|, rounded up
    width: FloatArray  # range of X, 0 included
    load: FloatArray  # sum t |x| max(1, e^(cx)) / M(c): the relative change of M per rounding of the exponents


def tilt(x: FloatArray, t: FloatArray, c: FloatArray) -> Tilt:
    """Everything that a sum needs to know of the tilted law; "nothing" counts as the value 0."""
    power = c[:, None] * x
    growth = np.maximum((t * np.expm1(power)).sum(axis=1), LEAST_GROWTH)
    total = (1.0 + growth)[:, None]
    scale = np.exp(power)
    weight = t * scale / total
    nothing = np.maximum(1.0 - t.sum(axis=1), 0.0) / total[:, 0]
    mean = (weight * x).sum(axis=1)
    off = np.abs(x - mean[:, None])
    load = weight * off
    variance = ((load * off).sum(axis=1) + nothing * mean * mean) * (1.0 - 1e-9)
    deviation = (load.sum(axis=1) + nothing * np.abs(mean)) * (1.0 + 1e-9)
    width = np.maximum(x.max(axis=1), 0.0) - np.minimum(x.min(axis=1), 0.0)
    roundings = (t * np.abs(x) * np.maximum(scale, 1.0)).sum(axis=1) * (1.0 + x.shape[1] / 16.0) / total[:, 0]
    return Tilt(c, weight, np.log1p(growth), variance, deviation, np.maximum(width, 1e-300), roundings)


def blocks(last: FloatArray) -> tuple[IntArray, IntArray]:
    """Row and number of every block of the nodes 0, ..., last; last + 1 is a multiple of the block size."""
    count = ((last + 1) / tuning.BLOCK).astype(np.int64)
    row = np.repeat(np.arange(count.size), count)
    return row, np.arange(row.size) - np.repeat(np.cumsum(count) - count, count)


def whole_blocks(nodes: FloatArray) -> FloatArray:
    """The last node of the smallest number of blocks that holds this many nodes and the node 0."""
    return np.asarray(np.ceil((nodes + 1.0) / tuning.BLOCK) * tuning.BLOCK - 1.0)


@charge("nodes of a block that is bounded, not evaluated", "docs/proofs.md, Lemma 8")
def block_bounds(
    x: FloatArray, at: Tilt, h: FloatArray, row: IntArray, number: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Where a block starts, and an upper value of |M(c+iy)/M(c)| in it.

    Per unit of y the modulus changes by at most E|X - EX| under the tilted law, so its value in the middle of the block
    and half the block's width bound it.  For |y| <= pi/range(X) it is also at most exp(-(2/pi^2) Var(X) y^2),
    because cos a <= 1 - 2 a^2/pi^2 on [-pi, pi].
    """
    wide = tuning.BLOCK * h
    start, half = wide[row] * number, 0.5 * wide[row]
    middle = np.abs(1.0 + np.einsum("kj,kj->k", _turned((start + half)[:, None], x[row]), at.weight[row]))
    bound = middle + at.deviation[row] * half + 1e-12 + ULP * at.load[row] * (start + half)
    bell = np.exp(-(2.0 / np.pi**2) * at.variance[row] * start * start)
    inside = (start + 2.0 * half) * at.width[row] <= np.pi
    return start, np.minimum(np.where(inside, np.minimum(bound, bell), bound), 1.0)


class Nodes(NamedTuple):
    """M at blocks of nodes: their rows, then arrays (block, node)."""

    row: IntArray
    y: FloatArray
    log_size: FloatArray  # log |M(c+iy)/M(c)|
    phase: FloatArray  # arg M(c+iy)
    doubt: FloatArray  # bound on the rounding error of log M


def in_parts(x: FloatArray, at: Tilt, h: FloatArray, row: IntArray, number: IntArray) -> Iterator[Nodes]:
    """M at the nodes of as many blocks at a time as fit into scratch memory, and never too few for BLAS."""
    cost = np.full(row.size, float(max(x.shape[1], tuning.BLOCK)))
    for part in chunks(cost, max(tuning.CELLS, tuning.BLOCK * x.shape[1])):
        own = slice(int(row[part][0]), int(row[part][-1]) + 1)
        found = nodes(x[own], take_rows(at, own), h[own], row[part] - own.start, number[part])
        yield found._replace(row=row[part])


def nodes(x: FloatArray, at: Tilt, h: FloatArray, row: IntArray, number: IntArray) -> Nodes:
    """M at every node of some blocks: e^(i(y+y')x) - 1 = f(y) + f(y') + f(y) f(y') makes it a product, f = e^(i.x) - 1.

    Neither factor cancels where yx is small, so the error is a few roundings of |yx| for every atom.
    """
    block = tuning.BLOCK
    first = _turned(((block * h)[row] * number)[:, None], x[row])
    near, far = (_turned((h[:, None] * k)[:, :, None], x[:, None, :]) for k in _STEPS)
    step = (near[:, None] + far[:, :, None] * (1.0 + near[:, None])).reshape(len(x), block, -1)  # row, node, atom
    led = first * at.weight[row]
    alone = np.einsum("rnj,rj->rn", step, at.weight)
    if x.shape[1] <= _FEW_ATOMS:
        growth = led[:, 0, None] * step[row, :, 0]
        for j in range(1, x.shape[1]):
            growth += led[:, j, None] * step[row, :, j]
    else:
        growth = np.empty((row.size, block), dtype=np.complex128)
        starts = np.searchsorted(row, np.arange(len(x) + 1))
        for i in np.flatnonzero(np.diff(starts)):  # a row may have no block here
            mine = slice(starts[i], starts[i + 1])
            growth[mine] = _product(led[mine], step[i])
    growth += alone[row]
    growth += led.sum(axis=1)[:, None]
    y = h[row, None] * (number[:, None] * float(block) + np.arange(block))
    real, imag = growth.real, growth.imag
    square = (1.0 + real) ** 2 + imag * imag
    small = real < -0.5  # log1p would cancel
    log_size = 0.5 * np.log1p(np.where(small, 0.0, real * (real + 2.0) + imag * imag))
    if small.any():
        log_size = np.where(small, 0.5 * np.log(np.maximum(square, 1e-300)), log_size)
    doubt = node_rounding(at.load[row, None] * (at.c[row, None] + y) + small, square)
    return Nodes(row, y, log_size, np.arctan2(imag, 1.0 + real), doubt)


@charge("rounding of M at a node", "docs/proofs.md, Lemma 9")
def node_rounding(load: FloatArray, square: FloatArray) -> FloatArray:
    """The relative error of M = sum t e^(zx): exponents carry |z| sum t |x| max(1, e^(cx)) roundings, over |M|."""
    return np.asarray(ULP * load / np.sqrt(np.maximum(square, 1e-300)))


def _product(a: ComplexArray, b: ComplexArray) -> ComplexArray:
    """a b^T in pieces that BLAS leaves to one thread: waiting for a second core takes longer than the product."""
    if len(a) == 1:
        return np.asarray((a * b).sum(axis=1)[None])
    rows = max(_UNDIVIDED // b.size, 4)
    atoms = _UNDIVIDED // (rows * len(b))
    parts = np.array_split(a, -(-len(a) // rows))  # never a single row, which BLAS would divide
    places = range(0, a.shape[1], atoms)
    return np.concatenate([sum(part[:, j : j + atoms] @ b[:, j : j + atoms].T for j in places) for part in parts])


def _turned(y: FloatArray, x: FloatArray) -> ComplexArray:
    """e^(iyx) - 1 without cancellation."""
    half = np.tan((0.5 * y) * x)
    out = np.empty(half.shape, dtype=np.complex128)
    out.imag = 2.0 * half / (1.0 + half * half)
    out.real = -half * out.imag
    return out
