"""The bounds from moments against M(c) in fractions, and what they discard against the swap bound itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flint import arb, ctx
from numpy.typing import NDArray

from shuffledp.numerics.evaluators import swap
from shuffledp.numerics.families.swap import Curve
from shuffledp.numerics.families.swap_matrix import SwapMatrix
from shuffledp.numerics.families.swap_moments import Chords, PairMoments, _log_m

Rows = NDArray[np.float64]


def shaped(name: str, seed: int) -> Rows:
    """Matrices without zeros: random, with ratios up to 1e13, of a band, of two levels, with rows that nearly agree."""
    rng = np.random.default_rng(seed)
    d, k = 6, 5
    if name == "random":
        rows = np.exp(1.5 * rng.random((d, k)))
    elif name == "ratios":
        rows = 10.0 ** rng.uniform(-6.5, 0.0, size=(d, k))
    elif name == "tiny":
        rows = rng.random((d, k)) + 0.1
        rows[rng.integers(d), rng.integers(k)] = 1e-12
        rows[rng.integers(d), rng.integers(k)] = 1e-13
    elif name == "band":
        rows = np.exp(-2.0 * np.abs(np.arange(d)[:, None] - np.arange(k)))
    elif name == "levels":
        rows = np.where(rng.random((d, k)) < 0.5, 1.0, 3.0)
    else:
        rows = np.tile(rng.random(k) + 0.2, (d, 1)) * (1.0 + 2.0**-50 * rng.integers(0, 4, size=(d, k)))
        rows[0] = rng.random(k) + 0.2
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


SHAPES = ("random", "ratios", "tiny", "band", "levels", "near")


def log_m(rows: Rows, pair: int, kind: int, c: float, gain: float, share: float) -> arb:
    """log M(c) in balls."""
    a, b = divmod(pair, len(rows))
    total = arb(1)
    for p, q, r in zip(rows[a].tolist(), rows[b].tolist(), rows[kind].tolist(), strict=True):
        t = arb(share) * arb(r)
        total += t * ((arb(c) * (arb(p) - arb(q) - arb(gain) * arb(q)) / t).exp() - 1)
    return total.log()


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("n", [60, 10**4, 10**9])
def test_m_is_never_above_its_bound(name: str, n: int) -> None:
    ctx.prec = 200
    rows = shaped(name, 3)
    moments = PairMoments(rows)
    pairs = np.flatnonzero(~np.eye(len(rows), dtype=bool))
    for eps in (0.0, 0.02, 0.5):
        common = float(rows.min(axis=0).sum()) * 0.999
        terms = moments.terms(eps, 0.97, common, n, -20.0)
        lines = moments.lines(pairs, terms)
        with np.errstate(all="ignore"):
            table = moments._raised(moments._table(pairs, terms, lines))
        spread = moments.variance(pairs, terms.gain)
        for i in range(0, pairs.size, 7):
            for kind in range(len(rows)):
                one = lines.at(np.array([i]))
                with np.errstate(all="ignore"):
                    bound = float(_log_m(table[[i], kind], terms, one)[0])
                exact = log_m(rows, int(pairs[i]), kind, float(lines.line.c[i]), terms.gain, terms.share)
                assert not exact > arb(bound), (name, n, eps, i, kind)
                a, b = divmod(int(pairs[i]), len(rows))
                w = rows[a] - math.exp(eps) * rows[b]
                assert (w * w / rows[kind]).sum() <= spread[i] * (1 + 1e-9) + 1e-28


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_discarded_that_exceeds(name: str, seed: int) -> None:
    rows = shaped(name, seed)
    rows = rows[np.sort(np.unique(rows, axis=0, return_index=True)[1])]
    matrix = SwapMatrix(rows)
    for eps, n in ((0.05, 3000), (0.3, 300), (1.0, 200), (0.01, 10**6)):
        pairs = matrix.every
        values = [
            float(Curve(matrix.member(*divmod(int(p), len(rows))), n, 1e-4).log_upper(np.array([eps]))[0])
            for p in pairs
        ]
        finite = [v for v in values if v > -np.inf]
        if not finite:
            continue
        level = float(np.quantile(finite, 0.7))
        for sums in (True, False):
            left = matrix.open_at(pairs, eps, n, level, sums=sums)
            assert left is not None
            # 2e-3: the line of the screen is not that of the curve, which may be a little higher
            above = {int(p) for p, v in zip(pairs, values, strict=True) if v > level + 2e-3 * (1.0 + abs(level))}
            assert above <= set(left.tolist()), (name, eps, n)


def test_chords_are_above() -> None:
    waiting = swap.Waiting.of(0.2, 500, -30.0)
    log_r = np.sort(np.random.default_rng(0).uniform(-0.05, 0.08, size=5000))
    exact, found = waiting.log_sum(log_r), Chords.of(0.2, 500, -30.0).log_sum(log_r)
    assert np.all(found >= exact) and np.all(found <= exact + 1e-3)
    assert np.isinf(Chords.of(0.2, 500, -30.0).log_sum(np.append(log_r, np.nan))[-1])
