"""Windows: golden values, error, and the proof that GRR's bounds hold, step by step and by brute force."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from reference.designs import DESIGNS, simulated, worst_number
from reference.fractions_oracle import hockey_stick
from reference.repetition import slow
from shuffledp.mechanisms.numeric.grid_mean import Grid
from shuffledp.randomness.sampling import source

GOLDEN = DESIGNS["window"]
Q = 3
EPS = [0.0, 0.1, 0.4, 0.9]


@pytest.mark.parametrize("entry", GOLDEN, ids=lambda e: f"{e['d']}-{e['b']}")
def test_golden_values(entry: dict[str, Any]) -> None:
    m = sdp.Window(eps0=entry["eps0"], d=entry["d"], cells=entry["b"])
    outputs, q = entry["d"] * entry["b"], math.exp(entry["eps0"])
    assert m._phi == pytest.approx(entry["phi"], rel=1e-6)
    assert m._values[-1] == pytest.approx(entry["A"] * math.sin(entry["phi"] * (1 - 1 / outputs)), rel=1e-6)
    assert m._uniform == pytest.approx(entry["gamma"], rel=1e-6)
    assert m.variance(1) == pytest.approx(entry["v_with_rounding"], rel=1e-6)
    assert 2 * (q - 1) ** 2 / (q + m.d - 1) == pytest.approx(entry["V"], rel=1e-6)
    own = m.probabilities() @ m._values**2 - np.array(m.inputs()) ** 2
    assert own == pytest.approx(np.full(len(own), entry["C0"]), rel=1e-6)
    found = sdp.amplify(m, n=entry["n"], delta=entry["delta"])
    assert found.epsilon == pytest.approx(entry["eps"], rel=1e-4)
    assert found.lower is not None and found.lower <= entry["eps"]


@pytest.mark.parametrize(
    "m",
    [
        sdp.Window(eps0=5.0),
        sdp.Window(eps0=2.0, d=3, cells=1),
        sdp.Window(eps0=0.1, d=3),
        sdp.Window(eps0=1e-6, d=7, cells=3),
        sdp.Window(eps0=40.0, d=4),
        sdp.Window(eps0=12.0, d=40),
        sdp.Levels(eps0=1.0, d=2),
        sdp.Levels(eps0=6.0),
        sdp.Piecewise(eps0=0.5),
        sdp.Piecewise(eps0=5.0),
        sdp.Piecewise(eps0=7.0),
        sdp.Hybrid(eps0=3.0),
    ],
    ids=lambda m: m.spec,
)
def test_unbiased_and_of_the_stated_variance(m: Any) -> None:
    """From the matrix, exactly; and between the points of the grid, where rounding adds its own."""
    rows, points, values = m.probabilities(), np.array(m.inputs()), m._values
    scale = np.abs(values).max()
    assert points[0] == -1.0 and points[-1] == 1.0 and np.all(np.diff(points) > 0.0)
    assert np.abs(rows @ values - points).max() <= 1e-12 * scale
    assert m._squares == pytest.approx(rows @ values**2, rel=1e-12)
    spread = rows @ values**2 - points**2
    worst = 0.0
    for share in np.linspace(0.0, 1.0, 201):  # Var = E[own variance] + (x - left)(right - x)
        between = share * (1.0 - share) * np.diff(points) ** 2
        worst = max(worst, float(np.max((1.0 - share) * spread[:-1] + share * spread[1:] + between)))
    assert worst <= m.variance(1) * (1.0 + 1e-9) and m.variance(1) == pytest.approx(worst, rel=1e-4)
    uniform = np.linspace(-1.0, 1.0, 20_001)
    at = np.interp(uniform, points, m._squares) - uniform**2
    assert m.accuracy(1).typical == pytest.approx(math.sqrt(np.trapezoid(at, uniform) / 2.0), rel=1e-3)


@pytest.mark.parametrize(("eps0", "d", "cells"), [(5.0, 5, 16), (2.0, 3, 1), (0.3, 3, 4), (9.0, 20, 4)])
def test_the_formulas_of_the_docstring(eps0: float, d: int, cells: int) -> None:
    m = sdp.Window(eps0=eps0, d=d, cells=cells)
    phi, size = m._phi, d * cells
    gamma = d / (math.exp(eps0) + d - 1)
    one, two = (math.sin(s * cells * phi / size) / (cells * math.sin(s * phi / size)) for s in (1, 2))
    scale = 1 / ((1 - gamma) * one * math.sin(phi * (1 - 1 / d)))
    bend = two / ((1 - gamma) * one**2) - 1
    even = gamma * (1 - math.sin(2 * phi) / (size * math.sin(2 * phi / size))) / 2
    base = scale**2 * ((1 - gamma) * (1 - two) / 2 + even)
    middles = (2 * np.arange(size - cells + 1) + cells) / size - 1
    points = np.array(m.inputs())
    assert points == pytest.approx(np.sin(phi * middles) / math.sin(phi * (1 - 1 / d)), abs=1e-12)
    assert m._squares - points**2 == pytest.approx(base + bend * points**2, rel=1e-9)
    assert bend == pytest.approx(0.0, abs=1e-12) or bend > 0.0


def test_piecewise_is_close_to_the_paper() -> None:
    """Wang et al., ICDE 2019: Var = x^2/(s-1) + (s+3)/(3 (s-1)^2), s = e^(eps0/2), for windows of exactly 1/(s+1)."""
    for eps0, within in ((1.0, 0.08), (2.0, 0.08), (3.0, 0.08), (4.0, 0.05), (5.0, 0.02), (7.0, 0.005)):
        s = math.exp(eps0 / 2)
        assert sdp.Piecewise(eps0=eps0).variance(1) == pytest.approx(4 * s / (3 * (s - 1) ** 2), rel=within)


@pytest.mark.heavy
def test_the_hybrid_is_close_to_the_paper_and_private_as_its_matrix_says() -> None:
    """Wang et al., ICDE 2019, equation 10; bounds of the whole matrix, which knows that both inputs are one number."""
    for eps0, within in ((0.5, 1e-9), (1.0, 0.04), (2.0, 0.04), (4.0, 0.02), (6.0, 0.005)):
        s, q = math.exp(eps0 / 2), math.exp(eps0)
        bit = (q + 1) ** 2 / (q - 1) ** 2
        paper = (s + 3) / (3 * s * (s - 1)) + bit / s if eps0 > 0.61 else bit
        m = sdp.Hybrid(eps0=eps0)
        assert m.variance(1) == pytest.approx(paper, rel=within)
        assert np.abs(m.probabilities() @ m._values - m.inputs()).max() <= 1e-12 * np.abs(m._values).max()
        assert m._squares == pytest.approx(m.probabilities() @ m._values**2, rel=1e-12)
    for eps0, n, loose in ((0.5, 300, 1.001), (2.0, 300, 1.1), (4.0, 3000, 1.02)):
        m = sdp.Hybrid(eps0=eps0)
        rows = m.probabilities()[:: (len(m.inputs()) - 1) // 8]  # nine numbers, the ends and the middle among them
        some = sdp.amplify(sdp.FiniteRandomizer(rows / rows.sum(axis=1, keepdims=True)), n=n, delta=1e-5)
        found = sdp.amplify(m, n=n, delta=1e-5)
        assert some.lower is not None and found.lower is not None and found.bound == "swap"
        assert some.lower <= found.epsilon <= loose * some.epsilon and found.lower <= some.epsilon


def test_levels_are_those_of_randomized_response() -> None:
    """d equal levels, GRR on them: the report of level y at x has the weight (y - b sum)/(a - b), and the sum is 0."""
    grr, m = sdp.GRR(eps0=3.0, d=5), sdp.Levels(eps0=3.0, d=5)
    assert m.probabilities() == pytest.approx(grr.probabilities())
    assert m._values == pytest.approx(np.linspace(-1, 1, 5) / (grr.keep - grr.stray))
    two, duchi = sdp.Levels(eps0=1.0, d=2), sdp.Duchi(eps0=1.0, dim=1)
    assert two.variance(10) == pytest.approx(duchi.variance(10))


@pytest.mark.parametrize(
    ("n", "eps", "d", "error"), [(10_000, 0.5, 5, 0.1637), (10_000, 1.0, 7, 0.0693), (10**6, 1.0, 28, 0.00287)]
)
def test_levels_at_sines(n: int, eps: float, d: int, error: float) -> None:
    """One cell: the table of the design, which searches phi with rounding counted."""
    m = sdp.Window(eps0=sdp.calibrate(f"grr:d={d}", n=n, epsilon=eps, delta=1e-8).eps0, d=d, cells=1)
    assert m.variance(1) == pytest.approx(error, rel=0.004)


# -- privacy is that of GRR ---------------------------------------------------------------------------------------

WINDOWS = [sdp.Window(eps0=1.0, d=3, cells=2), sdp.Window(eps0=4.0, d=6, cells=5), sdp.Piecewise(eps0=3.0)]


@pytest.mark.heavy_cases("piecewise:eps0=3")
@pytest.mark.slow_cases("window:eps0=4,d=6,cells=5")
@pytest.mark.parametrize("m", WINDOWS, ids=lambda m: m.spec)
def test_every_question_has_the_answer_of_grr(m: Any) -> None:
    grr = sdp.GRR(eps0=m.eps0, d=m.d)
    crowd: dict[str, Any] = {"n": 5000, "delta": 1e-6}
    asked: list[Callable[[Any], Any]] = [
        lambda x: [sdp.amplify(x, bound=b, **crowd).epsilon for b in ("auto", "blanket", "swap", "general")],
        lambda x: sdp.amplify(x, **crowd).lower,
        lambda x: sdp.amplify(x, dropouts=10, **crowd).epsilon,
        lambda x: sdp.amplify(x, n=500, delta=1e-6, certify=True).epsilon,
        lambda x: sdp.Accountant().compose(x, n=5000, count=4).epsilon(delta=1e-6),
        lambda x: sdp.profile(x, n=300, epsilon=EPS).tolist(),
        lambda x: sdp.amplify(sdp.Parallel([(0.5, x), (0.5, "grr:eps0=1,d=4")]), **crowd).epsilon,
        lambda x: [x.variation_ratio(), x.local_epsilon, x.law.dominating_pairs(9)],
    ]
    for question in asked:
        assert question(m) == question(grr)


@pytest.mark.heavy
def test_mixed_budgets_share_the_outputs() -> None:
    crowd = [(3.0, 4000), (1.0, 1000)]
    mixed = sdp.amplify_mixed([(sdp.Window(eps0=e, d=4, cells=8), k) for e, k in crowd], delta=1e-6).epsilon
    alone = sdp.amplify(sdp.Window(eps0=3.0, d=4, cells=8), n=4000, delta=1e-6).epsilon
    assert sdp.amplify_mixed([(sdp.GRR(eps0=e, d=4), k) for e, k in crowd], delta=1e-6).epsilon <= mixed <= alone
    with pytest.raises(sdp.BoundNotApplicableError, match="one family"):
        sdp.amplify_mixed([("window:eps0=1,d=4,cells=8", 10), ("window:eps0=2,d=4,cells=4", 10)], delta=1e-6)


def test_a_tuple_does_not_rest_on_products_of_swap_pairs() -> None:
    """Which pair dominates an overlap depends on E, so that the swap bound of a tuple is not that of GRR's."""
    tuples = [sdp.Joint([m, "grr:eps0=1,d=2"]) for m in (sdp.Window(eps0=1.0, d=3, cells=2), sdp.GRR(eps0=1.0, d=3))]
    window, grr = (sdp.amplify(m, n=300, delta=1e-4) for m in tuples)
    assert grr.epsilon <= window.epsilon and window.bound != "swap"


