"""Confidence intervals cover what they say: by the exact law where that can be computed, else by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import shuffledp as sdp
from reference.repetition import slow
from shuffledp.estimation.constraints import Box, Simplex
from shuffledp.estimation.estimate import Estimate, pure
from shuffledp.estimation.variance import Variance
from shuffledp.mechanisms.metric.exponential import ExponentialMetric

BUDGETS = (0.5, 2.0, 4.0, 7.0, 9.0)
FEW_BUDGETS = (slow(0.5), 2.0, slow(4.0), 7.0, slow(9.0))  # much noise, and hardly any
#: Users per item: common, rare, one, none.
HELD = np.array([1200, 500, 200, 60, 20, 10, 5, 3, 1, 1, 0, 0, 0, 0, 0, 0])
USERS, ITEMS = int(HELD.sum()), len(HELD)
LEVEL = 0.95
ONE_ITEM = ("grr", "unary", "optimized-unary", "subset", "local-hash", "hadamard")


def one_item() -> np.ndarray:
    return np.random.default_rng(0).permutation(np.repeat(np.arange(ITEMS), HELD))


def pairs() -> np.ndarray:
    """Sets of two items, the second next to the first."""
    first = one_item()
    return np.stack([first, (first + 1) % ITEMS], axis=1)


def covered(
    estimates: list[Estimate], truth: np.ndarray, of: str = "users", level: float = LEVEL
) -> tuple[np.ndarray, np.ndarray]:
    """Share of the runs whose interval holds the truth, and what whole counts may add to the nominal level.

    An interval reaches up to one count further than it must on either side, and a count at its end has about the
    normal density there.
    """
    hits = []
    for e in estimates:
        low, high = e.interval(level, of=of)
        hits.append((low <= truth + 1e-12) & (truth <= high + 1e-12))
    z = stats.norm.isf(0.5 * (1 - level))
    spread = np.sqrt(np.mean([e.stderr**2 for e in estimates], axis=0))
    lattice = 3.0 * stats.norm.pdf(z) * np.mean([e.grain for e in estimates], axis=0) / spread
    return np.mean(hits, axis=0), lattice


def runs(m: Any, values: np.ndarray, repeats: int, seed: int) -> list[Estimate]:
    """Estimates from the same users, again and again."""
    return drawn(m, lambda _: values, repeats, seed)


def drawn(m: Any, draw: Callable[[np.random.Generator], Any], repeats: int, seed: int) -> list[Estimate]:
    """Estimates from fresh users each time (all reports in one go where each user sends one)."""
    rng = np.random.default_rng(seed)
    batches = [draw(rng) for _ in range(repeats)]
    if hasattr(m, "messages_per_user"):
        return [m.estimate(m.privatize_counts(values, rng=rng)) for values in batches]
    reports = m.privatize(np.concatenate(batches), rng=rng)
    return [m.estimate(part) for part in np.split(reports.data, repeats)]


def near_nominal(share: np.ndarray, lattice: np.ndarray, repeats: int, level: float = LEVEL) -> None:
    room = 4.0 * math.sqrt(level * (1 - level) / repeats)
    assert np.all(share >= level - room), share.round(3)
    assert np.all(share <= np.minimum(level + room + lattice, 1.0)), share.round(3)


# -- by the exact law --------------------------------------------------------------------------------------------


def counts_law(held: int, n: int, keep: float, stray: float) -> np.ndarray:
    """Probabilities of the number of reports that support an item which ``held`` of n users hold."""
    own = stats.binom.pmf(np.arange(held + 1), held, keep)
    return np.convolve(own, stats.binom.pmf(np.arange(n - held + 1), n - held, stray))


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99, 0.9999])
def test_counts_are_covered_whatever_is_expected(level: float) -> None:
    """From 0.004 expected stray reports to hundreds, the exact coverage of the users' frequency."""
    n = 400
    for stray in np.geomspace(1e-5, 0.5, 25):
        for keep in (x for x in (0.5, 0.9, 0.9999) if stray < 0.9 * x):
            found = pure(np.arange(n + 1), n, keep, stray, Simplex())
            low, high = found.interval(level)
            for held in (0, 1, 2, 5, 20, 100, 400):
                truth = held / n
                share = counts_law(held, n, keep, stray)[(low <= truth + 1e-12) & (truth <= high + 1e-12)].sum()
                assert share >= level - 0.2 * (1 - level), (stray, keep, held)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("eps0", BUDGETS)
