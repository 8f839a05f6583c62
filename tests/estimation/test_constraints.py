"""Projections onto what is known of an estimate, against the optimality condition and a general solver."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

import shuffledp as sdp
from reference.repetition import examples
from shuffledp.estimation.constraints import (
    Ball,
    Blocks,
    Box,
    Constraint,
    FixedSum,
    KeyValues,
    Simplex,
    SumAtMost,
    Tree,
)
from shuffledp.estimation.estimate import Estimate

#: A set, the shape of its points, and corners whose convex hull it is (the ball: points of its surface).
Corners = tuple[Constraint, tuple[int, ...], np.ndarray]


def tree_sizes(d: int, branching: int) -> tuple[int, ...]:
    sizes = []
    while d > 1:
        sizes.append(d)
        d = -(-d // branching)
    return tuple(sizes)


def subsets(d: int, sizes: list[int]) -> np.ndarray:
    return np.array([[j in s for j in range(d)] for k in sizes for s in itertools.combinations(range(d), k)], float)


def tree(d: int, branching: int) -> Corners:
    """Corners: all users in one leaf."""
    sizes = tree_sizes(d, branching)
    rows = []
    for leaf in range(d):
        nodes = [leaf // branching**h for h in range(len(sizes))]
        rows.append(np.concatenate([np.eye(size)[node] for size, node in zip(sizes, nodes, strict=True)]))
    return Tree(sizes, branching), (sum(sizes),), np.array(rows)


def key_values(d: int, total: int) -> Corners:
    """Corners: a set of at most ``total`` keys, held by all users with value 1 or -1 (integral, as for sums)."""
    rows = [
        np.stack([np.abs(signs), signs])
        for signs in (np.array(s, float) for s in itertools.product((-1, 0, 1), repeat=d))
        if np.abs(signs).sum() <= total
    ]
    return KeyValues(total), (2, d), np.array(rows)


def ball() -> Corners:
    around = np.random.default_rng(0).normal(size=(2000, 3))
    return Ball(2.0), (3,), 2.0 * around / np.linalg.norm(around, axis=1, keepdims=True)


SETS: dict[str, Corners] = {
    "simplex": (Simplex(), (5,), np.eye(5)),
    "one entry": (Simplex(), (1,), np.eye(1)),
    "two of five": (FixedSum(2), (5,), subsets(5, [2])),
    "four of five": (FixedSum(4), (5,), subsets(5, [4])),
    "at most two of five": (SumAtMost(2), (5,), subsets(5, [0, 1, 2])),
    "box": (Box(-1.0, 1.0), (4,), np.array(list(itertools.product((-1.0, 1.0), repeat=4)))),
    "ball": ball(),
    "key and value, one": key_values(3, 1),
    "key and value, two": key_values(3, 2),
    "tree of 8 by 2": tree(8, 2),
    "tree of 7 by 2": tree(7, 2),
    "tree of 13 by 3": tree(13, 3),
    "tree of one level": tree(3, 4),
    "blocks": (
        Blocks((((2,), Simplex()), ((2, 1), KeyValues(1)))),
        (4,),
        np.array([[*a, *b.ravel()] for a in np.eye(2) for b in key_values(1, 1)[2]]),
    ),
}
numbers = st.floats(-3, 3, allow_nan=False)


def each_set() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("name", SETS)


@each_set()
@given(data=st.data())
@examples(60)
def test_nearest_is_feasible_and_optimal(name: str, data: st.DataObject) -> None:
    """p is the nearest point of a convex set iff p is in it and (v - p).(c - p) <= 0 for every corner c."""
    constraint, shape, corners = SETS[name]
    size = int(np.prod(shape))
    scale = data.draw(st.sampled_from([0.1, 1.0, 30.0]))
    value = scale * np.array(data.draw(st.lists(numbers, min_size=size, max_size=size))).reshape(shape)
    found = constraint.nearest(value.copy())
    assert found.shape == shape
    assert inside(name, found, 1e-9)
    gaps = (corners.reshape(len(corners), -1) - found.ravel()) @ (value - found).ravel()
    assert gaps.max() <= 1e-9 * (1 + scale**2)
    # idempotent, and never farther from a feasible point than the raw value was
    assert constraint.nearest(found) == pytest.approx(found, abs=1e-9)
    for corner in corners[:: max(1, len(corners) // 7)]:
        assert np.linalg.norm(found.ravel() - corner.ravel()) <= np.linalg.norm(value.ravel() - corner.ravel()) + 1e-9
    low, high = constraint.limits
    assert np.all(found >= low - 1e-9) and np.all(found <= high + 1e-9)


def inside(name: str, point: np.ndarray, slack: float) -> bool:
    """Feasibility in words of its own; the hull of the corners where there are few."""
    constraint, _, corners = SETS[name]
    if isinstance(constraint, Ball):
        return bool(np.linalg.norm(point) <= constraint.radius + slack)
    # nearest point of the hull by non-negative least squares, with a heavy row that makes the weights sum to 1
    flat = corners.reshape(len(corners), -1).T
    rows = np.vstack([flat, 1e3 * np.ones(len(corners))])
    _, miss = optimize.nnls(rows, np.append(point.ravel(), 1e3))
    return bool(miss <= 1e-8 + slack)


@each_set()
def test_nearest_agrees_with_a_general_solver(name: str) -> None:
    """Minimize over the weights of the corners."""
    constraint, shape, corners = SETS[name]
    if isinstance(constraint, Ball):
        return
    rng, flat = np.random.default_rng(3), corners.reshape(len(corners), -1)
    for scale in (0.3, 2.0):
        value = rng.normal(scale=scale, size=int(np.prod(shape)))
        weights, _ = optimize.nnls(np.vstack([flat.T, 1e4 * np.ones(len(flat))]), np.append(value, 1e4))
        assert constraint.nearest(value.reshape(shape)).ravel() == pytest.approx(weights @ flat, abs=1e-5)


def test_large_errors_do_not_lose_the_sum() -> None:
    """At tiny budgets raw estimates are of the order of 1e9."""
    value = 1e9 * np.random.default_rng(0).normal(size=50)
    for constraint, total in ((Simplex(), 1), (FixedSum(7), 7)):
        assert constraint.nearest(value).sum() == pytest.approx(total, abs=1e-9)


def made(spec: str, values: object) -> Estimate:
    m = sdp.mechanism(spec)
    return m.estimate(m.privatize(values, rng=np.random.default_rng(1)))


def test_a_tree_is_made_consistent_across_levels() -> None:
    m = sdp.HierarchicalGRR(eps0=2.0, d=16)
    est = m.estimate(m.privatize(np.arange(8000) % 5, rng=np.random.default_rng(0)))
    value = est.consistent("nearest").value
    truth = np.concatenate([np.bincount((np.arange(8000) % 5) // 2**h, minlength=16 >> h) / 8000 for h in range(4)])
    for h in range(4):
        assert value[m.level(h)].sum() == pytest.approx(1.0) and np.all(value[m.level(h)] >= 0)
        if h:
            assert value[m.level(h)] == pytest.approx(value[m.level(h - 1)].reshape(-1, 2).sum(axis=1))
    assert np.linalg.norm(value - truth) < np.linalg.norm(est.value - truth)


def test_nothing_is_squeezed_onto_a_sum_that_it_does_not_have() -> None:
    mean = made("laplace:eps0=4", np.full(5000, 0.304))
    assert mean.consistent("nearest").value == pytest.approx([0.304], abs=0.05)
    sets = made("sampling-rappor:eps0=4,d=6,s=2", np.array([[0, 1], [0, 5]] * 2000)).consistent("nearest").value
    assert sets.sum() == pytest.approx(2.0) and sets[0] == pytest.approx(1.0, abs=0.1)
    place = made("planar-laplace:d01=1,dmax=2", np.tile([1.0, 0.0], (20, 1))).consistent().value
    assert np.linalg.norm(place) <= 1.0 + 1e-12


@pytest.mark.parametrize(
    ("spec", "values"),
    [
        ("laplace:eps0=1", np.full(100, 0.3)),
        ("hierarchical-grr:eps0=2,d=4", np.arange(400) % 4),
        ("wheel:eps0=2,d=4,s=2", np.tile([0, 1], (100, 1))),
        ("privunit:eps0=2,dim=2", np.tile([1.0, 0.0], (100, 1))),
    ],
)
def test_steps_for_one_item_per_user_are_refused_elsewhere(spec: str, values: np.ndarray) -> None:
    for step in ("simplex", "norm-sub"):
        with pytest.raises(sdp.ParameterError, match=r"call consistent\('nearest'\)\.$") as error:
            made(spec, values).consistent(step)
        assert "\n" not in str(error.value)


def test_an_estimate_that_declares_nothing_is_not_guessed_at() -> None:
    bare = Estimate(value=np.array([0.5, 0.7]), stderr=np.array([0.1, 0.1]), n=10)
    with pytest.raises(sdp.ParameterError, match="declares no constraint"):
        bare.consistent()
    assert bare.consistent("simplex").value == pytest.approx([0.4, 0.6])  # the caller says that they sum to 1


def test_levels_without_reports_are_not_made_consistent() -> None:
    with pytest.raises(sdp.ParameterError, match="collect more"):
        made("hierarchical-grr:eps0=2,d=64", np.array([1])).consistent()
