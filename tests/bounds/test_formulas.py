"""Every formula against an independent oracle: definitions summed one by one, or the exact numerical eps."""

from __future__ import annotations

import itertools
import math
from functools import cache
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shuffledp as sdp
from reference.repetition import examples, slow
from shuffledp.bounds import BOUNDS
from shuffledp.mechanisms.base import Mechanism


def eps_of(bound: str, m: Mechanism, n: int, delta: float, tol: float = 1e-4) -> float:
    return BOUNDS[bound].epsilon(m, n=n, delta=delta, tol=tol).epsilon


def matrix_of(m: Any) -> np.ndarray:
    return np.array(m.probabilities(), dtype=float)


def tails(R: np.ndarray, n: int, eps: float) -> tuple[float, float]:
    """Hoeffding's and Bennett's delta straight from the definitions, maximum over ordered input pairs."""
    omega = R.min(axis=0)
    gamma, E = float(omega.sum()), math.exp(eps)
    best = [0.0, 0.0]
    for x0, x1 in itertools.permutations(range(len(R)), 2):
        L = (R[x0] - E * R[x1]) / (omega / gamma)
        a, b, top, c = E - 1, L.max() - L.min(), L.max(), float((omega / gamma) @ L**2)
        if top <= 0:
            continue
        hoeffding = b * b / (4 * a * gamma * n) * (1 - gamma * (1 - math.exp(-2 * a * a / b / b))) ** n
        u = a * top / c
        t = math.exp(-c / top**2 * ((1 + u) * math.log(1 + u) - u))
        bennett = top / math.log(1 + u) * ((1 - gamma + gamma * t) ** n - (1 - gamma) ** n) / (gamma * n)
        best = [max(best[0], hoeffding), max(best[1], bennett)]
    return best[0], best[1]


@pytest.mark.parametrize(
    "m", [sdp.GRR(eps0=1.0, d=4), sdp.Subset(eps0=1.5, d=6, k=2), sdp.Unary(eps0=2.0, d=3)], ids=str
)
@pytest.mark.parametrize("n", [20, 400])
def test_blanket_tails_by_definition(m: Any, n: int) -> None:
    R = matrix_of(m)
    for eps in (0.2, 0.5, 0.9):
        expected = tails(R, n, eps)
        exact = float(sdp.profile(m, n=n, epsilon=eps, bound="blanket", tol=1e-6))
        for name, value in zip(("blanket-hoeffding", "blanket-bennett"), expected, strict=True):
            found = float(np.exp(BOUNDS[name].log_delta(m, np.array([eps]), n=n, tol=1e-4)[0]))
            # smaller values to the left of eps hold at eps too, larger ones are capped at 1
            assert found <= min(value, 1.0) * (1 + 1e-9)
            assert found >= exact * (1 - 1e-6)
            if value < 0.1 and eps < 0.9:
                assert found == pytest.approx(value, rel=1e-8)


def test_generic_tails_by_definition() -> None:
    eps0, n, eps = 1.0, 10_000, 0.17
    E, e0 = math.exp(eps), math.exp(eps0)
    gamma, a, b = 1 / e0, E - 1, (E + 1) * (e0 - 1 / e0)
    expected = b * b / (4 * a * gamma * n) * (1 - gamma * (1 - math.exp(-2 * a * a / b / b))) ** n
    m = sdp.General(eps0=eps0)
    found = np.exp(BOUNDS["blanket-hoeffding-generic"].log_delta(m, np.array([eps]), n=n, tol=1e-4)[0])
    assert found == pytest.approx(expected, rel=1e-9)
    top, c = e0 * (1 - math.exp(eps - 2 * eps0)), e0 * (E * E + 1) - 2 * gamma * math.exp(eps - 2 * eps0)
    u = a * top / c
    t = math.exp(-c / top**2 * ((1 + u) * math.log(1 + u) - u))
    expected = top / math.log(1 + u) * ((1 - gamma + gamma * t) ** n - (1 - gamma) ** n) / (gamma * n)
    found = np.exp(BOUNDS["blanket-bennett-generic"].log_delta(m, np.array([eps]), n=n, tol=1e-4)[0])
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n", [2, 5, 30])
@pytest.mark.parametrize("eps0", [0.5, 2.0])
def test_clone_by_definition(n: int, eps0: float) -> None:
    """C ~ Bin(n-1, e^-eps0), A ~ Bin(C, 1/2); the victim adds one to A with probability p/(p+1), else to C - A."""
    p = math.exp(eps0)
    keep = p / (p + 1)

    def law(first: float) -> dict[tuple[int, int], float]:
        out: dict[tuple[int, int], float] = {}
        for c in range(n):
            weight = comb(n - 1, c) * p**-c * (1 - 1 / p) ** (n - 1 - c)
            for a in range(c + 1):
                part = weight * comb(c, a) / 2**c
                for cell, mass in (((a + 1, c - a), first), ((a, c - a + 1), 1 - first)):
                    out[cell] = out.get(cell, 0.0) + part * mass
        return out

    P, Q = law(keep), law(1 - keep)
    for eps in (0.0, 0.3 * eps0, 0.8 * eps0):
        expected = sum(max(P[k] - math.exp(eps) * Q[k], 0.0) for k in P)
        found = float(sdp.profile(sdp.General(eps0=eps0), n=n, epsilon=eps, bound="clone", tol=1e-6))
        assert found == pytest.approx(expected, rel=3e-6)


