"""The charges of the swap sum, each against the error that it is named after."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from shuffledp.numerics.line import nodes, tilt
from shuffledp.numerics.swap.curve import without_free_users
from shuffledp.numerics.swap.family import mean_modulus
from shuffledp.numerics.swap.groups import group_rounding
from shuffledp.numerics.swap.lines import raised_values
from shuffledp.numerics.swap.moments import log_growth, product_rounding, tilted_variance
from shuffledp.numerics.swap.sums import Line, log_modulus, log_top, phase_rounding, weighed
from shuffledp.numerics.swap.waiting import (
    _DEPTHS,
    Others,
    Waiting,
    all_waits,
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


def test_phase_rounding() -> None:
    """M with a relative error of 1e-9: A(M) moves by less than what is charged, and by more than a rounding."""
    m, beta, error = 300, 0.3, 1e-9
    made = Waiting.of(row(beta), Others.fixed(row(m + 1.0)), row(200.0), blocks=True)
    for angle in (0.0, 0.01, 0.3):
        at = np.array([-0.001 + 1j * angle])
        one = np.zeros(1, dtype=np.int64)
        (wave, less), (moved, _) = (made.sum(one, z, np.zeros(1)) for z in (at, at + error * np.exp(0.7j)))
        size = float(np.exp(made.log_sum(one, at.real)[0]))
        charged = phase_rounding(row(float(m)), row(error), less, row(0.0))[0] * size
        assert charged >= abs(moved[0] - wave[0])
        assert charged < 1e-3 * size
    assert abs(moved[0] - wave[0]) > 1e-16


@pytest.mark.parametrize(("beta", "most"), [(0.3, 7.0), (1e-9, 3e11), (0.999, 12.0)])
def test_rest_of_waiting(beta: float, most: float) -> None:
    with mp.workdps(40):
        exact = mp.mpf(most) * mp.log(1 - mp.mpf(beta))
        assert exact <= mp.mpf(float(rest_of_waiting(row(beta), row(most))[0])) <= exact * (1 - mp.mpf(2) ** -40)


@pytest.mark.parametrize(("beta", "m"), [(0.3, 40), (0.9, 60), (0.05, 200)])
def test_blocks_of_waits_and_all_waits(beta: float, m: int) -> None:
    edges = np.array([0, 1, 2, 5, 11, 23, 47, 95, 191, 400])
    first, last = (np.minimum(e, m).astype(float)[None, None] for e in (edges[:-1], edges[1:]))
    for log_r in (0.0, -0.01, 0.02, float(np.log1p(-beta))):
        with mp.workdps(40):
            exact = float(mp.log(exact_a(beta, m, mp.mpf(log_r))))
        law = row(beta)[None], np.log1p(-row(beta))[None], row(float(m))[None], np.array([[log_r]])
        found = float(blocks_of_waits(*law, first, last - 1.0)[0, 0])
        assert exact <= found <= exact + 2.0
        if m * beta > 12.0 and log_r > -0.1:  # those k that count are below m/4
            assert exact - 1e-9 <= float(all_waits(*law)[0, 0]) <= exact + 0.02


def test_chord_of_waits() -> None:
    """Between two places the chord is above; a value of the lower place alone would be below."""
    m, beta, deep = 50, 0.2, 0.5
    made = Waiting.of(row(beta), Others.fixed(row(m + 1.0)), row(500.0), blocks=True)
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
    worst = 0.0
    for messages in (1, 5, 40):
        factors = rng.random((200, messages + 3)) + 0.1
        for some in factors:
            exact = math.prod((Fraction(float(f)) for f in some), start=Fraction(1))
            off = abs(float(Fraction(float(np.prod(some))) / exact - 1))
            worst = max(worst, off)
            assert off <= group_rounding(messages)
    assert worst > 0.0


def test_raised_values() -> None:
    """Masses that lost digits: E(Y - a)_+ is at least what it has to be at every a again."""
    points, mass = np.array([[-1.0, -0.25, 0.5, 2.0]]), np.array([[0.4, 0.3, 0.2, 0.1]])
    at = np.linspace(-2.0, 2.5, 200)

    def excess(values: np.ndarray, weight: np.ndarray, a: np.ndarray) -> np.ndarray:
        return np.asarray((np.maximum(values[0] - a[:, None], 0.0) * weight[0]).sum(axis=1))

    lost = mass * (1.0 - 1e-4)
    least = excess(points, mass, points[0])[None]
    span = np.array([[3.0]])
    raised = raised_values(points, np.append(lost[:, :1] + 1e-4, lost[:, 1:], axis=1), least, span)
    assert np.all(excess(raised, np.append(lost[:, :1] + 1e-4, lost[:, 1:], axis=1), at) >= excess(points, mass, at))
    assert np.any(excess(points, lost, points[0]) < least[0])


@pytest.mark.parametrize("single", [True, False])
def test_product_rounding(single: bool) -> None:
    """A sum of positive products, in the precision of the matrix products."""
    rng = np.random.default_rng(3)
    worst = 0.0
    for symbols in (2, 30, 400):
        kind = np.float32 if single else np.float64
        a, b = rng.random((2, 40, symbols)).astype(kind)
        found = np.einsum("ij,ij->i", a * a, b)
        for i in range(40):
            exact = sum(
                (Fraction(float(x)) ** 2 * Fraction(float(y)) for x, y in zip(a[i], b[i], strict=True)), Fraction(0)
            )
            off = abs(float(Fraction(float(found[i])) / exact - 1))
            worst = max(worst, off)
            assert off <= product_rounding(symbols, single=single)[0]
    assert worst > 0.0 and product_rounding(3, single=single)[1] > 0.0


def test_log_growth() -> None:
    """log(1 + c (missed - gain) + c^2 G/2s), rounded up, where it cancels to nothing."""
    short = 0
    with mp.workdps(40):
        for c in np.linspace(1e-4, 2e-3, 60).tolist():
            g, gain, missed, share = 0.7, 3.5e-4, 1e-12, 0.9
            exact = mp.log1p(
                mp.mpf(c) * (mp.mpf(missed) - mp.mpf(gain)) + mp.mpf(c) ** 2 / (2 * mp.mpf(share)) * mp.mpf(g)
            )
            assert mp.mpf(float(log_growth(row(g), row(c), row(gain), row(missed), share)[0])) >= exact
            short += mp.mpf(math.log1p(c * (missed - gain) + 0.5 * c * c / share * g)) < exact
    assert short


def test_tilted_variance() -> None:
    """Below the variance of the tilted law, and not so without the swing."""
    square, mean = float(T[0] @ X[0] ** 2), float(T[0] @ X[0])
    for c in (0.1, 0.7, 2.0):
        at = tilt(X, T, row(c))
        low, flat = (float(tilted_variance(row(square), row(mean), row(w), at.log_m)[0]) for w in (1.3 * c, 0.0))
        assert 0.0 < low <= at.variance[0]
        assert flat > low
    assert float(tilted_variance(row(square), row(mean), row(0.0), row(0.0))[0]) > tilt(X, T, row(-2.0)).variance[0]
