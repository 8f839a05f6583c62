"""Constant datasets of a matrix: every one is a dataset, and both directions of a pair are there."""

from __future__ import annotations

import numpy as np

from shuffledp.numerics.families.matrix_datasets import constant_datasets, two_count_datasets


def test_constant_datasets_are_datasets() -> None:
    matrix = np.random.default_rng(1).dirichlet(np.ones(4), size=5)
    rows = {tuple(row) for row in matrix}
    for r in constant_datasets(matrix).pairs(1000) or ():
        assert {tuple(np.asarray(x)) for x in (r.P0, r.P1, r.t)} <= rows


def test_large_matrices_are_tried_in_both_directions() -> None:
    """D(P||Q) and D(Q||P) have the same leading order, but not the same eps."""
    matrix = np.random.default_rng(0).dirichlet(np.ones(6), size=70)
    rounds = list(constant_datasets(matrix).pairs(1000) or ())
    assert rounds and all(r.swapped() in rounds for r in rounds)


def test_two_counts_have_three_symbols() -> None:
    matrix = np.random.default_rng(2).dirichlet(np.ones(5), size=4)
    for r in two_count_datasets(matrix).pairs(1000) or ():
        assert np.size(r.t) == 3
