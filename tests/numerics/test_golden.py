"""Every high-precision divergence handed down with the spec."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from reference.asking import epsilon, log_delta
from reference.places import golden
from shuffledp.numerics.pair import ShuffledPair

ENTRIES = golden("divergence.json")
KNOWN = [e for e in ENTRIES if e["pair"] in ("paper", "sound") or e["pair"].startswith("biased_")]
TOL = 1e-4


def rounds_of(entry: dict[str, Any]) -> list[ShuffledPair]:
    def number(name: str) -> float:
        return float(Fraction(entry[name]))

    pair = entry["pair"]
    if pair in ("paper", "sound"):
        alpha, beta, r = number("alpha"), number("beta"), number("r")
        rest = max(0.0, 1.0 - 2.0 * alpha - beta)
        last = max(0.0, 1.0 - 2.0 * r) if pair == "paper" else number("ell")
        return [ShuffledPair([alpha + beta, alpha, rest], [alpha, alpha + beta, rest], [r, r, last])]
    w0, v0, w1, v1, r0, r1 = (number(k) for k in ("w0", "v0", "w1", "v1", "r0", "r1"))
    rest = max(0.0, 1.0 - w0 - v0)
    first = ShuffledPair([w0, v0, rest], [w1, v1, rest], [r0, r1, max(0.0, 1.0 - r0 - r1)])
    return {"biased_PQ": [first], "biased_QP": [first.swapped()], "biased_max": [first, first.swapped()]}[pair]


def test_the_file_is_read() -> None:
    assert len(KNOWN) >= 50


@pytest.mark.parametrize("entry", KNOWN, ids=lambda e: e["id"])
def test_golden(entry: dict[str, Any]) -> None:
    rounds, n = rounds_of(entry), int(entry["n"])
    if entry["query"] == "eps":
        delta = float(Fraction(entry["delta"]))
        truth = float(entry["eps"]) if entry["eps"] != "inf" else math.inf
        high = epsilon(rounds, n=n, delta=delta, tol=TOL, side="upper")
        low = epsilon(rounds, n=n, delta=delta, tol=TOL, side="lower")
    else:
        at, truth = float(Fraction(entry["eps"])), float(Fraction(entry["delta"]))
        high = max(math.exp(log_delta(r, n, at, TOL / 4, "upper")) for r in rounds)
        low = max(math.exp(log_delta(r, n, at, TOL / 4, "lower")) for r in rounds)
    print(f"{entry['id']}: truth {truth!r}, low {low!r}, high {high!r}")
    if truth == 0.0 or math.isinf(truth):
        assert high == truth and low <= truth
        return
    # golden values carry 17 digits, the parameters of the round 53 bits
    assert truth * (1 - 1e-14) <= high <= truth * (1 + TOL)
    assert truth * (1 - 3 * TOL) <= low <= truth * (1 + 1e-14)
