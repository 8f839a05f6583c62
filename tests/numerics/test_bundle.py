"""Several reports per user in one batch: never below brute force, and the blankets are shared among the reports."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from reference.poisson_histogram import repeated

EPS = (0.0, 0.4, 1.0, 1.7)


def convolved(laws: list[dict[tuple[int, ...], Fraction]]) -> dict[tuple[int, ...], Fraction]:
    """The law of the sum of independent vectors of counts."""
    total: dict[tuple[int, ...], Fraction] = {(0,) * len(next(iter(laws[0]))): Fraction(1)}
    for law in laws:
        new: dict[tuple[int, ...], Fraction] = {}
        for (a, p), (b, q) in itertools.product(total.items(), law.items()):
            at = tuple(x + y for x, y in zip(a, b, strict=True))
            new[at] = new.get(at, Fraction(0)) + p * q
        total = new
    return total


def divergence(p: dict[Any, Fraction], q: dict[Any, Fraction], ratio: float) -> float:
    exact = Fraction(ratio)
    return float(sum(max(p.get(k, Fraction(0)) - exact * q.get(k, Fraction(0)), Fraction(0)) for k in {*p, *q}))


def unit(d: int, i: int) -> tuple[int, ...]:
    return tuple(int(j == i) for j in range(d))


@pytest.mark.slow_cases("rows1-3")
@pytest.mark.parametrize("reports", [2, 3])
@pytest.mark.parametrize("rows", [((3, 1), (1, 3)), ((2, 1, 1), (1, 2, 1), (1, 1, 2))])
def test_single_messages_against_all_datasets(rows: tuple[tuple[int, ...], ...], reports: int) -> None:
    """Two users, every choice of values, all reports shuffled together: exact fractions."""
    d = len(rows)
    law = [{unit(d, y): Fraction(w, sum(row)) for y, w in enumerate(row)} for row in rows]
    m = sdp.FiniteRandomizer([[w / sum(row) for w in row] for row in rows])
    held = list(itertools.combinations_with_replacement(range(d), reports))
    found = sdp.profile(m, n=2, epsilon=EPS, reports_per_user=reports)
    for eps, upper in zip(EPS, found, strict=True):
        worst = 0.0
        for others in held:
            mine = {h: convolved([law[x] for x in (*others, *h)]) for h in held}
            worst = max(worst, *(divergence(mine[a], mine[b], math.exp(eps)) for a in held for b in held))
        assert worst <= upper * (1 + 1e-9) + 1e-14


@pytest.mark.slow_cases("2-*")
@pytest.mark.parametrize(
    ("spec", "n"),
    [("pure-dump:d=2,total_messages=8", 2), ("pure-dump:d=2,messages=3", 3), ("pure-dump:d=3,total_messages=6", 2)],
)
@pytest.mark.parametrize("reports", [2, 3])
def test_blankets_are_shared_among_the_reports(spec: str, n: int, reports: int) -> None:
    """All blankets are uniform; others' messages are the values themselves, which are subtracted."""
    m = sdp.mechanism(spec)
    d, total = m.d, m.total_messages if m.total_messages is not None else int(m.messages) * n
    noise = convolved([{unit(d, i): Fraction(1, d) for i in range(d)}] * total)
    held = list(itertools.combinations_with_replacement(range(d), reports))
    laws = {h: convolved([noise, *({unit(d, i): Fraction(1)} for i in h)]) for h in held}
    found = sdp.profile(m, n=n, epsilon=EPS, reports_per_user=reports)
    naive = sdp.Accountant().compose(m, n=n, count=reports)
    violated = False
    for eps, upper in zip(EPS, found, strict=True):
        worst = max(divergence(laws[a], laws[b], math.exp(eps)) for a in held for b in held)
        assert worst <= upper * (1 + 1e-9) + 1e-14
        violated |= naive.delta(epsilon=eps) < worst * (1 - 1e-6)
    assert violated  # counting on all blankets once for every report is no bound


@pytest.mark.heavy
def test_an_index_sent_again_and_again() -> None:
    """A Poisson histogram whose users may repeat an index: one count moves by the number of reports."""
    m = sdp.PoissonHistogram(d=9, poisson_per_index=1.0)
    for reports, eps in itertools.product((2, 3), EPS):
        upper = float(sdp.profile(m, n=2, epsilon=eps, reports_per_user=reports))
        assert repeated(2.0, reports, math.exp(eps)) <= upper * (1 + 1e-9)
    different = sdp.PoissonHistogram(d=9, poisson_per_index=1.0, indices=2)
    assert float(sdp.profile(different, n=2, epsilon=0.4)) < repeated(2.0, 2, math.exp(0.4))


