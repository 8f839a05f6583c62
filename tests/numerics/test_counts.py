"""How many messages there are: distributions enclosed, against fractions, ball arithmetic and scipy."""

from __future__ import annotations

import math

import flint
import numpy as np
import pytest
from scipy import stats

from reference.message_counts import law
from shuffledp.numerics import counts
from shuffledp.numerics.counts import UNLIMITED, Count, Distribution, cumulative_error, edges

#: What a distribution function is charged, relatively.
CDF_SLACK = float(cumulative_error(np.ones(1) / 2, 0.0, up=True)[0]) * 2.0 - 1.0

COUNTS = [
    Count(4),
    Count(0, ((5, 0.375),)),
    Count(3, ((4, 0.5),)),
    Count(0, ((3, 0.25), (4, 0.625))),
    Count(2, ((3, 0.25), (2, 0.75), (1, 0.5))),
    Count(1, ((0, 0.5), (2, 1.0), (3, 0.0), (2, 0.0625))),
]


@pytest.mark.parametrize("count", COUNTS, ids=str)
def test_moments(count: Count) -> None:
    table = law(*count)
    mean = sum(k * p for k, p in table.items())
    assert count.mean == pytest.approx(float(mean))
    assert count.deviation**2 == pytest.approx(float(sum((k - mean) ** 2 * p for k, p in table.items())))
    live = [k for k, p in table.items() if p]
    assert count.simplified().least == min(live) and count.simplified().most == max(live)
    assert law(*count.simplified()) == {k: p for k, p in table.items() if p}
    half = count.thinned(0.5)
    assert half.mean == pytest.approx(0.5 * count.mean)


@pytest.mark.parametrize("count", COUNTS, ids=str)
def test_distribution_is_enclosed(count: Count) -> None:
    count, table = count.simplified(), law(*count)
    at = np.arange(-1, count.most + 2)
    truth = np.array([float(sum(p for j, p in table.items() if j <= k)) for k in at])
    above, below = (Distribution(count, up=up).at(at) for up in (True, False))
    assert np.all(below <= truth) and np.all(truth <= above)
    assert np.all(above <= truth * (1 + 2 * CDF_SLACK) + 1e-30) and np.all(below >= truth * (1 - 2 * CDF_SLACK))


@pytest.mark.parametrize("longest", [0, 2**21])
@pytest.mark.parametrize("cells", [1, 2, 3])
@pytest.mark.parametrize("count", COUNTS, ids=str)
def test_rounding_to_cells_encloses(count: Count, cells: int, longest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "_CELLS", cells)
    monkeypatch.setattr(counts, "_COARSE_CELLS", cells)
    monkeypatch.setattr(counts, "_LONGEST", longest)
    count, table = count.simplified(), law(*count)
    at = np.arange(-1, count.most + 2)
    truth = np.array([float(sum(p for j, p in table.items() if j <= k)) for k in at])
    above, below = (Distribution(count, up=up).at(at) for up in (True, False))
    assert np.all(below <= truth) and np.all(truth <= above)
    assert np.all(np.diff(above) >= -1e-15) and np.all(np.diff(below) >= -1e-15)


