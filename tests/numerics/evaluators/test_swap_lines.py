"""Lines of the swap sums: the saddle in floats is that in arrays, and laws that are never above 0 are harmless."""

from __future__ import annotations

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.numerics.evaluators import swap_lines


def laws(seed: int, rows: int, symbols: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    t = rng.dirichlet(np.ones(symbols), rows)
    x = rng.normal(0.0, 1.0, (rows, symbols))
    return x - (x * t).sum(axis=1, keepdims=True) - 0.01, t


@pytest.mark.parametrize("copies", [3.0, 100.0, 1e6])
def test_floats_and_arrays_agree(copies: float) -> None:
    x, t = laws(3, 8, 5)
    one, many = swap_lines.saddle(x, t, copies), swap_lines._saddles(x, t, copies)
    assert x.size <= swap_lines._FEW_VALUES
    for a, b in zip(one, many, strict=True):
        assert a == pytest.approx(b, rel=5e-3)


@pytest.mark.parametrize("saddle", [swap_lines.saddle, swap_lines._saddles])
def test_laws_never_above_zero_do_not_lead(saddle: object) -> None:
    x = np.array([[-1.0, -0.25], [-1.0, 0.0], [0.0, 0.0], [1.0, -0.9]])
    t = np.array([[0.25, 0.5], [0.5, 0.5], [0.5, 0.25], [0.5, 0.5]])
    c, height, _ = saddle(x, t, 50.0)  # type: ignore[operator]
    assert np.all(height[:3] == -np.inf) and np.all(c[:3] >= 1e19) and int(height.argmax()) == 3


def test_one_dither_for_each_row() -> None:
    c, bend = np.array([1.0, 2.0]), np.array([4.0, 9.0])
    line = swap_lines.line_at(c, bend, np.array([0.01, 0.2]))
    assert line.s == pytest.approx([0.02, 0.6]) and line.at(np.array([1])).s == pytest.approx([0.6])


def test_every_saddle_is_a_minimum() -> None:
    """Also where Newton's method alone goes back and forth: rare symbols with large values, as of sets at small n."""
    rng = np.random.default_rng(11)
    for _ in range(300):
        rare = 10.0 ** rng.uniform(-6.0, -1.0, 4)
        t = np.array([[*rare, 1.0 - rare.sum()]])
        x = np.array([[*(rng.choice([-1.0, 1.0], 4) * 10.0 ** rng.uniform(0.0, 4.0, 4)), -rng.random()]])
        x[0, 0] = abs(x[0, 0])
        copies = 10.0 ** rng.uniform(1.0, 4.0)
        for found in (swap_lines.saddle(x, t, copies), swap_lines._saddles(x, t, copies)):
            c = float(found[0][0])
            others = c * np.geomspace(0.2, 5.0, 41)
            others = others[others * x.max() <= swap_lines._LARGEST_EXPONENT]
            height = copies * np.log1p((t * np.expm1(others[:, None] * x)).sum(axis=1)) - 2.0 * np.log(others)
            assert found[1][0] <= height.min() + 0.02


def test_one_law_where_newton_s_method_alternates() -> None:
    """Sampling RAPPOR at n = 1,000: the bound was the local delta at single eps, and auto then kept the blanket."""
    found = sdp.mechanism("sampling-rappor:eps0=8.248013948336625,d=16,s=3").law.swap()
    values = [found.log_delta(np.array([eps]), n=1000, tol=0.01, side="upper")[0] for eps in (6.36, 6.384301984482579)]
    assert values[1] < values[0] < -14.0
