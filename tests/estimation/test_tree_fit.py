"""The least-squares fit on a tree against the normal equations, written out."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp.estimation.tree_fit import fit


def design(sizes: list[int], branching: int) -> np.ndarray:
    """One row per node of every level, one column per leaf."""
    rows = []
    for h, size in enumerate(sizes):
        owner = np.arange(sizes[0]) // branching**h
        rows.append((np.arange(size)[:, None] == owner).astype(float))
    return np.concatenate(rows)


def slow_fit(levels: list[np.ndarray], variances: list[float], branching: int) -> tuple[np.ndarray, np.ndarray]:
    """Leaves and their covariance by generalised least squares under the constraint that they sum to 1."""
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
    return free + pull * (1 - free.sum()), inverse - np.outer(pull, ones @ inverse)


@pytest.mark.parametrize(("leaves", "branching"), [(8, 2), (9, 2), (10, 3), (16, 4), (5, 5), (7, 10), (23, 3)])
def test_equals_the_normal_equations(leaves: int, branching: int) -> None:
    rng = np.random.default_rng(leaves)
    sizes = [leaves]
    while sizes[-1] > branching:
        sizes.append(-(-sizes[-1] // branching))
    levels = [rng.normal(1 / size, 0.1, size) for size in sizes]
    variances = rng.uniform(0.5, 2.0, len(sizes)).tolist()
    found = fit(levels, variances, branching)
    value, covariance = slow_fit(levels, variances, branching)
    assert found.leaves == pytest.approx(value, abs=1e-10)
    assert found.leaves.sum() == pytest.approx(1.0)
    weights = rng.normal(size=(20, leaves))
    wanted = np.einsum("ij,jk,ik->i", weights, covariance, weights)
    assert found.variance(weights) == pytest.approx(wanted, rel=1e-9, abs=1e-12)


def test_a_fit_is_never_less_precise_than_one_level() -> None:
    found = fit([np.full(64, 1 / 64), *(np.full(64 // 2**h, 2**h / 64) for h in range(1, 6))], [1.0] * 6, 2)
    assert np.all(found.variance(np.eye(64)) < 1.0)
    half = np.concatenate([np.ones(32), np.zeros(32)])
    assert found.variance(half)[0] < 0.5  # two estimates of the same node and its sibling
