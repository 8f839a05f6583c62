"""Intervals of 95 % hold the truth of every cell about 95 % of the time, however unequal the shares are.

Randomized response is simulated by counts: a report is that of its user with probability keep - stray, else uniform.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.estimation.estimate import Estimate
from shuffledp.mechanisms.reports import Tally
from shuffledp.queries import Marginals, RangeQuery, VectorMean

often = pytest.mark.parametrize(
    ("repeats", "low", "high"), [(150, 0.87, 1.0), pytest.param(4000, 0.93, 0.97, marks=pytest.mark.slow)]
)
#: Users per bin: most of them in few bins, all in one, as many everywhere.
SHARES = {
    "unequal": np.array([0, 1700, 1000, 240, 50, 9, 1, 0]),
    "one bin": np.array([0, 0, 0, 3000, 0, 0, 0, 0]),
    "equal": np.full(8, 375),
}
ENDS = [(1, 7), (3, 4)]


def responses(rng: np.random.Generator, held: np.ndarray, oracle: sdp.GRR) -> np.ndarray:
    """Counts of reports of every option, one row per repetition."""
    kept = rng.binomial(held, oracle.keep - oracle.stray)
    others = held.sum(axis=1) - kept.sum(axis=1)
    return np.asarray(kept + rng.multinomial(others, np.full(oracle.d, 1.0 / oracle.d)))


def covered(runs: Iterator[list[tuple[Estimate, np.ndarray]]], of: str = "users") -> np.ndarray:
    """The share of the repetitions in which the interval of each entry holds its truth."""
    hits: list[np.ndarray] = []
    for run in runs:
        ends = [(*estimate.interval(0.95, of=of), truth) for estimate, truth in run]
        hits.append(np.concatenate([(low <= truth) & (truth <= high) for low, high, truth in ends]))
    return np.mean(hits, axis=0)


def split(rng: np.random.Generator, held: np.ndarray, parts: int, repeats: int) -> np.ndarray:
    """Users of every cell (last but one axis) on every part (last), each drawn by the users themselves."""
    return rng.multinomial(held, np.full(parts, 1.0 / parts), size=(repeats, held.size))


# -- ranges ----------------------------------------------------------------------------------------------------------


def range_answers(eps0: float, held: np.ndarray, repeats: int, population: bool = False) -> Iterator[Any]:
    query = RangeQuery(column="x", low=0, high=held.size, bins=held.size, mechanism=f"grr:eps0={eps0}")
    rng, m, n = np.random.default_rng(1), query.randomizer, int(held.sum())
    drawn = rng.multinomial(n, held / n, size=repeats) if population else np.tile(held, (repeats, 1))
    levels = np.stack([split(rng, row, len(m.levels), 1)[0] for row in drawn])
    counts = [
        responses(rng, levels[:, :, h].reshape(repeats, -1, 2**h).sum(axis=2), level)
        for h, level in enumerate(m.levels)
    ]
    for row in np.concatenate(counts, axis=1):
        yield query.answer(Tally(row, m.spec, n, False))


def asked(answer: Any, shares: np.ndarray) -> list[tuple[Estimate, np.ndarray]]:
    """Points of the distribution function and ranges; after the fit also bins."""
    points = answer.cdf().taken(np.arange(shares.size - 1))  # the last is known
    ranges = [(answer.range(a, b), shares[a:b].sum(keepdims=True)) for a, b in ENDS]
    bins = [(answer, shares)] if answer.tree is not None else []
    return [(points, np.cumsum(shares)[:-1]), *ranges, *bins]


@pytest.mark.heavy_cases("6-unequal-True0-150-0.87-1.0")
@often
@pytest.mark.parametrize(
    ("eps0", "data", "fitted"),
    [
        (6, "unequal", True),
        (6, "one bin", False),
        *(
            pytest.param(eps0, data, fitted, marks=pytest.mark.slow)
            for eps0, data, fitted in [*itertools.product((1, 3, 6), SHARES, (True, False)), (12, "equal", True)]
        ),
    ],
)
def test_ranges_and_the_distribution_function(
    eps0: float, data: str, fitted: bool, repeats: int, low: float, high: float
) -> None:
    # a plain node is one count: with 2 reports expected, as 3,000 users at eps0 = 6 give, it holds more than 97 %
    held = SHARES[data] if fitted else 10 * SHARES[data]
    found = (answer.fitted() if fitted else answer for answer in range_answers(eps0, held, repeats))
    share = covered(asked(answer, held / held.sum()) for answer in found)
    assert low <= share.min() and share.max() <= high, share.round(3)


@pytest.mark.slow
@pytest.mark.parametrize("data", ["one bin", "unequal"])
@pytest.mark.parametrize("eps0", [6, 12])
def test_coarse_counts_are_covered_too(eps0: float, data: str) -> None:
    """Few reports are expected in a plain node: intervals hold the truth more often, and never less."""
    held = SHARES[data]
    share = covered(asked(answer, held / held.sum()) for answer in range_answers(eps0, held, 1000))
    assert share.min() >= 0.92, share.round(3)


#: One or a few users of thousands beside bins that nobody holds, in other parts of the tree and next to the others.
NEARLY_EMPTY = [
    [0, 1700, 1000, 299, 0, 0, 1, 0],
    [0, 0, 5, 2995, 0, 0, 0, 0],
    [0, 0, 0, 2997, 0, 0, 0, 3],
    [0, 0, 0, 2995, 0, 0, 0, 5],
    [0, 1700, 1000, 240, 50, 9, 1, 0],
]


@pytest.mark.slow
@pytest.mark.parametrize("users", NEARLY_EMPTY, ids=str)
def test_nearly_empty_bins_are_covered(users: list[int]) -> None:
    """Hardly any noise, and an error that is that of the levels of one or a few users: never too narrow."""
    held = np.array(users)
    share = covered(asked(answer.fitted(), held / held.sum()) for answer in range_answers(12, held, 4000))
    assert share.min() >= 0.93, share.round(3)


@pytest.mark.slow
def test_a_few_users_beside_a_crowded_bin_are_the_known_gap() -> None:
    """Their variance depends on which of two neighbors they are in, which the data do not show (docs/queries.md).

    Where this fails because coverage is 0.93 or more, move the setting to NEARLY_EMPTY.
    """
    held = np.array([0, 0, 7, 2993, 0, 0, 0, 0])
    share = covered(asked(answer.fitted(), held / held.sum()) for answer in range_answers(12, held, 1000))
    assert 0.87 <= share.min() < 0.93, share.round(3)


def test_the_allowance_for_rare_reports_leaves_other_bins_as_they_are() -> None:
    """Bins with tens of users or more have the interval of their variance alone."""
    answer = next(range_answers(12, SHARES["unequal"], 1)).fitted()
    assert np.all(answer.grain[[1, 2, 3, 4]] == 0.0) and np.all(answer.grain[[6, 7]] > 0.0)
    assert np.all(next(range_answers(3, SHARES["one bin"], 1)).fitted().grain == 0.0)


@pytest.mark.slow
def test_ranges_of_a_population() -> None:
    shares = SHARES["unequal"] / SHARES["unequal"].sum()
    found = (answer.fitted() for answer in range_answers(4, SHARES["unequal"], 4000, population=True))
    share = covered((asked(answer, shares) for answer in found), "population")
    assert share.min() >= 0.93 and share.max() <= 0.97, share.round(3)


@pytest.mark.heavy
@pytest.mark.parametrize("fitted", [pytest.param(False, marks=pytest.mark.slow), True], ids=["plain", "fitted"])
def test_with_few_users_intervals_are_wide_enough(fitted: bool) -> None:
    """Counts of few users are whole numbers: coverage above the nominal one."""
    held = np.array([0, 40, 15, 4, 1, 0, 0, 0])
    found = (answer.fitted() if fitted else answer for answer in range_answers(6, held, 200))
    assert covered(asked(answer, held / held.sum()) for answer in found).min() > 0.93


def test_a_level_without_a_report_leaves_the_others_as_they_are() -> None:
    query = RangeQuery(column="x", low=0, high=8, bins=8, mechanism="grr:eps0=3")
    m = query.randomizer
    counts = np.zeros(14, dtype=np.int64)
    counts[m.level(0)], counts[m.level(2)] = 5, [20, 30]
    answer = query.answer(Tally(counts, m.spec, 90, False))
    found = answer.cdf()
    low, high = found.interval()
    known = [True, False, False, True, True, False, False, True]  # what is made of bins and halves alone
    assert np.isfinite(found.stderr).tolist() == known
    assert [(a, b) == (0.0, 1.0) for a, b in zip(low, high, strict=True)] == [not each for each in known]


@pytest.mark.heavy
def test_the_error_of_every_range_of_many_bins() -> None:
    bins = 2**13
    query = RangeQuery(column="x", low=0, high=bins, bins=bins, mechanism="grr:eps0=4")
    values = query.encode([np.random.default_rng(0).exponential(500.0, size=20_000)])
    found = query.answer(query.randomizer.privatize_counts(values, rng=np.random.default_rng(1))).fitted()
    assert np.all(np.isfinite(found.stderr)) and np.all(found.cdf().stderr[:-1] > 0.0)


@pytest.mark.parametrize("mechanism", ["pure-dump:messages=2", "mix-dump:flip=0.2,messages=1", "grr:eps0=2"])
def test_without_levels_the_error_is_that_of_a_sum_of_options(mechanism: str) -> None:
    """What mechanisms declare for planning; the number of blanket messages is that of these reports."""
    query = RangeQuery(column="x", low=0, high=8, bins=8, branching=8, mechanism=mechanism)
    values = query.encode([np.repeat(np.arange(8), [9000, 9000, 1000, 500, 200, 200, 50, 50])])
    answer = query.answer(query.randomizer.privatize_counts(values, rng=np.random.default_rng(0)))
    oracle: Any = query.mechanism
    for a, b, share in ((0, 1, 0.45), (0, 7, 0.9975), (2, 8, 0.1)):
        wanted = oracle._sum_variance(20_000, np.array([b - a]), np.array([share]))[0]
        assert answer.range(a, b).stderr[0] ** 2 == pytest.approx(wanted, rel=0.05)


# -- marginals -------------------------------------------------------------------------------------------------------


def tables(name: str, n: int) -> np.ndarray:
    """Users per cell of three columns of two, three and two options."""
    if name == "one cell":
        return np.bincount([4], minlength=12).reshape(2, 3, 2) * n
    shares = 0.4 ** np.arange(12)
    return np.floor(n * shares / shares.sum()).astype(np.int64).reshape(2, 3, 2)


def marginal_answers(query: Marginals, held: np.ndarray, repeats: int) -> Iterator[Any]:
    rng, m = np.random.default_rng(2), query.randomizer
    users = split(rng, held.ravel(), len(query.asked), repeats).reshape(repeats, *held.shape, -1)
    counts = []
    for k, (some, oracle) in enumerate(zip(query.asked, query.oracles, strict=True)):
        others = tuple(1 + axis for axis, name in enumerate(query.labels) if name not in some)
        counts.append(responses(rng, users[..., k].sum(axis=others).reshape(repeats, -1), oracle))  # type: ignore[arg-type]
    for rows in zip(*counts, strict=True):
        tally = np.zeros((2, len(rows)), dtype=object)
        for k, row in enumerate(rows):
            tally[:, k] = int(row.sum()), row
        yield query.answer(Tally(tally, m.spec, int(held.sum()), False))


@pytest.mark.heavy
@often
@pytest.mark.parametrize(
    ("eps0", "n", "data"),
    [
        (3, 3000, "unequal"),
        pytest.param(3, 3000, "one cell", marks=pytest.mark.slow),
        pytest.param(6, 30_000, "one cell", marks=pytest.mark.slow),
        pytest.param(6, 30_000, "unequal", marks=pytest.mark.slow),
    ],
)
def test_marginals(eps0: float, n: int, data: str, repeats: int, low: float, high: float) -> None:
    labels = {"a": [0, 1], "b": [0, 1, 2], "c": [0, 1]}
    query, held = Marginals(labels=labels, other=0, mechanism=f"grr:eps0={eps0}"), tables(data, n)
    truth = [held.sum(axis=axis).ravel() / held.sum() for axis in (2, 1, 0)]
    single = held.sum(axis=(0, 2)) / held.sum()

    def told(answer: Any) -> list[tuple[Estimate, np.ndarray]]:
        fitted = answer.fitted()
        return [(fitted, np.concatenate(truth)), (fitted.marginal("b"), single)]

    share = covered(map(told, marginal_answers(query, held, repeats)))
    assert low <= share.min() and share.max() <= high, share.round(3)


@pytest.mark.slow
@pytest.mark.slow_cases("subset:*", "local-hash:*")
@pytest.mark.parametrize("mechanism", ["unary:eps0=3", "subset:eps0=2", "local-hash:eps0=3"])
def test_marginals_of_other_mechanisms(mechanism: str) -> None:
    labels, subsets = {"a": [0, 1], "b": [0, 1, 2]}, [["a", "b"], ["b"]]
    query = Marginals(labels=labels, subsets=subsets, other=0, mechanism=mechanism)  # type: ignore[arg-type]
    rows = [np.repeat([0, 1], [600, 200]), np.repeat([0, 1, 2, 0], [500, 70, 30, 200])]
    rng, inputs, truth = np.random.default_rng(3), query.encode(rows), query.exact(rows).value
    found = (query.answer(query.randomizer.privatize_counts(inputs, rng=rng)) for _ in range(300))
    share = covered([(answer.fitted(), truth)] for answer in found)
    assert share.min() >= 0.90 and share.max() <= 0.99, share.round(3)


# -- vectors ---------------------------------------------------------------------------------------------------------

VECTORS: dict[str, Callable[[int], list[np.ndarray]]] = {
    "one direction": lambda n: [np.ones(n), np.zeros(n)],
    "one number": lambda n: [np.ones(n)],
    "both ends": lambda n: [np.where(np.arange(n) % 10 < 3, 1.0, -1.0), np.full(n, 0.0)],
    "all directions": lambda n: [np.cos(2.4 * np.arange(n)), np.sin(2.4 * np.arange(n))],
}


def vector_coverage(eps0: float, n: int, data: str, repeats: int) -> np.ndarray:
    columns = VECTORS[data](n)
    query = VectorMean(column=tuple("xy"[: len(columns)]), norm=1.0, mechanism=f"privunit:eps0={eps0}")
    rng, m, truth = np.random.default_rng(4), query.randomizer, query.exact(columns).value
    values = query.encode(columns)

    def runs() -> Iterator[list[tuple[Estimate, np.ndarray]]]:
        for _ in range(repeats // 100):
            reports = m.privatize(np.tile(values, (100, 1)), rng=rng).data  # in the order of the users
            for one in reports.reshape(100, n, -1):
                yield [(query.answer(m.tally(one)), truth)]

    return covered(runs())


@often
@pytest.mark.parametrize(
    ("eps0", "n", "data"), [(8, 300, data) for data in VECTORS] + [(4, 300, "both ends"), (2, 1000, "all directions")]
)
def test_means_of_vectors(eps0: float, n: int, data: str, repeats: int, low: float, high: float) -> None:
    share = vector_coverage(eps0, n, data, repeats)
    assert low <= share.min() and share.max() <= high, share.round(3)


@pytest.mark.heavy
@pytest.mark.slow_cases("all directions", "both ends", "one number")
@pytest.mark.parametrize("data", VECTORS)
def test_means_of_few_vectors_are_covered(data: str) -> None:
    assert vector_coverage(8, 30, data, 1000).min() > 0.94


# -- quantiles --------------------------------------------------------------------------------------------------------


def normal(at: np.ndarray) -> np.ndarray:
    """The distribution function."""
    return np.array([0.5 * math.erfc(-x / math.sqrt(2.0)) for x in at])


#: Distribution functions on [0, 1].
SPREADS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "gamma": lambda x: 1.0 - (1.0 + 10.0 * x) * np.exp(-10.0 * x),
    "lognormal": lambda x: normal((np.log(np.maximum(x, 1e-9)) - math.log(0.1)) / 0.8),
    "two peaks": lambda x: 0.5 * normal((x - 0.25) / 0.08) + 0.5 * normal((x - 0.75) / 0.08),
    "a tie": lambda x: 0.6 * x + 0.4 * (x > 0.3),
    "uniform": lambda x: x,
}


#: Those that are covered more often: a median where hardly anybody is, or at an end of a bin of even ones, and a p99 in
#: the last bin, where the interval goes on to its end.
WIDER = {"two peaks": [1], "uniform": [1, 4]}


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("repeats", "low", "high"), [(50, 0.84, 1.0), pytest.param(4000, 0.93, 0.97, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(
    ("eps0", "bins", "spread"),
    [
        (1.0, 64, "gamma"),
        pytest.param(3.0, 64, "gamma", marks=pytest.mark.slow),
        pytest.param(1.0, 256, "gamma", marks=pytest.mark.slow),
        *(pytest.param(1.0, 64, spread, marks=pytest.mark.slow) for spread in list(SPREADS)[1:]),
    ],
)
def test_quantiles(eps0: float, bins: int, spread: str, repeats: int, low: float, high: float) -> None:
    """Bins that are coarser and finer than the error, and tails in which there is more noise than users."""
    edges, n = np.linspace(0.0, 1.0, bins + 1), 100_000
    held = np.diff(np.round(n * SPREADS[spread](edges))).astype(int)
    held[-1] += n - held.sum()
    shares = (0.1, 0.5, 0.9, 0.95, 0.99)
    truth = np.interp(shares, np.append(0, np.cumsum(held)) / n, np.arange(bins + 1))
    hits = []
    for answer in range_answers(eps0, held, repeats):
        found = answer.fitted().quantiles(shares)
        hits.append((found.low <= truth) & (truth <= found.high))
        assert np.all((found.low <= found.value) & (found.value <= found.high))
    share = np.mean(hits, axis=0)
    assert low <= share.min() and np.delete(share, WIDER.get(spread, [])).max() <= high, share.round(3)


@pytest.mark.heavy
def test_quantiles_of_anything_inside_the_bins() -> None:
    """Users at one end of their bins: the ends of bins hold their quantile, evenly spread ones need not."""
    held = np.full(8, 12_500)
    found = [answer.fitted() for answer in range_answers(6.0, held, 100)]
    wide = [answer.quantile(0.3, inside="any") for answer in found]
    assert np.mean([q.low <= 2.0 <= q.high and q.low <= 3.0 <= q.high for q in wide]) >= 0.9
    assert all(q.low == int(q.low) and q.high == int(q.high) for q in wide)
    assert np.mean([q.low <= 2.0 for q in (answer.quantile(0.3) for answer in found)]) < 0.1


def test_a_quantile_where_nothing_is_known_is_the_whole_range() -> None:
    query = RangeQuery(column="x", low=0, high=4, bins=4, mechanism="grr:eps0=1", missing="option")
    counts = query.randomizer.privatize_counts(query.encode([[1.0]]), rng=np.random.default_rng(0))
    found: Any = query.answer(counts)
    assert not all(np.all(np.isfinite(level.stderr)) for level in found.levels), "levels without a report"
    assert found.quantile(0.5)[1:] == (0.0, 4.0)
