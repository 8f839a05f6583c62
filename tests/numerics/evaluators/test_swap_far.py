"""Blocks of far nodes: what they leave out is bounded, and next to nothing."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp.numerics.evaluators import swap, swap_far
from shuffledp.numerics.evaluators.swap_rows import Waitings
from shuffledp.numerics.pair import FloatArray

#: values of X: without order, on a lattice, two of them far apart, three of which one is "nothing"
LAWS = {
    "without order": np.random.default_rng(0).normal(size=40),
    "lattice": np.arange(-3.0, 4.0),
    "two": np.array([-1.7, 1.7]),
    "three": np.array([6.4, -0.86, 0.0]),
}


@pytest.fixture(autouse=True)
def every_sum_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short sums have blocks too, and those of few values."""
    monkeypatch.setattr(swap, "_FEW_CELLS", 0)
    monkeypatch.setattr(swap, "_FEW_VALUES", 0)


def rows(values: FloatArray, n: int, dither: float) -> tuple[FloatArray, FloatArray, swap.Line]:
    """Three laws on these values, a little below 0 on average, and their lines."""
    t = np.random.default_rng(1).dirichlet(np.ones(values.size), size=3)
    x = np.tile(values, (3, 1))
    x = x - (t * x).sum(axis=1, keepdims=True) - np.array([[0.5], [1.0], [2.0]]) / np.sqrt(n)
    c, _, bend = swap.saddle(x, t, float(n))
    return x, t, swap.line_at(c, bend, dither)


@pytest.mark.parametrize("law", sorted(LAWS))
@pytest.mark.parametrize("n", [100, 1000, 10**5])
@pytest.mark.parametrize("mass", [0.02, 0.3, 1.0])
@pytest.mark.parametrize("phases", [False, True])
def test_the_sum_is_that_over_all_nodes(
    law: str, n: int, mass: float, phases: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, t, line = rows(LAWS[law], n, 0.01)
    waiting = swap.Waiting.of(mass, n, -30.0)
    found = swap.log_upper(x, t, waiting, line, phases=phases)
    monkeypatch.setattr(swap_far, "_LEAST", np.inf)  # no blocks
    every = swap.log_upper(x, t, waiting, line, phases=phases)
    assert np.all(found >= every - 1e-9)
    assert np.all(found <= every + 1e-7)


@pytest.mark.parametrize(("law", "n"), [("without order", 1000), ("lattice", 10**4), ("three", 10**4)])
def test_few_nodes_are_left(law: str, n: int) -> None:
    x, t, line = rows(LAWS[law], n, 0.01)
    waiting = swap.Waiting.of(0.3, n, -30.0)
    peak = waiting.log_sum(swap._log_growth(x, t, line.c))
    nodes, tail = swap._nodes(x, t, waiting, line, peak, phases=False)
    assert np.all(nodes <= 60)  # of some 600
    assert np.all(np.isfinite(tail))


def test_rows_with_waiting_times_of_their_own() -> None:
    n = np.array([500.0, 10**3, 10**4])
    parts = [rows(LAWS["without order"], int(users), 0.01) for users in n]
    x, t = (np.stack([part[k][i] for i, part in enumerate(parts)]) for k in (0, 1))
    line = swap.Line(*(np.array([getattr(part[2], k)[i] for i, part in enumerate(parts)]) for k in ("c", "h", "s")))
    together = swap.log_upper(x, t, Waitings.of_rows(np.full(3, 0.2), n, np.full(3, -30.0)), line)
    for i, users in enumerate(n):
        alone = swap.log_upper(x[[i]], t[[i]], swap.Waiting.of(0.2, int(users), -30.0), line.at(np.array([i])))
        assert together[i] == pytest.approx(alone[0], abs=1e-9)


def test_a_deep_sum_does_not_vanish() -> None:
    """In units of the peak nothing underflows, however small the bound is: here blocks at resonances matter."""
    x = np.array([[1.0, -1.0, 0.0]])
    t = np.array([[0.05, 0.95, 0.0]])
    c, _, bend = swap.saddle(x, t, 2000.0)
    waiting, line = swap.Waiting.of(1.0, 2000, -745.0), swap.line_at(c, bend, 0.01)
    peak = float(waiting.log_sum(swap._log_growth(x, t, line.c))[0])
    assert peak < -1000.0
    period = 2.0 * np.pi / 2.0  # |M| is back at its largest there
    nodes = swap._nodes(x, t, waiting, line, np.array([peak]), phases=False)[0][0]
    assert nodes * line.h[0] < period  # it is not among the nodes that are summed later
    found = float(swap.log_upper(x, t, waiting, line)[0])
    y = line.h[0] * np.arange(1, 40_000)
    log_modulus = 0.5 * np.log(
        ((t * np.exp(c[:, None] * x)) @ np.cos(np.outer(x[0], y)))[0] ** 2
        + ((t * np.exp(c[:, None] * x)) @ np.sin(np.outer(x[0], y)))[0] ** 2
    )
    size = np.exp(waiting.log_sum(log_modulus) - peak - 0.5 * (line.s[0] * y) ** 2) / (c[0] ** 2 + y * y)
    whole = 2.0 * size.sum() + 1.0 / c[0] ** 2
    expected = peak + np.log(line.h[0] / (2.0 * np.pi) * whole) + 0.5 * (line.s[0] * c[0]) ** 2
    assert found == pytest.approx(expected, abs=1e-6)
    assert found >= expected - 1e-9
