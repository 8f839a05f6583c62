"""Metric privacy: golden values, brute force over pairs on a coarse grid, samplers, and one sentence for bad input."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats

import shuffledp as sdp
from reference.places import golden
from shuffledp.mechanisms.metric.exponential import BITS, ExponentialMetric
from shuffledp.mechanisms.metric.general import MetricGeneral
from shuffledp.mechanisms.metric.laplace import MetricLaplace
from shuffledp.mechanisms.metric.planar_laplace import PlanarLaplace, planar_noise, planar_variation
from shuffledp.mechanisms.numeric.laplace import Laplace
from shuffledp.numerics.family import PairSet
from shuffledp.randomness.sampling import source

GOLDEN = golden("mechanisms.json")
PLANAR = [e for e in GOLDEN if e["mechanism"] == "planar_laplace"]
LINE = [[0, 1, 3], [1, 0, 2], [3, 2, 0]]


# -- parameters -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", PLANAR, ids=lambda e: f"d01={e['params']['d01']}")
def test_planar_golden_values(entry: dict[str, Any]) -> None:
    d01 = float(entry["params"]["d01"])
    vr = PlanarLaplace(d01=d01, dmax=d01 + 1.0).variation_ratio()
    for got, truth in ((vr.p, entry["p"]), (vr.beta, entry["beta"]), (vr.q, math.exp(d01 + 1.0))):
        assert truth <= got <= truth * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("d01", [1e-6, 1e-3, 1.99e-3, 2.01e-3, 0.5, 1.0, 3.0, 20.0])
def test_planar_variation_is_the_integral_of_its_definition(d01: float) -> None:
    # the marginal density is |x| K1(|x|)/pi; its mass within d01/2 of 0 is the total variation
    mass = 2 / mpmath.pi * mpmath.quad(lambda x: x * mpmath.besselk(1, x), mpmath.linspace(0, d01 / 2, 9))
    assert planar_variation(d01) == pytest.approx(float(mass), rel=1e-11)
    beta = PlanarLaplace(d01=d01, dmax=500.0).variation_ratio().beta
    assert float(mass) <= beta <= math.tanh(d01 / 2 + 1e-9)


def test_planar_values_of_the_spec() -> None:
    for d01, beta in ((0.5, 0.1552599132), (1.0, 0.2959600665), (2.0, 0.5229738550), (5.0, 0.8661243615)):
        assert planar_variation(d01) == pytest.approx(beta, abs=1e-10)
    assert planar_variation(499.0) == pytest.approx(1.0, abs=1e-12) and planar_variation(1e4) == 1.0


@pytest.mark.parametrize(("d01", "dmax"), [(0.1, 0.1), (1.0, 1.0), (1.0, 4.0), (2.5, 30.0)])
def test_line_and_general_parameters(d01: float, dmax: float) -> None:
    general, line = (cls(d01=d01, dmax=dmax).variation_ratio() for cls in (MetricGeneral, MetricLaplace))
    assert general == sdp.VariationRatio(p=math.exp(d01), beta=math.tanh(d01 / 2), q=math.exp(dmax))
    truth = sdp.VariationRatio(p=math.exp(d01), beta=-math.expm1(-d01 / 2), q=math.exp(dmax))
    for name in ("p", "beta", "q"):
        got, wanted = getattr(line, name), getattr(truth, name)
        assert wanted * (1 - 1e-15) <= got <= wanted * (1 + 1e-8)


@pytest.mark.heavy_cases("PlanarLaplace")
@pytest.mark.parametrize("cls", [MetricGeneral, MetricLaplace, PlanarLaplace])
def test_guarantees_grow_with_both_distances_and_say_so(cls: Any) -> None:
    def eps(d01: float, dmax: float) -> float:
        return sdp.amplify(cls(d01=d01, dmax=dmax), n=100_000, delta=1e-7).epsilon

    assert eps(0.5, 3.0) < eps(1.0, 3.0) < eps(2.0, 3.0) and eps(1.0, 3.0) < eps(1.0, 4.0)
    assert "inputs at distance at most 0.5 in a domain of diameter 3" in cls(d01=0.5, dmax=3.0).description


@pytest.mark.parametrize("cls", [MetricGeneral, MetricLaplace, PlanarLaplace])
@pytest.mark.parametrize(
    ("d01", "dmax", "words"),
    [
        (0.0, 1.0, "d01 must lie in"),
        (2.0, 1.0, "d01 must lie in [1e-06, 1], got 2.0; it is the distance of two neighboring inputs"),
        (2.0, -1.0, "dmax must lie in [2, 500]"),
        (2.0, True, "dmax must be a number"),
        (2.0, 10**400, "dmax must be a number below"),
        (1.0, math.inf, "dmax must lie in"),
        (math.nan, 1.0, "d01 must be a number"),
        (1.0, "x", "dmax must be a number"),
        (501.0, 501.0, "d01 must lie in"),
    ],
)
def test_bad_distances(cls: Any, d01: Any, dmax: Any, words: str) -> None:
    with pytest.raises(sdp.ParameterError) as error:
        cls(d01=d01, dmax=dmax)
    assert words in str(error.value) and str(error.value).endswith(".") and "\n" not in str(error.value)


# -- the law on a line ----------------------------------------------------------------------------------------


class Coarse(MetricLaplace):
    """The same mechanism on a grid that can be enumerated."""

    BITS = 1


class Finer(MetricLaplace):
    BITS = 2


def rows_of(m: MetricLaplace) -> Any:
    """All grid inputs; outputs beyond the domain have constant ratios and are merged with its ends."""
    y = np.arange(m._length + 1)
    rows = math.tanh(m._step / 2) * np.exp(-m._step * np.abs(y[:, None] - y))
    rows[:, [0, -1]] /= -math.expm1(-m._step)
    return rows


CASES = [(Coarse, 1.0, 1.0), (Coarse, 1.0, 3.0), (Coarse, 2.0, 4.0), (Coarse, 3.0, 4.5), (Finer, 0.5, 2.0)]


@pytest.mark.slow_cases("10-Coarse-3.0-4.5")
@pytest.mark.parametrize(("cls", "d01", "dmax"), [*CASES, (Finer, 1.0, 2.75)])
@pytest.mark.parametrize("n", [2, 10, 1000])
def test_the_bracket_holds_every_near_pair(cls: Any, d01: float, dmax: float, n: int) -> None:
    m = cls(d01=d01, dmax=dmax)
    rows = rows_of(m)
    assert rows.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    inputs = range(len(rows))
    # the reflection of a pair has the same divergence
    near = [(i, j) for i in inputs for j in inputs if 0 < abs(i - j) <= m._apart and i + j <= m._length]
    brute = PairSet([sdp.ShuffledPair(P0=rows[i], P1=rows[j], t=rows.min(axis=0)) for i, j in near])
    eps = np.array([0.0, 0.05, 0.3, 0.7]) * d01
    truth = brute.log_delta(eps, n=n, tol=1e-3, side="lower")
    upper = m.law.blanket().log_delta(eps, n=n, tol=1e-3, side="upper")
    lower = m.law.constant_datasets().log_delta(eps, n=n, tol=1e-3, side="lower")
    assert np.all(truth <= upper + 1e-9)
    assert np.all(lower <= brute.log_delta(eps, n=n, tol=1e-3, side="upper") + 1e-9)
    visible = truth > -25
    assert np.all(upper[visible] <= truth[visible] + 0.15)  # 0.5% of eps
    vr = sdp.FiniteRandomizer(rows).variation_ratio()
    assert m.variation_ratio().q == pytest.approx(vr.q, rel=1e-12)


@pytest.mark.parametrize("d", [0.5, 1.0, 3.0, 5.0])
def test_the_whole_domain_as_neighbors_is_the_laplace_mechanism(d: float) -> None:
    for n in (1000, 100_000):
        both = (MetricLaplace(d01=d, dmax=d), Laplace(eps0=d))
        ours, theirs = (sdp.amplify(m, n=n, delta=1e-7, bound="blanket") for m in both)
        assert theirs.lower <= ours.epsilon
        assert ours.epsilon == pytest.approx(theirs.epsilon, rel=5e-3)


@pytest.mark.slow
def test_the_line_is_tight_and_quick_at_every_size() -> None:
    for d01, dmax, n in ((1.0, 8.0, 10**6), (2.0, 6.0, 10**6), (5.0, 12.0, 10**6), (8.0, 20.0, 10**10)):
        g = sdp.amplify(MetricLaplace(d01=d01, dmax=dmax), n=n, delta=1e-7)
        assert g.epsilon <= 1.02 * g.lower
        assert g.epsilon < 0.8 * sdp.amplify(g.mechanism, n=n, delta=1e-7, bound="variation-ratio").epsilon
    for d01, dmax, n in ((5.0, 12.0, 1000), (100.0, 500.0, 10**9), (1.0, 8.0, 100)):
        assert sdp.amplify(MetricLaplace(d01=d01, dmax=dmax), n=n, delta=1e-7).epsilon == pytest.approx(d01)


# -- planar noise ---------------------------------------------------------------------------------------------


def test_planar_noise_has_gamma_radius_and_uniform_angle() -> None:
    z = planar_noise(source(np.random.default_rng(1)), 2.0**-31, 100_000) * 2.0**-31
    assert stats.kstest(np.hypot(z[:, 0], z[:, 1]), stats.gamma(2).cdf).pvalue > 1e-4
    assert stats.kstest(np.arctan2(z[:, 1], z[:, 0]), stats.uniform(-math.pi, 2 * math.pi).cdf).pvalue > 1e-4


def test_planar_noise_on_a_coarse_grid_follows_its_law() -> None:
    step, reach = 0.5, 40
    z = planar_noise(source(np.random.default_rng(2)), step, 200_000)
    axis = np.arange(-reach, reach + 1)
    law = np.exp(-step * np.hypot(axis[:, None], axis))
    law /= law.sum()
    seen, _, _ = np.histogram2d(z[:, 0], z[:, 1], bins=[np.append(axis, reach + 1) - 0.5] * 2)
    likely = law * len(z) >= 5
    expected = np.append(law[likely], law[~likely].sum()) * len(z)
    observed = np.append(seen[likely], len(z) - seen[likely].sum())
    assert stats.chisquare(observed, expected, sum_check=False).pvalue > 1e-4


def test_planar_grid_law_keeps_the_stated_total_variation() -> None:
    # the allowance for the grid is h^2; on a coarse grid, where it can be seen, half of that is enough
    for h, apart in ((0.25, 4), (0.125, 8), (0.125, 24)):
        axis = np.arange(-int(45 / h), int(45 / h) + 1) * h
        law = np.exp(-np.hypot(axis[:, None], axis))
        law /= law.sum()
        beta = 0.5 * np.abs(law[apart:] - law[:-apart]).sum() + 0.5 * (law[:apart].sum() + law[-apart:].sum())
        assert beta <= planar_variation(apart * h) + 0.5 * h * h


def test_places_outside_the_disk_are_refused_and_its_edge_is_not() -> None:
    m = PlanarLaplace(d01=1.0, dmax=4.0)
    angle = np.linspace(0, 2 * math.pi, 1000)
    assert len(m.privatize(2.0 * np.stack([np.cos(angle), np.sin(angle)], axis=1))) == 1000
    with pytest.raises(sdp.ParameterError, match="disk of radius 2 around 0"):
        m.privatize(np.array([[1.5, 1.5]]))
    with pytest.raises(sdp.ParameterError, match="shape"):
        m.privatize(np.array([1.5, 1.5]))


# -- the exponential mechanism --------------------------------------------------------------------------------


def test_exponential_law() -> None:
    m = ExponentialMetric(LINE, eps=2.0)
    weight = np.exp(-np.array(LINE, dtype=float))
    assert m.probabilities() == pytest.approx(weight / weight.sum(axis=1, keepdims=True), rel=1e-14)
    assert m._multiples.sum(axis=1).tolist() == [1 << BITS] * 3
    assert m.local_epsilon <= 2.0 * 3.0
    again = ExponentialMetric(LINE, eps=2.0)
    assert m == again and hash(m) == hash(again) and m != ExponentialMetric(LINE, eps=1.0) and m != 1
    assert m.spec == "exponential-metric:eps=2,<3 points>" and "3 points" in m.description


def test_exponential_files(tmp_path: Path) -> None:
    np.save(tmp_path / "d.npy", np.array(LINE))
    (tmp_path / "d.csv").write_text("0 1 3\n1 0 2\n3 2 0\n")
    for name in ("d.npy", "d.csv"):
        m = sdp.mechanism(f"exponential-metric:eps=2,{tmp_path / name}")
        assert m == ExponentialMetric(LINE, eps=2.0) and m.spec.endswith(name)
    with pytest.raises(sdp.ParameterError, match="No such file"):
        ExponentialMetric.from_file(tmp_path / "none.csv", eps=1.0)


def test_exponential_accounting_is_that_of_its_matrix() -> None:
    m = ExponentialMetric(LINE, eps=1.0)
    matrix = sdp.FiniteRandomizer(m.probabilities())
    for bound in ("blanket", "variation-ratio", "variation-ratio-lower"):
        ours, theirs = (sdp.amplify(x, n=1000, delta=1e-6, bound=bound).epsilon for x in (m, matrix))
        assert ours == theirs


@pytest.mark.heavy
def test_exponential_covariance() -> None:
    m = ExponentialMetric(LINE, eps=2.0)
    values = np.repeat([0, 1, 2], [200, 300, 500])
    rng = np.random.default_rng(5)
    runs = [m.estimate(m.privatize(values, rng=rng)) for _ in range(2000)]
    found = np.cov(np.array([e.value for e in runs]).T)
    assert np.mean([e.covariance for e in runs], axis=0) == pytest.approx(found, rel=0.15, abs=2e-5)
    assert m.variance(1000, [0.2, 0.3, 0.5]) == pytest.approx(np.diag(found), rel=0.15)
    assert m.variance(1000).shape == (3,)


@pytest.mark.parametrize(
    ("distances", "eps", "words"),
    [
        ([[0, 1], [1, 0]], 0.0, "eps must lie in"),
        ([[0, 1, 2], [1, 0, 1]], 1.0, "square"),
        ([[0]], 1.0, "at least 2 points"),
        ([[0, "x"], [1, 0]], 1.0, "square table of numbers"),
        ([[0, math.inf], [math.inf, 0]], 1.0, "finite"),
        ([[0, -1], [-1, 0]], 1.0, "finite and >= 0"),
        ([[1, 1], [1, 0]], 1.0, "diagonal"),
        ([[0, 1], [2, 0]], 1.0, "symmetric, got 1 from 0 to 1 and 2 back"),
        ([[0, 1, 3], [1, 0, 1], [3, 1, 0]], 1.0, "triangle inequality, got 3 from 0 to 2 and 2 through 1"),
        ([[0, 1], [1, 0]], 100.0, "probability of 2^-40"),
    ],
)
def test_bad_distance_tables(distances: Any, eps: float, words: str) -> None:
    with pytest.raises(sdp.ParameterError) as error:
        ExponentialMetric(distances, eps=eps)
    assert words in str(error.value) and str(error.value).endswith(".") and "\n" not in str(error.value)


def test_points_at_distance_0_can_be_accounted_for_but_not_told_apart() -> None:
    m = ExponentialMetric([[0, 0, 1], [0, 0, 1], [1, 1, 0]], eps=1.0)
    assert sdp.amplify(m, n=1000, delta=1e-6).epsilon > 0
    with pytest.raises(sdp.ParameterError, match="merge points at distance 0"):
        m.estimate(m.privatize(np.array([0, 1, 2] * 10)))
