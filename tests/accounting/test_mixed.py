"""Users with different public budgets: never below the truth, equal to amplify for one class, between the extremes."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, pairwise, permutations, product
from random import Random
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shuffledp as sdp
from reference.fractions_oracle import Law, _send, hockey_stick
from reference.randomizers import floats, random_matrix
from reference.repetition import examples, slow

Rows = list[list[Fraction]]
DELTAS = (0.3, 0.05, 1e-3)


def rows_of(m: Any) -> Rows:
    matrix = m.matrix if isinstance(m, sdp.FiniteRandomizer) else m.probabilities()
    return [[Fraction(float(x)) for x in row] for row in np.asarray(matrix)]


def worst_laws(victim: Rows, others: list[tuple[Rows, int]]) -> list[tuple[Law, Law]]:
    """The laws of the shuffled reports for every pair of the victim's inputs and all inputs of the others."""
    pairs = []
    for held in product(*(combinations_with_replacement(range(len(rows)), size) for rows, size in others)):
        law: Law = {(0,) * len(victim[0]): Fraction(1)}
        for (rows, _), inputs in zip(others, held, strict=True):
            for x in inputs:
                law = _send(law, rows[x], Fraction(0))
        ends = [_send(law, row, Fraction(0)) for row in victim]
        pairs += [(ends[a], ends[b]) for a, b in permutations(range(len(victim)), 2)]
    return pairs


def sound(classes: list[tuple[Any, int]], **terms: float) -> sdp.MixedGuarantee:
    """amplify_mixed at several delta, each class checked against the truth; the last answer."""
    rows = [rows_of(m) for m, _ in classes]
    others = [[(rows[c], size - (c == v)) for c, (_, size) in enumerate(classes)] for v in range(len(classes))]
    laws = [worst_laws(rows[v], others[v]) for v in range(len(classes))]
    for delta in DELTAS:
        g = sdp.amplify_mixed(classes, delta=delta, **terms)
        assert g.epsilon == max(c.epsilon for c in g.classes)
        for v, guarantee in enumerate(g.classes):
            if math.isfinite(guarantee.epsilon):
                E = Fraction(math.exp(guarantee.epsilon))
                truth = max(hockey_stick(a, b, E) for a, b in laws[v])
                assert float(truth) <= delta * (1 + 1e-9), (v, delta)
    return g


# -- brute force ----------------------------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.slow_cases(
    "grr:*",
    "unary:*",
    "optimized-unary:eps0=0.5,d=2*2 optimized-unary:eps0=3,d=2*2",
    "subset:eps0=1,d=4,k=2*2 subset:eps0=2,d=4,k=2*2",
)
@pytest.mark.parametrize(
    "classes",
    [
        [(sdp.GRR(eps0=1.0, d=2), 2), (sdp.GRR(eps0=2.5, d=2), 3)],
        [(sdp.GRR(eps0=0.5, d=3), 2), (sdp.GRR(eps0=3.0, d=3), 2)],
        [(sdp.GRR(eps0=0.5, d=3), 1), (sdp.GRR(eps0=1.0, d=3), 1), (sdp.GRR(eps0=4.0, d=3), 2)],
        [(sdp.RandomizedResponse(eps0=1.0), 2), (sdp.GRR(eps0=2.0, d=2), 2)],
        [(sdp.Subset(eps0=1.0, d=4, k=2), 2), (sdp.Subset(eps0=2.0, d=4, k=2), 2)],
        [(sdp.Unary(eps0=1.0, d=2), 2), (sdp.Unary(eps0=2.5, d=2), 3)],
        [(sdp.Unary(eps0=1.0, d=3), 1), (sdp.OptimizedUnary(eps0=1.5, d=3), 2)],
        [(sdp.OptimizedUnary(eps0=0.5, d=2), 2), (sdp.OptimizedUnary(eps0=3.0, d=2), 2)],
    ],
    ids=lambda c: " ".join(f"{m.spec}*{size}" for m, size in c),
)
def test_never_below_the_truth(classes: list[tuple[Any, int]]) -> None:
    sound(classes)


@pytest.mark.heavy
@pytest.mark.slow_cases("10")
@pytest.mark.slow_cases("0", "1", "11", "2", "3", "4", "5", "6", "7", "8")
@pytest.mark.parametrize("seed", range(12))
def test_random_matrices_are_never_below_the_truth(seed: int) -> None:
    rng = Random(seed)
    found: list[Any] = []
    while len(found) < 2:
        rows = random_matrix(rng)
        if len(rows[0]) == 3 and (not found or len(rows) <= 3):
            found.append(sdp.FiniteRandomizer(floats(rows)))
    sound([(found[0], 2), (found[1], 2)])


