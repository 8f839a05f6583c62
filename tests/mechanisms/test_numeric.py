"""Laplace, Duchi, Harmony and PrivUnit: golden values, worst pairs by brute force, samplers, edges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import shuffledp as sdp
from contract.cases import numeric as cases  # registers the words
from reference.places import golden
from shuffledp.mechanisms.numeric.discrete_laplace import coins, discrete_laplace
from shuffledp.mechanisms.numeric.duchi import Duchi, _central
from shuffledp.mechanisms.numeric.harmony import Harmony
from shuffledp.mechanisms.numeric.laplace import Laplace
from shuffledp.mechanisms.numeric.privunit import PrivUnit
from shuffledp.numerics.family import PairSet
from shuffledp.numerics.pair import ShuffledPair, both_directions
from shuffledp.randomness import sampling as randomness

ENTRIES = golden("mechanisms.json")
MAKE = {
    "laplace": lambda p: Laplace(eps0=p["eps"]),
    "duchi": lambda p: Duchi(eps0=p["eps"], dim=p["d"]),
    "harmony": lambda p: Harmony(eps0=p["eps"], dim=p["d"]),
    "privunit": lambda p: PrivUnit(eps0=p["eps"], dim=p["D"], cap=p["c"]),
}
GOLDEN = [e for e in ENTRIES if e["mechanism"] in MAKE and e["params"].get("variant") != "ties"]


def src(seed: int = 0) -> randomness.Source:
    return randomness.source(np.random.default_rng(seed))


def coarse(bits: int, **constants: int) -> type[Laplace]:
    return type("Coarse", (Laplace,), {"BITS": bits, **constants})


@pytest.mark.parametrize("entry", GOLDEN, ids=lambda e: f"{e['mechanism']}-{e['params']}")
def test_golden_parameters(entry: dict[str, Any]) -> None:
    ours = MAKE[entry["mechanism"]](entry["params"]).variation_ratio()
    safe = entry.get("safe") or entry["printed"]
    for name in ("p", "beta", "q"):
        assert getattr(ours, name) == pytest.approx(safe[name], rel=1e-9)
        assert getattr(ours, name) >= entry[name] * (1 - 1e-9)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("laplace:0", "eps0 must lie in [1e-06, 500], got 0.0; eps0 is the local budget, and a report"),
        ("laplace:1e-7", "eps0 must lie in [1e-06, 500], got 1e-07; eps0 is the local budget, and a report"),
        ("laplace:501", "eps0 must lie in [1e-06, 500], got 501.0; eps0 is the local budget, and a report"),
        ("duchi:0,3", "eps0 must lie in [1e-09, 500], got 0.0; eps0 is the local budget."),
        ("duchi:1,0", "dim must lie in [1, 2.14748e+09], got 0.0; dim counts the coordinates of a vector."),
        ("duchi:1,2.5", "dim must be a whole number, got 2.5; dim counts the coordinates of a vector."),
        ("harmony:1,0", "dim must lie in [1, 2.14748e+09], got 0.0; dim counts the coordinates of a vector."),
        ("privunit:1,1", "dim must lie in [2, 1e+06], got 1.0; dim counts the coordinates of a vector."),
        ("privunit:1,3,0", "cap must lie in [1e-150, 1), got 0.0; cap is the share of the sphere"),
        ("privunit:1,3,1", "cap must lie in [1e-150, 1), got 1.0; cap is the share of the sphere"),
    ],
)
def test_bad_parameters(spec: str, sentence: str) -> None:
    with pytest.raises(sdp.ParameterError) as error:
        sdp.mechanism(spec)
    assert str(error.value).startswith(sentence) and str(error.value).endswith(".")


def test_bad_values() -> None:
    with pytest.raises(sdp.ParameterError, match=r"shape \(users, 3\)"):
        Duchi(eps0=1, dim=3).privatize(np.zeros((5, 2)))
    with pytest.raises(sdp.ParameterError, match=r"\[-1, 1\]"):
        Harmony(eps0=1, dim=2).privatize([[0.0, 1.1]])
    with pytest.raises(sdp.ParameterError, match="norm 1 to within 1e-06"):
        PrivUnit(eps0=1, dim=2).privatize([[0.6, 0.79]])
    assert len(PrivUnit(eps0=1, dim=2).privatize([[0.6, 0.8 + 5e-7]])) == 1
    with pytest.raises(sdp.ParameterError, match="vertices"):
        Duchi(eps0=1, dim=11).probabilities()
    with pytest.raises(sdp.ParameterError, match="vertices"):
        Harmony(eps0=1, dim=10**6).inputs()
    with pytest.raises(sdp.ParameterError, match="rate"):
        discrete_laplace(src(), 1.0, 3)


# -- discrete Laplace noise --------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.001, 0.3, 0.5, 0.77])
def test_noise_has_the_stated_law(rate: float) -> None:
    size = 200_000
    y = discrete_laplace(src(1), rate, size)
    edges = np.unique(np.round(np.arange(-12, 13) * 0.3 / rate).astype(int))
    a = math.exp(-rate)
    below = np.where(edges < 0, a ** -edges.astype(float) / (1 + a), 1 - a ** (edges + 1.0) / (1 + a))  # Pr[y <= edge]
    seen = np.diff(np.concatenate([[0], np.searchsorted(np.sort(y), edges, side="right"), [size]]))
    expected = np.diff(np.concatenate([[0.0], below, [1.0]])) * size
    assert stats.chisquare(seen, expected, sum_check=False).pvalue > 1e-4


def test_coins() -> None:
    p = np.array([0.0, 1.0, 0.5, 1 / 3, 1e-5, 1 - 1e-5, 2.0**-60])
    rate = coins(src(), np.tile(p, (400_000, 1))).mean(axis=0)
    assert rate[0] == 0.0 and rate[1] == 1.0 and rate[-1] == 0.0
    assert np.all(np.abs(rate - p) <= 5 * np.sqrt(p * (1 - p) / 400_000))


# -- Laplace -----------------------------------------------------------------------------------------------------


@pytest.mark.heavy_cases("3.0-3")
@pytest.mark.slow_cases("0.3-3")
@pytest.mark.parametrize("bits", [1, 2, 3])
@pytest.mark.parametrize("eps0", [0.3, 3.0])
def test_ends_are_the_worst_pair_of_the_grid(bits: int, eps0: float) -> None:
    m = coarse(bits)(eps0=eps0)
    matrix = sdp.FiniteRandomizer(m.probabilities())
    for n in (1, 3, 25, 2000):
        for delta in (1e-3, 1e-6):
            ours, theirs = (sdp.amplify(r, n=n, delta=delta, bound="blanket") for r in (m, matrix))
            assert ours.epsilon == pytest.approx(theirs.epsilon, rel=3e-4)
            assert ours.lower == pytest.approx(theirs.lower, rel=3e-4)


@pytest.mark.parametrize("eps0", [0.1, 1.0, 8.0])
def test_convex_order_of_grid_pairs(eps0: float) -> None:
    """The claim of the docstring itself: sum (R(g) - E R(h) - s omega)_+ is largest at the ends, for all E and s."""
    m = coarse(4)(eps0=eps0)
    rows = np.stack([m._law(g) for g in range(17)])
    omega = rows.min(axis=0)
    assert np.array_equal(omega, np.minimum(rows[0], rows[-1]))
    pairs = [(g, h) for g in range(17) for h in range(17) if g != h]
    for growth in np.exp(np.linspace(0.0, eps0, 7)):
        x = {(g, h): (rows[g] - growth * rows[h]) / omega for g, h in pairs}
        s = np.unique(np.concatenate([x[0, 16], np.quantile(np.stack(list(x.values())), np.linspace(0, 1, 60))]))
        gain = {k: (np.maximum(v[:, None] - s, 0.0) * omega[:, None]).sum(axis=0) for k, v in x.items()}
        for k in pairs:
            assert np.all(gain[k] <= gain[0, 16] * (1 + 1e-12) + 1e-14)


@pytest.mark.parametrize("eps0", [1e-6, 0.5, 4.0, 60.0, 500.0])
def test_reduced_round_keeps_mass_and_means(eps0: float) -> None:
    m = Laplace(eps0=eps0)
    (round_,) = m.law.blanket().pairs(1)
    omega = np.minimum(m._law(0), m._law(1024))
    assert np.sum(round_.P0) == pytest.approx(1.0, abs=1e-14) == np.sum(round_.P1)
    assert np.sum(round_.t) == pytest.approx(omega.sum(), rel=1e-13)
    assert m._law(0).sum() == pytest.approx(1.0, abs=1e-14) == m._law(300).sum()
    assert 0.5 * np.abs(m._law(0) - m._law(1024)).sum() == pytest.approx(m.variation_ratio().beta, rel=1e-9)
    assert round_.max_ratio == pytest.approx(math.exp(eps0), rel=1e-13)


@pytest.mark.heavy
def test_reduction_is_sound_and_tight() -> None:
    for eps0, n in ((1.0, 3000), (4.0, 10**6)):
        ours, full = Laplace(eps0=eps0), coarse(10, PIECES=512, GROUPS=1024)(eps0=eps0)
        a, b = (sdp.amplify(x, n=n, delta=1e-6) for x in (ours, full))
        assert b.epsilon * (1 - 2e-4) <= a.epsilon <= b.epsilon * (1 + 5e-4)
        assert b.lower * (1 - 5e-4) <= a.lower <= b.lower * (1 + 2e-4)


def test_laplace_reports() -> None:
    assert Laplace(eps0=10).privatize([0.1], rng=np.random.default_rng(0)).data.dtype == np.int16
    assert Laplace(eps0=1).privatize([0.1], rng=np.random.default_rng(0)).data.dtype == np.int32
    m = Laplace(eps0=500.0)
    x = np.full(40_000, 1 / 3)  # off the grid: unbiased only thanks to the random rounding
    est = m.estimate(m.privatize(x, rng=np.random.default_rng(5)))
    assert abs(est.value[0] - 1 / 3) < 4 * est.stderr[0] < 2e-4
    assert m.variance(1) == pytest.approx(2 / 500**2, rel=0.1)
    assert Laplace(eps0=1.0).variance(10) == pytest.approx(0.2, rel=1e-5)


# -- Duchi and Harmony -------------------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.slow_cases("1.0-5", "3.0-6")
@pytest.mark.parametrize(("eps0", "dim"), [(2.0, 4), (1.0, 5), (3.0, 6)])
def test_duchi_against_every_pair(eps0: float, dim: int) -> None:
    m = Duchi(eps0=eps0, dim=dim)
    rows = m.probabilities()
    matrix = sdp.FiniteRandomizer(rows)
    for n, delta in ((2, 1e-2), (25, 1e-6), (3000, 1e-6)):
        ours, theirs = sdp.amplify(m, n=n, delta=delta), sdp.amplify(matrix, n=n, delta=delta)
        assert ours.epsilon == pytest.approx(theirs.epsilon, rel=3e-4)
        held = [(2**h - 1, 2**k - 1) for h in range(1, dim + 1) for k in range(dim + 1)]
        brute = PairSet([r for h, x in held for r in both_directions(ShuffledPair(P0=rows[0], P1=rows[h], t=rows[x]))])
        best = brute.epsilon(n=n, delta=delta, tol=1e-4, side="lower").epsilon
        assert ours.lower >= max(best, theirs.lower) * (1 - 3e-4)


def test_many_coordinates() -> None:
    for make in (Duchi, Harmony):
        odd, even = (sdp.amplify(make(eps0=1.0, dim=d), n=10**6, delta=1e-8) for d in (10**6 + 1, 10**6))
        small = sdp.amplify(make(eps0=1.0, dim=3), n=10**6, delta=1e-8)
        assert odd.epsilon == pytest.approx(small.epsilon, rel=1e-6)
        assert even.epsilon == pytest.approx(small.epsilon, rel=1e-3)
        assert small.lower <= small.epsilon and even.epsilon <= odd.epsilon * (1 + 1e-3)
    rr = sdp.amplify("grr:1,2", n=10**6, delta=1e-8).epsilon
    assert sdp.amplify(Harmony(eps0=1.0, dim=7), n=10**6, delta=1e-8).epsilon == pytest.approx(rr, rel=1e-4)


def test_central_binomial() -> None:
    for m in (2002, 2500, 9000):
        assert _central(m) == pytest.approx(math.comb(m, m // 2) / (1 << m), rel=1e-15)


@pytest.mark.parametrize("dim", [1, 2, 7, 8, 40])
def test_duchi_scale_and_variance(dim: int) -> None:
    m = Duchi(eps0=2.0, dim=dim)
    e, c = math.exp(2.0), sum(math.comb(dim, k) for k in range(dim + 1) if 2 * k > dim)
    scale = (2**dim + c * (e - 1)) / (math.comb(dim - 1, dim // 2) * (e - 1))
    assert m._scale == pytest.approx(scale, rel=1e-13)
    x = np.linspace(-0.8, 0.8, dim)
    data = m.privatize(np.tile(x, (20_000, 1)), rng=np.random.default_rng(2)).data
    z = scale * (2.0 * np.unpackbits(data, axis=1, count=dim) - 1.0)
    assert data.shape == (20_000, (dim + 7) // 8) and data.dtype == np.uint8
    assert z.var(axis=0) == pytest.approx([20_000 * m.variance(20_000, v) for v in x], rel=0.03)


def test_large_budgets_keep_the_rare_side() -> None:
    """At eps0 = 20 one in 4e8 lies; at 500 the laws are still laws."""
    for m in (Duchi(eps0=500.0, dim=6), Harmony(eps0=500.0, dim=6), PrivUnit(eps0=500.0, dim=6), Laplace(eps0=500.0)):
        assert np.sum(m.law.blanket().pairs(1)[0].P0) == pytest.approx(1.0, abs=1e-12)
        assert m.variation_ratio().beta <= 1.0
    assert Duchi(eps0=50.0, dim=5)._low == pytest.approx(2 * math.exp(-50.0), rel=1e-12)
    x = np.tile([1, -1, 1, 1, 1, -1], (500, 1))
    assert np.array_equal(np.sign(Harmony(eps0=50.0, dim=6).estimate(_run(Harmony(eps0=50.0, dim=6), x)).value), x[0])


def _run(m: Any, values: Any) -> Any:
    return m.privatize(values, rng=np.random.default_rng(1))


# -- PrivUnit ----------------------------------------------------------------------------------------------------


def test_default_cap_is_the_best() -> None:
    for eps0, cap in ((0.5, 0.421), (1.0, 0.346), (2.0, 0.217), (4.0, 0.066), (8.0, 0.0032)):
        m = PrivUnit(eps0=eps0, dim=100)
        assert m.cap == pytest.approx(cap, rel=0.01)
        for factor in (0.97, 1.03):
            assert m.variance(1) < PrivUnit(eps0=eps0, dim=100, cap=m.cap * factor).variance(1)
    for entry in ENTRIES:
        if entry["mechanism"] == "privunit":
            p = entry["params"]
            assert PrivUnit(eps0=1.0, dim=p["D"], cap=p["c"]).gamma == pytest.approx(p["gamma"], abs=1e-12)


@pytest.mark.parametrize("arcs", [3, 8, 10, 12, 17])
def test_caps_of_a_circle(arcs: int) -> None:
    """In the plane a cap is an arc: with 24 arcs and inputs between them the law is a circulant matrix."""
    m = PrivUnit(eps0=1.5, dim=2, cap=arcs / 24)
    first = np.where(np.arange(24) < arcs, math.exp(1.5), 1.0)
    matrix = sdp.FiniteRandomizer(np.stack([np.roll(first, i) for i in range(24)]) / first.sum())
    for n in (2, 40, 5000):
        ours, theirs = (sdp.amplify(x, n=n, delta=1e-5, bound="blanket") for x in (m, matrix))
        assert ours.epsilon == pytest.approx(theirs.epsilon, rel=3e-4)
        assert sdp.amplify(m, n=n, delta=1e-5).epsilon >= theirs.lower * (1 - 1e-9)
        assert theirs.lower * (0.75 if arcs > 8 else 1 - 3e-4) <= ours.lower <= ours.epsilon


@pytest.mark.parametrize(("dim", "cap"), [(2, 0.2), (3, None), (30, None), (5, 0.8)])
def test_privunit_sampler(dim: int, cap: float | None) -> None:
    m = PrivUnit(eps0=1.5, dim=dim, cap=cap)
    size = 40_000
    values, _ = cases.directions(dim)(size)
    v = _run(m, values).data / 32767.0
    assert np.abs(np.linalg.norm(v, axis=1) - 1.0).max() < 1e-4 * math.sqrt(dim)
    along = np.einsum("ij,ij->i", v, values)
    inside, keep = along >= m.gamma, m.cap * m._densities[0]
    assert abs(inside.mean() - keep) < 5 * math.sqrt(keep * (1 - keep) / size)
    half = 0.5 * (dim - 1)
    share = special.betainc(half, half, np.clip(0.5 * (1 - along), 0, 1))  # of the sphere nearer to x
    assert stats.kstest(share[inside] / m.cap, "uniform").pvalue > 1e-4
    assert stats.kstest((share[~inside] - m.cap) / (1 - m.cap), "uniform").pvalue > 1e-4
    assert along.mean() == pytest.approx(m._gain, abs=5 / math.sqrt(size))
    across = v - along[:, None] * values
    assert np.abs(across.mean(axis=0)).max() < 5 / math.sqrt(size)


def test_privunit_variance_and_size() -> None:
    m = PrivUnit(eps0=3.0, dim=8)
    values = np.tile(np.eye(8)[0], (30_000, 1))
    est = m.estimate(_run(m, values))
    assert np.sum(est.stderr**2) == pytest.approx(m.variance(30_000), rel=0.02)
    big = sdp.amplify("privunit:1,1000000", n=10**6, delta=1e-8)
    assert big.epsilon == pytest.approx(sdp.amplify("privunit:1,1000", n=10**6, delta=1e-8).epsilon, rel=1e-3)
    assert 0 < big.lower < big.epsilon


@pytest.mark.parametrize("dim", [2, 3, 10, 1000, 10**6])
@pytest.mark.parametrize("eps0", [0.01, 1.0, 4.0, 12.0])
def test_the_cap_of_privunit_is_the_best(eps0: float, dim: int) -> None:
    best = PrivUnit(eps0=eps0, dim=dim)
    assert best.cap is not None
    for factor in (0.99, 1.01):
        cap = best.cap * factor
        if cap < 0.5:
            assert PrivUnit(eps0=eps0, dim=dim, cap=cap)._gain < best._gain
