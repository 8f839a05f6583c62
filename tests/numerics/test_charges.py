"""Every charge of the soundness ledger against the error it is named after; test_swap_charges.py has the swap sum's,
test_count_charges.py those of counts and compositions.

Each test places something badly, so that the error is there and the test fails without the charge.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy import stats
from scipy.special import erfcx

from reference.fractions_oracle import round_enclosure
from shuffledp.numerics import contour, direct, product
from shuffledp.numerics.binomial import binomial, outside_window, poisson
from shuffledp.numerics.composition.conversions import _log_weights
from shuffledp.numerics.composition.fixed_pair import polygon_below
from shuffledp.numerics.composition.loss_grid import Sum
from shuffledp.numerics.composition.profile_curve import Masses, chord
from shuffledp.numerics.counts import bucket_masses
from shuffledp.numerics.curve import PairCurve
from shuffledp.numerics.line import block_bounds, nodes, tilt
from shuffledp.numerics.mixture import poisson_by_coins
from shuffledp.numerics.pair import ShuffledPair
from shuffledp.numerics.rows import Laws, expose_rare
from shuffledp.numerics.screen import law_tail, log_tail, remainder
from shuffledp.numerics.symmetry import same_law

COIN = ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])
#: A law of X with a rest of mass 0.1 at 0.
X, T = np.array([[-1.3, -0.2, 0.4, 1.7]]), np.array([[0.3, 0.25, 0.2, 0.15]])


def exact_m(z: Any, x: np.ndarray = X[0], t: np.ndarray = T[0]) -> Any:
    """M(z) = E exp(zX) with many digits."""
    return 1 + mp.fsum(mp.mpf(float(w)) * mp.expm1(z * mp.mpf(float(a))) for a, w in zip(x, t, strict=True))


def sum_at(c: float, s: float, h: float, last: int, n: int) -> contour.Sum:
    at = tilt(X, T, np.array([c]))
    one = (np.array([v]) for v in (float(n), s, h, float(last), 40.0))
    users, dither, step, end, cut = one
    return contour.Sum(X, T, users, at, dither, step, end, cut)


def moduli(whole: contour.Sum, y: np.ndarray) -> np.ndarray:
    """|M(c+iy)/M(c)|."""
    z = whole.at.c[0] + 1j * y
    m = 1.0 - T.sum() + (T[0] * np.exp(z[:, None] * X[0])).sum(axis=1)
    return np.asarray(np.abs(m) / np.exp(whole.at.log_m[0]))


def test_expose_rare() -> None:
    pair = ShuffledPair(P0=[0.5, 0.5, 0.0], P1=[0.25, 0.25, 0.5], t=[2.0**-60, 0.25, 0.25])
    n = np.array([3.0])
    plain = Laws.of([pair], n, "lower")
    made = expose_rare(plain)
    assert np.count_nonzero(made.t) < np.count_nonzero(plain.t)
    assert float((made.t * made.gap).sum() + made.bare.sum()) == pytest.approx(0.25 + 0.25 - 0.5, abs=1e-12)
    found = PairCurve.of([pair], n, "upper").at(np.array([0.3]), np.full(1, 1e-6)).log_delta[0]
    assert math.exp(found) >= float(round_enclosure(pair.P0, pair.P1, pair.t, 3, 0.3)[0])


def test_block_bounds() -> None:
    whole, number = sum_at(0.4, 0.0, 0.05, 0, 10), np.arange(40)
    start, bound = block_bounds(X, whole.at, whole.h, np.zeros(40, dtype=np.int64), number)
    wide = start[1] - start[0]
    inside = np.array([moduli(whole, np.linspace(a, a + wide, 200)).max() for a in start])
    assert np.all(bound >= inside - 1e-13)
    assert np.any(inside > moduli(whole, start + 0.5 * wide) + 1e-3)  # the middle alone would not do


def test_node_rounding_and_sum_rounding() -> None:
    """Far out a phase has lost six digits (node_rounding); M^n loses n times as much (sum_rounding)."""
    whole, n = sum_at(0.4, 0.0, 1e5, 0, 1000), 1000
    node = nodes(X, whole.at, whole.h, np.zeros(3, dtype=np.int64), np.array([1, 40, 4000]))
    errors = []
    with mp.workdps(40):
        top = exact_m(mp.mpf(0.4))
        for y, size, doubt in zip(node.y.ravel(), node.log_size.ravel(), node.doubt.ravel(), strict=True):
            exact = mp.log(abs(exact_m(mp.mpc(0.4, y)) / top))
            errors.append(abs(float(exact - size)))
            assert errors[-1] <= doubt
            power, value = mp.exp(n * exact), np.exp(n * size)
            assert abs(float(power) - value) <= contour.sum_rounding(np.array([max(value, float(power))]), n * doubt)[0]
    assert max(errors) > 1e-13


def test_peak_rounding() -> None:
    off = []
    with mp.workdps(40):
        for c in (0.011, 0.3, 2.7):
            whole = sum_at(c, 0.7, 0.1, 0, 10**9)
            exact = 10**9 * mp.log(exact_m(mp.mpf(c))) + (mp.mpf(0.7) * mp.mpf(c)) ** 2 / 2 - 2 * mp.log(mp.mpf(c))
            off.append(abs(float(exact - mp.mpf(float(whole.log_peak[0])))))
            assert off[-1] <= contour.peak_rounding(whole)[0]
    assert max(off) > 1e-9


def test_chernoff() -> None:
    off = []
    with mp.workdps(40):
        for c in (0.011, 0.3, 2.7, 30.0):
            whole = sum_at(c, 0.7, 0.1, 0, 10**9)
            power = 10**9 * mp.log(exact_m(mp.mpf(c)))
            assert 0.0 <= mp.mpf(float(contour.log_power(whole, np.array([c]))[0])) - power <= 1e-3
            exact = power - mp.log(c) - 1 - mp.log(10**9)
            plain = 1e9 * whole.at.log_m[0] - math.log(c) - 1.0 - math.log(1e9)
            off.append(float(exact - mp.mpf(float(plain))))
            assert 0.0 <= mp.mpf(float(contour.chernoff(whole)[0])) - exact <= 1e-3
    assert max(off) > 1e-9  # uncharged, it may be below


def test_next_to_the_limit_delta_falls_to_nothing() -> None:
    """There the roundings of a sum over nodes are worth more than delta, and Chernoff's bound is what is left."""
    pair = ShuffledPair(P0=[0.04, 0.002, 0.958], P1=[0.002, 0.04, 0.958], t=[0.0014, 0.0014, 0.0317])
    curve = PairCurve.of([pair] * 4, np.full(4, 2000.0), "upper")
    eps = math.log(20.0) * (1.0 - np.array([1e-8, 1e-12, 1e-14, 1e-15]))
    value = curve.at(eps, np.full(4, 1e-3)).log_delta
    assert np.all(value < -80.0) and np.all(np.diff(value) < 0.0)


