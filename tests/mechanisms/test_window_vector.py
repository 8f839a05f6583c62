"""Vectors by windows on one random coordinate: accounting as GRR and as Parallel, error, intervals, refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from reference.repetition import slow


@pytest.mark.heavy_cases("2.0-4-2")
@pytest.mark.parametrize(("eps0", "d", "dim"), [(2.0, 4, 2), slow(4.0, 5, 3), (1.0, 3, 40)])
def test_the_bounds_are_those_of_grr_and_of_a_parallel_composition(eps0: float, d: int, dim: int) -> None:
    m, grr = sdp.WindowVector(eps0=eps0, dim=dim, d=d), sdp.GRR(eps0=eps0, d=d)
    crowd: dict[str, Any] = {"n": 2000, "delta": 1e-6}
    for bound in ("auto", "blanket", "swap", "variation-ratio", "general"):
        assert sdp.amplify(m, bound=bound, **crowd).epsilon == sdp.amplify(grr, bound=bound, **crowd).epsilon
    assert sdp.amplify(m, **crowd).lower == sdp.amplify(grr, **crowd).lower
    several = [sdp.Accountant().compose(x, n=2000, count=3).epsilon(delta=1e-6) for x in (m, grr)]
    assert several[0] == several[1]
    drawn = sdp.Parallel([(1.0 / dim, sdp.Window(eps0=eps0, d=d))] * dim)
    if dim <= 3:  # more types than the general bound lists
        assert sdp.amplify(drawn, bound="swap", **crowd).epsilon == pytest.approx(
            sdp.amplify(m, bound="swap", **crowd).epsilon, rel=2e-3
        )
    assert sdp.amplify(drawn, bound="blanket", **crowd).epsilon == pytest.approx(
        sdp.amplify(m, bound="blanket", **crowd).epsilon, rel=1e-6
    )


def test_a_certificate_and_mixed_budgets() -> None:
    m = sdp.WindowVector(eps0=2.0, dim=3, d=4)
    assert sdp.amplify(m, n=300, delta=1e-4, certify=True).certificate is not None
    crowd = [(sdp.WindowVector(eps0=e, dim=2, d=4), k) for e, k in ((3.0, 4000), (1.0, 1000))]
    alone = sdp.amplify(crowd[0][0], n=4000, delta=1e-6).epsilon
    assert sdp.amplify_mixed(crowd, delta=1e-6).epsilon <= alone
    other = (sdp.WindowVector(eps0=1.0, dim=3, d=4), 10)
    with pytest.raises(sdp.BoundNotApplicableError, match="one family"):
        sdp.amplify_mixed([crowd[0], other], delta=1e-6)


def values_of(kind: str, n: int, dim: int) -> np.ndarray:
    if kind == "ends":  # half at -1, half at 1: the largest error
        return np.where((np.arange(n)[:, None] + np.arange(dim)) % 2 == 0, 1.0, -1.0)
    if kind == "alike":
        return np.tile(np.linspace(-0.6, 1.0, dim), (n, 1))
    return np.random.default_rng(3).uniform(-1.0, 1.0, (n, dim))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "n", "dim", "runs"),
    [
        *((kind, 600, 2, 400) for kind in ("ends", "alike", "uniform")),
        *(slow(kind, 10_000, 3, 8000) for kind in ("ends", "alike", "uniform")),
        slow("uniform", 300, 20, 2000),
    ],
)
def test_the_error_is_the_predicted_one(kind: str, n: int, dim: int, runs: int) -> None:
    """Over runs x dim squares the standard error of their mean is sqrt(2/(runs dim)): 5 % quick, 0.9 % slow.

    The slow test holds the error to 5 %, five times that; 2,000 runs would allow for 2.7 times only.
    """
    m, rng, values = sdp.WindowVector(eps0=4.0, dim=dim), np.random.default_rng(4), values_of(kind, n, dim)
    truth, square, spread = values.mean(axis=0), float(np.mean(values**2)), float(np.mean(values.var(axis=0)))
    errors, inside, stated = [], [], []
    for _ in range(runs):
        found = m.estimate(m.privatize(values, rng=rng))
        low, high = found.interval(0.95)
        errors.append((found.value - truth) ** 2)
        inside.append((low <= truth) & (truth <= high))
        stated.append(found.stderr**2)
    error, room = float(np.mean(errors)), 4.0 * math.sqrt(2.0 / (runs * dim))
    if n / dim >= 300:  # the mean square about the mean of the users is what counts
        assert error == pytest.approx(m.variance(n, math.sqrt(spread)), rel=max(room, 0.05))
    assert error <= m.variance(n, math.sqrt(square)) * (1.0 + room)
    assert error * (1.0 - room) <= float(np.mean(stated))  # more where few draws leave room for rare values
    assert float(np.mean(stated)) <= error * (1.0 + room + (0.06 if n / dim >= 300 else 0.8))
    assert 0.93 <= float(np.mean(inside)) <= (0.97 if n / dim >= 3000 else 1.0)


def _ones(p: Any, n: int, dim: int) -> np.ndarray:
    """-1 or 1, 1 with probability p in every coordinate."""
    return np.where(np.random.default_rng(7).random((n, dim)) < p, 1.0, -1.0)


#: eps0, values of the users, the largest mean width as a multiple of that of intervals which know the variance.
_COVERED: dict[str, Any] = {
    "10 in 5, halves": (8.0, _ones(0.5, 10, 5), 1.5),
    "10 in 5, any share": (8.0, _ones(np.linspace(0.1, 0.9, 5), 10, 5), 1.5),
    "10 in 5, uniform": (8.0, values_of("uniform", 10, 5), 1.5),
    "500 in 100, halves": (8.0, _ones(0.5, 500, 100), 1.5),
    "500 in 100, any share": (8.0, _ones(np.linspace(0.02, 0.98, 100), 500, 100), 1.5),
    "500 in 100, uniform": (8.0, values_of("uniform", 500, 100), 1.5),
    "2000 in 50, 3 %": (8.0, _ones(0.03, 2000, 50), 1.5),
    "2000 in 50, uniform": (8.0, values_of("uniform", 2000, 50), 1.5),
    "200 in 10": (2.0, _ones(0.03, 200, 10), 1.5),
    "300 in 5": (0.5, _ones(0.03, 300, 5), 1.5),
    "300 in 2, waiting times": (4.0, 0.2 * values_of("uniform", 300, 2) - 0.6, 1.5),
    "1500 in 50, 7 % far from the others": (8.0, np.maximum(_ones(0.07, 1500, 50), -0.5), 1.5),
    "2000 in 50, close together": (8.0, 0.4 * values_of("uniform", 2000, 50) - 0.6, 1.8),  # rare ones are allowed for
}


@pytest.mark.heavy
@pytest.mark.parametrize("query", [False, True])
@pytest.mark.parametrize("case", _COVERED)
def test_intervals_cover_however_few_drew_a_coordinate_and_however_rare_values_are(case: str, query: bool) -> None:
    """Against the interval of the law with the users' own variance, which is not known."""
    eps0, values, wide = _COVERED[case]
    (n, dim), rng = values.shape, np.random.default_rng(8)
    m = sdp.WindowVector(eps0=eps0, dim=dim)
    mean = sdp.queries.Mean(column=[f"c{j}" for j in range(dim)], low=0.0, high=60.0, mechanism=m)
    truth, spread, v = values.mean(axis=0), values.var(axis=0), m._number.variance(1)
    inside, drawn, width, known = [], [], [], []
    for _ in range(max(60_000 // (n + 20 * dim), 20)):
        tally = m.tally(m.privatize(values, rng=rng))
        found = mean.answer(tally) if query else m.estimate(tally)
        low, high = (end / 30.0 - 1.0 if query else end for end in found.interval(0.95))
        users = np.asarray(tally.counts).reshape(dim, -1).sum(axis=1)
        some = np.maximum(users, 1)
        inside.append((low <= truth) & (truth <= high))
        drawn.append(users)
        width.append(high - low)
        known.append(2.0 * 1.96 * np.sqrt((v + spread * (n - some) / (n - 1)) / some))
    covered, often, ours, theirs = (np.ravel(x) for x in (inside, drawn, width, known))
    some = often > 0
    assert np.all(covered[~some]) and covered[some].mean() >= 0.93
    assert ours[some].mean() <= wide * theirs[some].mean()
    if n / dim >= 30 and wide == 1.5:
        assert 0.93 <= covered[often >= 20].mean() <= 0.99


def test_users_who_agree_have_a_small_error() -> None:
    """What Harmony never has: its reports are signs."""
    m, harmony = sdp.WindowVector(eps0=5.0, dim=10), sdp.Harmony(eps0=5.0, dim=10)
    values = np.full((20_000, 10), 0.4)
    ours, theirs = (x.estimate(x.privatize(values, rng=np.random.default_rng(0))) for x in (m, harmony))
    assert np.all(ours.stderr < 0.3 * theirs.stderr)
    assert np.all(abs(ours.value - 0.4) < 5 * ours.stderr)


def test_the_mean_number_of_users_who_draw_a_coordinate() -> None:
    """The bound on E 1/N, against the binomial law itself, in the variance of users who agree."""
    for n, dim in ((5, 2), (40, 3), (40, 30), (400, 3)):
        chance = [math.comb(n, k) * (1 / dim) ** k * (1 - 1 / dim) ** (n - k) for k in range(n + 1)]
        mean = math.fsum(p / k for k, p in enumerate(chance) if k)
        m = sdp.WindowVector(eps0=3.0, dim=dim)
        v = sdp.Window(eps0=3.0, d=m.d, cells=m.cells).variance(1)
        assert mean * v <= m.variance(n) <= mean * v * (1.02 if n / dim > 100 else 4.0)
        both = mean * v + (mean - (1 - chance[0]) / n) * n / (n - 1) + chance[0]  # and values of mean square 1
        assert both <= m.variance(n, 1.0) * (1 + 1e-12)


def test_a_coordinate_that_nobody_drew() -> None:
    m = sdp.WindowVector(eps0=4.0, dim=50)
    found = m.estimate(m.privatize(np.full((5, 50), 0.9), rng=np.random.default_rng(0)))
    empty = np.isinf(found.stderr)
    assert empty.sum() >= 45 and not np.any(np.isnan(found.value))
    for of in ("users", "population"):
        low, high = found.interval(0.95, of=of)
        assert np.all(low[empty] == -1.0) and np.all(high[empty] == 1.0) and np.all(np.isfinite([low, high]))
    table = found.table()
    assert [text == "not estimated" for text in table.columns[1].shown] == empty.tolist()
    assert [value is None for value in table.columns[2].values] == empty.tolist()
    assert found.words()[-1] == f"Not estimated, as no report tells of them: {empty.sum()} of 50."
    assert found.tidy().columns[3].values.count(None) == found.to_dict()["value"].count(None) == empty.sum()
    assert np.all(np.isfinite(found.top(50 - int(empty.sum())).stderr))
    assert found.consistent().table().columns[1].shown.count("not estimated") == empty.sum()


def test_what_is_refused() -> None:
    for spec, words in (
        ("window-vector:eps0=2,dim=1", r"dim must lie in \[2, .*got 1.0; .*window is for one number"),
        ("window-vector:eps0=9,dim=200000,d=20", "dim times d times cells must be at most 16,777,216, got 64,000,000"),
        ("window-vector:eps0=2,dim=3,d=2", "d must lie in"),
    ):
        with pytest.raises(sdp.ParameterError, match=words):
            sdp.mechanism(spec)
    with pytest.raises(sdp.ParameterError, match="more than 1,000,000 cells"):
        sdp.WindowVector(eps0=2.0, dim=9).probabilities()
    with pytest.raises(sdp.ParameterError, match="rescale or clip"):
        sdp.WindowVector(eps0=2.0, dim=2).privatize([[0.0, 1.5]])
