"""Random questions over all mechanisms, bounds, crowds, n and delta: no upper answer is below an independent truth.

The questions are fixed by their numbers: make test asks 200 and make test-heavy 1,800 more, so that 2,000 are asked
before a merge; make test-all asks 100,000.  A second test compares upper with lower bounds of mechanisms whose settings
are random too: 20 questions in make test, 10,000 in make test-all.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import shuffledp as sdp
from contract.cases import all_cases
from reference import events
from reference.fractions_oracle import exp_enclosure, worst_divergence
from reference.repetition import slow
from shuffledp.bounds import BOUNDS

BLOCK = 200
TOL = 1e-4
CASES = all_cases()
SOUND = [name for name, bound in BOUNDS.items() if bound.sound and bound.side == "upper"]


def _matrix(rng: random.Random) -> np.ndarray:
    """A probability matrix: smooth, with zeros, nearly equal rows, or a few levels."""
    kind, d, k = rng.choice(["smooth", "zeros", "near", "levels"]), rng.randint(2, 4), rng.randint(2, 5)
    seed = np.random.default_rng(rng.randrange(2**32))
    if kind == "levels":
        q = math.exp(rng.uniform(0.01, 6.0))
        rows = np.where(seed.random((d, k)) < 0.4, q, 1.0)
    elif kind == "near":
        rows = seed.random(k) + 0.1 + 10.0 ** rng.uniform(-6, -1) * seed.random((d, k))
    else:
        rows = seed.random((d, k)) ** rng.choice([1.0, 3.0]) + 1e-3
        if kind == "zeros":
            rows *= seed.random((d, k)) < 0.8
            rows[:, 0] += 0.05
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def question(rng: random.Random) -> tuple[Any, np.ndarray | None, dict[str, Any], str]:
    """A mechanism, its matrix if that is small, the terms, and a bound."""
    n = round(10.0 ** rng.uniform(0.0, rng.choice([1.0, 4.0, 12.0])))
    delta = 10.0 ** -rng.uniform(0.31, rng.choice([3.0, 12.0, 300.0]))
    terms: dict[str, Any] = {"n": n, "delta": delta}
    if rng.random() < 0.2 and n > 2:
        terms["dropouts" if rng.random() < 0.5 else "colluding"] = rng.randint(1, max(1, n // 3))
    bound = rng.choice(["auto"] * 3 + SOUND)
    if rng.random() < 0.5:
        rows = _matrix(rng)
        return sdp.FiniteRandomizer(rows), rows, terms, bound
    case = rng.choice(CASES)
    rows_of = None
    if case.enumerable and case.same_law:
        rows_of = np.asarray(case.mechanism.probabilities(), dtype=np.float64)
        if rows_of.shape[0] > 6:
            rows_of = rows_of[:6]
    return case.mechanism, rows_of, terms, bound


def one_sentence(text: str) -> None:
    assert text.endswith((".", "?")) and "\n" not in text, text


def asked(number: int) -> None:
    """Ask one question, and check its answer."""
    rng = random.Random(number)
    mechanism, rows, terms, bound = question(rng)
    try:
        found = sdp.amplify(mechanism, bound=bound, tol=TOL, **terms)
    except sdp.ShuffleDPError as error:
        one_sentence(str(error))
        return
    eps, delta, n = found.epsilon, terms["delta"], terms["n"]
    assert eps >= 0.0 and not math.isnan(eps), number
    if found.lower is not None:
        assert found.lower <= eps, (number, mechanism.spec, terms, bound, found.lower, eps)
    if rows is None or math.isinf(eps):
        return
    n -= terms.get("dropouts", 0) + terms.get("colluding", 0)
    eps += 1e-12 * (1.0 + eps)  # the rows are doubles: their roundings move eps by less
    truth = events.delta(rows, n, eps)
    assert truth <= delta * (1.0 + events.DOUBT), (number, mechanism.spec, terms, bound, eps, truth)
    if n <= 4 and len(rows) <= 3 and rows.shape[1] <= 4:
        ratio = exp_enclosure(eps)[0]
        exact = worst_divergence([[Fraction(float(x)) for x in row] for row in rows], n, ratio)
        assert exact <= Fraction(delta) * (1 + Fraction(1, 10**9)), (number, mechanism.spec, terms, bound, eps)


@pytest.mark.heavy_cases(*map(str, range(1, 10)))
@pytest.mark.parametrize("block", [*range(10), *(slow(k) for k in range(10, 500))])
def test_no_upper_answer_is_below_the_truth(block: int) -> None:
    for number in range(block * BLOCK, (block + 1) * BLOCK):
        asked(number)


def _any_settings(rng: random.Random) -> Any:
    """A set, a wheel, a cap, noise on a line or in the plane, each with random settings; or one of all mechanisms."""
    eps0, kind = (
        math.exp(rng.uniform(-3.0, 1.8)),
        rng.choice(["rappor", "privset", "wheel", "cap", "line", "plane", "any"]),
    )
    s = rng.choice([1, 2, 3, 5, 6, 8, 12])
    if kind == "rappor":
        return sdp.SamplingRappor(eps0=eps0, d=rng.randint(s + 1, 4 * s + 3), s=s)
    if kind == "privset":
        d = rng.randint(s + 1, 4 * s + 3)
        return sdp.PrivSet(eps0=eps0, d=d, s=s, **({"k": rng.randint(1, d)} if rng.random() < 0.5 else {}))
    if kind == "wheel":
        return sdp.Wheel(eps0=eps0, d=rng.choice([5, 6, 30]), s=rng.choice([1, 2, 2, 2, 3, 4]))
    if kind == "cap":
        more = {"cap": rng.uniform(0.01, 0.6)} if rng.random() < 0.4 else {}
        return sdp.PrivUnit(eps0=eps0, dim=rng.choice([2, 3, 5, 20, 400, 10**5]), **more)
    if kind == "any":
        return rng.choice(CASES).mechanism
    dmax = math.exp(rng.uniform(-3.0, 2.5))
    made = sdp.MetricLaplace if kind == "line" else sdp.PlanarLaplace
    return made(d01=max(1e-6, dmax * rng.random()), dmax=dmax)


def bracketed(number: int) -> bool:
    """Whether a question has both ends, which are compared.

    ``auto`` is the smallest of all upper bounds.  The lower one is asked by its name: beside an upper one it is capped.
    """
    rng = random.Random(f"bracket {number}")
    mechanism = _any_settings(rng)
    terms: dict[str, Any] = {"n": int(math.exp(rng.uniform(1.0, 16.0))), "delta": 10.0 ** rng.uniform(-12.0, -1.5)}
    try:
        upper, lower = (
            sdp.amplify(mechanism, bound=bound, tol=TOL, **terms).epsilon
            for bound in ("auto", "constant-dataset-lower")
        )
    except sdp.BoundNotApplicableError as error:
        one_sentence(str(error))
        return False
    assert lower <= upper * (1.0 + 1e-12), (number, mechanism.spec, terms, lower, upper)
    return True


@pytest.mark.parametrize("block", [0, *(slow(k) for k in range(1, 500))])
def test_no_upper_bound_is_below_a_lower_one(block: int) -> None:
    assert sum(bracketed(number) for number in range(block * 20, (block + 1) * 20)) >= 14


@pytest.mark.parametrize("eps", [2.1, 3.5, slow(3.0)])
def test_the_oracle_is_not_above_the_truth_where_probabilities_nearly_underflow(eps: float) -> None:
    """Two answers, 1,118 users: scipy has no tail below 1e-266, and the event would seem to be a sure one."""
    yes, n = (0.5, 0.0033479010663103846), 1118
    with mp.workdps(60):
        ratio, worst = mp.exp(eps), mp.mpf(0)
        for t in map(mp.mpf, yes):  # all others hold one of the values
            others = [mp.binomial(n - 1, k) * t**k * (1 - t) ** (n - 1 - k) for k in range(n)] + [mp.mpf(0)] * 2
            laws = [[mp.mpf(a) * others[k - 1] + (1 - mp.mpf(a)) * others[k] for k in range(n + 1)] for a in yes]
            for p, q in (laws, laws[::-1]):
                worst = max(worst, mp.fsum(max(a - ratio * b, 0) for a, b in zip(p, q, strict=True)))
        found = events.delta(np.array([[a, 1.0 - a] for a in yes]), n, eps)
    assert found <= worst * (1 + events.DOUBT)
    if eps == 2.1:
        assert found >= 0.5 * worst  # and it is not 0


def test_a_question_whose_truth_nearly_underflows() -> None:
    asked(68085)
