"""The wheel on sets of several items: the listed laws against all positions of the items on small circles."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import lru_cache
from random import Random

import numpy as np
import pytest

import shuffledp as sdp
from reference.repetition import slow
from shuffledp.mechanisms.sets import overlaps
from shuffledp.mechanisms.sets.wheel_types import heights_of_two, mean_height, seen_of_two, table

Sets = tuple[tuple[int, ...], ...]


@lru_cache(maxsize=32)
def densities(points: int, width: int, ratio: float, sets: Sets) -> np.ndarray:
    """The densities of the sets at y = 0 for every position of the items, from the definition; one row per set."""
    items = sorted(set(itertools.chain(*sets)))
    start = np.stack(np.meshgrid(*len(items) * [np.arange(points)], indexing="ij")).reshape(len(items), -1)
    s = len(sets[0])
    omega = (s * width * ratio + points - s * width) / points
    rows = []
    for held in sets:
        covered = np.zeros((points, start.shape[1]), dtype=bool)
        for item, step in itertools.product(held, range(width)):
            covered[(start[items.index(item)] + step) % points, np.arange(start.shape[1])] = True
        share = covered.mean(axis=0)
        rows.append(np.where(covered[0], ratio / omega, (omega - share * ratio) / ((1.0 - share) * omega)))
    return np.array(rows)


@lru_cache(maxsize=256)
def listed(points: int, width: int, s: int, ratio: float, items: int) -> tuple[np.ndarray, ...]:
    on = points / (s * width + (points - s * width) / ratio)
    found = table(points, width, s, (on, on / ratio), items)
    return found.P0, found.P1, found.t


CIRCLES = [(5, 1), (7, 1), (8, 1), (10, 2), (11, 2)]


def compared(seed: int) -> int:
    """E(a u + b v - c)_+ of random sets is at most that of a listed law, for all signs of a and b."""
    rng = Random(seed)
    points, width = rng.choice(CIRCLES)
    ratio, s = rng.choice([1.5, 3.0, 10.0]), rng.choice([2, 2, 3, 4])
    items = rng.choice([s + 1, s + 2, s + 3, s + 4])
    if items > (6 if points < 8 else 5) or s * width >= points:
        return 0
    sets = [tuple(sorted(rng.sample(range(items), s))) for _ in range(3)]
    if sets[0] == sets[1]:
        return 0
    p0, p1, t = densities(points, width, ratio, relabeled(sets))
    a, b = rng.uniform(-1, 1), rng.uniform(-1, 1)
    value = (a * p0 + b * p1) / t
    c = float(value[rng.randrange(value.size)]) + rng.choice([0.0, 0.02, -0.02])
    least = float((t * np.maximum(value - c, 0.0)).mean())
    q0, q1, r = listed(points, width, s, ratio, items)
    found = np.maximum(a * q0 + b * q1 - c * r, 0.0).sum(axis=1)
    assert found.max() >= least * (1.0 - 1e-10) - 1e-12, (seed, points, width, ratio, sets, a, b, c)
    return 1


def relabeled(sets: list[tuple[int, ...]]) -> Sets:
    names: dict[int, int] = {}
    return tuple(tuple(names.setdefault(item, len(names)) for item in held) for held in sets)


@pytest.mark.heavy
@pytest.mark.parametrize("tries", [30, slow(25_000)])
def test_every_three_sets_are_covered(tries: int) -> None:
    assert sum(map(compared, range(tries))) > 0.4 * tries


@pytest.mark.heavy
def test_disjoint_sets_of_two_on_a_small_circle_are_covered() -> None:
    """All positions of six items."""
    for ratio in (1.5, 10.0):
        p0, p1, t = densities(7, 2, ratio, ((0, 1), (2, 3), (4, 5)))
        q0, q1, r = listed(7, 2, 2, ratio, 6)
        rng = Random(1)
        for _ in range(40):
            a, b, c = (rng.uniform(-1, 1) for _ in range(3))
            least = np.maximum(a * p0 + b * p1 - c * t, 0.0).mean()
            assert np.maximum(a * q0 + b * q1 - c * r, 0.0).sum(axis=1).max() >= least * (1 - 1e-10) - 1e-12


@pytest.mark.parametrize("s", [2, 3, 4])
def test_laws_keep_the_means_and_patterns_are_those_of_sets(s: int) -> None:
    for items in (s + 1, 3 * s):
        every = list(overlaps.every(items, s))
        assert len(every) == len(set(every))
        seen = set()
        for two, three in itertools.product(itertools.combinations(range(items), s), repeat=2):
            one = set(range(s))
            if s < 4 and one != set(two):
                all_three = len(one & set(two) & set(three))
                pairs = (one & set(two), one & set(three), set(two) & set(three))
                seen.add((all_three, *(len(pair) - all_three for pair in pairs)))
        assert s == 4 or set(every) == seen
        for points, width in ((13, 1), (101, 20)):
            for law in listed(points, width, s, 3.0, items):
                assert law.sum(axis=1) == pytest.approx(1.0, abs=1e-10) and law.min() >= 0.0


def heights(points: int, width: int, s: int) -> list[Fraction]:
    """h for all places of the items of a set that cover no y = 0, from the definition."""
    found, w = [], Fraction(width, points)
    for starts in itertools.product(range(1, points - width + 1), repeat=s):
        covered = {(start + step) % points for start in starts for step in range(width)}
        assert 0 not in covered
        share = Fraction(len(covered), points)
        found.append((s * w - share) / (1 - share) / ((s - 1) * w / (1 - w)))
    return found


@pytest.mark.parametrize(
    ("points", "width", "s"), [(5, 1, 2), (11, 2, 2), (23, 9, 2), (12, 5, 2), (7, 2, 3), (9, 2, 4)]
)
def test_the_mean_of_h_is_exact(points: int, width: int, s: int) -> None:
    every = heights(points, width, s)
    assert min(every) >= 0 and max(every) == 1
    assert sum(every) / len(every) == mean_height(Fraction(width, points), s)


@pytest.mark.parametrize(("points", "width"), [(5, 1), (5, 2), (11, 3), (29, 11), (40, 19), (61, 8)])
def test_values_that_h_is_split_between_and_what_is_seen_of_it(points: int, width: int) -> None:
    every = heights(points, width, 2)
    split = heights_of_two(points, width)
    assert sum(chance for _, chance in split) == 1 and min(chance for _, chance in split) >= 0
    for a in sorted({*every, Fraction(0)}):  # larger in convex order
        true = sum(max(h - a, Fraction(0)) for h in every) / len(every)
        assert sum(chance * max(h - a, Fraction(0)) for h, chance in split) >= true
    (on, none), *blocks, (rest, zero) = seen_of_two(points, width)
    off = Fraction(points - width, points) ** 2
    assert on == 1 - off and none == zero == 0 and rest == off * Fraction(every.count(Fraction(0)), len(every))
    highest = sorted(every, reverse=True)
    for chance, mean in blocks:  # distances in order: each block has the next smaller values of h
        size = chance / off * len(every)
        assert size.denominator == 1
        some, highest = highest[: int(size)], highest[int(size) :]
        assert sum(some) / len(some) == mean


def test_long_arcs() -> None:
    found = sdp.amplify("wheel:eps0=1,d=64,s=2,w=0.4", n=10_000, delta=1e-6)
    blanket = sdp.amplify("wheel:eps0=1,d=64,s=2,w=0.4", n=10_000, delta=1e-6, bound="blanket").epsilon
    assert found.bound == "swap" and found.lower is not None and found.lower <= found.epsilon <= blanket


@pytest.mark.heavy
def test_brackets_of_sets_and_more_items_say_so() -> None:
    for eps0, s, most in ((1.0, 2, 1.001), (0.3, 2, 1.002), (0.05, 2, 1.01), (3.0, 2, 1.001), (1.0, 3, 1.013)):
        found = sdp.amplify(sdp.Wheel(eps0=eps0, d=64, s=s), n=10_000, delta=1e-6)
        low = sdp.amplify(sdp.Wheel(eps0=eps0, d=64, s=s), n=10_000, delta=1e-6, bound="constant-dataset-lower").epsilon
        assert found.bound == "swap" and low <= found.epsilon <= most * low
    with pytest.raises(sdp.BoundNotApplicableError, match=r"for s = 1 to 4 only, got s = 5; use bound='auto'"):
        sdp.amplify("wheel:eps0=1,d=64,s=5", n=10_000, delta=1e-6, bound="swap")


@pytest.mark.heavy
@pytest.mark.parametrize("tries", [5, slow(1_500)])
def test_no_upper_bound_is_below_the_lower_one(tries: int) -> None:
    for seed in range(tries):
        rng = Random(seed)
        s = rng.choice([2, 2, 3, 4])
        settings = {"eps0": math.exp(rng.uniform(-3.0, 1.5)), "d": s + rng.choice([1, 2, 3, 4, 40]), "s": s}
        if rng.random() < 0.3:
            settings["w"] = rng.uniform(0.01, 0.98) / s
        m = sdp.Wheel(**settings)
        asked = {"n": int(10 ** rng.uniform(0.5, 7.0)), "delta": 10 ** rng.uniform(-10.0, -2.0)}
        upper, lower = (sdp.amplify(m, bound=b, **asked).epsilon for b in ("auto", "constant-dataset-lower"))
        assert lower <= upper, (seed, settings)
