"""Several analyses of one mechanism: the smallest that is sound counts, and says whose it is."""

from __future__ import annotations

import math

import numpy as np
import pytest

import shuffledp as sdp
from reference.randomizers import grr
from reference.swap_members import member
from shuffledp.numerics.families.base import PairSet
from shuffledp.numerics.families.smallest import Smallest
from shuffledp.numerics.families.swap import SwapSet
from shuffledp.numerics.pair import ShuffledPair


def both(q: int = 3) -> Smallest:
    """Binary randomized response by the swap bound and by its blanket."""
    swap = SwapSet([member(grr(2, q), pair) for pair in ((0, 1), (1, 0))])
    p, low = q / (q + 1.0), 1.0 / (q + 1.0)
    return Smallest({"swap": swap, "blanket": PairSet([ShuffledPair([p, low], [low, p], [low, low])])})


@pytest.mark.parametrize(
    ("q", "n", "delta"), [(3, 10_000, 1e-6), (3, 5, 0.05), (50, 200, 1e-4), (3, 100, 0.3), (2, 1, 0.1)]
)
def test_it_is_the_smaller_one(q: int, n: int, delta: float) -> None:
    found = both(q)
    each = {name: f.epsilon(n=n, delta=delta, tol=1e-5, side="upper").epsilon for name, f in found.families.items()}
    answer = found.epsilon(n=n, delta=delta, tol=1e-5, side="upper")
    assert answer.epsilon == pytest.approx(min(each.values()), rel=1e-3, abs=1e-12)
    assert answer.epsilon == each[answer.bound]


def test_where_free_users_are_few_the_blanket_is_better_and_later_the_swap_bound() -> None:
    assert both(50).epsilon(n=60, delta=1e-3, tol=1e-4, side="upper").bound == "blanket"
    assert both(3).epsilon(n=10_000, delta=1e-6, tol=1e-4, side="upper").bound == "swap"


def test_the_smaller_curve_at_every_eps() -> None:
    found, eps = both(), np.array([0.0, 0.01, 0.1, 0.5])
    each = [f.log_delta(eps, n=300, tol=1e-4, side="upper") for f in found.families.values()]
    assert found.log_delta(eps, n=300, tol=1e-4, side="upper") == pytest.approx(np.minimum(*each))
    assert found.pairs(100) is None


def test_thinned_members() -> None:
    whole, part = (
        f.epsilon(n=10_000, delta=1e-6, tol=1e-4, side="upper").epsilon for f in (both(), both().thinned(0.5))
    )
    assert whole < part < 2.0 * whole


def test_nothing_to_compare_is_no_claim() -> None:
    assert math.isinf(Smallest({}).epsilon(n=10, delta=0.1, tol=1e-3, side="upper").epsilon)


@pytest.mark.parametrize("spec", ["laplace:eps0=2", "general:eps0=1", "subset:eps0=2,d=8,k=2", "unary:eps0=2,d=4"])
@pytest.mark.parametrize("n", [20, 50, 120])
@pytest.mark.parametrize("delta", [1e-2, 1e-5])
def test_auto_is_the_smallest_of_all_where_few_users_are_free(spec: str, n: int, delta: float) -> None:
    """One look, or one type alone, decides whether the swap bound is searched for; it never loses by that."""
    swap = "swap-general" if spec.startswith("general") else "swap"
    rest = "variation-ratio" if spec.startswith("general") else "blanket"
    each = [sdp.amplify(spec, n=n, delta=delta, bound=name).epsilon for name in (swap, rest)]
    assert sdp.amplify(spec, n=n, delta=delta).epsilon <= min(each) * (1.0 + 1e-4)
