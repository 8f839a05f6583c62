"""Programs in whole numbers: every primitive by brute force, every law by the tree of all its draws, exactly."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.randomness import program, program_input, thresholds
from shuffledp.randomness.program import draw_law, draw_messages, encode
from shuffledp.randomness.program_input import number, read_input
from shuffledp.randomness.thresholds import ONE, below, choose, coin, coins, cuts, sample, threshold
from shuffledp.randomness.whole_numbers import poisson_cuts

UNIT = Fraction(1, ONE)


def tape(*parts: bytes) -> Callable[[int], bytes]:
    """The bytes one after the other; asking for more of them is an error."""
    left = bytearray(b"".join(parts))

    def take(count: int) -> bytes:
        if count > len(left):
            raise EOFError
        found = bytes(left[:count])
        del left[:count]
        return found

    return take


# -- primitives -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", [2, 3, 5, 8, 100, 255, 256, 300])
def test_below_is_uniform_over_all_bytes(bound: int) -> None:
    size = ((bound - 1).bit_length() + 7) // 8
    found: Counter[int] = Counter()
    for raw in itertools.product(range(256), repeat=size):
        try:
            found[below(bound, tape(bytes(raw)))] += 1
        except EOFError:  # drawn again
            continue
    assert sorted(found) == list(range(bound))
    assert len(set(found.values())) == 1


HEX = 32 * "0"


@pytest.mark.parametrize(
    ("law", "x"),
    [
        ({"kind": "uniform", "size": 0}, 0),
        ({"kind": "uniform", "size": -3}, 0),
        ({"kind": "bits", "size": 2**53, "one": HEX, "zero": HEX}, 0),
        ({"kind": "hash", "buckets": 1, "bits": 2**53, "keep": HEX}, 0),
        ({"kind": "half-space", "size": 0, "high": "1" + HEX}, []),
        ({"kind": "wheel", "points": 1, "width": 1, "terms": 2**53, "on": HEX}, [0]),
        ({"kind": "subset", "size": 2**53, "members": 2**53 - 1, "hits": []}, 0),
        ({"kind": "messages", "per": "unit", "own": {"kind": "same"}, "first": 0, "count": []}, 2**53),
        ({"kind": "messages", "per": "value", "own": {"kind": "same"}, "dummy": {"kind": "same"}, "held": 0}
         | {"first": 2**53, "count": []}, 0),
    ],
)  # fmt: skip
def test_a_law_that_would_never_end_is_refused(law: dict[str, Any], x: Any) -> None:
    with pytest.raises(sdp.ParameterError, match=r"a law must .*; do not run it"):
        draw_messages(law, x, bytes)


def test_an_input_or_a_report_that_would_never_end_is_refused() -> None:
    number_ = {"kind": "number", "column": 0, "low": 0, "high": 1, "missing": 0, "grids": [2**53]}
    items = {"kind": "items", "column": 0, "labels": [], "other": -1, "separator": "", "size": 2**53, "fill": 0}
    for read, user in ((number_, 1), (items, 1), (number_, 2**53)):
        made = {"columns": ["x"], "input": read, "law": {"kind": "same"}, "reports_per_user": user, "slots": 1}
        with pytest.raises(sdp.ParameterError, match=r"a law must take at most 8,388,608 steps"):
            program.draw_rows(made, [], bytes)


def test_below_one_takes_nothing_and_rejected_bytes_are_followed_by_the_next() -> None:
    assert below(1, tape()) == 0
    assert below(3, tape(b"\xff\x07\x02")) == 2
    assert below(257, tape(b"\x01\x01", b"\xff\x00")) == 256


def test_coin_and_choose_decide_at_the_threshold() -> None:
    text = threshold(Fraction(1, 3))
    word = int(text, 16)
    assert coin(text, tape((word - 1).to_bytes(16, "big")))
    assert not coin(text, tape(word.to_bytes(16, "big")))
    assert coin(threshold(1), tape(b"\xff" * 16))
    assert not coin(threshold(0), tape(bytes(16)))
    listed = cuts([1, 1, 2])
    assert [choose(listed, tape(int(t, 16).to_bytes(16, "big"))) for t in listed] == [1, 2]
    assert choose(listed, tape(bytes(16))) == 0
    assert choose([], tape()) == 0


def test_thresholds_outside_of_probabilities_are_refused() -> None:
    with pytest.raises(sdp.ParameterError, match="probability must lie in"):
        threshold(1.5)


def test_fair_coins_are_the_first_bits() -> None:
    assert coins(10, tape(b"\xa0\x40")) == [1, 0, 1, 0, 0, 0, 0, 0, 0, 1]


# -- the exact law of a program: the tree of all draws ----------------------------------------------------------------


class AgainError(Exception):
    """A rejected draw would start again."""


def exact_law(run: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch, passes: int = 10**9) -> dict[Any, Fraction]:
    """The probability of every answer: the primitives are replaced by branches with their exact probabilities."""
    found: dict[Any, Fraction] = {}
    tree = Branches(passes)
    with monkeypatch.context() as patched:
        for module, name in itertools.product((program, program_input, thresholds), tree.instead):
            if name in vars(module):
                patched.setattr(module, name, tree.instead[name])
        while tree.begun():
            with suppress(AgainError):
                key = _plain(run(None))
                found[key] = found.get(key, Fraction(0)) + tree.chance
    return found


class Branches:
    """All ways through a program, one after the other: which branch is taken at every draw."""

    def __init__(self, passes: int) -> None:
        self._taken: list[int] = []
        self._widths: list[int] = []
        self._passes, self._first = passes, True
        self.instead: dict[str, Any] = {
            "coin": lambda text, take: self._branch([1 - int(text, 16) * UNIT, int(text, 16) * UNIT]) == 1,
            "choose": self._choose,
            "below": lambda bound, take: self._branch([Fraction(1, bound)] * bound),
            "coins": self._coins,
        }

    def begun(self) -> bool:
        """Whether there is another way; it starts now."""
        while self._taken and self._taken[-1] + 1 == self._widths[len(self._taken) - 1]:
            self._taken.pop()
        more = self._first or bool(self._taken)
        if self._taken:
            self._taken[-1] += 1
        self._first, self._widths, self._drawn, self.chance = False, [], 0, Fraction(1)
        return more

    def _branch(self, chances: list[Fraction]) -> int:
        possible, at = [i for i, p in enumerate(chances) if p], len(self._widths)
        if at == len(self._taken):
            self._taken.append(0)
        self._widths.append(len(possible))
        k = possible[self._taken[at]]
        self.chance *= chances[k]
        return k

    def _choose(self, listed: list[str], take: Any) -> int:
        ends = [Fraction(0), *(int(text, 16) * UNIT for text in listed), Fraction(1)]
        return self._branch([b - a for a, b in itertools.pairwise(ends)])

    def _coins(self, count: int, take: Any) -> list[int]:
        self._drawn += 1
        if self._drawn > self._passes:
            raise AgainError
        k = self._branch([Fraction(1, 2**count)] * 2**count)
        return [k >> (count - 1 - i) & 1 for i in range(count)]


def _plain(answer: Any) -> Any:
    return tuple(map(_plain, answer)) if isinstance(answer, list) else answer


def distance(one: dict[Any, Fraction], other: dict[Any, Fraction]) -> Fraction:
    return sum((abs(one.get(k, Fraction(0)) - other.get(k, Fraction(0))) for k in {*one, *other}), Fraction(0)) / 2


def test_samples_are_uniform(monkeypatch: pytest.MonkeyPatch) -> None:
    found = exact_law(lambda take: sample(6, 3, take), monkeypatch)
    assert set(found) == set(itertools.combinations(range(6), 3))
    assert set(found.values()) == {Fraction(1, 20)}


def _lie(m: Any) -> Fraction:
    """The share of reports that do not depend on the value."""
    if isinstance(m, sdp.Hadamard):
        own, rest = 1.0 / m._gain, m.outputs * m._other
    elif isinstance(m, sdp.GRR | sdp.LocalHash | sdp.Window):
        size = m.l if isinstance(m, sdp.LocalHash) else m.d
        own, rest = m.beta, size / (math.exp(m.eps0) + size - 1)
        stray = m._miss if isinstance(m, sdp.LocalHash) else m._response.stray if isinstance(m, sdp.Window) else m.stray
        assert rest == pytest.approx(size * stray, rel=1e-12)
        rest = size * stray
    else:
        return Fraction(0)
    return 1 - Fraction(own) if own < rest else Fraction(rest)


#: eps0, and options or buckets or windows: where 1 - lie, or lie, has few digits left in floats.
@pytest.mark.parametrize("eps0", [1e-6, 0.01, 1.0, 5.0, 30.0, 45.0])
@pytest.mark.parametrize("kind", ["grr", "local-hash", "window", "hadamard", "harmony", "wheel", "pckv-grr", "hybrid"])
def test_every_probability_is_that_of_the_formula_to_50_bits(kind: str, eps0: float) -> None:
    """As accounting takes them to be: both the chance of the truth and that of a lie, by the formulas in 60 digits."""
    from mpmath import mp, mpf

    with mp.workdps(60):
        e = mp.exp(mpf(eps0))
        for m, text, own in _coins(kind, eps0, e, mpf):
            found = mpf(int(text, 16)) / ONE
            slack = mpf(2) / ONE
            assert abs(found - own) <= own * mpf(2) ** -50 + slack, m
            assert abs((1 - found) - (1 - own)) <= (1 - own) * mpf(2) ** -50 + slack, m


def _coins(kind: str, eps0: float, e: Any, mpf: Any) -> Iterator[tuple[str, str, Any]]:
    """Mechanisms, a threshold of each, and its probability by the formula."""
    for size in (2, 10, 1000, 2**30):
        m: Any
        if kind == "grr":
            m = sdp.GRR(eps0=eps0, d=size)
            yield m.spec, m._portable_law()["keep"], (e - 1) / (e + size - 1)
        elif kind == "local-hash":
            m = sdp.LocalHash(eps0=eps0, d=1000, l=size)
            yield m.spec, m._portable_law()["keep"], (e - 1) / (e + size - 1)
        elif kind == "pckv-grr":
            m = sdp.mechanism(f"pckv-grr:eps0={eps0},d={size},l=2")
            yield m.spec, m._portable_law()["keep"], 2 * (e - 1) / (2 * (e - 1) + 2 * (size + 2))
        elif kind == "hadamard":
            m = sdp.Hadamard(eps0=eps0, d=min(size, 2**28))
            s = m.block // 2
            yield m.spec, m._portable_law()["keep"], s * (e - 1) / (s * e + m.outputs - s)
        elif kind == "wheel" and size <= 10:
            m = sdp.mechanism(f"wheel:eps0={eps0},d=100,s={size}")
            w = mpf(m._width) / m._points
            yield m.spec, m._portable_law()["on"], size * w * e / (size * w * e + 1 - size * w)
        elif kind == "window" and size in (10, 1000):
            m = sdp.mechanism(f"window:eps0={eps0},d={size},cells=2")
            yield m.spec, m._portable_law()["uniform"], size / (e + size - 1)
        elif kind in ("harmony", "hybrid") and size == 10:
            m = sdp.mechanism(f"{kind}:eps0={eps0}" + (",dim=3" if kind == "harmony" else ""))
            law = m._portable_law()
            sign = law["law"] if kind == "harmony" else law["laws"][1]
            yield m.spec, sign["keep"], (e - 1) / (e + 1)


def _expected(m: Any, x: Any) -> dict[Any, Fraction]:
    """The law of the mechanism's floats, taken as the exact numbers that they are; of two that sum to 1 the smaller."""
    lie = _lie(m)
    if isinstance(m, sdp.GRR):
        return {y: lie / m.d + (1 - lie) * (y == x) for y in range(m.d)}
    if isinstance(m, sdp.OptimizedUnary | sdp.Unary):
        rows, stray = itertools.product((0, 1), repeat=m.d), Fraction(m.coins[1].one)
        held = Fraction(1, 2) if isinstance(m, sdp.OptimizedUnary) else 1 - stray
        chances = [held if i == x else stray for i in range(m.d)]
        return {
            tuple(i for i in range(m.d) if row[i]): math.prod(
                (p if bit else 1 - p for bit, p in zip(row, chances, strict=True)), start=Fraction(1)
            )
            for row in rows
        }
    if isinstance(m, sdp.Subset):
        low, sets = Fraction(math.exp(-m.eps0)), list(itertools.combinations(range(m.d), m.k))
        weight = {y: Fraction(1) if x in y else low for y in sets}
        return {y: w / sum(weight.values()) for y, w in weight.items()}
    if isinstance(m, sdp.Hadamard):
        half = m.block // 2
        own = m.probabilities()[x] > 1.5 * m._other
        return {y: lie / m.outputs + (1 - lie) * int(own[y]) / half for y in range(m.outputs)}
    if isinstance(m, sdp.LocalHash):
        seeds = list(itertools.product(range(m.l), repeat=m._bits))
        hashed = {a: sum(c for i, c in enumerate(a) if x >> i & 1) % m.l for a in seeds}
        return {(*a, y): (lie / m.l + (1 - lie) * (y == h)) / len(seeds) for a, h in hashed.items() for y in range(m.l)}
    if isinstance(m, sdp.Window):
        return {y: lie / m._outputs + (1 - lie) * (0 <= y - x < m.cells) / m.cells for y in range(m._outputs)}
    if isinstance(m, sdp.Binomial):
        row = [Fraction(p) for p in m._rows[x].tolist()]
        return {y: p / sum(row) for y, p in enumerate(row)}
    raise AssertionError


