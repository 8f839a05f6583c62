"""The swap bound of Laplace noise: its laws cover all pairs and types, it holds by brute force, it is sharp."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.mechanisms.numeric import laplace_laws, laplace_types
from shuffledp.mechanisms.numeric.laplace import Laplace
from shuffledp.mechanisms.numeric.laplace_laws import Slot, law, table
from shuffledp.mechanisms.numeric.laplace_types import slots
from shuffledp.numerics import tuning
from shuffledp.numerics.pair import FloatArray, ShuffledPair
from shuffledp.numerics.swap.family import SwapSet
from shuffledp.numerics.swap.pair import SwapPair, TypeTable

E8 = type("Coarse", (Laplace,), {"BITS": 3})
Law = tuple[FloatArray, FloatArray]


def point_laws(m: Laplace, places: list[int]) -> list[FloatArray]:
    """R(x) on -3N..4N, the tails beyond merged, for every x in ``places``."""
    size = m._steps
    y = np.arange(-3 * size, 4 * size + 1)
    found = []
    for x in places:
        r = math.tanh(0.5 * m._rate) * np.exp(-m._rate * np.abs(y - x))
        r[[0, -1]] /= -math.expm1(-m._rate)
        found.append(r)
    return found


def calls(law: Law, s: FloatArray) -> FloatArray:
    """E(X - s)_+ for every s; X is 0 where nothing is sent."""
    x, t = law
    rest = max(0.0, 1.0 - float(t.sum()))
    return np.maximum(x[None, :] - s[:, None], 0.0) @ t + rest * np.maximum(-s, 0.0)


def law_of(pair: ShuffledPair, e: float) -> Law:
    p0, p1, t = (np.asarray(a) for a in (pair.P0, pair.P1, pair.t))
    return (p0 - e * p1) / t, t


def ordered(slot: Slot, m: Laplace, backward: bool) -> ShuffledPair:
    pair = law(slot, m._rate, m._power)
    return pair.swapped() if backward else pair


def covering(every: list[Slot], distance: int, beyond: int) -> tuple[int, int]:
    """The closest listed pair that covers this distance and a type this far beyond the pair, and the type's place.

    The type moves with the pair's nearer end, unless the wider law covers this distance: then everything is shifted.
    """
    for apart in sorted({slot.apart for slot in every if slot.apart >= distance}):
        group = [slot for slot in every if slot.apart == apart]
        near = group[0].nearest
        held = beyond + (apart if near is None else distance)
        in_reach = min(slot.held for slot in group) <= held <= max(slot.held for slot in group)
        if in_reach and (near is None or near <= distance):
            return apart, held
    raise AssertionError(f"no law covers the distance {distance} and a type {beyond} beyond")


PLANS: dict[str, dict[str, Any]] = {
    "usual": {},
    "wider": {
        "_FAR_APART": 0.0,
        "_log_spread_wide": lambda apart, nearest, held: -9.0 if nearest > 0.4 * apart else 99.0,
    },
    "widest": {"_FAR_APART": 0.0, "_log_spread_wide": lambda apart, nearest, held: -9.0},
    "moved": {"log_spread_far": lambda apart, held: 0.0, "_log_spread_between": lambda apart, held: -9.0},
}


@pytest.mark.heavy
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize(("bits", "eps0"), [(3, 0.3), (3, 2.5), (3, 6.0)])
def test_every_pair_and_type_is_covered(monkeypatch: pytest.MonkeyPatch, bits: int, eps0: float, plan: str) -> None:
    """E(X - s)_+ of every pair and type is at most that of a mixture of two of the laws, at every s, for any plan."""
    for name, value in PLANS[plan].items():
        monkeypatch.setattr(laplace_types, name, value)
    m = type("Coarse", (Laplace,), {"BITS": bits})(eps0=eps0)
    size, r = m._steps, m._rate
    every = list(slots(size, size, r))
    s = np.concatenate(
        [-np.geomspace(1e-3, 2 * math.exp(2 * eps0), 60), np.geomspace(1e-3, 2 * math.exp(2 * eps0), 60)]
    )
    made: dict[tuple[Slot, bool, float], Law] = {}
    wide = 0
    for g, h in itertools.combinations(range(size + 1), 2):
        for x, backward, e in itertools.product(range(size + 1), (False, True), (1.0, math.exp(0.4 * r * (h - g)))):
            p0, p1, t = point_laws(m, [h, g, x] if backward else [g, h, x])
            exact = calls(((p0 - e * p1) / t, t), s)
            if x < g:  # reflect, which changes the order
                left, right, held, turned = -h, -g, -x, not backward
            else:
                left, right, held, turned = g, h, x, backward
            if held <= right:
                apart, held, turned = size, x, backward
            else:
                apart, held = covering(every, right - left, held - right)
            if apart == size and turned:  # only one order is listed: reflect
                held, turned = size - held, False
            ends = sorted(slot.held for slot in every if slot.apart == apart)
            low, high = max(k for k in ends if k <= held), min(k for k in ends if k >= held)
            upper = np.zeros(s.size)
            width = r * (high - low)
            shares = (1.0,) if low == high else tuple(math.sinh(r * k) for k in (high - held, held - low))
            for end, share in zip((low, high), shares, strict=False):
                slot = next(slot for slot in every if slot.apart == apart and slot.held == end)
                wide += slot.nearest is not None
                assert slot.share <= math.cosh(0.5 * width - r * (held - low)) / math.cosh(0.5 * width)
                key = (slot, turned, e)
                if key not in made:
                    made[key] = law_of(ordered(slot, m, turned), e)
                upper += share / sum(shares) * calls(made[key], s)
            assert np.all(exact <= upper * (1 + 1e-9) + 1e-12), (g, h, x, backward, e)
    assert (wide > 0) == (plan.startswith("wide") and eps0 > 1.0)


def test_large_budgets_need_few_laws() -> None:
    for eps0, most in ((1.0, 50), (4.0, 200), (8.0, 250)):
        every = list(slots(1024, 1024, eps0 / 1024))
        assert len(every) <= most
        covered = set()
        for apart in {slot.apart for slot in every}:
            covered |= set(range(next(slot.nearest or 0 for slot in every if slot.apart == apart), apart + 1))
        assert covered >= set(range(1, 1025))


def test_the_wider_law_is_the_one_described() -> None:
    """On all points: u is K with probability u/K, and v as before; its sums are those of the victim's laws."""
    m = E8(eps0=4.0)
    slot = Slot(6, 7, 0.9, 4)
    pair = law(slot, m._rate, m._power)
    p0, p1, t = (np.asarray(a) for a in (pair.P0, pair.P1, pair.t))
    assert (p0.sum(), p1.sum(), t.sum()) == pytest.approx((1.0, 1.0, 0.9), abs=1e-12)
    k = math.exp(3 * m._rate)  # K = a^-max(7-4, 6-7)
    assert set(np.round(0.9 * p1 / t / k, 9)) == {0.0, 1.0}
    r0, r6, r7 = point_laws(m, [0, 6, 7])
    sent = p1 > 0.0
    assert float(p0[sent].sum()) == pytest.approx(float((r0 * r6 / r7).sum() / k), rel=1e-9)


