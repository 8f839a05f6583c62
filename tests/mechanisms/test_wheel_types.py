"""The wheel on sets of two items: the listed laws against all positions of the items on small circles."""

from __future__ import annotations

import itertools
import math
from functools import lru_cache
from random import Random

import numpy as np
import pytest

import shuffledp as sdp
from reference.repetition import slow
from shuffledp.mechanisms.sets.wheel_types import _patterns, laws, moments

Sets = tuple[tuple[int, int], ...]


@lru_cache(maxsize=32)
def densities(points: int, width: int, ratio: float, sets: Sets) -> np.ndarray:
    """The densities of three sets at y = 0 for every position of the items, from the definition; one row per set."""
    items = sorted(set(itertools.chain(*sets)))
    start = np.stack(np.meshgrid(*len(items) * [np.arange(points)], indexing="ij")).reshape(len(items), -1)
    omega = (2 * width * ratio + points - 2 * width) / points
    rows = []
    for held in sets:
        a, b = (start[items.index(item)] for item in held)
        on = ((-a) % points < width) | ((-b) % points < width)
        apart = np.minimum((a - b) % points, (b - a) % points)
        covered = (2 * width - np.maximum(width - apart, 0)) / points  # arcs shorter than half of the circle
        rows.append(np.where(on, ratio / omega, (omega - covered * ratio) / ((1.0 - covered) * omega)))
    return np.array(rows)


def listed(points: int, width: int, ratio: float, items: int) -> list[sdp.ShuffledPair]:
    on = points / (2 * width + (points - 2 * width) / ratio)
    return laws(points, width, (on, on / ratio), items)


CIRCLES = [(5, 1), (7, 1), (8, 1), (10, 2), (11, 2)]


def compared(seed: int) -> int:
    """E(a u + b v - c)_+ of random sets is at most that of a listed law, for all signs of a and b."""
    rng = Random(seed)
    points, width = rng.choice(CIRCLES)
    ratio, items = rng.choice([1.5, 3.0, 10.0]), rng.choice([3, 4, 5, 6] if points < 8 else [3, 4, 5])
    sets = [tuple(sorted(rng.sample(range(items), 2))) for _ in range(3)]
    if sets[0] == sets[1]:
        return 0
    p0, p1, t = densities(points, width, ratio, relabeled(sets))
    a, b = rng.uniform(-1, 1), rng.uniform(-1, 1)
    value = (a * p0 + b * p1) / t
    c = float(value[rng.randrange(value.size)]) + rng.choice([0.0, 0.02, -0.02])
    least = float((t * np.maximum(value - c, 0.0)).mean())
    found = []
    for pair in kept(points, width, ratio, items):
        q0, q1, r = (np.asarray(x) for x in (pair.P0, pair.P1, pair.t))
        found.append(float((r * np.maximum((a * q0 + b * q1) / r - c, 0.0)).sum()))
    assert max(found) >= least * (1.0 - 1e-10) - 1e-12, (seed, points, width, ratio, sets, a, b, c)
    return 1


@lru_cache(maxsize=256)
def kept(points: int, width: int, ratio: float, items: int) -> tuple[sdp.ShuffledPair, ...]:
    return tuple(listed(points, width, ratio, items))


def relabeled(sets: list[tuple[int, ...]]) -> Sets:
    names: dict[int, int] = {}
    return tuple(tuple(names.setdefault(item, len(names)) for item in held) for held in sets)  # type: ignore[misc]


@pytest.mark.parametrize("tries", [60, slow(13_000)])
def test_every_three_sets_are_covered(tries: int) -> None:
    assert sum(map(compared, range(tries))) > 0.7 * tries


def test_laws_keep_the_means_and_are_as_many_as_patterns() -> None:
    for points, width in CIRCLES:
        for items, number in ((3, 3), (4, 9), (6, 13)):
            every = list(_patterns(items))
            assert len(every) == len(set(every)) == number
            for pair in listed(points, width, 3.0, items):
                for law in (pair.P0, pair.P1, pair.t):
                    assert math.fsum(np.asarray(law).tolist()) == pytest.approx(1.0, abs=1e-10)


def test_moments_lie_in_the_polygon() -> None:
    for points, width in (*CIRCLES, (101, 1), (101, 13), (997, 300), (998, 498)):
        places = points - width
        x = np.abs(np.arange(places)[:, None] - np.arange(places))
        h = np.where(x < width, places / width * (width - x) / np.maximum(places - x, 1), 0.0)
        row = h.mean(axis=1)
        mean, (least, most), (low, high) = moments(points, width)
        assert row.mean() == pytest.approx(mean)  # E h = w/(1-w)
        square = float(np.mean(row**2))
        assert least <= square <= most
        for true in (np.mean(row**3), row @ h @ row / places**2):
            assert low * square <= true * (1.0 + 1e-12) and true <= high * square * (1.0 + 1e-12)
        assert 0.0 <= np.trace(h @ h @ h) / places**3 <= square * (1.0 + 1e-12)


def test_long_arcs_say_so() -> None:
    with pytest.raises(
        sdp.BoundNotApplicableError, match=r"needs arcs that are not so long, got 0.4; use bound='auto'"
    ):
        sdp.amplify("wheel:eps0=1,d=64,s=2,w=0.4", n=10_000, delta=1e-6, bound="swap")
    assert sdp.amplify("wheel:eps0=1,d=64,s=2,w=0.4", n=10_000, delta=1e-6).bound == "blanket"


def test_two_items_within_one_per_cent_and_more_say_so() -> None:
    found = sdp.amplify("wheel:eps0=1,d=64,s=2", n=10_000, delta=1e-6)
    assert found.bound == "swap" and found.lower is not None
    assert found.lower <= found.epsilon <= 1.01 * found.lower
    with pytest.raises(sdp.BoundNotApplicableError, match=r"for s = 1 and 2 only, got s = 3; use bound='auto'"):
        sdp.amplify("wheel:eps0=1,d=64,s=3", n=10_000, delta=1e-6, bound="swap")


@pytest.mark.parametrize("tries", [5, slow(1_500)])
def test_no_upper_bound_is_below_the_lower_one(tries: int) -> None:
    for seed in range(tries):
        rng = Random(seed)
        settings = {"eps0": math.exp(rng.uniform(-3.0, 1.5)), "d": rng.choice([3, 4, 5, 6, 40]), "s": 2}
        if rng.random() < 0.3:
            settings["w"] = rng.uniform(0.01, 0.49)
        n, delta = int(10 ** rng.uniform(0.5, 7.0)), 10 ** rng.uniform(-10.0, -2.0)
        found = sdp.amplify(sdp.Wheel(**settings), n=n, delta=delta, participation=rng.choice([1.0, 1.0, 0.3]))
        assert found.lower is not None and found.lower <= found.epsilon, (seed, settings)
