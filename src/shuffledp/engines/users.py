"""Several rows per user: which of them each user's client would report.

Every row gets a random key; a user's rows with the smallest keys are those of a uniform draw without replacement.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..randomness.sampling import Source, words


def chosen_rows(users: NDArray[Any], reports: int, src: Source) -> NDArray[np.int64]:
    """For every different user ``reports`` places of its rows, drawn uniformly; -1 where it has fewer.

    Users come in an arbitrary order, the places of one user next to each other.  All rows without a user (NaN, or
    code -1) count as those of one, so that nobody sends more by leaving it out.

    Examples
    --------
    >>> from shuffledp.randomness.sampling import source
    >>> places = chosen_rows(np.array([7, 7, 7, 9]), 2, source(None)).reshape(-1, 2)
    >>> sorted((set(row.tolist()) - {-1}) <= {0, 1, 2} for row in places), sorted(places[:, 1] < 0)
    ([False, True], [np.False_, np.True_])
    """
    users = _known(users)
    keys = words(src, len(users), 64)
    order = np.lexsort((keys, users))
    ranked = users[order]
    new = np.concatenate([[True], ranked[1:] != ranked[:-1]]) if len(users) else np.zeros(0, dtype=bool)
    person = np.cumsum(new) - 1
    start = np.flatnonzero(new)
    rank = np.arange(len(users)) - start[person] if len(users) else person
    out = np.full((start.size, reports), -1, dtype=np.int64)
    keep = rank < reports
    out[person[keep], rank[keep]] = order[keep]
    return out.reshape(-1)


def row_weights(users: NDArray[Any], reports: int) -> tuple[NDArray[np.float64], int]:
    """How often :func:`chosen_rows` chooses every row, on average, and how many places it leaves empty in all.

    Examples
    --------
    >>> weights, empty = row_weights(np.array([7, 7, 7, 9]), 2)
    >>> weights.round(3).tolist(), empty
    ([0.667, 0.667, 0.667, 1.0], 1)
    """
    _, person, many = np.unique(_known(users), return_inverse=True, return_counts=True)
    return np.minimum(1.0, reports / many)[person], int(np.maximum(reports - many, 0).sum())


def _known(users: NDArray[Any]) -> NDArray[Any]:
    """Rows without a user count as those of one."""
    return np.where(np.isnan(users), np.inf, users) if users.dtype.kind == "f" else users