def law(q: int, d: int, cells: int) -> list[list[Fraction]]:
    """The rows, with q for e^eps0."""
    low = Fraction(1, cells * (q + d - 1))
    size = d * cells
    return [[q * low if i <= j < i + cells else low for j in range(size)] for i in range(size - cells + 1)]


def excess(X: Sequence[tuple[Fraction, Fraction]], a: Fraction) -> Fraction:
    """E (X - a)_+ of pairs (value, mass)."""
    return sum((mass * max(value - a, Fraction(0)) for value, mass in X), Fraction(0))


@pytest.mark.heavy_cases("3-3-2")
@pytest.mark.parametrize(("q", "d", "cells"), [(3, 3, 2), slow(2, 3, 3), slow(20, 4, 3), (3, 4, 1)])
def test_overlapping_windows_are_dominated_by_types_of_grr(q: int, d: int, cells: int) -> None:
    """Slot by slot, as Windowed proves it: every pair, every type, E below 1, between 1 and 1 + 1/q, and above."""
    rows, grr = law(q, d, cells), law(q, d, 1)
    high = [{j for j, p in enumerate(row) if p == max(row)} for row in rows]
    for E in map(Fraction, ("0", "0.3", "0.9", "1", "1.01", "1.4", "2", "7")):
        kinds = [[((grr[0][j] - E * grr[1][j]) / grr[k][j], grr[k][j]) for j in range(d)] for k in range(3)]
        for x0, x1 in itertools.permutations(range(len(rows)), 2):
            for R, own in zip(rows, high, strict=True):
                X = [((rows[x0][j] - E * rows[x1][j]) / R[j], R[j]) for j in range(d * cells)]
                first, second = high[x0] - high[x1], high[x1] - high[x0]
                outside = sorted(set(range(d * cells)) - high[x0] - high[x1])
                for cell, partner in zip(sorted(high[x0] & high[x1]), outside, strict=False):
                    swapped = E >= 1 and cell not in own and partner in own
                    first.add(partner if swapped else cell)
                    second.add(cell if swapped else partner)
                assert len(first) == len(second) == cells
                share = [Fraction(len(own & some), cells) for some in (first, second)]
                share.append(1 - sum(share))
                for a in {value for kind in kinds for value, _ in kind} | {value for value, _ in X}:
                    bound = sum(w * excess(kind, a) for w, kind in zip(share, kinds, strict=True))
                    assert excess(X, a) <= bound