@pytest.mark.parametrize(("n", "last", "s"), [(20, 3, 0.3), (200, 1, 0.05), (5, 0, 1.0)])
def test_unevaluated_nodes(n: int, last: int, s: float) -> None:
    whole = sum_at(0.4, s, 0.1, last, n)
    y = 0.1 * np.arange(last + 1, 40_000)
    term = moduli(whole, y) ** n * np.exp(-0.5 * (s * y) ** 2)
    found = contour.unevaluated_nodes(whole, np.zeros(1))
    near, far = 0.1 * (term * 0.16 / (0.16 + y * y)).sum() / np.pi, 0.1 * term.sum()
    assert found[0][0] >= near > 1e-4 and found[1][0] >= far > 1e-4


def law_of_sum(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The values of S = X_1 + ... + X_n and their probabilities, one by one."""
    values, mass = np.zeros(1), np.ones(1)
    one, chance = np.append(X[0], 0.0), np.append(T[0], 1.0 - T.sum())
    for _ in range(n):
        values, mass = (values[:, None] + one).ravel(), (mass[:, None] * chance).ravel()
    return values, mass


def dithered(x: np.ndarray, s: float) -> np.ndarray:
    """E(x + sZ)_+."""
    return np.asarray(x * stats.norm.cdf(x / s) + s * stats.norm.pdf(x / s))


@pytest.mark.heavy
def test_dither_price_and_aliases() -> None:
    n, s, c, h = 5, 0.8, 0.6, 1.5
    whole, (values, mass) = sum_at(c, s, h, 0, n), law_of_sum(5)
    peak = math.exp(whole.log_peak[0])
    y = 0.02 * np.arange(-600, 601)
    wave = (mass * np.exp((c + 1j * y[:, None]) * values)).sum(axis=1) * np.exp(0.5 * s * s * (c + 1j * y) ** 2)
    moment = 0.5 * 0.02 * wave.real.sum() / (peak * c * c)
    gap = float(mass @ (dithered(values, s) - np.maximum(values, 0.0)))
    assert contour.dither_price(whole, np.array([moment]))[0] * peak >= gap > 0.01
    at = 2.0 * np.pi / h * np.array([k for k in range(-9, 10) if k])
    exact = sum(math.exp(c * a) * float(mass @ dithered(values - a, s)) for a in at)
    upper = float(mass @ dithered(values, s)) / peak
    assert contour.aliases(whole, np.array([upper]))[0] * peak >= exact > 0.01


def test_table_rounding() -> None:
    off = 0.0
    for n in (3, 7, 12):
        laws = Laws.of([COIN], np.array([float(n)]), "lower")
        table = direct.build(laws.gap[0], laws.v[0], laws.t[0], float(n), 10**5)
        assert table is not None
        for eps in (0.0, 0.125, 0.5):
            growth = math.expm1(eps)
            place = int(np.searchsorted(-table.kinks, -growth, side="left"))
            value = float(table.gap[place] - growth * table.v[place])
            low, high = (float(end) for end in round_enclosure(COIN.P0, COIN.P1, COIN.t, n, eps))
            size = float(table.size[place]) + growth * float(table.v[place])
            room = direct.table_rounding(table, value, size)
            assert low - room <= value <= high + room
            off = max(off, low - value, value - high)
    assert off > 0.0


def test_count_windows_and_outside_window() -> None:
    n, masses = 4000, [0.2, 0.01]
    low, high, lost = direct.count_windows(n, masses)
    law = [stats.binom(n - 1, mass) for mass in masses]
    rest = sum(one.sf(b - 1) + one.cdf(a - 2) for one, a, b in zip(law, low, high, strict=True))
    assert low[0] > 0 and lost >= rest > 1e-70
    window = binomial(n, 0.25)
    end = window.start + window.mass.size
    outside = stats.binom(n, 0.2).sf(end - 1) + stats.binom(n, 0.2).cdf(window.start - 1)
    assert window.left_out == outside_window(2) >= outside > 1e-70
    for mean in (0.5, 30.0, 1e4):
        law_, found = stats.poisson(mean), poisson(mean)
        beyond = law_.sf(found.start + found.mass.size - 1) + law_.cdf(found.start - 1)
        assert found.left_out >= beyond > 0.0


def test_chord() -> None:
    """A straight line in E is its own chord: rounding must not put it below."""
    at = np.linspace(0.0, 1.0, 400)
    with mp.workdps(40):
        exact = [mp.log(mp.mpf(3) - mp.exp(mp.mpf(float(e)))) for e in at]
        out = np.array([float(mp.nstr(value, 17)) for value in exact])
        out[[0, -1]] = np.nextafter(out[[0, -1]], np.inf)
        k = np.arange(1, 399)
        found = chord(at, out, np.zeros(398, dtype=np.int64), np.full(398, 399), k)
        above = [mp.mpf(float(value)) - exact[i] for value, i in zip(found, k.tolist(), strict=True)]
    assert min(above) >= 0 and max(above) < 1e-12


@pytest.mark.parametrize("side", ["upper", "lower"])
def test_bucket_masses(side: Any) -> None:
    """A law rounded to five edges is stochastically smaller, or larger, and not the same."""
    law, at, k = stats.binom(30, 0.4), np.array([0, 7, 11, 14, 30]), np.arange(31)
    mass = bucket_masses(law.cdf, at, side)
    total = np.array([mass[at <= j].sum() for j in k])
    sign = 1.0 if side == "upper" else -1.0
    assert mass.sum() == pytest.approx(1.0) and np.all(sign * (total - law.cdf(k)) >= -1e-12)
    assert np.any(sign * (total - law.cdf(k)) > 0.01)


def test_poisson_by_coins() -> None:
    mean = 2e5
    with mp.workdps(40):
        upper, lower = (poisson_by_coins(COIN, mean, side) for side in ("upper", "lower"))
        coins = upper.draws - 1
        x = mp.mpf(mean) / coins
        none = (mp.log1p(x) - x) * coins
        assert mp.log(mp.mpf(lower.mass)) <= none < -1e-5
        assert 4 * float(np.asarray(upper.pair.t)[0]) <= -mp.expm1(-x) * (1 + 1e-15) < x * (1 - 1e-10)
        assert 4 * float(np.asarray(lower.pair.t)[0]) >= x / (1 + x)


def test_rounding_slack() -> None:
    """The product of six laws in doubles, against fractions, by the divergence of a single message."""
    rng = np.random.default_rng(3)
    short = 0
    for _ in range(20):
        pairs = []
        for _ in range(4):
            p0, p1 = rng.dirichlet(np.ones(3), 2)
            pairs.append(ShuffledPair(P0=p0, P1=p1, t=np.minimum(p0, p1)))
        laws = [[Fraction(1)], [Fraction(1)]]
        for pair in pairs:
            for i, law in enumerate((pair.P0, pair.P1)):
                laws[i] = [a * Fraction(float(b)) for a in laws[i] for b in np.asarray(law)]
        made = product.product_pair(pairs)
        found = [[Fraction(float(v)) for v in np.asarray(law)] for law in (made.P0, made.P1)]
        ratio, a = Fraction(5, 4), Fraction(product.rounding_slack(4))

        def local(p: list[Fraction], q: list[Fraction], e: Fraction) -> Fraction:
            return sum((max(x - e * y, Fraction(0)) for x, y in zip(p, q, strict=True)), Fraction(0))

        exact = local(laws[0], laws[1], ratio)
        assert local(*found, ratio * (1 - a) / (1 + a)) * (1 + a) >= exact
        short += local(*found, ratio) < exact
    assert short  # without the slack it is below the truth


def test_remainder() -> None:
    """The series, rounded up; without what is beyond the fourth moment, 1/24, it is below."""
    y = np.array([0.0, 1e-9, 0.1, 0.999, 1.0, 3.0, 20.0])
    series = [math.fsum(v**k / math.factorial(k + 4) for k in range(150)) for v in y.tolist()]
    assert np.all(remainder(y) >= series)
    assert remainder(y) == pytest.approx(series, rel=1e-11)
    assert np.all(np.array(series)[2:] > 1.0 / 24.0) and np.isinf(remainder(np.array([26.0])))


@pytest.mark.parametrize(("p", "n", "c"), [(0.5, 1, 2.0), (0.02, 3000, 0.75), (0.3, 400, 0.3), (0.5, 30, 0.8)])
@np.errstate(all="ignore")
def test_log_tail(p: float, n: int, c: float) -> None:
    """Above E(S)_+/M(c)^n; the Gaussian of the same variance alone, without fourth moment and dither, may be below."""
    x, t, k = np.array([[-p - 0.02, 1.0 - p - 0.02]]), np.array([[1.0 - p, p]]), np.arange(n + 1)
    at, copies = tilt(x, t, np.array([c])), np.array([float(n)])
    values = x[0, 0] * (n - k) + x[0, 1] * k
    exact = math.log(stats.binom(n, p).pmf(k) @ np.maximum(values, 0.0)) - n * float(at.log_m[0])
    variance = n * at.variance
    rough = log_tail(variance, at.width**2 / variance, at.c)[0]
    assert exact <= law_tail(x, t, at, copies)[0] <= rough + 1e-7 and rough <= exact + 2.0
    gaussian = math.log(0.5 * erfcx(c * math.sqrt(0.5 * variance[0])) / c)
    assert (gaussian < exact) == (n == 1)


@pytest.mark.parametrize(("n", "c"), [(3, 1.0), (40, 0.5), (1000, 0.15)])
@np.errstate(all="ignore")
def test_log_tail_bounds_mixtures_of_types(n: int, c: float) -> None:
    """One dither for all types: the largest of their values bounds sum_x w_x |M_x|^n under one integral."""
    x = np.array([[-1.0, 1.0, 0.0], [-0.3, 0.2, 1.5]])
    t = np.array([[0.5, 0.5, 0.0], [0.6, 0.38, 0.02]])
    at = tilt(x, t, np.full(2, c))
    most = float((n * at.log_m + law_tail(x, t, at, np.full(2, float(n)))).max())
    y = np.linspace(0.0, 60.0 / c, 200_001)
    size = [np.abs(1.0 + (t[k] * np.expm1(np.multiply.outer(c + 1j * y, x[k]))).sum(axis=1)) ** n for k in range(2)]
    kernel = np.exp(0.5 * (0.2 / c) ** 2 * (c * c - y * y)) / (c * c + y * y) / np.pi
    for share in (0.0, 0.3, 0.5, 0.9, 1.0):
        assert math.log(float(np.trapezoid((share * size[0] + (1.0 - share) * size[1]) * kernel, y))) <= most


def test_same_law() -> None:
    """Entries that agree to d: the value of one law, charged, covers the others, by a single message."""
    d = 2.0**-20
    p, q = np.array([0.6, 0.25, 0.15]), np.array([0.2, 0.5, 0.3])
    other_p, other_q = p * np.array([1 + d, 1 - d, 1 - d]), q * np.array([1 - d, 1 + d, 1 - d])
    for eps in (0.0, 0.5 * d, 0.3):
        room = 8.0 * d
        at = max(eps - room, 0.0)
        value = np.log([np.maximum(p - math.exp(at) * q, 0.0).sum()])
        exact = np.maximum(other_p - math.exp(eps) * other_q, 0.0).sum()
        assert same_law(value, np.array([eps]), np.array([room]))[0] >= math.log(exact)
    assert math.log(np.maximum(p - q, 0.0).sum()) < math.log(np.maximum(other_p - other_q, 0.0).sum())


def test_below_a_convex_profile() -> None:
    """polygon_below stays below every h in the bracket, here (1 - x/3)_+^3, and lo alone would not."""
    x = np.array([0.0, 0.3, 0.8, 1.4, 2.1, 2.9])

    def h(at: np.ndarray) -> np.ndarray:
        return np.asarray(np.maximum(1.0 - at / 3.0, 0.0) ** 3)

    corners = polygon_below(x, h(x) * 0.99, h(x) * 1.01)
    dense = np.linspace(0.0, 4.0, 4001)
    assert np.all(np.interp(dense, *corners, right=0.0) <= h(dense) + 1e-12)
    assert np.any(np.interp(dense, x, h(x) * 0.99) > h(dense))


def test_transform_error_and_mass_error() -> None:
    """window.error is transform_error, window.doubt is mass_error."""
    rng = np.random.default_rng(4)
    law = rng.dirichlet(np.ones(41))
    whole = Sum([Masses(law, 0.0)], [60], 0.05)
    window = whole.window(1.3)
    with mp.workdps(40):
        cells = [mp.mpf(float(m)) * mp.exp(mp.mpf(1.3) * (k - 20) * mp.mpf(0.05)) for k, m in enumerate(law)]
        z = mp.fsum(cells)
        assert abs(float(60 * mp.log(z) - mp.mpf(window.log_z))) <= window.doubt
    tilted, exact = np.array([float(cell / z) for cell in cells], dtype=np.longdouble), np.ones(1, dtype=np.longdouble)
    for _ in range(60):
        exact = np.convolve(exact, tilted)
    inside = exact[window.first + 1200 : window.first + 1200 + window.law.size]
    off = float(np.sqrt(((window.law - inside) ** 2).sum()))
    assert 0.0 < off <= window.error


@pytest.mark.parametrize("b", [2.0, 1.0001, 64.0, -1.0, -30.0])
def test_log_weights(b: float) -> None:
    first = np.array([0.0, 0.1, 1.0, 1e-4])
    last = first + np.array([1e-7, 1e-3, 0.5, 1e-9])
    found = _log_weights(first, last, b)
    with mp.workdps(60):
        for i in range(first.size):
            lo, hi = mp.exp(mp.mpf(float(first[i]))), mp.exp(mp.mpf(float(last[i])))
            one, two = ((hi**p - lo**p) / p for p in (mp.mpf(b) - 1, mp.mpf(b)))
            for value, exact in zip(found, ((hi * one - two), (two - lo * one)), strict=True):
                assert mp.mpf(float(value[i])) >= mp.log(exact / (hi - lo))
