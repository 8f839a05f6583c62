"""Planar Laplace noise: the listed laws dominate those of the plane and cover every pair and place, from scratch."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement, permutations, product
from random import Random

import numpy as np
import pytest

import shuffledp as sdp
from reference.repetition import slow
from shuffledp.mechanisms.metric.planar_datasets import _dataset, _masses
from shuffledp.mechanisms.metric.planar_laplace import planar_variation
from shuffledp.mechanisms.metric.planar_laws import (
    Detail,
    among,
    cells,
    least_mass,
    levels,
    logs_of_v,
    range_of_v,
    victim,
)
from shuffledp.mechanisms.metric.planar_types import NearPlaces, _members, _scale, distances, mesh
from shuffledp.numerics.family import PairSet
from shuffledp.numerics.pair import both_directions
from shuffledp.numerics.swap.family import SwapSet
from shuffledp.numerics.swap.pair import SwapPair, TypeTable

DETAILS = [Detail(3, 1, 0.8, 0.5), Detail(8, 1, 0.3, 0.3), Detail(8, 3, 0.2, 0.15), Detail(24, 2, 0.1, 0.15)]


def law_among(apart: float, wide: float, place: tuple[float, float], detail: Detail) -> list[np.ndarray]:
    """P0, P1 and t among others at one place; symbols that nobody sends are left out."""
    laws = [law[0] for law in among(cells(0.5 * apart, wide, detail), np.array([place]), detail.level)]
    return [law[laws[2] > 0.0] for law in laws]


def excess(p0: np.ndarray, p1: np.ndarray, t: np.ndarray, E: float, a: float) -> float:
    """E(X - a)_+; what is missing from t counts as X = 0."""
    return float(np.maximum(p0 - E * p1 - a * t, 0.0).sum()) + max(1.0 - float(t.sum()), 0.0) * max(-a, 0.0)


def a_place(rng: Random, apart: float, wide: float) -> tuple[float, float]:
    """In a random disk of diameter ``wide`` that holds x0 = (-apart/2, 0) and x1 = (apart/2, 0); often on its rim."""
    while True:
        x, y = rng.uniform(-0.5, 0.5) * wide, rng.uniform(-0.5, 0.5) * wide
        if max(math.hypot(x - 0.5 * apart, y), math.hypot(x + 0.5 * apart, y)) <= 0.5 * wide * (1.0 - 1e-9):
            break
    radius, angle = 0.5 * wide * rng.choice([1.0, math.sqrt(rng.random())]), rng.uniform(0.0, 2.0 * math.pi)
    return x + radius * math.cos(angle), y + radius * math.sin(angle)


def compared(seed: int, tries: int) -> int:
    """Adding up cells of the plane lowers E(X - a)_+, splitting reports raises it: the second is larger."""
    rng = Random(seed)
    wide = math.exp(rng.uniform(-2.0, 1.8))
    apart = wide * rng.choice([0.02, 0.25, 0.5, 0.9]) * rng.uniform(0.5, 1.0)
    place, detail = a_place(rng, apart, wide), rng.choice(DETAILS)
    below = _masses(0.5 * apart, place)
    above = law_among(apart, wide, place, detail)
    for law in (*above[:2], *below):
        assert abs(float(law.sum()) - 1.0) < 2e-7  # that of the tested law is far better
    assert above[2].sum() <= 1.0 + 1e-12
    values = (below[0] - below[1]) / below[2]
    for _ in range(tries):
        E = math.exp(apart * rng.choice([0.0, 0.05, 0.5, rng.random()]))
        a = float(rng.choice(values.tolist())) * rng.choice([1.0, 1.0, rng.random()])
        assert excess(*above, E, a) >= excess(*below, E, a) - 1e-6 * (1.0 + abs(a)), (seed, wide, apart, place, E, a)
    return tries


@pytest.mark.heavy
@pytest.mark.parametrize("seeds", [6, slow(250)])
def test_listed_laws_dominate_those_of_the_plane(seeds: int) -> None:
    assert sum(compared(seed, 40) for seed in range(seeds)) == 40 * seeds


def polar(apart: float, place: tuple[float, float], c: float) -> float:
    """The mean of e^(cX) - 1 - cX at E = 1.05, in polar coordinates around the others' place, by the midpoint rule."""
    r, angle = (np.arange(1500) + 0.5) * 0.02, (np.arange(720) + 0.5) * (2.0 * math.pi / 720)
    x, y = place[0] + r[:, None] * np.cos(angle), place[1] + r[:, None] * np.sin(angle)
    u, v = (np.exp(r[:, None] - np.hypot(x - at, y)) for at in (-0.5 * apart, 0.5 * apart))
    X = c * (u - 1.05 * v)
    return float(((np.expm1(X) - X) * (r * np.exp(-r))[:, None]).sum()) * 0.02 / 720


