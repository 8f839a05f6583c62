"""One waiting time per row."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp.numerics.evaluators.swap import Waiting
from shuffledp.numerics.evaluators.swap_rows import Waitings


def crowd(n: list[float]) -> np.ndarray:
    return np.array(n, dtype=np.float64)


def test_waiting_rows_are_those_of_single_ones() -> None:
    common, n, target = np.array([0.3, 0.01, 1.0, 1.0 - 2.0**-45]), crowd([50, 1e6, 20, 70]), np.full(4, -18.0)
    rows = Waitings.of_rows(common, n, target)
    assert np.all(rows.at(np.array([2, 0])).others == [19.0, 49.0])
    log_r = np.array([-0.2, 1e-6, 0.3, 0.01])
    phase = np.array([0.3, 1e-5, 0.2, 0.1])
    log_m = log_r + 1j * phase
    growth, peak, size = np.exp(log_m) - 1.0, np.zeros(4), np.ones(4)
    for i in range(4):
        alone = Waiting.of(float(common[i]), int(n[i]), -18.0)
        assert rows.log_rest[i] == pytest.approx(alone.log_rest, rel=1e-12)
        assert rows.fewest[i] == alone.fewest
        at = slice(i, i + 1)
        assert rows.log_sum(log_r)[i] == pytest.approx(alone.log_sum(log_r[at])[0], rel=1e-11)
        expected = alone.sum(growth[at], log_m[at], peak[at], size[at])[0]
        assert rows.sum(growth, log_m, peak, size)[i] == pytest.approx(expected, rel=1e-9)
