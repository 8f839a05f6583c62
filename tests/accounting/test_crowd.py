"""Dropouts, colluders, Poisson blanket messages and batch tables, against brute force."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import shuffledp as sdp
from reference.fractions_oracle import Law, _send, hockey_stick, round_divergence
from reference.repetition import examples
from reference.tolerances import within_tol
from shuffledp.accounting.crowd import Crowd
from shuffledp.accounting.guarantee import TRUST
from shuffledp.numerics.counts import UNLIMITED, Count
from shuffledp.numerics.mixture import Among
from shuffledp.numerics.pair import ShuffledPair
from shuffledp.randomness.sampling import source
from shuffledp.randomness.whole_numbers import poisson_numbers

COIN = sdp.FiniteRandomizer([[0.75, 0.25], [0.25, 0.75]])
LOPSIDED = sdp.FiniteRandomizer([[0.5, 0.375, 0.125], [0.125, 0.375, 0.5], [0.25, 0.5, 0.25]])
HOLED = sdp.FiniteRandomizer([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25]])
SINGLE = [COIN, LOPSIDED, HOLED, sdp.GRR(eps0=1.5, d=3), sdp.RandomizedResponse(eps0=1.0), sdp.Unary(eps0=1.0, d=2)]


def one_sentence(error: pytest.ExceptionInfo[Exception]) -> str:
    text = str(error.value)
    assert text.endswith(".") and "\n" not in text and ". " not in text.rstrip("."), text
    return text


# -- the terms ----------------------------------------------------------------------------------------------------


def test_counts_and_fractions_of_users() -> None:
    for n, share, users in ((30, 0.1, 3), (1000, 0.0011, 2), (10, 1e-12, 1), (7, 0.0, 0), (10**15, 0.3, 3 * 10**14)):
        crowd = Crowd.of(n, dropouts=share)
        assert (crowd.dropouts, crowd.honest) == (users, n - users)
    assert Crowd.of(10, dropouts=np.int64(3), colluding=np.float64(0.25)).honest == 4
    assert Crowd.of(10, dropouts=9).honest == 1 and Crowd.of(1).complete


@pytest.mark.parametrize("m", ["general:eps0=2", "grr:eps0=1,d=5", COIN, "pure-dump:d=4,messages=1.5"], ids=str)
def test_missing_users_are_users_less(m: object) -> None:
    less = sdp.amplify(m, n=700, delta=1e-6)  # type: ignore[arg-type]
    g = sdp.amplify(m, n=1000, delta=1e-6, dropouts=0.2, colluding=100)  # type: ignore[arg-type]
    assert (g.n, g.dropouts, g.colluding) == (1000, 200, 100)
    assert (g.epsilon, g.lower, g.bound) == (less.epsilon, less.lower, less.bound)
    eps = [0.1, 0.5]
    for side in ("upper", "lower"):
        ours = sdp.profile(m, n=1000, epsilon=eps, side=side, dropouts=200, colluding=0.1)  # type: ignore[arg-type]
        assert np.array_equal(ours, sdp.profile(m, n=700, epsilon=eps, side=side))  # type: ignore[arg-type]


@pytest.mark.parametrize("bound", ["blanket", "variation-ratio", "general", "local", "variation-ratio-lower"])
def test_every_bound_knows_who_takes_part(bound: str) -> None:
    """A bound that forgot the terms would give the same eps."""
    m, side = "grr:eps0=2,d=4", "lower" if bound.endswith("lower") else "upper"
    all_, away = (sdp.amplify(m, n=400, delta=1e-4, bound=bound, colluding=share) for share in (0, 0.5))
    if bound == "local":
        assert all_.epsilon == away.epsilon == 2.0
    else:
        assert 1.2 * all_.epsilon < away.epsilon < 2.0
    delta = float(sdp.profile(m, n=400, epsilon=away.epsilon, bound=bound, side=side, colluding=200))
    assert delta == 0.0 if bound == "local" else delta == pytest.approx(1e-4, rel=2e-2)


@pytest.mark.heavy
def test_nothing_changes_without_terms() -> None:
    for m in (*SINGLE, "laplace:eps0=1", "pure-dump:d=4,total_messages=900"):
        plain = sdp.amplify(m, n=300, delta=1e-5)
        assert plain == sdp.amplify(m, n=300, delta=1e-5, dropouts=0, colluding=0.0)
        assert plain.trust == TRUST and (plain.dropouts, plain.colluding) == (0, 0)
        assert "drop out" not in str(plain)


def test_the_guarantee_says_its_terms() -> None:
    g = sdp.amplify("grr:eps0=1,d=4", n=1000, delta=1e-6, dropouts=50, colluding=0.01)
    assert str(g).startswith(
        "With n = 1,000 users, of whom up to 50 users (5 %) may drop out and up to 10 users (1 %) may collude, all "
    )
    again = json.loads(json.dumps(g.to_dict(), allow_nan=False))
    assert (again["dropouts"], again["colluding"], again["n"]) == (50, 10, 1000)
    assert "except for those stated" in g.trust
    assert "may collude" in g._repr_html_()
    only = str(sdp.amplify("grr:eps0=1,d=4", n=1000, delta=1e-6, colluding=10))
    assert ", of whom up to 10 users (1 %) may collude, all" in only


def test_certificates_are_for_the_honest_users() -> None:
    g = sdp.amplify("grr:eps0=1,d=4", n=1000, delta=1e-6, dropouts=100, certify=True)
    assert g.certified and g.certificate is not None and g.n == 1000 and g.dropouts == 100
    assert g.certificate.n == 900 and sdp.verify(g.certificate).proved_delta <= g.certificate.delta


@pytest.mark.heavy
def test_percents_are_understood() -> None:
    given = {"dropouts": "5%", "colluding": "0.5 %"}
    plain = {"dropouts": 0.05, "colluding": 0.005}
    assert sdp.amplify("grr:eps0=1,d=4", n="2M", delta=1e-6, **given) == sdp.amplify(  # type: ignore[call-overload]
        "grr:eps0=1,d=4", n=2_000_000, delta=1e-6, **plain
    )
    assert sdp.amplify("grr:eps0=1,d=4", n=1000, delta=1e-6, dropouts="100").dropouts == 100
    table = sdp.batch_table("general:eps0=1", delta=1e-6, n=[100, 200], dropouts="5%")
    assert table == sdp.batch_table("general:eps0=1", delta=1e-6, n=[100, 200], dropouts=0.05)
    assert sdp.users_needed("general:eps0=1", epsilon=0.5, delta=1e-6, dropouts="50%") == sdp.users_needed(
        "general:eps0=1", epsilon=0.5, delta=1e-6, dropouts=0.5
    )


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        ({"dropouts": 5.0}, 'write a whole number of users, or "5.0%" for a share'),
        ({"dropouts": "2.5"}, 'write a whole number of users, or "2.5%" for a share'),
        ({"dropouts": "500%"}, 'write 100 for users, or "5%" for a share'),
    ],
)
def test_a_bare_number_asks_which_is_meant(given: dict[str, object], advice: str) -> None:
    with pytest.raises(sdp.ParameterError, match=re.escape(advice)) as error:
        sdp.amplify("general:eps0=1", n=1000, delta=1e-6, **given)  # type: ignore[call-overload]
    one_sentence(error)


@pytest.mark.parametrize("name", ["dropouts", "colluding"])
@pytest.mark.parametrize(
    "bad", [-1, -0.1, 1.0, 1.5, 3.0, "5.0", "x", "100%", "-5%", "5%%", None, True, math.nan, math.inf, [1], 10**400, 1j]
)
def test_bad_numbers_of_users(name: str, bad: object) -> None:
    for call in (
        lambda: sdp.amplify("general:eps0=1", n=100, delta=1e-6, **{name: bad}),  # type: ignore[arg-type]
        lambda: sdp.profile("general:eps0=1", n=100, epsilon=0.1, **{name: bad}),  # type: ignore[arg-type]
        lambda: sdp.batch_table("general:eps0=1", n=[100], delta=1e-6, **{name: bad}),  # type: ignore[arg-type]
    ):
        with pytest.raises(sdp.ParameterError, match=f"^{name} must ") as error:
            call()
        one_sentence(error)


@pytest.mark.parametrize(("away", "against"), [(100, 0), (0, 100), (60, 40), (0.995, 1), (0.5, 0.5), (10**15, 0)])
def test_somebody_must_be_left(away: float, against: float) -> None:
    with pytest.raises(sdp.ParameterError, match="at least one honest user of n = 100") as error:
        sdp.amplify("general:eps0=1", n=100, delta=1e-6, dropouts=away, colluding=against)
    one_sentence(error)
    assert sdp.amplify("general:eps0=1", n=100, delta=1e-9, dropouts=99).epsilon == pytest.approx(1.0, rel=1e-4)


@pytest.mark.slow
@examples(20)
@given(
    st.sampled_from(["general:eps0=1.5", "grr:eps0=2,d=6", "subset:eps0=1,d=6,k=2", "laplace:eps0=2"]),
    st.integers(3, 5000),
    st.floats(0.0, 0.9),
    st.floats(0.0, 0.9),
)
def test_fewer_users_never_lower_eps(m: str, n: int, f: float, g: float) -> None:
    few, many = sorted((f, g))
    slack = 1 + 3e-4
    if math.ceil(many * n) + 1 < n:
        eps = [sdp.amplify(m, n=n, delta=1e-5, dropouts=x).epsilon for x in (few, many)]
        assert eps[0] <= eps[1] * slack
        both = sdp.amplify(m, n=n, delta=1e-5, dropouts=many, colluding=1).epsilon
        assert eps[1] <= both * slack


# -- several messages per user --------------------------------------------------------------------------------------


def test_a_fixed_total_loses_the_shares_of_the_missing() -> None:
    """Every set of missing users by brute force; what each sends is fixed by its number."""
    total, n, gone = 5, 4, 2
    shares = [total // n + (i < total % n) for i in range(n)]
    m = sdp.PureDump(d=3, total_messages=total)
    rows, blanket = [[Fraction(x == y) for y in range(3)] for x in range(3)], [Fraction(1, 3)] * 3
    for eps in (0.2, 0.9):
        E, worst = Fraction(math.exp(eps)), Fraction(0)
        for left in combinations(range(n), n - gone):
            law: Law = {(0, 0, 0): Fraction(1)}
            for _ in range(sum(shares[i] for i in left)):
                law = _send(law, blanket, Fraction(0))
            for x in range(3):
                ends = [_send(_send(law, rows[x], Fraction(0)), row, Fraction(0)) for row in rows]
                worst = max(worst, *(hockey_stick(ends[a], ends[b], E) for a, b in permutations(range(3), 2)))
        assert float(sdp.profile(m, n=n, epsilon=eps, dropouts=1, colluding=1)) == pytest.approx(float(worst), rel=1e-4)
    g = sdp.amplify(m, n=n, delta=0.2, dropouts=gone)
    assert g.mechanism == m.spec and "5 blanket messages in all" in str(g)


# -- Poisson blanket messages ---------------------------------------------------------------------------------------


@pytest.mark.slow_cases("2-*", "0-0.125", "0-4.5")
@pytest.mark.parametrize("mean", [0.125, 1.0, 4.5])
@pytest.mark.parametrize("fixed", [0, 2])
def test_a_poisson_number_of_messages_against_fractions(mean: float, fixed: int) -> None:
    P0, P1, t = [0.75, 0.125, 0.125], [0.125, 0.75, 0.125], [0.25, 0.25, 0.5]
    E = Fraction(math.exp(0.4))
    divergence = [float(round_divergence(P0, P1, t, fixed + m + 1, E)) for m in range(22)]
    weights = stats.poisson.pmf(np.arange(22), mean)
    low = float(weights @ divergence)
    high = low + stats.poisson.sf(21, mean) * divergence[-1]
    family = Among([ShuffledPair(P0=P0, P1=P1, t=t)], lambda _: Count(fixed, ((UNLIMITED, mean),)))
    upper, lower = (
        math.exp(family.log_delta(np.array([0.4]), n=1, tol=1e-6, side=side)[0]) for side in ("upper", "lower")
    )
    assert lower <= high * (1 + 1e-12) and upper >= low * (1 - 1e-12)
    assert upper == pytest.approx(low, rel=1e-4) and lower == pytest.approx(low, rel=1e-4)


def test_two_ways_to_a_poisson_number_agree() -> None:
    """The coins that stand for it, and buckets of its distribution (forced by a second, tiny part)."""
    r = ShuffledPair(P0=[1, 0], P1=[0, 1], t=[0.25, 0.25])
    for mean in (30.0, 5e4):
        for side in ("upper", "lower"):
            coins, buckets = (
                Among([r], lambda _, p=parts: Count(0, p)).epsilon(n=1, delta=1e-4, tol=1e-5, side=side).epsilon
                for parts in (((UNLIMITED, mean),), ((UNLIMITED, mean), (1, 1e-9)))
            )
            assert coins == pytest.approx(buckets, rel=2e-3)


@pytest.mark.heavy
def test_poisson_mechanisms() -> None:
    for spec in ("pure-dump:d=4,poisson=1.5", "balcer-coin:poisson=2", "mix-dump:d=5,flip=0.2,poisson=0.7"):
        m = sdp.mechanism(spec)
        assert m.spec == spec and sdp.mechanism(m.spec) == m
        g = sdp.amplify(m, n=2000, delta=1e-6)
        assert g.lower <= g.epsilon <= 1.003 * g.lower
        assert "Poisson number of blanket messages per user" in str(g)
    # more spread than a fixed number of the same mean, and closer to it as n grows
    for n, gap in ((50, 0.002), (10**5, 1e-6)):
        fixed, random = (
            sdp.amplify(sdp.PureDump(d=4, **x), n=n, delta=1e-4, tol=1e-7) for x in ({"messages": 2}, {"poisson": 2})
        )
        assert fixed.epsilon * (1 + gap) <= random.epsilon <= fixed.epsilon * 1.1
    own = sdp.amplify(sdp.CheuZhilyaev(flip=0.2, d=4, poisson=1), n=500, delta=1e-5)
    assert (
        own.lower <= own.epsilon < sdp.amplify(sdp.CheuZhilyaev(flip=0.2, d=4, messages=0), n=500, delta=1e-5).epsilon
    )
    empty = sdp.amplify(sdp.PureDump(d=4, poisson=0), n=500, delta=1e-5)
    assert math.isinf(empty.epsilon)


@pytest.mark.parametrize("mean", [0.0, 0.05, 3.7, 63.9, 64.0, 150.25])
def test_poisson_sampler(mean: float) -> None:
    draws = poisson_numbers(source(np.random.default_rng(4)), mean, 20_000)
    if mean == 0.0:
        assert not draws.any()
        return
    values = np.arange(draws.max() + 1)
    expected = stats.poisson.pmf(values, mean) * draws.size
    keep = expected >= 5
    seen = np.bincount(draws)
    both = [np.append(x[keep], draws.size - x[keep].sum()) for x in (seen, expected)]
    assert stats.chisquare(*both).pvalue > 1e-6


def test_poisson_mechanisms_run() -> None:
    m = sdp.PureDump(d=4, poisson=1.5)
    values = np.array([0, 1, 1, 3] * 5000)
    reports = m.privatize(values, rng=np.random.default_rng(0))
    assert abs(len(reports) - 50_000) < 6 * math.sqrt(30_000)
    est = m.estimate(reports)
    assert np.all(np.abs(est.value - [0.25, 0.5, 0, 0.25]) <= 5 * est.stderr)
    assert est.stderr[0] ** 2 == pytest.approx(m.variance(20_000), rel=0.1)
    assert m.messages_per_user == 2.5 and len(m.privatize(values[:8])) >= 8


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("pure-dump:d=4,poisson=-1", "poisson must lie in"),
        ("pure-dump:d=4,poisson=1e10", "poisson must lie in"),
        ("pure-dump:d=4,messages=1,poisson=1", "exactly one of messages"),
        ("pure-dump:d=4,total_messages=1,poisson=1", "exactly one of messages"),
        ("pure-dump:d=4", "got none of them"),
    ],
)
def test_bad_poisson(spec: str, words: str) -> None:
    with pytest.raises(sdp.ParameterError, match=words) as error:
        sdp.mechanism(spec)
    one_sentence(error)


def test_too_many_messages() -> None:
    with pytest.raises(sdp.ParameterError, match="at most 1e15 messages"):
        sdp.amplify(sdp.PureDump(d=4, poisson=1e9), n=10**9, delta=1e-6)


# -- batches that were reached --------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_batch_table() -> None:
    table = sdp.batch_table("grr:eps0=2,d=16", delta=1e-6, minimum=30, maximum=3000)
    assert table.sizes == (30, 50, 100, 200, 500, 1000, 2000, 3000)
    for n, eps in zip(table.sizes, table.epsilons, strict=True):
        assert eps == within_tol(sdp.amplify("grr:eps0=2,d=16", n=n, delta=1e-6).epsilon)
    assert list(table.epsilons) == sorted(table.epsilons, reverse=True)
    for target in (3.0, 0.5, table.epsilons[4], 0.13):
        least = table.minimum(target)
        assert least is not None and table.epsilon(least) <= target
        below = [e for n, e in zip(table.sizes, table.epsilons, strict=True) if n < least]
        assert all(e > target for e in below)
    assert table.minimum(1e-3) is None and table.minimum(2.0) == 30
    assert table.epsilon(1999) == table.epsilons[5] and table.epsilon(10**9) == table.epsilons[-1]
    lines = str(table).splitlines()
    assert len(lines) == 11 and lines[-1].split()[0] == "3,000" and "delta = 1e-06, replace-one" in lines[0]
    assert all(float(x.split()[1]) >= e for x, e in zip(lines[3:], table.epsilons, strict=True))
    again = json.loads(json.dumps(table.to_dict(), allow_nan=False))
    assert again["sizes"] == list(table.sizes) and again["epsilons"] == list(table.epsilons)
    head, *rows = table.to_csv().splitlines()
    assert head == "n,epsilon" and [float(r.split(",")[1]) for r in rows] == list(table.epsilons)


def test_batch_table_terms_and_infinity() -> None:
    table = sdp.batch_table("pure-dump:d=4,messages=1", delta=1e-6, n=[1000, 2, 1000.0], dropouts=np.int64(1))
    assert table.sizes == (2, 1000) and math.isinf(table.epsilons[0])
    assert table.to_dict()["epsilons"][0] == "inf" and "none" in str(table)
    assert "up to 1 user of a batch may drop out" in str(table)
    json.dumps(table.to_dict(), allow_nan=False)
    alone = sdp.amplify("pure-dump:d=4,messages=1", n=999, delta=1e-6).epsilon
    assert table.epsilons[1] == within_tol(alone)
    shares = sdp.batch_table("general:eps0=1", delta=1e-6, n=[100, 200], dropouts=0.05, colluding=0.1)
    alone = sdp.amplify("general:eps0=1", n=85, delta=1e-6).epsilon
    assert shares.epsilons[0] == within_tol(alone)
    assert "up to 5 % of a batch may drop out and up to 10 % of a batch may collude" in str(shares)
    assert shares.epsilon(100) == shares.epsilons[0]
    with pytest.raises(sdp.ParameterError, match="must be a size of the table") as error:
        shares.epsilon(150)
    one_sentence(error)


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({}, "either n"),
        ({"n": [10], "minimum": 5, "maximum": 9}, "either n"),
        ({"minimum": 5}, "either n"),
        ({"maximum": 5}, "either n"),
        ({"n": 10}, "n must be a list"),
        ({"n": "10"}, "n must be a list"),
        ({"n": []}, "n must hold 1 to"),
        ({"n": range(1, 20_000)}, "n must hold 1 to"),
        ({"n": [10, 0]}, "every size in n must"),
        ({"n": [10, 2.5]}, "every size in n must"),
        ({"minimum": 9, "maximum": 5}, "minimum must not exceed"),
        ({"minimum": 0, "maximum": 5}, "minimum must"),
        ({"minimum": 1, "maximum": "x"}, "maximum must"),
        ({"n": [10], "delta": 0}, "delta must"),
        ({"n": [10], "tol": 1}, "tol must"),
        ({"n": [10], "bound": "variation-ratio-published"}, "bound must be a proved upper bound"),
        ({"n": [10], "bound": "nothing"}, "unknown bound"),
        ({"n": [5, 10], "dropouts": 5}, "at least one honest user of n = 5"),
    ],
)
def test_bad_tables(kwargs: dict, words: str) -> None:
    with pytest.raises(sdp.ParameterError, match=words) as error:
        sdp.batch_table("grr:eps0=1,d=4", **{"delta": 1e-6, **kwargs})
    assert "\n" not in str(error.value)


def test_bad_questions_to_a_table() -> None:
    table = sdp.batch_table("grr:eps0=1,d=4", delta=1e-6, n=[100])
    for bad in (-1, math.nan, "1", None):
        with pytest.raises(sdp.ParameterError, match=r"^epsilon must"):
            table.minimum(bad)  # type: ignore[arg-type]
    with pytest.raises(sdp.ParameterError, match="at least the smallest batch") as error:
        table.epsilon(99)
    one_sentence(error)
