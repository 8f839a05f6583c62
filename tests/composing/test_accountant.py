"""The accountant: check values, brute force in small cases, order and count, cohorts, events, export."""

from __future__ import annotations

import copy
import math
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable
from fractions import Fraction

import dp_accounting as dpa
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln

import shuffledp as sdp
from reference.fractions_oracle import Law, _send, fractions_of
from reference.randomizers import Truth, floats, grr
from reference.repetition import examples, slow
from reference.rounds import Laws, rounds
from shuffledp.numerics.composition.sequential import LEAST_DELTA

Pair = list[tuple[float, float]]  # outcomes with their masses under P and Q


# -- oracles: laws from the definition -----------------------------------------------------------------------------


def randomized_response(eps0: float, count: int, eps: float) -> float:
    """delta of ``count`` answers of binary randomized response: the binomial formula."""
    keep = Fraction(1) / (1 + Fraction(math.exp(-eps0)))
    lie, E = 1 - keep, Fraction(math.exp(eps))
    total = Fraction(0)
    for j in range(count + 1):
        gain = keep**j * lie ** (count - j) - E * keep ** (count - j) * lie**j
        total += math.comb(count, j) * max(gain, Fraction(0))
    return float(total)


def as_pair(first: Law, second: Law) -> Pair:
    return [(float(first.get(k, 0)), float(second.get(k, 0))) for k in {*first, *second}]


def pair_of_round(laws: Laws, n: int) -> Pair:
    p0, p1, t = (fractions_of(law) for law in laws)
    others: Law = {(0,) * len(t): Fraction(1)}
    for _ in range(n - 1):
        others = _send(others, t, 1 - sum(t))
    return as_pair(_send(others, p0, Fraction(0)), _send(others, p1, Fraction(0)))


def stick(pair: Pair, E: float) -> float:
    return math.fsum(max(p - E * q, 0.0) for p, q in pair)


def flip(pair: Pair) -> Pair:
    return [(q, p) for p, q in pair]


def adaptive(first: Iterable[Pair], second: list[Pair], E: float) -> float:
    """The largest D_E of two rounds, the second of which is chosen by the outcome of the first."""
    best = 0.0
    for one in first:
        total = math.fsum(
            p if q == 0.0 else p * max(stick(two, E * q / p) for two in second) for p, q in one if p > 0.0
        )
        best = max(best, total)
    return best


# -- check values --------------------------------------------------------------------------------------------------


@pytest.mark.slow_cases("grr:eps0=2,d=16-10000-auto-10-0.2315")
@pytest.mark.parametrize(
    ("spec", "n", "bound", "count", "expected"),
    [
        ("grr:eps0=2,d=16", 10**4, "auto", 1, 0.0675),
        ("grr:eps0=2,d=16", 10**4, "auto", 10, 0.2315),
        ("grr:eps0=2,d=16", 10**4, "auto", 100, 0.7938),
        ("grr:eps0=2,d=16", 10**4, "auto", 1000, 2.776),
        ("grr:eps0=2,d=16", 10**4, "general", 1000, 4.81),
        ("general:eps0=1", 1000, "general", 100, 1.7589),
    ],
)
def test_check_values(spec: str, n: int, bound: str, count: int, expected: float) -> None:
    acc = sdp.Accountant().compose(spec, n=n, count=count, bound=bound)
    assert acc.epsilon(delta=1e-6) == pytest.approx(expected, rel=2e-3)


def test_one_round_is_amplify() -> None:
    for m, n in (("grr:eps0=2,d=16", 10**4), ("general:eps0=3", 10**5), ("laplace:eps0=1", 1000)):
        alone = sdp.amplify(m, n=n, delta=1e-7).epsilon
        assert alone * (1 - 1e-4) <= sdp.Accountant().compose(m, n=n).epsilon(delta=1e-7) <= alone * 1.003


