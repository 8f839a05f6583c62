"""The bounds that exclude types: never below the sum that they stand for, and close to it where it matters."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp.mechanisms.numeric.laplace import Laplace
from shuffledp.numerics.evaluators import swap, swap_screen
from shuffledp.numerics.pair import FloatArray

BOUNDS = (swap_screen._flat, swap_screen._near, swap_screen._sampled)


def random_laws(rng: np.random.Generator, rows: int, values: int, n: int) -> tuple[FloatArray, FloatArray]:
    """n copies of X are about four deviations below 0 in sum; on lattices too, and some with "nothing" left over."""
    t = rng.dirichlet(np.full(values, 0.5), size=rows) * rng.choice([1.0, 0.7], size=(rows, 1))
    x = rng.normal(size=(rows, values)) * rng.choice([0.1, 1.0, 5.0], size=(rows, 1))
    x[::3] = np.round(x[::3])
    x -= (t * x).sum(axis=1, keepdims=True) / t.sum(axis=1, keepdims=True)
    x -= 4.0 * np.sqrt((t * x * x).sum(axis=1, keepdims=True) / n)
    return x, t


@np.errstate(all="ignore")
@pytest.mark.parametrize("n", [20, 300, 10_000, 10**8])
@pytest.mark.parametrize("common", [0.2, 0.9, 1.0])
def test_never_below_the_sum(n: int, common: float) -> None:
    x, t = random_laws(np.random.default_rng(n), 40, 7, n)
    waiting = swap.Waiting.of(common, n, -15.0)
    c, _, bend = swap.saddle(x, t, max(n - 1.0 / common, 1.0))
    for scale, dither in ((1.0, 0.01), (0.7, 0.05), (1.3, 0.01)):
        line = swap.line_at(scale * c, bend, dither)
        exact = swap.log_upper(x, t, waiting, line)
        rows = swap_screen.Screen.of(x, t, line.c)
        for bound in BOUNDS:
            value = bound(rows, waiting, line)
            assert np.all((value >= exact - 1e-7) | np.isnan(value)), bound.__name__
            assert np.isnan(value).mean() < 0.3


def test_rows_above_are_left_and_few_others() -> None:
    rng = np.random.default_rng(5)
    n = 5000
    x, t = random_laws(rng, 200, 9, n)
    waiting = swap.Waiting.of(0.5, n, -15.0)
    c, _, bend = swap.saddle(x[:1], t[:1], n - 2.0)
    line = swap.line_at(np.repeat(c, 200), np.repeat(bend, 200), 0.01)
    exact = swap.log_upper(x, t, waiting, line)
    most = np.full(200, np.median(exact))
    for quick in (True, False):
        left = swap_screen.above(x, t, waiting, line, most, quick=quick)
        assert set(np.flatnonzero(exact > most + 1e-6)) <= set(left.tolist())
    assert left.size <= 120


@np.errstate(all="ignore")
def test_close_for_the_laws_of_laplace() -> None:
    """Samples of the modulus come within 0.02 of log U, so that a law 0.2% better in eps is excluded."""
    members = Laplace(eps0=1.0).law.swap().members(1)
    assert members is not None
    x, t, _ = members[0].laws.at(np.array([0.0313]), 10_000)
    x, t = x[0], np.array(t[0])
    c, _, bend = swap.saddle(x[:1], t[:1], 9998.0)
    line = swap.line_at(np.repeat(c, len(x)), np.repeat(bend, len(x)), 0.01)
    waiting = swap.Waiting.of(members[0].common_mass, 10_000, -14.0)
    value = swap_screen._sampled(swap_screen.Screen.of(x, t, line.c), waiting, line)
    exact = swap.log_upper(x, t, waiting, line)
    assert np.all((exact <= value) & (value <= exact + 0.02))