@pytest.mark.parametrize(
    "spec",
    [
        "grr:eps0=1.7,d=7",
        "randomized-response:eps0=0.3",
        "optimized-unary:eps0=2,d=5",
        "unary:eps0=1,d=5",
        "hadamard:eps0=2.5,d=7",
        "local-hash:eps0=1,d=6,l=3",
        "subset:eps0=1,d=6,k=2",
        "subset:eps0=1,d=6,k=4",
        "window:eps0=3,d=3,cells=4",
        "binomial:flips=5,stretch=1.2,shape=0.3,noise=0.1,inputs=5",
    ],
)
def test_the_law_is_that_of_the_sampler_to_120_bits(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    m: Any = sdp.mechanism(spec)
    law = m._portable_law()
    for x in range(len(m.inputs())):
        found = exact_law(lambda take, x=x: draw_law(law, x, take), monkeypatch)
        assert sum(found.values()) == 1
        assert distance(found, _expected(m, x)) <= Fraction(1, 2**120)


def _columns(m: Any, answer: Any) -> int:
    """The column of ``probabilities`` of an answer, through the bytes that it is written as."""
    from shuffledp.protocol.messages import from_bytes
    from shuffledp.protocol.portable import _encoding

    raw = encode(_encoding(m.codec), answer)
    return int(m._columns(from_bytes(m.codec, raw))[0])


def _listed(answer: Any) -> Any:
    return list(map(_listed, answer)) if isinstance(answer, tuple) else answer


#: Spec, and what the law is given for an input of the mechanism.
SMALL: dict[str, Callable[[Any], Any]] = {
    "grr:eps0=2,d=5": lambda x: x,
    "unary:eps0=2,d=4": lambda x: x,
    "optimized-unary:eps0=1,d=4": lambda x: x,
    "subset:eps0=1.5,d=5,k=2": lambda x: x,
    "subset:eps0=0.2,d=20,k=2": lambda x: x,
    "hadamard:eps0=1,d=5": lambda x: x,
    "hadamard:eps0=3,d=9": lambda x: x,
    "local-hash:eps0=1,d=4,l=3": lambda x: x,
    "local-hash:eps0=1,d=5,l=2": lambda x: x,
    "privset:eps0=1,d=3,s=2,k=2": lambda x: [3 + j if v < 0 else v for j, v in enumerate(x)],
    "sampling-rappor:eps0=2,d=4,s=2": lambda x: list(x),
    "window:eps0=2,d=3,cells=2": None,  # type: ignore[dict-item]  # the number of the point
    "levels:eps0=2,d=4": None,  # type: ignore[dict-item]
    "piecewise:eps0=1": None,  # type: ignore[dict-item]
    "binomial:flips=3,stretch=1.1,shape=0.3,noise=0.2,inputs=3": None,  # type: ignore[dict-item]
    "gaussian:sigma=1,low=-1,high=1": None,  # type: ignore[dict-item]
    "harmony:eps0=1,dim=3": lambda x: [int(v > 0) for v in x],
    "hierarchical-grr:eps0=2,d=6": lambda x: x,
}


@pytest.mark.parametrize("spec", SMALL)
def test_the_law_is_the_matrix(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    m: Any = sdp.mechanism(spec)
    law, rows, given = m._portable_law(), m.probabilities(), SMALL[spec]
    inputs = m.inputs()
    for i, x in list(enumerate(inputs))[:: max(1, len(inputs) // 8)]:
        found = np.zeros(rows.shape[1])
        value = given(x) if given else i
        for answer, chance in exact_law(lambda take, v=value: draw_law(law, v, take), monkeypatch).items():
            found[_columns(m, _listed(answer))] += float(chance)
        np.testing.assert_allclose(found, rows[i], rtol=1e-12, atol=1e-15)


def test_the_hybrid_and_tuples_are_those_of_their_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    m: Any = sdp.mechanism("hybrid:eps0=1")
    law, rows = m._portable_law(), m.probabilities()
    for at, sign in ((0, 0), (len(rows) - 1, 1)):
        found = exact_law(lambda take, x=[at, sign]: draw_law(law, x, take), monkeypatch)
        np.testing.assert_allclose([float(found.get(y, 0)) for y in range(rows.shape[1])], rows[at], rtol=1e-12)
    joint: Any = sdp.Joint([sdp.GRR(eps0=1.0, d=3), sdp.Unary(eps0=1.0, d=2)])
    both = np.zeros(joint.probabilities().shape[1])
    for answer, chance in exact_law(lambda take: draw_law(joint._portable_law(), [2, 1], take), monkeypatch).items():
        both[_columns(joint, _listed(answer))] += float(chance)
    np.testing.assert_allclose(both, joint.probabilities()[joint.inputs().index((2, 1))], rtol=1e-12)
    parallel: Any = sdp.Parallel([(0.25, sdp.GRR(eps0=1.0, d=3)), (0.75, sdp.Unary(eps0=1.0, d=2))])
    one = np.zeros(parallel.probabilities().shape[1])
    for answer, chance in exact_law(lambda take: draw_law(parallel._portable_law(), [2, 1], take), monkeypatch).items():
        one[_columns(parallel, _listed(answer))] += float(chance)
    np.testing.assert_allclose(one, parallel.probabilities()[parallel.inputs().index((2, 1))], rtol=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 5])
def test_half_spaces(dim: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not drawn again in one pass, given the coin, is the law."""
    m: Any = sdp.mechanism(f"duchi:eps0=1.2,dim={dim}")
    law, rows = m._portable_law(), m.probabilities()
    chance = int(law["high"], 16) * UNIT
    for i in (0, 1, len(rows) // 2):
        x = [int(v > 0) for v in m.inputs()[i]]
        total = np.zeros(len(rows))
        for high, weight in ((threshold(1), chance), (threshold(0), 1 - chance)):
            found = exact_law(lambda take, h=high, x=x: draw_law({**law, "high": h}, x, take), monkeypatch, passes=1)
            for answer, p in found.items():
                place = sum(1 << (dim - 1 - j) for j in answer)
                total[place] += float(weight * p / sum(found.values()))
        np.testing.assert_allclose(total, rows[i], rtol=1e-12)


@pytest.mark.parametrize("items", [[2], [1, 3], [0, 2]])
def test_the_wheel_on_a_small_circle(items: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """For one seed: density e/Omega on the union of the arcs, what is left evenly elsewhere."""
    points, width, on = 11, 2, Fraction(3, 5)
    s = len(items)
    law = {"kind": "wheel", "points": points, "width": width, "terms": 1, "on": threshold(on)}
    found = exact_law(lambda take: draw_law(law, items, take), monkeypatch)
    for seed in range(points):
        covered = {(seed * v + j) % points for v in items for j in range(width)}
        given = {y: found.get((seed, y), Fraction(0)) * points for y in range(points)}
        each = on / (s * width)  # s W e / (N Omega) divided by s W points
        for y in range(points):
            rest = (1 - each * len(covered)) / (points - len(covered))
            assert abs(given[y] - (each if y in covered else rest)) <= 4 * UNIT


def test_messages_are_own_ones_and_dummies(monkeypatch: pytest.MonkeyPatch) -> None:
    m: Any = sdp.mechanism("mix-dump:d=3,flip=0.25,messages=1.25")
    found = exact_law(lambda take: draw_messages(m._portable_law(), 1, take), monkeypatch)
    by_count = Counter({size: sum(p for y, p in found.items() if len(y) == size) for size in (2, 3)})
    assert by_count == {2: Fraction(3, 4), 3: Fraction(1, 4)}
    keep = sum(p for y, p in found.items() if y[0] == 1)
    assert float(keep) == pytest.approx(0.75, rel=1e-12)
    last = [sum(p for y, p in found.items() if y[-1] == v) for v in range(3)]
    assert set(last) == {Fraction(1, 3)}
    rows: Any = sdp.mechanism("cheu-zhilyaev:flip=0.25,d=2,messages=1")
    found = exact_law(lambda take: draw_messages(rows._portable_law(), 0, take), monkeypatch)
    assert found[((0,), ())] == Fraction(9, 16) * Fraction(9, 16)
    coin_: Any = sdp.mechanism("balcer-cheu:coin=0.25,messages=1")
    found = exact_law(lambda take: draw_messages(coin_._portable_law(), 1, take), monkeypatch)
    assert found == {(1, 0): Fraction(3, 4), (1, 1): Fraction(1, 4)}
    bins: Any = sdp.mechanism("balls-into-bins:d=6,special=2,messages=0")
    found = exact_law(lambda take: draw_messages(bins._portable_law(), 2, take), monkeypatch)
    assert found == {(4,): Fraction(1, 2), (5,): Fraction(1, 2)}


@pytest.mark.parametrize("mean", [Fraction(1, 1000), Fraction(3, 2), Fraction(20), Fraction(300)])
def test_poisson_numbers_are_right_to_two_units(mean: Fraction) -> None:
    from mpmath import mp, mpf

    with mp.workdps(120):
        first, listed, beyond = poisson_cuts(mean, Fraction(1, 10**12))
        m = mpf(mean.numerator) / mean.denominator
        term, total, k = mp.exp(-m), mpf(0), 0
        while k < first + len(listed):
            total += term
            if k >= first:
                assert abs(mpf(int(listed[k - first], 16)) - total * mpf(ONE)) <= 2
            elif total * ONE >= 1:
                raise AssertionError("a value that can be drawn was left out")
            k += 1
            term *= m / k
        tail = 1 - total - term
        assert tail <= mpf(beyond.numerator) / beyond.denominator <= mpf(10) ** -12
        assert tail + term > mpf(10) ** -12 * mpf("0.9")  # one slot fewer would be too few


def test_a_poisson_number_with_too_many_messages_is_refused() -> None:
    with pytest.raises(sdp.ParameterError, match="mean must be at most"):
        poisson_cuts(Fraction(10**9), Fraction(1, 10))


# -- inputs -----------------------------------------------------------------------------------------------------------


def test_numbers_that_texts_spell() -> None:
    spelled = {"2.5": 2.5, " -1e3\n": -1000.0, ".5": 0.5, "5.": 5.0, "+7": 7.0}
    assert {text: number(text) for text in spelled} == spelled
    for text in ("", "2,5", "1_000", "inf", "nan", "0x10", "1e", "\u0663", "\u00a05"):
        assert math.isnan(number(text))
    assert math.isnan(number(None))
    assert number(True) == 1.0
    assert number(10**400) == math.inf


def test_rounding_is_without_bias(monkeypatch: pytest.MonkeyPatch) -> None:
    node = {
        "kind": "number",
        "column": 0,
        "low": 0.0,
        "high": 60.0,
        "missing": 30.0,
        "grids": [[-1.0, -0.3, 0.25, 1.0], 3],
    }
    for value in (0, 7.3, 21, 30.0, 59.9, 60, 99, None):
        share = 0.5 if value is None else min(value / 60.0, 1.0)
        found = exact_law(lambda take, v=value: read_input(node, [v], take), monkeypatch)
        for at, points in enumerate(([-1.0, -0.3, 0.25, 1.0], [-1.0, -1 / 3, 1 / 3, 1.0])):
            mean = sum(float(p) * points[x[at]] for x, p in found.items())
            assert mean == pytest.approx(2 * share - 1, abs=1e-12)


def test_an_unknown_kind_is_refused() -> None:
    for call in (
        lambda: draw_law({"kind": "magic"}, 0, bytes),
        lambda: read_input({"kind": "magic"}, [0], bytes),
        lambda: encode({"kind": "magic"}, 0),
    ):
        with pytest.raises(sdp.ParameterError, match=r"must be one that is known, got 'magic'; update the client\."):
            call()
