"""Audits find what is broken, leave alone what is not, and bound eps0 as often as they say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from scipy import stats

import shuffledp as sdp
from contract.cases import Case, all_cases
from reference.leaky import response, seeded, unary
from reference.repetition import slow
from shuffledp.auditing import confidence, events, law
from shuffledp.mechanisms.randomizer import Randomizer

ENUMERABLE = [c for c in all_cases() if isinstance(c.mechanism, Randomizer) and c.enumerable]


# -- the confidence bounds ---------------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.parametrize("trials", [1, 2, 10, 200, 5000, 10**5, 5 * 10**6])
@pytest.mark.parametrize("alpha", [0.25, slow(0.01), 1e-5, slow(1e-12), 1e-18])
def test_clopper_pearson_is_exact_and_on_the_safe_side(trials: int, alpha: float) -> None:
    ctx.prec = 200
    for hits in sorted({0, 1, 2, 50, trials // 1000, trials // 10, trials // 2, trials - 1, trials}):
        if not 0 <= hits <= trials:
            continue
        low, high = confidence.lower(hits, trials, alpha), confidence.upper(hits, trials, alpha)
        if hits == 0:
            assert low == 0.0
        else:  # Pr[Bin(trials, low) >= hits] <= alpha, and barely so
            assert arb(low).beta_lower(hits, trials - hits + 1, True) <= alpha
            assert arb(low * (1 + 2e-9)).beta_lower(hits, trials - hits + 1, True) >= alpha
        if hits == trials:
            assert high == 1.0
        else:  # Pr[Bin(trials, high) <= hits] <= alpha
            assert (1 - arb(high)).beta_lower(trials - hits, hits + 1, True) <= alpha
            assert (1 - arb(high) * (1 - 2e-9)).beta_lower(trials - hits, hits + 1, True) >= alpha


def test_the_bound_on_the_log_ratio_is_finite_unless_the_event_was_not_seen() -> None:
    assert confidence.log_ratio((0, 5), 100, 0.01) == -math.inf
    assert confidence.log_ratio((100, 100), 100, 0.01) < 0.0
    never = confidence.log_ratio((100, 0), 100, 0.01)
    low, high = 0.005 ** (1 / 100), 1 - 0.005 ** (1 / 100)
    assert never == pytest.approx(math.log(low / high), rel=1e-6)


def test_the_quick_bound_is_near_the_exact_one() -> None:
    for hits in ((500, 100), (900, 3), (20, 1), (1000, 500)):
        quick = confidence.quick_log_ratio(np.array([hits[0]]), np.array([hits[1]]), (1000, 1000), 1e-3)[0]
        assert quick == pytest.approx(confidence.log_ratio(hits, 1000, 1e-3), abs=0.25)
    nothing = confidence.quick_log_ratio(np.array([0]), np.array([7]), (1000, 1000), 1e-3)
    assert nothing[0] == -np.inf


# -- correct randomizers are left alone --------------------------------------------------------------------------


def alarms(runs: range, confidence_: float) -> tuple[int, int, int]:
    """Runs, eps0 claims called broken, laws called refuted, over every mechanism whose law is listed."""
    eps0 = laws = total = 0
    for run in runs:
        for k, case in enumerate(ENUMERABLE):
            found = sdp.audit(case.mechanism, samples=1600, confidence=confidence_, rng=seeded(run, k))
            assert found.law is not None
            total, eps0, laws = total + 1, eps0 + found.breaks_eps0, laws + found.refutes_law
    return total, eps0, laws


def check_rate(runs: range) -> None:
    """At 90% confidence each half may raise a false alarm in 5% of the runs: the count is a binomial's."""
    total, eps0, laws = alarms(runs, 0.9)
    most = 0.05 * total + 4.0 * math.sqrt(0.05 * 0.95 * total)
    assert eps0 <= most
    assert laws <= most


@pytest.mark.slow
def test_false_alarms_are_as_rare_as_stated() -> None:
    check_rate(range(2))


@pytest.mark.slow
def test_false_alarms_are_as_rare_as_stated_in_many_runs() -> None:
    check_rate(range(2, 22))


@pytest.mark.one_setting
@pytest.mark.parametrize("case", ENUMERABLE, ids=str)
def test_no_correct_mechanism_is_accused(case: Case) -> None:
    """At 1 - 1e-6, with its own randomness: a failure here is a finding, not bad luck."""
    found = sdp.audit(case.mechanism, samples=1200, confidence=1 - 1e-6)
    assert not found.violated, str(found)
    assert found.claimed == max(case.mechanism.local_epsilon, case.mechanism.law.crowd_epsilon)


@pytest.mark.slow
def test_the_lower_bound_holds_as_often_as_stated() -> None:
    """Binary randomized response, whose best event is found every time: the least conservative case."""
    m, wrong, runs = sdp.RandomizedResponse(eps0=1.0), 0, 300
    for run in range(runs):
        found = sdp.audit(m, samples=400, confidence=0.5, rng=seeded(1, run))
        wrong += found.lower > 1.0
    assert 0 < wrong <= 0.25 * runs + 4 * math.sqrt(0.25 * 0.75 * runs)  # half of the error is the law's


