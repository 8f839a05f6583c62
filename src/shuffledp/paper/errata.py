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


def _entry(
    place: str, wrong: str, case: str, printed: Fraction | float, truth: Fraction | float, repair: str
) -> dict[str, Any]:
    """One erratum; fractions are kept as text and as numbers."""

    def shown(value: Fraction | float, rounded: Callable[[float, int], str]) -> str:
        return str(value) if isinstance(value, Fraction) else rounded(value, 6)

    return {
        "place": place,
        "wrong": wrong,
        "case": case,
        "printed": shown(printed, round_up),  # what is shown contradicts the paper no more than the numbers do
        "truth": shown(truth, round_down),
        "printed_value": float(printed),
        "truth_value": float(truth),
        "exact": isinstance(truth, Fraction),
        "repair": repair,
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
    return _entry(
        "Lemma 4.5; Theorems 4.1, 4.7, 4.8",
        "All remaining mass of the others is counted as hiding the victim's third symbol; only the part it shares "
        "with that symbol does. The divergence of a concrete dataset exceeds the printed bound.",
        "randomized response, d = 3, e^eps0 = 2, n = 3, others hold 0 and 2, divergence at e^eps = 3/2",
        printed,
        truth,
        "t = (p alpha, p alpha, 1 - alpha - p alpha)/q instead of (r, r, 1 - 2r)",
    )


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
    return _entry(
        "Table 2, sampling RAPPOR",
        "The printed beta is too small (by the factor d/s when s = 1), so eps is too small.",
        "s = 1 of d = 4 items, e^(eps0/2) = 2: largest total variation of two inputs",
        Fraction(1, 4) * (half - 1) / (half + 1),
        truth,
        "beta = (1-2f)/(2 s f (1-f)) E|N - N'| with N, N' ~ Bin(min(s, d-s), f), f = 1/(e^(eps0/2) + 1)",
    )


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
        "Table 2, sampling RAPPOR",
        "With the printed beta even the repaired reduction is not a bound.",
        "s = 1 of d = 4 items, e^(eps0/2) = 2, n = 2, divergence at e^eps = 3/2, worst dataset",
        reduction(p, beta, p, 2, ratio, printed=False),
        worst(sampling_rappor(4, 1, half)[1], 2, ratio)[0],
        "as above",
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
    return _entry(
        "Appendix, numerical lower bounds",
        "The lower bound's pair is recommended as a precise upper bound for randomized response on 2 options; a mixed "
        "dataset is worse than every constant one.",
        f"e^eps0 = 2, n = 5, divergence at e^eps = 5/4, others hold {', '.join(map(str, others))}",
        constant,
        truth,
        "go through all numbers of others who hold 1 (mechanism randomized-response)",
    )


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
    return _entry(
        "Theorem 4.2",
        "The printed formula has lost a fraction bar; the appendix's F(Omega) is ten times too small under the "
        "printed condition, even for the printed pair.",
        "p = q = 10, beta = 0.1, delta = 1e-9, n = 3000: eps of the formula and of the pair it speaks of",
        printed,
        truth,
        "maximize over the whole range of the clone count (bound analytic)",
    )


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
    return _entry(
        "Table 2, Wheel with sp > 1/2 (PrivUnit with c > 1/2 alike)",
        "The printed beta exceeds what any eps0-LDP mechanism can have, (e-1)/(e+1) = 1/3 here.",
        "e^eps0 = 2, one arc covers 3/4 of the circle: largest total variation of two inputs",
        share * (keep - 1) / total,
        total_variation(rows),
        "beta = min(sp, 1-sp)(e-1)/Omega",
    )


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
        "Table 4, Cheu et al. on {0,1}^d",
        "p = ((1-f)/f)^2 is the ratio of two one-hot rows; other bit vectors differ in more than two bits.",
        "f = 1/4, three bits: largest probability ratio p of two one-hot inputs, and of any two (111 and 000)",
        largest_ratio([row for bits, row in zip(inputs, rows, strict=True) if sum(bits) == 1]),
        largest_ratio(rows),
        "one-hot inputs only",
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
        "Table 4, balls-into-bins with d < 2s",
        "beta = 1 and q = d/s make the probability 2r of a clone larger than 1: two sets of special bins overlap.",
        "d = 3 bins, s = 2 special bins: 2r = 2s/d as printed, and the largest share of bins in one of two such sets",
        Fraction(2 * special, bins),
        max(Fraction(len(one | two), bins) for one, two in combinations(sets, 2)),
        "d >= 2s, or beta = (d-s)/s",
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