def laws_of_batches(rows: list[list[Fraction]], n: int) -> Any:
    """For all that n - 1 others may hold: the laws of the counts, one for all that the victim may hold."""

    def sent(counts: dict[Any, Fraction], row: list[Fraction]) -> dict[Any, Fraction]:
        out: dict[Any, Fraction] = {}
        for (key, mass), (j, chance) in itertools.product(counts.items(), enumerate(row)):
            more = (*key[:j], key[j] + 1, *key[j + 1 :])
            out[more] = out.get(more, Fraction(0)) + mass * chance
        return out

    for others in itertools.combinations_with_replacement(rows, n - 1):
        start: dict[Any, Fraction] = {(0,) * len(rows[0]): Fraction(1)}
        for row in others:
            start = sent(start, row)
        yield [sent(start, row) for row in rows]


@pytest.mark.heavy_cases("3")
@pytest.mark.parametrize("n", [1, 2, 3, pytest.param(4, marks=pytest.mark.slow)])
def test_no_dataset_violates_a_bound_of_grr(n: int) -> None:
    """d = 3, 2 cells, all datasets and pairs in fractions: 0 violations; and GRR's lower bound is reached."""
    rows, m = law(Q, 3, 2), sdp.Window(eps0=math.log(Q), d=3, cells=2)
    assert m.probabilities() == pytest.approx(np.array([[float(p) for p in row] for row in rows]), rel=1e-15)
    ratios = [Fraction(math.exp(eps)) for eps in EPS]
    truth = [Fraction(0)] * len(EPS)
    for laws in laws_of_batches(rows, n):
        for (first, second), (i, E) in itertools.product(itertools.permutations(laws, 2), enumerate(ratios)):
            truth[i] = max(truth[i], hockey_stick(first, second, E))
    found = np.array([float(value) for value in truth])
    for bound in ("auto", "blanket", "swap", "variation-ratio", "general"):
        assert np.all(
            found <= sdp.profile(f"grr:eps0={math.log(Q)!r},d=3", n=n, epsilon=EPS, bound=bound) * (1 + 1e-12)
        )
    assert np.all(sdp.profile(m, n=n, epsilon=EPS, side="lower") <= found * (1 + 1e-12))


