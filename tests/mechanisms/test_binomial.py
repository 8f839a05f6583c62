"""Coin flips: golden values, unbiased and of the stated variance, and answers of the matrix that is drawn from."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import shuffledp as sdp
from reference.designs import DESIGNS, simulated, worst_number
from reference.repetition import slow
from reference.small_rounds import worst

SMALL = sdp.Binomial(flips=4, stretch=1.16876, shape=0.3294, noise=0.283034)


def made(entry: dict[str, Any]) -> sdp.Binomial:
    return sdp.Binomial(
        flips=entry["N"], stretch=entry["B"], shape=entry["tau"], noise=entry["gamma"], inputs=entry["M"]
    )


@pytest.mark.parametrize("entry", DESIGNS["binomial"], ids=lambda e: str(e["N"]))
def test_golden_values(entry: dict[str, Any]) -> None:
    m = made(entry)
    rows, points = m.probabilities(), np.array(m.inputs())
    spread = rows @ m._values**2 - points**2
    assert spread == pytest.approx(entry["C0"] + entry["C1"] * points**2, rel=1e-9)
    assert m.local_epsilon == pytest.approx(entry["eps0"], rel=1e-6)
    most = max(float(np.max(((rows[:, None] - rows[None]) ** 2 / kind).sum(axis=2))) for kind in rows)
    assert most == pytest.approx(entry["V"], rel=1e-6)
    at = [int(np.flatnonzero(points == x)[0]) for x in entry["triple"]]
    assert float(np.sum((rows[at[0]] - rows[at[1]]) ** 2 / rows[at[2]])) == pytest.approx(most, rel=1e-9)


@pytest.mark.parametrize("entry", [*DESIGNS["binomial"][:2], slow(DESIGNS["binomial"][2])], ids=lambda e: str(e["N"]))
def test_golden_answers(entry: dict[str, Any]) -> None:
    found = sdp.amplify(made(entry), n=entry["n"], delta=1e-8)
    assert found.epsilon == pytest.approx(entry["eps"], rel=1e-4) and found.bound == entry["bound"]


@pytest.mark.parametrize(
    "m",
    [
        SMALL,
        sdp.Binomial(flips=1, stretch=1.0, shape=1.0, noise=0.1),
        sdp.Binomial(flips=255, stretch=1.01, shape=0.1, noise=0.004),
        sdp.Binomial(flips=255, stretch=1.01, shape=1000.0, noise=0.004),  # whose rising factorials overflow
    ],
    ids=lambda m: m.spec,
)
def test_unbiased_and_of_the_stated_variance(m: Any) -> None:
    rows, points, size = m.probabilities(), np.array(m.inputs()), m.flips
    assert rows.sum(axis=1) == pytest.approx(1.0, abs=1e-14)
    assert np.abs(rows @ m._values - points).max() <= 1e-12
    scale = m.stretch / (1 - m.noise)
    base = scale**2 * (1 / size + m.noise * (1 - 1 / size) / (2 * m.shape + 1))
    bend = (1 - 1 / size) / (1 - m.noise) - 1
    assert m._squares - points**2 == pytest.approx(base + bend * points**2, rel=1e-9)
    step = points[1] - points[0]
    assert base + max(bend, 0.0) <= m.variance(1) * (1 + 1e-9) <= (base + max(bend, 0.0) + step**2 / 4) * (1 + 1e-9)
    law = (1 - m.noise) * stats.binom.pmf(np.arange(size + 1), size, 0.5 + 0.5 * points[3] / m.stretch)
    law += m.noise * stats.betabinom.pmf(np.arange(size + 1), size, m.shape, m.shape)
    assert rows[3] == pytest.approx(law, rel=1e-9)


def test_inputs_unless_they_are_given() -> None:
    assert [int(sdp.Binomial(flips=k, stretch=1.1, shape=0.5, noise=0.1).inputs) for k in (30, 31)] == [65, 129]
    assert sdp.mechanism("binomial:4,1.2,0.5,0.3").spec == "binomial:flips=4,stretch=1.2,shape=0.5,noise=0.3,inputs=65"


@pytest.mark.heavy
def test_answers_are_those_of_the_matrix_that_is_drawn_from() -> None:
    matrix = sdp.FiniteRandomizer(SMALL.probabilities())
    for bound in ("auto", "blanket", "swap", "variation-ratio"):
        ours, theirs = (sdp.amplify(x, n=2000, delta=1e-6, bound=bound) for x in (SMALL, matrix))
        assert (ours.epsilon, ours.lower) == (theirs.epsilon, theirs.lower)
    weights, law = SMALL._weights(), SMALL.probabilities()
    for some, row in zip(weights, law, strict=True):
        assert all(Fraction(w, sum(some)) == pytest.approx(p, rel=1e-14) for w, p in zip(some, row, strict=True))


@pytest.mark.parametrize("n", [2, 3])
def test_brute_force_over_all_datasets(n: int) -> None:
    m = sdp.Binomial(flips=2, stretch=1.1, shape=0.4, noise=0.3, inputs=5)
    eps = [0.0, 0.2, 0.8, 1.5]
    truth = np.array(worst(m.probabilities(), n, np.exp(eps).tolist()))
    assert np.all(truth <= sdp.profile(m, n=n, epsilon=eps) * (1 + 1e-9) + 1e-13)
    assert np.all(sdp.profile(m, n=n, epsilon=eps, side="lower") <= truth * (1 + 1e-9) + 1e-13)


@pytest.mark.heavy
def test_more_noise_is_more_private_and_calibration_finds_it() -> None:
    m = sdp.calibrate("binomial:flips=4,stretch=1.16876,shape=0.3294,inputs=17", n=10_000, epsilon=0.1, delta=1e-8)
    assert m.noise == pytest.approx(0.283034, rel=0.02)  # that of 65 inputs
    answers = [sdp.amplify(f"binomial:4,1.2,0.3,{g},9", n=1000, delta=1e-6).epsilon for g in (0.05, 0.2, 0.6)]
    assert all(b < a for a, b in itertools.pairwise(answers))


@pytest.mark.heavy
@pytest.mark.parametrize("tol", [0.003, slow(0.03), slow(0.01)])
def test_hardly_any_noise_costs_no_more_than_twice_the_tolerance(tol: float) -> None:
    """The worst of 65 types is hundreds of times wider than others: eps was 1.34 at tol = 0.03."""
    m = sdp.Binomial(flips=4, stretch=1.169, shape=0.3294, noise=6.125e-7, inputs=65)
    assert 0.8898 <= sdp.amplify(m, n=10**6, delta=1e-8, tol=tol, bound="swap").epsilon <= 0.8944 * (1 + 2 * tol)


@pytest.mark.heavy
def test_mixed_budgets_need_as_many_flips() -> None:
    crowd = [(sdp.Binomial(flips=3, stretch=1.1, shape=0.4, noise=g, inputs=5), 2000) for g in (0.2, 0.4)]
    mixed = sdp.amplify_mixed(crowd, delta=1e-6).epsilon
    assert mixed <= sdp.amplify(crowd[0][0], n=2000, delta=1e-6).epsilon * (1 + 1e-4)
    other = sdp.Binomial(flips=4, stretch=1.1, shape=0.4, noise=0.2, inputs=5)
    with pytest.raises(sdp.BoundNotApplicableError, match="one family"):
        sdp.amplify_mixed([*crowd, (other, 100)], delta=1e-6)


@pytest.mark.parametrize(("n", "runs"), [(1000, 500), slow(10_000, 6000)])
@pytest.mark.parametrize("m", [SMALL, sdp.Binomial(flips=35, stretch=1.04027, shape=0.48, noise=0.0309942)], ids=str)
def test_the_error_at_the_worst_number_is_the_predicted_one(m: Any, n: int, runs: int) -> None:
    error, covered = simulated(m, worst_number(m), n, runs)
    assert error == pytest.approx(m.variance(n), rel=0.05 if runs > 2000 else 0.2)
    assert abs(covered - 0.95) <= (0.02 if runs > 2000 else 0.035)


def test_bad_parameters() -> None:
    good = {"flips": 4, "stretch": 1.2, "shape": 0.5, "noise": 0.1}
    for name, bad in (("flips", 0), ("flips", 256), ("stretch", 0.9), ("shape", 0.0), ("noise", 1.0), ("noise", 0.0)):
        with pytest.raises(sdp.ParameterError, match=name):
            sdp.Binomial(**{**good, name: bad})
    with pytest.raises(sdp.ParameterError, match="inputs"):
        sdp.Binomial(**good, inputs=1)
    assert math.isfinite(sdp.Binomial(**{**good, "stretch": 1.0, "noise": 1e-12}).local_epsilon)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "epsilon", "least", "name"),
    [
        (10_000, 0.1, 1.0505, "binomial"),
        slow(10_000, 1.0, 0.0529, "window"),
        slow(10**6, 0.5, 0.00460, "window"),
        slow(10**6, 1.0, 0.00203, "window"),
    ],
)
def test_they_are_recommended_for_a_mean(n: int, epsilon: float, least: float, name: str) -> None:
    """n x MSE of the first choice, by the planner's own definition, is within 3 % of the table of the design."""
    best = sdp.recommend("mean", n=n, epsilon=epsilon, delta=1e-8, low=-1, high=1, messages=1).choices[0]
    assert best.mechanism == name and n * best.error**2 <= 1.03 * least


