"""Caps of a sphere: their areas in ball arithmetic and by simulation, and the datasets of PrivUnit's lower bound."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from flint import arb, ctx

import shuffledp as sdp
from reference.repetition import slow
from shuffledp.mechanisms.numeric.privunit import PrivUnit
from shuffledp.mechanisms.numeric.sphere import overlap


def exact_overlap(angle: float, gamma: float, dim: int) -> arb:
    """(1/pi) int (1 - gamma^2/cos^2)^m from angle/2 to acos gamma, m = dim/2 - 1: powers of 1/cos by recursion."""
    m, end, start = dim // 2 - 1, arb(gamma).acos(), arb(angle) / 2
    integral, total = end - start, arb(0)
    for j in range(m + 1):
        if j:
            edge = [x.tan() / x.cos() ** (2 * j - 2) for x in (end, start)]
            integral = (edge[0] - edge[1] + (2 * j - 2) * integral) / (2 * j - 1)
        total += math.comb(m, j) * (-(arb(gamma) ** 2)) ** j * integral
    return total / arb.pi()


@pytest.mark.parametrize("tries", [150, slow(10_000)])
def test_two_caps_in_even_dimensions(tries: int) -> None:
    before = ctx.prec
    ctx.prec = 400
    try:
        for seed in range(tries):
            rng = Random(seed)
            gamma, dim = math.exp(rng.uniform(-6.0, -0.02)), 2 * rng.randint(1, 16)
            angle = 2.0 * math.acos(gamma) * rng.random()
            true = float(exact_overlap(angle, gamma, dim).mid())
            assert overlap(angle, gamma, dim) == pytest.approx(true, rel=1e-10, abs=1e-300), (seed, gamma, dim, angle)
    finally:
        ctx.prec = before


def test_a_cap_meets_itself_in_its_own_area() -> None:
    for eps0, dim in ((0.5, 2), (1.0, 3), (2.0, 5), (1.0, 8), (4.0, 33), (2.0, 1000), (8.0, 100_001), (1.0, 10**6)):
        m = PrivUnit(eps0=eps0, dim=dim)
        assert overlap(0.0, m.gamma, dim) == pytest.approx(m.cap, rel=1e-9)
        assert overlap(math.pi, m.gamma, dim) == 0.0


@pytest.mark.parametrize(("eps0", "dim"), [(1.0, 2), (1.0, 3), (2.0, 5), (0.5, 8), (3.0, 10)])
def test_datasets_are_those_of_three_vectors(eps0: float, dim: int) -> None:
    """The law of every listed dataset with a third vector, by simulation of three caps."""
    m = PrivUnit(eps0=eps0, dim=dim)
    rng = np.random.default_rng(dim)
    points = rng.normal(size=(200_000, dim))
    points /= np.sqrt((points**2).sum(axis=1))[:, None]
    for turn in (0.0, 0.2, 0.45):
        found = m._in_a_plane(turn)
        high, low = m._densities
        # the angles again, from the areas: those of x0, x1 and of the third with both
        law = dict(zip(cells_of(found), np.asarray(found.t), strict=True))
        share = {cell: mass / (high if cell[2] else low) for cell, mass in law.items()}
        for i in range(3):  # each of the three caps has its area
            assert sum(area for cell, area in share.items() if cell[i]) == pytest.approx(m.cap, rel=1e-9)
        angles = [angle_of(sum(a for cell, a in share.items() if cell[i] and cell[j]), m) for i, j in PAIRS]
        if min(angles) > 0.0 and sum(angles) < 2.0 * math.pi - 1e-6:
            continue  # caps that do not meet at all: any larger angle will do
        x1, r = angles[0], 2.0 * math.pi - angles[1]
        centers = np.array([[1.0, 0.0], [math.cos(x1), math.sin(x1)], [math.cos(r), math.sin(r)]])
        inside = points[:, :2] @ centers.T >= m.gamma
        for cell, area in share.items():
            seen = (inside == np.array(cell, dtype=bool)).all(axis=1).mean()
            assert abs(seen - area) < 5.0 * math.sqrt(area / len(points)) + 1e-9


PAIRS = ((0, 1), (0, 2), (1, 2))


def cells_of(pair: sdp.ShuffledPair) -> list[tuple[int, ...]]:
    """Which caps hold a symbol, from its three probabilities; if they are equal none does, as none is in all three."""
    rows = zip(*(np.asarray(x) for x in (pair.P0, pair.P1, pair.t)), strict=True)
    return [tuple(int(x > 1.001 * min(row)) for x in row) for row in rows]


def angle_of(area: float, m: PrivUnit) -> float:
    """The angle at which two caps share this area."""
    low, high = 0.0, math.pi
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if overlap(middle, m.gamma, m.dim) > area else (low, middle)
    return low


@pytest.mark.parametrize(
    ("spec", "n", "delta", "lower"),
    [
        ("privunit:eps0=2,dim=64", 10_000, 1e-6, 0.09462788),
        ("privunit:eps0=1,dim=8", 1_000, 1e-5, 0.10169356),
        ("privunit:eps0=1,dim=8", 1_000_000, 1e-8, 0.004087),
        ("privunit:eps0=3,dim=10", 10_000, 1e-6, 0.19899116),
    ],
)
def test_the_lower_bound_is_nearly_that_of_the_best_triple(spec: str, n: int, delta: float, lower: float) -> None:
    """The targets maximize over both angles of triples in a plane."""
    found = sdp.amplify(spec, n=n, delta=delta, tol=1e-5)
    assert found.lower is not None and found.lower <= found.epsilon <= 1.09 * found.lower
    assert found.lower == pytest.approx(lower, rel=6e-4)


@pytest.mark.heavy
@pytest.mark.parametrize("tries", [6, slow(2_000)])
def test_no_upper_bound_is_below_the_lower_one(tries: int) -> None:
    for seed in range(tries):
        rng = Random(seed)
        settings = {"eps0": math.exp(rng.uniform(-3.0, 2.0)), "dim": rng.choice([2, 3, 4, 8, 50, 1000, 10**5])}
        if rng.random() < 0.3:
            settings["cap"] = rng.uniform(0.01, 0.9)
        found = sdp.amplify(
            PrivUnit(**settings), n=int(10 ** rng.uniform(0.5, 7.0)), delta=10 ** rng.uniform(-10.0, -2.0)
        )
        assert found.lower is not None and found.lower <= found.epsilon, (seed, settings)


@pytest.mark.parametrize("dim", [2, 3, 8, 64, 10_000])
def test_datasets_are_laws_at_every_budget(dim: int) -> None:
    """Whatever the budget, all of the sphere is in some region, and no ratio is beyond e^eps0."""
    for eps0 in (1e-9, 1e-7, 3e-7, 1e-4, 0.1, 0.5, 2.0, 16.0, 24.0, 27.0, 30.0, 60.0, 100.0, 200.0, 500.0):
        for cap in (None, 0.499, 1e-12):
            m = PrivUnit(eps0=eps0, dim=dim) if cap is None else PrivUnit(eps0=eps0, dim=dim, cap=cap)
            for pair in m._constant_datasets():
                p0, p1, t = (np.asarray(law) for law in (pair.P0, pair.P1, pair.t))
                assert pair.left_out == 0.0
                for law in (p0, p1, t):
                    assert abs(math.fsum(law.tolist()) - 1.0) < 1e-12
                laws = np.array([p0, p1, t])
                laws = laws[:, laws.min(axis=0) > 1e-280]
                assert np.all(laws.max(axis=0) <= laws.min(axis=0) * math.exp(eps0) * (1.0 + 1e-12))


@pytest.mark.parametrize(
    ("eps0", "dim"),
    [(27.0, 64), (60.0, 3), (1e-7, 5), (500.0, 16), slow(24.0, 64), slow(30.0, 64), slow(3e-7, 3), slow(1e-9, 10_000)],
)
def test_every_budget_has_an_answer(eps0: float, dim: int) -> None:
    m = PrivUnit(eps0=eps0, dim=dim)
    found = sdp.amplify(m, n=1_000, delta=1e-6)
    assert found.lower is not None and 0.0 <= found.lower <= found.epsilon <= eps0 * (1.0 + 1e-12)
    assert str(found)
    assert str(sdp.renyi(m, n=1_000)) and str(sdp.tradeoff(m, n=1_000))