# -- running it ---------------------------------------------------------------------------------------------------


def test_rounding_is_unbiased_everywhere() -> None:
    """Grids that are even, that crowd at the ends, and whose points lie closer than the cells of the table."""
    src = source(np.random.default_rng(5))
    close = np.sort(np.concatenate([np.linspace(-1, 1, 9), 0.3 + 1e-7 * np.arange(6)]))
    for points in (np.linspace(-1, 1, 64), sdp.Window(eps0=2.0, d=3, cells=300)._points, close, np.array([-1.0, 1.0])):
        grid = Grid(points)
        tiny = [np.nextafter(p, side) for p in points[1:-1] for side in (-1.0, 1.0)]
        values = np.concatenate([points, tiny, np.random.default_rng(1).uniform(-1, 1, 2000)])
        drawn = np.stack([grid.rounded(src, values) for _ in range(200)])
        left = np.minimum(np.searchsorted(points, values, side="right") - 1, len(points) - 2)
        assert np.all((drawn == left) | (drawn == left + 1))
        assert np.all(drawn[:, : len(points)] == np.arange(len(points)))  # a point stays where it is
        share = (values - points[left]) / np.diff(points)[left]
        off = (drawn - left).mean(axis=0) - share
        assert np.all(np.abs(off) <= 6.0 * np.sqrt(share * (1.0 - share) / 200) + 0.05)
        assert abs(off.mean()) < 5.0 * 0.5 / math.sqrt(200 * off.size)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("m", "n", "runs"),
    [
        (sdp.Window(eps0=5.12111, d=5, cells=16), 1000, 500),
        (sdp.Levels(eps0=5.0, d=5), 1000, 500),
        (sdp.Piecewise(eps0=5.0), 1000, 500),
        (sdp.Hybrid(eps0=5.0), 1000, 500),
        slow(sdp.Window(eps0=5.12111, d=5, cells=16), 10_000, 6000),
        slow(sdp.Window(eps0=9.68832, d=20), 10_000, 6000),
        slow(sdp.Window(eps0=3.0, d=4, cells=1), 10_000, 6000),
        slow(sdp.Piecewise(eps0=6.0), 10_000, 6000),
    ],
    ids=lambda x: x.spec if isinstance(x, sdp.Mechanism) else str(x),
)
def test_the_error_at_the_worst_number_is_the_predicted_one(m: Any, n: int, runs: int) -> None:
    error, covered = simulated(m, worst_number(m), n, runs)
    within = 0.05 if runs > 2000 else 0.2
    assert error == pytest.approx(m.variance(n), rel=within)
    assert abs(covered - 0.95) <= (0.02 if runs > 2000 else 0.035)


def test_a_large_matrix_is_refused_by_the_name_of_the_mechanism() -> None:
    for m in (sdp.Hybrid(eps0=20.0), sdp.Piecewise(eps0=20.0)):
        with pytest.raises(sdp.ParameterError, match=f"^{m.spec} has a matrix of more than 1,000,000 cells"):
            m.probabilities()
