"""The charges of counts, mixtures and compositions: what is charged is sound, and the same without the charge is not.

Where a charge is a bound on something left out (log_tail_bound, outside_window, poisson_by_coins, bucket_masses) its
test, here or in test_charges.py, shows that this is not 0.  _on_grid of product.py has no uncharged form: its test in
test_product.py shows that both sides move strictly.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy import special, stats

from reference.fractions_oracle import round_enclosure
from shuffledp.numerics.binary import lines
from shuffledp.numerics.binomial import binomial
from shuffledp.numerics.composition.conversions import _log_weights
from shuffledp.numerics.composition.fixed_pair import PairLosses, rounded_down
from shuffledp.numerics.composition.loss_grid import Sum
from shuffledp.numerics.composition.profile_curve import Curve, Masses, losses, on_grid
from shuffledp.numerics.counts import cumulative_error, delta_left
from shuffledp.numerics.mixture import sum_of_pieces
from shuffledp.numerics.poisson.losses import above, below
from shuffledp.numerics.poisson.one_count import rounded_mean


@pytest.mark.heavy
def test_cumulative_error() -> None:
    """scipy's distribution function is wrong in either direction, by less than what is charged."""
    off = []
    with mp.workdps(40):
        for size, chance in itertools.product((200, 1000, 5000), (0.01, 0.3, 0.45)):
            odds = mp.mpf(chance) / (1 - mp.mpf(chance))
            term = exact = (1 - mp.mpf(chance)) ** size
            for k in range(1, int(size * chance) + 1):
                term *= odds * (size - k + 1) / k
                exact += term
                value = np.array([special.betaincc(k + 1.0, size - k, chance)])
                low, high = (float(cumulative_error(value, 0.0, up=up)[0]) for up in (False, True))
                assert low <= exact < high  # also where the value underflows to 0
                off.append(mp.mpf(float(value[0])) - exact)
    assert min(off) < 0.0 < max(off)
    window = np.array([0.7])  # what a window finds of a law if it leaves out 0.1
    assert cumulative_error(window, 0.1, up=True)[0] >= 0.8 > 0.7 >= cumulative_error(window, 0.1, up=False)[0]


def test_rounded_mean() -> None:
    rng = np.random.default_rng(2)
    pairs = [(int(n), float(m)) for n, m in zip(rng.integers(1, 10**9, 300), rng.random(300), strict=True)]
    exact = [n * Fraction(m) for n, m in pairs]
    for (n, m), mu in zip(pairs, exact, strict=True):
        assert Fraction(rounded_mean(n, m, "upper", most=1e15)) <= mu <= Fraction(rounded_mean(n, m, "lower", most=0.0))
    plain = [Fraction(n * m) - mu for (n, m), mu in zip(pairs, exact, strict=True)]
    assert min(plain) < 0 < max(plain)


def test_sum_of_pieces() -> None:
    """A sum of 999 pieces in doubles is too small for some, too large for others; one that was skipped is missing."""
    off = []
    for seed in range(8):
        values = np.log(np.random.default_rng(seed).random(999))
        with mp.workdps(30):
            exact = mp.log(mp.fsum(mp.exp(mp.mpf(float(v))) for v in values))
        plain = np.array([np.log(np.exp(values).sum())])
        none, some = np.full(1, -np.inf), np.full(1, math.log(0.5))
        low, high = (float(sum_of_pieces(plain, none, side)[0]) for side in ("lower", "upper"))
        assert low < exact < high
        assert sum_of_pieces(plain, some, "upper")[0] >= mp.log(mp.exp(exact) + 0.5) > plain[0]
        off.append(float(mp.mpf(float(plain[0])) - exact))
    assert min(off) < 0.0 < max(off)


def test_delta_left() -> None:
    """Against E_M[delta(M + 1)] for M ~ Bin(9, 1/2): delta(k + 1) alone is below it for some k, above it for others."""
    coin = ([0.75, 0.25], [0.25, 0.75], [0.25, 0.25])
    law = [math.comb(9, m) / 512 for m in range(10)]
    each = [float(round_enclosure(*coin, m + 1, 0.25)[0]) for m in range(10)]
    truth = math.fsum(w * d for w, d in zip(law, each, strict=True))
    assert each[9] < truth < each[0]
    for k, value in enumerate(each):
        assert value + sum(law[:k]) >= truth
    rng = np.random.default_rng(5)
    short = 0
    for delta, share in (rng.random((300, 2)) * [1e-6, 1.0]).tolist():
        mass = delta * share
        assert Fraction(delta_left(delta, mass)) + Fraction(mass) < Fraction(delta)
        short += Fraction(delta - mass) + Fraction(mass) > Fraction(delta)
    assert short > 0


