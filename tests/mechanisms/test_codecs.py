"""Codecs: reports have the declared dtype and shape, sums and columns agree between ways of writing a set."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.mechanisms.row_codecs import Digits, Members, PackedBits

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
