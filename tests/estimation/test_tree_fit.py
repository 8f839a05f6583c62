"""The least-squares fit on a tree against the normal equations, written out."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp.estimation.moments import Moments
from shuffledp.estimation.tree_fit import fit
from shuffledp.estimation.variance import Variance


def design(sizes: list[int], branching: int) -> np.ndarray:
    """One row per node of every level, one column per leaf."""
    rows = []
    for h, size in enumerate(sizes):
        owner = np.arange(sizes[0]) // branching**h
        rows.append((np.arange(size)[:, None] == owner).astype(float))
    return np.concatenate(rows)


def slow_fit(levels: list[np.ndarray], variances: list[float], branching: int) -> np.ndarray:
    """Leaves by generalized least squares under the constraint that they sum to 1."""
    sizes = [level.size for level in levels]
    matrix, weight = (
        design(sizes, branching),
        np.concatenate([np.full(k, 1 / v) for k, v in zip(sizes, variances, strict=True)]),
    )
    normal = matrix.T @ (weight[:, None] * matrix)
    inverse = np.linalg.inv(normal)
    ones = np.ones(sizes[0])
    free = inverse @ (matrix.T @ (weight * np.concatenate(levels)))
    pull = inverse @ ones / (ones @ inverse @ ones)
    return np.asarray(free + pull * (1 - free.sum()))


@pytest.mark.parametrize(("leaves", "branching"), [(8, 2), (9, 2), (10, 3), (16, 4), (5, 5), (7, 10), (23, 3)])
def test_equals_the_normal_equations(leaves: int, branching: int) -> None:
    rng = np.random.default_rng(leaves)
    sizes = [leaves]
    while sizes[-1] > branching:
        sizes.append(-(-sizes[-1] // branching))
    levels = [rng.normal(1 / size, 0.1, size) for size in sizes]
    variances = rng.uniform(0.5, 2.0, len(sizes)).tolist()
    found = fit(levels, variances, branching)
    assert found.leaves == pytest.approx(slow_fit(levels, variances, branching), abs=1e-10)
    assert found.leaves.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(("leaves", "branching"), [(8, 2), (9, 2), (10, 3), (5, 5), (7, 10), (23, 3)])
def test_the_error_of_a_range_is_that_of_its_weights(leaves: int, branching: int) -> None:
    """Against the weights of all estimates, which the fit of unit vectors shows, and the law of a report in full."""
    rng = np.random.default_rng(leaves)
    sizes = [leaves]
    while sizes[-1] > branching:
        sizes.append(-(-sizes[-1] // branching))
    variances = rng.uniform(0.5, 2.0, len(sizes)).tolist()
    nothing = fit([np.zeros(size) for size in sizes], variances, branching)
    responses = [
        np.array([fit(units(sizes, h, c), variances, branching).leaves - nothing.leaves for c in range(size)])
        for h, size in enumerate(sizes)
    ]
    shares, reports = rng.dirichlet(np.ones(leaves)), rng.integers(50, 500, len(sizes))
    keep, stray = 0.4, 0.6 / (np.array(sizes) - 1.0)
    parts = [Moments.of_support(int(n), keep, b, (0.0, 0.0)) for n, b in zip(reports, stray, strict=True)]
    ranges = np.array([(i, j) for i in range(leaves) for j in range(i + 1, leaves + 1) if j - i < leaves])
    found = nothing.sums(ranges, shares, parts).variance(parts)
    for place, (i, j) in enumerate(ranges):
        inside = (np.arange(leaves) >= i) & (np.arange(leaves) < j)
        for share in (0.0, 0.3, 1.0, shares[inside].sum()):  # inside and outside in proportion
            moved = shares * np.where(inside, share / shares[inside].sum(), (1 - share) / shares[~inside].sum())
            wanted = 0.0
            for h, (size, n, b) in enumerate(zip(sizes, reports, stray, strict=True)):
                law = b + (keep - b) * np.bincount(np.arange(leaves) // branching**h, moved, minlength=size)
                weights = responses[h] @ inside / (keep - b)
                wanted += (law @ weights**2 - (law @ weights) ** 2) / n
            line = (found.base[place], found.slope[place], found.bend[place])  # type: ignore[index]
            assert Variance(*line).at(share) == pytest.approx(wanted, rel=1e-9, abs=1e-15)


def units(sizes: list[int], level: int, node: int) -> list[np.ndarray]:
    return [np.eye(size)[node] if h == level else np.zeros(size) for h, size in enumerate(sizes)]


def test_a_fit_is_more_precise_than_one_level() -> None:
    found = fit([np.full(64, 1 / 64), *(np.full(64 // 2**h, 2**h / 64) for h in range(1, 6))], [1.0] * 6, 2)
    parts = [Moments(1, square=1.0, own=0.0)] * 6
    ranges = np.array([*((i, i + 1) for i in range(64)), (0, 32)])
    square = np.asarray(found.sums(ranges, np.full(64, 1 / 64), parts).square)
    assert np.all(square[:64] < 1.0)
    assert square[64] < 0.5  # two estimates of the same node and its sibling
