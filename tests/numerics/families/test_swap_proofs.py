"""The choice of a proof: what it announces is what balls prove, and it does not take more nodes than it needs."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import shuffledp as sdp
from shuffledp.bounds import BOUNDS
from shuffledp.numerics.evaluators.certified_swap import MAX_NODES, prove
from shuffledp.numerics.families.swap import SwapPair
from shuffledp.numerics.families.swap_proofs import cap, propose


def member(eps0: float) -> SwapPair:
    (only,) = BOUNDS["swap-general"].family(sdp.General(eps0=eps0)).members(2)  # type: ignore[attr-defined]
    assert isinstance(only, SwapPair)
    return only


@pytest.mark.parametrize("share", [0.3, 0.7, 1.0])
@pytest.mark.parametrize("eps0", [0.5, 2.0, 4.0])
@pytest.mark.parametrize("n", [100, 10**4, 10**9])
def test_the_announced_delta_is_proved(n: int, eps0: float, share: float) -> None:
    pair = member(eps0)
    eps = share * sdp.amplify(f"general:eps0={eps0}", n=n, delta=1e-8, bound="swap-general").epsilon
    found = propose(pair, n, eps, 1e-8)
    proof = prove(pair.types, pair.common_mass, n, Fraction(eps), found.method)
    assert math.log(proof.upper) <= found.log_delta + 1e-6
    if n > 100 and found.method.nodes > 1:  # the blocks of waits are finer in the proof, which shows among few users
        assert math.log(proof.upper) >= found.log_delta - 0.05
    assert 0 <= found.method.nodes <= MAX_NODES


def test_the_slope_is_about_right() -> None:
    pair, n, eps = member(1.0), 10**4, 0.038
    low, high = (propose(pair, n, eps * x, 1e-300) for x in (0.99, 1.01))
    slope = (low.log_delta - high.log_delta) / (0.02 * eps)
    assert propose(pair, n, eps, 1e-300).fall == pytest.approx(slope, rel=0.2)


def test_no_node_where_the_first_one_is_enough_and_no_sum_where_the_user_alone_is() -> None:
    pair, n = member(1.0), 10**4
    assert propose(pair, n, 0.038, 1e-6).method.nodes > 1
    assert propose(pair, n, 0.05, 1e-6).method.nodes == 1
    assert propose(pair, n, 1.0, 1e-6).method.kind == "local"
    assert propose(pair, 1, 0.5, 1e-6).method.kind == "local"
    assert propose(SwapPair(pair.types, 0.0), n, 0.5, 1e-6).method.kind == "local"


def test_the_cap_proves_delta_zero() -> None:
    pair = member(1.0)
    top = cap([pair])
    found = propose(pair, 100, top, 1e-300)
    assert found.method.kind == "local" and 1.0 < top < 1.0 + 1e-10
    assert prove(pair.types, pair.common_mass, 100, Fraction(top), found.method).upper == 0
    assert cap([]) < 1e-10
