"""Most of many eps are served as those next to them; nothing depends on how many there are, up to the tolerance."""

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.numerics.families.knots import Knots, try_ways


def test_knots_include_both_ends_and_divide_the_rest():
    eps = np.random.default_rng(1).permutation(np.linspace(0.0, 1.0, 101))
    knots = Knots(eps, 11)
    assert eps[knots.rows].tolist() == sorted(eps[knots.rows]) and eps[knots.rows][[0, -1]].tolist() == [0.0, 1.0]
    assert sorted([*knots.rows, *knots.between(np.ones(knots.rows.size, dtype=bool))]) == list(range(101))
    best = np.arange(knots.rows.size) // 6
    rows, left, right = knots.neighbours(best)
    assert sorted([*knots.rows, *rows]) == list(range(101))
    assert np.all(left == (eps[rows] > eps[knots.rows[6]]))
    assert np.all(right == (eps[rows] > eps[knots.rows[5]]))


@pytest.mark.parametrize("third", [slice(0), slice(478, 493)], ids=["never best", "best between two knots"])
def test_the_best_way_is_found_everywhere_and_seldom_tried_in_vain(third):
    eps = np.linspace(0.0, 1.0, 1000)
    values = np.full(1000, 9.0)
    heights = [2.0 + eps, 3.0 - eps, np.full(1000, 4.0)]
    heights[2][third] = 2.4
    tried = [0, 0, 0]

    def attempt(way, rows):
        tried[way] += rows.size
        better = rows[heights[way][rows] < values[rows]]
        values[better] = heights[way][better]
        return better

    try_ways(attempt, eps, [0, 1, 2])
    assert np.array_equal(values, np.min(heights, axis=0))
    assert max(tried[:2]) < 700 and tried[2] < 100


@pytest.mark.parametrize(
    ("spec", "n"),
    [("general:eps0=2", 100), ("unary:eps0=2,d=16", 60), ("subset:eps0=2,d=16", 1000)],
)
def test_a_wide_profile_is_that_of_single_eps(spec, n):
    eps = np.linspace(0.0, 3.0, 2000)
    wide = sdp.profile(spec, n=n, epsilon=eps)
    some = np.arange(3, 1300, 93)
    alone = np.array([sdp.profile(spec, n=n, epsilon=[x])[0] for x in eps[some]])
    assert np.all(wide[some] <= alone * (1.0 + 3e-4))
    assert np.all(np.diff(wide) <= 0.0) and np.all(wide[eps >= 2.0] == 0.0)


def test_a_wide_profile_is_sharp_where_one_way_takes_over_from_another():
    """On a coarse lattice a third line may be the best one between two at which different ones are."""
    eps = np.linspace(0.0, 4.3, 10_000)
    wide = sdp.profile("grr:eps0=2,d=16", n=20, epsilon=eps, bound="swap")
    some = np.flatnonzero((eps > 1.6) & (eps < 1.66))[::10]
    alone = np.array([sdp.profile("grr:eps0=2,d=16", n=20, epsilon=[x], bound="swap")[0] for x in eps[some]])
    assert np.all(wide[some] <= alone * (1.0 + 3e-4))