@pytest.mark.parametrize(("d", "special", "m"), [(2, 1, 30), (5, 1, 40), (6, 3, 25), (9, 2, 60)])
def test_the_search_of_balls_into_bins_by_definition(d: int, special: int, m: int) -> None:
    """Pr[X1 >= ceil(E X2 - 1)] over all pairs of multinomial counts."""
    share = special / d
    rest = max(0.0, 1 - 2 * share)
    mechanism = sdp.BallsIntoBins(d=d, special=special, total_messages=m)
    for eps in (0.3, 1.0, 2.2):
        expected = sum(
            comb(m, x2) * comb(m - x2, x1) * share ** (x1 + x2) * rest ** (m - x1 - x2)
            for x2 in range(m + 1)
            for x1 in range(m - x2 + 1)
            if x1 >= math.ceil(math.exp(eps) * x2 - 1)
        )
        found = float(sdp.profile(mechanism, n=5, epsilon=eps, bound="balls-search"))
        assert found == pytest.approx(expected, rel=1e-6)
        assert found >= float(sdp.profile(mechanism, n=5, epsilon=eps))


@pytest.mark.heavy
@pytest.mark.parametrize("m", [slow(10**9), 10**12, slow(10**14)])
def test_grouped_counts_stay_above_and_near(m: int) -> None:
    """Beyond the largest table counts are grouped at their worst member; X1 - X2 is then nearly Gaussian."""
    z = 5.6120012  # Pr[N(0, 1) >= z] = 1e-8
    balls = sdp.BallsIntoBins(d=50, special=1, total_messages=m)
    gaussian = z * math.sqrt(2 / (m / 50))
    assert gaussian < eps_of("balls-search", balls, 5, 1e-8) < gaussian * 1.005


CASES: list[Mechanism] = [
    sdp.General(eps0=0.3),
    sdp.GRR(eps0=2.0, d=8),
    sdp.VariationRatio(p=9.0, beta=0.2, q=20.0),
    sdp.CheuZhilyaev(flip=0.3, d=5, messages=2),
    sdp.BallsIntoBins(d=10, special=2, messages=3),
    sdp.MixDump(d=6, flip=0.2, messages=2.5),
]


@pytest.mark.slow_cases("balls-search-balls-into-bins")
@pytest.mark.parametrize("m", CASES, ids=lambda m: m.name)
@pytest.mark.parametrize("bound", [b for b in BOUNDS if b != "local"])
def test_eps_and_delta_are_inverse(m: Mechanism, bound: str) -> None:
    n, delta = 20_000, 1e-7
    try:
        eps = eps_of(bound, m, n, delta)
    except sdp.BoundNotApplicableError:
        return
    side = BOUNDS[bound].side
    assert eps > 0
    if eps == math.inf:  # eps0 alone says nothing of a report that gives its input away
        assert m.local_epsilon == math.inf
        return
    here, left, right = (float(sdp.profile(m, n=n, epsilon=eps * f, bound=bound, side=side)) for f in (1, 0.97, 1.03))
    if eps < m.local_epsilon * (1 - 1e-9):
        assert here <= delta * 1.02 if side == "upper" else here >= delta * 0.98
        assert left > delta > right


