"""Shares by maximum likelihood: against the likelihood itself, against closed forms, and what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.estimation.likelihood import fitted

RNG = np.random.default_rng


def log_likelihood(counts: np.ndarray, law: np.ndarray, shares: np.ndarray) -> float:
    likely = shares @ law
    return float(sum(c * np.log(p) for c, p in zip(counts, likely, strict=True) if c))


@pytest.mark.parametrize("seed", range(6))
def test_no_point_of_a_grid_is_more_likely(seed: int) -> None:
    """All shares that are multiples of 1/40, of three inputs and five outputs, some of them impossible for some."""
    rng = RNG(seed)
    law = rng.dirichlet(np.full(5, 0.5), size=3)
    law[0, 0] = 0.0
    law /= law.sum(axis=1, keepdims=True)
    counts = rng.multinomial(500, rng.dirichlet([0.4, 0.4, 0.4]) @ law)
    found = fitted(counts, law, smooth=False, repetitions=2).value
    grid = [np.array([i, j, 40 - i - j]) / 40 for i, j in itertools.product(range(41), repeat=2) if i + j <= 40]
    with np.errstate(divide="ignore"):
        best = max(log_likelihood(counts, law, shares) for shares in grid)
    assert found.min() >= 0.0 and found.sum() == pytest.approx(1.0, abs=1e-12)
    assert log_likelihood(counts, law, found) >= best - 0.2


@pytest.mark.parametrize("spec", ["grr:eps0=4,d=5", "randomized-response:eps0=3", "levels:eps0=4,d=4"])
def test_where_the_unbiased_estimate_is_possible_it_is_the_most_likely(spec: str) -> None:
    """A square law: the likelihood has its only maximum where the expected counts are those that came."""
    m = sdp.mechanism(spec)
    assert isinstance(m, sdp.Randomizer)
    law = m.probabilities()
    truth = np.arange(1.0, len(law) + 1.0) / np.arange(1.0, len(law) + 1.0).sum()
    counts = np.rint(1e6 * truth @ law).astype(int)
    assert fitted(counts, law, smooth=False, repetitions=2).value == pytest.approx(truth, abs=2e-4)


@pytest.mark.heavy_cases("hadamard:eps0=2,d=6", "optimized-unary:eps0=2,d=5")
@pytest.mark.parametrize("spec", ["subset:eps0=2,d=6", "optimized-unary:eps0=2,d=5", "hadamard:eps0=2,d=6"])
def test_every_finite_law(spec: str) -> None:
    """Its error is that of the unbiased estimate or less; the bootstrap spreads as repeated collections do."""
    m, users, rng = sdp.mechanism(spec), 4000, RNG(1)
    assert isinstance(m, sdp.Randomizer)
    values = np.repeat([0, 1, 2, 3], [1600, 1200, 800, 400])
    truth = np.bincount(values, minlength=len(m.inputs())) / users
    reports = [m.privatize(values, rng=rng) for _ in range(40)]
    fits = [m.estimate(one, method="em", repetitions=2 + 98 * (i == 0)) for i, one in enumerate(reports)]
    plain = [m.estimate(one).value - truth for one in reports]
    errors = np.array([fit.value for fit in fits]) - truth
    assert np.mean(errors**2) <= 1.05 * np.mean(np.square(plain))
    assert fits[0].stderr[:4] == pytest.approx(errors.std(axis=0)[:4], rel=0.35)
    low, high = fits[0].bootstrap(0.9)  # type: ignore[attr-defined]
    middle = fits[0].bootstrap(0.1)[0]  # type: ignore[attr-defined]
    assert np.all(low <= middle) and np.all(middle <= high) and np.all((high - low)[:4] > 2.0 * fits[0].stderr[:4])


@pytest.mark.heavy
def test_a_smooth_density_is_found_better_if_neighbors_are_taken_to_be_alike() -> None:
    """The square wave with EMS (Li et al., SIGMOD 2020), by the distance of distribution functions."""
    m, rng = sdp.mechanism("window:eps0=3,d=16"), RNG(5)
    assert isinstance(m, sdp.Randomizer)
    values = 2.0 * rng.beta(5.0, 2.0, 20_000) - 1.0
    reports = m.privatize(values, rng=rng)
    at = np.array(m.inputs())
    edges = np.append(0.5 * (at[1:] + at[:-1]), np.inf)
    truth = (values[:, None] <= edges).mean(axis=0)

    def distance(smooth: bool) -> float:
        fit = m.estimate(reports, method="em", smooth=smooth, repetitions=2)
        return float(np.abs(np.cumsum(fit.value) - truth).max())

    assert distance(True) < 0.6 * distance(False) and distance(True) < 0.02


def test_a_fit_says_what_it_is() -> None:
    m = sdp.GRR(eps0=1.0, d=3)
    reports = m.privatize([0] * 300, rng=RNG(2))
    fit = m.estimate(reports, method="em")
    assert "biased" in fit.words()[0] and fit.step == "em" and fit.for_release is False
    assert all(entry.low is None and entry.high is None for entry in fit.entries())
    assert fit.value == pytest.approx(m.estimate(m.tally(reports), method="em").value)
    assert np.array_equal(fit.stderr, m.estimate(reports, method="em").stderr)  # the same reports, the same answer
    assert m.estimate(reports.data, method="em", for_release=False).value == pytest.approx(fit.value)
    named = sdp.mechanism("levels:eps0=2,d=3")
    assert isinstance(named, sdp.Randomizer)
    assert named.estimate(named.privatize([0.5] * 50), method="em", repetitions=2).labels == ["-1", "0", "1"]


@pytest.mark.parametrize(
    ("spec", "values", "asked", "said"),
    [
        ("grr:eps0=1,d=3", [0, 1], {"method": "ml"}, "unknown method 'ml'"),
        ("grr:eps0=1,d=3", [0, 1], {"smooth": True}, "smooth must be left out of the unbiased estimate"),
        ("grr:eps0=1,d=3", [0, 1], {"method": "em", "smooth": 1}, "smooth must be True or False"),
        ("grr:eps0=1,d=3", [0, 1], {"method": "em", "repetitions": 1}, "repetitions must"),
        ("privset:eps0=1,d=5,s=2", [[0, 1]], {"method": "em", "smooth": True}, "False for sets without an order"),
        ("privunit:eps0=1,dim=3", [[1.0, 0.0, 0.0]], {"method": "em"}, "privunit does not enumerate"),
        ("balcer-cheu:coin=0.5,messages=2", [0, 1], {"method": "em"}, "several messages per user"),
    ],
)
def test_what_is_refused(spec: str, values: list[object], asked: dict[str, object], said: str) -> None:
    m = sdp.mechanism(spec)
    assert isinstance(m, sdp.Randomizer)
    reports = m.privatize(values)  # type: ignore[arg-type]
    with pytest.raises(sdp.ParameterError, match=said):
        m.estimate(reports, **asked)  # type: ignore[arg-type]


def test_no_interval_and_no_tally_of_bits() -> None:
    m = sdp.GRR(eps0=1.0, d=3)
    with pytest.raises(sdp.ParameterError, match="interval must be asked of the unbiased estimate, got a fit by"):
        m.estimate(m.privatize([0, 1]), method="em", repetitions=2).interval()
    unary = sdp.mechanism("optimized-unary:eps0=1,d=3")
    assert isinstance(unary, sdp.Randomizer)
    with pytest.raises(sdp.ParameterError, match="got a tally, which does not hold how often each report came"):
        unary.estimate(unary.tally(unary.privatize([0, 1])), method="em")
    with pytest.raises(sdp.ParameterError, match="must be possible under the law"):
        fitted(np.array([1, 1]), np.array([[1.0, 0.0], [1.0, 0.0]]), smooth=False, repetitions=2)