def test_a_type_between_two_others_needs_their_smaller_share() -> None:
    """Without it the mixture of the ends of a cell does not cover its middle; with it, it does."""
    m = E8(eps0=4.0)
    first, middle, last = point_laws(m, [0, 4, 8])
    signed = first - 2.0 * middle
    s = np.linspace(-60.0, 2.0, 400)
    exact = calls((signed / middle, middle), s)
    covers = []
    for share in (1.0, 1.0 / math.cosh(2.0)):
        ends = [calls((signed / (share * t), share * t), s) for t in (first, last)]
        covers.append(bool(np.all(exact <= 0.5 * sum(ends) * (1 + 1e-12))))
    assert covers == [False, True]


@pytest.mark.parametrize("slot", [Slot(1024, 0, 1.0), Slot(1024, 300, 0.9), Slot(700, 1200, 0.8), Slot(5, 1024, 1.0)])
def test_pieces_spread_the_law(slot: Slot) -> None:
    """On the ends of the pieces X has the same mean, and E(X - s)_+ is larger, by little."""
    m = Laplace(eps0=2.0)
    pair = law(slot, m._rate, m._power)
    assert np.asarray(pair.P0).sum() == pytest.approx(1.0, abs=1e-12)
    assert np.asarray(pair.P1).sum() == pytest.approx(1.0, abs=1e-12)
    assert np.asarray(pair.t).sum() == pytest.approx(slot.share, abs=1e-12)
    assert np.asarray(pair.t).size <= laplace_laws.PIECES + 4
    p0, p1, t = point_laws(m, [0, slot.apart, slot.held])
    t = slot.share * t
    exact = (p0 - 1.1 * p1) / t
    s = np.quantile(exact, np.linspace(0.0, 1.0, 80))
    inner, outer = calls((exact, t), s), calls(law_of(pair, 1.1), s)
    assert np.all(inner <= outer * (1 + 1e-9) + 1e-13)
    square = float(t @ exact**2)
    x, mass = law_of(pair, 1.1)
    assert square <= float(mass @ x**2) <= 1.001 * square


