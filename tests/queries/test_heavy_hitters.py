"""Heavy hitters: strings nobody listed, found by a search, with shares from users who had no part in it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from reference.calibrated import LEVEL, calibrated, repeats, round_trip
from shuffledp.mechanisms.composite.prefix_hash import PrefixHash
from shuffledp.protocol.simulation import simulated
from shuffledp.queries import HeavyHitters
from shuffledp.queries.columns import Coded

SHARES = {b"abc": 0.35, b"abd": 0.2, b"x": 0.15, b"": 0.05}


def strings(n: int = 4000, length: int = 3) -> np.ndarray:
    """Some common strings, and everybody else with one of their own."""
    rng = np.random.default_rng(8)
    rows = [np.frombuffer(text.ljust(length, b"\0"), dtype=np.uint8) for text in SHARES]
    common = np.concatenate(
        [np.tile(row, (round(n * SHARES[text]), 1)) for row, text in zip(rows, SHARES, strict=True)]
    )
    return np.concatenate([common, rng.integers(128, 256, size=(n - len(common), length), dtype=np.uint8)])


def tail(**changed: Any) -> HeavyHitters:
    given = {"column": "tail", "length": 3, "mechanism": "prefix-hash:eps0=4,functions=256,salt=5"}
    return HeavyHitters(**{**given, **changed})


@pytest.mark.slow_cases("2048-1.0-200")
@repeats
@pytest.mark.parametrize(("functions", "eps0"), [(64, 3.0), (2048, 1.0)])
def test_shares_are_unbiased_over_the_functions_with_the_right_errors(
    functions: int, eps0: float, repeats: int
) -> None:
    """With 64 functions most of the error is that strings share buckets, with 2048 it is the noise."""
    rng, values = np.random.default_rng(1), strings(1500)
    wanted = [*SHARES, b"nobody"]
    truth = [np.mean([row.tobytes().rstrip(b"\0") == text[:3] for row in values]) for text in wanted[:-1]] + [0.0]
    found = []
    for salt in range(repeats):
        m = PrefixHash(eps0=eps0, length=3, step=2, functions=functions, salt=salt)
        found.append(m.shares(m.privatize_counts(values, rng=rng).counts, len(values), m.levels - 1, wanted))
    calibrated(found, np.array(truth))


@pytest.mark.heavy
def test_a_search_finds_what_is_common_and_nothing_else() -> None:
    rng, values, runs = np.random.default_rng(2), strings(12_000), 40
    truth = {text: SHARES[text] for text in SHARES}
    wrong, offs = 0, []
    for salt in range(runs):
        query = tail(mechanism=f"prefix-hash:eps0=4,functions=256,salt={salt}")
        answer = query.answer(query.randomizer.privatize_counts(values, rng=rng))
        found = [name.encode() for name in answer.labels]
        wrong += any(text not in truth for text in found)
        assert {b"abc", b"abd", b"x"} <= set(found)
        assert answer.value.tolist() == sorted(answer.value, reverse=True)
        errors = zip(found, answer.value, answer.stderr, strict=True)
        offs += [(value - truth[text]) / error for text, value, error in errors if text in truth]
    # at most 5% of the runs have a string that nobody holds; three standard errors of room
    assert wrong <= runs * 0.05 + 3 * math.sqrt(runs * 0.05 * 0.95)
    # the shares are from users who had no part in the choice: centered, of standard deviation 1, covered
    scores = np.array(offs)
    assert abs(scores.mean()) <= 4 / math.sqrt(len(scores)) and 0.8 < scores.std() < 1.2
    assert np.mean(np.abs(scores) < 1.96) >= LEVEL - 4 * math.sqrt(LEVEL * (1 - LEVEL) / len(scores))


@pytest.mark.heavy
@pytest.mark.slow_cases("1024")
@pytest.mark.parametrize("functions", [64, 1024])
def test_a_string_that_everybody_holds_brings_no_others_with_it(functions: int) -> None:
    """Few users a level: counts are skewed, and what shares buckets with the one string has more of them."""
    rng, runs, wrong = np.random.default_rng(1), 50, 0
    values = np.tile(np.frombuffer(b"abcd", dtype=np.uint8), (3000, 1))
    for salt in range(runs):
        query = tail(length=4, mechanism=f"prefix-hash:eps0=4,functions={functions},salt={salt}")
        labels = query.answer(query.randomizer.privatize_counts(values, rng=rng)).labels
        assert "abcd" in labels
        wrong += labels != ["abcd"]
    assert wrong <= runs * 0.05 + 2.5 * math.sqrt(runs * 0.05 * 0.95)


@pytest.mark.heavy
def test_noise_alone_gives_nothing() -> None:
    rng = np.random.default_rng(3)
    values = rng.integers(1, 256, size=(6000, 3), dtype=np.uint8)
    empty = 0
    for salt in range(30):
        query = tail(mechanism=f"prefix-hash:eps0=3,functions=128,salt={salt}", false_positives=0.1)
        answer = query.answer(query.randomizer.privatize_counts(values, rng=rng))
        empty += answer.value.size == 0
        assert len(answer.table().text().splitlines()) >= 1
    assert query.answer(query.randomizer.privatize_counts(values[:50], rng=rng)).plot()  # empty
    assert empty >= 30 * 0.9 - 4 * math.sqrt(30 * 0.09)


def test_buckets_are_pairwise_uniform() -> None:
    m = PrefixHash(eps0=2.0, length=4, functions=2**14)
    x = m._points(1, [b"a", b"b", b"c", b"ab"])
    buckets = m._buckets(m._coefficients[1], x[:, None, :])
    assert buckets.min() == 0 and buckets.max() == m.l - 1
    room = 5 * math.sqrt(1 / m.l / 2**14)
    for i in range(4):
        assert np.all(np.abs(np.bincount(buckets[i], minlength=m.l) / 2**14 - 1 / m.l) < room)
        for j in range(i):
            assert abs(np.mean(buckets[i] == buckets[j]) - 1 / m.l) < room
            for k in range(j):
                both = (buckets[i] == buckets[j]) & (buckets[j] == buckets[k])
                assert abs(np.mean(both) - 1 / m.l**2) < 5 / m.l / math.sqrt(2**14)


@pytest.mark.heavy
def test_privacy_is_that_of_a_parallel_composition() -> None:
    """Brute force over the whole law of two functions and all strings of one byte."""
    m = PrefixHash(eps0=1.0, length=1, functions=2, l=2, salt=3)
    texts = [b"", *(bytes([i]) for i in range(1, 6))]
    rows = np.full((len(texts), m.codec.size), m._response.stray / (m.levels * m.functions))
    for level in range(m.levels):
        at = m._buckets(m._coefficients[level], m._points(level, texts)[:, None, :])
        for k in range(m.functions):
            place = (level * m.functions + k) * m.l + at[:, k]
            rows[np.arange(len(texts)), place] = m._response.keep / (m.levels * m.functions)
    law = sdp.FiniteRandomizer(rows)
    assert law.local_epsilon <= 1.0 + 1e-9
    for n in (2, 10, 1000):
        ours, theirs = (sdp.amplify(x, n=n, delta=1e-4, bound="blanket").epsilon for x in (m, law))
        assert ours >= theirs * (1 - 1e-3)
        truth = sdp.amplify(law, n=n, delta=1e-4)
        assert sdp.amplify(m, n=n, delta=1e-4).epsilon >= truth.lower * (1 - 1e-9)
    # and the sampler follows that law
    data = np.array([[2]] * 40_000)
    seen = np.bincount(m.privatize(data, rng=np.random.default_rng(0)).data, minlength=m.codec.size) / 40_000
    assert np.all(np.abs(seen - rows[2]) < 5 * np.sqrt(rows[2] / 40_000))


def test_every_row_gives_an_input() -> None:
    query = tail()
    column: list[Any] = ["abcdef", "é", None, 12.0, 1234, b"\xffz", float("nan"), [], "a\0b", True, "\ud800"]
    rows = [row.tobytes().rstrip(b"\0") for row in query.encode([column])]
    assert rows == [b"abc", "é".encode(), b"", b"12", b"123", b"\xffz", b"", b"", b"a", b"Tru", b"?"]
    assert query.encode([Coded(np.array([0, -1]), ["ab"])]).tolist() == [[97, 98, 0], [0, 0, 0]]
    assert query.encode([np.array([7, 8])])[:, 0].tolist() == [55, 56]
    client = sdp.Client(sdp.Plan(query=query, users=1000, delta=1e-6))
    assert len({tuple(map(len, client.report(value))) for value in column}) == 1


def test_the_plan_keeps_the_salt() -> None:
    query = round_trip(tail(mechanism="prefix-hash:eps0=2", false_positives=0.01)).query
    assert query.randomizer.salt > 0 and query.randomizer.salt != tail(mechanism="prefix-hash:eps0=2").randomizer.salt


def test_a_simulation_compares_the_strings_that_were_found() -> None:
    query, column = tail(), ["N10"] * 6000 + ["N11"] * 3000 + [f"{i:03d}" for i in range(900)]
    rng = np.random.default_rng(0)
    answer = query.answer(query.randomizer.privatize_counts(query.encode([column]), rng=rng))
    truth = query.exact([column])
    assert truth.labels[:2] == ["N10", "N11"] and truth.value[0] == pytest.approx(6000 / 9900)
    both = simulated(answer, truth)
    assert both.truth.labels == answer.labels[:2] and both.truth.value[1] == pytest.approx(3000 / 9900)


@pytest.mark.heavy
def test_counts_add_up_and_are_saved(tmp_path: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    from shuffledp.engines.local import Local

    plan = sdp.Plan(query=tail(), users=3000, delta=1e-6)
    table = pa.table({"tail": ["N10"] * 3000 + ["N11"] * 3000})
    collector = Local().count(plan, table, rng=np.random.default_rng(0))
    collector = collector.merge(Local().count(plan, table, rng=np.random.default_rng(1)))
    collector.save(tmp_path / "state.json")
    again = sdp.Collector.load(tmp_path / "state.json", plan)
    assert sorted(again.estimate().labels) == ["N10", "N11"]
    assert again.estimate().value.tolist() == collector.estimate().value.tolist()


def test_what_is_refused() -> None:
    for changed, words in (
        ({"mechanism": "grr:eps0=1"}, "must be for strings"),
        ({"length": 0}, "length must"),
        ({"mechanism": "prefix-hash:eps0=1,length=4"}, "must have length = 3"),
        ({"mechanism": "prefix-hash:eps0=1,l=3"}, "power of two"),
        ({"false_positives": 0}, "false_positives must"),
        ({"most": 0}, "most must"),
    ):
        with pytest.raises(sdp.ParameterError, match=words):
            tail(**changed)
