"""One uniform permutation of all rows: exact, in place, in little memory, whatever the rows are."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import stats

import shuffledp as sdp
from shuffledp.mechanisms import randomizer
from shuffledp.mechanisms.catalog import CATALOG
from shuffledp.mechanisms.multimessage.base import MultiMessage
from shuffledp.mechanisms.registry import find
from shuffledp.randomness import permutation
from shuffledp.randomness.permutation import _order, permute
from shuffledp.randomness.sampling import Seeded, source

#: Every multi-message mechanism, and every way to say how many messages there are.
MULTI = [
    "balcer-cheu:coin=0.5,messages=0.5",
    "balcer-coin:messages=1",
    "balcer-coin:poisson=0.5",
    "cheu-zhilyaev:flip=0.01,d=2,messages=0.5",
    "balls-into-bins:d=4,special=1,messages=0.5",
    "pure-dump:d=2,messages=0",
    "pure-dump:d=2,total_messages=100_001",
    "mix-dump:d=2,flip=0.1,messages=0.5",
]


def seeded(seed: int = 0) -> Seeded:
    return Seeded(np.random.default_rng(seed))


@pytest.mark.slow_cases("5-blocks of 1", "5-blocks of 2", "5-blocks of 3")
@pytest.mark.parametrize("few", [1, 2, 3, 8192], ids=lambda k: f"blocks of {k}")
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_all_orders_are_equally_likely(size: int, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permutation, "_ROWS", few)
    src, draws = seeded(size), 25 * math.factorial(size)
    place = {order: k for k, order in enumerate(itertools.permutations(range(size)))}
    seen = np.zeros(len(place))
    for _ in range(draws):
        rows = np.arange(size)
        permute(src, rows)
        seen[place[tuple(rows.tolist())]] += 1
    if size > 1:
        assert stats.chisquare(seen).pvalue > 1e-4


@pytest.mark.heavy
@pytest.mark.slow_cases("2")
@pytest.mark.parametrize("few", [2, 7])
def test_every_row_may_get_everywhere_across_blocks(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The place of each of 16 rows, and the places of two neighbors, are uniform."""
    monkeypatch.setattr(permutation, "_ROWS", few)
    src, size, draws = seeded(few), 16, 1000
    seen, apart = np.zeros((size, size)), np.zeros(size)
    for _ in range(draws):
        rows = np.arange(size)
        permute(src, rows)
        seen[rows, np.arange(size)] += 1
        at = np.argsort(rows)
        apart[(at[1] - at[0]) % size] += 1
    assert stats.chisquare(seen.ravel(), ddof=2 * size - 2).pvalue > 1e-4
    assert apart[0] == 0 and stats.chisquare(apart[1:]).pvalue > 1e-4


@pytest.mark.parametrize("length", [0, 1, 2, 3, 100, 8191, 8192, 8193, 50_000])
@pytest.mark.parametrize(
    "layout", ["u1", "u4", "f8", "V3", "u1,(5,)u2", (np.uint8, 16), (np.uint8, 0), (np.float64, 3)], ids=str
)
def test_no_row_is_lost_or_torn(length: int, layout: Any) -> None:
    dtype, columns = layout if isinstance(layout, tuple) else (layout, None)
    rng = np.random.default_rng(length)
    shape = (length,) if columns is None else (length, columns)
    width = np.dtype(dtype).itemsize * (1 if columns is None else columns)
    raw = rng.integers(0, 256, (length, width), dtype=np.uint8)
    rows = raw.copy().reshape(-1).view(dtype).reshape(shape) if raw.size else np.zeros(shape, dtype)
    before = sorted(row.tobytes() for row in rows)
    permute(seeded(length), rows)
    assert sorted(row.tobytes() for row in rows) == before
    if length > 100 and width:
        assert [row.tobytes() for row in rows] != [bytes(row) for row in raw]


def test_slices_and_columns_of_larger_arrays_are_permuted_in_place() -> None:
    table = np.arange(60_000).reshape(2, 30_000).T
    permute(seeded(1), table[5:, 1])
    assert table[:5, 1].tolist() == [30_000 + k for k in range(5)] and np.array_equal(table[:, 0], np.arange(30_000))
    assert np.array_equal(np.sort(table[:, 1]), 30_000 + np.arange(30_000)) and table[5, 1] != 30_005


class Draws:
    """These words of 16 bits, one list per draw."""

    for_release = False

    def __init__(self, *left: list[int]) -> None:
        self.left = list(left)

    def raw(self, size: int) -> np.ndarray:
        return np.array(self.left.pop(0), dtype=np.uint16).view(np.uint8)[:size]