def test_a_population_is_covered_by_the_binomial_law(level: float, eps0: float) -> None:
    """Of n users drawn from a population a binomial number supports an item."""
    n = 3000
    keep = math.exp(eps0) / (math.exp(eps0) + 49)  # randomized response on 50 options
    stray = (1 - keep) / 49
    low, high = pure(np.arange(n + 1), n, keep, stray, Simplex()).interval(level, of="population")
    for f in (0.0, 1e-4, 1e-3, 0.01, 0.1, 0.5, 0.99, 1.0):
        law = stats.binom.pmf(np.arange(n + 1), n, f * keep + (1 - f) * stray)
        share = law[(low <= f + 1e-12) & (f <= high + 1e-12)].sum()
        assert share >= level - 0.2 * (1 - level), f
        count = math.sqrt(np.sum(law * (np.arange(n + 1) - law @ np.arange(n + 1)) ** 2))
        z = stats.norm.isf(0.5 * (1 - level))
        room = 2 * stats.norm.pdf(z) / count * (0.5 + max(0.5, (z * z - 1) / 6)) + 0.1 * (1 - level)
        if count > 3:
            assert share <= level + room, f


# -- by simulation -----------------------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.parametrize("eps0", FEW_BUDGETS)
@pytest.mark.parametrize("name", ONE_ITEM)
def test_frequency_oracles_cover_the_users(name: str, eps0: float) -> None:
    m = sdp.mechanism(f"{name}:eps0={eps0},d={ITEMS}")
    near_nominal(*covered(runs(m, one_item(), 300, 1), HELD / USERS), 300)


@pytest.mark.slow
@pytest.mark.parametrize("eps0", BUDGETS)
@pytest.mark.parametrize("name", ONE_ITEM)
def test_frequency_oracles_cover_the_users_in_many_runs(name: str, eps0: float) -> None:
    m = sdp.mechanism(f"{name}:eps0={eps0},d={ITEMS}")
    near_nominal(*covered(runs(m, one_item(), 3000, 2), HELD / USERS), 3000)


@pytest.mark.parametrize("eps0", FEW_BUDGETS)
@pytest.mark.parametrize("name", ["sampling-rappor", "wheel", "privset"])
def test_sets_cover_the_users(name: str, eps0: float) -> None:
    values = pairs()
    truth = np.bincount(values.ravel(), minlength=ITEMS) / USERS
    m = sdp.mechanism(f"{name}:eps0={eps0},d={ITEMS},s=2")
    near_nominal(*covered(runs(m, values, 200, 3), truth), 200)


@pytest.mark.parametrize("eps0", FEW_BUDGETS)
def test_trees_cover_the_users(eps0: float) -> None:
    m = sdp.HierarchicalGRR(eps0=eps0, d=ITEMS)
    truth = np.concatenate([np.bincount(one_item() >> h, minlength=ITEMS >> h) / USERS for h in range(4)])
    near_nominal(*covered(runs(m, one_item(), 300, 4), truth), 300)


@pytest.mark.parametrize("eps", [0.5, 2.0, 6.0])
def test_points_cover_the_users(eps: float) -> None:
    m = ExponentialMetric(1.0 - np.eye(ITEMS), eps=eps)
    near_nominal(*covered(runs(m, one_item(), 300, 5), HELD / USERS), 300)


@pytest.mark.parametrize(
    "spec",
    ["pure-dump:d=16,messages=0.01", "cheu-zhilyaev:flip=0.1,d=16,messages=0.5", "mix-dump:d=16,flip=0.01,messages=1"],
)
def test_multi_message_histograms_cover_the_users(spec: str) -> None:
    near_nominal(*covered(runs(sdp.mechanism(spec), one_item(), 200, 6), HELD / USERS), 200)


POPULATION = np.array([0.6, 0.25, 0.1, 0.04, 0.009, 0.001])


@pytest.mark.slow_cases("unary:eps0=4,d=6")
@pytest.mark.parametrize(
    "spec",
    ["grr:eps0=4,d=6", "hadamard:eps0=7,d=6", "unary:eps0=4,d=6", "pure-dump:d=6,messages=0.5", "grr:eps0=9,d=6"],
)
def test_frequencies_of_a_population_need_the_wider_interval(spec: str) -> None:
    found = drawn(sdp.mechanism(spec), lambda rng: rng.choice(6, size=2000, p=POPULATION), 400, 7)
    near_nominal(*covered(found, POPULATION, "population"), 400)
    assert covered(found, POPULATION, "users")[0][0] < 0.93  # the sampling error of common items is missing


@pytest.mark.heavy
def test_trees_of_a_population() -> None:
    m = sdp.HierarchicalGRR(eps0=4.0, d=6)
    found = drawn(m, lambda rng: rng.choice(6, size=3000, p=POPULATION), 400, 7)
    truth = np.concatenate([np.add.reduceat(POPULATION, range(0, 6, 2**h)) for h in range(3)])
    assert found[0].value.shape == truth.shape
    near_nominal(*covered(found, truth, "population"), 400)


