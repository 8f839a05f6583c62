"""Datasets of planar Laplace noise with all others on the rim: their laws against total variations and integrals."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest

import shuffledp as sdp
from reference.repetition import slow
from shuffledp.mechanisms.metric.planar_datasets import _dataset, datasets
from shuffledp.mechanisms.metric.planar_laplace import planar_variation


def places(apart: float, wide: float) -> list[tuple[float, float]]:
    """Where the others are, as the page says; x0 = (-apart/2, 0), x1 = (apart/2, 0)."""
    half, radius = 0.5 * apart, 0.5 * wide
    top = math.sqrt(max(radius**2 - half**2, 0.0))
    return [(half - wide, 0.0), (-half, 2.0 * top), (0.0, top + radius)]


def variation(p: np.ndarray, q: np.ndarray) -> float:
    return float(np.maximum(p - q, 0.0).sum())


def compared(apart: float, wide: float) -> int:
    """Total variations of any two of the three laws are below those of whole reports."""
    count = 0
    for x, y in places(apart, wide):
        pair = _dataset(0.5 * apart, (x, y))
        if pair is None:  # the quadrature is not good enough, as for places very near to x0: this dataset is not used
            continue
        p0, p1, t = (np.asarray(law) for law in (pair.P0, pair.P1, pair.t))
        assert pair.left_out == 0.0 and min(p0.min(), p1.min(), t.min()) >= 0.0
        away = [apart, math.hypot(x + 0.5 * apart, y), math.hypot(x - 0.5 * apart, y)]
        assert max(away) <= wide * (1.0 + 1e-12)  # a disk of this diameter holds all three
        for (a, b), distance in zip(((p0, p1), (p0, t), (p1, t)), away, strict=True):
            true = planar_variation(distance) if distance > 0.0 else 0.0
            assert variation(a, b) <= true + 2e-7  # cells may round a mass to 1e-7 of the whole
            count += 1
        assert variation(p0, p1) >= 0.99 * planar_variation(apart)
    return count


@pytest.mark.heavy
@pytest.mark.parametrize("tries", [2, slow(1_150)])
def test_total_variations(tries: int) -> None:
    count = 0
    for seed in range(tries):
        rng = Random(seed)
        wide = math.exp(rng.uniform(math.log(0.05), math.log(10.0)))
        count += compared(wide * math.exp(-rng.expovariate(0.7)), wide)
    assert count >= 8 * tries


def spread(apart: float, place: tuple[float, float]) -> float:
    """The integral of (P0 - P1)^2/R in polar coordinates around the middle of x0 and x1, by the midpoint rule."""
    r = (np.arange(1500) + 0.5) * 0.02
    angle = (np.arange(600) + 0.5) * (2.0 * math.pi / 600)
    x, y = r[:, None] * np.cos(angle), r[:, None] * np.sin(angle)
    p0, p1 = (np.exp(-np.hypot(x - at, y)) for at in (-0.5 * apart, 0.5 * apart))
    whole = (p0 - p1) ** 2 * np.exp(np.hypot(x - place[0], y - place[1])) * r[:, None]
    return float(whole.sum()) * 0.02 * (2.0 * math.pi / 600) / (2.0 * math.pi)


@pytest.mark.heavy
@pytest.mark.parametrize(("apart", "wide"), [(1.0, 4.0), slow(0.5, 2.0), slow(2.0, 4.0)])
def test_the_spread_is_that_of_the_plane(apart: float, wide: float) -> None:
    for pair, place in zip(datasets(apart, wide), places(apart, wide), strict=True):
        true = spread(apart, place)
        assert 0.997 * true <= pair.spread <= true * (1.0 + 1e-4)


@pytest.mark.heavy_cases("1.0-4.0-10000-1e-06-0.1020165", "1.0-4.0-1000000-1e-08-0.01157036")
@pytest.mark.parametrize(
    ("d01", "dmax", "n", "delta", "lower"),
    [(1.0, 4.0, 10_000, 1e-6, 0.1020165), (1.0, 4.0, 10**6, 1e-8, 0.01157036), (0.5, 2.0, 10_000, 1e-6, 0.01969138)],
)
def test_the_lower_bound_is_nearly_that_of_the_best_place(
    d01: float, dmax: float, n: int, delta: float, lower: float
) -> None:
    found = sdp.amplify(sdp.PlanarLaplace(d01=d01, dmax=dmax), n=n, delta=delta)
    assert found.lower is not None and 0.999 * lower <= found.lower <= lower * (1.0 + 1e-4)
    assert found.lower <= found.epsilon


@pytest.mark.heavy
@pytest.mark.parametrize("tries", [4, slow(1_000)])
def test_no_upper_bound_is_below_the_lower_one(tries: int) -> None:
    for seed in range(tries):
        rng = Random(seed)
        dmax = math.exp(rng.uniform(-3.0, 4.0))
        m = sdp.PlanarLaplace(d01=max(dmax * rng.random(), 1e-6), dmax=dmax)
        n, delta = int(10 ** rng.uniform(0.5, 7.0)), 10 ** rng.uniform(-10.0, -2.0)
        found = sdp.amplify(m, n=n, delta=delta)
        assert found.lower is not None and found.lower <= found.epsilon, (seed, m.spec, n, delta)


def test_few_users_are_looked_at_by_half_planes() -> None:
    """Else one answer would take a minute."""
    family = sdp.PlanarLaplace(d01=1.6, dmax=10.5).law.constant_datasets()
    sizes = [{np.size(pair.t) == 2 for pair in family.among(n)} for n in (5, 10**7)]
    assert sizes == [{True}, {True, False}]
