"""Values, rows and pairs that agree up to rounding: everything that is left out has a representative that is alike."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from shuffledp.numerics.families.alike import SAME_LAW, distinct_rows, groups, representatives

Rows = NDArray[np.float64]


def circulant(first: Rows, ulps: int = 0, seed: int = 0) -> Rows:
    rows = np.array([np.roll(first, i) for i in range(first.size)])
    rows = rows / rows.sum(axis=1, keepdims=True)
    return rows * (1.0 + ulps * 2.0**-52 * np.random.default_rng(seed).integers(-1, 2, size=rows.shape))


def covered(rows: Rows, kept: NDArray[np.int64]) -> bool:
    """Whether every pair has, up to the order of the columns and types, the laws of a pair that is kept."""
    d = len(rows)

    def laws(a: int, b: int) -> list[tuple[float, ...]]:
        rest = [sorted(zip(rows[a], rows[b], row, strict=True)) for row in rows]
        return sorted(tuple(np.round(np.array(r).reshape(-1), 11)) for r in rest)

    known = [laws(*divmod(int(i), d)) for i in kept]
    return all(laws(a, b) in known for a in range(d) for b in range(d) if a != b)


def test_groups_are_narrow() -> None:
    rng = np.random.default_rng(0)
    values = np.repeat(rng.random(30), 40) * (1.0 + 5 * 2.0**-52 * rng.integers(-5, 6, size=1200))
    levels, code = groups(values)
    assert levels.size == 30
    assert np.all(np.abs(values / levels[code] - 1.0) <= SAME_LAW / 16.0)


def test_a_chain_of_near_values_is_not_one_group() -> None:
    chain = np.cumprod(np.full(1000, 1.0 + 2.0**-46))
    levels, code = groups(chain)
    assert levels.size == 1000 and np.array_equal(code, np.arange(1000))


def test_zero_is_alike_to_nothing_else() -> None:
    levels, code = groups(np.array([0.0, 5e-324, 1e-300, 0.0]))
    assert levels.size == 3 and code[0] == code[3] == 0


@pytest.mark.parametrize("ulps", [0, 5])
def test_rotations(ulps: int) -> None:
    first = np.array([5.0, 3.0, 2.0, 1.0, 1.0, 2.5, 3.5])
    kept = representatives(circulant(first, ulps))
    assert kept.size == 6 and covered(circulant(first), kept)


def test_reversal_and_flips() -> None:
    line = np.exp(-np.abs(np.arange(6)[:, None] - np.arange(6)) / 2.0)
    line /= line.sum(axis=1, keepdims=True)
    kept = representatives(line)
    assert kept.size == 15 and covered(line, kept)
    cube = np.exp(-np.array([[bin(x ^ y).count("1") for y in range(8)] for x in range(8)]))
    cube /= cube.sum(axis=1, keepdims=True)
    assert representatives(cube).size == 7 and covered(cube, representatives(cube))


def test_a_change_of_one_entry_is_no_symmetry() -> None:
    rows = circulant(np.array([5.0, 3.0, 2.0, 1.0, 1.0, 2.5]))
    rows[2, 3] *= 1.0 + 1e-9
    assert representatives(rows).size == 30


def test_a_fixed_row_must_stay() -> None:
    rows = circulant(np.array([4.0, 2.0, 1.0, 1.5]))
    assert representatives(rows, rows.min(axis=0)).size == 3
    assert representatives(rows, rows.min(axis=0) * [1.0, 0.5, 1.0, 1.0]).size == 12


def test_random_matrices_have_none_and_few_rows_do_not_fail() -> None:
    assert representatives(np.random.default_rng(0).dirichlet(np.ones(5), size=5)).size == 20
    assert representatives(np.array([[0.5, 0.5]])).size == 0
    assert representatives(np.full((3, 2), 0.5)).size >= 1


def test_rows_keep_their_order() -> None:
    rows = np.array([[0.5, 0.5], [0.1, 0.9], [0.5, 0.5], [0.3, 0.7]])
    assert distinct_rows(rows).tolist() == [[0.5, 0.5], [0.1, 0.9], [0.3, 0.7]]
