"""One Poisson count on a grid: each side is dominated by, or dominates, the exact law at every ratio."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from shuffledp.numerics.composition.profile_curve import Masses
from shuffledp.numerics.poisson.losses import above, below

RATIOS = np.exp(np.array([-2.0, -0.5, -0.1, 0.0, 0.05, 0.2, 0.7, 1.5]))


def curve(masses: Masses, step: float, at: np.ndarray) -> np.ndarray:
    """D_E = sum over losses of (1 - E e^-loss)_+, and the infinite ones."""
    half = (masses.mass.size - 1) // 2
    loss = np.arange(-half, half + 1) * step
    return np.array([float(masses.mass @ np.maximum(1.0 - e * np.exp(-loss), 0.0)) + masses.infinite for e in at])


def exact(mu: float, *, raised: bool, at: np.ndarray) -> np.ndarray:
    """D_E of 1 + X and X, or of X and 1 + X, value by value."""
    k = np.arange(0, int(mu + 40.0 * math.sqrt(mu) + 60))
    plain = stats.poisson.pmf(k, mu)
    own = np.append(0.0, plain[:-1])
    p, q = (own, plain) if raised else (plain, own)
    return np.array([np.maximum(p - e * q, 0.0).sum() for e in at])


@pytest.mark.parametrize("mu", [1e-6, 0.05, 1.0, 7.3, 60.0, 2e3, 1e5])
@pytest.mark.parametrize("raised", [True, False])
@pytest.mark.parametrize("width", [0.004, 0.05])
def test_both_sides_enclose_the_exact_curve(raised: bool, mu: float, width: float) -> None:
    step = width / math.sqrt(max(mu, 1.0))
    at = np.concatenate([RATIOS, np.exp(np.log(RATIOS) * 4.0 / math.sqrt(max(mu, 1.0)))])
    true = exact(mu, raised=raised, at=at)
    terms = {"raised": raised, "step": step, "lowest": -60.0, "width": width}
    high, low = (curve(make(mu, **terms), step, at) for make in (above, below))
    assert np.all(high >= true * (1 - 1e-9) - 1e-13) and np.all(low <= true * (1 + 1e-9) + 1e-13)
    if width < 0.01:  # few values far apart lose most where they are merged
        assert high == pytest.approx(true, rel=0.02, abs=1e-5) and low == pytest.approx(true, rel=0.05, abs=0.01)


@pytest.mark.parametrize("raised", [True, False])
def test_a_cut_tail_is_charged(raised: bool) -> None:
    """Cut at e^-3 the upper curve rises by the tail, and the lower one falls."""
    step = 0.001
    terms = {"raised": raised, "step": step, "width": 0.02}
    wide, narrow = (curve(above(400.0, lowest=x, **terms), step, RATIOS) for x in (-60.0, -3.0))
    assert np.all(narrow >= wide - 1e-12) and narrow[-1] >= math.exp(-3.0)
    wide, narrow = (curve(below(400.0, lowest=x, **terms), step, RATIOS) for x in (-60.0, -3.0))
    assert np.all(narrow <= wide + 1e-12)
