"""Metric Laplace: the listed laws cover every pair of near points and every type, on coarse grids and from scratch."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement, permutations
from random import Random

import numpy as np
import pytest

import shuffledp as sdp
from reference.repetition import slow
from shuffledp.mechanisms.metric.line_pairs import LinePairs, swap_set
from shuffledp.numerics.swap.family import SwapSet
from shuffledp.numerics.swap.pair import SwapPair, TypeTable


def law(x: int, step: float, last: int) -> np.ndarray:
    """Probabilities of y <= 0, y = 1, ..., last - 1 and y >= last: all ratios are constant beyond 0 and ``last``."""
    y = np.arange(last + 1)
    out = math.tanh(0.5 * step) * np.exp(-step * np.abs(y - x))
    out[[0, -1]] /= -math.expm1(-step)
    return out


def settings(rng: Random) -> LinePairs:
    """A step that makes the domain 0.2 to 6 units long."""
    length = rng.randint(2, 14)
    apart = 2 * rng.randint(1, length // 2)
    return LinePairs(2.0 ** -rng.randint(1, 5) if length > 6 else 0.5, apart, length)


def table_of(line: LinePairs) -> TypeTable:
    """All laws that are listed."""
    (member,) = swap_set(line)._members
    assert member.more is not None
    return member.more()


def compared(seed: int, tries: int) -> int:
    """E(X - c)_+ of random pairs and types is at most that of some listed law."""
    rng = Random(seed)
    line = settings(rng)
    step, table = line.step, table_of(line)
    for _ in range(tries):
        g = rng.randint(0, line.length - 1)
        k = rng.randint(g + 1, min(g + line.apart, line.length))
        x = rng.randint(0, line.length)
        E = math.exp(step * (k - g) * rng.choice([0.0, 0.1, 0.5, 0.9, rng.random()]))
        p0, p1, t = (law(at, step, line.length) for at in (*rng.choice([(g, k), (k, g)]), x))
        value = (p0 - E * p1) / t
        c = float(rng.choice(value.tolist())) + rng.choice([0.0, 0.0, rng.uniform(-0.1, 0.1)])
        least = float((t * np.maximum(value - c, 0.0)).sum())
        nothing = np.maximum(1.0 - table.t.sum(axis=1), 0.0) * max(-c, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            listed = np.where(table.t > 0.0, (table.P0 - E * table.P1) / table.t, 0.0)
        found = (table.t * np.maximum(listed - c, 0.0)).sum(axis=1) + nothing
        assert found.max() >= least * (1.0 - 1e-11) - 1e-13, (seed, line, g, k, x, E, c)
    return tries


@pytest.mark.parametrize("seeds", [25, slow(600)])
def test_every_pair_and_type_is_covered(seeds: int) -> None:
    assert sum(compared(seed, 20) for seed in range(seeds)) == 20 * seeds


def listed(line: LinePairs) -> SwapSet:
    """The laws as types of one victim pair: a table is not used among few users."""
    (member,), table = swap_set(line)._members, table_of(line)
    return SwapSet([SwapPair((*member.types, *map(table.pair, range(len(table)))), member.common_mass)])


def truth(line: LinePairs, n: int, ratios: np.ndarray) -> np.ndarray:
    """The largest divergence over all pairs that are near and all datasets of the others."""
    rows = [law(x, line.step, line.length) for x in range(line.length + 1)]
    worst = np.zeros(ratios.size)
    for others in combinations_with_replacement(range(line.length + 1), n - 1):
        sent = []
        for row in rows:
            view = row
            for x in others:
                view = np.multiply.outer(view, rows[x])
            sent.append(sum(np.transpose(view, order) for order in permutations(range(n))) / math.factorial(n))
        for g, k in permutations(range(line.length + 1), 2):
            if abs(g - k) <= line.apart:
                for i, E in enumerate(ratios.tolist()):
                    worst[i] = max(worst[i], float(np.maximum(sent[g] - E * sent[k], 0.0).sum()))
    return worst


@pytest.mark.parametrize(
    ("step", "apart", "length", "n"),
    [(0.5, 2, 4, 2), (0.25, 2, 3, 3), slow(0.5, 4, 6, 2), slow(0.5, 2, 4, 3), slow(1.0, 2, 5, 2), slow(0.5, 2, 3, 4)],
)
def test_no_dataset_exceeds_the_swap_bound(step: float, apart: int, length: int, n: int) -> None:
    line = LinePairs(step, apart, length)
    eps = step * apart * np.array([0.0, 0.1, 0.3, 0.6, 0.9])
    upper = np.exp(listed(line).log_delta(eps, n=n, tol=1e-4, side="upper"))
    assert np.all(upper >= truth(line, n, np.exp(eps)) * (1.0 - 1e-11) - 1e-13)


@pytest.mark.parametrize(("d01", "dmax"), [(1.0, 4.0), (0.5, 2.0), (1.0, 1.0), slow(2.0, 4.0), slow(0.1, 6.0)])
def test_half_a_per_cent_among_ten_thousand(d01: float, dmax: float) -> None:
    found = sdp.amplify(sdp.MetricLaplace(d01=d01, dmax=dmax), n=10_000, delta=1e-6)
    assert found.lower is not None and found.lower <= found.epsilon <= 1.005 * found.lower


def test_long_lines_say_so() -> None:
    with pytest.raises(sdp.BoundNotApplicableError, match=r"needs dmax up to 12, got 20: .* use bound='auto'"):
        sdp.amplify("metric-laplace:d01=1,dmax=20", n=1000, delta=1e-6, bound="swap")
    with pytest.raises(sdp.BoundNotApplicableError, match=r"too many laws for such distances; use bound='auto'"):
        sdp.amplify("metric-laplace:d01=10,dmax=12", n=1000, delta=1e-6, bound="swap")
    for spec in ("metric-laplace:d01=1,dmax=20", "metric-laplace:d01=10,dmax=12"):
        assert sdp.amplify(spec, n=1000, delta=1e-6).epsilon > 0.0


def test_a_row_without_a_block_between_two_others() -> None:
    """The contours of the lower end's members reach so differently far that one of them has no node in some part."""
    found = sdp.amplify("metric-laplace:d01=0.9178199046922378,dmax=3.901542634996328", n=308, delta=1.7121624747e-10)
    assert found.lower is not None and 0.999 * found.epsilon <= found.lower <= found.epsilon


@pytest.mark.heavy
@pytest.mark.parametrize("tries", [4, slow(1_000)])
def test_no_upper_bound_is_below_the_lower_one(tries: int) -> None:
    for seed in range(tries):
        rng = Random(seed)
        dmax = math.exp(rng.uniform(-3.0, 2.6))
        m = sdp.MetricLaplace(d01=max(dmax * rng.random(), 1e-6), dmax=dmax)
        n, delta = int(10 ** rng.uniform(0.5, 7.0)), 10 ** rng.uniform(-10.0, -2.0)
        found = sdp.amplify(m, n=n, delta=delta)
        assert found.lower is not None and found.lower <= found.epsilon, (seed, m.spec, n, delta)
