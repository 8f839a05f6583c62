"""Binary randomized response under other names has its exact answer; what only looks like it has not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from reference.small_rounds import worst

KEEP = 1.0 / (1.0 + math.exp(-1.0))
ALIKE = [
    sdp.GRR(eps0=1.0, d=2),
    sdp.Duchi(eps0=1.0, dim=1),
    sdp.Harmony(eps0=1.0, dim=1),
    sdp.Levels(eps0=1.0, d=2),
    sdp.FiniteRandomizer([[KEEP, 1.0 - KEEP], [1.0 - KEEP, KEEP]]),
    sdp.FiniteRandomizer([[1.0 - KEEP, KEEP], [KEEP, 1.0 - KEEP]]),
]
OTHERS = [
    sdp.GRR(eps0=1.0, d=3),
    sdp.Harmony(eps0=1.0, dim=2),
    sdp.FiniteRandomizer([[0.75, 0.25], [0.3, 0.7]]),
    sdp.FiniteRandomizer([[0.5, 0.5], [0.5, 0.5]]),
    sdp.FiniteRandomizer([[1.0, 0.0], [0.0, 1.0]]),
    sdp.Window(eps0=1.0, d=3, cells=1),
]


@pytest.mark.heavy
@pytest.mark.slow_cases("finite*", "harmony*")
@pytest.mark.slow_cases("duchi:*", "levels:*", "finite:*1")
@pytest.mark.parametrize("m", ALIKE, ids=lambda m: m.spec)
def test_the_exact_answer_of_binary_randomized_response(m: Any) -> None:
    found = sdp.amplify(m, n=40, delta=0.05)
    truth = sdp.amplify("randomized-response:eps0=1", n=40, delta=0.05)
    assert found.epsilon == pytest.approx(0.0399, abs=5e-5) and found.epsilon == pytest.approx(truth.epsilon, rel=1e-9)
    assert found.bound == "binary" and found.lower == pytest.approx(truth.lower, rel=1e-9)
    by_name = [sdp.amplify(m, n=40, delta=0.05, bound=b).epsilon for b in ("binary", "swap", "blanket")]
    assert by_name[0] == found.epsilon < min(by_name[1:])
    ours, theirs = (sdp.Accountant().compose(x, n=40, count=2).epsilon(delta=0.05) for x in (m, truth.mechanism))
    assert ours <= theirs * (1 + 1e-3)


@pytest.mark.parametrize("m", ALIKE[:-1], ids=lambda m: m.spec)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_it_is_the_largest_over_all_datasets(m: Any, n: int) -> None:
    eps = [0.0, 0.1, 0.5, 0.9]
    truth = np.array(worst(m.probabilities(), n, np.exp(eps).tolist()))
    found = sdp.profile(m, n=n, epsilon=eps, bound="binary")
    assert np.all(truth <= found * (1 + 1e-12)) and found == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize(("n", "eps0", "bound"), [(256, 1.0, "binary"), (1000, 4.0, "binary"), (10**6, 1.0, "swap")])
def test_every_name_has_one_answer(n: int, eps0: float, bound: str) -> None:
    named = (sdp.RandomizedResponse(eps0=eps0), sdp.GRR(eps0=eps0, d=2), sdp.Duchi(eps0=eps0, dim=1))
    first, *others = (sdp.amplify(m, n=n, delta=1e-6) for m in (*named, sdp.Levels(eps0=eps0, d=2)))
    assert first.bound == bound
    for other in others:
        assert other.bound == bound and other.epsilon == pytest.approx(first.epsilon, rel=1e-9)
        assert other.lower == pytest.approx(first.lower, rel=1e-9)
    if eps0 == 4.0:
        assert first.epsilon == pytest.approx(1.691, abs=5e-4)


def test_many_users_have_the_other_bounds() -> None:
    with pytest.raises(
        sdp.BoundNotApplicableError, match=r"'binary' holds for up to 27,887 users of grr:.*, got 30,000;"
    ):
        sdp.amplify("grr:eps0=1,d=2", n=30_000, delta=1e-4, bound="binary")
    with pytest.raises(
        sdp.BoundNotApplicableError, match=r"'binary' is for binary randomized response.*grr is another"
    ):
        sdp.amplify("grr:eps0=1,d=3", n=30, delta=1e-4, bound="binary")
    # dropouts leave fewer users
    fewer = sdp.amplify("grr:eps0=1,d=2", n=60, delta=0.05, dropouts=20)
    assert fewer.epsilon == sdp.amplify("grr:eps0=1,d=2", n=40, delta=0.05).epsilon


@pytest.mark.parametrize("m", OTHERS, ids=lambda m: m.spec)
def test_what_only_looks_alike_is_not_taken_for_it(m: Any) -> None:
    assert m._binary_budget is None