@pytest.mark.parametrize(
    ("bound", "spec", "n", "delta", "words"),
    [
        ("clone-closed", "general:eps0=9", 1000, 1e-6, "eps0 <= log(n/(16 log(2/delta)))"),
        ("efmrtt19", "general:eps0=0.2", 500, 1e-6, "n >= 1000 and delta < 0.01"),
        ("efmrtt19", "general:eps0=0.2", 5000, 0.02, "n >= 1000 and delta < 0.01"),
        ("asymptotic", "grr:eps0=4,d=10", 100, 1e-6, "r (n-1) >= 8 log(4/delta)"),
        ("asymptotic-published", "grr:eps0=4,d=10", 100, 1e-6, "r n >= 8 log(2/delta)"),
        ("analytic-published", "grr:eps0=4,d=10", 100, 1e-6, "the printed condition"),
        ("binary", "grr:eps0=1,d=2", 30_000, 1e-7, "up to 27,887 users of grr:eps0=1,d=2"),
        ("cheu-zhilyaev", "grr:eps0=1,d=4", 100, 1e-6, "got grr"),
        ("cheu-zhilyaev", "cheu-zhilyaev:flip=0.1,d=4,messages=1", 100, 1e-6, "100 blanket rows"),
        ("balls-formula", "grr:eps0=1,d=4", 100, 1e-6, "got grr"),
        ("balls-formula", "balls-into-bins:d=9,special=1,messages=1", 100, 1e-6, "eps <= 3"),
        ("balls-search", "balls-into-bins:d=9,special=1,messages=0.5", 100, 1e-6, "no blanket message"),
        ("blanket-hoeffding", "cheu-zhilyaev:flip=0.1,d=4,messages=1", 100, 1e-6, "several messages per user"),
        ("blanket-bennett", "general:eps0=1", 100, 1e-6, "general, which states no law"),
        ("blanket-hoeffding-generic", "balcer-coin:messages=1", 100, 1e-6, "eps0 <= 300, got eps0 = inf"),
    ],
)
def test_outside_its_range_a_bound_says_which(bound: str, spec: str, n: int, delta: float, words: str) -> None:
    with pytest.raises(sdp.BoundNotApplicableError) as caught:
        sdp.amplify(spec, n=n, delta=delta, bound=bound)
    text = str(caught.value)
    assert words in text and bound in text and text.endswith(".") and "\n" not in text


def test_every_bound_says_what_it_is() -> None:
    for name, bound in BOUNDS.items():
        assert bound.name == name and bound.title and bound.citation and bound.needs and bound.validity
        assert bound.sound == (not name.endswith("-published"))


# -- closed forms against the exact numerical eps ----------------------------------------------------------------------


def draw(rng: np.random.Generator) -> tuple[sdp.VariationRatio, int, float]:
    """Parameters from mild to extreme, many of them near the edges of the ranges."""
    p = math.inf if rng.random() < 0.1 else 1 + 10 ** rng.uniform(-2, 3)
    q = 1 + 10 ** rng.uniform(-2, 3)
    most = min(1.0 if math.isinf(p) else (p - 1) / (p + 1), q - 1)
    beta = most * (1.0 if rng.random() < 0.2 else 10 ** rng.uniform(-3, 0))
    return sdp.VariationRatio(p=p, beta=beta, q=q), int(10 ** rng.uniform(1, 8)), 10 ** rng.uniform(-12, -1)