@pytest.mark.parametrize(("place", "c"), [((-3.5, 0.0), 0.015), ((0.3, 3.9), 0.05), ((0.5, 0.0), 1.0)])
def test_moments_are_a_little_above_those_of_the_plane(place: tuple[float, float], c: float) -> None:
    true = polar(1.0, place, c)
    for detail, most in ((DETAILS[-1], 0.02), (Detail(48, 3, 0.03, 0.03), 0.003)):
        p0, p1, t = law_among(1.0, 4.0, place, detail)
        X = c * (p0 - 1.05 * p1) / t
        assert true * (1.0 - 1e-4) <= float((t * (np.expm1(X) - X)).sum()) <= true * (1.0 + most)


@pytest.mark.parametrize("tries", [15, slow(500)])
def test_ranges_and_masses_of_cells(tries: int) -> None:
    """Random points of random cells; the mass of R in a part of a cell by a fine rule."""
    for seed in range(tries):
        rng = np.random.default_rng(seed)
        wide = float(np.exp(rng.uniform(-3.0, 1.8)))
        half, detail = 0.5 * wide * float(rng.uniform(1e-3, 1.0)), DETAILS[seed % 4]
        place = a_place(Random(seed), 2.0 * half, wide)
        of = cells(half, wide, detail)
        low, high = range_of_v(of, np.array(place))
        ends, first = levels(half, wide, detail.step)
        edge_m = ends[first]
        i, j = int(rng.integers(of.turn.size)), int(rng.integers(edge_m.size - 1))
        m = rng.uniform(edge_m[j], edge_m[j + 1], (400, 1))
        a = (i + rng.random((1, 400))) * math.pi / of.turn.size
        x, y = half * np.cosh(m) * np.cos(a), half * np.sinh(m) * np.sin(a)
        log_v = np.hypot(x - place[0], y - place[1]) - np.hypot(x - half, y)
        assert low[i, j] <= log_v.min() and log_v.max() <= high[i, j]
        t = least_mass(of.mass, logs_of_v(of, np.array(place)), (low, high))[:, i, j].sum()
        k = (np.arange(60) + 0.5) / 60.0
        m, a = edge_m[j] + k[:, None] * (edge_m[j + 1] - edge_m[j]), (i + k) * math.pi / of.turn.size
        x, y = half * np.cosh(m) * np.cos(a), half * np.sinh(m) * np.sin(a)
        element = half**2 * (np.cosh(m) ** 2 - np.cos(a) ** 2) * (edge_m[j + 1] - edge_m[j]) * math.pi / of.turn.size
        true = float((element * np.exp(-np.hypot(x - place[0], y - place[1]))).mean()) / (2.0 * math.pi)
        assert t <= true * (1.0 + 2e-3)


def seen_from(x: tuple[float, float], points: np.ndarray) -> bool:
    """Whether x is a mean of the points: no two neighboring directions are more than half a turn from each other."""
    off = points - np.array(x)
    if np.hypot(*off.T).min(initial=math.inf) < 1e-9:
        return True
    angles = np.sort(np.arctan2(off[:, 1], off[:, 0]))
    return len(angles) > 1 and float(np.diff(angles, append=angles[0] + 2.0 * math.pi).max()) <= math.pi + 1e-6


