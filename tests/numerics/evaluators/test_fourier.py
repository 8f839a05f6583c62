"""Sums of exponentials by fast transforms: within their error bound, and the same brackets as by sines."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from shuffledp.numerics.evaluators import contour, fourier


def directly(k: np.ndarray, h: float, l: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The sum in extended precision."""
    angle = k.astype(np.longdouble)[:, None] * np.longdouble(h) * l.astype(np.longdouble)
    weight = w.astype(np.longdouble)
    return ((np.cos(angle) - 1) @ weight) + 1j * (np.sin(angle) @ weight)


@pytest.mark.parametrize("seed", range(6))
def test_within_the_error_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    l = rng.normal(size=60) * 10.0 ** rng.integers(-3, 3, size=60)
    w, v = rng.dirichlet(np.ones(60)), rng.random(60)
    k = np.unique(rng.integers(1, 900, size=300))
    h = float(rng.choice([1e-4, 0.01, 0.7]))
    found = fourier.sums(k, h, l, [w, w * v])
    assert found is not None
    values, error = found
    phases = 4e-16 * k * h * float(w @ np.abs(l))  # the rounding of k h l itself
    assert np.all(np.abs(values[0] - directly(k, h, l, w)) <= error + phases)
    assert np.all(np.abs(values[1] - directly(k, h, l, w * v)) <= error + phases)
    assert error < 1e-12


def test_what_is_near_zero_does_not_blur_the_rest() -> None:
    k = np.arange(1, 200)
    found = fourier.sums(k, 0.01, np.array([1e-9, -3e-9, 40.0]), [np.array([0.5, 0.5, 1e-9])])
    assert found is not None and found[1] < 1e-20


def test_values_beyond_any_grid_are_left_to_the_sines() -> None:
    assert fourier.sums(np.arange(1, 100), 1.0, np.array([1.0, 1e20]), [np.ones(2)]) is None


def positive_part(steps: list[int], mass: int, n: int) -> Fraction:
    """E[(S)_+]/n for S the sum of n draws of an integer from ``steps``, each of probability 1/mass, else 0."""
    low = min(0, *steps)
    once = [0] * (max(steps) - low + 1)
    for step in steps:
        once[step - low] += 1
    once[-low] += mass - len(steps)
    law = [1]
    for _ in range(n):
        new = [0] * (len(law) + len(once) - 1)
        for i, a in enumerate(law):
            for j, b in enumerate(once):
                if a and b:
                    new[i + j] += a * b
        law = new
    return sum((Fraction(max(i + n * low, 0) * p, mass**n) for i, p in enumerate(law)), Fraction(0)) / n


@pytest.mark.parametrize("n", [16, 30])
def test_brackets_of_many_atoms_hold_the_exact_value(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [7 * j % 41 - 29 for j in range(32)]
    l, t = np.array([steps], dtype=float), np.full(32, 1 / 64)
    truth = math.log(positive_part(steps, 64, n))
    calls = []
    monkeypatch.setattr(fourier, "pays", lambda nodes, last, atoms: calls.append(nodes) is None)
    fast = contour.log_bracket(l, l, t, n, np.array([1e-6]))
    assert calls and fast.lower[0] <= truth <= fast.upper[0] <= truth + 1e-4
    monkeypatch.setattr(contour, "_MANY_ATOMS", 10**9)
    slow = contour.log_bracket(l, l, t, n, np.array([1e-6]))
    assert abs(fast.upper[0] - slow.upper[0]) < 1e-9 and abs(fast.lower[0] - slow.lower[0]) < 1e-9
    assert math.isclose(fast.slope[0], slow.slope[0], rel_tol=1e-6)
