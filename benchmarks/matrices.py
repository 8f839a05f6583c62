"""How long matrices and metric mechanisms take: one answer, a circulant of two values, a profile of many points.

Times are CPU seconds; ratios are of two things measured in the same run.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import shuffledp as sdp

Row = tuple[str, str, str, bool]
SIZES = (10**3, 10**6, 10**9)
#: Every metric mechanism, for an eps0 in its domain.
METRIC: dict[str, Callable[[float], sdp.Mechanism]] = {
    "exponential, 20 points on a line": lambda e: sdp.ExponentialMetric(_line(20), eps=e),
    "exponential, 40 points on a ring": lambda e: sdp.ExponentialMetric(_ring(40), eps=e),
    "metric-laplace": lambda e: sdp.MetricLaplace(d01=0.5 * e, dmax=e),
    "metric-general": lambda e: sdp.MetricGeneral(d01=0.5 * e, dmax=e),
    "planar-laplace": lambda e: sdp.PlanarLaplace(d01=0.5 * e, dmax=e),
    "gaussian in cells": lambda e: sdp.Gaussian(sigma={0.5: 5.0, 2.0: 1.3, 5.0: 0.6}[e]),
}


def rows() -> list[Row]:
    """What was measured, how long it took, what is wanted, and whether it is reached."""
    for mechanism in (_random(4), sdp.Gaussian(sigma=1.0)):  # imports
        sdp.amplify(mechanism, n=1000, delta=1e-6)
    return [*_large(), *_structured(), *_metric(), *_profiles()]


def _large() -> list[Row]:
    found: list[Row] = []
    for n in (100, *SIZES):
        auto = _seconds(lambda n=n: sdp.amplify(_random(200), n=n, delta=1e-6))  # type: ignore[misc]
        alone = _seconds(lambda n=n: sdp.amplify(_random(200), n=n, delta=1e-6, bound="blanket"))  # type: ignore[misc]
        text = f"{auto:.2f} s, {auto / alone:.1f} times the blanket alone"
        found.append(
            (
                f"random 200 x 200 matrix, auto, n = {n:.0e}",
                text,
                "< 3 s, at most 2 times",
                auto < min(3.0, 2.0 * alone),
            )
        )
    slowest = max(_seconds(lambda n=n: sdp.amplify(_random(40), n=n, delta=1e-6)) for n in SIZES)  # type: ignore[misc]
    found.append(("random 40 x 40 matrix, auto, slowest n", f"{slowest * 1e3:.0f} ms", "< 50 ms", slowest < 0.05))
    return found


def _structured() -> list[Row]:
    block = np.where(np.arange(100) < 10, np.e, 1.0)
    clean = np.array([np.roll(block, i) for i in range(100)]) / block.sum()
    noisy = clean * (1.0 + 2.0**-52 * np.random.default_rng(3).integers(-5, 6, size=clean.shape))
    spent = [
        _seconds(lambda m=m, n=n: sdp.amplify(sdp.FiniteRandomizer(m), n=n, delta=1e-6))  # type: ignore[misc]
        for m in (clean, noisy)
        for n in (10**3, 10**6)
    ]
    what = "circulant of two values, 100 x 100, exact or 5 ulp off"
    return [(what, f"{max(spent) * 1e3:.0f} ms", "< 200 ms", max(spent) < 0.2)]


def _metric() -> list[Row]:
    found: list[Row] = []
    for name, make in METRIC.items():
        spent = {
            (e, n): _seconds(lambda make=make, e=e, n=n: sdp.amplify(make(e), n=n, delta=1e-6))  # type: ignore[misc]
            for e in (0.5, 2.0, 5.0)
            for n in SIZES
        }
        worst = max(spent, key=lambda key: spent[key])
        text = f"{spent[worst] * 1e3:.0f} ms (eps0 = {worst[0]:g}, n = {worst[1]:.0e})"
        found.append((f"{name}, slowest of 9", text, "<= 50 ms", spent[worst] <= 0.05))
    return found


def _profiles() -> list[Row]:
    eps = np.linspace(0.0, 0.1, 10_000)
    cases = {
        "random 20 x 20 matrix": _random(20),
        "exponential, ring of 40": METRIC["exponential, 40 points on a ring"](2.0),
    }
    found: list[Row] = []
    for name, mechanism in cases.items():
        spent = _seconds(lambda m=mechanism: sdp.profile(m, n=10**6, epsilon=eps))  # type: ignore[misc]
        found.append((f"profile of 10,000 points, {name}, n = 1e6", f"{spent:.1f} s", "<= 2 s", spent <= 2.0))
    return found


def _seconds(ask: Callable[[], object]) -> float:
    start = time.process_time()
    ask()
    return time.process_time() - start


def _random(d: int) -> sdp.FiniteRandomizer:
    weights = np.exp(np.random.default_rng(0).random((d, d)))
    return sdp.FiniteRandomizer(weights / weights.sum(axis=1, keepdims=True))


def _line(k: int) -> np.ndarray:
    return np.asarray(np.abs(np.arange(k)[:, None] - np.arange(k)) / (k - 1.0))


def _ring(k: int) -> np.ndarray:
    apart = np.abs(np.arange(k)[:, None] - np.arange(k))
    return np.asarray(np.minimum(apart, k - apart) / (0.5 * k))


if __name__ == "__main__":
    for what, measured, wanted, reached in rows():
        print(f"{what}: {measured} (wanted {wanted}){'' if reached else ': MISSED'}")
