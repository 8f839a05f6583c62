"""The swap bound in balls: above the truth whatever the line, near the float evaluation where the line is good."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

import shuffledp as sdp
from reference import repetition
from reference.fractions_oracle import exp_enclosure, shuffled_divergence
from shuffledp.bounds import BOUNDS
from shuffledp.numerics.pair import ShuffledPair
from shuffledp.numerics.proof.pairs import Method
from shuffledp.numerics.proof.swap import MAX_NODES, MAX_TYPES, propose, prove, work
from shuffledp.numerics.swap.curve import SwapCurve
from shuffledp.numerics.swap.family import SwapSet
from shuffledp.numerics.swap.pair import SwapPair

Rows = list[list[float]]
#: A mixed dataset is 22 % above the constant ones in delta.
BINARY: Rows = [[10 / 11, 1 / 11], [1 / 11, 10 / 11]]


def member(rows: Rows, x0: int = 0, x1: int = 1) -> SwapPair:
    """A victim pair of a matrix among others of all its inputs."""
    types = tuple(ShuffledPair(P0=rows[x0], P1=rows[x1], t=row) for row in rows)
    return SwapPair(types, float(np.min(rows, axis=0).sum()))


def upper(pair: SwapPair, n: int, eps: float, method: Method) -> Fraction:
    return prove(pair.types, pair.common_mass, n, Fraction(eps), method).upper


def truth(rows: Rows, n: int, eps: float) -> Fraction:
    """The largest divergence over all datasets of the others, of a slightly smaller e^eps."""
    return max(
        shuffled_divergence(rows, 0, 1, others, exp_enclosure(eps)[1])
        for others in combinations_with_replacement(range(len(rows)), n - 1)
    )


def random_rows(source: random.Random) -> Rows:
    """Two or three inputs, two or three outputs, zeros and near-deterministic laws included."""
    symbols = source.choice([2, 3])
    rows = []
    for _ in range(source.choice([2, 3])):
        weights = [source.choice([0, 1, 1, 2, 5, 30]) for _ in range(symbols)]
        weights[source.randrange(symbols)] += 1
        rows.append([w / sum(weights) for w in weights])
    return rows


def random_line(source: random.Random, n: int) -> Method:
    c, s, h = (math.exp(source.uniform(-4.0, 1.0)) for _ in range(3))
    return Method("swap", 128, c=c, s=s, h=h, nodes=source.choice([1, 3, 30]), waits=source.randint(1, n - 1))


@pytest.mark.heavy
def test_any_line_is_above_the_truth_of_any_dataset() -> None:
    source = random.Random(5)
    close = 0.0
    for _ in range(60 if repetition.quick else 600):
        rows, n, eps = random_rows(source), source.choice([2, 3, 4, 5]), source.choice([0.0, 0.1, 0.5, 1.5])
        worst = truth(rows, n, eps)
        pair = member(rows)
        good = propose(pair, n, eps, 1e-9).method
        for method in (good, random_line(source, n), random_line(source, n)):
            found = upper(pair, n, eps, method)
            assert found >= worst
            close = max(close, float(worst / found) if found else 0.0)
    assert close > 0.5  # the truth is not far below, so an error would show


def test_holes_count() -> None:
    """What the victim sends and a type never does: left out, the formula gives 0.0001 for a truth of 0.1."""
    rows = [[0.9, 0.1], [1.0, 0.0]]
    assert truth(rows, 4, 0.0) == Fraction(0.1)
    for line in (propose(member(rows), 4, 0.0, 1e-9).method, random_line(random.Random(1), 4)):
        assert upper(member(rows), 4, 0.0, line) >= Fraction(0.1)


def test_a_mixed_dataset_is_covered() -> None:
    pair, n, eps = member(BINARY), 12, 0.1
    found = upper(pair, n, eps, propose(pair, n, eps, 1e-9).method)
    constant = max(shuffled_divergence(BINARY, 0, 1, [x] * 11, exp_enclosure(eps)[1]) for x in (0, 1))
    assert found >= truth(BINARY, n, eps) > constant * Fraction(6, 5)


def test_a_larger_common_mass_would_claim_more() -> None:
    """So it matters, and must come from the mechanism."""
    pair, n, eps = member(BINARY), 12, 0.1
    method = propose(pair, n, eps, 1e-9).method
    found = [upper(SwapPair(pair.types, mass), n, eps, method) for mass in (0.0, 0.05, pair.common_mass, 0.5, 1.0)]
    assert found == sorted(found, reverse=True) and found[-1] < 0.9 * found[2]
    assert found[0] == pytest.approx((10 - math.exp(eps)) / 11, rel=1e-9)  # nobody is free: the local divergence


@pytest.mark.parametrize("n", [10**4, 10**8, 10**12])
@pytest.mark.parametrize("spec", ["general:eps0=1", "general:eps0=4", "grr:eps0=1,d=16", "grr:eps0=4,d=3", "matrix"])
def test_balls_agree_with_floats(spec: str, n: int) -> None:
    if spec == "matrix":
        pair = member([[0.5, 0.3, 0.1, 0.1], [0.1, 0.4, 0.3, 0.2], [0.25, 0.25, 0.25, 0.25]])
    else:
        bound = "swap-general" if spec.startswith("general") else "swap"
        (pair,) = BOUNDS[bound].family(sdp.mechanism(spec)).laws(9)
    delta = 0.01 / n
    eps = SwapSet([pair]).epsilon(n=n, delta=delta, tol=1e-4, side="upper").epsilon
    found = propose(pair, n, eps, delta)
    value = math.log(upper(pair, n, eps, found.method))
    floats = SwapCurve.of([pair], np.array([float(n)]), 1e-4)
    assert value == pytest.approx(found.log_delta, abs=1e-3)
    assert value == pytest.approx(math.log(delta), abs=3e-3)
    assert value == pytest.approx(float(floats.at(np.array([eps]), np.full(1, 1e-4)).log_delta[0]), abs=3e-3)


def test_one_line_for_all_types() -> None:
    """The maximum over types at one (c, h, s): every type alone proves less."""
    pair, n, eps = member(BINARY), 1000, 0.5
    method = propose(pair, n, eps, 1e-9).method
    alone = [upper(SwapPair((one,), pair.common_mass), n, eps, method) for one in pair.types]
    assert upper(pair, n, eps, method) == max(alone)


@pytest.mark.heavy
def test_more_waits_and_nodes_only_help() -> None:
    pair, n, eps = member(BINARY), 500, 0.6
    method = propose(pair, n, eps, 1e-9).method
    kept = {"c": method.c, "s": method.s, "h": method.h}
    by_waits = [upper(pair, n, eps, Method("swap", 160, nodes=600, waits=w, **kept)) for w in (1, 10, 100, 300)]
    by_nodes = [upper(pair, n, eps, Method("swap", 160, nodes=k, waits=300, **kept)) for k in (1, 20, 200, 600)]
    assert by_waits == sorted(by_waits, reverse=True) and by_nodes == sorted(by_nodes, reverse=True)


@pytest.mark.parametrize("bits", [64, 90, 512])
def test_few_bits_are_wide_but_sound(bits: int) -> None:
    pair, n, eps = member(BINARY), 10**6, 0.02
    method = replace(propose(pair, n, eps, 1e-9).method, nodes=50)
    fine, other = (upper(pair, n, eps, replace(method, bits=b)) for b in (256, bits))
    assert other >= fine * (1 - Fraction(1, 10**15))


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "contour"},
        {"kind": "counts"},
        {"c": 0.0},
        {"c": -1.0},
        {"c": math.inf},
        {"c": math.nan},
        {"c": 1e9},
        {"s": 0.0},
        {"s": 1e9},
        {"h": 0.0},
        {"nodes": 0},
        {"nodes": MAX_NODES + 1},
        {"waits": 0},
        {"waits": -1},
        {"waits": 100},
        {"waits": 10**30},
    ],
    ids=str,
)
def test_unusable_methods_are_refused_in_words(change: dict[str, object]) -> None:
    good: dict[str, object] = {"kind": "swap", "bits": 128, "c": 1.0, "s": 1.0, "h": 1.0, "nodes": 9, "waits": 9}
    with pytest.raises(sdp.CertificationError, match=r"certify again\.$"):
        upper(member(BINARY), 100, 0.5, Method(**{**good, **change}))  # type: ignore[arg-type]


def test_unusable_laws_are_refused_in_words() -> None:
    line = Method("swap", 128, c=1.0, s=1.0, h=1.0, nodes=9, waits=9)
    pair = member(BINARY)
    for types, mass in (((), 0.5), (pair.types, 1.5), (pair.types, -0.1), (pair.types, math.nan)):
        with pytest.raises(sdp.CertificationError, match="common mass in"):
            prove(types, mass, 100, Fraction(1), line)
    with pytest.raises(sdp.CertificationError, match="at most 1,024 types"):
        work(list(itertools.repeat(pair.types[0], MAX_TYPES + 1)), line)


def test_one_user_is_alone() -> None:
    pair = member(BINARY)
    found = upper(pair, 1, 0.5, propose(pair, 1, 0.5, 1e-9).method)
    assert found == pytest.approx(10 / 11 - math.exp(0.5) / 11, rel=1e-9)
