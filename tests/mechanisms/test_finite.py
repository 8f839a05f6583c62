"""A randomizer given by its matrix: everything derived from it against brute force."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shuffledp as sdp
from reference.fractions_oracle import exp_enclosure, round_divergence
from reference.randomizers import Matrix, floats, random_matrix
from reference.repetition import examples


def brute(matrix: Matrix) -> tuple[Fraction | float, Fraction]:
    """p = q and beta, from the definition."""
    p: Fraction | float = Fraction(1)
    beta = Fraction(0)
    for a, b in permutations(matrix, 2):
        beta = max(beta, sum((max(x - y, Fraction(0)) for x, y in zip(a, b, strict=True)), Fraction(0)))
        for x, y in zip(a, b, strict=True):
            if x and not y:
                p = math.inf
            elif x:
                p = max(p, x / y)
    return p, beta


@examples(200)
@given(st.integers(0, 10**6))
def test_p_beta_and_q_are_those_of_the_matrix_and_not_below(seed: int) -> None:
    matrix = random_matrix(Random(seed))
    p, beta = brute(matrix)
    m = sdp.FiniteRandomizer(floats(matrix))
    if beta == 0:
        with pytest.raises(sdp.ParameterError, match="coincide"):
            m.variation_ratio()
        assert m.local_epsilon == 0.0
        return
    v = m.variation_ratio()
    assert v.q == v.p == pytest.approx(float(p), rel=1e-14)
    assert v.beta == pytest.approx(float(beta), rel=1e-9)
    assert m.local_epsilon >= (math.inf if p == math.inf else math.log(p))


@pytest.mark.heavy
@examples(150)
@given(st.integers(0, 10**6))
def test_variation_ratio_alone_is_not_below_the_total_variation(seed: int) -> None:
    """At n = 1 and eps = 0 the divergence is beta itself: a beta rounded down is a claim that is too small."""
    matrix = random_matrix(Random(seed))
    _, beta = brute(matrix)
    for bound in ("blanket", "variation-ratio", "general"):
        value = sdp.profile(sdp.FiniteRandomizer(floats(matrix)), n=1, epsilon=0.0, bound=bound)
        assert Fraction(float(value)) >= beta, (bound, float(value), float(beta), matrix)


def test_beta_of_nearly_equal_rows_is_rounded_up() -> None:
    """The difference 1 - 1000/1001 loses digits; the truth at n = 1 is exactly 1/1001, for every eps."""
    m = sdp.FiniteRandomizer([[1000 / 1001, 1 / 1001], [1.0, 0.0]])
    for bound in ("blanket", "variation-ratio"):
        assert Fraction(float(sdp.profile(m, n=1, epsilon=0.05, bound=bound))) >= Fraction(1, 1001), bound


@pytest.mark.heavy
@examples(60)
@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from([0.0, 0.1, 0.7, 2.0]))
def test_blanket_and_lower_are_the_largest_over_all_pairs(seed: int, n: int, eps: float) -> None:
    """The blanket bound is max over pairs of the round with t = min_x R(x); the lower one max over pairs and x*."""
    matrix = random_matrix(Random(seed))
    omega = [min(column) for column in zip(*matrix, strict=True)]
    low_E, high_E = exp_enclosure(eps)
    pairs = list(permutations(matrix, 2))
    blanket = max(round_divergence(a, b, omega, n, high_E) for a, b in pairs)
    constant = max(round_divergence(a, b, x, n, low_E) for a, b in pairs for x in matrix)
    m = sdp.FiniteRandomizer(floats(matrix))
    upper = float(sdp.profile(m, n=n, epsilon=eps, bound="blanket", tol=1e-6))
    lower = float(sdp.profile(m, n=n, epsilon=eps, side="lower", tol=1e-6))
    assert Fraction(upper) >= blanket
    assert upper <= float(blanket) * (1 + 1e-5) + 1e-13
    assert Fraction(lower) <= constant
    assert lower >= float(constant) * (1 - 1e-5) - 1e-13


def test_equal_columns_and_unused_outputs_change_nothing() -> None:
    base = np.array([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]])
    split = np.column_stack([base[:, 0] / 2, base[:, 1:], base[:, 0] / 2, np.zeros(2)])
    one, two = (sdp.amplify(sdp.FiniteRandomizer(m), n=500, delta=1e-6, tol=1e-6).epsilon for m in (base, split))
    assert one == pytest.approx(two, rel=2e-6)


@pytest.mark.heavy_cases("variation-ratio-1x3")
@pytest.mark.parametrize(
    "matrix",
    [[[1.0]], [[1.0], [1.0]], [[0.5, 0.5]], [[0.2, 0.8], [0.2, 0.8]], [[0.3, 0.7, 0.0]], [[1.0, 0.0]] * 4],
    ids=["1x1", "2x1", "1x2", "equal rows", "1x3", "4 equal"],
)
@pytest.mark.parametrize("bound", ["auto", "blanket", "variation-ratio", "general", "local"])
def test_an_output_that_says_nothing_has_eps_0(matrix: list[list[float]], bound: str) -> None:
    m = sdp.FiniteRandomizer(matrix)
    for n in (1, 10, 10**9):
        g = sdp.amplify(m, n=n, delta=1e-9, bound=bound)
        assert g.epsilon == 0.0
        assert "DP" in str(g)
        assert np.all(sdp.profile(m, n=n, epsilon=[0.0, 1.0], bound=bound) == 0.0)


def test_the_identity_has_no_finite_eps() -> None:
    g = sdp.amplify(sdp.FiniteRandomizer(np.eye(4)), n=10**6, delta=0.5)
    assert g.epsilon == math.inf and g.lower == math.inf
    assert "no finite eps" in str(g)


@pytest.mark.slow
def test_grr_200_answers_with_few_evaluated() -> None:
    ratio = math.exp(3.0)
    matrix = (np.ones((200, 200)) + np.eye(200) * (ratio - 1)) / (ratio + 199)
    g = sdp.amplify(sdp.FiniteRandomizer(matrix), n=100_000, delta=1e-7)
    assert g.members == 200 * 199 and g.evaluated <= 4
    for bound in ("swap", "blanket"):
        assert sdp.amplify(sdp.FiniteRandomizer(matrix), n=100_000, delta=1e-7, bound=bound).members == 200 * 199
    assert g.lower is not None and g.lower <= g.epsilon <= g.lower * 1.01


def test_random_40_by_40_is_the_maximum_over_all_pairs() -> None:
    matrix = np.random.default_rng(3).dirichlet(np.full(40, 2.0), size=40)
    g = sdp.amplify(sdp.FiniteRandomizer(matrix), n=10_000, delta=1e-6, bound="blanket")
    assert g.evaluated < g.members == 40 * 39
    omega = matrix.min(axis=0)
    spread = ((matrix[:, None] - matrix[None]) ** 2 / omega).sum(axis=2)
    worst = 0.0
    for i in np.argsort(-spread.ravel())[:12]:
        a, b = divmod(int(i), 40)
        worst = max(worst, sdp.amplify(sdp.ShuffledPair(matrix[a], matrix[b], omega), n=10_000, delta=1e-6).epsilon)
    assert worst * (1 - 1e-4) <= g.epsilon <= worst * (1 + 2e-4)
    assert g.lower is not None and 0 < g.lower <= g.epsilon


def test_rows_within_1e_9_are_drawn_normalized_and_others_refused() -> None:
    m = sdp.FiniteRandomizer([[0.3333333333, 0.6666666666], [0.5, 0.5]])
    assert m.probabilities().sum(axis=1) == pytest.approx(1.0, abs=1e-15)
    with pytest.raises(sdp.ParameterError, match=r"sum to 1, got 0\.[89]\d* in row 0"):
        sdp.FiniteRandomizer([[0.3, 0.6], [0.5, 0.5]])


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        ([[0.5, 0.5], [1.0]], "ragged"),
        ([], "rows"),
        ([[]], "rows"),
        ([0.5, 0.5], "rows"),
        (0.5, "rows"),
        ("abc", "numbers"),
        (None, ""),
        ([[math.nan, 1.0]], "finite"),
        ([[math.inf, 1.0]], "finite"),
        ([[-0.1, 1.1]], ">= 0"),
        ([[50, 50], [20, 80]], "sum to 1"),
        ([[[0.5, 0.5]]], "rows"),
        ([[0.5 + 1j, 0.5]], "numbers"),
    ],
    ids=str,
)
def test_bad_matrices(matrix: object, words: str) -> None:
    with pytest.raises(sdp.ParameterError, match=rf"^matrix must .*{words}|^matrix rows must {words}") as caught:
        sdp.FiniteRandomizer(matrix)  # type: ignore[arg-type]
    assert str(caught.value).endswith(".") and "np.float64" not in str(caught.value)


def test_the_matrix_is_frozen_and_not_shared() -> None:
    mine = np.array([[0.5, 0.5], [0.25, 0.75]])
    m = sdp.FiniteRandomizer(mine)
    mine[0] = [0.9, 0.1]
    assert m.matrix[0][0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        m.matrix[0][0] = 0.9
    assert m == sdp.FiniteRandomizer([[0.5, 0.5], [0.25, 0.75]]) and m != "x"
    assert hash(m) == hash(sdp.FiniteRandomizer([[0.5, 0.5], [0.25, 0.75]]))


CSV = {
    "plain.csv": "0.75,0.25\n0.25,0.75\n",
    "blanks.csv": "# a coin\n0.75 0.25\n\n0.25\t0.75  # second\n",
    "spaces.txt": "  0.75 , 0.25\r\n0.25, 0.75",
    "trailing.csv": "0.75,0.25,\n0.25,0.75,\n",
    "bom.csv": "\ufeff0.75,0.25\n0.25,0.75\n",
}


@pytest.mark.parametrize("name", CSV)
def test_csv_files(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(CSV[name], encoding="utf-8")
    m = sdp.mechanism(f"finite:{path}")
    assert m.spec == f"finite:{path}"
    assert m.variation_ratio() == sdp.VariationRatio(p=3, beta=0.5, q=3)
    assert str(path) in sdp.amplify(m, n=10, delta=0.1).description


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0.5,0.5\n1\n", "ragged"),
        ("a,b\n0.5,0.5\n", "header"),
        ("", "rows"),
        ("0.5;0.5\n", "numbers"),
        ("0.5,,0.5\n0.5,0.2,0.3\n", "ragged|empty|number"),
        ("0.5,,0.5\n,0.5,0.5\n", "empty|number|gap"),  # dropping the blanks would make the rows coincide: eps = 0
    ],
)
def test_bad_csv_files(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(sdp.ParameterError, match=words):
        sdp.mechanism(f"finite:{path}")


def test_npy_files(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([[0.75, 0.25], [0.25, 0.75]]))
    assert sdp.mechanism(f"finite:file={tmp_path / 'a.npy'}").variation_ratio().p == 3.0
    np.save(tmp_path / "pickled.npy", np.array([[object()]], dtype=object), allow_pickle=True)
    (tmp_path / "junk.npy").write_bytes(b"\x93NUMPY junk")
    (tmp_path / "empty.npy").write_bytes(b"")
    np.save(tmp_path / "text.npy", np.array([["a", "b"]]))
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    for name in ("pickled.npy", "junk.npy", "empty.npy", "text.npy", "binary.csv", "none.csv", ""):
        with pytest.raises(sdp.ParameterError, match=r"\.$"):
            sdp.mechanism(f"finite:{tmp_path / name}")


def tilted(columns: int) -> tuple[sdp.FiniteRandomizer, list[list[Fraction]]]:
    """Two rows whose sums miss 1 by what many roundings may add up to, and the law that is drawn: over their sums."""
    most = columns // 10
    first, second = np.r_[np.full(most, 3.0), np.ones(columns - most)], np.ones(columns)
    off = 0.97 * 2.0**-52 * columns
    rows = [first / first.sum() * (1.0 - off), second / second.sum() * (1.0 + off)]
    return sdp.FiniteRandomizer(rows), [drawn(row.tolist()) for row in rows]


def drawn(row: list[float]) -> list[Fraction]:
    exact = list(map(Fraction, row))
    total = sum(exact)
    return [x / total for x in exact]


@pytest.mark.parametrize("columns", [20, 1000])
def test_rows_that_sum_to_about_one_are_accounted_for_as_they_are_drawn(columns: int) -> None:
    m, law = tilted(columns)
    ratio = max(Fraction(a) / b for x, y in permutations(law, 2) for a, b in zip(x, y, strict=True))
    assert exp_enclosure(m.local_epsilon)[0] >= ratio
    eps = m.local_epsilon * np.array([0.01, 0.3, 0.9])
    for at, upper, lower in zip(
        eps.tolist(), sdp.profile(m, n=1, epsilon=eps), sdp.profile(m, n=1, epsilon=eps, side="lower"), strict=True
    ):
        least, most = (max(divergence(x, y, E) for x, y in permutations(law, 2)) for E in exp_enclosure(at)[::-1])
        assert Fraction(float(upper)) >= least and Fraction(float(lower)) <= most


def divergence(x: list[Fraction], y: list[Fraction], E: Fraction) -> Fraction:
    return sum((max(a - E * b, Fraction(0)) for a, b in zip(x, y, strict=True)), Fraction(0))


def test_rows_that_differ_by_their_last_digits_are_not_alike() -> None:
    """What is said at eps = eps0 is exactly 0, so eps0 must cover every rounding."""
    rng = np.random.default_rng(5)
    for columns in (2, 4) * 100:
        row = rng.dirichlet(np.ones(columns))
        rows = row * (1.0 + 2.0**-52 * rng.integers(-3, 4, size=(2, columns)))
        law = list(map(drawn, rows.tolist()))
        ratio = max(a / b for x, y in permutations(law, 2) for a, b in zip(x, y, strict=True))
        m = sdp.FiniteRandomizer(rows)
        assert exp_enclosure(m.local_epsilon)[0] >= ratio
        most = max(divergence(x, y, Fraction(1)) for x, y in permutations(law, 2))
        assert Fraction(float(sdp.profile(m, n=1, epsilon=0.0))) >= most