def violations(count: int, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    found, asked = [], 0
    while asked < count:
        m, n, delta = draw(rng)
        claims = {}
        for name in ("analytic", "asymptotic"):
            try:
                claims[name] = eps_of(name, m, n, delta)
            except sdp.BoundNotApplicableError:
                continue
        claims = {k: v for k, v in claims.items() if v < m.local_epsilon}
        if not claims:
            continue
        asked += 1
        least = BOUNDS["variation-ratio"].family(m).epsilon(n=n, delta=delta, tol=1e-4, side="lower").epsilon
        found += [(name, m, n, delta, eps, least) for name, eps in claims.items() if eps < least]
    return found


@pytest.mark.heavy
def test_closed_forms_are_never_below_the_exact_eps() -> None:
    assert violations(60, 1) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_closed_forms_in_five_thousand_cases(seed: int) -> None:
    assert violations(1450, 100 + seed) == []


budgets = st.tuples(st.floats(0.01, 8.0), st.integers(10, 10**8), st.floats(1.0, 12.0))


@pytest.mark.heavy
@examples(150)
@given(budgets)
def test_bounds_from_the_budget_alone(drawn: tuple[float, int, float]) -> None:
    """clone, its closed form, EFMRTT19 and the generic blankets are above a lower value of the stronger clone."""
    eps0, n, digits = drawn
    m, delta = sdp.General(eps0=eps0), 10.0**-digits
    least = BOUNDS["general"].family(m).epsilon(n=n, delta=delta, tol=1e-4, side="lower").epsilon
    known = sdp.General(eps0=eps0).law.constant_datasets().epsilon(n=n, delta=delta, tol=1e-4, side="lower").epsilon
    for name in ("clone", "clone-closed", "efmrtt19", "blanket-hoeffding-generic", "blanket-bennett-generic"):
        try:
            eps = eps_of(name, m, n, delta)
        except sdp.BoundNotApplicableError:
            continue
        assert eps >= known * (1 - 1e-9), name
        if name in ("clone", "clone-closed"):
            assert eps >= least * (1 - 1e-9), name


@pytest.mark.heavy
@examples(60)
@given(
    st.floats(0.05, 0.45), st.integers(100, 10**7), st.floats(2.0, 12.0), st.sampled_from([(2, 1), (16, 1), (64, 8)])
)
def test_claims_of_the_protocols(flip: float, rows: int, digits: float, bins: tuple[int, int]) -> None:
    delta = 10.0**-digits
    cheu = sdp.CheuZhilyaev(flip=flip, d=8, total_messages=rows)
    balls = sdp.BallsIntoBins(d=bins[0], special=bins[1], total_messages=rows)
    for m, names in ((cheu, ("cheu-zhilyaev",)), (balls, ("balls-formula", "balls-search"))):
        least = m.law.constant_datasets().epsilon(n=2, delta=delta, tol=1e-4, side="lower").epsilon
        for name in names:
            try:
                assert eps_of(name, m, 2, delta) >= least * (1 - 1e-9), name
            except sdp.BoundNotApplicableError:
                continue


@cache
def least_near_zero(m: Mechanism) -> tuple[int, np.ndarray, np.ndarray]:
    """n, eps and the lower profile there, once for all bounds."""
    n, eps = 1527, np.array([0.0, 1e-12, 5e-10, 1e-9, 1e-7])
    return n, eps, sdp.profile(m, n=n, epsilon=eps, side="lower")


@pytest.mark.slow_cases(
    "GRR(eps0=6.4e-06, d=4)-variation-ratio",
    "Hadamard(eps0=0.3, d=4)-blanket",
    "Hadamard(eps0=0.3, d=4)-general",
    "Hadamard(eps0=0.3, d=4)-variation-ratio",
)
@pytest.mark.parametrize("bound", [name for name, b in BOUNDS.items() if b.side == "upper" and b.sound])
@pytest.mark.parametrize(
    "m", [sdp.GRR(eps0=1e-9, d=2), sdp.GRR(eps0=6.4e-6, d=4), sdp.Hadamard(eps0=0.3, d=4)], ids=str
)
def test_next_to_zero_nothing_is_claimed_too_small(bound: str, m: Mechanism) -> None:
    """eps far below every grid of a closed form, and the smallest delta there is."""
    n, eps, least = least_near_zero(m)
    try:
        assert np.all(sdp.profile(m, n=n, epsilon=eps, bound=bound) >= least * (1 - 1e-9))
        assert sdp.amplify(m, n=n, delta=5e-324, bound=bound).epsilon <= m.local_epsilon
    except sdp.BoundNotApplicableError:
        return


def test_a_formula_with_two_ranges_is_inverted_in_both() -> None:
    m = sdp.General(eps0=1.15)
    eps = eps_of("efmrtt19", m, 10**9, 0.9)
    assert float(sdp.profile(m, n=10**9, epsilon=eps * 1.001, bound="efmrtt19")) <= 0.9


def test_analytic_at_the_edge_of_its_range() -> None:
    """p = inf without a remainder: the denominator vanishes exactly where the clones just suffice."""
    m, n = sdp.VariationRatio(p=math.inf, beta=1.0, q=4.0), 2000

    def room(log_delta: float) -> float:
        L = math.log(4) - log_delta
        return 0.5 * (n - 1) - math.sqrt(0.5 * (n - 1) * L) - 2 * L

    low, high = -2000.0, -1.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if room(middle) < 0 else (low, middle)
    at = np.exp(np.clip(high + np.linspace(-1e-9, 1e-9, 401), -744.0, -1e-9))
    # the lower value rises as delta falls: that at the smallest delta is the largest of all
    least = BOUNDS["variation-ratio"].family(m).epsilon(n=n, delta=float(at.min()), tol=1e-3, side="lower").epsilon
    for delta in at:
        assert eps_of("analytic", m, n, float(delta)) >= least
