"""amplify and profile: what they promise for every good input."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shuffledp as sdp
from reference.repetition import examples, slow

COIN = sdp.FiniteRandomizer([[0.75, 0.25], [0.25, 0.75]])
MECHANISMS = [
    "general:eps0=1",
    "general:eps0=6",
    "variation-ratio:p=5,beta=0.2,q=9",
    "variation-ratio:p=inf,beta=0.7,q=4",
    COIN,
    sdp.FiniteRandomizer([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6], [0.3, 0.4, 0.3]]),
    sdp.FiniteRandomizer([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]),
]
NAMES = ["general1", "general6", "ratio", "ratio-inf", "coin", "finite3", "open"]


@pytest.mark.slow_cases("*-50-finite3")
@pytest.mark.parametrize("m", MECHANISMS, ids=NAMES)
@pytest.mark.parametrize("n", [1, slow(2), 50, slow(10_000), 10**9])
@pytest.mark.parametrize("delta", [0.3, 1e-4, 1e-12])
def test_round_trip(m: object, n: int, delta: float) -> None:
    g = sdp.amplify(m, n=n, delta=delta)  # type: ignore[arg-type]
    if math.isinf(g.epsilon):
        assert sdp.profile(m, n=n, epsilon=150.0, side="lower") >= delta * 0.99  # type: ignore[arg-type]
        return
    assert float(sdp.profile(m, n=n, epsilon=g.epsilon, tol=1e-7)) <= delta * (1 + 1e-6)  # type: ignore[arg-type]
    assert g.lower is not None and 0.0 <= g.lower <= g.epsilon
    if 0 < g.lower < math.inf:
        assert float(sdp.profile(m, n=n, epsilon=g.lower, side="lower", tol=1e-7)) >= delta * (1 - 1e-3)  # type: ignore[arg-type]


@pytest.mark.slow_cases("*-general6")
@pytest.mark.parametrize("m", MECHANISMS[:6], ids=NAMES[:6])
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-5, 1e-7])
def test_tol_is_respected(m: object, tol: float) -> None:
    fine = sdp.amplify(m, n=3000, delta=1e-6, tol=1e-7).epsilon  # type: ignore[arg-type]
    coarse = sdp.amplify(m, n=3000, delta=1e-6, tol=tol).epsilon  # type: ignore[arg-type]
    assert fine * (1 - 1e-7) <= coarse <= fine * (1 + tol)
    grid = [0.01, 0.1]
    exact, rough = (sdp.profile(m, n=3000, epsilon=grid, tol=x) for x in (1e-7, tol))  # type: ignore[arg-type]
    assert np.all(exact * (1 - 1e-6) <= rough) and np.all(rough <= exact * (1 + 2 * tol))


@pytest.mark.parametrize("m", ["general:eps0=1", COIN, MECHANISMS[5]], ids=["general", "coin", "finite3"])
@pytest.mark.parametrize("side", ["upper", "lower"])
@pytest.mark.parametrize("shape", [(), (1,), (3,), (0,), (2, 3), (1, 2, 2)])
def test_profile_keeps_the_shape(m: object, side: str, shape: tuple[int, ...]) -> None:
    eps = np.full(shape, 0.25)
    out = sdp.profile(m, n=100, epsilon=eps, side=side)  # type: ignore[arg-type]
    assert isinstance(out, np.ndarray) and out.shape == shape and out.dtype == np.float64
    if out.size:
        assert np.all(out == out.flat[0])


@pytest.mark.parametrize("eps", [0, 1, 0.5, np.float32(0.5), np.int64(1), [0, 1], (0.1, 0.2), range(3), np.arange(3)])
def test_profile_takes_any_numbers(eps: object) -> None:
    out = sdp.profile("general:eps0=2", n=10, epsilon=eps)  # type: ignore[arg-type]
    assert out.shape == np.shape(eps)


@pytest.mark.parametrize("n", [1000, 1e3, np.int64(1000), np.float64(1000)])
def test_any_whole_number_of_users(n: int) -> None:
    g = sdp.amplify(COIN, n=n, delta=1e-6)
    assert g.n == 1000 and type(g.n) is int
    assert g == sdp.amplify(COIN, n=1000, delta=1e-6)


def test_one_user_has_the_local_guarantee() -> None:
    g = sdp.amplify(COIN, n=1, delta=1e-15)
    assert math.log(3) * (1 - 1e-6) <= g.epsilon <= g.local_epsilon <= math.log(3) * (1 + 1e-12)
    # exactly: 0.75 - E 0.25 = delta
    assert sdp.amplify(COIN, n=1, delta=0.25).epsilon == pytest.approx(math.log(2), rel=1e-4)
    low = sdp.amplify("general:eps0=1", n=1, delta=0.4)
    assert low.lower == pytest.approx(low.epsilon, rel=1e-3)  # at n = 1 randomized response attains it


@pytest.mark.heavy
def test_extremes() -> None:
    assert 0 < sdp.amplify("general:eps0=1", n=10**15, delta=1e-17).epsilon < 1e-6
    assert 0 < sdp.amplify(COIN, n=10**15, delta=1e-300).epsilon < 1e-5
    tiny = sdp.amplify("general:eps0=1", n=10**6, delta=1e-300)
    assert 0.01 < tiny.epsilon < 1.0
    assert sdp.amplify("general:eps0=1", n=100, delta=1e-300).epsilon <= 1.0
    assert sdp.amplify("general:eps0=1", n=100, delta=5e-324).epsilon <= 1.0
    assert sdp.amplify("general:eps0=1", n=100, delta=0.999).epsilon == 0.0
    assert sdp.amplify("general:eps0=500", n=10**15, delta=1e-9).epsilon == 500.0


@pytest.mark.parametrize(
    ("m", "n"),
    [
        (sdp.VariationRatio(p=16.75, beta=0.0177, q=48.3), 2_185_566),
        (sdp.VariationRatio(p=1.05, beta=0.0004878, q=10.2), 4_399_870),
        (sdp.General(eps0=1.0), 10**6),
    ],
    ids=str,
)
def test_eps_is_0_at_once_where_delta_exceeds_delta_of_0(m: sdp.General, n: int) -> None:
    g = sdp.amplify(m, n=n, delta=0.01)
    assert g.epsilon == 0.0 and g.lower == 0.0


@pytest.mark.parametrize("n", [1, 2, 10, 40])
def test_no_finite_eps_is_said_in_words(n: int) -> None:
    m = sdp.VariationRatio(p=math.inf, beta=1.0, q=2.0)
    g = sdp.amplify(m, n=n, delta=0.9 * 0.5 ** (n - 1))  # the floor of delta is beta (1 - 1/q)^(n-1)
    assert g.epsilon == math.inf
    assert "no finite eps" in str(g) and "nothing remains" in str(g)
    assert g.to_dict()["epsilon"] == "inf"


@pytest.mark.slow_cases("300")
@pytest.mark.parametrize("n", [10, 40, 100, 300, 1000])
def test_a_finite_eps_just_above_the_floor(n: int) -> None:
    """At 1.01 times the floor of delta there is a finite eps: "no finite eps" would be a false sentence."""
    m = sdp.VariationRatio(p=math.inf, beta=0.7, q=4.0)
    g = sdp.amplify(m, n=n, delta=1.01 * 0.7 * 0.75 ** (n - 1))
    assert 0 < g.epsilon < 30.0


@pytest.mark.slow_cases("weak-1000000")
@pytest.mark.parametrize("n", [2, 10, 100, 1000, 10**6])
@pytest.mark.parametrize(
    "m",
    [MECHANISMS[3], MECHANISMS[6], "general:eps0=500", sdp.FiniteRandomizer(np.eye(2))],
    ids=["inf", "open", "weak", "identity"],
)
def test_the_profile_at_huge_eps(m: object, n: int) -> None:
    """e^eps overflows past 709; the profile must neither crash nor fall below what remains for ever, nor rise."""
    grid = [1.0, 20.0, 60.0, 200.0, 360.0, 700.0, 709.0, 710.0, 800.0, 1e6]
    upper = sdp.profile(m, n=n, epsilon=grid)  # type: ignore[arg-type]
    lower = sdp.profile(m, n=n, epsilon=grid, side="lower")  # type: ignore[arg-type]
    assert np.all(lower <= upper) and np.all(upper <= 1)
    assert np.all(np.diff(upper) <= 1e-3 * upper[:-1])
    if m is MECHANISMS[3]:
        assert np.all(upper >= 0.7 * 0.75 ** (n - 1) * (1 - 1e-12))
    if isinstance(m, sdp.FiniteRandomizer):
        assert np.all(upper >= 0.5)  # an output that the other input never sends


def test_upper_deltas_do_not_underflow_to_0() -> None:
    assert sdp.profile("general:eps0=1", n=10**8, epsilon=0.9) > 0.0
    assert sdp.profile("general:eps0=1", n=10**8, epsilon=1.1) == 0.0
    assert sdp.profile("general:eps0=1", n=10**8, epsilon=0.9, side="lower") >= 0.0


def test_a_round_is_a_mechanism_of_its_own() -> None:
    r = sdp.ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])
    g = sdp.amplify(r, n=1000, delta=1e-6)
    assert g.epsilon == pytest.approx(sdp.amplify(COIN, n=1000, delta=1e-6, bound="blanket").epsilon, rel=1e-4)
    assert g.lower == pytest.approx(g.epsilon, rel=1e-3) and g.mechanism == "round"
    lopsided = sdp.ShuffledPair(P0=[0.9, 0.1], P1=[0.5, 0.5], t=[0.1, 0.4])
    both = sdp.amplify(lopsided, n=30, delta=1e-3).epsilon
    assert both == pytest.approx(sdp.amplify(lopsided.swapped(), n=30, delta=1e-3).epsilon, rel=2e-4)
    same = sdp.amplify(sdp.ShuffledPair(P0=[0.5, 0.5], P1=[0.5, 0.5], t=[0.1, 0.4]), n=30, delta=1e-3)
    assert same.epsilon == 0.0
    with pytest.raises(sdp.BoundNotApplicableError, match=r"\.$"):
        sdp.amplify(r, n=10, delta=0.1, bound="variation-ratio")


@pytest.mark.heavy
@examples(60)
@given(st.floats(0.01, 8.0), st.integers(1, 10**12), st.floats(-14.0, -1.0))
def test_spec_strings_and_objects_agree(eps0: float, n: int, log10: float) -> None:
    m = sdp.General(eps0=eps0)
    assert sdp.amplify(m.spec, n=n, delta=10.0**log10) == sdp.amplify(m, n=n, delta=10.0**log10)


def test_lower_bounds_by_name() -> None:
    g = sdp.amplify(COIN, n=100, delta=1e-6, bound="variation-ratio-lower")
    assert g.kind == "lower" and g.lower is None
    assert g.epsilon <= sdp.amplify(COIN, n=100, delta=1e-6).epsilon
    by_name = sdp.profile(COIN, n=100, epsilon=0.3, bound="variation-ratio-lower", side="lower")
    assert by_name <= sdp.profile(COIN, n=100, epsilon=0.3)
    with pytest.raises(sdp.ParameterError, match="lower"):
        sdp.profile(COIN, n=100, epsilon=0.3, bound="blanket", side="lower")


def test_a_lower_bound_is_not_handed_out_as_an_upper_profile() -> None:
    """side="upper" (the default) with a lower bound by name must not pass a lower value for an upper one."""
    with pytest.raises(sdp.ParameterError, match="side"):
        sdp.profile(COIN, n=100, epsilon=0.3, bound="variation-ratio-lower")


@pytest.mark.parametrize(
    ("spec", "n", "eps"),
    [("grr:eps0=300,d=2", 2, 299.0), ("grr:eps0=201,d=2", 3, 200.99), ("subset:eps0=300,d=5,k=1", 2, 230.0)],
)
def test_lower_values_beyond_the_largest_eps_whose_exponential_is_formed(spec: str, n: int, eps: float) -> None:
    """There the largest eps stood in for them: safe for an upper value only."""
    for bound in ("auto", "constant-dataset-lower"):
        assert sdp.profile(spec, n=n, epsilon=eps, side="lower", bound=bound) <= sdp.profile(spec, n=n, epsilon=eps)
    two = sdp.FiniteRandomizer([[1.0, 1e-100], [1e-100, 1.0]])
    for bound in ("constant-dataset-lower", "variation-ratio-lower"):
        assert sdp.profile(two, n=2, epsilon=230.0, side="lower", bound=bound) <= 0.22779815000163  # its delta