@pytest.mark.heavy
@pytest.mark.parametrize("settings", [2, slow(60)])
def test_every_pair_and_place_is_covered(settings: int) -> None:
    """The distances leave no gap, and every place is a mean of points that are as near as their probability says."""
    for seed in range(settings):
        rng = Random(seed)
        wide = math.exp(rng.uniform(-2.0, 1.7)) if seed else 4.0
        apart, users = wide * rng.uniform(0.05, 1.0), 10.0 ** rng.uniform(2.0, 7.0)
        scale = _scale(apart, wide, users)
        scale = scale._replace(most=scale.most + 0.05)
        listed = distances(scale, apart, wide)
        assert listed[0].apart == apart and listed[-1].low == 0.0
        for near, after in zip(listed, [*listed[1:], None], strict=True):
            assert after is None or after.apart == near.low
            for member in (near, after):  # the smaller distance belongs to this step too
                assert member is None or member.shift >= (near.apart - near.low) ** 2 / 8.0
        for near in rng.sample(listed, min(len(listed), 4)):
            points, share = mesh(scale, near, wide)
            reach = np.sqrt(-8.0 * np.log(share)) * (1.0 + 1e-9)
            for _ in range(100):
                t = rng.uniform(near.low, near.apart)
                x, y = a_place(rng, t, wide)
                x, y = x + 0.5 * t - 0.5 * near.apart, abs(y)  # x0 is at (-apart/2, 0)
                close = np.hypot(points[:, 0] - x, points[:, 1] - y) <= reach
                assert seen_from((x, y), points[close]), (seed, near, x, y)


@pytest.mark.parametrize("tries", [300, slow(100_000)])
def test_a_law_holds_the_mean_of_laws_around_it(tries: int) -> None:
    """R_x >= e^(-D^2/8) sum a_g R_g."""
    rng = np.random.default_rng(0)
    for _ in range(tries):
        points = rng.normal(size=(int(rng.integers(2, 5)), 2)) * rng.uniform(0.05, 2.0)
        a = rng.dirichlet(np.ones(len(points)))
        x, y = a @ points, rng.normal(size=2) * rng.uniform(0.1, 4.0)
        wide = max(math.dist(g, k) for g, k in product(points, points))
        mixed = float(a @ np.exp(-np.hypot(*(y - points).T)))
        assert math.exp(-math.dist(x, y)) >= math.exp(-(wide**2) / 8.0) * mixed * (1.0 - 1e-12)


def listed(apart: float, wide: float, users: float) -> SwapSet:
    """The laws as types of victim pairs, so that they are used among few users too."""
    out = []
    for member in _members(apart, wide, 2.0**-28, users)._members:
        assert member.more is not None
        table: TypeTable = member.more()
        types = (*member.types, *map(table.pair, range(len(table))))
        out.append(SwapPair(types, member.common_mass, slack=member.slack))
    return SwapSet(out)


def merged(places: list[tuple[float, float]], lines: list[tuple[float, float, float]]) -> np.ndarray:
    """Probabilities of the sides of some lines for every place, by the midpoint rule: a function of the report."""
    r, angle = (np.arange(800) + 0.5) * 0.025, (np.arange(240) + 0.5) * (2.0 * math.pi / 240)
    weight = (r * np.exp(-r))[:, None] * 0.025 / 240 * np.ones(240)
    rows = []
    for x, y in places:
        side = [
            (nx * (x + r[:, None] * np.cos(angle)) + ny * (y + r[:, None] * np.sin(angle)) > at) for nx, ny, at in lines
        ]
        code = sum(2**k * part.astype(np.int64) for k, part in enumerate(side))
        rows.append(np.bincount(code.ravel(), weight.ravel(), 2 ** len(lines)))
    out = np.array(rows)
    return out / out.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("apart", "wide", "n"), [(0.5, 0.6, 3), slow(1.0, 1.5, 3), slow(0.5, 1.0, 4), slow(2.0, 2.0, 3)]
)
def test_no_dataset_exceeds_the_swap_bound(apart: float, wide: float, n: int) -> None:
    """All datasets of others at six places of the disk, seen through the sides of two lines."""
    eps = apart * np.array([0.0, 0.1, 0.3, 0.6, 0.9])
    upper = np.exp(listed(apart, wide, 100.0).log_delta(eps, n=n, tol=1e-4, side="upper"))
    rim = [(0.5 * wide * math.cos(k * math.pi / 3.0), 0.5 * wide * math.sin(k * math.pi / 3.0)) for k in range(6)]
    x0, x1 = (-0.5 * apart, 0.0), (0.5 * apart, 0.0)
    ends = [(-0.5 * wide, 0.0), (apart - 0.5 * wide, 0.0)]
    rows = merged([x0, x1, *ends, (0.0, 0.0), *rim[1::2]], [(1.0, 0.0, 0.0), (1.0, 0.2, -0.5)])
    worst = np.zeros(eps.size)
    for first, second in ((0, 1), (1, 0), (2, 3), (3, 2)):
        for others in combinations_with_replacement(range(2, len(rows)), n - 1):
            views = []
            for victim_at in (first, second):
                view = rows[victim_at]
                for x in others:
                    view = np.multiply.outer(view, rows[x])
                views.append(sum(np.transpose(view, order) for order in permutations(range(n))) / math.factorial(n))
            found = [float(np.maximum(views[0] - E * views[1], 0.0).sum()) for E in np.exp(eps)]
            worst = np.maximum(worst, found)
    assert np.all(upper >= worst - 2e-4) and worst[0] > 0.02