def divergence(p0: FloatArray, p1: FloatArray, others: tuple[FloatArray, ...], e: float) -> float:
    """sum (P - E Q)_+ over the multisets of reports, the others' reports added one by one."""
    signed = {tuple(int(k == j) for k in range(p0.size)): p0[j] - e * p1[j] for j in range(p0.size)}
    for r in others:
        grown: dict[tuple[int, ...], float] = {}
        for counts, mass in signed.items():
            for j in range(r.size):
                key = (*counts[:j], counts[j] + 1, *counts[j + 1 :])
                grown[key] = grown.get(key, 0.0) + mass * r[j]
        signed = grown
    return sum(max(v, 0.0) for v in signed.values())


@pytest.mark.heavy
@pytest.mark.slow_cases("0.5", "4.0")
@pytest.mark.parametrize("eps0", [0.5, 1.5, 4.0])
def test_no_dataset_of_few_users_exceeds_it(monkeypatch: pytest.MonkeyPatch, eps0: float) -> None:
    """All pairs and datasets on a grid of 4 steps, n = 2 to 4: the truth is never above the bound."""
    monkeypatch.setattr(tuning, "FEW_FREE", 0.0)
    m = type("Coarse", (Laplace,), {"BITS": 2})(eps0=eps0)
    rows = [m._law(g) for g in range(m._steps + 1)]
    grid = np.array([0.05, 0.3, 0.8]) * eps0
    for n in (2, 3, 4):
        bound = np.exp(m.law.swap().log_delta(grid, n=n, tol=1e-6, side="upper"))
        for others in itertools.combinations_with_replacement(rows, n - 1):
            for a, b in itertools.permutations(range(len(rows)), 2):
                if n == 4 and abs(a - b) < 3:
                    continue
                for e, most in zip(grid, bound, strict=True):
                    assert divergence(rows[a], rows[b], others, math.exp(e)) <= most * (1 + 1e-12), (n, a, b, e)


@pytest.mark.parametrize("held", [(0,), (8,), (0, 8), (4,), (0, 4, 8), (1, 7)])
def test_no_dataset_of_more_users_exceeds_it(held: tuple[int, ...]) -> None:
    """n = 24 users who hold these values in turn; reports are merged to three, which only lowers the truth."""
    m = E8(eps0=1.0)
    n, grid = 24, np.array([0.1, 0.3, 0.5])
    bound = np.exp(m.law.swap().log_delta(grid, n=n, tol=1e-6, side="upper"))
    local = [float(np.maximum(m._law(0) - math.exp(e) * m._law(8), 0.0).sum()) for e in grid]
    assert np.all(bound < 0.6 * np.array(local))  # it says more than that nobody is there
    rows = [np.add.reduceat(m._law(g), [0, 3, 6]) for g in range(9)]
    others = tuple(rows[held[i % len(held)]] for i in range(n - 1))
    for (a, b), (e, most) in itertools.product([(0, 8), (8, 0), (2, 8), (7, 1)], zip(grid, bound, strict=True)):
        assert divergence(rows[a], rows[b], others, math.exp(e)) <= most


@pytest.mark.parametrize("eps0", [0.5, 2.0])
def test_agrees_with_the_bound_of_all_pairs_and_types_of_a_matrix(eps0: float) -> None:
    """Each pair with its own nine types, evaluated by the general code: the largest of them, or a little more."""
    m = E8(eps0=eps0)
    rows = [m._law(g) for g in range(9)]
    beta = float(np.min(rows, axis=0).sum())
    assert beta == pytest.approx(math.exp(-0.5 * eps0), rel=1e-12)
    n, delta = 10_000, 1e-6
    best = 0.0
    for a, b in [(0, 8), (8, 0), (0, 7), (1, 8), (8, 1), (7, 0), (0, 6), (2, 6)]:
        types = tuple(ShuffledPair(P0=rows[a], P1=rows[b], t=t) for t in rows)
        found = SwapSet([SwapPair(types, beta)]).epsilon(n=n, delta=delta, tol=1e-6, side="upper")
        best = max(best, found.epsilon)
    ours = m.law.swap().epsilon(n=n, delta=delta, tol=1e-6, side="upper").epsilon
    assert best * (1 - 1e-6) <= ours <= best * 1.0005


