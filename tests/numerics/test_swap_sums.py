"""Each part of a swap sum against its definition, and each charge against the error that it stands for."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.fractions_oracle import exp_enclosure
from reference.randomizers import floats, grr
from reference.repetition import examples, slow
from reference.swap import Datasets
from shuffledp.numerics import tuning
from shuffledp.numerics.curve import PairCurve
from shuffledp.numerics.line import tilt
from shuffledp.numerics.pair import ShuffledPair
from shuffledp.numerics.proof.swap import cap, propose, prove
from shuffledp.numerics.rows import take_rows
from shuffledp.numerics.swap.curve import SwapCurve
from shuffledp.numerics.swap.lines import largest_bound, smallest_maximum
from shuffledp.numerics.swap.pair import SwapPair
from shuffledp.numerics.swap.sums import Line, Swapped, log_screen, log_upper, nodes_beyond
from shuffledp.numerics.swap.waiting import Others, Waiting

from .swap_cases import member

F = Fraction


def exact_a(beta: float, others: list[int], mass: list[float], r: complex) -> complex:
    """The mean of A(r), term by term."""
    return sum(
        w * sum(beta * (1.0 - beta) ** k * r ** (m - k) / (m - k) for k in range(m))
        for m, w in zip(others, mass, strict=True)
    )


def waiting_of(beta: float, others: list[int], mass: list[float], kept: float) -> Waiting:
    law = Others(np.array([others], dtype=float), np.log([mass]), np.zeros(1))
    return Waiting.of(np.array([beta]), law, np.array([kept]))


CASES = [
    (0.3, [4], [1.0]),
    (0.05, [60], [1.0]),
    (0.5, [400], [1.0]),
    (0.9, [1500], [1.0]),
    (1.0, [50], [1.0]),
    (0.4, [300, 500, 700], [0.25, 0.5, 0.25]),
]


@pytest.mark.parametrize(("beta", "others", "mass"), CASES)
def test_waiting_times_are_summed_from_above(beta: float, others: list[int], mass: list[float]) -> None:
    row = np.zeros(60, dtype=np.int64)
    log_r = -np.linspace(0.0, 30.0, 60) / others[0]
    wanted = np.log([exact_a(beta, others, mass, math.exp(x)).real for x in log_r])
    made = waiting_of(beta, others, mass, 80.0)
    found = made.log_sum(row, log_r)
    rest = np.exp(made.log_rest - wanted)  # what is not summed is charged elsewhere
    assert np.all(np.log(np.exp(found - wanted) + rest) >= 0.0)
    assert np.all(found[:20] <= wanted[:20] + (0.02 if others[0] < 100 else 2e-3))


@pytest.mark.parametrize(("beta", "others", "mass"), [CASES[1], CASES[2], CASES[5]])
def test_chords_are_above_and_close(beta: float, others: list[int], mass: list[float]) -> None:
    made = waiting_of(beta, others, mass, 80.0)
    log_r = -np.linspace(0.0, 70.0, 5000) / made.fewest[0]
    row = np.zeros(log_r.size, dtype=np.int64)
    slow, quick = made.log_sum(row, log_r), made.log_sums(row, log_r, np.zeros(1))
    assert np.all(quick >= slow - 1e-13)
    assert np.all(quick[slow > slow[0] - 10.0] <= slow[slow > slow[0] - 10.0] + 1e-3)


def law_at(rows: np.ndarray, eps: float) -> tuple[np.ndarray, np.ndarray]:
    x = (rows[0] - math.exp(eps) * rows[1]) / rows
    return x, rows


@examples(60)
@given(st.floats(-2.0, 2.0), st.floats(-2.5, 0.5), st.floats(-3.0, 0.3), st.sampled_from([2, 3, 10]), st.integers(2, 4))
@np.errstate(all="ignore")
def test_every_line_is_above_the_truth(c: float, h: float, s: float, q: int, n: int) -> None:
    """max over types of U, on any line, and what is left: never below any dataset of few users."""
    matrix, eps = grr(3, q), 0.2
    x, t = law_at(np.array(floats(matrix)), eps)
    beta = 3.0 / (q + 2.0)
    waiting = take_rows(waiting_of(beta, [n - 1], [1.0], 60.0), np.zeros(3, dtype=np.int64))
    line = Line(*(np.full(3, 10.0**v) for v in (c, h, s)))
    types = Swapped(x, tilt(x, t, line.c), waiting, line)
    found = log_upper(types)
    assert np.all((log_screen(types) >= found - 1e-9) | np.isinf(found))  # inf: nothing is claimed
    local = float(np.maximum(x[0] * t[0], 0.0).sum())
    bound = math.exp(min(float(found.max()), 1.0)) + math.exp(float(waiting.log_rest[0])) * local
    truth = Datasets(matrix, n)
    E = exp_enclosure(eps)[1]
    assert float(max(truth.deltas((0, 1), E))) <= bound * (1.0 + 1e-9)


def plain_sum(x: np.ndarray, t: np.ndarray, beta: float, m: int, line: Line, nodes: int) -> float:
    """(h/2 pi) sum over |y| <= nodes h, term by term."""
    c, h, s = (float(part[0]) for part in line)
    y = h * np.arange(nodes + 1)
    modulus = np.abs(1.0 + (t * np.expm1(np.outer(c + 1j * y, x))).sum(axis=1))
    values = np.array([exact_a(beta, [m], [1.0], r).real for r in modulus])
    values *= np.exp(0.5 * s * s * (c * c - y * y)) / (c * c + y * y)
    return float(h / (2.0 * np.pi) * (2.0 * values.sum() - values[0]))


@pytest.mark.heavy
@pytest.mark.slow_cases("2-300-0.15", "8-150-0.5")
@pytest.mark.parametrize(("q", "m", "eps"), [(3, 40, 0.3), (2, 300, 0.15), (8, 150, 0.5)])
def test_a_sum_is_its_definition(q: int, m: int, eps: float) -> None:
    x, t = law_at(np.array(floats(grr(3, q))), eps)
    beta = 3.0 / (q + 2.0)
    waiting = take_rows(waiting_of(beta, [m], [1.0], 80.0), np.zeros(3, dtype=np.int64))
    line = Line.at(np.full(3, 0.5), np.full(3, 4.0), np.full(3, 0.05))
    found = log_upper(Swapped(x, tilt(x, t, line.c), waiting, line))
    wanted = np.log([plain_sum(x[k], t[k], beta, m, line, 4000) for k in range(3)])
    assert np.all(found >= wanted - 1e-12) and np.all(found <= wanted + 3e-3)


@pytest.mark.heavy
@pytest.mark.slow_cases("20", "200", "3")
@pytest.mark.parametrize("last", [0, 3, 20, 200])
def test_nodes_beyond_the_last_are_charged(last: int) -> None:
    x, t = law_at(np.array(floats(grr(3, 3))), 0.2)
    for n, dither in ((50, 0.02), (50, 0.3), (5000, 0.05)):
        waiting = take_rows(waiting_of(0.6, [n], [1.0], 60.0), np.zeros(3, dtype=np.int64))
        line = Line.at(np.full(3, 0.4), np.full(3, 0.7 * math.sqrt(n)), np.full(3, dither))
        types = Swapped(x, tilt(x, t, line.c), waiting, line)
        found = nodes_beyond(types, (last + 1.0) * line.h)
        c, h, s = (float(part[0]) for part in line)
        y = h * np.arange(last + 1, last + 40_000)
        for k in range(3):
            modulus = np.abs(1.0 + (t[k] * np.expm1(np.outer(c + 1j * y, x[k]))).sum(axis=1))
            size = waiting.log_sum(np.full(y.size, k), np.log(modulus)) - types.peak[k]
            assert 2.0 * (np.exp(size - 0.5 * (s * y) ** 2) / (c * c + y * y)).sum() <= found[k]


def screened(seed: int) -> float:
    """By how much the bound of a type that is not evaluated exceeds the sum over all nodes: a random law and line."""
    rng = np.random.default_rng(seed)
    kind, symbols, m = seed % 4, int(rng.integers(2, 200)), int(10.0 ** rng.uniform(1.0, 3.5))
    t = rng.dirichlet(np.full(symbols, rng.choice([0.2, 1.0, 10.0]))) * rng.choice([1.0, 0.7])
    x = [
        rng.normal(size=symbols),
        rng.integers(-3, 4, symbols),
        rng.standard_t(2, symbols),
        rng.uniform(-1, 1, symbols),
    ]
    x = x[kind] - (t @ x[kind]) * rng.uniform(0.9, 1.3)  # the mean of X is near 0
    deviation = np.array([math.sqrt(m * max(t @ (x * x), 1e-12))])
    c = rng.uniform(0.5, 5.0) / deviation
    line = Line.at(c, deviation, np.array([10.0 ** rng.uniform(-1.8, -0.5)]))
    waiting = waiting_of(float(rng.uniform(0.2, 1.0)), [m], [1.0], 60.0)
    types = Swapped(x[None], tilt(x[None], t[None], c), waiting, line)
    y = float(line.h[0]) * np.arange(1 + int(8.0 / float(line.s[0] * line.h[0])))
    modulus = np.abs(1.0 + (t * np.expm1(np.outer(float(c[0]) + 1j * y, x))).sum(axis=1))
    terms = np.exp(waiting.log_sum(np.zeros(y.size, dtype=np.int64), np.log(modulus)) - types.peak)
    terms *= np.exp(-0.5 * (line.s * y) ** 2) / (c * c + y * y)
    exact = math.log(2.0 * terms.sum() - terms[0]) + float(types.peak[0] + np.log(line.h[0] / (2.0 * np.pi)))
    return float(log_screen(types)[0]) - exact - 0.5 * float(line.s[0] * c[0]) ** 2


@pytest.mark.parametrize("seeds", [200, slow(10_000)])
def test_a_type_that_is_not_evaluated_is_bounded_from_above(seeds: int) -> None:
    found = [screened(seed) for seed in range(seeds)]
    assert min(found) >= -1e-12 and np.quantile(found, 0.1) < 0.05


@pytest.mark.parametrize("n", [40, 200, 500])
def test_symbols_that_one_type_never_sends_are_added_to_every_bound(n: int) -> None:
    """The third symbol, which users of the third type never send, counts from eps = log 1.4 on downward.

    Asked first above and then below that eps, the bound must stay above the dataset of the third type, whose
    delta is about (E* - E) P1 there; leaving the symbol out gave a hundredth of it.
    """
    rows = np.array([[0.72 * 0.95, 0.72 * 0.05, 0.28], [0.36, 0.44, 0.2], [0.5, 0.5, 0.0]])
    pairs = [ShuffledPair(rows[0], rows[1], t) for t in rows]
    users, fine = np.array([float(n)]), np.array([1e-6])
    curve = SwapCurve.of([SwapPair(tuple(pairs), float(rows.min(axis=0).sum()))], users, 1e-4)
    truth = PairCurve.of(pairs[2:], users, "lower")
    for eps in math.log(1.4) * np.array([[1.0001], [0.99], [0.985]]):
        found = curve.at(eps, fine).log_delta
        assert found >= truth.at(eps, fine).log_delta
        with np.errstate(all="ignore"):
            here, _ = curve.placed(eps)
            assert largest_bound(here, 0.01) >= smallest_maximum(here, 0.01) - 1e-9 >= here.log_bare.max() - 2e-9


@pytest.mark.heavy
def test_no_tuning_constant_makes_a_value_smaller_than_it_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the constants that only trade time are, the bound stays above every dataset."""
    from .swap_cases import upper

    matrix, n, eps = grr(3, 4), 5, (0.0, 0.2, 0.8)
    truth = Datasets(matrix, n)
    for name, value in (
        ("SWAP_CUT", 3.0),
        ("SWAP_NODES", 4),
        ("SWAP_STEP", 3.0),
        ("SWAP_NARROW", 3.0),
        ("DEPTH", 2.0),
        ("AT_ONCE", 1),
        ("LEADERS", 1),
        ("CLOSE", 100.0),
        ("GRAINY", 0.0),
    ):
        with monkeypatch.context() as changed:
            changed.setattr(tuning, name, value)
            for pair in permutations(range(3), 2):
                for e, bound in zip(eps, upper(member(matrix, pair), n, eps), strict=True):
                    assert max(truth.deltas(pair, exp_enclosure(e)[1])) <= bound, name


@pytest.mark.parametrize(("n", "eps"), [(1, 0.3), (2, 0.3), (30, 0.4), (2000, 0.08), (10**7, 0.001)])
def test_a_proposed_line_is_proved(n: int, eps: float) -> None:
    pair = member(grr(3, 3), (0, 1))
    delta = 2.0 * math.exp(propose(pair, n, eps, 1e-300).log_delta)
    found = propose(pair, n, eps, delta)
    proof = prove(pair.types, pair.common_mass, n, Fraction(eps), found.method)
    assert proof.upper <= Fraction(delta)
    assert math.log(proof.upper) == pytest.approx(found.log_delta, abs=0.2 if found.method.nodes == 1 else 1e-3)
    assert cap([pair]) >= pair.limit
