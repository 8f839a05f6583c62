"""The samplers behind mechanisms: each follows its law, also where a table ends or a comparison is left open."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy import special, stats

import shuffledp as sdp
from shuffledp.mechanisms.numeric import discrete_laplace as noise
from shuffledp.mechanisms.numeric import sphere
from shuffledp.mechanisms.sets import circle
from shuffledp.mechanisms.sets.drawing import _chosen, by_members
from shuffledp.randomness.bits import column_counts, flip_bits, noise_rows, set_bits
from shuffledp.randomness.sampling import Keystream, Seeded, bernoulli


def seeded(seed: int = 0) -> Seeded:
    return Seeded(np.random.default_rng(seed))


def agrees(seen: np.ndarray, expected: np.ndarray) -> bool:
    """A chi-square test, rare cells merged."""
    rare = expected < 5
    if rare.any():
        seen, expected = (np.append(x[~rare], x[rare].sum()) for x in (seen, expected))
    kept = expected > 0
    if seen[~kept].any() or kept.sum() == 1:
        return not seen[~kept].any()
    return bool(stats.chisquare(seen[kept], expected[kept], sum_check=False).pvalue > 1e-6)


# -- rows of bits ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 7, 8, 13, 64, 128, 130])
@pytest.mark.parametrize("rows", [0, 1, 30, 31, 32, 255, 1000, 9001])
def test_column_counts_are_those_of_unpacked_bits(width: int, rows: int) -> None:
    table = noise_rows(seeded(rows), 0.4, rows, width)
    bits = np.unpackbits(table, axis=1, count=width)
    assert table.shape == (rows, (width + 7) // 8) and np.array_equal(np.packbits(bits, axis=1), table)
    assert np.array_equal(column_counts(table, width), bits.sum(axis=0))
    assert np.array_equal(column_counts(np.asfortranarray(table), width), bits.sum(axis=0))
    assert np.array_equal(column_counts(np.full_like(table, 255), 8 * table.shape[1]), [rows] * 8 * table.shape[1])
    odd = np.empty(table.size + 1, dtype=np.uint8)[1:].reshape(table.shape)  # not aligned to words
    odd[:] = table
    assert np.array_equal(column_counts(odd, width), bits.sum(axis=0))


def test_single_bits_are_flipped_and_set() -> None:
    table = noise_rows(seeded(1), 0.5, 500, 21)
    before, place = np.unpackbits(table, axis=1, count=21), np.arange(500, dtype=np.uint8) % 21
    flip_bits(table, place)
    changed = np.unpackbits(table, axis=1, count=21) ^ before
    assert np.array_equal(changed, np.eye(21, dtype=np.uint8)[place])
    set_bits(table, place, place % 2 == 0)
    after = np.unpackbits(table, axis=1, count=21)
    assert np.array_equal(after[np.arange(500), place], place % 2 == 0)
    elsewhere = np.eye(21, dtype=np.uint8)[place] == 0
    assert np.array_equal(after[elsewhere], before[elsewhere])


def test_bits_of_reports_are_independent() -> None:
    """All pairs of bits of a report, and of neighboring users, at the probability of the law."""
    m = sdp.Unary(eps0=2.0, d=16)
    users = 200_000
    bits = np.unpackbits(m.privatize(np.zeros(users, dtype=int)).data, axis=1).astype(np.float64)
    rate = np.where(np.arange(16) == 0, m.keep, m.stray)
    bits -= rate
    scale = np.sqrt(rate * (1 - rate))
    within = (bits.T @ bits) / users / np.outer(scale, scale)
    across = (bits[1:].T @ bits[:-1]) / users / np.outer(scale, scale)
    assert np.all(np.abs(within - np.diag(np.diag(within))) < 5.5 / math.sqrt(users))
    assert np.all(np.abs(across) < 5.5 / math.sqrt(users))


# -- sets --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "k"), [(5, 1), (5, 3), (6, 5), (4, 4), (7, 2)])
def test_chosen_sets_are_uniform(size: int, k: int) -> None:
    users = 60_000
    drawn = np.sort(_chosen(seeded(k), size, k, users, np.dtype(np.uint8)), axis=0)
    masks = (1 << drawn.astype(np.int64)).sum(axis=0)
    every = [sum(1 << v for v in y) for y in itertools.combinations(range(size), k)]
    seen = np.array([np.count_nonzero(masks == mask) for mask in every])
    assert seen.sum() == users and agrees(seen, np.full(len(every), users / len(every)))


@pytest.mark.parametrize("s", [1, 2, 3])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_members_given_the_hits(s: int, k: int) -> None:
    """The first ``hits`` held items and a uniform choice of the others, in rising order."""
    D, users = 8, 40_000
    held = np.repeat(np.array([[6], [1], [3]], dtype=np.uint8)[:s], users, axis=1)
    for hits in range(min(s, k) + 1):
        got = by_members(seeded(hits), D, k, held, np.full(users, hits))
        assert got.shape == (users, k) and np.all(got[:, 1:] > got[:, :-1])
        named = np.isin(got, held[:hits, 0])
        assert np.all(named.sum(axis=1) == hits) and not np.isin(got, held[hits:, 0]).any()
        others = np.setdiff1d(np.arange(D), held[:, 0])
        masks = np.where(named, 0, 1 << got.astype(np.int64)).sum(axis=1)
        every = [sum(1 << v for v in y) for y in itertools.combinations(others.tolist(), k - hits)]
        seen = np.array([np.count_nonzero(masks == mask) for mask in every])
        assert seen.sum() == users and agrees(seen, np.full(len(every), users / len(every)))


@pytest.mark.slow_cases("*-8", "*-149")
@pytest.mark.parametrize(
    ("d", "width", "terms"), [(5, 100, 2), (130, 10**8, 5), (200, 2**30, 8), (7, 2**31 - 2, 2), (9, 2**29, 149)]
)
@pytest.mark.parametrize("way", ["as it is", "many blocks", "everything left open"])
def test_supports_are_exact(d: int, width: int, terms: int, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if floating point decides nothing: with numbers whose products are near the ends of arcs."""
    N, rng = 2**31 - 1, np.random.default_rng(d)
    data = rng.integers(0, N, (1200, terms + 1)).astype(np.uint32)
    v = np.arange(len(data)) % d
    place = circle.positions(data[:, :-1].T, v.astype(np.uint64), N).astype(np.int64)
    ends = rng.choice([0, -1, 1, width, width - 1, width + 1], len(data))
    data[:, -1] = (place + ends) % N  # at the end of an arc, or next to it
    if way != "as it is":
        monkeypatch.setattr(circle, "_PRODUCTS", 3 * min(d, 128) * (terms + 2))
    if way == "everything left open":
        anchor, shift, _ = circle._anchor(terms, N)
        monkeypatch.setattr(circle, "_anchor", lambda *_: (anchor, shift, 1.0))
    wanted = np.zeros(d, dtype=int)
    for *seed, y in data.tolist():
        for item in range(d):
            wanted[item] += (y - sum(c * item**j for j, c in enumerate(seed, start=1))) % N < width
    assert np.array_equal(circle.supported(data, d, width, N), wanted)