@pytest.mark.heavy
def test_looking_at_many_pairs_is_paid_for() -> None:
    """The bound is the one stated, at alpha over all ordered pairs and both probabilities."""
    rng = seeded(14)
    for claim, part in ((None, 1.0), ("grr:eps0=1,d=4", 0.5)):  # the law takes half of the error
        found = sdp.audit(response(4, 1.0), inputs=[0, 1, 2, 3], claimed=claim, samples=2000, confidence=0.9)
        share = 0.1 * part / (2 * 4 * 3)
        (k0, k1), n = found.hits, found.proved_on
        low, high = stats.beta.ppf(share, k0, n - k0 + 1), stats.beta.isf(share, k1 + 1, n - k1)
        assert found.lower == pytest.approx(math.log(low / high), abs=1e-6)
    wrong, runs = 0, 20
    for _ in range(runs):  # coins that say nothing: six inputs, thirty ordered pairs, every one may look telling
        found = sdp.audit(
            lambda v: rng.integers(2, size=len(v)), inputs=range(6), samples=400, confidence=0.5, vectorized=True
        )
        wrong += found.lower > 0.0
    assert wrong <= 0.5 * runs + 3 * math.sqrt(0.25 * runs)


def test_choosing_among_many_events_costs_nothing() -> None:
    """Reports that say nothing, of 500 kinds: unions picked by chance would look telling where they were picked."""
    rng = seeded(13)
    for _ in range(5):
        found = sdp.audit(lambda v: rng.integers(500, size=len(v)), inputs=[0, 1, 2], eps0=0.0, vectorized=True)
        assert found.lower == 0.0 and not found.violated


@pytest.mark.slow
def test_chi_square_meets_its_level() -> None:
    rng = seeded(3)
    for weights in ([0.002, 0.998], [0.0012] * 9 + [0.9892], 0.5 ** np.arange(1, 30), np.ones(200)):
        probabilities = np.asarray(weights) / np.sum(weights)
        for alpha in (0.05, 0.005):
            tables = rng.multinomial(20_000, probabilities, size=1500)
            rate = np.mean([law.chi_square(table, probabilities, alpha).pvalue <= alpha for table in tables])
            assert rate <= 1.25 * alpha + 4 * math.sqrt(alpha / 1500)


# -- broken ones are found ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [5, 100])
def test_true_bits_that_are_never_flipped_are_found(d: int) -> None:
    found = sdp.audit(unary(d, 2.0, keep=True), inputs=[0, 1, 4], eps0=2.0, samples=2000)
    assert found.violated and found.breaks_eps0 and found.lower > 4.0
    assert found.hits[1] == 0 and found.event == f"entry {found.pair[1]} is False"
    assert "never in as many" in str(found) and "may be infinite" in str(found) and "VIOLATION" in str(found)
    right = sdp.audit(unary(d, 2.0), inputs=[0, 1, 4], eps0=2.0, samples=2000)
    assert not right.violated and right.lower > 1.4
    assert " is True" in right.event and " and " in right.event  # two bits together


def test_the_law_finds_what_eps0_does_not() -> None:
    """The bug in the other direction: more noise than claimed keeps every promise of privacy."""
    found = sdp.audit(response(3, 0.5), claimed=sdp.GRR(eps0=1.0, d=3), samples=4000)
    assert found.violated and found.refutes_law and not found.breaks_eps0
    assert found.law is not None and 0.0 < found.law < 1e-10
    assert "where the claimed law expects" in str(found) and "VIOLATION: the reports" in str(found)


@pytest.mark.heavy
def test_a_little_too_much_is_found() -> None:
    found = sdp.audit(response(2, 1.3), claimed="grr:eps0=1,d=2", samples=20_000)
    assert found.breaks_eps0 and found.refutes_law and 1.0 < found.lower < 1.3
    assert str(found).count("VIOLATION") == 2


def test_float_noise_gives_itself_away() -> None:
    """x + Laplace noise in floats: digits finer than those of x = 1 show that x was 0 (Mironov 2012)."""
    rng = seeded(0)
    found = sdp.audit(lambda x: x + rng.laplace(size=len(x)), inputs=[0.0, 1.0], eps0=1.0, vectorized=True)
    assert found.breaks_eps0 and found.hits[1] == 0 and "finest binary digit" in found.event
    assert not sdp.audit("metric-laplace:d01=1,dmax=1", rng=seeded(1)).violated


def test_finest_digit() -> None:
    values = np.array([2.5, 24.0, -3.0, 0.0, 0.1, 2.0**-1074, 1 + 2.0**-52])
    assert events._finest_digit(values).tolist() == [-1, 3, 0, 2000, -55, -1074, -52]


@pytest.mark.parametrize(
    ("spec", "inputs", "share"),
    [
        ("grr:eps0=1,d=3", None, 0.85),
        ("unary:eps0=2,d=200", None, 0.85),
        ("subset:eps0=2,d=60,k=2", None, 0.8),
        ("subset:eps0=2,d=300,k=30", [0, 1, 299], 0.85),
        ("hadamard:eps0=2,d=20", None, 0.85),
        ("laplace:eps0=1", None, 0.7),
        ("duchi:eps0=2,dim=41", [[1.0] * 41, [-1.0] * 41], 0.8),  # only the sum of all bits tells
        ("privunit:eps0=2,dim=5", [[1.0, 0, 0, 0, 0], [-1.0, 0, 0, 0, 0]], 0.8),
        ("planar-laplace:d01=1,dmax=1", [[-0.5, 0.0], [0.5, 0.0]], 0.5),
        ("parallel", None, 0.8),
    ],
)
def test_most_of_eps0_is_seen(spec: str, inputs: Any, share: float) -> None:
    m: Any = sdp.Parallel([(0.5, "grr:eps0=2,d=3"), (0.5, "grr:eps0=2,d=2")]) if spec == "parallel" else spec
    found = sdp.audit(m, inputs=inputs, rng=seeded(2))
    assert found.claimed is not None
    assert share * found.claimed <= found.lower <= found.claimed and not found.violated
