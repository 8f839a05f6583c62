"""Equal rows of a table of non-negative numbers.

The big-endian bytes of such numbers have the order of the numbers, so that whole rows are compared byte by byte, which
is much quicker than number by number (numpy.unique with an axis) where rows are long or many.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def distinct(rows: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each different row is found first, rows in rising order, and the place of every row in that list.

    Examples
    --------
    >>> first, label = distinct(np.array([[2.0, 1.0], [0.5, 3.0], [2.0, 1.0], [0.5, 0.0]]))
    >>> first.tolist(), label.tolist()
    ([3, 1, 0], [2, 1, 2, 0])
    """
    count, width = rows.shape
    if not count or not width:
        return np.arange(min(count, 1)), np.zeros(count, dtype=np.int64)
    plain = np.ascontiguousarray((rows + 0.0).astype(">f8"))  # + 0: there is one zero only
    keys = plain.view(f"V{8 * width}").reshape(-1)
    order = np.argsort(keys, kind="stable")
    new = np.ones(count, dtype=bool)
    new[1:] = keys[order[1:]] != keys[order[:-1]]
    label = np.empty(count, dtype=np.int64)
    label[order] = np.cumsum(new) - 1
    return order[new], label
