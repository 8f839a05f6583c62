"""All crowds of a small matrix: equal to the definition in exact fractions, and never on the wrong side of it."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sdp
from reference.fractions_oracle import exp_enclosure, shuffled_divergence, worst_divergence
from shuffledp.errors import BoundNotApplicableError
from shuffledp.numerics import tuning
from shuffledp.numerics.crowds import EveryCrowd, chords, terms_summed, weights
from shuffledp.numerics.pair import FloatArray, Side

SIDES: tuple[Side, Side] = ("lower", "upper")
EPS = np.array([0.0, 1e-6, 0.3, 0.7, 1.4])


def drawn(kind: str, seed: int) -> FloatArray:
    """A small matrix with two to three rows and two to four columns."""
    rng = np.random.default_rng(seed)
    d, k = int(rng.integers(2, 4)), int(rng.integers(2, 5))
    rows = rng.dirichlet(np.full(k, 0.7), size=d)
    if kind == "zeros":
        rows[rng.random(rows.shape) < 0.4] = 0.0
        rows[:, 0] += 0.1
    elif kind == "levels":
        rows = rng.choice([1.0, 3.0], size=(d, k))
        rows[0, 0], rows[1, 0] = 1.0, 3.0
    elif kind == "alike":
        rows[1] = rows[0] * (1.0 + 1e-4 * rng.random(k))
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def values(family: EveryCrowd, eps: FloatArray, n: int) -> list[FloatArray]:
    return [np.exp(family.log_delta(eps, n=n, tol=1e-4, side=side)) for side in SIDES]


@pytest.mark.parametrize("kind", ["any", "zeros", "levels", "alike"])
@pytest.mark.parametrize("n", [1, 2, 4])
def test_it_is_the_largest_over_all_datasets(kind: str, n: int) -> None:
    for seed in range(4):
        rows = drawn(kind, seed)
        family = EveryCrowd(rows)
        for eps, low, high in zip(EPS, *values(family, EPS, n), strict=True):
            ends = [worst_divergence(rows.tolist(), n, E) for E in exp_enclosure(float(eps))]
            assert Fraction(float(low)) <= ends[1] <= ends[0] <= Fraction(float(high))
            assert high - low <= 1e-9 * high + 1e-13
        for delta in (0.1, 1e-3, 1e-9):
            lower, upper = (family.epsilon(n=n, delta=delta, tol=1e-4, side=side).epsilon for side in SIDES)
            assert lower <= upper
            if upper < math.inf:
                assert worst_divergence(rows.tolist(), n, exp_enclosure(upper)[0]) <= Fraction(delta)
                assert kind == "alike" or upper - lower <= 1e-9 * upper + 1e-12
            if 0.0 < lower < 100.0:
                assert worst_divergence(rows.tolist(), n, exp_enclosure(lower)[1]) >= Fraction(delta)


@pytest.mark.parametrize("n", [10, 40])
def test_three_options(n: int) -> None:
    """Some crowds in fractions are not above it, and it is not below the constant ones."""
    m = sdp.GRR(eps0=1.0, d=3)
    rows = m.probabilities()
    family = EveryCrowd(rows)
    eps = 0.3
    low, high = (float(x[0]) for x in values(family, np.array([eps]), n))
    assert 0.0 < high - low <= 1e-9 * high
    E = exp_enclosure(eps)[0]
    some = [[0] * (n - 1), [2] * (n - 1), [0] + [2] * (n - 2), [1] * (n // 2) + [2] * (n - 1 - n // 2)]
    found = [float(shuffled_divergence(rows.tolist(), 0, 1, others, E)) for others in some[: 4 if n == 10 else 2]]
    assert max(found) <= high
    constant = float(sdp.profile(m, n=n, epsilon=eps, side="lower", tol=1e-6))
    assert constant <= high and low >= constant * (1 - 1e-5)


def test_the_smallest_deltas_are_on_their_sides() -> None:
    """Next to the local guarantee delta is far below what differences of laws can tell."""
    skewed = np.array([[1.0 - 2.0**-40, 2.0**-40], [0.5, 0.5]])
    for eps in (0.69, 27.0, math.log(2.0) - 1e-9):
        low, high = (float(x[0]) for x in values(EveryCrowd(skewed), np.array([eps]), 25))
        ends = [
            max(
                shuffled_divergence(skewed.tolist(), a, 1 - a, [0] * i + [1] * (24 - i), E)
                for a in (0, 1)
                for i in range(25)
            )
            for E in exp_enclosure(eps)
        ]
        assert Fraction(low) <= ends[1] <= ends[0] <= Fraction(high)


def test_many_eps_at_once_are_those_of_each() -> None:
    family = EveryCrowd(np.random.default_rng(1).dirichlet(np.ones(3), size=3))
    eps = np.linspace(0.0, 3.3, 300)
    for side in SIDES:
        together = np.exp(family.log_delta(eps, n=12, tol=1e-4, side=side))
        alone = [math.exp(family.log_delta(eps[[i]], n=12, tol=1e-4, side=side)[0]) for i in range(0, 300, 13)]
        assert together[::13] == pytest.approx(alone, rel=1e-10, abs=1e-300)
        assert np.all(np.diff(together) <= 0.0)


@pytest.mark.heavy
def test_auto_uses_it_and_is_never_looser() -> None:
    for m in (
        sdp.GRR(eps0=1.0, d=3),
        sdp.GRR(eps0=2.0, d=4),
        sdp.Window(eps0=1.0, d=3, cells=1),
        sdp.FiniteRandomizer(drawn("any", 2)),
        sdp.FiniteRandomizer(drawn("zeros", 1)),
    ):
        for n, delta in ((1, 1e-3), (5, 0.05), (10, 1e-3), (16, 1e-6)):
            best = sdp.amplify(m, n=n, delta=delta)
            for name in ("swap", "blanket", "variation-ratio"):
                try:
                    other = sdp.amplify(m, n=n, delta=delta, bound=name).epsilon
                except BoundNotApplicableError:
                    continue
                assert best.epsilon <= other * (1 + 1.1e-4)
            if 0.0 < best.epsilon < math.inf:
                assert best.bound == "exact"
                assert best.lower is not None and best.epsilon - best.lower <= 1e-9 * best.epsilon + 1e-12
    assert sdp.amplify("grr:eps0=1,d=4", n=10, delta=1e-3).epsilon == pytest.approx(0.6966, abs=1e-4)  # before: 0.7298


def test_more_than_a_little_work_is_not_done() -> None:
    m = sdp.GRR(eps0=1.0, d=3)
    for asked in ({"n": 44}, {"n": [10, 44]}, {"n": 46, "dropouts": 2}, {"n": 44, "reports_per_user": 2}):
        with pytest.raises(BoundNotApplicableError, match=r"^bound 'exact' holds for up to 43 users of grr.*, got 44;"):
            sdp.amplify(m, delta=1e-3, bound="exact", **asked)
    with pytest.raises(BoundNotApplicableError, match="up to 43 users"):
        sdp.profile(m, n=44, epsilon=[0.1], bound="exact")
    assert sdp.amplify(m, n=43, delta=1e-3, bound="exact").epsilon < 1.0
    assert sdp.amplify(m, n=44, delta=1e-3).bound != "exact"
    with pytest.raises(BoundNotApplicableError, match="few different rows and columns, got 70 x 70;"):
        sdp.amplify("grr:eps0=1,d=70", n=10, delta=1e-3, bound="exact")
    with pytest.raises(BoundNotApplicableError, match="laplace does not state one"):
        sdp.amplify("laplace:eps0=1", n=10, delta=1e-3, bound="exact")


def test_crowds() -> None:
    """Dropouts leave fewer users."""
    m = sdp.GRR(eps0=1.0, d=3)
    assert (
        sdp.amplify(m, n=15, delta=1e-3, dropouts=5).epsilon == sdp.amplify(m, n=10, delta=1e-3, bound="exact").epsilon
    )


@pytest.mark.heavy
def test_composition_gains_as_well() -> None:
    m = sdp.GRR(eps0=1.0, d=4)
    once, twice = (sdp.Accountant().compose(m, n=10, count=count).epsilon(delta=1e-3) for count in (1, 2))
    before = sdp.Accountant().compose(m, n=10, count=2, bound="blanket").epsilon(delta=1e-3)
    assert once == pytest.approx(sdp.amplify(m, n=10, delta=1e-3).epsilon, rel=1e-3)
    assert once < twice <= before * (1 + 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["three options", "any", "four options", "two rows"])
def test_the_most_work_takes_little_time(case: str) -> None:
    """About 50 ms; four times that passes on a machine that does other things, too."""
    rows = {
        "three options": sdp.GRR(eps0=1.0, d=3).probabilities(),
        "any": np.random.default_rng(1).dirichlet(np.ones(3), size=3),
        "four options": sdp.GRR(eps0=1.0, d=4).probabilities(),
        "two rows": np.array([[0.75, 0.25], [0.3, 0.7]]),
    }[case]
    n = max(n for n in range(2, 257) if EveryCrowd(rows).covers(n))
    taken = []
    for _ in range(3):
        family, start = EveryCrowd(rows), time.process_time()
        family.epsilon(n=n, delta=1e-3, tol=1e-4, side="upper")
        taken.append(time.process_time() - start)
    assert n >= 16 and min(taken) < 0.2


# -- the charges -----------------------------------------------------------------------------------------------------


def test_weights() -> None:
    """With errors of the given size the charged sum is on its side, and the plain one is not."""
    rng, error, wrong = np.random.default_rng(4), 1e-12, 0
    for _ in range(50):
        a, b, g = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3)), rng.random(3)
        off = g * (1.0 + error * rng.choice([-0.9, 0.9], size=3))
        truth = [sum(Fraction(x) * Fraction(y) for x, y in zip(a - math.exp(0.2) * b, g, strict=True))] * 2
        low, high = (float((weights(a, b, np.array([0.2]), error, side)[0] * off).sum()) for side in SIDES)
        assert Fraction(low) < truth[0] < Fraction(high)
        wrong += float(((a - math.exp(0.2) * b) * off).sum()) < truth[0]
    assert 0 < wrong < 50


def test_terms_summed() -> None:
    rng, off = np.random.default_rng(5), []
    for _ in range(20):
        terms = rng.random((1, 999, 1))
        truth = sum(map(Fraction, terms.reshape(-1).tolist())) / Fraction(2) ** 900
        low, high = (Fraction(float(terms_summed(terms, side)[0, 0])) for side in SIDES)
        assert low < truth < high
        off.append(Fraction(float(terms.sum())) / Fraction(2) ** 900 - truth)
    assert min(off) < 0 < max(off)
    nothing = np.zeros((1, 3, 1))  # all of it may have been lost
    assert terms_summed(nothing, "upper")[0, 0] > 0.0 == terms_summed(nothing, "lower")[0, 0]


def test_chords() -> None:
    """They are above the function, in between and where E cannot be told from its neighbors."""
    family, eps = EveryCrowd(drawn("any", 3)), np.linspace(0.0, 1.0, 9)
    columns = np.arange(3)
    value = family._deltas(5, columns, eps, "upper")
    assert np.all(chords(value[0], value[-1], eps) >= value[1:-1])
    close = np.array([0.5, np.nextafter(0.5, 1.0), np.nextafter(np.nextafter(0.5, 1.0), 1.0)])
    assert np.all(chords(np.ones(2), np.zeros(2), close) == 1.0)
    assert chords(np.ones(2), np.zeros(2), eps[:2]).shape == (0, 2)


def test_a_pair_that_stands_for_others_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries of equal rows on paper that differ by rounding leave room, entries that are equal do not need it."""
    plain = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]])
    off = plain * (1.0 + 1e-14 * np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    exactly, nearly = EveryCrowd(plain), EveryCrowd(off)
    assert len(exactly._pairs) == len(nearly._pairs) == 1 and nearly._error(5) > 100 * exactly._error(5)
    truth = worst_divergence(off.tolist(), 3, exp_enclosure(0.2)[0])
    assert Fraction(float(values(nearly, np.array([0.2]), 3)[1][0])) >= truth
    monkeypatch.setattr(tuning, "MOST_CROWD_WORK", 0)
    with pytest.raises(BoundNotApplicableError):
        EveryCrowd(plain)