def independent_lower(n: int, eps0: float, count: int, delta: float, step: float) -> float:
    """eps of the dominating pair of eps0-LDP rounds, all losses rounded down, by a plain FFT of its exact law.

    The others send (1, 0), (0, 1) or nothing with chances r, r, 1 - 2r, r = 1/(e^eps0 + 1); the victim adds one.
    """
    p = math.exp(eps0)
    keep, r = p / (p + 1.0), 1.0 / (p + 1.0)
    a, b = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")

    def others(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        rest = n - 1 - i - j
        ok = (i >= 0) & (j >= 0) & (rest >= 0)
        i, j, rest = (np.where(ok, x, 0) for x in (i, j, rest))
        log = gammaln(n) - gammaln(i + 1) - gammaln(j + 1) - gammaln(rest + 1)
        return np.exp(np.where(ok, log + (i + j) * math.log(r) + rest * math.log1p(-2 * r), -np.inf))

    left, right = others(a - 1, b), others(a, b - 1)
    P, Q = keep * left + (1 - keep) * right, (1 - keep) * left + keep * right
    seen = (P > 1e-18) & (Q > 0)
    index = np.floor(np.log(P[seen] / Q[seen]) / step).astype(int)
    half = int(2.0 / step)
    single = np.bincount(index + half, weights=P[seen], minlength=2 * half + 1)
    size = 2 ** math.ceil(math.log2(2 * int(6.0 / step)))
    wrapped = np.zeros(size)
    np.add.at(wrapped, (np.arange(2 * half + 1) - half) % size, single)
    law = np.fft.irfft(np.fft.rfft(wrapped) ** count, size)
    loss = np.arange(size // 2) * step
    low, high = 0.0, 5.0
    for _ in range(40):
        eps = 0.5 * (low + high)
        value = float((-np.expm1(eps - loss[loss > eps])) @ law[: size // 2][loss > eps])
        low, high = (eps, high) if value > delta else (low, eps)
    return low


@pytest.mark.heavy
def test_the_general_law_against_an_independent_lower_value() -> None:
    eps = sdp.Accountant().compose("general:eps0=1", n=1000, count=100, bound="general").epsilon(delta=1e-6)
    low = independent_lower(1000, 1.0, 100, 1e-6, 2e-5)
    assert 1.7489 < low <= eps <= 1.0015 * low
    assert abs(eps / 1.7589 - 1) < 0.005


@pytest.mark.parametrize("eps0", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("count", [1, 2, 3, 10, 40])
@pytest.mark.parametrize("spec", ["general:eps0={}", "grr:eps0={},d=2", "randomized-response:eps0={}"])
def test_one_user_is_randomized_response_exactly(spec: str, eps0: float, count: int) -> None:
    acc = sdp.Accountant().compose(spec.format(eps0), n=1, count=count)
    for part in (0.0, 0.3, 0.7, 0.95):
        eps = part * eps0 * count
        exact = randomized_response(eps0, count, eps)
        assert exact * (1 - 1e-12) <= acc.delta(epsilon=eps) <= exact * (1 + 2e-5)
    assert acc.delta(epsilon=eps0 * count * (1 + 1e-9)) == 0.0
    delta = randomized_response(eps0, count, 0.6 * eps0 * count)
    found = acc.epsilon(delta=delta)
    assert delta * (1 - 1e-4) <= randomized_response(eps0, count, found) <= delta * (1 + 1e-12)
    if spec.startswith("g"):
        low = acc.lower_epsilon(delta=delta)
        assert low is not None and 0.98 * 0.6 * eps0 * count <= low <= 0.6 * eps0 * count * (1 + 1e-9)


# -- pessimism against brute force ---------------------------------------------------------------------------------


@pytest.mark.slow_cases("3")
@pytest.mark.parametrize("n", [1, 2, 3])
def test_two_rounds_of_every_dataset(n: int) -> None:
    """Different randomizers, all datasets and input pairs of either, the second chosen by the first's outcome."""
    one, two = grr(3, 2), [[Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 5), Fraction(4, 5)]]
    acc = (
        sdp.Accountant().compose(sdp.FiniteRandomizer(floats(one)), n=n).compose(sdp.FiniteRandomizer(floats(two)), n=n)
    )
    first, second = ([as_pair(*pair) for pair in Truth(m, n).laws] for m in (one, two))
    for eps in (0.0, 0.1, 0.3, 0.7, 1.2):
        truth = max(adaptive(first, second, math.exp(eps)), adaptive(second, first, math.exp(eps)))
        found = acc.delta(epsilon=eps)
        assert truth * (1 - 1e-12) <= found <= max(1.5 * truth, 1e-12), (eps, truth, found)


@pytest.mark.slow
@examples(15)
@given(rounds(most=3), rounds(most=3), st.integers(1, 3), st.floats(0.0, 3.0))
def test_two_random_rounds(one: Laws, two: Laws, n: int, eps: float) -> None:
    """Upper at least, lower at most the exact joint divergence of two fixed rounds; zeros and exposed symbols too."""
    acc = sdp.Accountant().compose(sdp.ShuffledPair(*one), n=n).compose(sdp.ShuffledPair(*two), n=n + 1)
    pairs = [pair_of_round(one, n), pair_of_round(two, n + 1)]
    sides = [[pair, flip(pair)] for pair in pairs]
    truth = adaptive(sides[0], sides[1], math.exp(eps))
    found = acc.delta(epsilon=eps)
    assert found >= truth * (1 - 1e-9) - 1e-15
    if 1e-9 < truth < 1.0:
        low = acc.lower_epsilon(delta=truth)
        # at delta = truth the best of the directions needs exactly eps
        assert low is not None and low <= eps * (1 + 1e-9) + 1e-9


@pytest.mark.slow_cases("9")
@pytest.mark.parametrize("n", [1, 4, 9])
def test_two_symmetric_rounds_are_tight(n: int) -> None:
    round_ = sdp.VariationRatio(p=5.0, beta=0.2, q=9.0).pair()
    laws = Laws(*(np.asarray(x).tolist() for x in (round_.P0, round_.P1, round_.t)))
    acc = sdp.Accountant().compose(round_, n=n, count=2)
    pair = pair_of_round(laws, n)
    for eps in (0.0, 0.2, 0.8, 1.5, 2.5):
        truth = adaptive([pair], [pair], math.exp(eps))
        assert truth * (1 - 1e-12) <= acc.delta(epsilon=eps) <= truth * 1.01
    delta = adaptive([pair], [pair], math.exp(0.8))
    low, high = acc.lower_epsilon(delta=delta), acc.epsilon(delta=delta)
    assert low is not None and 0.97 * 0.8 <= low <= 0.8 <= high * (1 + 1e-9) and high <= 0.8 * 1.005


# -- properties ----------------------------------------------------------------------------------------------------

SPECS = ["general:eps0=1", "grr:eps0=2,d=16", "variation-ratio:p=5,beta=0.2,q=9", "subset:eps0=1,d=8,k=2"]


@pytest.mark.slow_cases("general:eps0=1", "grr:eps0=2,d=16")
@pytest.mark.parametrize("spec", [*SPECS[:2], *map(slow, SPECS[2:])])
def test_count_is_repetition_and_order_leaves_no_trace(spec: str) -> None:
    at_once = sdp.Accountant().compose(spec, n=500, count=4).compose("grr:eps0=1,d=3", n=2000, count=2)
    one_by_one = sdp.Accountant()
    for part in ("a", "b", "a", "a", "b", "a"):
        one_by_one.compose(*([spec] if part == "a" else ["grr:eps0=1,d=3"]), n=500 if part == "a" else 2000)
    assert at_once.epsilon(delta=1e-5) == one_by_one.epsilon(delta=1e-5)
    assert at_once.delta(epsilon=0.3) == one_by_one.delta(epsilon=0.3)
    assert at_once.lower_epsilon(delta=1e-5) == one_by_one.lower_epsilon(delta=1e-5)
    assert np.array_equal(at_once.renyi([2.0, 5.0]), one_by_one.renyi([2.0, 5.0]))


@pytest.mark.heavy
@pytest.mark.slow_cases("10000-*", "1-grr:eps0=2,d=16", "1-subset:eps0=1,d=8,k=2", "1-variation-ratio:p=5,beta=0.2,q=9")
@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("n", [1, slow(30), 10**4, slow(10**9)])
def test_monotone_and_bracketed(spec: str, n: int) -> None:
    before = 0.0
    for count in (1, 2, 20, 300):
        acc = sdp.Accountant().compose(spec, n=n, count=count)
        eps, low, by_renyi = (
            acc.epsilon(delta=1e-6),
            acc.lower_epsilon(delta=1e-6),
            acc.epsilon(delta=1e-6, method="renyi"),
        )
        assert low is not None and 0.0 <= low <= eps * (1 + 1e-9)
        assert (
            before * (1 - 1e-6) <= eps <= min(by_renyi * (1 + 1e-3), count * sdp.mechanism(spec).local_epsilon * 1.0001)
        )
        assert acc.delta(epsilon=eps) <= 1e-6 * 1.02
        before = eps


@pytest.mark.heavy
@pytest.mark.slow_cases("1e-*", "0.001")
@pytest.mark.parametrize("delta", [0.5, 1e-3, 1e-9, 1e-15, 1e-40, 1e-140])
def test_any_delta(delta: float) -> None:
    """The tilt keeps the round-off below delta, however small it is."""
    acc = sdp.Accountant().compose("general:eps0=1", n=10**6, count=100)
    eps = acc.epsilon(delta=delta)
    assert acc.delta(epsilon=eps) == pytest.approx(delta, rel=1e-3) or eps == 0.0
    assert eps <= acc.epsilon(delta=delta, method="renyi") * (1 + 1e-4)


@pytest.mark.slow
def test_many_rounds_stay_close_to_the_gaussian_limit() -> None:
    """mu = sqrt(T) sigma: for many small rounds the composition is a Gaussian mechanism with that mu."""
    m, n, count, delta = "general:eps0=1", 10**8, 10**6, 1e-6
    v = sdp.General(eps0=1.0).variation_ratio()
    mu = math.sqrt(count * 2 * v.beta * v.q * (1 - 1 / v.p) / n)

    def tail(x: float) -> float:
        return 0.5 * math.erfc(x / math.sqrt(2))

    eps = sdp.Accountant().compose(m, n=n, count=count, bound="general").epsilon(delta=delta)
    gaussian = tail(eps / mu - mu / 2) - math.exp(eps) * tail(eps / mu + mu / 2)
    assert gaussian <= delta <= 1.05 * gaussian


@pytest.mark.slow
def test_many_different_rounds() -> None:
    """Coarser sampling for many kinds: still an upper bound, and within one percent of fine sampling."""
    many = sdp.Accountant()
    for i in range(150):
        many.compose(sdp.General(eps0=1.0 + 1e-6 * i), n=1000)
    fine = sdp.Accountant().compose("general:eps0=1", n=1000, count=150).epsilon(delta=1e-6)
    assert fine * (1 - 1e-6) <= many.epsilon(delta=1e-6) <= 1.01 * fine


@pytest.mark.heavy
def test_rounds_of_very_different_size() -> None:
    acc = sdp.Accountant().compose("general:eps0=1", n=10**9, count=50).compose("general:eps0=2", n=3)
    alone = sdp.Accountant().compose("general:eps0=2", n=3).epsilon(delta=1e-6)
    assert alone <= acc.epsilon(delta=1e-6) <= alone + 0.02


def test_nothing_and_nothing_revealed() -> None:
    assert sdp.Accountant().epsilon(delta=1e-6) == 0.0 == sdp.Accountant().delta(epsilon=0.0)
    assert sdp.Accountant().lower_epsilon(delta=1e-6) == 0.0
    same = sdp.FiniteRandomizer([[0.5, 0.5], [0.5, 0.5]])
    acc = sdp.Accountant().compose(same, n=10, count=5)
    assert acc.epsilon(delta=1e-9) == 0.0 and acc.delta(epsilon=0.0) == 0.0


def test_no_finite_eps() -> None:
    acc = sdp.Accountant().compose(sdp.FiniteRandomizer(np.eye(2)), n=5, count=3)
    assert acc.epsilon(delta=1e-3) == math.inf
    assert acc.delta(epsilon=3.0) > 0.1
    g = acc.guarantee(delta=1e-3)
    assert "no finite eps" in str(g) and g.to_dict()["epsilon"] == "inf"
    floor = sdp.Accountant().compose("variation-ratio:p=inf,beta=1,q=2", n=30, count=4)
    assert floor.epsilon(delta=3 * 0.5**29) == math.inf
    assert floor.epsilon(delta=5 * 0.5**29) < 60.0


# -- cohorts, several reports, memoized answers ---------------------------------------------------------------------


@pytest.mark.slow
def test_a_participation_limit_costs_the_worst_rounds() -> None:
    full = sdp.Accountant().compose("grr:eps0=1,d=4", n=1000, count=30)
    limited = sdp.Accountant().compose("grr:eps0=1,d=4", n=1000, count=30, participation_limit=7)
    seven = sdp.Accountant().compose("grr:eps0=1,d=4", n=1000, count=7)
    assert limited.epsilon(delta=1e-6) == seven.epsilon(delta=1e-6) < full.epsilon(delta=1e-6)
    g = limited.guarantee(delta=1e-6)
    assert (g.rounds, g.cost) == (30, 7) and "at most 7 times" in str(g)
    loose = sdp.Accountant().compose("grr:eps0=1,d=4", n=1000, count=30, participation_limit=99)
    assert loose.epsilon(delta=1e-6) == full.epsilon(delta=1e-6)


def test_several_reports_in_one_batch_cost_several_rounds() -> None:
    """Brute force: 2 users with 2 reports each, all 4 reports shuffled together."""
    row = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]
    acc = sdp.Accountant().compose(sdp.FiniteRandomizer(floats(row)), n=2, reports_per_user=2)
    assert acc.lower_epsilon(delta=0.01) is None
    for eps in (0.0, 0.5, 1.0, 1.8):
        worst = 0.0
        for others in ((0, 0), (0, 1), (1, 1)):
            laws = {}
            for mine in ((0, 0), (0, 1), (1, 1)):
                law: Law = {(0, 0): Fraction(1)}
                for x in (*others, *mine):
                    law = _send(law, row[x], Fraction(0))
                laws[mine] = law
            worst = max(worst, *(stick(as_pair(laws[a], laws[b]), math.exp(eps)) for a in laws for b in laws))
        assert acc.delta(epsilon=eps) >= worst * (1 - 1e-12)


def test_memoized_answers_are_refused() -> None:
    with pytest.raises(sdp.ParameterError, match=r"^memoized must be False.*linked.*\.$"):
        sdp.Accountant().compose("grr:eps0=1,d=4", n=1000, count=30, memoized=True)


# -- what still fits -----------------------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.slow_cases("rounds0-grr:eps0=1,d=4-1000-0.4")
@pytest.mark.parametrize(
    ("rounds", "spec", "n", "epsilon"),
    [
        ([], "grr:eps0=1,d=4", 1000, 0.4),
        slow([], "grr:eps0=1,d=4", 1000, 1.0),
        slow([("grr:eps0=2,d=16", 1000, 3)], "laplace:eps0=1", 1000, 0.9),
        slow([("general:eps0=2", 100, 1), ("unary:eps0=1,d=4", 2000, 5)], "unary:eps0=1,d=4", 2000, 3.0),
        ([("grr:eps0=1,d=4", 10, 1)], "general:eps0=3", 5, 9.0),
    ],
)
def test_remaining_equals_the_slow_search(
    rounds: list[tuple[str, int, int]], spec: str, n: int, epsilon: float
) -> None:
    acc = sdp.Accountant()
    for mechanism, users, count in rounds:
        acc.compose(mechanism, n=users, count=count)
    left = 0
    while not acc.would_exceed(epsilon=epsilon, delta=1e-5, mechanism=spec, n=n, count=left + 1):
        left += 1
    assert left >= 2
    assert acc.remaining(epsilon=epsilon, delta=1e-5, mechanism=spec, n=n) == left


@pytest.mark.slow
def test_remaining_composes_a_few_times_only(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    plain = sdp.Accountant.epsilon

    def counted(self: sdp.Accountant, *, delta: float, method: str = "pld") -> float:
        asked.append(delta)
        return plain(self, delta=delta, method=method)

    monkeypatch.setattr(sdp.Accountant, "epsilon", counted)
    acc = sdp.Accountant().compose("grr:eps0=2,d=16", n=10**6, count=10)
    left = acc.remaining(epsilon=5.0, delta=1e-6, mechanism="grr:eps0=2,d=16", n=10**6)
    assert left > 100_000 and len(asked) <= 16  # doubling and halving take 35
    monkeypatch.undo()
    assert acc.would_exceed(epsilon=5.0, delta=1e-6, mechanism="grr:eps0=2,d=16", n=10**6, count=left + 1)
    assert not acc.would_exceed(epsilon=5.0, delta=1e-6, mechanism="grr:eps0=2,d=16", n=10**6, count=left)


@pytest.mark.slow_cases("optimized-unary:eps0=20,d=64-1000000000-11.17")
@pytest.mark.parametrize(
    ("spec", "n", "most"),
    [slow("unary:eps0=20,d=64", 10**9, 78.5), ("optimized-unary:eps0=20,d=64", 10**9, 11.17)],
)
def test_a_profile_with_kinks_is_followed(spec: str, n: int, most: float) -> None:
    """Few clones: the profile is nearly a polygon, whose corners a coarse sample cuts off."""
    acc = sdp.Accountant().compose(spec, n=n, count=10)
    found = acc.guarantee(delta=1e-6)
    assert found.lower is not None and found.lower <= found.epsilon < most


@pytest.mark.slow
def test_remaining_and_would_exceed() -> None:
    acc = sdp.Accountant().compose("grr:eps0=2,d=16", n=10_000, count=20)
    left = acc.remaining(epsilon=0.5, delta=1e-6, mechanism="grr:eps0=1,d=4", n=10_000)
    assert left > 5
    terms = {"epsilon": 0.5, "delta": 1e-6, "mechanism": "grr:eps0=1,d=4", "n": 10_000}
    assert not acc.would_exceed(**terms, count=left)  # type: ignore[arg-type]
    assert acc.would_exceed(**terms, count=left + 1)  # type: ignore[arg-type]
    assert len(acc.entries) == 1  # asking changes nothing
    assert acc.remaining(epsilon=0.1, delta=1e-6, mechanism="grr:eps0=1,d=4", n=10_000) == 0
    free = sdp.FiniteRandomizer([[0.5, 0.5], [0.5, 0.5]])
    assert acc.remaining(epsilon=0.5, delta=1e-6, mechanism=free, n=10) == 10**6


# -- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "bad"),
    [
        ("^count must ", {"count": 0}),
        ("^count must ", {"count": 1.5}),
        ("^count must ", {"count": math.nan}),
        ("^count must ", {"count": "3"}),
        ("^n must ", {"n": 0}),
        ("^participation_limit must ", {"participation_limit": 0}),
        ("^participation_limit must ", {"participation_limit": 2.5}),
        ("^reports_per_user must ", {"reports_per_user": 0}),
        ("^reports_per_user must ", {"reports_per_user": None}),
        ("^memoized must ", {"memoized": 1}),
        ("^name must ", {"name": 3}),
        ("^name must ", {"name": ""}),
        ("did you mean 'blanket'", {"bound": "blankt"}),
        ("^bound must ", {"bound": "variation-ratio-published"}),
        ("^bound must ", {"bound": "variation-ratio-lower"}),
        ("^mechanism must ", {"mechanism": 3}),
    ],
)
def test_bad_rounds(words: str, bad: dict[str, object]) -> None:
    acc = sdp.Accountant()
    with pytest.raises(sdp.ParameterError, match=words) as caught:
        acc.compose(**{"mechanism": "grr:eps0=1,d=4", "n": 10, **bad})  # type: ignore[arg-type]
    assert str(caught.value)[-1] in ".?" and "\n" not in str(caught.value)
    assert acc.entries == ()


def test_bad_questions() -> None:
    acc = sdp.Accountant().compose("grr:eps0=1,d=4", n=10)
    for words, call in (
        ("^delta must ", lambda: acc.epsilon(delta=0.0)),
        ("^delta must ", lambda: acc.epsilon(delta=math.nan)),
        ("^delta must be at least", lambda: acc.epsilon(delta=LEAST_DELTA / 10)),
        ("^delta must ", lambda: acc.lower_epsilon(delta=2)),
        ("^epsilon must ", lambda: acc.delta(epsilon=-1)),
        ("^epsilon must ", lambda: acc.delta(epsilon=math.inf)),
        ("unknown method", lambda: acc.epsilon(delta=0.1, method="magic")),
        ("^orders must ", lambda: acc.renyi([1.0])),
        ("^orders must ", lambda: acc.renyi("two")),
        ("^step must ", lambda: acc.to_pld(step=0.0)),
        ("^count must ", lambda: acc.remaining(epsilon=1, delta=0.1, mechanism="grr:eps0=1,d=4", n=10, count=3)),
    ):
        with pytest.raises(sdp.ParameterError, match=words):
            call()


@pytest.mark.parametrize("ask", [sdp.Accountant.remaining, sdp.Accountant.would_exceed])
def test_bad_questions_about_further_rounds(ask: Callable[..., object]) -> None:
    acc = sdp.Accountant().compose("grr:eps0=1,d=4", n=10)
    terms = {"delta": 0.1, "mechanism": "grr:eps0=1,d=4", "n": 10}
    for bad in (0.0, -1.0, math.inf, math.nan, "1"):
        with pytest.raises(sdp.ParameterError, match=r"^epsilon must [^\n]*\.$"):
            ask(acc, epsilon=bad, **terms)
    with pytest.raises(sdp.ParameterError, match=r"^unknown parameter 'foo'"):
        ask(acc, epsilon=1e-9, foo=3, **terms)


# -- the terms -----------------------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_the_sum_of_local_budgets_is_exact() -> None:
    acc = sdp.Accountant().compose("grr:eps0=2,d=4", n=2, count=2)
    assert acc.guarantee(delta=1e-9).pure_epsilon == 4.0
    assert 4.0 * (1.0 - 1e-8) <= acc.epsilon(delta=1e-9) <= 4.0  # delta is worth a little
    assert "(4, 1e-09)-DP" in str(acc.guarantee(delta=1e-9))
    assert acc.delta(epsilon=4.0) == 0.0
    assert not sdp.Accountant().would_exceed(epsilon=4.0, delta=1e-9, mechanism="grr:eps0=2,d=4", n=2, count=2)


@pytest.mark.heavy
def test_a_limit_on_taking_part_is_stated() -> None:
    free = sdp.Accountant().compose("grr:eps0=1,d=2", n=100, count=2).guarantee(delta=1e-6)
    limited = sdp.Accountant().compose("grr:eps0=1,d=2", n=100, count=2, participation_limit=1).guarantee(delta=1e-6)
    words = "limits on taking part are enforced, and who takes part does not depend on the values"
    assert words not in free.trust and limited.trust == f"{free.trust}; {words}"


def test_different_neighbors_do_not_mix() -> None:
    acc = sdp.Accountant().compose("metric-general:d01=1,dmax=2", n=100)
    with pytest.raises(sdp.ParameterError, match="neighbors"):
        acc.compose("grr:eps0=1,d=4", n=100)
    assert acc.guarantee(delta=1e-6).neighbors == "replace-one at distance at most 1"


# -- dp-accounting -------------------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_the_export_is_the_same_composition() -> None:
    acc = sdp.Accountant().compose("general:eps0=1", n=1000, count=100).compose("grr:eps0=2,d=16", n=10**4, count=10)
    for step in (None, 1e-4):
        exported = acc.to_pld(step=step)
        for delta in (1e-3, 1e-6, 1e-8):
            eps = acc.epsilon(delta=delta)
            assert eps * (1 - 1e-4) <= exported.get_epsilon_for_delta(delta) <= eps * 1.01
        assert exported.get_delta_for_epsilon(1.0) >= acc.delta(epsilon=1.0) * (1 - 1e-4)


@pytest.mark.heavy
def test_one_round_exported_and_composed_over_there() -> None:
    once = sdp.Accountant().compose("general:eps0=1", n=1000).to_pld(step=2.0**-11)
    there = once.self_compose(100).get_epsilon_for_delta(1e-6)
    here = sdp.Accountant().compose("general:eps0=1", n=1000, count=100).epsilon(delta=1e-6)
    assert here * (1 - 1e-4) <= there <= here * 1.01


def gaussian_delta(mu: float, eps: float) -> float:
    def tail(x: float) -> float:
        return 0.5 * math.erfc(x / math.sqrt(2))

    return tail(eps / mu - mu / 2) - math.exp(eps) * tail(eps / mu + mu / 2)


@pytest.mark.heavy
def test_gaussian_events() -> None:
    """A replacement moves a sum by twice its bound: k events of multiplier s are Gaussian with mu = 2 sqrt(k)/s."""
    event = dpa.ComposedDpEvent([dpa.GaussianDpEvent(20.0), dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(20.0), 3)])
    acc = sdp.Accountant().compose_event(event, count=2)
    for eps in (0.0, 0.5, 1.0, 2.0):
        exact = gaussian_delta(2 * math.sqrt(8) / 20.0, eps)
        assert exact <= acc.delta(epsilon=eps) <= exact * 1.01 + 1e-12
    assert acc.lower_epsilon(delta=1e-6) is None and np.all(np.isinf(acc.renyi([2.0])))
    mixed = acc.compose("general:eps0=1", n=1000, count=10)
    alone = sdp.Accountant().compose("general:eps0=1", n=1000, count=10).epsilon(delta=1e-6)
    assert mixed.epsilon(delta=1e-6) > max(alone, sdp.Accountant().compose_event(event, count=2).epsilon(delta=1e-6))
    with pytest.raises(sdp.ParameterError, match="event"):
        mixed.save("unused.json")


def test_add_or_remove_events_are_converted_only_if_asked() -> None:
    acc = sdp.Accountant()
    with pytest.raises(sdp.ParameterError, match="add-or-remove-one"):
        acc.compose_event(dpa.LaplaceDpEvent(2.0))
    acc.compose_event(dpa.LaplaceDpEvent(2.0), neighbors="add-or-remove-one")
    for eps in (0.0, 0.3, 0.8):  # two Laplace laws at distance 2, scale 2: D = 1 - e^((eps - 1)/2)
        exact = -math.expm1((eps - 1.0) / 2)
        assert exact * (1 - 1e-9) <= acc.delta(epsilon=eps) <= min(1.0, 3 * exact)
    assert acc.epsilon(delta=1e-6) <= 1.001
    with pytest.raises(sdp.ParameterError, match="neighbors"):
        acc.compose_event(dpa.GaussianDpEvent(1.0), neighbors="replace")
    with pytest.raises(sdp.ParameterError, match=r"^event must"):
        acc.compose_event("gaussian")
    with pytest.raises(sdp.ParameterError, match=r"^event must"):
        acc.compose_event(dpa.UnsupportedDpEvent())


@pytest.mark.heavy
def test_an_event_is_composed_as_a_whole_or_not_at_all() -> None:
    from shuffledp.composing.dp_accounting.events import ShuffleAccountant, ShuffledRoundEvent

    good = [ShuffledRoundEvent("grr:eps0=1,d=4", 100), dpa.GaussianDpEvent(20.0)]
    late = [
        ShuffledRoundEvent("grr:eps0=1,d=4", 0),
        ShuffledRoundEvent("nonsense", 10),
        ShuffledRoundEvent("metric-general:d01=1,dmax=2", 100),
        dpa.SelfComposedDpEvent(good[0], 10**9),
        dpa.SelfComposedDpEvent(good[1], -1),
        dpa.SelfComposedDpEvent(good[1], 1.5),
        dpa.UnsupportedDpEvent(),
    ]
    for bad in late:
        acc = sdp.Accountant().compose("grr:eps0=1,d=4", n=50)
        before = acc.epsilon(delta=1e-6)
        with pytest.raises(sdp.ParameterError, match=r"[.?]$"):
            acc.compose_event(dpa.ComposedDpEvent([*good, bad]), count=2)
        assert len(acc.entries) == 1 and acc.epsilon(delta=1e-6) == before
    alone = sdp.Accountant()
    with pytest.raises(sdp.ParameterError, match="replace-one"):  # whichever comes first
        alone.compose_event(dpa.ComposedDpEvent([late[2], good[1]]))
    assert alone.entries == () and alone.epsilon(delta=1e-6) == 0.0
    theirs = ShuffleAccountant().compose(good[0])
    before = theirs.get_epsilon(1e-6)
    with pytest.raises(dpa.UnsupportedEventError):
        theirs.compose(dpa.ComposedDpEvent([good[1], late[2]]))
    assert theirs.get_epsilon(1e-6) == before


def test_other_events() -> None:
    acc = sdp.Accountant().compose_event(dpa.RandomizedResponseDpEvent(0.5, 2)).compose_event(dpa.NoOpDpEvent())
    for eps in (0.0, 0.5, 1.0):  # keeps with 3/4
        assert 0.75 - 0.25 * math.exp(eps) <= acc.delta(epsilon=eps) + 1e-12 <= 0.75 - 0.25 * math.exp(eps) + 1e-3
    assert sdp.Accountant().compose_event(dpa.NonPrivateDpEvent()).epsilon(delta=0.1) == math.inf


@pytest.mark.slow
def test_an_accountant_for_their_tools() -> None:
    from shuffledp.composing.dp_accounting.events import ShuffleAccountant, ShuffledRoundEvent

    round_ = ShuffledRoundEvent("general:eps0=1", 1000)
    acc = ShuffleAccountant().compose(dpa.SelfComposedDpEvent(round_, 50)).compose(round_, 50)
    here = sdp.Accountant().compose("general:eps0=1", n=1000, count=100)
    assert acc.get_epsilon(1e-6) == here.epsilon(delta=1e-6)
    assert acc.get_delta(1.0) == here.delta(epsilon=1.0)
    assert acc.supports(dpa.GaussianDpEvent(1.0)) and not acc.supports(dpa.LaplaceDpEvent(1.0))
    assert not acc.supports(ShuffledRoundEvent("nonsense", 10))
    with pytest.raises(dpa.UnsupportedEventError):
        acc.compose(ShuffledRoundEvent("grr:eps0=1,d=4", 0))
    with pytest.raises(sdp.ParameterError, match="REPLACE_ONE"):
        ShuffleAccountant(dpa.NeighboringRelation.ADD_OR_REMOVE_ONE)
    noise = dpa.calibrate_dp_mechanism(
        ShuffleAccountant,
        lambda x: dpa.ComposedDpEvent([round_, dpa.GaussianDpEvent(x)]),
        2.0,
        1e-6,
        bracket_interval=dpa.ExplicitBracketInterval(2.0, 20.0),
        tol=0.5,
    )
    assert 2.0 < noise < 20.0


@pytest.mark.heavy
def test_without_the_extra_only_the_export_is_missing() -> None:
    code = (
        "import sys\nsys.modules['dp_accounting'] = None\nimport shuffledp as s\n"
        "acc = s.Accountant().compose('general:eps0=1', n=1000, count=3)\n"
        "acc.epsilon(delta=1e-6), acc.renyi([2.0]), acc.guarantee(delta=1e-6)\n"
        "for call in (acc.to_pld, lambda: acc.compose_event(None)):\n"
        "    try: call()\n"
        "    except s.ParameterError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    lines = done.stdout.strip().splitlines()
    assert done.returncode == 0 and len(lines) == 2, done.stderr
    assert all("pip install '.[accounting]'" in line and line.endswith(".") for line in lines)


@pytest.mark.parametrize("noise", [math.nan, math.inf, -1.0, 0.0, 1e-3])
def test_events_without_noise_are_refused(noise: float) -> None:
    with pytest.raises(sdp.ParameterError, match=r"^noise_multiplier must .*\.$"):
        sdp.Accountant().compose_event(dpa.GaussianDpEvent(noise))


@pytest.mark.heavy
@pytest.mark.slow_cases("general:eps0=1.9", "laplace:eps0=2")
@pytest.mark.parametrize("spec", ["general:eps0=2", "laplace:eps0=2", "general:eps0=1.9"])
def test_a_bracket_of_several_rounds_is_tight(spec: str) -> None:
    """An atom of 1e-73 far out must not blur the sum: the lower end was 0 for some local budgets."""
    acc = sdp.Accountant().compose(spec, n=10**5, count=10)
    assert 0.97 * acc.epsilon(delta=1e-7) < acc.lower_epsilon(delta=1e-7) <= acc.epsilon(delta=1e-7)  # type: ignore[operator]


@pytest.mark.slow
def test_an_accountant_can_be_pickled() -> None:
    made = sdp.Accountant().compose("grr:eps0=1,d=4", n=1000, count=3).compose("laplace:eps0=1", n=500)
    before = made.epsilon(delta=1e-6)
    for again in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made), copy.copy(made)):
        assert again.entries == made.entries and again.epsilon(delta=1e-6) == before
        again.compose("grr:eps0=1,d=4", n=1000)
        assert made.epsilon(delta=1e-6) == before


@pytest.mark.heavy
def test_an_accountant_with_events_can_be_pickled() -> None:
    made = sdp.Accountant().compose("grr:eps0=1,d=4", n=1000).compose_event(dpa.GaussianDpEvent(4.0), count=2)
    again = pickle.loads(pickle.dumps(made))
    assert again.rounds == made.rounds == 3 and again.epsilon(delta=1e-6) == made.epsilon(delta=1e-6)
