"""Every registered bound on every kind of mechanism: an answer or one sentence, in order, and monotone."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import shuffledp as sdp
from reference.randomizers import floats, grr
from reference.repetition import examples, slow
from shuffledp.bounds import BOUNDS, names
from shuffledp.mechanisms.base import Mechanism

TOL = 1e-4
RNG = np.random.default_rng(7)
OPEN = [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.2, 0.3, 0.5]]
MECHANISMS: dict[str, Mechanism] = {
    "general": sdp.General(eps0=1.5),
    "general-weak": sdp.General(eps0=30.0),
    "variation-ratio": sdp.VariationRatio(p=5.0, beta=0.3, q=7.0),
    "variation-ratio-no-remainder": sdp.VariationRatio(p=3.0, beta=0.5, q=3.0),
    "variation-ratio-inf": sdp.VariationRatio(p=math.inf, beta=0.7, q=4.0),
    "variation-ratio-bare": sdp.VariationRatio(p=math.inf, beta=1.0, q=math.inf),
    "variation-ratio-null": sdp.VariationRatio(p=2.0, beta=0.0, q=1.0),
    "grr": sdp.FiniteRandomizer(floats(grr(5, 8))),
    "random": sdp.FiniteRandomizer(RNG.dirichlet(np.ones(5), size=6)),
    "zeros": sdp.FiniteRandomizer(OPEN),
    "identity": sdp.FiniteRandomizer(np.eye(3)),
    "constant": sdp.FiniteRandomizer([[0.5, 0.5], [0.5, 0.5]]),
}
SENTENCE = {"lower": "this is a lower bound", "unsound": "not a proved bound"}


def answer(m: Mechanism, bound: str, **terms: float) -> sdp.Guarantee | None:
    try:
        return sdp.amplify(m, bound=bound, tol=TOL, **terms)  # type: ignore[arg-type]
    except sdp.BoundNotApplicableError as error:
        text = str(error)
        assert text.endswith(".") and "\n" not in text and len(text) < 300
        return None


@pytest.mark.slow_cases(
    "general-weak-swap-general-1000",
    "random-auto-1000",
    "random-swap-1000",
    "zeros-swap-1000",
    "zeros-swap-100000000",
)
@pytest.mark.parametrize("n", [1, slow(7), 1000, slow(10**8)])
@pytest.mark.parametrize("bound", names())
@pytest.mark.parametrize("kind", MECHANISMS)
def test_an_answer_or_one_sentence(kind: str, bound: str, n: int) -> None:
    m = MECHANISMS[kind]
    g = answer(m, bound, n=n, delta=1e-6)
    if g is None:
        assert bound != "auto"
        return
    assert g.epsilon >= 0.0
    assert g.epsilon <= m.local_epsilon * (1 + 1e-12)
    assert bound in ("auto", g.bound)
    text = str(g)
    assert text.startswith("With n = ") and text.endswith(".")
    if BOUNDS[g.bound].side == "lower":
        assert SENTENCE["lower"] in text
    elif not BOUNDS[g.bound].sound:
        assert SENTENCE["unsound"] in text
    else:
        assert g.lower is None or g.lower <= g.epsilon
    profile = sdp.profile(m, n=n, epsilon=[0.0, 0.5, 100.0], bound=bound, side=BOUNDS[g.bound].side)
    assert np.all((profile >= 0) & (profile <= 1)) and np.all(np.diff(profile) <= profile[:-1] * TOL)


@pytest.mark.parametrize("n", [2, 30, 10_000])
@pytest.mark.parametrize("kind", MECHANISMS)
def test_order(kind: str, n: int) -> None:
    m = MECHANISMS[kind]
    chain = ["variation-ratio-lower", "blanket", "variation-ratio", "general", "local"]
    found = [g.epsilon for g in (answer(m, name, n=n, delta=1e-6) for name in chain) if g is not None]
    for tighter, looser in itertools.pairwise(found):
        assert tighter <= looser * (1 + 1.1 * TOL)
    best = answer(m, "auto", n=n, delta=1e-6)
    assert best is not None and best.epsilon <= min(found[1:] or found) * (1 + 1.1 * TOL)


@pytest.mark.parametrize("kind", ["variation-ratio-inf", "variation-ratio-bare", "zeros", "identity"])
@pytest.mark.parametrize("bound", ["general", "local"])
def test_eps0_alone_says_nothing_where_it_is_infinite(kind: str, bound: str) -> None:
    """A bound that knows only eps0 = inf cannot promise anything: eps = inf."""
    assert sdp.amplify(MECHANISMS[kind], n=1000, delta=1e-6, bound=bound).epsilon == math.inf
    remains = 1.0 if bound == "general" else MECHANISMS[kind].variation_ratio().beta  # one report alone reveals no more
    assert sdp.profile(MECHANISMS[kind], n=1000, epsilon=100.0, bound=bound) == pytest.approx(remains, rel=1e-9)


def test_local_means_no_shuffling_in_both_questions() -> None:
    """The profile of bound 'local' is that of one report alone, whatever n is."""
    one = sdp.profile("general:eps0=1", n=1, epsilon=[0.0, 0.3, 0.9], bound="general", tol=1e-6)
    many = sdp.profile("general:eps0=1", n=10_000, epsilon=[0.0, 0.3, 0.9], bound="local", tol=1e-6)
    assert many == pytest.approx(one, rel=1e-5)


parameters = st.tuples(
    st.floats(1.05, 60.0),  # p
    st.floats(0.02, 1.0),  # beta as a part of its largest value
    st.floats(1.1, 60.0),  # q
    st.integers(2, 10**7),  # n
    st.integers(5, 12),  # -log10 delta
)


def variation(p: float, part: float, q: float) -> sdp.VariationRatio:
    return sdp.VariationRatio(p=p, beta=part * min((p - 1) / (p + 1), q - 1), q=q)


def eps_of(m: Mechanism, n: int, delta: float) -> float:
    return sdp.amplify(m, n=n, delta=delta, tol=TOL).epsilon


@pytest.mark.heavy
@examples(40)
@given(parameters, st.floats(1.01, 3.0))
def test_monotone_in_n_delta_p_beta_and_q(drawn: tuple[float, float, float, int, int], more: float) -> None:
    p, part, q, n, digits = drawn
    m, delta = variation(p, part, q), 10.0**-digits
    here = eps_of(m, n, delta)
    assert eps_of(m, int(n * more) + 1, delta) <= here * (1 + 1.1 * TOL)
    assert eps_of(m, n, min(delta * more, 0.9)) <= here * (1 + 1.1 * TOL)
    room = min((p - 1) / (p + 1), q - 1)
    for larger in (
        sdp.VariationRatio(p=p * more, beta=m.beta, q=q),
        sdp.VariationRatio(p=p, beta=m.beta, q=q * more),
        sdp.VariationRatio(p=p, beta=min(m.beta * more, room), q=q),
    ):
        assert here <= eps_of(larger, n, delta) * (1 + 1.1 * TOL)


@pytest.mark.slow
@examples(30)
@given(st.floats(0.01, 12.0), st.floats(1.01, 2.0), st.integers(1, 10**9), st.integers(2, 12))
def test_general_is_monotone_in_eps0(eps0: float, more: float, n: int, digits: int) -> None:
    small, large = (eps_of(sdp.General(eps0=e), n, 10.0**-digits) for e in (eps0, eps0 * more))
    assert small <= large * (1 + 1.1 * TOL)


@pytest.mark.heavy
@examples(30)
@given(parameters)
def test_delta_falls_with_eps_and_n(drawn: tuple[float, float, float, int, int]) -> None:
    p, part, q, n, _ = drawn
    m = variation(p, part, q)
    assume(m.beta > 0)
    grid = np.linspace(0.0, math.log(p), 6)
    here, later = (sdp.profile(m, n=k, epsilon=grid, tol=TOL) for k in (n, 2 * n))
    assert np.all(here[1:] <= here[:-1] * (1 + 1.1 * TOL))
    assert np.all(later <= here * (1 + 1.1 * TOL))
    lower = sdp.profile(m, n=n, epsilon=grid, tol=TOL, side="lower")
    assert np.all(lower <= here)


@pytest.mark.parametrize(("p", "beta", "q"), [(3.0, 0.2, 9.0), (1.5, 0.1, 40.0), (3.0, 0.5, 3.0), (20.0, 0.3, 4.0)])
def test_eps0_of_the_crowd_is_not_that_of_the_victim(p: float, beta: float, q: float) -> None:
    """q may exceed p: a bound from eps0 alone must take it from the crowd."""
    m = sdp.VariationRatio(p=p, beta=beta, q=q)
    for n in (50, 10**6):
        specific = sdp.amplify(m, n=n, delta=1e-6, bound="variation-ratio")
        assert specific.lower is not None
        assert sdp.amplify(m, n=n, delta=1e-6, bound="general").epsilon >= specific.lower
