"""Where the contour integrates: the saddle is a minimum, and what the comb skips is small."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shuffledp.numerics.evaluators.contour_nodes import comb, log_nothing, place, saddle
from shuffledp.numerics.pair import FloatArray, ShuffledPair

LAWS = {
    "grr": ([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.25]),
    "coin": ([0.75, 0.25], [0.25, 0.75], [0.25, 0.25]),
    "rare": ([0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.001, 0.001, 0.05]),
}
EPS = np.array([0.05, 0.3, 0.6])


def values(name: str) -> tuple[FloatArray, FloatArray]:
    """X = (P0 - E P1)/t by eps, and t."""
    P0, P1, t = (np.array(law) for law in LAWS[name])
    atoms = ShuffledPair(P0=P0, P1=P1, t=t).atoms
    return atoms.values(EPS), atoms.t


def log_mgf(l: FloatArray, t: FloatArray, z: complex) -> complex:
    return complex(np.log(1.0 + t @ np.expm1(z * l)))


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("n", [10, 10**4, 10**8])
def test_the_saddle_is_a_minimum(name: str, n: int) -> None:
    l, t = values(name)
    for row, c in zip(l, saddle(l, t, n), strict=True):
        height = [n * log_mgf(row, t, x).real - 2 * math.log(x) for x in (0.9 * c, c, 1.1 * c)]
        assert c > 0.0 and height[1] <= min(height[0], height[2])


def test_rows_do_not_depend_on_each_other() -> None:
    l, t = values("grr")
    many = np.repeat(l, 50, axis=0)
    together = saddle(many, t, 1000)
    for k, row in enumerate(l):
        assert together[50 * k] == pytest.approx(saddle(row[None, :], t, 1000)[0], rel=5e-3)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("n", [10, 1000])
def test_what_the_comb_skips_is_small(name: str, n: int) -> None:
    """Outside the nodes chosen, |M(c + iy)^n e^(-s^2 y^2 / 2)| is below exp(-cut) of its peak, up to the last node."""
    l, t = values(name)
    line = place(l, t, n, np.full(len(l), 1e-4))
    nodes, numbers = comb(line)
    assert np.all(nodes >= 1) and nodes.size == numbers.sum()
    for k, chosen in enumerate(np.split(nodes, np.cumsum(numbers)[:-1])):
        last = int(line.last[k])
        assert chosen.max(initial=0) <= last
        peak = n * log_mgf(l[k], t, line.c[k]).real
        for skipped in sorted(set(range(1, min(last, 3000) + 1)) - set(chosen.tolist()))[:200]:
            y = skipped * line.h[k]
            size = n * log_mgf(l[k], t, complex(line.c[k], y)).real - 0.5 * (line.s[k] * y) ** 2
            assert size - peak <= -line.cut[k] + 1e-6


def test_the_accuracy_asked_for_can_be_read_back() -> None:
    l, t = values("coin")
    line = place(l, t, 100, np.array([1e-2, 1e-4, 1e-6]))
    assert line.rtol == pytest.approx([1e-2, 1e-4, 1e-6])
    assert line.rows(np.array([2])).rtol == pytest.approx([1e-6])


def test_the_chance_that_nobody_sends_a_symbol() -> None:
    n = np.array([1.0, 10.0])
    assert log_nothing(np.array([0.25, 0.25]), n) == pytest.approx(n * math.log(0.5))
    assert np.all(log_nothing(np.array([0.5, 0.5]), n) == -np.inf)
