"""Approximate answers: close to the exact ones where they are given, and None where nothing is known quickly."""

from __future__ import annotations

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.accounting.crowd import Crowd
from shuffledp.accounting.resolve import resolve
from shuffledp.numerics.evaluators.choose import Divergence
from shuffledp.numerics.families import rough
from shuffledp.numerics.families.message_counts import Count
from shuffledp.numerics.families.mixture import among
from shuffledp.numerics.families.smallest import Smallest
from shuffledp.numerics.families.swap import SwapPair, SwapSet
from shuffledp.numerics.guess import guess_log_delta
from shuffledp.numerics.pair import ShuffledPair

COIN = ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])


@pytest.mark.parametrize(("n", "eps"), [(1_000, 0.1), (10**5, 0.0142), (10**9, 1.4e-4), (10**9, 1e-3)])
def test_the_saddle_point_is_close_to_the_divergence(n: int, eps: float) -> None:
    bracket = Divergence(COIN, n, "upper").bracket(np.array([eps]), 1e-4)
    assert guess_log_delta(COIN.atoms, n, eps) == pytest.approx(float(bracket.upper[0]), abs=0.02)


def test_nothing_is_said_where_a_symbol_reveals_the_victim_or_nothing_does() -> None:
    exposed = ShuffledPair(P0=[0.7, 0.2, 0.1], P1=[0.2, 0.8, 0.0], t=[0.2, 0.2, 0.0])
    assert guess_log_delta(exposed.atoms, 1000, 0.1) is None
    assert guess_log_delta(COIN.atoms, 1000, 1.2) is None  # X is never above 0
    assert rough.log_delta(among([COIN], lambda n: Count(n, ((n, 0.5),))), 0.1, 1000) is None
    assert rough.largest([COIN, exposed], 1000, 0.1) is None
    assert rough.largest([], 1000, 0.1) is None


@pytest.mark.parametrize(
    ("spec", "n", "eps"),
    [
        ("general:eps0=8", 10**6, 0.5),
        ("grr:eps0=9.69,d=64", 10**6, 1.0),
        ("laplace:eps0=2.4457", 10**3, 0.3),
        ("laplace:eps0=6.5136", 10**6, 0.1),
        ("randomized-response:eps0=6.0988", 10**6, 0.1),
        ("hadamard:eps0=5,d=1024", 10**6, 0.1),
        ("subset:eps0=8.3,d=1000000,k=15", 10**6, 0.1),
    ],
)
def test_mechanisms_are_answered_within_a_few_percent_of_delta(spec: str, n: int, eps: float) -> None:
    question = resolve(spec, "auto", Crowd(n))
    exact = float(question.log_delta(np.array([eps]), tol=1e-3)[0])
    assert question.rough_log_delta(eps) == pytest.approx(exact, abs=0.1)


def test_several_reports_and_formulas_have_no_approximation() -> None:
    assert resolve("grr:eps0=1,d=4", "auto", Crowd.of(1000, reports_per_user=2)).rough_log_delta(0.5) is None
    assert resolve("general:eps0=1", "clone-closed", Crowd(10**6)).rough_log_delta(0.5) is None


def test_few_free_users_leave_the_swap_bound_unknown() -> None:
    swap = SwapSet([SwapPair((COIN,), 0.01)])
    assert swap.rough_log_delta(0.1, 1000) is None
    assert SwapSet([SwapPair((COIN,), 0.5)]).rough_log_delta(0.1, 1000) is not None


def test_profiles_at_one_eps_are_those_of_all_analyses() -> None:
    for spec, n in (("laplace:eps0=3", 10**4), ("subset:eps0=3,d=16,k=2", 500), ("general:eps0=6", 10**5)):
        whole = resolve(spec, "auto", Crowd(n))
        if isinstance(whole.family, Smallest):
            each = [resolve(spec, name, Crowd(n)) for name in whole.family.families]
            least = min(float(q.log_delta(np.array([0.2]), tol=1e-3)[0]) for q in each)
            assert float(whole.log_delta(np.array([0.2]), tol=1e-3)[0]) == pytest.approx(least, abs=1e-9)
    assert sdp.profile("general:eps0=6", n=10**5, epsilon=0.2) > 0.0
