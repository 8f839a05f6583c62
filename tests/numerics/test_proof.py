"""Proofs in ball arithmetic against exact fractions: the upper end holds for any method, however foolish."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.asking import log_delta
from reference.fractions_oracle import round_enclosure
from reference.repetition import examples
from reference.rounds import Laws, rounds
from shuffledp.errors import CertificationError
from shuffledp.numerics.pair import ShuffledPair
from shuffledp.numerics.proof.pairs import Method, choose, prove

EPS = st.sampled_from([0.0, 0.01, 0.25, 1.0, 3.0])


def proved(laws: Laws, n: int, eps: float, method: Method) -> None:
    truth, _ = round_enclosure(*laws, n, eps)
    try:
        proof = prove(ShuffledPair(*laws), n, Fraction(eps), method)
    except CertificationError:
        return
    assert proof.upper >= truth, (laws, n, eps, method)
    assert proof.lower <= proof.upper


def width_of(laws: Laws, eps: float) -> float:
    """The range of X, in whose units a contour is foolish or not."""
    values = ShuffledPair(*laws).atoms.values(np.array([eps]))
    return float(np.abs(values).max()) if values.size else 1.0


@pytest.mark.heavy
@examples(150)
@given(
    rounds(most=3),
    st.integers(1, 6),
    EPS,
    st.floats(1e-4, 300.0),
    st.floats(1e-4, 10.0),
    st.floats(1e-4, 300.0),
    st.integers(1, 40),
    st.sampled_from([64, 200]),
)
def test_any_contour_is_an_upper_bound(
    laws: Laws, n: int, eps: float, c: float, s: float, h: float, nodes: int, bits: int
) -> None:
    width = width_of(laws, eps) or 1.0
    proved(laws, n, eps, Method("contour", bits, c=c / width, s=s * width, h=h / width, nodes=nodes))


@examples(100)
@given(rounds(most=3), st.integers(1, 6), EPS, st.integers(-2, 9), st.sampled_from([64, 200]))
def test_any_table_is_an_upper_bound(laws: Laws, n: int, eps: float, cap: int, bits: int) -> None:
    proved(laws, n, eps, Method("counts", bits, cap=cap))


@examples(60)
@given(rounds(most=4), st.integers(1, 6), EPS)
def test_one_user_alone_is_an_upper_bound(laws: Laws, n: int, eps: float) -> None:
    proved(laws, n, eps, Method("local", 128))


@examples(100)
@given(rounds(most=3), st.integers(1, 7), EPS)
def test_the_chosen_method_is_tight(laws: Laws, n: int, eps: float) -> None:
    r = ShuffledPair(*laws)
    low, high = round_enclosure(*laws, n, eps)
    proof = prove(r, n, Fraction(eps), choose(r, n, eps, 1e-4))
    assert low <= proof.upper
    assert float(proof.upper) <= float(high) * (1 + 1e-3) + 1e-11


@pytest.mark.parametrize("n", [10**3, 10**6, 10**9, 10**12])
@pytest.mark.parametrize("scale", [0.5, 2.0, 4.0, 6.0])
def test_the_contour_agrees_with_the_floating_point_bracket(n: int, scale: float) -> None:
    r = ShuffledPair(P0=[0.5, 0.2, 0.3], P1=[0.2, 0.5, 0.3], t=[0.2, 0.2, 0.3])
    eps = scale * 0.95 / n**0.5
    method = choose(r, n, eps, 1e-3)
    proof = prove(r, n, Fraction(eps), method)
    assert float(proof.upper) >= np.exp(log_delta(r, n, eps, 1e-3, "lower")) * (1 - 1e-12)
    assert float(proof.upper) <= np.exp(log_delta(r, n, eps, 1e-3, "upper")) * 1.01
    assert method.kind == "contour"


@pytest.mark.parametrize("kind", ["contour", "counts"])
def test_unusable_methods_are_refused_in_words(kind: str) -> None:
    r = ShuffledPair(P0=[0.5, 0.5], P1=[0.4, 0.6], t=[0.4, 0.5])
    bad = [
        Method("contour", 128),
        Method("contour", 128, c=1.0, s=1.0, h=1.0, nodes=0),
        Method("contour", 128, c=float("inf"), s=1.0, h=1.0, nodes=3),
        Method("contour", 128, c=float("nan"), s=1.0, h=1.0, nodes=3),
        Method("counts", 128, cap=10**9),
        Method("counts", 128, cap=-7),
    ]
    for method in bad:
        if method.kind == kind:
            with pytest.raises(CertificationError, match=r"\.$"):
                prove(r, 10**10, Fraction(1, 10), method)