@pytest.mark.heavy
def test_missing_users_against_the_truth() -> None:
    low, high = sdp.GRR(eps0=1.0, d=3), sdp.GRR(eps0=2.5, d=3)
    g = sdp.amplify_mixed([(low, 3), (high, 2)], delta=0.05, dropouts=1, colluding=1)
    assert (g.dropouts, g.colluding, g.n) == (1, 1, 5)
    for v, c in enumerate(g.classes):  # whoever of the others is missing
        others = [low] * (3 - (v == 0)) + [high] * (2 - (v == 1))
        victim = rows_of((low, high)[v])
        E = Fraction(math.exp(c.epsilon))
        for left in set(combinations(others, 2)):
            laws = worst_laws(victim, [(rows_of(m), 1) for m in left])
            assert float(max(hockey_stick(a, b, E) for a, b in laws)) <= 0.05 * (1 + 1e-9)


class Coarse(sdp.Laplace):
    """Laplace noise on the grid 0, 1/2, 1: few enough reports to list."""

    BITS: ClassVar[int] = 1

    def window(self, reach: int) -> Rows:
        """Inputs 0, 1/2, 1; reports -reach..N+reach with everything beyond merged into the ends (post-processing)."""
        size, a = self._steps, math.exp(-self._rate)
        y = np.arange(-reach, size + reach + 1)
        law = [math.tanh(0.5 * self._rate) * a ** np.abs(y - g) for g in range(size + 1)]
        for g, row in enumerate(law):
            row[0], row[-1] = a ** (g + reach) / (1 + a), a ** (size + reach - g) / (1 + a)
        return [[Fraction(float(x)) for x in row] for row in law]


@pytest.mark.slow_cases("1.0-3.0")
@pytest.mark.parametrize(("first", "second"), [(1.0, 3.0), slow(2.0, 2.5), slow(0.3, 6.0)])
def test_laplace_is_never_below_a_view_of_the_truth(first: float, second: float) -> None:
    classes = [(Coarse(eps0=first), 2), (Coarse(eps0=second), 2)]
    rows = [m.window(2) for m, _ in classes]
    laws = [worst_laws(rows[v], [(rows[i], 2 - (i == v)) for i in range(2)]) for v in range(2)]
    for delta in DELTAS:
        g = sdp.amplify_mixed(classes, delta=delta)
        for v, c in enumerate(g.classes):
            E = Fraction(math.exp(c.epsilon))
            assert float(max(hockey_stick(a, b, E) for a, b in laws[v])) <= delta * (1 + 1e-9)


# -- one class is amplify ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spec",
    [
        "grr:eps0=2,d=8",
        "subset:eps0=1,d=9,k=3",
        "privset:eps0=1,d=8,s=2,k=2",
        "unary:eps0=2,d=6",
        "unary:eps0=2,d=600",
        "optimized-unary:eps0=1,d=40",
        "laplace:eps0=1.5",
    ],
)
@pytest.mark.parametrize("n", [2, 300, 10**6])
def test_equal_budgets_are_one_class(spec: str, n: int) -> None:
    whole = sdp.amplify(spec, n=n, delta=1e-6)
    for parts in ([n], [n - 1, 1]):
        g = sdp.amplify_mixed([(spec, size) for size in parts], delta=1e-6)
        assert g.epsilon == pytest.approx(whole.epsilon, rel=2e-3) and g.n == n
        assert g.epsilon >= (whole.lower or 0.0)


@pytest.mark.heavy
def test_equal_matrices_are_one_class() -> None:
    rng = np.random.default_rng(1)
    for shape in ((3, 4), (12, 9)):
        rows = rng.random(shape) + 0.2
        m = sdp.FiniteRandomizer(rows / rows.sum(axis=1, keepdims=True))
        g = sdp.amplify_mixed([(m, 300), (m, 200)], delta=1e-5)
        assert g.epsilon == pytest.approx(sdp.amplify(m, n=500, delta=1e-5).epsilon, rel=3e-4)
    # nearly equal ones take the general road (many pairs: the number of draws is split in two)
    near = sdp.FiniteRandomizer(np.asarray(m.matrix) * (1 - 1e-6) + 1e-6 / 9)
    g = sdp.amplify_mixed([(m, 3000), (near, 2000)], delta=1e-5)
    assert 1.0 <= g.epsilon / sdp.amplify(m, n=5000, delta=1e-5, bound="blanket").epsilon < 1.2


