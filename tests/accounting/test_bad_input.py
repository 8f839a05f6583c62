"""Every bad input of amplify and profile: one sentence that names the parameter."""

from __future__ import annotations

import math

import numpy as np
import pytest

import shuffledp as sdp
from reference.refusals import refused

GOOD = {"n": 100, "delta": 1e-6}


def short(value: object) -> str:
    """A name for a test that is the same in every process."""
    return "object" if type(value) is object else repr(value)[:12]


@pytest.mark.parametrize(
    "n",
    [
        0,
        -1,
        10.5,
        True,
        "ten",
        math.nan,
        math.inf,
        -math.inf,
        10**15 + 1,
        10**400,
        None,
        [10.5],
        1j,
        np.array([-5]),
        b"1",
        [],
        [None],
        ["a"],
    ],
    ids=short,
)
def test_n(n: object) -> None:
    refused("^n must ", sdp.amplify, "general:eps0=1", n=n, delta=1e-6)
    refused("^n must ", sdp.profile, "general:eps0=1", n=n, epsilon=0.1)


@pytest.mark.parametrize(
    "delta",
    [0, 1, 0.0, 1.0, -1e-9, 2, math.nan, math.inf, "1e-6", None, True, [2.0], [1e-6, math.nan], 1j, 10**400],
    ids=short,
)
def test_delta(delta: object) -> None:
    refused("^delta must ", sdp.amplify, "general:eps0=1", n=10, delta=delta)


@pytest.mark.parametrize("tol", [0, -1e-4, 1e-9, 0.5, 1, math.nan, "1e-4", None, True])
def test_tol(tol: object) -> None:
    refused("^tol must ", sdp.amplify, "general:eps0=1", **GOOD, tol=tol)
    refused("^tol must ", sdp.profile, "general:eps0=1", n=10, epsilon=0.1, tol=tol)


@pytest.mark.parametrize(
    "epsilon",
    [
        -0.1,
        math.nan,
        math.inf,
        [0.1, -1],
        [0.1, math.nan],
        "abc",
        "0.1",
        None,
        1j,
        [[1], [1, 2]],
        {"a": 1},
        object(),
        ["x"],
    ],
    ids=short,
)
def test_epsilon(epsilon: object) -> None:
    refused("^epsilon must ", sdp.profile, "general:eps0=1", n=10, epsilon=epsilon)


@pytest.mark.parametrize(
    "orders", [1.0, -2, math.nan, math.inf, 1e16, "2", np.datetime64("2020"), [2, 1], 10**400], ids=short
)
def test_orders(orders: object) -> None:
    refused("^orders must ", sdp.renyi, "general:eps0=1", n=10, orders=orders)


def test_a_long_epsilon_is_not_printed_in_full() -> None:
    refused("^epsilon must ", sdp.profile, "general:eps0=1", n=10, epsilon=[*np.linspace(0, 1, 1000).tolist(), -1.0])


@pytest.mark.parametrize("side", ["both", "", None, 1, ["upper"], np.array([])], ids=short)
def test_side(side: object) -> None:
    refused("^(side must |unknown side )", sdp.profile, "general:eps0=1", n=10, epsilon=0.1, side=side)


@pytest.mark.parametrize(
    "bound", ["blankt", "", "Blanket", None, 3, ["blanket"], b"blanket", np.array(["auto"] * 2)], ids=short
)
def test_bound(bound: object) -> None:
    refused("bound", sdp.amplify, "general:eps0=1", **GOOD, bound=bound)
    refused("bound", sdp.profile, "general:eps0=1", n=10, epsilon=0.1, bound=bound)


def test_the_nearest_bound_is_suggested() -> None:
    refused("did you mean 'blanket'", sdp.amplify, "general:eps0=1", **GOOD, bound="blankt")


@pytest.mark.parametrize("m", [None, 3, [[0.5, 0.5], [0.4, 0.6]], np.eye(2), sdp.General, object()], ids=short)
def test_mechanism(m: object) -> None:
    refused("^mechanism must ", sdp.amplify, m, **GOOD)
    refused("^mechanism must ", sdp.profile, m, n=10, epsilon=0.1)


def test_a_single_number_in_an_array_is_no_list() -> None:
    one = np.array(100)
    refused("^n must be a list", sdp.batch_table, "general:eps0=1", n=one, delta=1e-6)
    refused("^bounds must be a list", sdp.compare, "general:eps0=1", **GOOD, bounds=one)
    refused("^classes must be a list", sdp.amplify_mixed, one, delta=1e-6)
    refused("^inputs must be a list", sdp.audit, "grr:eps0=1,d=3", inputs=one)
    refused("^edges must be a number of cells or a list", sdp.Gaussian, sigma=1.0, edges=one)


def test_a_matrix_as_a_mechanism_is_told_what_to_do() -> None:
    refused("FiniteRandomizer", sdp.amplify, [[0.5, 0.5], [0.4, 0.6]], **GOOD)


def test_not_applicable_is_said_for_every_kind() -> None:
    for m, bound in (
        (sdp.General(eps0=1), "blanket"),
        (sdp.General(eps0=1), "variation-ratio-lower"),
        (sdp.VariationRatio(p=3, beta=0.5, q=3), "blanket"),
        (sdp.ShuffledPair([0.5, 0.5], [0.4, 0.6], [0.4, 0.5]), "variation-ratio"),
    ):
        with pytest.raises(sdp.BoundNotApplicableError, match=r"^[^\n]*\.$"):
            sdp.amplify(m, **GOOD, bound=bound)


@pytest.mark.parametrize(
    ("laws", "words"),
    [
        (([0.5, 0.5], [0.5, 0.5], [0.5]), "same number"),
        (([], [], []), "at least one"),
        (([0.5, 0.4], [0.5, 0.5], [0.1, 0.1]), "^P0 must sum"),
        (([0.5, 0.5], [0.6, 0.5], [0.1, 0.1]), "^P1 must sum"),
        (([0.5, 0.5], [0.5, 0.5], [0.9, 0.2]), "^t must sum"),
        (([0.5, 0.5], [0.5, 0.5], [-0.1, 0.2]), "^t must"),
        (([math.nan, 0.5], [0.5, 0.5], [0.1, 0.2]), "^P0 must"),
        (([[0.5, 0.5]], [0.5, 0.5], [0.1, 0.2]), "^P0 must"),
        (("ab", [0.5, 0.5], [0.1, 0.2]), "^P0 must"),
        ((None, [0.5, 0.5], [0.1, 0.2]), "^P0 must"),
    ],
    ids=short,
)
def test_round(laws: tuple[object, object, object], words: str) -> None:
    refused(words, sdp.ShuffledPair, *laws)


def test_a_class_is_not_yet_a_mechanism() -> None:
    refused(r"got the class GRR; call it with its parameters, GRR\(\.\.\.\)\.$", sdp.amplify, sdp.GRR, **GOOD)


@pytest.mark.parametrize("name", ["dropouts", "colluding"])
def test_a_negative_number_of_users(name: str) -> None:
    refused(
        f"^{name} must be a number .*got -1; pass how many there may be", sdp.amplify, "grr:1,4", **GOOD, **{name: -1}
    )