def test_lines() -> None:
    """Counts of binary randomized response: masses in doubles are wrong both ways, the two sides enclose D_E."""
    k, m, eps0 = 30, 41, 1.0
    with mp.workdps(40):
        a = 1 / (1 + mp.exp(-1))
        b = 1 - a
        ones, zeros = (
            [mp.binomial(n, i) * p**i * (1 - p) ** (n - i) for i in range(n + 1)] for n, p in ((k, a), (m, b))
        )
        g = [mp.fsum(ones[i] * zeros[s - i] for i in range(max(0, s - m), min(k, s) + 1)) for s in range(k + m + 1)]
        plain = np.convolve(binomial(k, math.exp(-eps0)).mass[::-1], binomial(m, math.exp(-eps0)).mass)
        off = [mp.mpf(float(x)) - y for x, y in zip(plain, g, strict=True)]
        assert min(off) < 0 < max(off)
        for eps in (0.0, 0.05, 0.2, 0.5):
            e = mp.exp(mp.mpf(eps))
            pairs = zip([*g, mp.mpf(0)], [mp.mpf(0), *g], strict=True)
            exact = mp.fsum(max((a - e * b) * x - (e * a - b) * y, mp.mpf(0)) for x, y in pairs)
            low, high = (lines(eps0, k, m, side).delta(np.array([eps]))[0] for side in ("lower", "upper"))
            assert float(low) < exact < float(high)


def exact_profile(loss: np.ndarray, mass: np.ndarray, e: mp.mpf) -> mp.mpf:
    """sum p (1 - E e^-loss)_+ with many digits."""
    return mp.fsum(
        mp.mpf(float(p)) * max(1 - e * mp.exp(-mp.mpf(float(x))), mp.mpf(0)) for x, p in zip(loss, mass, strict=True)
    )


