"""Mechanisms known by parameters only: their rounds, ranges and words."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shuffledp as sdp
from reference.repetition import examples

ratios = st.one_of(st.floats(1.0 + 1e-9, 1e6), st.sampled_from([1.5, 2.0, 3.0, math.inf]))


@examples(200)
@given(ratios, st.floats(0.0, 1.0), st.one_of(st.floats(1.0, 1e6), st.just(math.inf)))
def test_the_round_is_that_of_the_parameters(p: float, part: float, q: float) -> None:
    most = min(1.0 if math.isinf(p) else (p - 1.0) / (p + 1.0), q - 1.0)
    m = sdp.VariationRatio(p=p, beta=part * most, q=q)
    p0, p1, t = (np.asarray(a) for a in (m.pair().P0, m.pair().P1, m.pair().t))
    assert p0.sum() == pytest.approx(1.0, abs=1e-12)
    assert p0 == pytest.approx(p1[[1, 0, 2]])
    assert p0[0] - p0[1] == pytest.approx(m.beta, rel=1e-6, abs=1e-14)
    assert np.all(t * q >= np.maximum(p0, p1) - 1e-12) if math.isfinite(q) else not t.any()
    assert t.sum() <= 1.0 + 1e-12
    if math.isfinite(p) and m.beta > 1e-6:
        assert p0[0] / p0[1] == pytest.approx(p, rel=1e-6)
    published = np.asarray(m.published_pair().t)
    assert published.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.all(published[:2] == t[:2]) and published[2] >= t[2] - 1e-12


@pytest.mark.parametrize("eps0", [1e-9, 1e-4, 0.5, math.log(2), 1.0, 7.0, 40.0, 300.0, 500.0])
def test_general_has_an_answer_over_its_whole_range(eps0: float) -> None:
    g = sdp.amplify(sdp.General(eps0=eps0), n=1000, delta=1e-9)
    assert 0.0 <= g.epsilon <= eps0
    v = sdp.General(eps0=eps0).variation_ratio()
    assert v.p == v.q == math.exp(eps0)
    assert v.beta == pytest.approx(math.tanh(eps0 / 2), rel=1e-2)


def test_general_has_no_remainder() -> None:
    v = sdp.General(eps0=1.0).variation_ratio()
    assert v.pair() == v.published_pair() or np.allclose(np.asarray(v.pair().P0)[2], 0.0)


@examples(300)
@given(st.floats(1.0 + 1e-12, 1e300))
def test_the_local_guarantee_is_not_rounded_down(p: float) -> None:
    """delta is reported as 0 from local_epsilon on, so e^local_epsilon must not be below p."""
    m = sdp.VariationRatio(p=p, beta=0.0, q=2.0)
    low = _exp_below(m.local_epsilon)
    assert low >= Fraction(p) * (1 - Fraction(1, 10**30)), (p, m.local_epsilon)


def _exp_below(eps: float) -> Fraction:
    """A fraction at most 1e-40 (relative) above e^eps: if even this is below p, e^eps is."""
    from mpmath import mp, mpf

    with mp.workdps(60):
        x = mp.exp(mpf(eps)) * (1 + mpf(10) ** -40)
        _sign, mantissa, exponent, _ = x._mpf_
    return Fraction(int(mantissa)) * Fraction(2) ** exponent


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"p": 1.0, "beta": 0.0, "q": 2.0}, "p"),
        ({"p": 0.5, "beta": 0.0, "q": 2.0}, "p"),
        ({"p": math.nan, "beta": 0.0, "q": 2.0}, "p"),
        ({"p": "3", "beta": 0.0, "q": 2.0}, "p"),
        ({"p": True, "beta": 0.0, "q": 2.0}, "p"),
        ({"p": 3.0, "beta": -0.1, "q": 3.0}, "beta"),
        ({"p": 3.0, "beta": 0.51, "q": 3.0}, "beta"),
        ({"p": 3.0, "beta": 0.4, "q": 1.3}, "beta"),
        ({"p": math.inf, "beta": 1.1, "q": 3.0}, "beta"),
        ({"p": 3.0, "beta": math.nan, "q": 3.0}, "beta"),
        ({"p": 3.0, "beta": None, "q": 3.0}, "beta"),
        ({"p": 3.0, "beta": 0.1, "q": 0.9}, "q"),
        ({"p": 3.0, "beta": 0.1, "q": math.nan}, "q"),
    ],
)
def test_bad_parameters_are_named_in_one_sentence(values: dict[str, float], word: str) -> None:
    with pytest.raises(sdp.ParameterError, match=rf"^{word} must .*got .*\.$"):
        sdp.VariationRatio(**values)


@pytest.mark.parametrize("eps0", [0.0, -1.0, math.nan, math.inf, 501.0, "1", None, True, 1j])
def test_bad_eps0(eps0: object) -> None:
    with pytest.raises(sdp.ParameterError, match=r"^eps0 must .*got .*\.$"):
        sdp.General(eps0=eps0)  # type: ignore[arg-type]


def test_rounding_at_the_limit_is_forgiven() -> None:
    p = 3.7
    edge = (p - 1.0) / (p + 1.0)
    assert sdp.VariationRatio(p=p, beta=edge * (1 + 1e-13), q=p).beta == edge
    with pytest.raises(sdp.ParameterError):
        sdp.VariationRatio(p=p, beta=edge * (1 + 1e-10), q=p)


@pytest.mark.parametrize(
    "m",
    [
        sdp.General(eps0=0.1),
        sdp.General(eps0=1e-5),
        sdp.VariationRatio(p=3, beta=1 / 3, q=1e16),
        sdp.VariationRatio(p=math.inf, beta=1, q=math.inf),
        sdp.VariationRatio(p=1 + 2**-52, beta=0, q=1),
    ],
    ids=str,
)
def test_spec_pickle_and_equality_round_trip(m: sdp.General | sdp.VariationRatio) -> None:
    again = sdp.mechanism(m.spec)
    assert again == m and hash(again) == hash(m)
    assert pickle.loads(pickle.dumps(m)) == m
    with pytest.raises(AttributeError):
        m.eps0 = 3.0  # type: ignore[misc, union-attr]


def test_the_words_do_not_claim_more_than_was_asked() -> None:
    """A description rounds its numbers; a larger eps0 than given would be a claim about other randomizers."""
    text = sdp.General(eps0=1.23456789).description
    shown = float(text.removeprefix("the same ").split("-LDP")[0])
    assert shown <= 1.23456789
