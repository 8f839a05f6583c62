"""Three caps of a sphere: no triple of vectors is beyond a cut, and the points of a clipped polytope are all of it.

Oracles that share nothing with the cover of boxes: arcs of a circle in fractions, caps around three vectors in a plane
by an integral over the angle, and any three vectors by simulation.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from scipy.optimize import linprog

import shuffledp as sdp
from reference.repetition import slow
from shuffledp.mechanisms.numeric import caps
from shuffledp.mechanisms.numeric.privunit import PrivUnit
from shuffledp.mechanisms.numeric.sphere import overlap
from shuffledp.mechanisms.two_level import CELLS, Cell, Cut, Shares, clipped, vertices
from shuffledp.numerics.family import PairSet
from shuffledp.numerics.pair import both_directions

Areas = dict[Cell, float]


def cuts_of(m: PrivUnit) -> list[Cut]:
    found = caps.cuts(m.eps0, m.dim, m.cap, m.gamma)
    assert len(found) == 8
    return found


def worst(m: PrivUnit, rng: Random) -> np.ndarray:
    """The angles of three vectors in a plane: any, or near the triples that matter (r opposite to x0 and x1)."""
    if rng.random() < 0.3:
        return np.array([rng.uniform(0.0, 2.0 * math.pi) for _ in range(3)])
    between, turn = rng.uniform(1.5, math.pi), rng.gauss(0.0, 0.3)
    return np.array([-0.5 * between, 0.5 * between, math.pi + turn])


# -- the cuts -------------------------------------------------------------------------------------------------------


def arcs(centers: list[Fraction], half: Fraction) -> Shares:
    """Exactly what arcs of a circle of length 1 have in common: each cell between neighboring ends is in or out."""
    ends = sorted({(x + side * half) % 1 for x in centers for side in (-1, 1)})
    shares: Shares = {}
    for start, stop in zip(ends, [*ends[1:], ends[0] + 1], strict=True):
        middle = (start + stop) / 2
        cell = tuple(int(min((middle - x) % 1, (x - middle) % 1) < half) for x in centers)
        shares[cell] = shares.get(cell, Fraction(0)) + stop - start  # type: ignore[index, arg-type]
    return shares


@pytest.mark.parametrize("tries", [300, slow(10_000)])
def test_arcs_of_a_circle_are_within_every_cut(tries: int) -> None:
    for part, (eps0, cap) in enumerate([(0.5, 0.45), (1.0, 0.3775), (2.0, 0.3), (1.0, 0.34), (1.5, 0.2)]):
        m = PrivUnit(eps0=eps0, dim=2, cap=cap)
        found, rng = cuts_of(m), Random(part)
        for _ in range(tries // 5):
            centers = [Fraction(x / (2.0 * math.pi)) for x in worst(m, rng).tolist()]
            shares = arcs(centers, Fraction(cap) / 2)
            assert sum(shares.values()) == 1
            assert max(cut.over(shares) for cut in found) <= 0, (m.spec, centers)


def in_a_plane(angles: np.ndarray, m: PrivUnit, nodes: int = 3000) -> Areas:
    """Areas of the cells: a point at the angle a in the plane is in a cap with the chance F, and caps are nested."""
    at = (np.arange(nodes) + 0.5) * 2.0 * math.pi / nodes
    near = np.cos(at[:, None] - angles)
    held = np.where(near > m.gamma, 1.0 - (m.gamma / np.maximum(near, m.gamma)) ** 2, 0.0)
    held = np.where(near > m.gamma, held ** (0.5 * (m.dim - 2)), 0.0)
    order = np.argsort(-held, axis=1)
    level = np.take_along_axis(held, order, axis=1)
    areas = dict.fromkeys(CELLS, 0.0)
    edges = np.column_stack([np.ones(nodes), level, np.zeros(nodes)])
    for count in range(4):  # the first ``count`` caps hold the point
        weight = edges[:, count] - edges[:, count + 1]
        inside = np.zeros((nodes, 3), dtype=int)
        np.put_along_axis(inside, order[:, :count], 1, axis=1)
        code = inside @ [4, 2, 1]
        for k, total in enumerate(np.bincount(code, weight, 8)):
            areas[CELLS[k]] += float(total) / nodes
    return areas


def over(cut: Cut, areas: Areas) -> float:
    return sum(float(w) * areas[cell] for cell, w in cut.weights.items()) - float(cut.most)


SETTINGS = [(1.0, 3), (1.0, 8), (2.0, 64), (0.3, 50), (3.0, 10), (1.0, 1000)]


@pytest.mark.heavy
@pytest.mark.parametrize("tries", [120, slow(10_000)])
def test_vectors_in_a_plane_are_within_every_cut(tries: int) -> None:
    for part, (eps0, dim) in enumerate(SETTINGS):
        m = PrivUnit(eps0=eps0, dim=dim)
        found, rng, nearest = cuts_of(m), Random(part), -math.inf
        for _ in range(max(tries // len(SETTINGS), 20)):
            angles = worst(m, rng)
            areas = in_a_plane(angles, m)
            nearest = max(nearest, *(over(cut, areas) for cut in found))
            assert nearest <= 1e-5 * m.cap, (m.spec, angles)
        assert nearest >= -0.05 * m.cap, "the cuts are near to what is possible"


@pytest.mark.parametrize("tries", [60, slow(10_000)])
def test_any_vectors_are_within_every_cut(tries: int) -> None:
    points, rng = 40_000, np.random.default_rng(5)
    for part, (eps0, dim) in enumerate(SETTINGS):
        m, pick = PrivUnit(eps0=eps0, dim=dim), Random(part)
        found = cuts_of(m)
        normal = rng.normal(size=(points, 3))
        rest = rng.chisquare(dim - 3, size=points) if dim > 3 else 0.0
        space = normal / np.sqrt((normal**2).sum(axis=1) + rest)[:, None]  # three coordinates of a point of the sphere
        for _ in range(tries // len(SETTINGS)):
            angles, lift = worst(m, pick), [pick.gauss(0.0, 0.3) for _ in range(3)]
            vectors = np.column_stack([np.cos(angles), np.sin(angles), lift])
            vectors /= np.sqrt((vectors**2).sum(axis=1))[:, None]
            code = (space @ vectors.T >= m.gamma) @ [4, 2, 1]
            for cut in found:
                weight = np.array([float(cut.weights.get(cell, 0)) for cell in CELLS])[code]
                doubt = 6.0 * math.sqrt(weight.var() / points) + 1e-6
                assert weight.mean() - float(cut.most) <= doubt, (m.spec, vectors)


@pytest.mark.parametrize(("eps0", "dim"), [*SETTINGS, (1.0, 2), (1.0, 10**6)])
def test_areas_of_two_caps_are_enclosed(eps0: float, dim: int) -> None:
    m = PrivUnit(eps0=eps0, dim=dim)
    known = caps.enclosure(dim, m.cap, m.gamma)
    assert known is not None
    for place in range(0, 4097, 64):
        area = overlap(math.acos(place / 2048 - 1), m.gamma, dim)
        assert known.low[place] <= area * (1 + 1e-9) + 1e-12 and area <= known.high[place] * (1 + 1e-9) + 1e-12
        assert known.high[place] - known.low[place] <= 2e-3 * m.cap
    assert np.all(np.diff(known.low) >= 0) and np.all(np.diff(known.high) >= 0)


def test_no_cuts_where_nothing_is_proved_or_gained() -> None:
    for eps0, cap in ((1.0, 0.5), (1.0, 0.7), (0.001, 0.4), (60.0, 0.1), (1.0, 1e-7)):
        m = PrivUnit(eps0=eps0, dim=5, cap=cap)
        assert caps.cuts(m.eps0, m.dim, m.cap, m.gamma) == []
        assert len(m._types()[0]) == len(vertices(Fraction(cap)))
    assert caps.enclosure(5, 0.3, PrivUnit(eps0=1.0, dim=5, cap=0.31).gamma) is None, "gamma of another cap"


# -- clipping -------------------------------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.parametrize("tries", [12, slow(400)])
def test_the_clipped_points_span_all_that_is_within_the_cuts(tries: int) -> None:
    for seed in range(tries):
        rng = Random(seed)
        share = rng.randint(1, 9)
        corners = vertices(Fraction(share, 20))
        made: list[Cut] = []
        for _ in range(rng.randint(1, 4)):
            some = {cell: Fraction(rng.randint(-4, 4)) for cell in CELLS}
            values = sorted(Cut(some, Fraction(0)).over(corner) for corner in corners)
            made.append(Cut(some, values[0] + (values[-1] - values[0]) * Fraction(rng.randint(2, 9), 10)))
        if rng.random() < 0.3:  # a slice: the same cut from both sides
            made.append(Cut({cell: -weight for cell, weight in made[0].weights.items()}, -made[0].most))
        points = clipped(corners, made)
        assert all(cut.over(point) <= 0 for point in points for cut in made)
        assert all(sum(point.values()) == 1 and min(point.values()) >= 0 for point in points)
        # the largest value of any linear function is that of all shares within the cuts, by linear programming
        equal = [[1.0] * 8, *([float(cell[i]) for cell in CELLS] for i in range(3))]
        above = [[float(cut.weights[cell]) for cell in CELLS] for cut in made]
        sides = {"A_eq": equal, "b_eq": [1.0, *3 * [share / 20]], "A_ub": above, "b_ub": [float(c.most) for c in made]}
        for _ in range(6):
            aim = [rng.gauss(0.0, 1.0) for _ in CELLS]
            most = linprog([-x for x in aim], **sides)
            assert (most.status == 0) == bool(points), seed
            if points:
                values = [sum(x * float(p.get(cell, 0)) for x, cell in zip(aim, CELLS, strict=True)) for p in points]
                assert max(values) == pytest.approx(-most.fun, abs=1e-7), seed


def test_a_cut_beyond_all_points_changes_nothing_and_one_before_all_leaves_nothing() -> None:
    corners = vertices(Fraction(1, 5))
    weights = {cell: Fraction(1) for cell in CELLS}
    assert clipped(corners, [Cut(weights, Fraction(2))]) == corners
    assert clipped(corners, [Cut(weights, Fraction(1))]) == corners, "all of them are on its boundary"
    assert clipped(corners, [Cut(weights, Fraction(1, 2))]) == []


# -- eps ------------------------------------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.parametrize("tries", [12, slow(1_000)])
def test_eps_is_at_least_that_of_any_three_vectors_in_a_plane(tries: int) -> None:
    for seed in range(tries):
        rng = Random(seed)
        eps0, dim = rng.choice(SETTINGS)
        m = PrivUnit(eps0=eps0, dim=dim)
        n, delta = int(10 ** rng.uniform(2.0, 6.0)), 10 ** rng.uniform(-9.0, -3.0)
        high, low = m._densities
        areas = {cell: area for cell, area in in_a_plane(worst(m, rng), m, 20_000).items() if area > 1e-9}
        rows = [np.array([area * (high if cell[i] else low) for cell, area in areas.items()]) for i in range(3)]
        pair = sdp.ShuffledPair(*(row / row.sum() for row in rows))  # the integral is right to six digits or so
        lower = PairSet(both_directions(pair)).epsilon(n=n, delta=delta, tol=1e-4, side="lower").epsilon
        assert lower <= sdp.amplify(m, n=n, delta=delta, bound="swap").epsilon * (1 + 1e-4), (seed, m.spec)


@pytest.mark.parametrize(
    ("eps0", "dim"), [(1.0, 8), (2.0, 64), (4.0, 512), (1.0, 100), slow(0.5, 10), slow(1.0, 3), slow(1.0, 10**6)]
)
def test_the_bracket_is_below_six_tenths_of_a_percent(eps0: float, dim: int) -> None:
    found = sdp.amplify(PrivUnit(eps0=eps0, dim=dim), n=10_000, delta=1e-6)
    assert found.lower is not None and found.lower <= found.epsilon <= 1.006 * found.lower


@pytest.mark.heavy
def test_types_are_few() -> None:
    for (eps0, dim), cap in itertools.product(SETTINGS, (None, 0.1, 0.4)):
        m = PrivUnit(eps0=eps0, dim=dim) if cap is None else PrivUnit(eps0=eps0, dim=dim, cap=cap)
        assert len(m._types()[0]) <= 60