MEANS: dict[str, tuple[Callable[[np.random.Generator], Any], list[float]]] = {
    "laplace:eps0=6": (lambda rng: (rng.random(200) < 0.3).astype(float), [0.3]),
    "metric-laplace:d01=1,dmax=4": (lambda rng: 4.0 * (rng.random(200) < 0.3), [1.2]),
    "duchi:eps0=6,dim=2": (lambda rng: 2.0 * (rng.random((200, 2)) < [0.2, 0.6]) - 1.0, [-0.6, 0.2]),
    "harmony:eps0=6,dim=2": (lambda rng: 2.0 * (rng.random((200, 2)) < [0.2, 0.6]) - 1.0, [-0.6, 0.2]),
    "privunit:eps0=6,dim=2": (lambda rng: np.eye(2)[(rng.random(200) < 0.3).astype(int)], [0.7, 0.3]),
    "planar-laplace:d01=1,dmax=4": (lambda rng: 2.0 * np.eye(2)[(rng.random(200) < 0.3).astype(int)], [1.4, 0.6]),
    "balcer-coin:messages=0.1": (lambda rng: (rng.random(200) < 0.3).astype(int), [0.3]),
}


@pytest.mark.slow_cases("*-laplace:d01=1,dmax=4", "duchi:eps0=6,dim=2", "privunit:eps0=6,dim=2")
@pytest.mark.parametrize("spec", MEANS)
def test_means_of_a_population_are_covered(spec: str) -> None:
    """Values at the ends of the range, where the sampling variance that is charged is the true one (planar: more)."""
    draw, truth = MEANS[spec]
    share, lattice = covered(drawn(sdp.mechanism(spec), draw, 400, 8), np.array(truth), "population")
    near_nominal(share, lattice if "planar" not in spec else lattice + 0.05, 400)


@pytest.mark.slow_cases("planar-laplace:d01=1,dmax=4")
@pytest.mark.parametrize("spec", MEANS)
def test_means_of_the_users_are_covered(spec: str) -> None:
    """For some of them the spread of the users is not known and charged as noise: never too narrow."""
    draw, _ = MEANS[spec]
    values = draw(np.random.default_rng(9))
    share, _ = covered(runs(sdp.mechanism(spec), values, 300, 9), np.atleast_1d(values.mean(axis=0)))
    assert np.all(share >= LEVEL - 4 * math.sqrt(LEVEL * (1 - LEVEL) / 300))


# -- the arithmetic ----------------------------------------------------------------------------------------------


def test_the_ends_solve_the_score_equation() -> None:
    rng = np.random.default_rng(9)
    z = stats.norm.isf(0.025)
    for _ in range(300):
        variance = Variance(rng.random() + 12.0, rng.normal(), -rng.random() * rng.integers(2))  # > 0 on [-1, 2]
        value, grain = np.array([rng.normal()]), 0.1 * rng.random()
        e = Estimate(
            value=value, stderr=np.ones(1), n=10, constraint=Box(-1.0, 2.0), noise=variance, sampling=None, grain=grain
        )
        low, high = (float(end[0]) for end in e.interval(0.95))
        room = grain * max(0.5, (z * z - 1) / 6)
        excess = {f: abs(f - value[0]) - room - z * math.sqrt(variance.at(min(max(f, -1.0), 2.0))) for f in (low, high)}
        assert low <= value[0] <= high
        assert max(abs(x) for x in excess.values()) < 1e-9
        for f in (low - 1e-6, high + 1e-6):  # and nothing beyond them is compatible
            assert abs(f - value[0]) - room > z * math.sqrt(variance.at(min(max(f, -1.0), 2.0)))


def test_bad_questions_are_refused_in_one_sentence() -> None:
    m = sdp.GRR(eps0=1.0, d=4)
    e = m.estimate(np.arange(40) % 4)
    with pytest.raises(sdp.ParameterError, match="did you mean 'population'"):
        e.interval(0.95, of="populaton")
    with pytest.raises(sdp.ParameterError, match="call interval before consistent"):
        e.consistent("simplex").interval()
    with pytest.raises(sdp.ParameterError, match="does not declare its sampling variance"):
        Estimate(value=np.ones(1), stderr=np.ones(1), n=1).interval(of="population")


def test_no_report_is_no_information() -> None:
    m = sdp.HierarchicalGRR(eps0=2.0, d=64)
    found = m.estimate(m.privatize([1], rng=np.random.default_rng(0)))
    low, high = found.interval()
    missing = np.isinf(found.stderr)
    assert missing.any() and np.all(low[missing] == 0.0) and np.all(high[missing] == 1.0)
    assert [row.value is None for row in found.entries()] == missing.tolist()
