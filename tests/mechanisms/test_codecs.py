"""Codecs: reports have the declared dtype and shape, sums and columns agree between ways of writing a set."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.mechanisms.codecs import Category, Digits, Members, Numbers, PackedBits

VALUES: dict[str, Any] = {
    "grr:eps0=1,d=300": [0, 299],
    "randomized-response:eps0=1": [True, False],
    "unary:eps0=1,d=13": [0, 12],
    "optimized-unary:eps0=1,d=13": [0, 12],
    "subset:eps0=1,d=128,k=40": [0, 127],
    "subset:eps0=1,d=300,k=2": [0, 299],
    "local-hash:eps0=1,d=50": [0, 49],
    "local-hash:eps0=1,d=50,l=300": [0, 49],
    "hadamard:eps0=1,d=300": [0, 299],
    "sampling-rappor:eps0=1,d=13,s=2": [[0, 12], [1, 2]],
    "wheel:eps0=1,d=13,s=2": [[0, 12], [1, 2]],
    "privset:eps0=1,d=13,s=2": [[0, 12], [1, -1]],
    "pckv-grr:eps0=1,d=200,l=2": [[[0, 1.0], [199, -0.5]], [[3, 0.0], [-1, 0.0]]],
}


@pytest.mark.parametrize("spec", VALUES)
def test_reports_are_written_as_the_codec_says(spec: str) -> None:
    m: Any = sdp.mechanism(spec)
    data = m.privatize(VALUES[spec], rng=np.random.default_rng(0)).data
    assert data.dtype == m.codec.dtype and data.shape == (2, *m.codec.shape) and m.codec.readable(data)
    assert m.spec.startswith(spec)


def test_a_set_has_the_same_sums_and_column_as_members_and_as_bits() -> None:
    every = np.array(list(combinations(range(6), 3)), dtype=np.uint8)
    members, bits = Members(3, 6), PackedBits(6, ones=3)
    table = np.zeros((len(every), 6), dtype=np.uint8)
    np.put_along_axis(table, every.astype(np.int64), 1, axis=1)
    packed = np.packbits(table, axis=1)
    assert members.columns(every).tolist() == bits.columns(packed).tolist() == list(range(20))
    assert members.tally(every).tolist() == bits.tally(packed).tolist() == [10] * 6


def test_too_many_sets_have_no_number() -> None:
    for codec, data in ((Members(3, 63), [[0, 1, 2]]), (PackedBits(40, ones=20), np.zeros((1, 5), np.uint8))):
        with pytest.raises(sdp.ParameterError, match=r"^sets can be numbered .*; use a smaller [^\n]*\.$"):
            codec.columns(np.asarray(data))


def test_digits() -> None:
    codec = Digits(3, 10)
    assert codec.columns(np.array([[1, 2, 3], [9, 0, 0]])).tolist() == [321, 9]
    assert not codec.readable(np.zeros((4, 3))) and not codec.readable(np.zeros((4, 2), dtype=int))
    with pytest.raises(sdp.ParameterError, match="ask the mechanism"):
        codec.tally(np.array([[1, 2, 3]]))


@pytest.mark.parametrize(
    ("other", "victim"),
    [
        ("randomized-response:eps0=2", "grr:eps0=1,d=2"),
        ("grr:eps0=1,d=2", "randomized-response:eps0=2"),
        ("unary:eps0=1,d=4", "optimized-unary:eps0=3,d=4"),
        ("subset:eps0=1,d=6,k=2", "subset:eps0=3,d=6,k=2"),
        ("privset:eps0=1,d=4,s=2,k=2", "privset:eps0=3,d=4,s=2,k=2"),
    ],
)
def test_blanket_ratios_of_the_pages(other: str, victim: str) -> None:
    one, two = sdp.mechanism(other), sdp.mechanism(victim)
    least = np.min(one.probabilities().min(axis=0) / two.probabilities().min(axis=0))  # type: ignore[attr-defined]
    assert one.law.blanket_ratio(two) <= least * (1 + 1e-13)
    assert one.law.blanket_ratio(two) == pytest.approx(least, rel=1e-9)
    with pytest.raises(sdp.BoundNotApplicableError, match="one family"):
        one.law.blanket_ratio(sdp.mechanism("laplace:eps0=1"))


def test_many_reports_in_a_smaller_dtype_are_read_as_few_are() -> None:
    data = np.arange(2**18 + 1, dtype=np.uint8)
    assert sdp.GRR(eps0=1.0, d=300).tally(data).counts.tolist() == np.bincount(data, minlength=300).tolist()


def test_which_reports_a_client_can_have_sent() -> None:
    """By hand, codec by codec: the first row of each is proper, the others are not."""
    record = sdp.Parallel([(0.5, sdp.GRR(eps0=1.0, d=3)), (0.5, sdp.Unary(eps0=1.0, d=6))]).codec
    rows = np.zeros(6, dtype=record.dtype)
    first, second = (name for name in record.fields(record.dtype))
    rows["query"] = [0, 0, 0, 1, 1, 2]
    rows[first][:3] = [2, 3, 2]
    rows[second][:, 0] = [0, 0, 4, 4, 3, 0]  # a field that is not that query's; a bit beyond the sixth
    tuples = sdp.Joint([sdp.GRR(eps0=1.0, d=3), sdp.GRR(eps0=1.0, d=2)]).codec
    pairs = np.zeros(3, dtype=tuples.dtype)
    pairs["q0"], pairs["q1"] = [2, 3, 0], [1, 0, 2]
    for codec, data, proper in (
        (Category(3), np.array([2, 3, 255], np.uint8), [1, 0, 0]),
        (PackedBits(6), np.array([[252], [2], [1]], np.uint8), [1, 0, 0]),
        (PackedBits(8), np.array([[255]], np.uint8), [1]),
        (PackedBits(6, ones=2), np.array([[192], [128], [224], [3]], np.uint8), [1, 0, 0, 0]),
        (Members(2, 5), np.array([[1, 4], [4, 1], [3, 3], [1, 5]], np.uint8), [1, 0, 0, 0]),
        (Digits(2, 5), np.array([[4, 4], [0, 5]], np.uint8), [1, 0]),
        (Numbers(np.float64, (2,)), np.array([[0.0, 1.0], [np.nan, 0.0], [0.0, np.inf]]), [1, 0, 0]),
        (record, rows, [1, 0, 0, 1, 0, 0]),
        (tuples, pairs, [1, 0, 0]),
    ):
        assert codec.proper(data).tolist() == [bool(x) for x in proper], codec
