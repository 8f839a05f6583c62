"""Random bits: secure by default, exact in law, never repeated."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import shuffledp as sdp
from shuffledp import ParameterError
from shuffledp.randomness.lookup import categorical
from shuffledp.randomness.sampling import Keystream, Seeded, below, bernoulli, source, words


def seeded(seed: int = 0) -> Seeded:
    return Seeded(np.random.default_rng(seed))


class Replay:
    """A source that plays back given bytes, to follow a decision digit by digit."""

    for_release = False

    def __init__(self, data: bytes) -> None:
        self.left = data

    def raw(self, size: int) -> np.ndarray:
        out, self.left = self.left[:size], self.left[size:]
        if len(out) < size:
            raise EOFError
        return np.frombuffer(out, dtype=np.uint8)


def test_secure_by_default_and_seeded_on_request() -> None:
    assert isinstance(source(None), Keystream) and source(None).for_release
    assert not source(np.random.default_rng(0)).for_release
    with pytest.raises(ParameterError, match="rng must be None"):
        source(42)  # type: ignore[arg-type]


def test_the_keystream_never_repeats() -> None:
    one, two = Keystream(), Keystream()
    blocks = [one.raw(1 << 16).tobytes() for _ in range(20)] + [two.raw(1 << 16).tobytes() for _ in range(20)]
    assert len(set(blocks)) == 40
    pieces = {bytes(block[i : i + 16]) for block in blocks for i in range(0, len(block), 16)}
    assert len(pieces) == 40 * 4096


def test_the_keystream_crosses_its_block_without_a_seam() -> None:
    data = Keystream().raw((1 << 20) + 12_345)
    assert data.size == (1 << 20) + 12_345
    assert stats.chisquare(np.bincount(data, minlength=256)).pvalue > 1e-6
    assert len(set(data[-12_345:].tobytes())) == 256


def test_words_have_their_width() -> None:
    for bits in (8, 16, 32, 64):
        drawn = words(seeded(), 1000, bits)
        assert drawn.dtype.itemsize * 8 == bits and len(drawn) == 1000


@pytest.mark.parametrize("p", [0.5, 0.3, 1 / 3, 1e-3, 1 - 1e-3, 1 / 256, 3 / 65536])
def test_bernoulli_has_its_probability(p: float) -> None:
    size = 400_000
    hits = int(bernoulli(seeded(1), p, size).sum())
    assert abs(hits - p * size) <= 5 * math.sqrt(size * p * (1 - p)) + 1


def test_bernoulli_reads_on_after_a_tie() -> None:
    p = Fraction(0x80, 1 << 8) + Fraction(0x40, 1 << 16)
    assert bernoulli(Replay(bytes([0x7F])), p, 1)[0]
    assert not bernoulli(Replay(bytes([0x81])), p, 1)[0]
    assert bernoulli(Replay(bytes([0x80, 0x3F])), p, 1)[0]
    assert not bernoulli(Replay(bytes([0x80, 0x40])), p, 1)[0]
    assert not bernoulli(Replay(bytes([0x80, 0x41])), p, 1)[0]


def test_certain_events_draw_nothing() -> None:
    assert not bernoulli(Replay(b""), 0, 5).any()
    assert bernoulli(Replay(b""), 1, 5).all()
    for bad in (-0.1, 1.1, float("nan")):
        with pytest.raises((ParameterError, ValueError)):
            bernoulli(seeded(), bad, 1)


@given(bound=st.integers(1, 2**32))
def test_below_stays_below(bound: int) -> None:
    drawn = below(seeded(bound), bound, 200)
    assert drawn.max() < bound
    assert drawn.dtype.itemsize <= 4


@pytest.mark.parametrize("bound", [2, 3, 7, 127, 128, 200, 255, 256, 257, 1000])
def test_below_is_uniform(bound: int) -> None:
    drawn = below(seeded(bound), bound, 200_000)
    assert stats.chisquare(np.bincount(drawn, minlength=bound)).pvalue > 1e-6


@pytest.mark.parametrize("bound", [3, 7, 100, 127])
def test_below_rejects_exactly_what_would_be_drawn_too_often(bound: int) -> None:
    kept = []
    for byte in range(256):
        try:
            kept.append(int(below(Replay(bytes([byte])), bound, 1)[0]))
        except EOFError:  # rejected: it asked for another byte
            continue
    counts = np.bincount(kept, minlength=bound)
    assert counts.min() == counts.max() == 256 // bound


def test_categorical_follows_integer_weights() -> None:
    weights = [5, 0, 10**30, 3 * 10**30]
    drawn = np.bincount(categorical(seeded(), weights, 100_000), minlength=4)
    assert drawn[0] == drawn[1] == 0
    assert abs(drawn[2] - 25_000) < 5 * math.sqrt(100_000 * 0.25 * 0.75)
    for bad in ([], [0, 0], [-1, 2]):
        with pytest.raises((ParameterError, ValueError)):
            categorical(seeded(), bad, 1)


class ArrowLike:
    """to_numpy as pyarrow has it: a copy must be asked for."""

    def to_numpy(self, zero_copy_only: bool = True) -> np.ndarray:
        if zero_copy_only:
            raise ValueError("a copy is needed")
        return np.array([0, 1, 2])


class PandasLike:
    def to_numpy(self) -> np.ndarray:
        return np.array([0, 1, 2])


@pytest.mark.parametrize(
    "values", [ArrowLike(), PandasLike(), [0, 1, 2], (0, 1, 2), np.array([0, 1, 2])], ids=lambda v: type(v).__name__
)
def test_values_may_come_from_other_libraries(values: object) -> None:
    assert sdp.GRR(eps0=1.0, d=3).privatize(values).users == 3  # type: ignore[arg-type]


def test_masked_values_are_refused() -> None:
    with pytest.raises(ParameterError, match="masked"):
        sdp.GRR(eps0=1.0, d=3).privatize(np.ma.array([0, 1], mask=[False, True]))
