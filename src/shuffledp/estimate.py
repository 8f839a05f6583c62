"""Unbiased estimates with error bars, and the named steps that trade bias for consistency."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from . import _validation as check
from .errors import ParameterError

FloatArray = NDArray[np.float64]

STEPS = ("simplex", "norm-sub")


@dataclass(frozen=True, eq=False)
class Estimate:
    """What the reports say of the data.

    Attributes
    ----------
    value : array of estimates (unbiased unless ``step`` names a consistency step)
    stderr : array of standard errors, one per item, estimated from the same reports
    n : number of users
    covariance : full covariance matrix where items are correlated and it is small enough to keep, else None
    step : "" or the consistency step that was applied (the standard errors are those before it)
    for_release : False if the reports came from a seeded generator

    Examples
    --------
    >>> e = Estimate(value=np.array([0.7, -0.1, 0.4]), stderr=np.array([0.1, 0.1, 0.1]), n=100)
    >>> e.consistent("simplex").value.round(3).tolist()
    [0.65, 0.0, 0.35]
    """

    value: FloatArray
    stderr: FloatArray
    n: int
    covariance: FloatArray | None = None
    step: str = ""
    for_release: bool = True

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """A two-sided normal confidence interval for every item on its own."""
        level = check.in_range("level", level, low=0.0, high=1.0, low_open=True, high_open=True)
        width = statistics.NormalDist().inv_cdf(0.5 + 0.5 * level) * self.stderr
        return self.value - width, self.value + width

    def consistent(self, step: str) -> Estimate:
        """The estimate after a named consistency step (biased; for frequencies that are known to sum to 1).

        "simplex": the nearest point with entries >= 0 and sum 1.  "norm-sub": negative entries to 0, then a
        common shift of the positive ones, until the sum is 1 (Wang et al., NDSS 2020); both are projections.
        """
        if self.step:
            raise ParameterError(
                f"step must be applied once, got an estimate that has {self.step!r}; start from the raw one."
            )
        check.one_of("consistency step", step, STEPS)
        project = _simplex if step == "simplex" else _norm_sub
        return replace(self, value=project(self.value), step=step)


def _simplex(value: FloatArray) -> FloatArray:
    """Euclidean projection onto {x >= 0, sum x = 1} (Held, Wolfe, Crowder 1974)."""
    ordered = np.sort(value)[::-1]
    shift = (np.cumsum(ordered) - 1.0) / np.arange(1, value.size + 1)
    last = np.flatnonzero(ordered > shift)[-1]
    return np.asarray(np.maximum(value - shift[last], 0.0))


def _norm_sub(value: FloatArray) -> FloatArray:
    """Zero the negatives and spread what is missing over the positives, until nothing is negative."""
    out = value.copy()
    for _ in range(value.size + 1):
        out = np.maximum(out, 0.0)
        positive = out > 0
        if not positive.any():
            return np.full_like(out, 1.0 / out.size)
        out[positive] += (1.0 - out.sum()) / positive.sum()
        if not (out < 0).any():
            break
    return out


def pure(hits: FloatArray, n: int, keep: float, stray: float, *, scale: float = 1.0) -> Estimate:
    """Estimate of frequencies from support counts of a pure protocol (Wang et al., USENIX Security 2017).

    A report supports an item held with probability ``keep`` and any other with probability ``stray``:
    f = scale (hits/n - stray)/(keep - stray), variance [f keep(1-keep) + (1-f) stray(1-stray)]/(n (keep-stray)^2).
    The standard error plugs the estimate into it (clipped to [0, 1]).
    """
    gain = keep - stray
    share = (np.asarray(hits, dtype=np.float64) / n - stray) / gain
    inside = np.clip(share, 0.0, 1.0)
    variance = (inside * keep * (1.0 - keep) + (1.0 - inside) * stray * (1.0 - stray)) / (n * gain * gain)
    return Estimate(value=scale * share, stderr=scale * np.sqrt(variance), n=n)
