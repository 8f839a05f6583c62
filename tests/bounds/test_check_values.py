"""Published and independently computed numbers of every bound, to the digits they are known to."""

from __future__ import annotations

import math
from typing import Any

import pytest

import shuffledp as sdp
from reference.places import golden
from shuffledp.bounds import BOUNDS
from shuffledp.bounds.closed_forms import terms_of, worst_of_likely_counts
from shuffledp.mechanisms.base import Mechanism


def eps_of(bound: str, m: Mechanism, n: int, delta: float, tol: float = 1e-5) -> float:
    return BOUNDS[bound].epsilon(m, n=n, delta=delta, tol=tol).epsilon


#: Ratios eps0/eps of the k-subset mechanism, d = 16, k = ceil(16/(e^eps0 + 1)), n = 1e4, delta = 1e-6.
SUBSET = {
    1.0: {"generic": 6.02, "specific": 26.61, "clone": 18.87, "general": 23.15, "published": 31.82, "blanket": 31.81},
    3.0: {"generic": 1.00, "specific": 14.62, "clone": 9.35, "general": 13.27, "published": 17.50, "blanket": 17.50},
}
NAMES = {
    "generic": ["blanket-hoeffding-generic", "blanket-bennett-generic"],
    "specific": ["blanket-hoeffding", "blanket-bennett"],
    "clone": ["clone"],
    "general": ["general"],
    "published": ["variation-ratio-published"],
    "blanket": ["blanket"],
}


@pytest.mark.parametrize(("eps0", "row"), [(e, r) for e in SUBSET for r in NAMES])
def test_amplification_of_the_subset_mechanism(eps0: float, row: str) -> None:
    m = sdp.Subset(eps0=eps0, d=16, k=math.ceil(16 / (math.exp(eps0) + 1)))
    best = min(eps_of(name, m, 10_000, 1e-6) for name in NAMES[row])
    assert eps0 / best == pytest.approx(SUBSET[eps0][row], abs=0.0151)  # the digits given, one in the last


#: eps'/eps of Cheu-Zhilyaev, blanket rows alone (one per user), delta = 0.01/n.
CHEU = {
    (10**4, 0.5): 7.08,
    (10**4, 0.7): 4.93,
    (10**4, 1.0): 4.42,
    (10**4, 1.5): 4.44,
    (10**5, 0.2): 5.32,
    (10**5, 0.5): 3.85,
    (10**5, 1.0): 3.80,
    (10**5, 1.5): 4.02,
}


@pytest.mark.parametrize(("n", "claim"), CHEU)
def test_extra_amplification_of_cheu_zhilyaev(n: int, claim: float) -> None:
    """The flip probability that the claim asks for; then only the n blanket rows hide the victim."""
    delta = 0.01 / n
    square = 33 / (5 * n) / math.tanh(claim / 2) ** 2 * math.log(4 / delta)
    flip = 0.5 * (1 - math.sqrt(1 - 4 * square))
    m = sdp.CheuZhilyaev(flip=flip, d=16, messages=1)
    assert eps_of("cheu-zhilyaev", m, n, delta) == pytest.approx(claim, rel=1e-9)
    f, g = flip, 1 - flip
    rows = sdp.ShuffledPair(
        P0=[g * g, f * f, f * g, f * g], P1=[f * f, g * g, f * g, f * g], t=[f * g, f * g, f * f, g * g]
    )
    eps = sdp.amplify(rows, n=n + 1, delta=delta, tol=1e-5).epsilon
    assert claim / eps == pytest.approx(CHEU[n, claim], abs=0.0151)
    assert sdp.amplify(m, n=n, delta=delta).epsilon <= eps * 1.0001  # the others' own rows hide the victim too


BALLS = {0.1: 4.68, 0.5: 4.14, 1.0: 3.93, 1.5: 3.78}


@pytest.mark.parametrize("claim", BALLS)
@pytest.mark.parametrize(("d", "special"), [(16, 1), (128, 1), (128, 8)])
def test_extra_amplification_of_balls_into_bins(claim: float, d: int, special: int) -> None:
    delta = 1e-6
    m = sdp.BallsIntoBins(
        d=d, special=special, total_messages=math.ceil(32 * math.log(2 / delta) * d / claim**2 / special)
    )
    assert eps_of("balls-formula", m, 100, delta) == pytest.approx(claim, rel=2e-3)
    eps = eps_of("blanket", m, 100, delta)
    assert claim / eps == pytest.approx(BALLS[claim], abs=0.0151)
    assert 1.18 <= eps_of("balls-search", m, 100, delta) / eps <= 1.465


ENTRIES = golden("divergence.json")
ANALYTIC = {
    "level sound pair": "asymptotic",
    "sup_F sound pair": "analytic",
    "Theorem level (printed)": "asymptotic-published",
    "F(Omega) of the appendix (UNSAFE)": "analytic-published",
}


def ratio_of(inputs: dict[str, str]) -> sdp.VariationRatio:
    def number(text: str) -> float:
        if text.startswith("exp"):
            return math.exp(float(text[3:]))
        top, _, bottom = text.partition("/")
        return float(top) / float(bottom or 1)

    p = number(inputs["p"])
    beta = (p - 1) / (p + 1) if inputs["beta"] == "max" else number(inputs["beta"])
    return sdp.VariationRatio(p=p, beta=beta, q=p if inputs["q"] == "p" else number(inputs["q"]))


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e["category"] == "analytic"], ids=lambda e: str(e["id"]))
def test_closed_forms_of_the_paper(entry: dict[str, Any]) -> None:
    m, n, delta, exact = ratio_of(entry["inputs"]), entry["n"], float(entry["delta"]), float(entry["eps"])
    if entry["pair"] == "sup_F paper pair":
        found = worst_of_likely_counts(terms_of(m, n - 1, delta), published_law=True)
    else:
        found = eps_of(ANALYTIC[entry["pair"]], m, n, delta)
    assert found == pytest.approx(exact, rel=1e-11)


def test_every_analytic_entry_was_checked() -> None:
    pairs = {e["pair"] for e in ENTRIES if e["category"] == "analytic"}
    assert pairs == {*ANALYTIC, "sup_F paper pair"}


def test_the_appendix_under_reports_tenfold() -> None:
    m = sdp.VariationRatio(p=10.0, beta=0.1, q=10.0)
    printed = eps_of("analytic-published", m, 3000, 1e-9)
    assert printed == pytest.approx(0.012157, abs=1e-6)
    assert eps_of("variation-ratio-published", m, 3000, 1e-9) == pytest.approx(0.123779, abs=2e-6)
    assert eps_of("analytic", m, 3000, 1e-9) >= eps_of("variation-ratio", m, 3000, 1e-9) >= 0.123779
