"""Frequencies of the inputs of a known matrix, from the outputs that were seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimation.constraints import Simplex
from ..estimation.estimate import Estimate
from ..estimation.variance import Variance, share_sampling

FloatArray = NDArray[np.float64]
#: Inputs up to which the covariance of the estimate is kept.
_MOST_COVARIANCE = 2000


def inverted(counts: NDArray[Any], users: int, rows: FloatArray, inverse: FloatArray) -> Estimate:
    """The frequencies ``inverse @ shares``, where ``inverse @ rows.T`` is the identity: unbiased.

    Standard errors come from the law at the nearest valid frequencies: small counts cannot give them.

    Examples
    --------
    >>> rows = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> inverted(np.array([600, 400]), 1000, rows, np.linalg.inv(rows.T)).value.round(6).tolist()
    [0.7, 0.3]
    """
    value = inverse @ (np.asarray(counts, dtype=np.float64) / users)
    nearest = Simplex().nearest(value)
    # squares[i, x]: mean square of what a report of a user at x adds to the frequency of input i
    squares = inverse**2 @ rows.T
    own, away = np.diag(squares), 1.0 - nearest
    even = (squares.sum(axis=1) - own) / max(len(rows) - 1, 1)  # where nobody seems to be elsewhere
    known = away > 1e-12
    rest = np.where(known, (squares @ nearest - own * nearest) / np.where(known, away, 1.0), even)
    return Estimate(
        value=value,
        stderr=np.sqrt(np.maximum(squares @ nearest - nearest, 0.0) / users),
        n=users,
        covariance=_covariance(nearest, users, rows, inverse) if len(rows) <= _MOST_COVARIANCE else None,
        constraint=Simplex(),
        noise=Variance(rest / users, (own - 1.0 - rest) / users),
        sampling=share_sampling(users),
        grain=np.ptp(inverse, axis=1) / users,
        influence=np.ptp(inverse, axis=1) / users,
    )


def _covariance(frequencies: FloatArray, n: int, rows: FloatArray, inverse: FloatArray) -> FloatArray:
    """[A diag(shares) A^T - diag(frequencies)]/n with A the inverse: users are fixed, reports are random."""
    shares = frequencies @ rows
    return np.asarray(((inverse * shares) @ inverse.T - np.diag(frequencies)) / n)
