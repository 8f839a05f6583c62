"""Rows side by side in one vector have the sums that they have one by one."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp.numerics.evaluators import swap
from shuffledp.numerics.evaluators.swap_rows import Waitings


@pytest.mark.parametrize("values", [2, 3, 7])
@pytest.mark.parametrize(("common", "n"), [(0.3, 30), (0.4, 100), (0.6, 3000), (1.0, 100)])
def test_both_ways_give_the_same_sums(values: int, common: float, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(values)
    t = np.tile(rng.dirichlet(np.full(values, 3.0)), (6, 1))
    x = np.tile(rng.normal(size=values), (6, 1)) - 0.02 * np.arange(6)[:, None]
    x -= (t * x).sum(axis=1).max() + 0.1
    c, _, bend = swap.saddle(x, t, float(n))
    line = swap.line_at(c, bend, np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.01]))
    whole = Waitings.of_rows(np.full(6, common), np.full(6, float(n)), np.full(6, -20.0))
    for waiting in (swap.Waiting.of(common, n, -20.0), whole):
        monkeypatch.setattr(swap, "_FEW_CELLS", 10**9)
        together = swap.log_upper(x, t, waiting, line)
        monkeypatch.setattr(swap, "_FEW_CELLS", -1)
        alone = [swap.log_upper(x[[i]], t[[i]], waiting.at(np.array([i])), line.at(np.array([i])))[0] for i in range(6)]
        assert together == pytest.approx(np.array(alone), abs=2e-6)


def test_no_rows_have_no_sums() -> None:
    nothing = np.zeros((0, 3))
    line = swap.line_at(np.zeros(0), np.zeros(0), 0.01)
    assert swap.log_upper(nothing, nothing, swap.Waiting.of(0.3, 100, -20.0), line).size == 0
