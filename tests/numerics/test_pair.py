"""Rounds: what is refused and in which words, and how symbols become atoms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shuffledp.errors import ParameterError
from shuffledp.numerics.pair import TINY, ShuffledPair


@pytest.mark.parametrize(
    ("P0", "P1", "t", "name"),
    [
        ([0.5, 0.4], [0.5, 0.5], [0.1, 0.1], "P0"),
        ([0.5, 0.5], [0.5, 0.6], [0.1, 0.1], "P1"),
        ([0.5, 0.5], [0.5, 0.5], [0.6, 0.6], "t"),
        ([1.5, -0.5], [0.5, 0.5], [0.1, 0.1], "P0"),
        ([0.5, 0.5], [math.nan, 0.5], [0.1, 0.1], "P1"),
        ([0.5, 0.5], [0.5, 0.5], [math.inf, 0.1], "t"),
        ([[0.5, 0.5]], [0.5, 0.5], [0.1, 0.1], "P0"),
        (["a", "b"], [0.5, 0.5], [0.1, 0.1], "P0"),
        ([0.5, 0.5], 0.5, [0.1, 0.1], "P1"),
        ([0.5, 0.5], [0.5, 0.5], [0.1], "t"),
        ([], [], [], "P0"),
        ([0.5, 0.5], [[0.5], [0.5, 0.1]], [0.1, 0.1], "P1"),
    ],
)
def test_refused_in_one_sentence_that_names_the_parameter(P0: object, P1: object, t: object, name: str) -> None:
    with pytest.raises(ParameterError) as caught:
        ShuffledPair(P0=P0, P1=P1, t=t)  # type: ignore[arg-type]
    message = str(caught.value)
    assert name in message.replace(",", " ").split()
    assert message.endswith(".") and "\n" not in message and message.count(". ") == 0


def test_what_sums_miss_is_a_symbol_that_only_the_victim_sends() -> None:
    pair = ShuffledPair([0.5, 0.5 + 2.0**-40], [0.5, 0.5 - 2.0**-40], [0.5, 0.5 + 2.0**-40])
    assert pair.left_out == 2.0**-40
    assert np.asarray(pair.P0).tolist() == [0.5 - 2.0**-40, 0.5, 2.0**-40, 0.0]
    assert np.asarray(pair.P1).tolist() == [0.5, 0.5 - 2.0**-40, 0.0, 2.0**-40]
    assert np.asarray(pair.t).tolist() == [0.5 - 2.0**-40, 0.5, 0.0, 0.0]
    assert ShuffledPair(pair.P0, pair.P1, pair.t).left_out == 0.0 and pair.swapped().left_out == pair.left_out
    for bad in ({"P0": [0.5, 0.5 + 2e-9]}, {"P1": [0.5, 0.5 - 2e-9]}, {"t": [0.5, 0.5 + 2e-9]}):
        with pytest.raises(ParameterError, match="sum to"):
            ShuffledPair(**({"P0": [0.5, 0.5], "P1": [0.5, 0.5], "t": [0.5, 0.5]} | bad))


def test_arrays_are_copied_and_frozen() -> None:
    P0 = np.array([0.5, 0.5])
    round_ = ShuffledPair(P0, [0.25, 0.75], [0.1, 0.1])
    P0[0] = 9.0
    assert np.asarray(round_.P0)[0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(round_.P0)[0] = 1.0


def test_equality_and_hash_follow_the_numbers() -> None:
    a, b = (ShuffledPair([0.5, 0.5], [0.25, 0.75], [0.1, 0.1]) for _ in range(2))
    c = ShuffledPair([0.5, 0.5], [0.25, 0.75], [0.1, 0.2])
    assert a == b and hash(a) == hash(b) and a != c and a != "round"
    assert len({a, b, c}) == 2


def test_swapped_exchanges_the_hypotheses() -> None:
    round_ = ShuffledPair([0.5, 0.5], [0.25, 0.75], [0.1, 0.2])
    other = round_.swapped()
    assert np.array_equal(other.P0, round_.P1) and np.array_equal(other.P1, round_.P0)
    assert np.array_equal(other.t, round_.t) and other.swapped() == round_


def test_a_symmetric_pair_is_its_other_direction_in_another_order() -> None:
    assert ShuffledPair([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.1, 0.1, 0.3]).symmetric
    assert not ShuffledPair([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.1, 0.2, 0.3]).symmetric
    assert not ShuffledPair([0.5, 0.3, 0.2], [0.25, 0.25, 0.5], [0.2, 0.2, 0.2]).symmetric


@pytest.mark.parametrize(
    ("P0", "P1", "ratio"),
    [
        ([0.75, 0.25], [0.25, 0.75], 3.0),
        ([0.5, 0.5], [0.5, 0.5], 1.0),
        ([0.5, 0.5], [0.0, 1.0], math.inf),
        ([0.0, 1.0], [0.5, 0.5], 2.0),
        ([0.0, 0.5, 0.5], [0.0, 0.25, 0.75], 2.0),
    ],
)
def test_max_ratio(P0: list[float], P1: list[float], ratio: float) -> None:
    assert ShuffledPair(P0, P1, [0.1] * len(P0)).max_ratio == ratio


def test_equal_symbols_are_one_atom() -> None:
    atoms = ShuffledPair([0.25, 0.25, 0.5], [0.125, 0.125, 0.75], [0.0625, 0.0625, 0.125]).atoms
    assert atoms.t.size == 2
    assert sorted(zip(atoms.u, atoms.v, atoms.t, strict=True)) == [(4.0, 2.0, 0.125), (4.0, 6.0, 0.125)]
    assert np.array_equal(atoms.gap, atoms.u - atoms.v)
    assert not atoms.zero0.size and not atoms.zero1.size


def test_symbols_nobody_else_sends_are_split_off() -> None:
    atoms = ShuffledPair([0.25, 0.25, 0.5], [0.5, 0.125, 0.375], [0.0, TINY / 2, 0.125]).atoms
    assert np.array_equal(atoms.u, [4.0])
    assert np.array_equal(atoms.zero0, [0.25, 0.25]) and np.array_equal(atoms.zero1, [0.5, 0.125])


def test_symbols_the_victim_never_sends_are_dropped() -> None:
    atoms = ShuffledPair([0.5, 0.5, 0.0, 0.0], [0.25, 0.75, 0.0, 0.0], [0.1, 0.2, 0.3, 0.0]).atoms
    assert atoms.t.size == 2 and not atoms.zero0.size


def test_values_keep_their_digits_near_eps_zero() -> None:
    atoms = ShuffledPair([0.5 + 2.0**-40, 0.5 - 2.0**-40], [0.5, 0.5], [0.25, 0.5]).atoms
    order = np.argsort(atoms.t)
    values = atoms.values(np.array([2.0**-45]))[0][order]
    tilt = math.expm1(2.0**-45) * 0.5
    assert values == pytest.approx([(2.0**-40 - tilt) / 0.25, (-(2.0**-40) - tilt) / 0.5], rel=1e-15)


def test_mean_of_x_is_one_minus_E() -> None:
    atoms = ShuffledPair([0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.1, 0.05, 0.3]).atoms
    for eps in (0.0, 0.3, 2.0):
        assert float(atoms.values(np.array([eps]))[0] @ atoms.t) == pytest.approx(-math.expm1(eps), abs=1e-14)
