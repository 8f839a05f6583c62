"""Probabilities that miss 1: whatever was left out, no divergence is above the one that is accounted for."""

from __future__ import annotations

import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sdp
from reference.fractions_oracle import exp_enclosure, round_divergence, worst_divergence
from shuffledp.numerics.pair import MOST_LEFT_OUT, mass_slack, sure, with_symbols

#: A multiple of 2^-60, so that sums in floats are exact.
MISSING = 2.0**-31
ASK = {"n": 1000, "delta": 1e-12}


def test_rounding_is_not_charged_and_what_is_beyond_it_is() -> None:
    law = np.array([0.1] * 10)
    assert sure(law)[1] == 0.0
    for size in (2, 1000):
        even = np.full(size, 1.0 / size)
        for factor in (0.9, 1.1):
            some = even.copy()
            some[0] -= factor * mass_slack(size)
            assert (sure(some)[1] > 0.0) == (factor > 1.0)


@pytest.mark.parametrize("excess", [2.0**-31, 2.0**-36])
def test_an_excess_is_taken_from_every_entry(excess: float) -> None:
    least, missing = sure(np.array([0.5, 0.5, excess / 2.0, excess / 2.0]))
    assert least.tolist() == [0.5 - excess, 0.5 - excess, 0.0, 0.0]
    assert missing == 2.0 * excess


def test_every_row_that_misses_something_gets_a_column_of_its_own() -> None:
    rows = np.array([[0.5, 0.5 - MISSING], [0.5, 0.5], [0.25, 0.75 - 2 * MISSING]])
    found = with_symbols(rows)
    assert found[:, 2:].tolist() == [[MISSING, 0.0], [0.0, 0.0], [0.0, 2 * MISSING]]
    assert found.sum(axis=1).tolist() == [1.0, 1.0, 1.0]
    assert with_symbols(rows[1:2]) is not found and with_symbols(np.eye(3)).shape == (3, 3)


@pytest.mark.heavy_cases("Joint(answers=(FiniteRandomizer(matrix=array([[0.5, 0.5],\\n  ")
@pytest.mark.parametrize(
    "subject",
    [
        sdp.FiniteRandomizer([[0.5, 0.5 - 9e-10], [0.5, 0.5]]),
        sdp.ShuffledPair(P0=[0.5, 0.5 - 9e-10], P1=[0.5, 0.5], t=[0.5, 0.5]),
        sdp.ShuffledPair(P0=[0.5, 0.5], P1=[0.5, 0.5 - 9e-10], t=[0.5, 0.5]),
        sdp.ShuffledPair(P0=[0.5, 0.5 + 9e-10], P1=[0.5, 0.5], t=[0.5, 0.5]),
        sdp.ShuffledPair(P0=[0.75, 0.25 - 1e-10, 1e-10], P1=[0.75, 0.25, 0.0], t=[0.5, 0.5, 9e-10]),
        sdp.Parallel([(0.5, "grr:eps0=1,d=4"), (0.5 - 9e-10, "grr:eps0=2,d=3")]),
        sdp.Parallel([(0.5, "grr:eps0=1,d=4"), (0.5 + 9e-10, "grr:eps0=2,d=3")]),
        sdp.Joint([sdp.FiniteRandomizer([[0.5, 0.5 - 9e-10], [0.5, 0.5]]), "grr:eps0=1,d=2"]),
    ],
    ids=lambda subject: repr(subject)[:60],
)
def test_what_is_missing_decides_and_the_answer_says_so(subject: sdp.Mechanism | sdp.ShuffledPair) -> None:
    found = sdp.amplify(subject, **ASK)  # type: ignore[arg-type]
    assert math.isinf(found.epsilon)
    many = sdp.amplify(subject, n=[1000, 2000], delta=1e-12)
    assert np.isinf(many.epsilon).all() and many.note.tolist() == [found.note] * 2
    left_out = not isinstance(subject, sdp.ShuffledPair) or subject.left_out > 0.0
    assert left_out == ("leave out up to 9" in found.note or "leave out up to 1" in found.note)
    assert sdp.amplify(subject, n=1000, delta=1e-3).note == ""
    with pytest.raises(sdp.CertificationError):
        sdp.amplify(subject, n=1000, delta=1e-12, certify=True)


@pytest.mark.heavy
@pytest.mark.slow_cases("9e-10")
@pytest.mark.parametrize("missing", [9e-10, -9e-10])
def test_all_bounds_and_proofs_charge_it(missing: float) -> None:
    given = sdp.FiniteRandomizer([[0.75, 0.25 - missing], [0.25, 0.75]])
    assert math.isinf(given.local_epsilon) and given.probabilities().sum(axis=1) == pytest.approx(1.0, abs=1e-15)
    assert given.probabilities().shape == (2, 2) and given.codec.size == 2
    whole = sdp.FiniteRandomizer([[0.75, 0.25], [0.25, 0.75]])
    for bound in ("blanket", "swap", "variation-ratio", "general", "clone", "local"):
        least = sdp.amplify(whole, n=1000, delta=1e-8, bound=bound).epsilon
        assert sdp.amplify(given, n=1000, delta=1e-8, bound=bound).epsilon >= least * (1.0 - 1e-4), bound
        assert math.isinf(sdp.amplify(given, n=1000, delta=1e-12, bound=bound).epsilon), bound
    proved = sdp.amplify(given, n=1000, delta=1e-8, certify=True)
    assert sdp.verify(proved.certificate).proved_delta <= 1e-8 and "leave out" in proved.note
    assert sdp.profile(given, n=1000, epsilon=[5.0])[0] >= 9e-10 * (1 - 1e-6)
    again = pickle.loads(pickle.dumps(given))
    assert again == given and again.law.left_out == given.law.left_out > 0.0
    mixed = sdp.amplify_mixed([(given, 500), (whole, 500)], delta=1e-12)
    assert math.isinf(mixed.classes[0].epsilon)