@pytest.mark.parametrize(("settings", "places"), [(1, 3), slow(40, 25)])
def test_no_constant_dataset_exceeds_the_swap_bound(settings: int, places: int) -> None:
    """Random near pairs and places of the others, among few and many users, from below."""
    for seed in range(settings):
        rng = Random(seed)
        wide = math.exp(rng.uniform(-1.5, 1.6))
        apart, users = wide * rng.uniform(0.1, 1.0), round(10 ** rng.uniform(2.5, 6.0))
        upper = NearPlaces(apart, wide, 2.0**-28)
        delta = 10.0 ** rng.uniform(-9.0, -3.0)
        most = upper.epsilon(n=users, delta=delta, tol=1e-4, side="upper").epsilon
        for _ in range(places):
            t = apart * rng.choice([1.0, rng.random() ** 0.3])
            pair = _dataset(0.5 * t, a_place(rng, t, wide))
            if pair is not None:
                least = PairSet(both_directions(pair)).epsilon(n=users, delta=delta, tol=1e-4, side="lower").epsilon
                assert least <= most * (1.0 + 1e-9), (seed, apart, wide, users, delta, t)


@pytest.mark.parametrize(("d01", "dmax", "gap"), [(1.0, 4.0, 0.03), (0.5, 2.0, 0.03), slow(2.0, 4.0, 0.1)])
def test_promised_brackets_among_ten_thousand(d01: float, dmax: float, gap: float) -> None:
    found = sdp.amplify(sdp.PlanarLaplace(d01=d01, dmax=dmax), n=10_000, delta=1e-6)
    assert found.lower is not None and found.lower <= found.epsilon <= (1.0 + gap) * found.lower


def test_the_victim_alone() -> None:
    """On values of g alone the total variation is a little above that of whole reports."""
    for half in (1e-4, 0.5, 2.0):
        p0, p1, _ = victim(cells(half, 4.0, DETAILS[-1]))
        true = planar_variation(2.0 * half)
        assert true <= float(np.maximum(p0 - p1, 0.0).sum()) * (1.0 + 1e-12) <= 1.01 * true


def test_large_domains_say_so() -> None:
    with pytest.raises(sdp.BoundNotApplicableError, match=r"needs dmax up to 6, got 20: .* use bound='auto'"):
        sdp.amplify("planar-laplace:d01=1,dmax=20", n=1000, delta=1e-6, bound="swap")
    assert sdp.PlanarLaplace(d01=1.0, dmax=6.0)._swap()  # the allowance for the grid does not count
    assert sdp.amplify("planar-laplace:d01=1,dmax=20", n=1000, delta=1e-6).epsilon > 0.0


def test_the_largest_domain_is_itself_allowed() -> None:
    m = sdp.PlanarLaplace(d01=0.1, dmax=6.0)
    assert m._swap() is not None
    with pytest.raises(sdp.BoundNotApplicableError, match=r"up to 6, got 6\.001: "):
        sdp.PlanarLaplace(d01=0.1, dmax=6.001)._swap()


def test_nothing_is_claimed_among_too_many_users() -> None:
    """There the steps of the distance shift eps by about itself: the next best analysis counts; this one is refused."""
    m = sdp.PlanarLaplace(d01=1.0, dmax=2.0)
    best = sdp.amplify(m, n=10**9, delta=1e-6)
    assert best.bound != "swap" and best.epsilon < 1e-3
    said = r"^bound 'swap' holds for up to 562,341,325 users of planar-laplace:.*, got 1,000,000,000;"
    with pytest.raises(sdp.BoundNotApplicableError, match=said):
        sdp.amplify(m, n=10**9, delta=1e-6, bound="swap")
    with pytest.raises(sdp.BoundNotApplicableError, match=said):
        sdp.profile(m, n=10**9, epsilon=[1e-5], bound="swap")