def test_binary_randomized_response_is_not_searched() -> None:
    g = sdp.amplify_mixed([("randomized-response:eps0=2", 500)], delta=1e-6)
    assert g.epsilon == pytest.approx(sdp.amplify("grr:eps0=2,d=2", n=500, delta=1e-6, bound="swap").epsilon, rel=2e-4)


# -- between the extremes, and better when others are better --------------------------------------------------------


@pytest.mark.slow
@examples(10)
@given(
    st.sampled_from(["grr:eps0={},d=5", "subset:eps0={},d=7,k=2"]),
    st.floats(0.2, 2.5),
    st.floats(0.2, 2.5),
    st.integers(1000, 4000),
    st.integers(1000, 4000),
)
def test_mixtures_lie_between_the_extremes(form: str, a: float, b: float, m: int, k: int) -> None:
    """A victim is hidden no worse than if all others had the largest budget, and no better than with the smallest."""
    low, high = sorted((a, b))
    g = sdp.amplify_mixed([(form.format(low), m), (form.format(high), k)], delta=1e-5)
    for c, own in zip(g.classes, (low, high), strict=True):
        # the victim's own class among n users of the other budget, by the same function with one victim
        worse, better = (
            sdp.amplify_mixed([(form.format(own), 1), (form.format(others), m + k - 1)], delta=1e-5).classes[0].epsilon
            for others in (high, low)
            if m + k > 1
        )
        assert better * (1 - 0.3) <= c.epsilon <= worse * (1 + 0.3)  # swap here, the blanket there
    assert g.classes[0].epsilon <= g.classes[1].epsilon * (1 + 0.3)
    assert g.epsilon >= sdp.amplify(form.format(low), n=m + k, delta=1e-5).epsilon * (1 - 0.3)
    assert g.epsilon <= sdp.amplify(form.format(high), n=m + k, delta=1e-5).epsilon * (1 + 0.3)


@pytest.mark.heavy
@pytest.mark.parametrize("form", ["grr:eps0={},d=6", slow("subset:eps0={},d=6,k=2")])
def test_a_class_that_improves_helps_all(form: str) -> None:
    rows = []
    for eps0 in (3.0, 2.0, 1.0, 0.2):
        g = sdp.amplify_mixed([(form.format(2.5), 400), (form.format(eps0), 600)], delta=1e-6)
        rows.append([c.epsilon for c in g.classes])
    for column in np.array(rows).T:
        assert np.all(np.diff(column) < 1e-6)


@pytest.mark.slow
def test_more_missing_users_never_help() -> None:
    classes = [("grr:eps0=1,d=6", 300), ("grr:eps0=3,d=6", 300)]
    eps = [sdp.amplify_mixed(classes, delta=1e-5, dropouts=k).epsilon for k in (0, 10, 0.2, 300, 599)]
    assert all(a < b for a, b in pairwise(eps)) and eps[-1] == pytest.approx(3.0, rel=1e-3)
    # at worst the better half is away: that of 300 users of the larger budget, and of no others
    rest = sdp.amplify("grr:eps0=3,d=6", n=300, delta=1e-5).epsilon
    assert eps[3] == pytest.approx(rest, rel=2e-4)


def test_many_users_and_many_classes_are_fast_and_sound() -> None:
    classes = [(f"grr:eps0={e},d=16", 10**k) for e, k in ((0.5, 3), (1, 5), (2, 6), (3, 4), (5, 2))]
    g = sdp.amplify_mixed(classes, delta=1e-8)
    best = sdp.amplify("grr:eps0=5,d=16", n=g.n, delta=1e-8).epsilon
    assert g.epsilon == g.classes[-1].epsilon < best
    assert [c.epsilon for c in g.classes] == sorted(c.epsilon for c in g.classes)


# -- the ratio of two blankets ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "victim"),
    [
        (sdp.GRR(eps0=1.0, d=4), sdp.GRR(eps0=2.0, d=4)),
        (sdp.GRR(eps0=2.0, d=4), sdp.GRR(eps0=1.0, d=4)),
        (sdp.Subset(eps0=0.3, d=6, k=3), sdp.Subset(eps0=3.0, d=6, k=3)),
        (sdp.PrivSet(eps0=0.3, d=6, s=2, k=2), sdp.PrivSet(eps0=3.0, d=6, s=2, k=2)),
        (sdp.Unary(eps0=1.0, d=4), sdp.Unary(eps0=3.0, d=4)),
        (sdp.Unary(eps0=3.0, d=4), sdp.Unary(eps0=1.0, d=4)),
        (sdp.OptimizedUnary(eps0=2.0, d=5), sdp.Unary(eps0=2.0, d=5)),
        (sdp.Unary(eps0=2.0, d=5), sdp.OptimizedUnary(eps0=4.0, d=5)),
        (sdp.OptimizedUnary(eps0=2.0, d=2), sdp.OptimizedUnary(eps0=1.0, d=2)),
    ],
    ids=lambda m: m.spec,
)
def test_blanket_ratio_is_that_of_the_matrices(other: Any, victim: Any) -> None:
    ratio = np.min(other.probabilities().min(axis=0) / victim.probabilities().min(axis=0))
    got = other.law.blanket_ratio(victim)
    assert got <= ratio * (1 + 1e-13) and got == pytest.approx(ratio, rel=1e-9)