@pytest.mark.parametrize(("eps0", "n"), [(4.0, 10**5), (7.0, 10**6), (11.0, 10**8)])
def test_large_budgets_too(eps0: float, n: int) -> None:
    m = Laplace(eps0=eps0)
    upper = m.law.swap().epsilon(n=n, delta=0.01 / n, tol=1e-5, side="upper").epsilon
    lower = m.law.constant_datasets().epsilon(n=n, delta=0.01 / n, tol=1e-5, side="lower").epsilon
    assert lower < upper < 1.002 * lower


@pytest.mark.parametrize(("eps0", "value"), [(0.5, 0.014984), (1.0, 0.031310), (2.0, 0.071880)])
def test_the_bracket_closes(eps0: float, value: float) -> None:
    m = Laplace(eps0=eps0)
    upper = m.law.swap().epsilon(n=10_000, delta=1e-6, tol=1e-6, side="upper").epsilon
    lower = m.law.constant_datasets().epsilon(n=10_000, delta=1e-6, tol=1e-6, side="lower").epsilon
    blanket = m.law.blanket().epsilon(n=10_000, delta=1e-6, tol=1e-6, side="upper").epsilon
    assert lower < upper < 1.001 * lower
    assert upper < 0.95 * blanket
    assert upper == pytest.approx(value, rel=5e-5)


def test_auto_takes_it_and_it_falls_with_the_users() -> None:
    eps = [sdp.amplify(f"laplace:{1.5}", n=n, delta=1e-8).epsilon for n in (300, 3_000, 10**6, 10**12)]
    assert eps == sorted(eps, reverse=True)
    named = sdp.amplify("laplace:1.5", n=10**6, delta=1e-8, bound="swap").epsilon
    assert eps[2] == pytest.approx(named, rel=1e-9)
    assert named < sdp.amplify("laplace:1.5", n=10**6, delta=1e-8, bound="blanket").epsilon


@pytest.mark.slow_cases("20.0", "50.0")
@pytest.mark.parametrize("eps0", [1e-6, 5.0, 9.0, 20.0, 50.0])
def test_extreme_budgets(eps0: float) -> None:
    m = Laplace(eps0=eps0)
    for n in (1, 2, 10**7):
        upper = m.law.swap().epsilon(n=n, delta=1e-7, tol=1e-3, side="upper").epsilon
        lower = m.law.constant_datasets().epsilon(n=n, delta=1e-7, tol=1e-3, side="lower").epsilon
        assert lower * (1 - 1e-9) <= upper <= eps0 * (1 + 1e-9)


def test_beyond_the_largest_budget_it_is_refused() -> None:
    with pytest.raises(sdp.BoundNotApplicableError, match=r"needs eps0 up to 50, got 60: beyond, hardly any user"):
        sdp.amplify("laplace:60", n=1000, delta=1e-6, bound="swap")
    assert sdp.amplify("laplace:60", n=1000, delta=1e-6).epsilon <= 60.0


@pytest.mark.parametrize(("bits", "eps0"), [(3, 0.3), (3, 6.0), (10, 2.0), (10, 20.0)])
def test_all_laws_at_once_are_the_single_ones(bits: int, eps0: float) -> None:
    """One table of all slots has the law of every slot, in both orders."""
    m = type("Coarse", (Laplace,), {"BITS": bits})(eps0=eps0)
    every = list(slots(m._steps, m._steps, m._rate))
    every = sorted(every, key=lambda slot: slot.nearest is not None)[:: max(1, len(every) // 40)]
    whole = table(every, m._rate, m._power)
    assert len(whole) == 2 * len(every)
    for row, slot in enumerate(every):
        alone, here = law(slot, m._rate, m._power), whole.pair(row)
        other, twin = (
            whole.pair(row + len(every)),
            here.swapped(),
        )  # what is left out stands at the end, in either order
        for name in ("P0", "P1", "t"):
            assert np.allclose(getattr(here, name), getattr(alone, name), rtol=1e-12, atol=0.0)
            assert np.array_equal(np.sort(getattr(other, name)), np.sort(getattr(twin, name)))


def test_no_pair_is_made_for_one_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hundreds of types that do not lead stay in their table."""
    made: list[int] = []
    single = TypeTable.pair
    monkeypatch.setattr(TypeTable, "pair", lambda self, row: (made.append(row), single(self, row))[1])
    sdp.amplify(Laplace(eps0=3.0), n=10_000, delta=1e-6)
    assert len(made) < 30
