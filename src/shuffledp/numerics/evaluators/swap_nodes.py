"""M - 1 of many laws at many equally spaced nodes, by matrix products instead of a sine for every node and value.

With k = B a + b and f(y) = e^(iyx) - 1, f(y + y') = f(y) + f(y') + f(y) f(y'), so that sums over the values of the law
at all k are those of B + B vectors and one product of matrices.  The vectors come from log B of them by the same rule.
Nothing cancels where y x is small: the error is a few roundings of |y x| for every value, as for single sines, and
that of a sum over the values.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..pair import FloatArray
from ..small_products import product

#: Nodes and values from which it pays; or more nodes than this, and so many of rows x nodes x values.
_NODES, _VALUES = 8, 12
_MORE_NODES, _CELLS = 48, 7000


def pays(rows: int, nodes: int, values: int) -> bool:
    """Whether matrix products are quicker than single sines."""
    many = nodes >= _MORE_NODES and rows * nodes * values >= _CELLS
    return nodes >= _NODES and (values >= _VALUES or many)


def growth(
    x: FloatArray, t: FloatArray, c: FloatArray, h: FloatArray, nodes: int, start: FloatArray | None = None
) -> NDArray[np.complex128]:
    """sum t (e^((c + i (start + k h)) x) - 1) for k = 0, ..., nodes - 1: one row per law; ``start`` is 0 by default."""
    block = math.isqrt(nodes - 1) + 1
    exponent = c[:, None] * x
    if start is None:
        weight, first = (t * np.exp(exponent))[:, :, None], (t * np.expm1(exponent)).sum(axis=1)
    else:
        turned = t * np.exp(exponent + 1j * start[:, None] * x)
        weight, first = turned[:, :, None], (turned - t).sum(axis=1)
    coarse = _turned(h * block, -(-nodes // block), x)
    fine = _turned(h, block, x)
    both = product(coarse * weight.transpose(0, 2, 1), fine.transpose(0, 2, 1))
    both += product(coarse, weight) + product(fine, weight).transpose(0, 2, 1)
    found = both.reshape(len(x), -1)[:, :nodes]
    return np.asarray(found + first[:, None])


def _turned(step: FloatArray, count: int, x: FloatArray) -> NDArray[np.complex128]:
    """e^(iyx) - 1 for y = 0, step, ..., without cancellation: (law, node, value); twice as many from those before."""
    out = np.zeros((*x.shape[:1], count, *x.shape[1:]), dtype=np.complex128)
    known = 1
    while known < count:
        angle = (known * step)[:, None] * x
        half = np.sin(0.5 * angle)
        turn = (-2.0 * half * half + 1j * np.sin(angle))[:, None, :]
        new = out[:, known : 2 * known]
        before = out[:, : new.shape[1]]
        np.multiply(before, 1.0 + turn, out=new)  # |1 + turn| = 1: errors before do not grow
        new += turn
        known *= 2
    return out