@pytest.mark.heavy
def test_blanket_ratio_of_laplace_noise() -> None:
    a, b = sdp.Laplace(eps0=1.0), sdp.Laplace(eps0=2.5)
    y = np.arange(-3000, 4025)

    def blanket(m: sdp.Laplace) -> np.ndarray:
        return math.tanh(0.5 * m._rate) * np.exp(-m._rate * np.maximum(y, 1024 - y))

    assert a.law.blanket_ratio(b) == pytest.approx(np.min(blanket(a) / blanket(b)), rel=1e-9)
    assert a.law.blanket_ratio(b) <= np.min(blanket(a) / blanket(b)) * (1 + 1e-12)
    assert b.law.blanket_ratio(a) == 0.0
    g = sdp.amplify_mixed([(a, 500), (b, 500)], delta=1e-6)
    alone = [sdp.amplify(m, n=500, delta=1e-6).epsilon for m in (a, b)]
    assert g.classes[0].epsilon == pytest.approx(alone[0], rel=2e-4)  # thinner tails do not hide a wider one
    assert g.classes[1].epsilon < 0.9 * alone[1]


@pytest.mark.heavy
def test_other_shapes_help_unary_victims() -> None:
    """The smaller budget has more ones: over the larger one's blanket alone it would hide worse."""
    g = sdp.amplify_mixed([("unary:eps0=1,d=4", 300), ("unary:eps0=2,d=4", 700)], delta=1e-6)
    alone = [sdp.amplify(f"unary:eps0={e},d=4", n=n, delta=1e-6).epsilon for e, n in ((1, 300), (2, 700))]
    assert all(c.epsilon < 0.97 * eps for c, eps in zip(g.classes, alone, strict=True))
    far = sdp.amplify_mixed([("unary:eps0=1,d=4000", 300), ("unary:eps0=2,d=4000", 700)], delta=1e-6)
    assert far.classes[0].epsilon == pytest.approx(
        sdp.amplify("unary:eps0=1,d=4000", n=300, delta=1e-6).epsilon, rel=1e-3
    )


@pytest.mark.heavy
def test_a_unary_victim_beside_a_matrix_is_not_symmetric_any_more() -> None:
    """The matrix prefers one bit, so the pairs of the unary victim differ and all of them count."""
    m = sdp.Unary(eps0=2.0, d=3)
    rows = np.full((2, 8), 0.02)
    rows[0, 1], rows[1, 3] = 0.86, 0.86
    g = sdp.amplify_mixed([(m, 2), (sdp.FiniteRandomizer(rows), 2)], delta=0.02)
    worst = worst_laws(rows_of(m), [(rows_of(m), 1), (rows_of(sdp.FiniteRandomizer(rows)), 2)])
    E = Fraction(math.exp(g.classes[0].epsilon))
    assert float(max(hockey_stick(a, b, E) for a, b in worst)) <= 0.02 * (1 + 1e-9)


def test_huge_budgets_do_not_overflow_into_too_much_cover() -> None:
    """Ratios beyond e^700 are cut, not counted as certain cover."""
    g = sdp.amplify_mixed([("unary:eps0=400,d=300", 50), ("unary:eps0=1,d=300", 50)], delta=1e-6)
    assert g.classes[0].epsilon == pytest.approx(400.0, rel=1e-6)
    assert sdp.Unary(eps0=1.0, d=300).law.blanket_ratio(sdp.Unary(eps0=400.0, d=300)) < math.inf


@pytest.mark.heavy
def test_a_matrix_without_a_blanket_has_the_local_guarantee() -> None:
    open_ = sdp.FiniteRandomizer([[1.0, 0.0], [0.0, 1.0]])
    g = sdp.amplify_mixed([(open_, 10), (sdp.GRR(eps0=1.0, d=2), 10)], delta=0.01)
    assert math.isinf(g.classes[0].local_epsilon) and g.classes[0].epsilon > 0.0
    alone = sdp.amplify_mixed([(open_, 10)], delta=0.01)
    assert math.isinf(alone.epsilon) and "no finite eps" in str(alone)
    assert alone.to_dict()["epsilon"] == "inf" and alone.to_dict()["classes"][0]["epsilon"] == "inf"