@pytest.mark.slow_cases("general:eps0=1", "grr:eps0=1,d=4", "pure-dump:d=16,poisson=2")
@pytest.mark.parametrize(
    "spec", ["grr:eps0=1,d=4", "pure-dump:d=16,poisson=2", "pure-dump:d=16,messages=3", "general:eps0=1"]
)
def test_amplify_and_the_accountant_agree(spec: str) -> None:
    g = sdp.amplify(spec, n=3000, delta=1e-6, reports_per_user=3)
    acc = sdp.Accountant().compose(spec, n=3000, reports_per_user=3)
    assert g.epsilon == pytest.approx(acc.epsilon(delta=1e-6), rel=1e-9)
    assert acc.entries[0].cost == 3 and g.lower is None and g.reports_per_user == 3
    assert "each sending 3 reports" in str(g)
    found = sdp.check(
        {
            "version": 1,
            "target": {"epsilon": 9, "delta": "1e-6"},
            "rounds": [{"mechanism": spec, "users": 3000, "reports_per_user": 3}],
        }
    )
    assert found.epsilon == pytest.approx(g.epsilon, rel=1e-9)


@pytest.mark.heavy
def test_one_report_is_as_before_and_more_reports_cost_more() -> None:
    one, two, four = (sdp.amplify("grr:eps0=1,d=4", n=500, delta=1e-6, reports_per_user=k) for k in (1, 2, 4))
    assert one == sdp.amplify("grr:eps0=1,d=4", n=500, delta=1e-6)
    assert one.epsilon < two.epsilon < four.epsilon < 4.0 == four.local_epsilon
    assert sdp.amplify("grr:eps0=1,d=4", n=1, delta=1e-9, reports_per_user=4).epsilon <= 4.0
    local = sdp.amplify("grr:eps0=1,d=4", n=500, delta=1e-6, reports_per_user=4, bound="local")
    assert local.epsilon == 4.0
    closed = sdp.amplify("grr:eps0=1,d=4", n=10**5, delta=1e-6, reports_per_user=4, bound="clone-closed")
    assert four.epsilon > sdp.amplify("grr:eps0=1,d=4", n=10**5, delta=1e-6, reports_per_user=4).epsilon
    assert closed.epsilon <= 4.0


@pytest.mark.slow
def test_calibration_knows_several_reports() -> None:
    m = sdp.calibrate("grr:d=10", n=10**4, epsilon=0.5, delta=1e-6, reports_per_user=5)
    assert 0.4999 <= sdp.amplify(m, n=10**4, delta=1e-6, reports_per_user=5).epsilon <= 0.5
    n = sdp.users_needed("grr:eps0=2,d=10", epsilon=0.5, delta=1e-6, reports_per_user=5)
    reached = [sdp.amplify("grr:eps0=2,d=10", n=k, delta=1e-6, reports_per_user=5).epsilon for k in (n - 1, n)]
    assert reached[0] > 0.5 >= reached[1]
    delta = sdp.delta_needed("grr:eps0=2,d=10", n=n, epsilon=0.5, reports_per_user=5)
    assert delta == pytest.approx(float(sdp.profile("grr:eps0=2,d=10", n=n, epsilon=0.5, reports_per_user=5)))
    poisson = sdp.calibrate("poisson-histogram:d=64", n=10**4, epsilon=1.0, delta=1e-8, reports_per_user=2)
    assert 0.999 <= sdp.amplify(poisson, n=10**4, delta=1e-8, reports_per_user=2).epsilon <= 1.0


def test_refusals() -> None:
    for bad in (0, 1.5, 10**7, None, True):
        with pytest.raises(sdp.ParameterError, match=r"^reports_per_user must"):
            sdp.amplify("grr:eps0=1,d=4", n=100, delta=1e-6, reports_per_user=bad)
    with pytest.raises(sdp.BoundNotApplicableError, match=r"got messages = 0\.5 .* give poisson"):
        sdp.amplify("pure-dump:d=4,messages=0.5", n=100, delta=1e-6, reports_per_user=2)
    with pytest.raises(sdp.BoundNotApplicableError, match="no lower bound is known"):
        sdp.profile("grr:eps0=1,d=4", n=100, epsilon=0.1, side="lower", reports_per_user=2)
    with pytest.raises(sdp.CertificationError, match="one report per user"):
        sdp.amplify("grr:eps0=1,d=4", n=100, delta=1e-6, reports_per_user=2, certify=True)
    with pytest.raises(sdp.ParameterError, match="delta must be at least"):
        sdp.amplify("grr:eps0=1,d=4", n=100, delta=1e-200, reports_per_user=2)


@pytest.mark.slow
def test_curves_rise_with_the_reports() -> None:
    eps = np.linspace(0.0, 1.0, 5)
    curves = [sdp.profile("grr:eps0=1,d=4", n=300, epsilon=eps, reports_per_user=k) for k in (1, 2, 3)]
    assert np.all(curves[0] <= curves[1] * (1 + 1e-4)) and np.all(curves[1] <= curves[2] * (1 + 1e-4))