@pytest.mark.parametrize("longest", [0, 2**21])
def test_cells_enclose_what_is_counted_one_by_one(longest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    count = Count(10**4, ((40_000, 0.5), (30_000, 0.125), (10**6, 1e-4)))
    at = edges(count, 1e-4)
    exact = [Distribution(count, up=up).at(at) for up in (False, True)]
    assert np.max(exact[1] - exact[0]) < 3 * CDF_SLACK
    monkeypatch.setattr(counts, "_CELLS", 300)
    monkeypatch.setattr(counts, "_LONGEST", longest)
    rough = [Distribution(count, up=up).at(at) for up in (False, True)]
    assert np.all(rough[0] <= exact[1]) and np.all(exact[0] <= rough[1])
    assert np.max(rough[1] - rough[0]) < 0.1  # cells are narrow


@pytest.mark.parametrize("size", [10**9, 10**12])
def test_sums_of_long_parts_are_enclosed_and_close(size: int) -> None:
    """Against the normal law with its first correction, which is right to some 1/size."""
    count = Count(3, ((size, 0.5), (size, 0.3), (size // 10, 0.01), (1, 0.7)))
    z = np.linspace(-3, 3, 13)
    at = np.floor(count.mean + z * count.deviation).astype(np.int64)
    skew = sum(s * p * (1 - p) * (1 - 2 * p) for s, p in count.parts) / count.deviation**3
    x = (at + 0.5 - count.mean) / count.deviation
    truth = stats.norm.cdf(x) - skew / 6 * (x * x - 1) * stats.norm.pdf(x)
    above, below = (Distribution(count, up=up).at(at) for up in (True, False))
    assert np.all(below <= truth + 1e-6) and np.all(truth <= above + 1e-6)
    moved = (above - below) / stats.norm.pdf(x) * count.deviation / count.mean
    assert np.max(moved) < 4e-7  # as if the number were moved by this share: eps moves by half of it


@pytest.mark.heavy
@pytest.mark.slow_cases(
    "*-1000000000000",
    "0.003-100000000",
    "0.003-1000000000000000",
    "0.3-1000000000000000",
    "0.5-1000000000000000",
    "0.9-100000000",
)
@pytest.mark.parametrize("size", [10, 10**4, 10**8, 10**12, 10**15])
@pytest.mark.parametrize("chance", [0.003, 0.3, 0.5, 0.9])
def test_binomial_distribution_against_ball_arithmetic(size: int, chance: float) -> None:
    spread = math.sqrt(size * chance * (1 - chance))
    old, flint.ctx.prec = flint.ctx.prec, 300
    try:
        for z in (-12, -6, -2, 0, 1, 5):
            k = math.floor(size * chance + z * spread)
            if not 0 <= k < size:
                continue
            ball = (1 - flint.arb(chance)).beta_lower(flint.arb(size - k), flint.arb(k + 1), regularized=True)
            if not ball.rel_accuracy_bits() > 50:
                continue
            law, exact = Count(0, ((size, chance),)), float(ball.mid())
            low, high = (float(Distribution(law, up=up).at(np.array([k]))[0]) for up in (False, True))
            assert low <= exact * (1 - 0.7 * CDF_SLACK)  # far less than what is charged would do
            assert high >= min(exact * (1 + 0.7 * CDF_SLACK), 1.0)
    finally:
        flint.ctx.prec = old


def test_edges_reach_both_ends_and_more_accuracy_takes_more() -> None:
    count = Count(10**9, ((10**9, 0.5),))
    some, more = edges(count, 1e-3), edges(count, 1e-7)
    assert some[0] == count.least and some[-1] == count.most and more.size > some.size
    assert edges(Count(2, ((3, 0.5),)), 1e-4).tolist() == [2, 3, 4, 5]


@pytest.mark.parametrize("mean", [0.3, 20.0, 5e3, 1e5, 1e6, 1e10])
def test_poisson_distributions_are_enclosed(mean: float) -> None:
    count = Count(7, ((UNLIMITED, mean),))
    at = np.unique(np.floor(mean + np.linspace(-8, 8, 33) * math.sqrt(mean)).astype(np.int64))
    truth = stats.poisson.cdf(at, mean)
    above, below = (Distribution(count, up=up).at(at + 7) for up in (True, False))
    assert np.all(below <= truth * (1 + 1e-9)) and np.all(truth <= above * (1 + 1e-9))
    assert np.max(above - below) < 0.05
    assert count.mean == pytest.approx(7 + mean) and count.deviation == pytest.approx(math.sqrt(mean))
    assert count.thinned(0.5).simplified().mean == pytest.approx(0.5 * (7 + mean))
