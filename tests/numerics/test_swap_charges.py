"""The charges of the swap sum, each against the error that it is named after."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from shuffledp.numerics.line import nodes, tilt
from shuffledp.numerics.moments import log_growth, product_rounding, tilted_variance
from shuffledp.numerics.swap.curve import shifted, without_free_users
from shuffledp.numerics.swap.family import mean_modulus
from shuffledp.numerics.swap.groups import group_rounding
from shuffledp.numerics.swap.sums import Line, log_modulus, log_top, weighed
from shuffledp.numerics.swap.waiting import (
    _DEPTHS,
    Others,
    Waiting,
    blocks_of_waits,
    chord_of_waits,
    rest_of_waiting,
)

from .test_charges import T, X, exact_m


def exact_a(beta: float, m: int, log_r: object) -> object:
    """A(r), term by term, with many digits."""
    b, r = mp.mpf(beta), mp.exp(log_r)
    return mp.fsum(b * (1 - b) ** k * r ** (m - k) / (m - k) for k in range(m))


def row(value: float) -> np.ndarray:
    return np.array([value])


def test_log_top_and_log_modulus() -> None:
    """Rounded up at every abscissa and node, and not so without the charge."""
    plain, top_short = 0, 0
    with mp.workdps(40):
        for c in np.linspace(0.05, 3.0, 40).tolist():
            at = tilt(X, T, row(c))
            exact, top = mp.log(exact_m(mp.mpf(c))), log_top(at)
            assert mp.mpf(float(top[0])) >= exact
            top_short += mp.mpf(float(at.log_m[0])) < exact
        node = nodes(X, at, row(1e4), np.zeros(2, dtype=np.int64), np.array([1, 300]))
        for y, size, found in zip(*(a.ravel() for a in (node.y, node.log_size, log_modulus(node, top))), strict=True):
            value = mp.log(abs(exact_m(mp.mpc(c, float(y)))))
            assert mp.mpf(float(found)) >= value
            plain += mp.mpf(float(size)) + exact < value
    assert plain and top_short


def test_weighed() -> None:
    rng = np.random.default_rng(0)
    total, peak, h, s, c = rng.random((5, 200)) + 0.1
    found, short = weighed(total, -700.0 * peak, Line(c, h, s)), 0
    with mp.workdps(40):
        for i in range(200):
            a, p, step, dither, x = (mp.mpf(float(v[i])) for v in (total, -700.0 * peak, h, s, c))
            exact = mp.log(a * step / (2 * mp.pi)) + p + (dither * x) ** 2 / 2
            assert mp.mpf(float(found[i])) >= exact
            short += mp.mpf(float(found[i])) - 1e-11 < exact
    assert short  # without the charge some are below


@pytest.mark.parametrize(("beta", "most"), [(0.3, 7.0), (1e-9, 3e11), (0.999, 12.0)])
def test_rest_of_waiting(beta: float, most: float) -> None:
    with mp.workdps(40):
        exact = mp.mpf(most) * mp.log(1 - mp.mpf(beta))
        assert exact <= mp.mpf(float(rest_of_waiting(row(beta), row(most))[0])) <= exact * (1 - mp.mpf(2) ** -40)


@pytest.mark.parametrize(("beta", "m"), [(0.3, 40), (0.9, 60), (0.05, 200)])
def test_blocks_of_waits(beta: float, m: int) -> None:
    edges = np.array([0, 1, 2, 5, 11, 23, 47, 95, 191, 400])
    first, last = (np.minimum(e, m).astype(float)[None, None] for e in (edges[:-1], edges[1:]))
    for log_r in (0.0, -0.01, 0.02, float(np.log1p(-beta))):
        with mp.workdps(40):
            exact = float(mp.log(exact_a(beta, m, mp.mpf(log_r))))
        law = row(beta)[None], np.log1p(-row(beta))[None], row(float(m))[None], np.array([[log_r]])
        found = float(blocks_of_waits(*law, first, last - 1.0)[0, 0])
        assert exact <= found <= exact + 2.0


def test_chord_of_waits() -> None:
    """Between two places the chord is above; a value of the lower place alone would be below."""
    m, beta, deep = 50, 0.2, 0.5
    made = Waiting.of(row(beta), Others.fixed(row(m + 1.0)), row(500.0))
    zero = np.zeros(_DEPTHS.size, dtype=np.int64)
    table = made.log_sum(zero, -deep * _DEPTHS)[None]
    depth = np.linspace(0.0, 1.2, 300)
    exact = made.log_sum(np.zeros(300, dtype=np.int64), -deep * depth)
    found = chord_of_waits(table, np.zeros(300, dtype=np.int64), depth)
    assert np.all(found >= exact) and np.any(found > exact + 1e-6)


def test_without_free_users() -> None:
    """U, and all waits that are not summed, and too few others: each at local(E)."""
    value, rest, lost, local = -9.0, -8.5, 3e-4, -0.7
    exact = math.exp(value) + (math.exp(rest) + lost) * math.exp(local)
    assert math.exp(without_free_users(row(value), row(rest), row(lost), row(local))[0]) >= exact
    with np.errstate(invalid="ignore"):
        assert without_free_users(row(math.nan), row(rest), row(lost), row(local))[0] == math.inf


def test_mean_modulus() -> None:
    rng = np.random.default_rng(1)
    log_r, shares = -rng.random((50, 3, 8)) * 1e-3, rng.dirichlet(np.ones(3), 50)
    found, short = mean_modulus(log_r, shares), 0
    with mp.workdps(40):
        for i in range(50):
            for k in range(8):
                parts = [
                    mp.mpf(float(w)) * mp.expm1(mp.mpf(float(r)))
                    for w, r in zip(shares[i], log_r[i, :, k], strict=True)
                ]
                exact = mp.log1p(mp.fsum(parts))
                assert mp.mpf(float(found[i, k])) >= exact - mp.mpf(2) ** -70
                short += mp.mpf(float(np.log1p((shares[i] * np.expm1(log_r[i, :, k])).sum()))) < exact
    assert short  # without the charge some are below


def test_group_rounding() -> None:
    rng = np.random.default_rng(2)
    short = 0
    for messages in (1, 5, 40):
        factors = rng.random((200, messages + 3)) + 0.1
        for some in factors:
            exact = math.prod((Fraction(float(f)) for f in some), start=Fraction(1))
            found = Fraction(float(np.prod(some)))
            assert abs(found / exact - 1) <= Fraction(group_rounding(messages))
            short += found < exact
    assert short  # without the charge some are below


@pytest.mark.parametrize("single", [True, False])
def test_product_rounding(single: bool) -> None:
    """A sum of positive products, in the precision of the matrix products: above and, uncharged, below the truth."""
    rng = np.random.default_rng(3)
    short = 0
    for symbols in (2, 30, 400):
        kind = np.float32 if single else np.float64
        a, b = rng.random((2, 40, symbols)).astype(kind)
        found = np.einsum("ij,ij->i", a * a, b)
        for i in range(40):
            exact = sum(
                (Fraction(float(x)) ** 2 * Fraction(float(y)) for x, y in zip(a[i], b[i], strict=True)), Fraction(0)
            )
            room, floor = (Fraction(part) for part in product_rounding(symbols, single=single))
            value = Fraction(float(found[i]))
            assert value * (1 + room) + floor >= exact >= value * (1 - room) - floor
            short += value < exact
    assert short


def raw(c: float) -> list[Any]:
    """c^k E X^k, k = 1, ..., 4, as fractions of floats."""
    terms = [(mp.mpf(float(x)), mp.mpf(float(t))) for x, t in zip(X[0], T[0], strict=True)]
    return [mp.fsum(t * (mp.mpf(c) * x) ** k for x, t in terms) for k in (1, 2, 3, 4)]


def test_log_growth() -> None:
    """log M(c) from four moments, rounded up: below it with 1/24 in place of the remainder, and without rounding."""
    short, rounded = 0, 0
    with mp.workdps(40):
        for c in (1e-3, 0.1, 0.7, 2.0):
            exact, moments = mp.log(exact_m(mp.mpf(c))), [float(e) for e in raw(c)]
            found = log_growth(row(c * X.max()), *map(row, moments))[0]
            assert mp.mpf(float(found)) >= exact
            short += mp.log1p(moments[0] + moments[1] / 2 + moments[2] / 6 + moments[3] / 24) < exact
        for e2 in np.linspace(1e-4, 2e-3, 60).tolist():
            exact = mp.log1p(mp.mpf(e2) / 2 - mp.mpf(4e-4))
            assert mp.mpf(float(log_growth(row(0.0), row(-4e-4), row(e2), row(0.0), row(0.0))[0])) >= exact
            rounded += mp.mpf(math.log1p(-4e-4 + 0.5 * e2)) < exact
    assert short and rounded


def test_tilted_variance() -> None:
    """Below the variance of the tilted law, also if moments are off; the variance of X itself is above it."""
    above = 0
    for c in (-2.0, -0.5, 0.1, 0.5):
        at = tilt(X, T, row(c))
        with mp.workdps(40):
            e1, e2, e3 = (float(e) for e in raw(c)[:3])
        for error in (0.0, 1e-3):
            moments = (row(e + error) for e in (e1, e2, e3))
            assert tilted_variance(*moments, at.log_m, row(error))[0] <= c * c * at.variance[0] * (1.0 + 1e-8)
        above += e2 - e1 * e1 > c * c * at.variance[0] * 1.01
    assert above and tilted_variance(row(-0.001), row(0.002), row(0.0), row(0.0), row(0.0))[0] > 0.0019


def test_below_the_shift_of_eps_the_rest_is_added() -> None:
    value, slack = np.log([0.1, 0.1, 0.1]), np.array([0.0, 0.02, 0.02])
    found = np.exp(shifted(value, slack, slack - np.array([0.0, 0.03, 0.005])))
    assert found.tolist() == pytest.approx([0.1, 0.1 * math.exp(0.02), 0.115 * math.exp(0.02)])
