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


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize(("common", "n"), [(0.37, 100), (0.05, 5000)])
def test_tables_are_above_and_near_the_top_sharp(common: float, n: int, alike: bool) -> None:
    waiting = Waiting.of(common, n, -30.0)
    rng = np.random.default_rng(0)
    for size in (400, 5_000, 400):  # the last one finds the table of the one before
        log_r = 0.01 - 60.0 / waiting.fewest * rng.uniform(0.0, 1.0, size=size) ** 2
        found, true = waiting.log_sums(log_r, alike=alike), waiting.log_sum(log_r)
        assert np.all(found >= true - 3e-12)  # far below the top both are rounded by about that
        # what it adds to a term, in units of the largest
        assert np.max(np.exp(true - true.max()) * np.expm1(found - true)) < 2e-5


def test_one_table_serves_what_is_inside_it() -> None:
    waiting = Waiting.of(0.3, 1000, -30.0)
    waiting.log_sums(np.linspace(-0.03, 0.01, 5_000))
    (table,) = waiting.tables
    waiting.log_sums(np.linspace(-0.02, 0.01, 5_000))
    assert waiting.tables[0] is table
    waiting.log_sums(np.linspace(-0.06, 0.02, 5_000))
    (wider,) = waiting.tables
    assert wider is not table and wider[0][0] <= -0.06 and wider[0][-1] >= 0.02
