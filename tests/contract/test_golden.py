"""High-precision values through the public API: the paper's Table 5 (exact) and tests/data/divergence.json."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

import shuffledp as sdp
from reference.places import golden

#: Table 5 of the paper with exact values, from high-precision sums: general eps0-LDP at delta = 0.01/n.
TABLE5 = {
    (1, 10**4): 0.0432061580844697,
    (1, 10**6): 0.00501162084627938,
    (1, 10**8): 0.000563643904671286,
    (3, 10**4): 0.226078980308695,
    (3, 10**6): 0.0253723621562865,
    (3, 10**8): 0.00280975073073175,
    (5, 10**4): 0.742132279947348,
    (5, 10**6): 0.0775152409036944,
    (5, 10**8): 0.00849960124423481,
    (7, 10**4): 6.99087087044565,
    (7, 10**6): 0.223581990206234,
    (7, 10**8): 0.0241834762709467,
}
ENTRIES = golden("divergence.json")
BOUND = {"sound": "variation-ratio", "paper": "variation-ratio-published"}
TOL = 1e-4


def parameters(entry: dict[str, Any]) -> sdp.VariationRatio | None:
    """(p, beta, q) where the entry is the reduction of some: p = 1 + beta/alpha, q = p alpha / r, third mass s/q."""
    if entry["pair"] not in BOUND or "r" not in entry:
        return None
    alpha, beta, r = (Fraction(entry[k]) for k in ("alpha", "beta", "r"))
    if alpha == 0 == beta or r == 0:
        return None
    p = 1 + beta / alpha if alpha else math.inf
    q = (alpha + beta) / r
    if "ell" in entry:
        ell = max(Fraction(0), 1 - 2 * alpha - beta) / q
        if abs(ell - Fraction(entry["ell"])) > Fraction(1, 10**15):
            return None  # a mechanism's own blanket, not s/q
    if not q >= 1 or beta > q - 1 + Fraction(1, 10**12):
        return None
    return sdp.VariationRatio(p=float(p), beta=float(beta), q=float(q))


USABLE = [(entry, m) for entry in ENTRIES if (m := parameters(entry)) is not None]


@pytest.mark.parametrize(("eps0", "n"), TABLE5, ids=str)
def test_table_5(eps0: int, n: int) -> None:
    truth = TABLE5[eps0, n]
    for bound in ("general", "variation-ratio", "variation-ratio-published"):
        eps = sdp.amplify(sdp.General(eps0=eps0), n=n, delta=0.01 / n, bound=bound, tol=TOL).epsilon
        # 15 digits were printed; 0.01/n is rounded to a double
        assert truth * (1 - 3e-15) <= eps <= truth * (1 + TOL)


def test_enough_entries_are_usable() -> None:
    assert len([e for e, _ in USABLE if e["pair"] == "sound"]) >= 10
    assert len([e for e, _ in USABLE if e["pair"] == "paper"]) >= 30


@pytest.mark.parametrize(("entry", "m"), USABLE, ids=[e["id"] for e, _ in USABLE])
def test_golden(entry: dict[str, Any], m: sdp.VariationRatio) -> None:
    bound, n = BOUND[entry["pair"]], int(entry["n"])
    if entry["query"] == "eps":
        truth = float(entry["eps"])
        value = sdp.amplify(m, n=n, delta=float(Fraction(entry["delta"])), bound=bound, tol=TOL).epsilon
    else:
        truth = float(Fraction(entry["delta"]))
        value = float(sdp.profile(m, n=n, epsilon=float(Fraction(entry["eps"])), bound=bound, tol=TOL))
    if math.isinf(truth) or truth == 0.0:
        assert value == truth
    else:
        # 17 digits were stored and p, beta and q are rounded to doubles here
        assert truth * (1 - 1e-14) <= value <= truth * (1 + TOL)
