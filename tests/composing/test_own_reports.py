"""Values that depend on a user's own earlier reports are not covered by composition, and every result says so."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

import shuffledp as sdp
from shuffledp.accounting.guarantee import OWN_DATA, TRUST
from shuffledp.web import answers
from shuffledp.web.questions import Question

#: The e^eps0 of generalized randomized response on five options: a, b, r, A and B.
KEEP = 10.0
USERS = 60


def reports(held: str) -> dict[str, float]:
    return {x: (KEEP if x == held else 1.0) / (KEEP + 4.0) for x in "abrAB"}


def differences(victim: str = "") -> Counter[tuple[int, int, int]]:
    """The law of what one user adds to #a - #b of round 1, #a - #b of round 2 and #A - #B of round 2.

    The victim holds the same in both rounds.  Every other user holds r in round 1, and in round 2 what its own report
    says: A after a, B after b, otherwise r.
    """
    law: Counter[tuple[int, int, int]] = Counter()
    for first, likely in reports(victim or "r").items():
        then = victim or {"a": "A", "b": "B"}.get(first, "r")
        for second, chance in reports(then).items():
            again, others = (second == "a") - (second == "b"), (second == "A") - (second == "B")
            law[(first == "a") - (first == "b"), again, others] += likely * chance
    return law


def plus(law: NDArray[np.float64], user: Counter[tuple[int, int, int]]) -> NDArray[np.float64]:
    """The law of the sums with one user more; only positive terms are added, so that every mass is relatively exact."""
    k = law.shape[0]
    more = np.zeros((k + 2,) * 3)
    for (x, y, z), chance in user.items():
        more[1 + x : 1 + x + k, 1 + y : 1 + y + k, 1 + z : 1 + z + k] += chance * law
    return more


@pytest.mark.heavy
def test_values_that_depend_on_own_reports_are_not_covered() -> None:
    """By enumeration of three differences of counts, which are a function of what is released."""
    law = np.ones((1, 1, 1))
    for _ in range(USERS - 1):
        law = plus(law, differences())
    if_a, if_b = (plus(law, differences(victim)) for victim in "ab")
    assert abs(if_a.sum() - 1.0) < 1e-12
    true = float(np.maximum(if_a - math.e * if_b, 0.0).sum())
    assert 0.02762 <= true < 0.02763
    rounds = sdp.Accountant().compose(f"grr:eps0={math.log(KEEP)!r},d=5", n=USERS, count=2)
    assert rounds.delta(epsilon=1.0) <= 0.02503 < true
    assert rounds.guarantee(delta=0.02503).trust.endswith(OWN_DATA)


def test_composed_results_say_so_and_others_do_not() -> None:
    spec, crowd = "grr:eps0=2,d=4", {"n": 100, "delta": 1e-6}
    once, twice = (sdp.Accountant().compose(spec, n=100, count=k).guarantee(delta=1e-6) for k in (1, 2))
    several = sdp.Accountant().compose(spec, n=100, reports_per_user=2).guarantee(delta=1e-6)
    assert once.trust == TRUST and OWN_DATA[1:] not in str(once)
    for found in (twice, several):
        assert OWN_DATA in found.trust and str(found).endswith(f"{OWN_DATA[1:]}.")
    assert sdp.amplify(spec, **crowd).trust == TRUST
    assert sdp.amplify(spec, **crowd, reports_per_user=2).trust == f"{TRUST}; {OWN_DATA}"


def test_programmes_and_statements_say_so() -> None:
    def programme(**terms: int) -> str:
        line = {"mechanism": "grr:eps0=2,d=4", **terms}
        told = {"version": 1, "population": {"users": 100}, "target": {"epsilon": 9, "delta": "1e-6"}, "rounds": [line]}
        return str(sdp.check(told))

    assert OWN_DATA in programme(count=2) and OWN_DATA in programme(reports_per_user=2) and OWN_DATA not in programme()
    query = sdp.queries.Histogram(column="x", labels=["a", "b"], mechanism="grr:eps0=2")
    plan = sdp.Plan(query=query, users=1000, delta=1e-6)
    assert OWN_DATA in plan.statement(rounds=2) and OWN_DATA not in plan.statement()


def test_the_page_in_the_browser_says_so() -> None:
    asked = {"spec": "grr:eps0=2,d=4", "n": "100", "delta": "1e-6"}
    once, twice = (answers.total(Question.read({**asked, "rounds": rounds})) for rounds in "12")
    assert once["trust"] == TRUST and OWN_DATA in twice["trust"]
