"""Equal rows, as numpy finds them."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp.numerics.distinct import distinct


@pytest.mark.parametrize("shape", [(1, 1), (7, 1), (200, 3), (3, 200), (40, 40)])
def test_as_numpy_finds_them(shape: tuple[int, int]) -> None:
    rows = np.random.default_rng(0).integers(0, 3, size=shape) * 10.0 ** np.arange(-3, shape[1] - 3)[None, :].clip(
        -3, 3
    )
    values, first, label = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    found = distinct(rows)
    assert np.array_equal(rows[found[0]], values)
    assert np.array_equal(found[0], first)
    assert np.array_equal(found[1], label.reshape(-1))


def test_zeros_are_one() -> None:
    assert distinct(np.array([[0.0, 1.0], [-0.0, 1.0]]))[1].tolist() == [0, 0]


def test_empty_tables() -> None:
    assert distinct(np.zeros((0, 3)))[0].size == 0
    assert distinct(np.zeros((4, 0)))[0].tolist() == [0]
