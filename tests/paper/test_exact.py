"""The brute force in fractions agrees with the independent one of the tests, and gives the known counter-examples."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import shuffledp as sdp
from reference.fractions_oracle import round_divergence, shuffled_divergence, worst_divergence
from reference.randomizers import grr
from shuffledp.paper import errata
from shuffledp.paper.exact import (
    among,
    flipped_bits,
    largest_ratio,
    reduction,
    response,
    sampling_rappor,
    total_variation,
    worst,
)

HALF = Fraction(3, 2)


@pytest.mark.parametrize(("d", "keep", "others"), [(2, 2, (0, 1)), (3, 2, (0, 2)), (3, 5, (1, 1, 2)), (4, 3, ())])
@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(5, 4), HALF])
def test_one_dataset(d: int, keep: int, others: tuple[int, ...], ratio: Fraction) -> None:
    rows = response(d, Fraction(keep))
    assert rows == grr(d, keep)
    mine = among(rows[:2], [rows[x] for x in others], ratio)
    assert mine == shuffled_divergence(grr(d, keep), 0, 1, others, ratio) and mine > 0


@pytest.mark.parametrize("ratio", [Fraction(5, 4), HALF])
def test_the_worst_dataset(ratio: Fraction) -> None:
    rows = response(3, Fraction(2))
    value, (a, b), others = worst(rows, 3, ratio)
    assert value == worst_divergence(grr(3, 2), 3, ratio)
    assert value == among([rows[a], rows[b]], [rows[x] for x in others], ratio)


@pytest.mark.parametrize("printed", [True, False])
@pytest.mark.parametrize("n", [1, 2, 4])
def test_the_reduction(n: int, printed: bool) -> None:
    p, beta, q = Fraction(3), Fraction(1, 4), Fraction(7, 2)
    alpha = beta / (p - 1)
    rest, r = 1 - alpha - p * alpha, p * alpha / q
    t = [r, r, 1 - 2 * r if printed else rest / q]
    truth = round_divergence([p * alpha, alpha, rest], [alpha, p * alpha, rest], t, n, HALF)
    assert reduction(p, beta, q, n, HALF, printed=printed) == truth


@pytest.mark.parametrize("half", [2, 3])
@pytest.mark.parametrize(("d", "s"), [(2, 1), (3, 1), (4, 2), (5, 3)])
def test_sampling_rappor_has_the_library_s_beta_and_not_the_printed_one(d: int, s: int, half: int) -> None:
    sets, rows = sampling_rappor(d, s, Fraction(half))
    assert len(sets) == math.comb(d, s) and all(sum(row) == 1 for row in rows)
    ours = sdp.SamplingRappor(eps0=2 * math.log(half), d=d, s=s).variation_ratio().beta
    exact = total_variation(rows)
    assert ours == pytest.approx(float(exact), rel=1e-12)
    assert exact != Fraction(s, d) * Fraction(half - 1, half + 1)


@pytest.mark.parametrize(
    ("case", "printed", "truth"),
    [
        (errata.reduction_is_no_bound, "1/32", "5/128"),
        (errata.rappor_beta, "1/12", "1/3"),
        (errata.rappor_shuffled, "1/18", "31/162"),
        (errata.two_options, "4/81", "5/81"),
        (errata.wheel_range, "3/7", "1/7"),
        (errata.cheu_inputs, "9", "27"),
        (errata.balls_range, "4/3", "1"),
    ],
)
def test_errata_in_fractions(case: object, printed: str, truth: str) -> None:
    found = case()  # type: ignore[operator]
    assert (found["printed"], found["truth"], found["exact"]) == (printed, truth, True)


def test_the_counter_example_is_the_worst_dataset_and_the_repaired_law_covers_it() -> None:
    value = worst(response(3, Fraction(2)), 3, HALF)[0]
    assert value == Fraction(5, 128)
    repaired = reduction(Fraction(2), Fraction(1, 4), Fraction(2), 3, HALF, printed=False)
    assert reduction(Fraction(2), Fraction(1, 4), Fraction(2), 3, HALF, printed=True) < value <= repaired


def test_the_analytic_formula_under_reports_tenfold() -> None:
    found = errata.analytic_under_reports()
    assert found["printed_value"] == pytest.approx(0.012157, abs=1e-6)
    assert found["truth_value"] == pytest.approx(0.123779, abs=1e-6)
    assert not found["exact"]


@pytest.mark.parametrize("case", [errata.wheel_range, errata.cheu_inputs, errata.balls_range])
def test_range_errata_are_enumerated(case: Callable[[], dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    """The true value comes from going through the cases: it vanishes when they are taken away."""
    for name in ("total_variation", "largest_ratio"):
        monkeypatch.setattr(errata, name, lambda rows: Fraction(0))
    monkeypatch.setattr(errata, "combinations", lambda items, size: [(frozenset(), frozenset())])
    assert case()["truth_value"] == 0.0


def test_flipped_bits_and_their_largest_ratio() -> None:
    inputs, rows = flipped_bits(3, Fraction(1, 4))
    assert len(inputs) == 8 and all(sum(row) == 1 for row in rows)
    assert rows[0][7] == Fraction(1, 64) and rows[7][7] == Fraction(27, 64)
    assert largest_ratio(rows) == max(a / b for x in rows for y in rows for a, b in zip(x, y, strict=True)) == 27
