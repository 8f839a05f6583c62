"""Sums at equally spaced nodes by matrix products are those of single exponentials, within the rounding charged."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp.numerics.evaluators import swap, swap_nodes


@pytest.mark.parametrize("nodes", [2, 3, 48, 101, 1000])
def test_the_same_sums(nodes: int) -> None:
    rng = np.random.default_rng(nodes)
    x, t = rng.normal(size=(4, 17)), rng.dirichlet(np.ones(17), size=4)
    c, h = rng.random(4), 0.001 + 0.1 * rng.random(4)
    y = h[:, None] * np.arange(nodes)
    turn = y[:, :, None] * x[:, None, :]
    grown = np.exp(c[:, None] * x)[:, None, :]
    # e^(a+ib) - 1 = expm1(a) - 2 e^a sin^2(b/2) + i e^a sin(b)
    real = np.expm1(c[:, None] * x)[:, None, :] - 2.0 * grown * np.sin(0.5 * turn) ** 2
    want = (t[:, None, :] * (real + 1j * grown * np.sin(turn))).sum(axis=2)
    found = swap_nodes.growth(x, t, c, h, nodes)
    room = (t * np.abs(x) * np.maximum(np.exp(c[:, None] * x), 1.0)).sum(axis=1)[:, None] * (c[:, None] + y)
    assert found.shape == want.shape
    assert np.all(np.abs(found - want) <= swap.ULP * (1.0 + 17 / 16.0) * room + 1e-300)


def test_tiny_angles_do_not_cancel() -> None:
    x, t = np.array([[1e-9, -2e-9]]), np.array([[0.5, 0.5]])
    found = swap_nodes.growth(x, t, np.array([1e-3]), np.array([1e-4]), 60)
    k = np.arange(60)
    assert found.imag[0] == pytest.approx(1e-4 * k * -0.5e-9, rel=1e-11, abs=1e-300)


def test_both_ways_give_the_same_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    t = rng.dirichlet(np.full(20, 3.0), size=5)
    x = rng.normal(size=(5, 20)) - 0.1
    waiting = swap.Waiting.of(0.4, 300, -20.0)
    c, _, bend = swap.saddle(x, t, 295.0)
    line = swap.line_at(c, bend, 0.01)
    products = swap.log_upper(x, t, waiting, line)
    monkeypatch.setattr(swap_nodes, "pays", lambda rows, nodes, values: False)
    assert products == pytest.approx(swap.log_upper(x, t, waiting, line), abs=1e-9)
