"""Random numbers of messages and binary response, against sums in exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from shuffledp.errors import BoundNotApplicableError, ParameterError
from shuffledp.numerics.binary import BinaryResponse, lines
from shuffledp.numerics.composition.sequential import Bundle
from shuffledp.numerics.counts import UNLIMITED, Count, Distribution, buckets, cuts
from shuffledp.numerics.family import PairSet
from shuffledp.numerics.mixture import Among, MixtureCurve, Piece
from shuffledp.numerics.pair import ShuffledPair, Side

COIN = ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.5, 0.5])
SIDES: tuple[Side, Side] = ("upper", "lower")
EPSILONS = np.array([0.0, 0.1, 0.4, 0.9])


def coin_delta(others: int, eps: float) -> float:
    """D_E of COIN among a fixed number of fair coins, count by count."""
    E, total = Fraction(math.exp(eps)), Fraction(0)

    def chance(ones: int) -> Fraction:
        return Fraction(math.comb(others, ones), 2**others) if 0 <= ones <= others else Fraction(0)

    for ones in range(others + 2):
        stays, moves = chance(ones), chance(ones - 1)
        p = Fraction(3, 4) * moves + Fraction(1, 4) * stays
        q = Fraction(1, 4) * moves + Fraction(3, 4) * stays
        total += max(p - E * q, Fraction(0))
    return float(total)


def law(count: Count, most: int) -> list[float]:
    """Pr[count = k] for k up to ``most``, by convolution."""
    out = np.zeros(most + 1)
    out[min(count.fixed, most)] = 1.0
    for size, chance in count.parts:
        if size == UNLIMITED:
            part = np.array([math.exp(-chance + k * math.log(chance) - math.lgamma(k + 1)) for k in range(most + 1)])
        else:
            part = np.array([math.comb(size, k) * chance**k * (1 - chance) ** (size - k) for k in range(size + 1)])
        out = np.convolve(out, part)[: most + 1]
    return [float(x) for x in out]


COUNTS = [
    Count(7),
    Count(0, ((12, 0.3),)),
    Count(3, ((10, 0.5),)),
    Count(2, ((6, 0.25), (9, 0.75))),
    Count(0, ((UNLIMITED, 3.5),)),
    Count(4, ((UNLIMITED, 2.0), (5, 0.5))),
]


@pytest.mark.parametrize("count", COUNTS)
def test_a_random_number_of_messages_is_a_mixture(count: Count) -> None:
    masses = law(count, 60)
    truth = np.array([sum(w * coin_delta(m, eps) for m, w in enumerate(masses) if w > 0.0) for eps in EPSILONS])
    family = Among([COIN], lambda n: count)
    upper, lower = (np.exp(family.log_delta(EPSILONS, n=1, tol=1e-6, side=side)) for side in SIDES)
    assert np.all(upper >= truth * (1 - 1e-12)) and np.all(lower <= truth * (1 + 1e-12))
    assert np.all(upper <= truth * (1 + 1e-4)) and np.all(lower >= truth * (1 - 1e-4) - 1e-15)


@pytest.mark.parametrize("count", COUNTS[1:])
@pytest.mark.parametrize("side", SIDES)
def test_buckets_are_stochastically_on_the_private_side(count: Count, side: Side) -> None:
    exact = np.cumsum(law(count, 400))
    at, mass = buckets(count, side, 1e-2)
    rounded = np.array([mass[at <= k].sum() for k in range(60)])
    assert np.all(rounded >= exact[:60] - 1e-12) if side == "upper" else np.all(rounded <= exact[:60] + 1e-12)


def test_wide_numbers_are_rounded_to_cells_and_stay_on_their_sides() -> None:
    count = Count(5, ((10**9, 0.4), (10**8, 0.1), (UNLIMITED, 1e6)))
    at = np.rint(count.mean + count.deviation * np.linspace(-8.0, 8.0, 9)).astype(np.int64)
    above, below = Distribution(count, up=True).at(at), Distribution(count, up=False).at(at)
    assert np.all(below <= above) and abs(above[4] - 0.5) < 0.02 and abs(below[4] - 0.5) < 0.02


def test_pieces_that_are_skipped_are_charged() -> None:
    rare = [Piece(1.0 - 1e-13, COIN, 2000), Piece(1e-13, COIN, 5)]
    curve = MixtureCurve.of([rare, rare], "upper")
    value = curve.at(np.array([0.3, 1.09]), np.full(2, 1e-2)).log_delta
    assert np.all(value >= np.log([1e-13 * coin_delta(4, eps) for eps in (0.3, 1.09)]))


def test_too_many_messages_are_refused() -> None:
    with pytest.raises(ParameterError, match="at most 1e15 messages"):
        Among([COIN], lambda n: Count(10**16)).epsilon(n=1, delta=1e-6, tol=1e-3, side="upper")


@pytest.mark.parametrize(
    "count", [Count(0, ((50, 0.5),)), Count(0, ((400, 0.5),)), Count(3, ((60, 0.5), (30, 0.25))), Count(7)], ids=str
)
def test_cuts_are_above_the_mixture(count: Count) -> None:
    """Every cut of a random number, and not by much the best of them; a number that is fixed loses nothing."""
    pairs, terms = [COIN, COIN.swapped()], {"tol": 1e-5, "side": "upper"}
    for delta in (1e-2, 1e-6):
        exact = Among(pairs, lambda _: count).epsilon(n=1, delta=delta, **terms).epsilon  # type: ignore[arg-type]
        found = [
            PairSet(pairs).epsilon(n=cut.k + 1, delta=cut.delta, **terms).epsilon  # type: ignore[arg-type]
            for cut in cuts(count, delta)
        ]
        assert exact * (1.0 - 2e-5) <= min(found) <= exact * (1.5 if count.parts else 1.0 + 2e-5)


def test_what_is_claimed_for_several_reports() -> None:
    bundle = Bundle(PairSet([COIN]), reports=2, limit=math.log(3.0))
    with pytest.raises(BoundNotApplicableError, match="several reports per user"):
        bundle.epsilon(n=10, delta=1e-6, tol=1e-3, side="lower")
    with pytest.raises(ParameterError, match="delta must be at least"):
        bundle.epsilon(n=10, delta=1e-160, tol=1e-3, side="upper")
    one, two = (Bundle(PairSet([COIN]), reports=k, limit=math.log(3.0)) for k in (1, 2))
    value = [f.epsilon(n=100, delta=1e-6, tol=1e-4, side="upper").epsilon for f in (one, two)]
    assert value[0] < value[1] < 2.0 * value[0]


def response_delta(keep: Fraction, held: list[int], E: Fraction) -> Fraction:
    """D_E of a batch of binary responses, by the law of its number of ones under both bits of the victim."""

    def ones(values: list[int]) -> list[Fraction]:
        out = [Fraction(1)]
        for bit in values:
            p = keep if bit else 1 - keep
            out = [(1 - p) * a + p * b for a, b in zip([*out, Fraction(0)], [Fraction(0), *out], strict=True)]
        return out

    return sum(
        (max(a - E * b, Fraction(0)) for a, b in zip(ones([0, *held]), ones([1, *held]), strict=True)), Fraction(0)
    )


@pytest.mark.parametrize("n", [1, 2, 3, 6])
@pytest.mark.parametrize("eps0", [0.5, 2.0])
def test_binary_response_is_the_worst_dataset(n: int, eps0: float) -> None:
    keep = 1 / (1 + Fraction(math.exp(-eps0)))
    eps = np.linspace(0.0, 0.95 * eps0, 5)
    held = [list(x) for x in product((0, 1), repeat=n - 1)]
    truth = [float(max(response_delta(keep, x, Fraction(math.exp(e))) for x in held)) for e in eps]
    truth = [max(a, 1e-300) for a in truth]
    family = BinaryResponse(eps0, eps0)
    for side in SIDES:
        value = np.exp(family.log_delta(eps, n=n, tol=1e-6, side=side))
        assert np.allclose(value, truth, rtol=1e-9, atol=1e-14)
        back = family.epsilon(n=n, delta=truth[2], tol=1e-6, side=side).epsilon
        assert back == pytest.approx(eps[2], abs=1e-9)
        assert back >= eps[2] * (1 - 1e-13) if side == "upper" else back <= eps[2] * (1 + 1e-13)


def test_binary_response_searches_every_block() -> None:
    """A search over blocks is at least every dataset, here all of them one by one."""
    family = BinaryResponse(1.5, 1.5)
    few = family.epsilon(n=300, delta=1e-5, tol=1e-6, side="upper").epsilon
    every = max(lines(1.5, k, 299 - k, "lower").epsilon(1e-5) for k in range(300))
    assert every <= few <= every * (1 + 1e-5)