@pytest.mark.parametrize(("coin", "order"), [(0, [2, 0, 1]), (0x80, [2, 1, 0])])
def test_a_coin_decides_between_two_alike_keys(coin: int, order: list[int]) -> None:
    src = Draws([3, 3, 3, 5, 5, 4], [coin])
    assert _order(src, 3).tolist() == order and not src.left


def test_three_alike_keys_are_drawn_again() -> None:
    src = Draws([3, 3, 3, 5, 5, 5], [1, 0, 2, 5, 5, 5])
    assert _order(src, 3).tolist() == [1, 0, 2] and not src.left


@pytest.mark.slow_cases("(32000000,)-<class 'numpy.uint8'>")
@pytest.mark.parametrize(
    ("shape", "dtype"), [((32_000_000,), np.uint8), ((4_000_000,), np.uint64), ((25_600, 1250), np.uint8)], ids=str
)
def test_memory_is_flat(shape: tuple[int, ...], dtype: Any) -> None:
    rows, src = np.zeros(shape, dtype), source(None)
    tracemalloc.start()
    try:
        permute(src, rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 6_000_000 and rows.nbytes >= 32_000_000


# -- reports ---------------------------------------------------------------------------------------------------


def test_multi_message_mechanisms_are_all_here() -> None:
    multi = {name for name in CATALOG if issubclass(find(name), MultiMessage)}
    assert multi == {spec.partition(":")[0] for spec in MULTI}


@pytest.mark.parametrize("spec", MULTI)
def test_the_place_of_a_message_says_nothing_about_its_sender(spec: str) -> None:
    """Sorted values: the ones must not gather anywhere, neither in the whole nor in any part of it."""
    m = sdp.mechanism(spec)
    users = 400_000
    reports = m.privatize(np.repeat([0, 1], users // 2), rng=np.random.default_rng(3))  # type: ignore[attr-defined]
    data = reports.data[:, 0] >> 6 & 1 if reports.data.ndim > 1 else reports.data
    place = np.arange(len(data))
    bound = 5.0 / math.sqrt(len(data))
    assert abs(np.corrcoef(place, data)[0, 1]) < bound
    for parts in (2, 9):
        means = np.array([np.mean(block) for block in np.array_split(data, parts)])
        assert np.all(np.abs(means - data.mean()) < 5.0 * data.std() / math.sqrt(len(data) // parts))
    assert abs(np.corrcoef(data[1:], data[:-1])[0, 1]) < bound


@pytest.mark.slow
def test_messages_of_many_chunks_take_no_second_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(randomizer, "CHUNK_BYTES", 500_000)
    m, values = sdp.mechanism("pure-dump:d=60_000,messages=1.5"), np.arange(4_000_000, dtype=np.uint32) % 60_000
    tracemalloc.start()
    try:
        reports = m.privatize(values)  # type: ignore[attr-defined]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert reports.data.dtype == np.uint16 and abs(len(reports) - 10_000_000) < 6000
    assert peak < 1.1 * reports.data.nbytes + 8_000_000


def test_other_reports_are_in_the_order_of_the_users_until_shuffled() -> None:
    m = sdp.GRR(eps0=6.0, d=2)
    values = np.repeat([0, 1], 100_000)
    reports = m.privatize(values)
    assert reports.data[:100_000].mean() < 0.01 and reports.for_release
    mixed = reports.shuffled()
    assert abs(mixed.data[:100_000].mean() - 0.5) < 0.02 and mixed.for_release and mixed.users == 200_000
    assert reports.data[:100_000].mean() < 0.01, "the reports themselves stay as they are"
    assert np.array_equal(m.estimate(mixed).value, m.estimate(reports).value)
    again = [reports.shuffled(rng=np.random.default_rng(1)) for _ in range(2)]
    assert np.array_equal(again[0].data, again[1].data) and not again[0].for_release
    assert not m.privatize(values, rng=np.random.default_rng(1)).shuffled().for_release
    with pytest.raises(sdp.ParameterError, match="rng must be None"):
        reports.shuffled(rng=5)  # type: ignore[arg-type]


def test_secure_orders_differ() -> None:
    reports = sdp.mechanism("unary:eps0=1,d=9").privatize(np.arange(5000) % 9)  # type: ignore[attr-defined]
    assert not np.array_equal(reports.shuffled().data, reports.shuffled().data)


def test_the_order_follows_the_generator_that_drew_the_reports() -> None:
    m, values = sdp.GRR(eps0=1.0, d=64), np.arange(2000) % 64
    one, two = (m.privatize(values, rng=np.random.default_rng(3)).shuffled() for _ in range(2))
    assert np.array_equal(one.data, two.data) and one.for_release is False
    rng = np.random.default_rng(3)
    assert np.array_equal(m.privatize(values, rng=rng).shuffled(rng=rng).data, one.data)
    assert m.privatize(values).shuffled().for_release is True
