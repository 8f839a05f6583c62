"""What is wrong in the paper, each with a case small enough to check: in exact fractions wherever possible."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from typing import Any

from .._support.numbers import round_down, round_up
from ..bounds import BOUNDS
from ..mechanisms.known.variation_ratio import VariationRatio
from .exact import among, flipped_bits, largest_ratio, reduction, response, sampling_rappor, total_variation, worst
from .words import ERRATA


def _entry(name: str, printed: Fraction | float, truth: Fraction | float, **held: str) -> dict[str, Any]:
    """One erratum, by its words in words.yaml (in which ``held`` may stand); fractions are kept as text and numbers."""
    said = ERRATA[name]

    def shown(value: Fraction | float, rounded: Callable[[float, int], str]) -> str:
        return str(value) if isinstance(value, Fraction) else rounded(value, 6)

    return {
        "place": said["place"],
        "wrong": said["wrong"],
        "case": said["case"].format(**held),
        "printed": shown(printed, round_up),  # what is shown contradicts the paper no more than the numbers do
        "truth": shown(truth, round_down),
        "printed_value": float(printed),
        "truth_value": float(truth),
        "exact": isinstance(truth, Fraction),
        "repair": said["repair"],
    }


def reduction_is_no_bound() -> dict[str, Any]:
    """Theorems 4.1, 4.7, 4.8 (Lemma 4.5): GRR on 3 options, e^eps0 = 2, 3 users, the others hold 0 and 2, E = 3/2.

    Examples
    --------
    >>> found = reduction_is_no_bound()
    >>> found["truth"], found["printed"]
    ('5/128', '1/32')
    """
    ratio, rows = Fraction(3, 2), response(3, Fraction(2))
    truth = among(rows[:2], [rows[0], rows[2]], ratio)
    printed = reduction(Fraction(2), total_variation(rows), Fraction(2), 3, ratio, printed=True)
    return _entry("reduction is no bound", printed, truth)


def rappor_beta() -> dict[str, Any]:
    """Table 2, sampling RAPPOR: the printed total variation is too small.

    Examples
    --------
    >>> found = rappor_beta()
    >>> found["truth"], found["printed"]
    ('1/3', '1/12')
    """
    half = Fraction(2)
    truth = total_variation(sampling_rappor(4, 1, half)[1])
    return _entry("rappor beta", Fraction(1, 4) * (half - 1) / (half + 1), truth)


def rappor_shuffled() -> dict[str, Any]:
    """The same beta in a shuffled pair of users, with the reduction repaired: still below the truth.

    Examples
    --------
    >>> found = rappor_shuffled()
    >>> found["truth"], found["printed"]
    ('31/162', '1/18')
    """
    half, ratio = Fraction(2), Fraction(3, 2)
    p, beta = half**2, Fraction(1, 4) * (half - 1) / (half + 1)
    return _entry(
        "rappor shuffled",
        reduction(p, beta, p, 2, ratio, printed=False),
        worst(sampling_rappor(4, 1, half)[1], 2, ratio)[0],
    )


def two_options() -> dict[str, Any]:
    """Appendix on numerical lower bounds: for 2 options the constant datasets are not the worst.

    Examples
    --------
    >>> found = two_options()
    >>> found["truth"], found["printed"]
    ('5/81', '4/81')
    """
    rows, ratio, users = response(2, Fraction(2)), Fraction(5, 4), 5
    constant = max(among([rows[a], rows[1 - a]], [rows[x]] * (users - 1), ratio) for a in (0, 1) for x in (0, 1))
    truth, _, others = worst(rows, users, ratio)
    return _entry("two options", constant, truth, others=", ".join(map(str, others)))


def analytic_under_reports() -> dict[str, Any]:
    """Theorem 4.2 under its printed condition: p = q = 10, beta = 1/10, delta = 1e-9, n = 3000.

    Examples
    --------
    >>> found = analytic_under_reports()
    >>> found["truth"], found["printed"]
    ('0.123778', '0.0121574')
    """
    case = VariationRatio(p=10.0, beta=0.1, q=10.0)
    truth = BOUNDS["variation-ratio-published"].epsilon(case, n=3000, delta=1e-9, tol=1e-7).epsilon
    printed = BOUNDS["analytic-published"].epsilon(case, n=3000, delta=1e-9, tol=1e-7).epsilon
    return _entry("analytic under reports", printed, truth)


def wheel_range() -> dict[str, Any]:
    """Table 2, Wheel (and PrivUnit): beyond half the circle, beta cannot be the total variation of an eps0-LDP pair.

    Examples
    --------
    >>> found = wheel_range()
    >>> found["printed"], found["truth"]
    ('3/7', '1/7')
    """
    keep, share = Fraction(2), Fraction(3, 4)
    total = share * keep + 1 - share
    quarters = [[keep if piece != left_out else Fraction(1) for piece in range(4)] for left_out in range(4)]
    rows = [[weight / sum(row) for weight in row] for row in quarters]  # turned by quarters, two gaps are disjoint
    return _entry("wheel range", share * (keep - 1) / total, total_variation(rows))


def cheu_inputs() -> dict[str, Any]:
    """Table 4, Cheu et al. on {0,1}^d: the row holds for one-hot inputs only.

    Examples
    --------
    >>> found = cheu_inputs()
    >>> found["printed"], found["truth"]
    ('9', '27')
    """
    flip = Fraction(1, 4)
    inputs, rows = flipped_bits(3, flip)
    return _entry(
        "cheu inputs",
        largest_ratio([row for bits, row in zip(inputs, rows, strict=True) if sum(bits) == 1]),
        largest_ratio(rows),
    )


def balls_range() -> dict[str, Any]:
    """Table 4, balls-into-bins with d < 2s: the clone probability 2r exceeds 1.

    Examples
    --------
    >>> found = balls_range()
    >>> found["printed"], found["truth"]
    ('4/3', '1')
    """
    bins, special = 3, 2
    sets = [set(held) for held in combinations(range(bins), special)]
    return _entry(
        "balls range",
        Fraction(2 * special, bins),
        max(Fraction(len(one | two), bins) for one, two in combinations(sets, 2)),
    )


def table(settings: dict[str, Any]) -> dict[str, Any]:
    """All of them."""
    cases = (
        reduction_is_no_bound,
        rappor_beta,
        rappor_shuffled,
        two_options,
        analytic_under_reports,
        wheel_range,
        cheu_inputs,
        balls_range,
    )
    return {"entries": [case() for case in cases]}
