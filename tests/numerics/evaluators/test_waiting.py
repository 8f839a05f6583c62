"""How long one waits for a free user: the blocks cover every k, and the sums are upper values of the exact ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shuffledp.numerics.evaluators.waiting import Waiting


def exact(common: float, n: int, last: int, r: float) -> float:
    """log of the sum over k of beta (1-beta)^k r^(n-1-k)/(n-1-k)."""
    rho, log_r = math.log1p(-common) - math.log(r), math.log(r)
    logs = [math.log(common) + k * rho - math.log(n - 1 - k) for k in range(last + 1)]
    return (n - 1) * log_r + max(logs) + math.log(math.fsum(math.exp(x - max(logs)) for x in logs))


@pytest.mark.parametrize("n", [3, 10, 200, 5_000])
@pytest.mark.parametrize("common", [0.01, 0.3, 0.9, 1.0 - 2.0**-30])
@pytest.mark.parametrize("r", [0.05, 0.7, 1.0 - 1e-12, 1.0, 1.5])
def test_sums_are_upper_values(n: int, common: float, r: float) -> None:
    waiting = Waiting.of(common, n, -20.0)
    last = int(waiting.last[-1])
    assert waiting.first[0] == 0 and np.array_equal(waiting.first[1:], waiting.last[:-1] + 1) and last <= n - 2
    found = float(waiting.log_sum(np.array([math.log(r)]))[0])
    true = exact(waiting.common_mass, n, last, r)
    assert true - 1e-12 * abs(true) <= found <= true + math.log(1.26)


def test_values_far_apart_do_not_disturb_each_other() -> None:
    waiting = Waiting.of(0.2, 1000, -30.0)
    log_r = np.array([-5.0, -0.3, -1e-12, 0.0, 1e-9, 0.02])
    together = waiting.log_sum(log_r)
    assert together == pytest.approx([float(waiting.log_sum(log_r[[i]])[0]) for i in range(log_r.size)], rel=1e-14)
    assert np.all(np.diff(together) >= 0.0)


def test_everybody_free() -> None:
    waiting = Waiting.of(1.0, 50, -20.0)
    assert waiting.log_rest == -math.inf and waiting.fewest == 49.0
    assert float(waiting.log_sum(np.array([0.0]))[0]) == pytest.approx(-math.log(49.0))