@pytest.mark.parametrize(("n", "E"), [(1, 3), (2, 4), (3, Fraction(9, 2)), (4, 100)])
def test_no_law_that_was_left_out_is_above_it(n: int, E: Fraction) -> None:
    """Above the largest ratio of what is listed, nothing but the missing mass distinguishes the inputs."""
    rows = [[0.75, 0.25 - MISSING], [0.25, 0.75 - 2 * MISSING]]
    eps = math.log(E)
    bound = float(sdp.profile(sdp.FiniteRandomizer(rows), n=n, epsilon=[eps])[0])
    places = ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1))
    for first, second in itertools.product(places, repeat=2):
        truth = [
            [Fraction(p) + Fraction(mass) * at for p, at in zip([*row, 0, 0], place, strict=True)]
            for row, mass, place in ((rows[0], MISSING, first), (rows[1], 2 * MISSING, second))
        ]
        assert [sum(row) for row in truth] == [1, 1]
        assert worst_divergence(truth, n, exp_enclosure(eps)[0]) <= bound * (1 + 1e-9)


def test_no_law_that_was_too_large_is_above_it() -> None:
    """The others' t may be too large in any of its entries, and the victim's laws in any of theirs."""
    e = MISSING
    given = sdp.ShuffledPair(P0=[0.5, 0.5, e], P1=[0.5, 0.5 + e, 0.0], t=[0.25, 0.75, e])
    eps = 0.1
    E = exp_enclosure(eps)[1]
    bound = float(sdp.profile(given, n=3, epsilon=[eps])[0])
    cuts = ((e, 0, 0), (0, e, 0), (0, 0, e))
    for a, b, c in itertools.product(range(3), range(2), range(3)):
        p0, p1, t = (
            [Fraction(x) - Fraction(y) for x, y in zip(law, cuts[k], strict=True)]
            for law, k in (([0.5, 0.5, e], a), ([0.5, 0.5 + e, 0.0], b), ([0.25, 0.75, e], c))
        )
        assert round_divergence(p0, p1, t, 3, E) <= bound * (1 + 1e-9)


@pytest.mark.parametrize("miss", [2e-9, -2e-9, 0.1])
def test_more_is_refused(miss: float) -> None:
    assert abs(miss) > MOST_LEFT_OUT
    with pytest.raises(sdp.ParameterError, match=r"sum to .*, got .*\.$"):
        sdp.ShuffledPair(P0=[0.5, 0.5 - miss], P1=[0.5, 0.5], t=[0.25, 0.25])
    with pytest.raises(sdp.ParameterError, match=r"^matrix rows must sum to 1, got .*\.$"):
        sdp.FiniteRandomizer([[0.5, 0.5 - miss], [0.5, 0.5]])
    with pytest.raises(sdp.ParameterError, match=r"^weights must sum to 1, got .*\.$"):
        sdp.Parallel([(0.5, "grr:eps0=1,d=4"), (0.5 - miss, "grr:eps0=2,d=3")])


def test_the_last_bits_of_what_is_missing_count() -> None:
    """A sum near 1, rounded, would lose up to 2^-54 of it: all of an entry that is as small as the excess."""
    rows = [[0.46040748159392497, 0.5395925184060749, 6.478859087266927e-14], [0.11, 0.5, 0.39]]
    excess = sum(map(Fraction, rows[0])) - 1
    assert Fraction(with_symbols(np.array(rows))[0, 2]) <= Fraction(rows[0][2]) - excess
    law = np.array([0.4983994242253749, 0.5016005757737317])
    missing = 1 - sum(map(Fraction, law.tolist()))
    assert missing <= Fraction(sure(law)[1]) <= missing * (1 + Fraction(1, 2**52))
    given = sdp.FiniteRandomizer([law.tolist(), [0.5, 0.5]])
    assert Fraction(float(sdp.profile(given, n=3, epsilon=[1.0])[0])) >= missing


def test_many_symbols_do_not_hide_what_few_weights_leave_out() -> None:
    """The sum of two weights rounds less than that of all symbols of their queries."""
    m = sdp.Parallel([(0.5, "grr:eps0=1,d=16"), (0.5 - 3e-14, "hierarchical-grr:eps0=2,d=16")])
    for bound in ("auto", "blanket", "swap"):
        assert math.isinf(sdp.amplify(m, n=100_000, delta=1.5e-14, bound=bound).epsilon)
