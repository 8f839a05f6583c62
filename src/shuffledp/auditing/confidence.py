"""Confidence bounds of a probability from independent trials: exact ones to prove with, quick ones to choose by."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainccinv, betaincinv, ndtri  # type: ignore[import-untyped]

FloatArray = NDArray[np.float64]

#: Relative room for the error of the inverse beta function (below 1e-11 where tested), on the safe side.
_ROOM = 1e-9


def lower(hits: int, trials: int, alpha: float) -> float:
    """The p below which ``hits`` or more of ``trials`` have probability less than alpha (Clopper, Pearson 1934).

    Pr[Bin(trials, p) >= hits] = I_p(hits, trials - hits + 1).
    """
    if hits == 0:
        return 0.0
    found = math.exp(math.log(alpha) / trials) if hits == trials else float(betaincinv(hits, trials - hits + 1, alpha))
    return found * (1.0 - _ROOM)


def upper(hits: int, trials: int, alpha: float) -> float:
    """The p above which ``hits`` or fewer of ``trials`` have probability less than alpha; positive at no hits."""
    if hits == trials:
        return 1.0
    found = -math.expm1(math.log(alpha) / trials) if hits == 0 else float(betainccinv(hits + 1, trials - hits, alpha))
    return min(1.0, found * (1.0 + _ROOM))


def log_ratio(hits: tuple[int, int], trials: int, alpha: float) -> float:
    """A lower bound on log(p0/p1), wrong with probability at most alpha (half for each p); -inf at no hits of p0."""
    low = lower(hits[0], trials, 0.5 * alpha)
    return math.log(low / upper(hits[1], trials, 0.5 * alpha)) - 1e-12 if low > 0.0 else -math.inf


def quick_log_ratio(
    hits0: NDArray[np.int64], hits1: NDArray[np.int64], trials: tuple[int, int], alpha: float
) -> FloatArray:
    """About the same for many events at once (Wilson's score interval), to choose among them; proves nothing."""
    z = -float(ndtri(0.5 * alpha))
    low = _wilson(hits0, trials[0], -z)
    return np.where(low > 0.0, np.log(np.maximum(low, 1e-300) / _wilson(hits1, trials[1], z)), -np.inf)


def _wilson(hits: NDArray[np.int64], trials: int, z: float) -> FloatArray:
    spread = np.sqrt(hits * ((trials - hits) / trials) + 0.25 * z * z)
    found = (hits + 0.5 * z * z + z * spread) / (trials + z * z)
    return np.asarray(np.where((z < 0) & (hits == 0), 0.0, found))
