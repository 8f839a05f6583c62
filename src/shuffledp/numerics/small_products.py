"""Products of small matrices on one core.

A BLAS with several threads divides products that take a tenth of a millisecond; on a busy machine the call then waits
for the other thread, up to a time slice of the scheduler.  Products in pieces below its threshold are not divided.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .pair import FloatArray

#: OpenBLAS divides products of more multiplications than this.
_MOST = 1 << 18


def product(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """a @ b for stacks of matrices, real or complex.

    Examples
    --------
    >>> a, b = np.arange(6.0).reshape(1, 2, 3), 1j * np.arange(12.0).reshape(1, 3, 4)
    >>> bool(np.allclose(product(a, b), a @ b))
    True
    """
    if np.iscomplexobj(a) or np.iscomplexobj(b):
        out = np.empty(
            (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]), dtype=np.complex128
        )
        first, second = (np.ascontiguousarray(a.real), np.ascontiguousarray(a.imag)), (b.real, b.imag)
        out.real = _real(first[0], second[0]) - _real(first[1], second[1])
        out.imag = _real(first[0], second[1]) + _real(first[1], second[0])
        return out
    return _real(a, b)


def _real(a: FloatArray, b: FloatArray) -> FloatArray:
    b = np.ascontiguousarray(b)
    rows = max(1, _MOST // max(a.shape[-1] * b.shape[-1], 1))
    if rows >= a.shape[-2]:
        return np.asarray(a @ b)
    return np.concatenate([a[..., i : i + rows, :] @ b for i in range(0, a.shape[-2], rows)], axis=-2)
