"""Arrays of real numbers from what a caller passes or a file holds."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def reals(values: ArrayLike) -> FloatArray:
    """A fresh array of doubles; TypeError or ValueError if it holds anything but real numbers.

    NumPy alone drops the imaginary part of a complex number, and reads text as numbers, in the digits of any script.

    Examples
    --------
    >>> reals([[1, 0.5]]).tolist()
    [[1.0, 0.5]]
    >>> reals([1.0 + 2.0j])
    Traceback (most recent call last):
        ...
    TypeError: real numbers are needed, got complex128
    """
    found = np.asarray(values)
    if found.dtype.kind not in "fiubO":
        raise TypeError(f"real numbers are needed, got {found.dtype}")
    if found.dtype.kind == "O" and any(isinstance(x, str | bytes | complex) for x in found.flat):
        raise TypeError("real numbers are needed, got text or complex numbers")
    try:
        return np.array(found, dtype=np.float64)
    except OverflowError:
        raise ValueError("a number beyond 1e308") from None
