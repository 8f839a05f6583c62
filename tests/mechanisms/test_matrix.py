"""Running a mechanism that is given by its matrix: the exact sampler, and least squares for the frequencies."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import shuffledp as sdp
from shuffledp.mechanisms.codecs import Category
from shuffledp.randomness.lookup import AliasTable, _thresholds
from shuffledp.randomness.sampling import source

TALL = [[0.5, 0.3, 0.15, 0.05], [0.1, 0.2, 0.3, 0.4]]
SQUARE = [[0.7, 0.2, 0.1], [0.15, 0.7, 0.15], [0.1, 0.2, 0.7]]


def law_of(weights: list[int]) -> list[Fraction]:
    """What the table draws, from its thresholds: exact fractions."""
    cuts, alias = _thresholds(weights)
    law = [Fraction(0)] * len(weights)
    for j, (cut, other) in enumerate(zip(cuts, alias, strict=True)):
        law[j] += Fraction(cut, 2**128 * len(weights))
        law[other] += Fraction(2**128 - cut, 2**128 * len(weights))
    return law


@pytest.mark.parametrize(
    "weights",
    [
        [1],
        [1, 1],
        [1, 3, 0],
        [0, 0, 7],
        [5, 1, 1, 1, 2**70],
        list(range(1, 40)),
        [1, 2**1074 - 1],
        [0, 3, 3, 0, 3, 3, 3, 3, 3],
    ],
    ids=str,
)
def test_the_table_holds_the_stated_law(weights: list[int]) -> None:
    law, total = law_of(weights), sum(weights)
    assert sum(law) == 1
    for found, weight in zip(law, weights, strict=True):
        assert abs(found - Fraction(weight, total)) <= Fraction(1, 2**128)
        assert weight or found == 0  # what is impossible stays impossible


def test_draws_follow_the_law_of_their_row() -> None:
    weights = [[5, 1, 4], [0, 1, 0], [2, 3, 5]]
    rows = np.repeat([2, 0, 1], 30_000)
    drawn = AliasTable(weights).draw(source(np.random.default_rng(1)), rows)
    for x, law in enumerate(weights):
        seen = np.bincount(drawn[rows == x], minlength=3)
        assert not seen[np.array(law) == 0].any()
        if len(set(law)) > 2:
            assert stats.chisquare(seen, np.array(law) / 10 * 30_000).pvalue > 1e-4


class Fixed:
    """Random bytes that are all ones: the first word ties with a threshold just below 1, the second decides."""

    for_release = False

    def raw(self, size: int) -> np.ndarray:
        return np.full(size, 255, dtype=np.uint8)


def test_ties_are_decided_by_a_second_word() -> None:
    table = AliasTable([[2**70 - 1, 2**70 + 1]])  # cell 0 keeps 2^64 - 1 of its first word, and not all of the second
    assert table._high[0] == 2**64 - 1 and table._low[0] < 2**64 - 1
    assert table.draw(Fixed(), np.zeros(3, dtype=np.uint8)).tolist() == [1, 1, 1]


@pytest.mark.parametrize("weights", [[[0, 0]], [[1, -1]], [[-1, 3]]])
def test_weights_that_are_no_law(weights: list[list[int]]) -> None:
    with pytest.raises(sdp.ParameterError, match="positive sum"):
        AliasTable(weights)


# -- a matrix -----------------------------------------------------------------------------------------------------


def test_the_sampled_law_is_the_accounted_one() -> None:
    rng = np.random.default_rng(2)
    for matrix in (rng.dirichlet(np.full(50, 0.05), size=8), [[1e-300, 1.0 - 1e-16], [1 / 3, 2 / 3]], TALL):
        m = sdp.FiniteRandomizer(matrix)
        for row, weights in zip(m.probabilities(), m._weights(), strict=True):
            assert [Fraction(w, sum(weights)) for w in weights] == [
                Fraction(float(p)) / sum(map(Fraction, row.tolist())) for p in row
            ]
            room = Fraction(len(row), 2**52)
            for found, p in zip(law_of(weights), row.tolist(), strict=True):
                assert abs(found - Fraction(p)) <= room * Fraction(p) + Fraction(1, 2**127)


def test_reports_are_columns_and_secure_by_default() -> None:
    m = sdp.FiniteRandomizer(TALL)
    reports = m.privatize([0, 1] * 50)
    assert reports.for_release and m.codec == Category(4, scratch=96) and reports.data.dtype == m.codec.dtype
    assert m.inputs() == [0, 1] and m._columns(reports.data).max() < 4
    never = sdp.FiniteRandomizer([[0.5, 0.0, 0.5], [0.25, 0.0, 0.75]])
    assert 1 not in never.privatize([0, 1] * 2000).data
    for bad in ([2], [-1], [0.5], "a"):
        with pytest.raises(sdp.ParameterError, match=r"^values must"):
            m.privatize(bad)
    for bad in ([4], [-1], [0.5], [[0, 1]]):
        with pytest.raises(sdp.ParameterError, match=r"^reports must"):
            m.estimate(np.array(bad))


def test_a_square_matrix_is_inverted() -> None:
    grr = sdp.GRR(eps0=1.0, d=5)
    reports = grr.privatize(np.arange(3000) % 5 % 3, rng=np.random.default_rng(3))
    ours, theirs = sdp.FiniteRandomizer(grr.probabilities()).estimate(reports.data), grr.estimate(reports)
    assert ours.value == pytest.approx(theirs.value, abs=1e-12)
    assert ours.interval(0.9)[0] == pytest.approx(theirs.interval(0.9)[0], abs=1e-9)
    assert sdp.FiniteRandomizer(grr.probabilities()).variance(100) == pytest.approx(grr.variance(100, 0.2), rel=1e-9)


@pytest.mark.parametrize("matrix", [TALL, SQUARE, sdp.Unary(eps0=2.0, d=3).probabilities()], ids=["tall", "3", "unary"])
def test_the_estimate_is_unbiased_and_no_linear_one_is_better_at_equal_frequencies(matrix: list[list[float]]) -> None:
    m = sdp.FiniteRandomizer(matrix)
    rows = m.probabilities()
    assert m._inverse @ rows.T == pytest.approx(np.eye(len(rows)), abs=1e-12)
    plain = np.linalg.pinv(rows.T)  # least squares without weights is unbiased too
    shares = rows.mean(axis=0)
    assert np.all(m.variance(1) <= plain**2 @ shares - 1 / len(rows) + 1e-12)


@pytest.mark.heavy
def test_errors_covariance_and_coverage() -> None:
    m, n, runs = sdp.FiniteRandomizer(SQUARE), 600, 1500
    truth = np.array([1 / 6, 1 / 3, 1 / 2])
    values, rng = np.repeat([0, 1, 2], [100, 200, 300]), np.random.default_rng(5)
    made = [m.estimate(m.privatize(values, rng=rng)) for _ in range(runs)]
    found = np.array([e.value for e in made])
    spread = np.cov(found.T)
    assert np.all(np.abs(found.mean(axis=0) - truth) <= 4.5 * np.sqrt(np.diag(spread) / runs))
    assert np.mean([e.covariance for e in made], axis=0) == pytest.approx(spread, rel=0.15, abs=1e-4)
    assert m.variance(n, truth) == pytest.approx(np.diag(spread), rel=0.15)
    assert m.variance(n).shape == (3,)
    hit = np.mean([(low <= truth) & (truth <= high) for low, high in (e.interval(0.9) for e in made)], axis=0)
    assert np.all(hit >= 0.9 - 4 * math.sqrt(0.09 / runs)) and np.all(hit <= 0.94)
    assert all(np.sqrt(np.diag(e.covariance)) == pytest.approx(e.stderr) for e in made[:5])


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        ([[0.5, 0.5], [0.5, 0.5]], "got inputs 0, 1, which have the same law; merge them into one input"),
        ([[0.1, 0.9], [0.5, 0.5], [0.9, 0.1]], "got inputs 0, 1, 2, of which mixtures have the same law"),
        ([[0.5, 0.5, 0.0], [0.2, 0.2, 0.6], [0.5, 0.5, 0.0]], "got inputs 0, 2, which have the same law"),
        ([[1.0, 0.0]] * 9, "got inputs 0, 1, 2, 3, 4, 5 and 3 more, which have the same law"),
    ],
)
def test_inputs_that_cannot_be_told_apart(matrix: list[list[float]], words: str) -> None:
    m = sdp.FiniteRandomizer(matrix)
    reports = m.privatize(np.arange(len(matrix)))  # it can be run and accounted for all the same
    with pytest.raises(sdp.ParameterError) as error:
        m.estimate(reports)
    assert str(error.value).startswith("matrix must distinguish all inputs to estimate their frequencies")
    assert words in str(error.value) and str(error.value).endswith(".")


def test_one_input_is_known_before_any_report() -> None:
    est = sdp.FiniteRandomizer([[0.3, 0.7]]).estimate([0, 1, 1])
    assert est.value == pytest.approx([1.0]) and est.stderr == pytest.approx([0.0], abs=1e-7)


def test_a_matrix_among_other_queries() -> None:
    m = sdp.Parallel([(0.5, sdp.FiniteRandomizer(SQUARE)), (0.5, "grr:eps0=2,d=3")])
    values = [np.arange(20_000) % 3, np.arange(20_000) % 2]
    reports = m.privatize(values, rng=np.random.default_rng(7))
    assert reports.data.dtype == m.codec.dtype and reports.data.dtype.names == ("query", "q0+q1")
    first, second = m.estimates(reports)
    assert np.all(np.abs(first.value - 1 / 3) < 4.5 * first.stderr)
    assert np.all(np.abs(second.value - [0.5, 0.5, 0.0]) < 4.5 * second.stderr)


def test_identity_and_files(tmp_path) -> None:
    path, listed = tmp_path / "m.csv", tmp_path / "queries.yaml"
    path.write_text("0.75 0.25\n0.25 0.75\n")
    listed.write_text(f"- weight: 0.5\n  spec: finite:{path}\n- weight: 0.5\n  spec: grr:eps0=1,d=4\n")
    matrix, both = sdp.mechanism(f"finite:{path}"), sdp.mechanism(f"parallel:{listed}")
    assert matrix.law.identity() == {"matrix": [[0.75, 0.25], [0.25, 0.75]]}
    assert list(matrix.law.files()) == [str(path)] and list(both.law.files()) == [str(listed), str(path)]
    assert both.law.identity() == {"spec": f"parallel:{listed}"}
    assert len(matrix.law.dominating_pairs(2)) == 2 and matrix.law.dominating_pairs(1) is None


def test_a_matrix_passes_its_own_audit() -> None:
    m = sdp.FiniteRandomizer(SQUARE)
    audit = sdp.audit(m, claimed=m, samples=20_000, rng=np.random.default_rng(8))
    assert not audit.violated
    other = sdp.audit(m, claimed=sdp.FiniteRandomizer(np.roll(SQUARE, 1, axis=1)), samples=20_000)
    assert other.refutes_law
