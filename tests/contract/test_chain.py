"""lower <= truth <= blanket <= variation-ratio <= general, the truth by brute force in exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest

import shuffledp as sdp
from reference.fractions_oracle import exp_enclosure
from reference.randomizers import Matrix, Truth, floats, grr, random_matrix

EPSILONS = [0.0, 0.05, 0.3, 1.0, 2.5]
DELTAS = [0.3, 1e-2, 1e-6]
UPPER = ["blanket", "variation-ratio", "general"]
TOL = 1e-4
#: The error of every bound goes up by at most tol, so a looser bound may come out lower by this much.
ROOM = 1 + 1.1 * TOL


def check_delta(matrix: Matrix, n: int, truth: Truth) -> None:
    m = sdp.FiniteRandomizer(floats(matrix))
    lower = sdp.profile(m, n=n, epsilon=EPSILONS, side="lower", tol=TOL)
    two = sdp.profile(m, n=n, epsilon=EPSILONS, side="lower", bound="variation-ratio-lower", tol=TOL)
    upper = {name: sdp.profile(m, n=n, epsilon=EPSILONS, bound=name, tol=TOL) for name in UPPER}
    for i, eps in enumerate(EPSILONS):
        below, above = exp_enclosure(eps)
        low, high = truth.divergence(above), truth.divergence(below)  # around the true D at e^eps
        where = (n, matrix, eps, float(low))
        assert Fraction(lower[i]) <= high, where
        assert Fraction(two[i]) <= high, where
        for name in UPPER:
            assert Fraction(upper[name][i]) >= low, (name, upper[name][i], *where)
    assert np.all(upper["blanket"] <= upper["variation-ratio"] * ROOM + 5e-324)
    assert np.all(upper["variation-ratio"] <= upper["general"] * ROOM + 5e-324)


def check_epsilon(matrix: Matrix, n: int, truth: Truth) -> None:
    m = sdp.FiniteRandomizer(floats(matrix))
    for delta in DELTAS:
        exact = truth.ratio(Fraction(delta))
        true_eps = math.inf if exact is None else math.log(exact[0])
        answers = {name: sdp.amplify(m, n=n, delta=delta, bound=name, tol=TOL) for name in UPPER}
        where = (n, matrix, delta, true_eps)
        for name, answer in answers.items():
            if math.isinf(answer.epsilon):
                continue
            above = exp_enclosure(answer.epsilon)[1]
            assert truth.divergence(above) <= Fraction(delta), (name, answer.epsilon, *where)
            assert answer.epsilon >= true_eps * (1 - 1e-15), (name, answer.epsilon, *where)
        lower = answers["blanket"].lower
        assert lower is not None
        assert lower <= true_eps * (1 + 1e-15), where
        if 0 < lower < math.inf:
            assert truth.divergence(exp_enclosure(lower)[0]) >= Fraction(delta), (lower, *where)
        eps = [answers[name].epsilon for name in UPPER]
        # where eps is 0 up to rounding (delta meets delta(0)) the slack of the laws decides, or a search ends next to 0
        room = 1e-6 if true_eps == 0.0 else 1e-11
        assert eps[0] <= eps[1] * ROOM + room, (eps, *where)
        assert eps[1] <= eps[2] * ROOM + room, (eps, *where)


def check_many(seed: int, pairs: int) -> None:
    rng, seen = Random(seed), 0
    while seen < pairs:
        matrix, n = random_matrix(rng), rng.choice([1, 2, 3, 4])
        truth = Truth(matrix, n)
        seen += len(truth.pairs)
        check_delta(matrix, n, truth)
        check_epsilon(matrix, n, truth)


@pytest.mark.heavy
@pytest.mark.slow_cases("1", "2", "3")
@pytest.mark.parametrize("seed", range(4))
def test_chain_on_random_randomizers(seed: int) -> None:
    check_many(seed, 120)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_chain_on_many_random_randomizers(seed: int) -> None:
    check_many(seed, 400)


@pytest.mark.slow_cases("grr3-3", "grr3-4", "grr3-weak-2", "grr3-weak-3", "grr3-weak-4")
@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize(
    "matrix",
    [
        grr(2, 3),
        grr(3, 2),
        grr(3, 1000),
        [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]],  # tells everything
        [[Fraction(1, 2), Fraction(1, 2), Fraction(0)], [Fraction(0), Fraction(1, 2), Fraction(1, 2)]],
        [[Fraction(1, 3)] * 3, [Fraction(1, 3)] * 3],  # tells nothing
        [[Fraction(1)], [Fraction(1)]],
        [[Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)], [Fraction(1, 6), Fraction(1, 6), Fraction(2, 3)]],
    ],
    ids=["coin", "grr3", "grr3-weak", "identity", "half-open", "constant", "one-output", "equal-columns"],
)
def test_chain_on_chosen_randomizers(matrix: Matrix, n: int) -> None:
    truth = Truth(matrix, n)
    check_delta(matrix, n, truth)
    check_epsilon(matrix, n, truth)