# -- words and bad input ----------------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_the_guarantee_reads_well() -> None:
    g = sdp.amplify_mixed([("grr:eps0=1,d=4", 100), ("grr:eps0=3,d=4", 50)], delta=1e-6, colluding=0.1)
    text = str(g)
    assert text.startswith(
        "With n = 150 users in all, of whom up to 15 users (10 %) may collude, a shuffled batch is ("
    )
    assert "100 users of generalized randomized response on 4 options with eps0 = 1: eps = " in text
    assert text.endswith("Budgets are public.") and "public" in g.trust
    again = json.loads(json.dumps(g.to_dict(), allow_nan=False))
    assert again["n"] == 150 and [c["users"] for c in again["classes"]] == [100, 50]
    assert again["classes"][1]["mechanism"] == "grr:eps0=3,d=4" and again["colluding"] == 15
    assert hash(g) == hash(
        sdp.amplify_mixed([("grr:eps0=1,d=4", 100), ("grr:eps0=3,d=4", 50)], delta=1e-6, colluding=15)
    )


@pytest.mark.parametrize(
    ("classes", "words"),
    [
        ([], "got none"),
        (None, "classes must be a list of pairs"),
        ("grr:eps0=1,d=4", "classes must be a list of pairs"),
        ({"grr:eps0=1,d=4": 3}, "classes must be a list of pairs"),
        (["grr:eps0=1,d=4"], "classes must be a list of pairs"),
        ([("grr:eps0=1,d=4", 3, 4)], "classes must be a list of pairs"),
        ([("grr:eps0=1,d=4", 0)], "the number of users of a class must"),
        ([("grr:eps0=1,d=4", 2.5)], "the number of users of a class must"),
        ([("grr:eps0=1,d=4", "three")], "the number of users of a class must"),
        ([("grr:eps0=1,d=4", 10**15), ("grr:eps0=2,d=4", 10**15)], "n must"),
        ([(3, 4)], "mechanism must"),
        ([("gr:eps0=1,d=4", 4)], "unknown mechanism"),
    ],
)
def test_bad_classes(classes: Any, words: str) -> None:
    with pytest.raises(sdp.ParameterError, match=words) as error:
        sdp.amplify_mixed(classes, delta=1e-6)
    assert "\n" not in str(error.value) and len(str(error.value)) < 300


@pytest.mark.parametrize(
    "specs",
    [
        ("grr:eps0=1,d=4", "grr:eps0=1,d=5"),
        ("grr:eps0=1,d=4", "unary:eps0=1,d=4"),
        ("subset:eps0=1,d=8,k=2", "subset:eps0=2,d=8,k=3"),
        ("unary:eps0=1,d=4", "unary:eps0=1,d=40"),
        ("general:eps0=1", "general:eps0=2"),
        ("laplace:eps0=1", "grr:eps0=1,d=2"),
        ("general:eps0=1",),
        ("metric-laplace:d01=1,dmax=2",),
        (sdp.FiniteRandomizer([[0.5, 0.5], [0.4, 0.6]]), "laplace:eps0=1"),
        (sdp.FiniteRandomizer([[0.5, 0.5], [0.4, 0.6]]), "grr:eps0=1,d=3"),
        (sdp.ShuffledPair([0.5, 0.5], [0.4, 0.6], [0.4, 0.5]),),
    ],
    ids=str,
)
def test_reports_that_differ_are_refused(specs: tuple[Any, ...]) -> None:
    with pytest.raises(sdp.BoundNotApplicableError, match=r"^[^\n]*\.$"):
        sdp.amplify_mixed([(spec, 10) for spec in specs], delta=1e-6)


def test_other_bad_parameters() -> None:
    one = [("grr:eps0=1,d=4", 10)]
    for name, bad in (("delta", 0), ("tol", 1), ("dropouts", -1), ("colluding", 1.5)):
        with pytest.raises(sdp.ParameterError, match=f"^{name} must"):
            sdp.amplify_mixed(one, **{"delta": 1e-6, name: bad})  # type: ignore[arg-type]
    with pytest.raises(sdp.ParameterError, match="at least one honest user of n = 10"):
        sdp.amplify_mixed(one, delta=1e-6, dropouts=10)