def test_positions_of_large_items() -> None:
    N, rng = 2**31 - 1, np.random.default_rng(3)
    seed = rng.integers(0, N, (5, 300)).astype(np.uint32)
    for top in (2, 2**7, 2**28, N):
        items = rng.integers(0, top, 300).astype(np.uint64)
        found = circle.positions(seed, items, N)
        wanted = [
            sum(int(c) * int(v) ** j for j, c in enumerate(column, start=1)) % N
            for column, v in zip(seed.T, items, strict=True)
        ]
        assert found.tolist() == wanted


# -- noise -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.9, 0.4, 0.5, 2.0**-5])
def test_discrete_laplace_law_with_its_tails(rate: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables that end early: what lies beyond follows the same law."""
    monkeypatch.setattr(noise, "_REACH", 0.8)
    noise._Noise.of.cache_clear()
    try:
        size = 200_000
        drawn = noise.discrete_laplace(seeded(2), rate, size)
    finally:
        noise._Noise.of.cache_clear()
    reach = math.ceil(12 / rate)
    seen = np.bincount(np.clip(drawn + reach, 0, 2 * reach), minlength=2 * reach + 1)
    law = math.tanh(rate / 2) * np.exp(-rate * np.abs(np.arange(-reach, reach + 1)))
    assert agrees(seen, size * law)


@pytest.mark.parametrize("bits", [0, 2, 4])
def test_discrete_laplace_law_with_low_digits(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "_TABLE_BITS", bits)
    rate, size = 0.07, 200_000
    drawn = noise.discrete_laplace(seeded(3), rate, size)
    reach = 170
    seen = np.bincount(np.clip(drawn + reach, 0, 2 * reach), minlength=2 * reach + 1)
    law = math.tanh(rate / 2) * np.exp(-rate * np.abs(np.arange(-reach, reach + 1)))
    assert agrees(seen, size * law)
    assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 5 / math.sqrt(size)


def test_noise_weights_are_the_law() -> None:
    """Sums of the table against exact ones, to 25 digits and more of what is left."""
    import mpmath  # type: ignore[import-untyped]

    with mpmath.workdps(60):
        rate = 2.0**-4
        table, most = noise._Noise(rate)._table, math.ceil(5.0 / rate)
        a = mpmath.exp(-mpmath.mpf(rate))
        total = mpmath.mpf(0)
        for i, found in enumerate(table._sums):
            y = i - most
            tail = i == 0
            total += a**most / (1 + a) if tail else (1 - a) / (1 + a) * a ** abs(y)
            assert abs(mpmath.mpf(found) / 2**128 - total) < mpmath.mpf(2) ** -120


def test_rounding_to_the_grid_is_unbiased_and_reads_on_after_a_tie() -> None:
    x = np.full(400_000, 0.3)
    up = noise.on_grid(seeded(4), x, 0.25)
    assert set(np.unique(up)) == {1, 2} and abs(up.mean() - 1.2) < 5 * 0.4 / math.sqrt(x.size)
    assert np.array_equal(noise.on_grid(seeded(5), np.array([-1.0, 0.0, 0.75]), 0.25), [-4, 0, 3])
    below = noise.on_grid(seeded(6), np.full(400_000, -0.3), 0.25)
    assert set(np.unique(below)) == {-2, -1} and abs(below.mean() + 1.2) < 5 * 0.4 / math.sqrt(x.size)

    class Tied:
        for_release = False

        def __init__(self, word: int) -> None:
            self.left = [np.array([255], dtype=np.uint8), np.array([word], dtype=np.uint64).view(np.uint8)]

        def raw(self, size: int) -> Any:
            return self.left.pop(0)

    rest = 2.0**-12  # of a step: its first byte is 0, which ties with 255 - 255, and then 1/16
    assert noise.on_grid(Tied(2**60 - 1), np.array([rest]), 1.0)[0] == 1
    assert noise.on_grid(Tied(2**60), np.array([rest]), 1.0)[0] == 0


# -- directions --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 7, 100_001])
def test_normals(size: int) -> None:
    drawn = sphere.normals(Keystream(), size)
    assert drawn.shape == (size,)
    if size > 1000:
        assert stats.kstest(drawn, "norm").pvalue > 1e-6
        assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 5 / math.sqrt(size)
        half = size // 2
        assert abs(np.corrcoef(drawn[:half] ** 2, drawn[-half:] ** 2)[0, 1]) < 5 / math.sqrt(half)


@pytest.mark.parametrize("dim", [2, 3, 4, 5, 10, 21, 33, 34, 100])
def test_quantiles_to_thirteen_digits(dim: int) -> None:
    half = 0.5 * (dim - 1)
    rng = np.random.default_rng(dim)
    share = np.concatenate([rng.random(3000), 10.0 ** (-30 * rng.random(3000)), 1 - 1e-3 * rng.random(500), [0.5]])
    exact = special.betaincinv(half, half, share)
    assert sphere.quantile(half, share) == pytest.approx(exact, rel=2e-13, abs=0)


@pytest.mark.parametrize(("dim", "cap"), [(2, None), (3, 0.2), (10, None), (10, 0.7)])
def test_privunit_directions(dim: int, cap: float | None) -> None:
    """The inner product has its law in and out of the cap; across, the direction is uniform."""
    m = sdp.PrivUnit(eps0=1.5, dim=dim, cap=cap)
    x = np.zeros(dim)
    x[0] = 1.0
    data = m.privatize(np.tile(x, (60_000, 1))).data / 32767.0
    along = special.betainc(0.5 * (dim - 1), 0.5 * (dim - 1), np.clip(0.5 * (1.0 - data[:, 0]), 0, 1))
    high, low = m._densities
    uniform = np.where(along < m.cap, along * high, m.cap * high + (along - m.cap) * low)
    assert stats.kstest(uniform, "uniform", method="asymp").pvalue > 1e-6
    if dim > 2:
        angle = np.arctan2(data[:, 1], data[:, 2])
        assert stats.kstest((angle + math.pi) / (2 * math.pi), "uniform", method="asymp").pvalue > 1e-6
        assert abs(np.corrcoef(data[:, 0], data[:, 1])[0, 1]) < 5 / math.sqrt(60_000)


@pytest.mark.parametrize(("d", "l"), [(255, 3), (256, 2), (300, 2)])
def test_dummy_keys_lie_above_all_keys(d: int, l: int) -> None:
    m = sdp.PCKVGRR(eps0=30.0, d=d, l=l)  # hardly any report is uniform
    nobody = np.full((3000, 1, 2), -1.0)
    counts = m.privatize_counts(nobody, rng=np.random.default_rng(0)).counts
    assert counts[: 2 * d].sum() == 0 and counts[2 * d :].sum() == 3000 and np.all(counts[2 * d :] > 0)


# -- rare answers ---------------------------------------------------------------------------------------------------


class Smallest:
    """Random words that are all 0 or 1, in turns: among all turns is one that makes the rarest events happen."""

    for_release = False

    def __init__(self, turns: tuple[int, ...]) -> None:
        self._turns = itertools.cycle(turns)

    def raw(self, size: int) -> np.ndarray:
        found = np.zeros(size, dtype=np.uint8)
        found[:1] = next(self._turns)
        return found


@pytest.mark.parametrize(
    "spec",
    ["hybrid:eps0=24", "grr:eps0=45,d=9", "window:eps0=40,d=5,cells=2", "hadamard:eps0=38,d=4"],
)
def test_the_rarest_answer_can_be_given(spec: str) -> None:
    m = sdp.mechanism(spec)
    value, rare = (
        (1.0, m._window._outputs) if spec.startswith("hybrid") else (1.0 if spec.startswith("window") else 1, 0)
    )
    turns = [some for some in itertools.product((0, 1), repeat=8) if any(some)]
    assert any(m._randomize(np.array([value]), Smallest(some))[0] == rare for some in turns)


RARE = [
    ("grr:eps0={},d=7", [0], lambda m, e: 7 / (e + 6)),
    ("hadamard:eps0={},d=20", [0], lambda m, e: m.outputs / (m.block // 2 * (e - 1) + m.outputs)),
    ("local-hash:eps0={},d=20,l=4", [0], lambda m, e: 4 / (e + 3)),
    ("window:eps0={},d=8", [0.5], lambda m, e: 8 / (e + 7)),
    (
        "wheel:eps0={},d=8,s=2",
        [(0, 1)],
        lambda m, e: 1 / (1 + (1 / mp.mpf(m._covered.numerator) * m._covered.denominator - 1) / e),
    ),
]


@pytest.mark.parametrize(("spec", "values", "chance"), RARE)
@pytest.mark.parametrize("eps0", [1e-4, 0.7, 12.0, 80.0])
def test_a_coin_and_its_complement_have_all_their_digits(
    spec: str, values: list[object], chance: Callable[[Any, Any], Any], eps0: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Accounting takes both to be right to a relative 2^-50 (docs/proofs.md, Lemma 5); here they are by mpmath."""
    m = sdp.mechanism(spec.format(eps0))
    module, asked = sys.modules[type(m).__module__], []

    def seen(src: Any, probability: float | Fraction, size: int) -> Any:
        asked.append(Fraction(probability))
        return bernoulli(src, probability, size)

    monkeypatch.setattr(module, "bernoulli", seen)
    m.privatize(values, rng=np.random.default_rng(0))
    with mp.workdps(80):
        wanted = chance(m, mp.exp(mp.mpf(eps0)))
        found = mp.mpf(asked[0].numerator) / asked[0].denominator
        for here, there in ((found, wanted), (1 - found, 1 - wanted)):
            assert abs(here / there - 1) <= mp.mpf(2) ** -50
