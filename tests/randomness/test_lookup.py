"""Laws by table: exact where a cell is decided, where it is not, and where 64 digits agree with a sum."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from shuffledp import ParameterError
from shuffledp.randomness.lookup import LookupTable, categorical
from shuffledp.randomness.sampling import Keystream, Seeded
from shuffledp.randomness.whole_numbers import poisson_numbers, poisson_total

LAWS = [[1, 3, 0, 12], [7], [0, 0, 5], [1, 10**40], [10**40, 1, 0], list(range(1, 3000)), [1] * 70_000, [1, 1]]


class Words:
    """A source that plays back given words of 16 and 64 bits."""

    for_release = False

    def __init__(self, *played: int) -> None:
        self.left = list(played)

    def raw(self, size: int) -> np.ndarray:
        return np.array([self.left.pop(0)], dtype=f"<u{size}").view(np.uint8)


@pytest.mark.parametrize("weights", LAWS, ids=lambda w: f"{len(w)} outcomes")
def test_outcomes_follow_the_weights(weights: list[int]) -> None:
    size, total = 300_000, sum(weights)
    drawn = LookupTable(weights).draw(Seeded(np.random.default_rng(3)), size)
    seen = np.bincount(drawn, minlength=len(weights))
    chance = np.array([float(Fraction(w, total)) for w in weights])
    assert not seen[chance == 0].any()
    likely = chance * size >= 5
    expected = np.append(chance[likely], chance[~likely].sum()) * size
    observed = np.append(seen[likely], seen[~likely].sum())
    assert np.all(observed[expected == 0] == 0)
    if (expected > 0).sum() > 1:
        kept = expected > 0
        assert stats.chisquare(observed[kept], expected[kept], sum_check=False).pvalue > 1e-6


@pytest.mark.parametrize("weights", [[1, 2], [3, 5, 1, 7], [1, 10**6, 4]])
def test_the_table_agrees_with_the_sums(weights: list[int]) -> None:
    """Every cell of 16 digits: decided as both of its ends are, or open where a sum lies inside."""
    table, total = LookupTable(weights), sum(weights)
    sums = [Fraction(sum(weights[: j + 1]), total) for j in range(len(weights) - 1)]
    near = {int(s * 2**16) + k for s in sums for k in (-1, 0, 1)}
    for cell in sorted({0, 1, 2**16 - 1} | near & set(range(2**16))):
        low, high = (sum(s <= Fraction(cell, 2**16) + shift for s in sums) for shift in (0, Fraction(2**48 - 1, 2**64)))
        assert table._table[cell] == (low if low == high else -1 - low)


def test_digits_are_read_on_where_a_sum_lies() -> None:
    table = LookupTable([1, 2])  # 1/3 = 0.0101...
    cell, rest = 0x5555, 0x555555555555
    assert table.draw(Words(cell - 1), 1)[0] == 0 and table.draw(Words(cell + 1), 1)[0] == 1
    assert table.draw(Words(cell, rest - 1 << 16), 1)[0] == 0
    assert table.draw(Words(cell, rest + 1 << 16), 1)[0] == 1
    low = 0x5555555555555555
    assert table.draw(Words(cell, rest << 16, low - 1), 1)[0] == 0
    assert table.draw(Words(cell, rest << 16, low), 1)[0] == 1


def test_bad_weights() -> None:
    for bad in ([], [0, 0], [-1, 2]):
        with pytest.raises(ParameterError, match="weights must be whole numbers"):
            LookupTable(bad)
    assert categorical(Keystream(), [0, 4], 3).tolist() == [1, 1, 1]


@pytest.mark.parametrize(("mean", "count"), [(0.3, 5), (0.01, 100_000), (2.5, 300), (0.0, 9), (200.0, 3)])
def test_a_total_has_the_law_of_a_sum(mean: float, count: int) -> None:
    src = Seeded(np.random.default_rng(7))
    totals = np.array([poisson_total(src, mean, count) for _ in range(1500)])
    spread = np.sqrt(mean * count) + 1e-9
    assert abs(totals.mean() - mean * count) <= 4.5 * spread / np.sqrt(1500)
    assert abs(totals.var() / max(mean * count, 1e-9) - 1.0) < 0.25 or mean == 0
    assert poisson_numbers(src, mean, 4).shape == (4,)