@pytest.mark.heavy
@pytest.mark.parametrize("inputs", [9, slow(17)])
def test_a_certificate_proves_the_swap_bound_of_all_pairs_of_points(inputs: int) -> None:
    """Reflection leaves half of the ordered pairs, each among others at all points."""
    m = sdp.Binomial(flips=4, stretch=1.169, shape=0.3294, noise=0.283, inputs=inputs)
    exact, found = (sdp.amplify(m, n=10_000, delta=1e-8, certify=certify) for certify in (False, True))
    assert found.bound == "swap" and found.epsilon == pytest.approx(exact.epsilon, rel=1e-4)
    proof = found.certificate
    assert exact.lower <= found.epsilon and len(proof.steps) == inputs * (inputs - 1) // 2
    assert sdp.verify(proof).proved_delta <= proof.delta
    with pytest.raises(sdp.VerificationError, match=r"does not hold|more than its method"):
        sdp.verify(replace(proof, epsilon=Fraction(exact.lower)))
    with pytest.raises(sdp.VerificationError, match="not those of"):
        sdp.verify(replace(proof, steps=proof.steps[1:]))


@pytest.mark.heavy
def test_a_certificate_of_many_inputs_is_one_of_what_they_share() -> None:
    with pytest.raises(sdp.CertificationError, match=r"at most 256 distinct laws .* try bound='variation-ratio'"):
        sdp.amplify(SMALL, n=300, delta=1e-4, certify=True, bound="swap")
    found = sdp.amplify(SMALL, n=300, delta=1e-4, certify=True)
    assert found.bound == "variation-ratio" and "looser, because no certificate covers" in str(found)
    assert found.epsilon >= sdp.amplify(SMALL, n=300, delta=1e-4).epsilon