def test_on_grid() -> None:
    """A split is exact at the points of the grid, so that there only the roundings decide."""
    rng, step = np.random.default_rng(6), 2.0**-5
    short = 0
    with mp.workdps(40):
        for _ in range(10):
            loss, mass = rng.normal(0.0, 0.5, 12), rng.dirichlet(np.ones(12))
            found = on_grid(loss, mass, 0.0, step)
            half = (found.mass.size - 1) // 2
            grid = np.arange(-half, half + 1) * step
            index = np.floor(loss / step).astype(np.int64)
            share = np.expm1(index * step - loss) / math.expm1(-step)
            for at in grid[:: half // 3]:
                e = mp.exp(mp.mpf(float(at)))
                exact = exact_profile(loss, mass, e)
                assert exact_profile(grid, found.mass, e) >= exact
                split = np.concatenate([index, index + 1]) * step
                short += exact_profile(split, np.concatenate([mass * (1.0 - share), mass * share]), e) < exact
                nearest = np.rint(loss / step) * step
                assert at > loss.min() or exact_profile(nearest, mass, e) != exact
    assert short


@pytest.mark.heavy
def test_losses() -> None:
    """Changes of slope cancel: the pair that is made of them plainly is below the polygon at some of its corners."""
    eps = np.linspace(0.0, 3.0, 400)
    values = stats.norm.sf(3.0 * eps - 1.0 / 6.0) - np.exp(eps) * stats.norm.sf(3.0 * eps + 1.0 / 6.0)
    curve = Curve(eps, np.log(np.maximum(np.minimum.accumulate(values), 1e-30)))
    pair, x, u = losses(curve), np.expm1(eps), np.exp(curve.log_delta)
    plain = np.maximum(np.diff(np.append(np.diff(u) / np.diff(x), 0.0)), 0.0)

    def at(nodes: np.ndarray, mass: np.ndarray, last: float, j: int) -> mp.mpf:
        e = mp.exp(mp.mpf(float(eps[j])))
        terms = zip(nodes, mass, strict=True)
        return last + mp.fsum(mp.mpf(float(q)) * max(mp.exp(mp.mpf(float(y))) - e, mp.mpf(0)) for y, q in terms)

    short = 0
    with mp.workdps(30):
        for j in np.flatnonzero(np.isin(eps, pair.eps))[::29].tolist():
            assert at(pair.eps, pair.under_q, pair.infinite, j) >= mp.mpf(float(u[j]))
            short += at(eps[1:], plain, float(u[-1]), j) < mp.mpf(float(u[j]))
    assert short


def test_rounded_down() -> None:
    rng, step = np.random.default_rng(7), 0.05
    loss, mass = rng.normal(0.0, 0.4, 30), rng.dirichlet(np.ones(30))
    found = rounded_down(PairLosses(loss, mass), step)
    half = (found.mass.size - 1) // 2
    grid = np.arange(-half, half + 1) * step
    nearest = np.rint(loss / step) * step
    above_nearest = 0
    with mp.workdps(30):
        for eps in (-0.3, 0.0, 0.12, 0.3, 0.5):
            e = mp.exp(mp.mpf(eps))
            exact = exact_profile(loss, mass, e)
            assert exact_profile(grid, found.mass, e) < exact
            above_nearest += exact_profile(nearest, mass, e) > exact
    assert above_nearest


def test_a_poisson_count_from_above_and_below() -> None:
    """Wide blocks and a near tail cost something on either side; without the tail the upper curve is too low."""
    mu, step, ratios = 400.0, 0.002, np.exp(np.array([-0.1, 0.0, 0.02, 0.05, 0.1]))
    k = np.arange(0, 1200)
    p, q = np.append(0.0, stats.poisson.pmf(k[:-1], mu)), stats.poisson.pmf(k, mu)
    exact = np.array([np.maximum(p - e * q, 0.0).sum() for e in ratios])

    def curve(masses: Masses) -> np.ndarray:
        half = (masses.mass.size - 1) // 2
        gain = 1.0 - ratios[:, None] * np.exp(-np.arange(-half, half + 1) * step)
        return np.asarray(np.maximum(gain, 0.0) @ masses.mass)

    high = above(mu, raised=True, step=step, lowest=-4.0, width=0.5)
    low = below(mu, raised=True, step=step, lowest=-4.0, width=0.5)
    assert np.all(curve(high) + high.infinite > exact * (1 + 1e-6)) and np.all(curve(low) < exact * (1 - 1e-6))
    narrow = above(mu, raised=True, step=step, lowest=-1.0, width=0.05)
    assert np.any(curve(narrow) < exact) and np.all(curve(narrow) + narrow.infinite > exact)


def test_mass_error() -> None:
    """log Z of 60 rounds in doubles is wrong, by less than what is charged."""
    law = np.random.default_rng(4).dirichlet(np.ones(41))
    whole, off = Sum([Masses(law, 0.0)], [60], 0.05), []
    with mp.workdps(40):
        for theta in (0.3, 1.3, 4.0):
            z = mp.fsum(mp.mpf(float(m)) * mp.exp(mp.mpf(theta) * (k - 20) * mp.mpf(0.05)) for k, m in enumerate(law))
            window = whole.window(theta)
            off.append(abs(float(60 * mp.log(z) - mp.mpf(window.log_z))))
            assert off[-1] <= window.doubt
    assert max(off) > 0.0


def test_log_weights() -> None:
    """The integral of a power over a short cell, in doubles without the charge, is too small for some cells."""
    first = np.linspace(0.0, 1.0, 50)
    last = first + 1e-6
    short = 0
    with mp.workdps(60):
        for b in (2.5, -1.5):
            found = _log_weights(first, last, b)
            lo, hi = np.exp(first), np.exp(last)
            one, two = ((hi**p - lo**p) / p for p in (b - 1.0, b))
            plain = ((hi * one - two) / (hi - lo), (two - lo * one) / (hi - lo))
            for i in range(first.size):
                a, z = mp.exp(mp.mpf(float(first[i]))), mp.exp(mp.mpf(float(last[i])))
                p, q = ((z**c - a**c) / c for c in (mp.mpf(b) - 1, mp.mpf(b)))
                for value, rough, exact in zip(found, plain, (z * p - q, q - a * p), strict=True):
                    assert mp.mpf(float(value[i])) >= mp.log(exact / (z - a))
                    short += mp.mpf(float(rough[i])) < exact / (z - a)
    assert short
