"""Calibration lands on the private side, next to the target, with the best setting; what cannot be is said in words."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from reference.places import DATA
from reference.repetition import slow
from shuffledp.accounting.crowd import Crowd
from shuffledp.bounds import registry as bounds
from shuffledp.calibration import target
from shuffledp.calibration.search import best_of_range, largest
from shuffledp.calibration.target import Target
from shuffledp.mechanisms import registry
from shuffledp.mechanisms.parameters import declared
from shuffledp.numerics.composition import sequential

TOL = 1e-4
#: Every registered mechanism with an eps0, with the parameters that are not solved for.
FIXED: dict[str, dict[str, Any]] = {
    "general": {},
    "randomized-response": {},
    "grr": {"d": 16},
    "unary": {"d": 16},
    "optimized-unary": {"d": 16},
    "subset": {"d": 16},
    "local-hash": {"d": 16},
    "hadamard": {"d": 16},
    "laplace": {},
    "duchi": {"dim": 5},
    "harmony": {"dim": 4},
    "privunit": {"dim": 10},
    "sampling-rappor": {"d": 16, "s": 3},
    "wheel": {"d": 16, "s": 3},
    "privset": {"d": 16, "s": 3},
    "pckv-grr": {"d": 16, "l": 3},
    "hierarchical-grr": {"d": 16},
    "prefix-hash": {"length": 3},
    "window": {"d": 5},
    "window-vector": {"d": 5, "dim": 3},
    "hybrid": {},
    "levels": {"d": 5},
    "piecewise": {},
}
QUICK = ("general", "grr", "unary", "hadamard", "harmony", "privset", "pckv-grr")


def eps_of(m: Any, n: int, delta: float, bound: str = "auto") -> float:
    return sdp.amplify(m, n=n, delta=delta, bound=bound).epsilon


def lands(m: Any, *, n: int, epsilon: float, delta: float, bound: str = "auto") -> None:
    got = eps_of(m, n, delta, bound)
    assert epsilon * (1 - TOL) <= got <= epsilon, (m, got)


def test_every_mechanism_with_a_budget_is_here() -> None:
    assert {name for name in registry.names() if "eps0" in declared(registry.find(name))} == set(FIXED)


# -- round trips -------------------------------------------------------------------------------------------------


@pytest.mark.slow_cases("privset-1000-0.01")
@pytest.mark.parametrize("epsilon", [0.01, 1.0])
@pytest.mark.parametrize("n", [10**3, 10**6])
@pytest.mark.parametrize("name", QUICK)
def test_round_trip(name: str, n: int, epsilon: float) -> None:
    m = sdp.calibrate(name, n=n, epsilon=epsilon, delta=0.01 / n, **FIXED[name])
    lands(m, n=n, epsilon=epsilon, delta=0.01 / n)
    assert m.eps0 >= epsilon  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("n", [10**3, 10**6, 10**9])
@pytest.mark.parametrize("name", FIXED)
def test_round_trip_everywhere(name: str, n: int, epsilon: float) -> None:
    m: Any = sdp.calibrate(name, n=n, epsilon=epsilon, delta=0.01 / n, **FIXED[name])
    got = eps_of(m, n, 0.01 / n)
    assert got <= epsilon
    assert m.eps0 >= epsilon
    if got < epsilon * (1 - TOL):  # only next to a jump: of the blocks of hadamard, or of eps (symbols sent too rarely)
        more: Any = type(m)(**{**FIXED[name], "eps0": m.eps0 * (1 + 2e-8)})  # found to 1e-8 there
        jump = name == "hadamard" and more.blocks != m.blocks
        assert jump or eps_of(more, n, 0.01 / n) > epsilon


OF_ONE_PROTOCOL = {"cheu-zhilyaev", "balls-formula", "balls-search", "binary"}
SOUND = [b.name for b in bounds.BOUNDS.values() if b.sound and b.side == "upper" and b.name not in OF_ONE_PROTOCOL]


@pytest.mark.slow_cases("4.0-swap-general", "4.0-variation-ratio")
@pytest.mark.parametrize("bound", SOUND)
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 4.0])
def test_every_sound_bound(bound: str, epsilon: float) -> None:
    m: Any = sdp.calibrate("grr:d=8", n=10_000, epsilon=epsilon, delta=1e-6, bound=bound)
    got = eps_of(m, 10_000, 1e-6, bound)
    assert got <= epsilon
    try:
        looser = eps_of(sdp.GRR(eps0=m.eps0 * (1 + 1e-3), d=8), 10_000, 1e-6, bound)
    except sdp.BoundNotApplicableError:  # the end of its range
        return
    assert looser > epsilon * (1 - TOL)


@pytest.mark.slow_cases("0.1-10", "3.0-10")
@pytest.mark.parametrize("n", [1, 2, 10])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 3.0])
def test_few_users_keep_at_least_the_local_guarantee(n: int, epsilon: float) -> None:
    m: Any = sdp.calibrate("general", n=n, epsilon=epsilon, delta=1e-9)
    assert m.eps0 >= epsilon
    assert eps_of(m, n, 1e-9) <= epsilon


def test_without_amplification_the_budget_is_the_target() -> None:
    assert sdp.calibrate("grr:d=8", n=10_000, epsilon=0.7, delta=1e-6, bound="local") == sdp.GRR(eps0=0.7, d=8)


def test_a_target_beyond_the_range_gives_the_end_of_it() -> None:
    assert sdp.calibrate("general", n=10, epsilon=600.0, delta=1e-6) == sdp.General(eps0=500.0)


@pytest.mark.heavy_cases("grr", "subset", "unary")
@pytest.mark.slow_cases("hybrid", "piecewise", "window", "window-vector")
@pytest.mark.slow_cases(
    "duchi",
    "general",
    "harmony",
    "hierarchical-grr",
    "laplace",
    "levels",
    "local-hash",
    "optimized-unary",
    "pckv-grr",
    "prefix-hash",
    "privset",
    "privunit",
    "randomized-response",
    "sampling-rappor",
)
@pytest.mark.parametrize("name", [slow(name) if name == "wheel" else name for name in FIXED])
def test_every_finite_target_has_an_answer(name: str) -> None:
    for epsilon in (499.0, 1e160, 1.7e308):
        m: Any = sdp.calibrate(name, n=1000, epsilon=epsilon, delta=1e-6, **FIXED[name])
        assert m.eps0 == 500.0 or eps_of(m, 1000, 1e-6) <= epsilon == 499.0 <= m.eps0


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1e-300, 5e-324])
def test_tiny_targets(epsilon: float) -> None:
    m = sdp.calibrate("grr:d=4", n=1000, epsilon=epsilon, delta=1e-6)
    assert eps_of(m, 1000, 1e-6) == 0.0, "delta alone allows for a little"
    for spec in ("pure-dump:d=4", "cheu-zhilyaev:d=4,messages=1"):
        with pytest.raises(sdp.ImpossibleError, match="cannot be reached"):
            sdp.calibrate(spec, n=1000, epsilon=epsilon, delta=1e-12)
    n = sdp.users_needed("general:eps0=1", epsilon=epsilon, delta=1e-3)
    assert eps_of("general:eps0=1", n, 1e-3) == 0.0 < eps_of("general:eps0=1", n - 1, 1e-3)


def test_no_target_is_too_large_for_messages_users_and_delta() -> None:
    assert sdp.calibrate("mix-dump:d=6,flip=0.5", n=1000, epsilon=1e300, delta=1e-6).messages == 0.0  # type: ignore[attr-defined]
    assert sdp.users_needed("general:eps0=1", epsilon=1e300, delta=1e-6) == 1
    assert sdp.delta_needed("general:eps0=1", n=10, epsilon=1e300) == 0.0


@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-5])
def test_tol(tol: float) -> None:
    m = sdp.calibrate("grr:d=8", n=10_000, epsilon=0.2, delta=1e-6, tol=tol)
    assert 0.2 * (1 - tol) <= sdp.amplify(m, n=10_000, delta=1e-6, tol=tol).epsilon <= 0.2


@pytest.mark.slow_cases("0.01", "0.5")
@pytest.mark.parametrize("delta", [1e-300, 1e-12, 0.01, 0.5])
def test_extreme_delta(delta: float) -> None:
    m = sdp.calibrate("grr:d=8", n=10**6, epsilon=0.5, delta=delta)
    assert eps_of(m, 10**6, delta) <= 0.5


def test_searches_for_the_smallest_delta_begin_somewhere() -> None:
    least = Target(crowd=Crowd(10**5), epsilon=1.0, delta=5e-324, bound="auto", tol=1e-3)
    assert 1.0 < least.likely_budget < Target(Crowd(10**5), 1.0, 1e-8, "auto", 1e-3).likely_budget


# -- the ways to ask ---------------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_name_spec_mechanism_and_function_agree() -> None:
    ask = {"n": 10_000, "epsilon": 0.2, "delta": 1e-6}
    by_name = sdp.calibrate("grr", d=8, **ask)  # type: ignore[arg-type]
    assert by_name == sdp.calibrate("grr:d=8", **ask)  # type: ignore[arg-type]
    assert by_name == sdp.calibrate(sdp.GRR(eps0=17.0, d=8), **ask)  # type: ignore[arg-type]
    assert by_name == sdp.calibrate(lambda x: sdp.GRR(eps0=x, d=8), **ask)  # type: ignore[arg-type]
    by_spec = sdp.calibrate(lambda x: f"grr:eps0={x!r},d=8", **ask)  # type: ignore[arg-type]
    assert by_name == by_spec


@pytest.mark.slow
def test_a_mechanism_keeps_its_integers() -> None:
    start = sdp.Subset(eps0=0.5, d=16)
    m: Any = sdp.calibrate(start, n=10**6, epsilon=1.0, delta=1e-8)
    assert (m.k, m.d) == (start.k, 16) and m.eps0 > 5
    lands(m, n=10**6, epsilon=1.0, delta=1e-8)


def test_a_common_budget_of_parallel_queries() -> None:
    m = sdp.calibrate(
        lambda x: sdp.Parallel([(0.5, sdp.GRR(eps0=x, d=2)), (0.5, sdp.GRR(eps0=x, d=9))]),
        n=10_000,
        epsilon=0.2,
        delta=1e-6,
    )
    lands(m, n=10_000, epsilon=0.2, delta=1e-6)


@pytest.mark.heavy
def test_parallel_queries_share_one_budget(tmp_path: Path) -> None:
    ask: dict[str, Any] = {"n": 10_000, "epsilon": 0.2, "delta": 1e-6}
    fixed = sdp.FiniteRandomizer([[0.6, 0.4], [0.4, 0.6]])
    start = sdp.Parallel([(0.25, sdp.GRR(eps0=1.0, d=4)), (0.25, fixed), (0.5, sdp.Subset(eps0=2.0, d=16))])
    m: Any = sdp.calibrate(start, **ask)
    lands(m, **ask)
    (_, first), (_, second), (_, third) = m.queries
    assert first == sdp.GRR(eps0=first.eps0, d=4) and second is fixed
    assert third == sdp.Subset(eps0=first.eps0, d=16, k=start.queries[2][1].k)  # type: ignore[union-attr]
    assert [w for w, _ in m.queries] == [0.25, 0.25, 0.5]
    file = tmp_path / "q.yaml"
    file.write_text("- weight: 1/3\n  spec: grr:eps0=1,d=4\n- weight: 2/3\n  spec: grr:eps0=3,d=9\n")
    read: Any = sdp.calibrate(f"parallel:{file}", **ask)
    lands(read, **ask)
    assert len({q.eps0 for _, q in read.queries}) == 1 and read.source == "", "the file says something else"
    said(sdp.ParameterError, "parameter to solve for", lambda: sdp.calibrate(start, unknown="flip", **ask))
    alone = sdp.Parallel([(1.0, fixed)])
    said(sdp.ParameterError, "pass a function", lambda: sdp.calibrate(alone, **ask))


@pytest.mark.heavy
@pytest.mark.slow_cases("planar-laplace")
@pytest.mark.parametrize("name", ["metric-general", "planar-laplace"])
def test_metric_privacy(name: str) -> None:
    ask: dict[str, Any] = {"n": 1000, "epsilon": 0.3, "delta": 1e-6}
    # the mesh of planar noise changes with its distances, and eps with it by a few parts in a thousand
    loose = name == "planar-laplace"
    least = 0.3 * (1 - (5e-3 if loose else TOL))
    near: Any = sdp.calibrate(f"{name}:dmax=5", **ask)
    assert near.d01 < 5 and least <= eps_of(near, ask["n"], ask["delta"]) <= 0.3
    far: Any = sdp.calibrate(near, unknown="dmax", **ask)
    assert least <= eps_of(far, ask["n"], ask["delta"]) <= 0.3
    assert abs(far.dmax - 5) < (0.1 if loose else 1e-2)
    all_of_it: Any = sdp.calibrate(f"{name}:dmax=3", n=10**9, epsilon=0.3, delta=1e-6)
    assert all_of_it.d01 == 3.0


def test_distances_from_a_file() -> None:
    file = DATA / "distances-3.csv"
    m: Any = sdp.calibrate(f"exponential-metric:{file}", n=1000, epsilon=0.2, delta=1e-6)
    lands(m, n=1000, epsilon=0.2, delta=1e-6)
    assert m.source == str(file)


# -- several messages --------------------------------------------------------------------------------------------

ASK: dict[str, Any] = {"n": 500, "epsilon": 0.5, "delta": 1e-6}


@pytest.mark.slow_cases("balls-into-bins:d=9,special=2")
@pytest.mark.parametrize(
    "spec", ["pure-dump:d=8", "balcer-coin", "balcer-cheu:coin=0.3", "balls-into-bins:d=9,special=2"]
)
def test_fewest_messages(spec: str) -> None:
    m: Any = sdp.calibrate(spec, **ASK)
    lands(m, **ASK)
    assert m.total_messages is None
    whole: Any = sdp.calibrate(spec, unknown="total_messages", **ASK)
    assert eps_of(whole, 500, 1e-6) <= 0.5
    fewer = sdp.mechanism(whole.spec.replace(f"={whole.total_messages}", f"={whole.total_messages - 1}"))
    assert eps_of(fewer, 500, 1e-6) > 0.5
    assert abs(whole.total_messages / (500 * m.messages) - 1) < 0.05


@pytest.mark.heavy
@pytest.mark.slow_cases("mix-dump:d=6,total_messages=300")
@pytest.mark.parametrize("spec", ["cheu-zhilyaev:d=4,total_messages=300", "mix-dump:d=6,total_messages=300"])
def test_smallest_flip(spec: str) -> None:
    m: Any = sdp.calibrate(spec, **ASK)
    lands(m, **ASK)
    less = type(m)(d=m.d, flip=0.99 * m.flip, total_messages=300)
    assert eps_of(less, 500, 1e-6) > 0.5
    assert sdp.calibrate(m, unknown="flip", **ASK) == m
    back: Any = sdp.calibrate(m, unknown="total_messages", **ASK)
    assert abs(back.total_messages - 300) <= 2 and back.messages is None


@pytest.mark.slow_cases("cheu-zhilyaev:d=4,flip=0.01")
@pytest.mark.parametrize("spec", ["pure-dump:d=8", "cheu-zhilyaev:d=4,flip=0.01"])
def test_fewest_poisson_messages(spec: str) -> None:
    m: Any = sdp.calibrate(spec, unknown="poisson", **ASK)
    lands(m, **ASK)
    assert m.messages is None and m.total_messages is None
    fewer = sdp.mechanism(m.spec.replace(f"poisson={m.poisson!r}", f"poisson={0.99 * m.poisson!r}"))
    assert fewer != m and eps_of(fewer, 500, 1e-6) > 0.5
    plain: Any = sdp.calibrate(spec, unknown="messages", **ASK)
    assert sdp.calibrate(plain, unknown="poisson", **ASK).poisson == pytest.approx(m.poisson, rel=1e-3)  # type: ignore[attr-defined]
    assert plain.messages < m.poisson, "a number by chance hides less than its mean"


@pytest.mark.heavy
def test_several_reports_share_a_whole_number_of_messages() -> None:
    found = sdp.calibrate("pure-dump:d=8", n=5000, epsilon=0.2, delta=1e-6, reports_per_user=2)
    spent = [
        sdp.amplify(f"pure-dump:d=8,messages={m}", n=5000, delta=1e-6, reports_per_user=2).epsilon
        for m in (vars(found)["messages"], vars(found)["messages"] - 1)
    ]
    assert spent[0] <= 0.2 < spent[1]


def test_settings_are_compared_for_one_report_where_users_send_several(monkeypatch: pytest.MonkeyPatch) -> None:
    """Composing the reports of a user for every setting takes half a minute: only the chosen one is composed."""
    composed: list[Any] = []
    build = sequential.build
    monkeypatch.setattr(sequential, "build", lambda *args, **more: composed.append(args) or build(*args, **more))
    ask: dict[str, Any] = {"n": 10_000, "delta": 1e-6, "reports_per_user": 2}
    found: Any = sdp.calibrate("local-hash:d=64", epsilon=0.5, **ask)
    assert len(composed) <= 10
    assert found.l == pytest.approx(114, rel=0.05)
    assert 0.5 * (1.0 - 1e-4) <= sdp.amplify(found, **ask).epsilon <= 0.5


@pytest.mark.slow
def test_smallest_flip_beside_poisson_messages() -> None:
    ask: dict[str, Any] = {"n": 2000, "epsilon": 1.0, "delta": 1e-6}
    m: Any = sdp.calibrate("cheu-zhilyaev:d=16,poisson=1", unknown="flip", **ask)
    lands(m, **ask)
    assert m.poisson == 1.0 and sdp.calibrate("cheu-zhilyaev:d=16,poisson=1", **ask) == m
    said(sdp.ParameterError, "must be left out", lambda: sdp.calibrate("pure-dump:d=4,poisson=1", **ask))


def test_no_messages_where_none_are_needed() -> None:
    m: Any = sdp.calibrate("mix-dump:d=6,flip=0.7", n=10**4, epsilon=2.0, delta=1e-6)
    assert m.messages == 0.0


# -- settings that are left open ---------------------------------------------------------------------------------


def exhaustive(
    name: str, setting: str, values: Any, f: float, n: int, epsilon: float, **fixed: Any
) -> dict[int, float]:
    errors = {}
    for value in values:
        m: Any = sdp.calibrate(name, n=n, epsilon=epsilon, delta=0.01 / n, **{setting: value}, **fixed)
        assert getattr(m, setting) == value
        errors[value] = m.variance(n, f)
    return errors


@pytest.mark.heavy
@pytest.mark.slow_cases(
    "local-hash-l-values2-0.1-fixed2-100-0.05",
    "local-hash-l-values2-0.1-fixed2-1000-0.01",
    "local-hash-l-values2-0.1-fixed2-1000000-0.1",
    "privset-k-values1-0.2-fixed1-100-0.05",
    "privset-k-values1-0.2-fixed1-1000-0.01",
    "privset-k-values1-0.2-fixed1-1000000-0.1",
    "subset-k-values0-0.08333333333333333-fixed0-100-0.05",
    "subset-k-values0-0.08333333333333333-fixed0-1000-0.01",
)
@pytest.mark.parametrize(("n", "epsilon"), [(100, 0.05), (1000, 0.01), slow(1000, 1.0), (10**6, 0.1)])
@pytest.mark.parametrize(
    ("name", "setting", "values", "f", "fixed"),
    [
        ("subset", "k", range(1, 12), 1 / 12, {"d": 12}),
        ("privset", "k", range(1, 9), 2 / 10, {"d": 8, "s": 2}),
        ("local-hash", "l", (*range(2, 10), *range(10, 120, 15)), 1 / 10, {"d": 10}),
        slow("local-hash", "l", (*range(2, 40), *range(40, 120, 4)), 1 / 10, {"d": 10}),
    ],
)
def test_the_best_integer(name: str, setting: str, values: Any, f: float, fixed: Any, n: int, epsilon: float) -> None:
    errors = exhaustive(name, setting, values, f, n, epsilon, **fixed)
    m: Any = sdp.calibrate(name, n=n, epsilon=epsilon, delta=0.01 / n, **fixed)
    assert m.variance(n, f) <= min(errors.values()) * (1 + 1e-3)
    lands(m, n=n, epsilon=epsilon, delta=0.01 / n)


@pytest.mark.slow
@pytest.mark.parametrize("d", [2, 3, 5, 40, 100])
@pytest.mark.parametrize(("n", "epsilon"), [(50, 2.0), (200, 0.01), (1000, 5.0), (10**4, 0.3), (10**9, 1.0)])
def test_the_best_subset_size(d: int, n: int, epsilon: float) -> None:
    errors = exhaustive("subset", "k", range(1, d), 1 / d, n, epsilon, d=d)
    m: Any = sdp.calibrate("subset", n=n, epsilon=epsilon, delta=0.01 / n, d=d)
    assert m.variance(n, 1 / d) <= min(errors.values()) * (1 + 1e-3)


@pytest.mark.heavy
@pytest.mark.slow_cases("wheel:*", "privunit:dim=20-cap-None-1000000-0.05")
@pytest.mark.parametrize(("n", "epsilon"), [(1000, 0.3), (10**6, 0.05)])
@pytest.mark.parametrize(("spec", "setting", "held"), [("wheel:d=20,s=2", "w", 0.1), ("privunit:dim=20", "cap", None)])
def test_the_best_share(spec: str, setting: str, held: float | None, n: int, epsilon: float) -> None:
    def error(m: Any) -> float:
        value: float = m.variance(n) if held is None else m.variance(n, held)
        return value

    m: Any = sdp.calibrate(spec, n=n, epsilon=epsilon, delta=0.01 / n)
    lands(m, n=n, epsilon=epsilon, delta=0.01 / n)
    for factor in (0.02, 0.2, 0.5, 0.9, 1.1, 2.0, 4.0):
        value = getattr(m, setting) * factor
        if value < 0.5:
            other = sdp.calibrate(spec, n=n, epsilon=epsilon, delta=0.01 / n, **{setting: value})
            assert error(m) <= error(other) * (1 + 1e-3)


@pytest.mark.slow_cases("*-1.0-16")
@pytest.mark.parametrize("points", [16, slow(151)])
@pytest.mark.parametrize(("n", "epsilon"), [(1000, 0.1), (1000, 1.0), (10**6, 0.02), (10**6, 1.0)])
def test_hadamard_against_a_scan(n: int, epsilon: float, points: int) -> None:
    m: Any = sdp.calibrate("hadamard:d=20", n=n, epsilon=epsilon, delta=0.01 / n)
    best = m.variance(n, 1 / 20)
    for eps0 in m.eps0 * np.linspace(0.5, 2.0, points):
        other = sdp.Hadamard(eps0=float(eps0), d=20)
        if other.variance(n, 1 / 20) < best * (1 - 1e-3):
            assert eps_of(other, n, 0.01 / n) > epsilon


@pytest.mark.slow
@pytest.mark.parametrize("name", ["subset", "local-hash"])
def test_large_domains(name: str) -> None:
    m: Any = sdp.calibrate(name, n=10**6, epsilon=0.1, delta=1e-8, d=10**6)
    lands(m, n=10**6, epsilon=0.1, delta=1e-8)
    default: Any = registry.find(name)(eps0=m.eps0, d=10**6)  # type: ignore[call-arg]
    at_default: Any = sdp.calibrate(default, n=10**6, epsilon=0.1, delta=1e-8)
    assert m.variance(10**6, 1e-6) <= at_default.variance(10**6, 1e-6) * (1 + 1e-3)


# -- users and delta ---------------------------------------------------------------------------------------------


@pytest.mark.slow_cases("randomized-response:eps0=1-0.4-0.01/n")
@pytest.mark.slow_cases("randomized-response:eps0=1-0.4-1e-08")
@pytest.mark.parametrize("delta", [1e-8, "0.01/n"])
@pytest.mark.parametrize(
    ("spec", "epsilon"),
    [
        ("grr:eps0=2,d=64", 0.05),
        ("grr:eps0=2,d=64", 1.0),
        ("general:eps0=3", 1e-4),
        ("general:eps0=12", 0.01),
        ("subset:eps0=3,d=10", 0.3),
        ("pure-dump:d=8,messages=1", 0.5),
        ("randomized-response:eps0=1", 0.4),
    ],
)
def test_users(spec: str, epsilon: float, delta: float | str) -> None:
    def meets(n: int) -> bool:
        return eps_of(spec, n, 0.01 / n if isinstance(delta, str) else delta) <= epsilon

    n = sdp.users_needed(spec, epsilon=epsilon, delta=delta)
    assert meets(n) and not meets(n - 1)


def test_one_user_is_enough_for_the_local_guarantee() -> None:
    assert sdp.users_needed("grr:eps0=2,d=64", epsilon=2.0, delta=1e-8) == 1


@pytest.mark.heavy
@pytest.mark.slow_cases("grr:eps0=20,d=64-3.0-0.0001-4468984474", "randomized-response:eps0=20-10.0-1e-10-11171319454")
@pytest.mark.parametrize(
    ("spec", "epsilon", "delta", "before"),
    [  # before: the answers of a bisection with many nodes in every step, and of subset by the swap bound
        ("grr:eps0=20,d=64", 3.0, 1e-4, 4_468_984_474),
        slow("general:eps0=20", 10.0, "0.01/n", 13_553_092_353),
        ("unary:eps0=20,d=64", 19.9, 1e-4, 155_975),
        slow("subset:eps0=20,d=64,k=8", 3.0, 1e-4, 1_761_497_475),
        ("randomized-response:eps0=20", 10.0, 1e-10, 11_171_319_454),
        slow("metric-laplace:d01=20,dmax=20", 1.0, 1e-6, 12_885_672_446),
    ],
)
def test_users_for_large_budgets(spec: str, epsilon: float, delta: float | str, before: int) -> None:
    n = sdp.users_needed(spec, epsilon=epsilon, delta=delta)
    assert 0.96 * before <= n <= (1.0 + 1e-6) * before

    def reached(n: int) -> float:
        return sdp.amplify(spec, n=n, delta=delta if isinstance(delta, float) else 0.01 / n).epsilon

    assert reached(n) <= epsilon < reached(n - 1)


@pytest.mark.heavy
@pytest.mark.slow_cases("general:eps0=1-0.7", "laplace:eps0=1-0.7", "unary:eps0=3,d=4-1.8")
@pytest.mark.parametrize(
    ("spec", "epsilon"),
    [
        ("grr:eps0=2,d=8", 1.3),
        ("laplace:eps0=1", 0.7),
        ("unary:eps0=3,d=4", 1.8),
        ("general:eps0=1", 0.7),
        slow("grr:eps0=2,d=8", 0.7),
        slow("unary:eps0=3,d=4", 0.7),
    ],
)
def test_users_equal_the_slow_search(spec: str, epsilon: float) -> None:
    n = 1
    while sdp.amplify(spec, n=n, delta=1e-3).epsilon > epsilon:
        n += 1
    assert n > 5
    assert sdp.users_needed(spec, epsilon=epsilon, delta=1e-3) == n


def test_users_and_budget_invert_each_other() -> None:
    m = sdp.calibrate("grr:d=8", n=12_345, epsilon=0.2, delta=1e-6)
    n = sdp.users_needed(m, epsilon=0.2, delta=1e-6)
    assert 12_345 * (1 - 5e-4) <= n <= 12_345


@pytest.mark.parametrize("spec", ["grr:eps0=2,d=64", "laplace:eps0=1", "randomized-response:eps0=2"])
@pytest.mark.parametrize("epsilon", [0.1, 0.3])
def test_delta(spec: str, epsilon: float) -> None:
    delta = sdp.delta_needed(spec, n=1000, epsilon=epsilon)
    assert float(sdp.profile(spec, n=1000, epsilon=epsilon)) <= delta
    assert delta * 0.99 <= float(sdp.profile(spec, n=1000, epsilon=epsilon, tol=1e-5))
    assert eps_of(spec, 1000, delta * 1.01) <= epsilon * 1.02


def test_delta_is_zero_only_for_the_local_guarantee() -> None:
    assert sdp.delta_needed("grr:eps0=2,d=64", n=1000, epsilon=2.0) == 0.0
    assert sdp.delta_needed("grr:eps0=2,d=64", n=10**9, epsilon=1.9) > 0.0


# -- impossible, in words ----------------------------------------------------------------------------------------


def said(error: type[Exception], words: str, call: Callable[[], object]) -> None:
    with pytest.raises(error, match=words) as caught:
        call()
    text = str(caught.value)
    assert text.endswith((".", "?")) and "\n" not in text


@pytest.mark.slow_cases("even 1e15 users-<lambda>0")
@pytest.mark.parametrize(
    ("words", "call"),
    [
        ("even messages = 1e\\+09", lambda: sdp.calibrate("pure-dump:d=8", n=1, epsilon=1e-7, delta=1e-12)),
        (
            "even total_messages = 1e\\+15",
            lambda: sdp.calibrate("pure-dump:d=8", n=9, epsilon=1e-9, delta=1e-12, unknown="total_messages"),
        ),
        ("even eps0 = 1e-09", lambda: sdp.calibrate("grr:d=8", n=1, epsilon=1e-10, delta=1e-12)),
        ("even dmax = 1", lambda: sdp.calibrate("metric-general:d01=1", n=100, epsilon=0.1, delta=1e-6)),
        ("even 1e15 users", lambda: sdp.users_needed("general:eps0=400", epsilon=0.1, delta=1e-8)),
        (
            "even 1e15 users",
            lambda: sdp.users_needed("pure-dump:d=8,total_messages=9", epsilon=0.1, delta=1e-8),
        ),
        ("at any delta below 1", lambda: sdp.delta_needed("pure-dump:d=8,messages=0", n=9, epsilon=1.0)),
    ],
)
def test_impossible(words: str, call: Callable[[], object]) -> None:
    said(sdp.ImpossibleError, words, call)
    assert sdp.ImpossibleError.exit_code == 1


# -- bad input ---------------------------------------------------------------------------------------------------

GOOD: dict[str, Any] = {"n": 1000, "epsilon": 1.0, "delta": 1e-6}


@pytest.mark.parametrize(
    ("subject", "changed", "words"),
    [
        ("grr:d=4", {"epsilon": 0.0}, "^epsilon must lie in"),
        ("grr:d=4", {"epsilon": -1.0}, "^epsilon must lie in"),
        ("grr:d=4", {"epsilon": math.inf}, "^epsilon must lie in"),
        ("grr:d=4", {"epsilon": math.nan}, "^epsilon must be a number"),
        ("grr:d=4", {"epsilon": "1"}, "^epsilon must be a number"),
        ("grr:d=4", {"delta": 0.0}, "^delta must lie in"),
        ("grr:d=4", {"n": 0}, "^n must be"),
        ("grr:d=4", {"tol": 1.0}, "^tol must lie in"),
        ("grr:d=4", {"bound": "blankt"}, "did you mean 'blanket'"),
        ("grr:d=4", {"bound": "variation-ratio-published"}, "not proved"),
        ("grr:d=4", {"bound": "variation-ratio-lower"}, "a lower bound"),
        ("grr:d=4", {"d": 4}, "^d must be given once"),
        ("grr:d=4", {"k": 4}, "no parameter 'k'"),
        ("grr:d=4", {"eps0": 1.0}, "^eps0 must be left out"),
        ("grr:d=4", {"unknown": "d"}, "unknown parameter to solve for 'd'"),
        ("grr:4", {}, "key=value"),
        ("grr:d=x", {}, "^d must be a number"),
        ("grr", {}, "^grr needs d"),
        ("grr", {"d": 1}, "^d must lie in"),
        ("subset", {"d": 1}, "^d must lie in"),
        ("subset", {"d": 4, "k": 9}, "^k must lie in"),
        ("hadamard", {"d": 1}, "^d must lie in"),
        ("gr", {"d": 4}, "did you mean 'grr'"),
        ("finite", {}, "pass a function"),
        ("parallel:x.yaml", {}, "No such file"),
        ("exponential-metric:no-such-file.csv", {}, "No such file"),
        ("variation-ratio", {}, "pass a function"),
        ("metric-general", {}, "all but one of d01, dmax"),
        ("metric-general", {"dmax": -1.0}, "^dmax must lie in"),
        ("cheu-zhilyaev:d=4", {}, "all but one of messages, flip"),
        ("cheu-zhilyaev:d=4", {"unknown": "flip"}, "needs messages"),
        ("pure-dump:d=4,messages=1", {}, "must be left out"),
        ("pure-dump:d=4,messages=1", {"unknown": "total_messages"}, "must be left out"),
        ("mix-dump:messages=1", {"d": "a"}, "^d must be a number"),
        (sdp.GRR(eps0=1.0, d=4), {"d": 4}, "^d must be part of"),
        (sdp.CheuZhilyaev(flip=0.1, d=4, messages=1), {}, "^unknown must name"),
        (sdp.FiniteRandomizer([[0.5, 0.5]]), {}, "pass a function"),
        (lambda x: x, {}, "^mechanism must be"),
        (lambda x: sdp.GRR(eps0=x, d=4), {"unknown": "eps0"}, "^unknown must be left out"),
        (3, {}, "^subject must be"),
    ],
)
def test_bad_questions(subject: Any, changed: dict[str, Any], words: str) -> None:
    said(sdp.ParameterError, words, lambda: sdp.calibrate(subject, **{**GOOD, **changed}))


def test_a_bound_that_does_not_apply_says_so() -> None:
    said(sdp.BoundNotApplicableError, "blanket", lambda: sdp.calibrate("general", bound="blanket", **GOOD))


@pytest.mark.parametrize("delta", ["0.01", "1/n", "0.01/m", "x/n", 0.0, 2.0])
def test_bad_delta_of_users(delta: Any) -> None:
    said(sdp.ParameterError, "^delta must", lambda: sdp.users_needed("general:eps0=1", epsilon=0.1, delta=delta))


@pytest.mark.heavy
def test_every_class_that_cannot_be_mixed_is_named_once() -> None:
    classes = [("general:eps0=1", 5), ("general:eps0=2", 5)]
    words = "got general:eps0=1 and general:eps0=2; give"
    said(sdp.BoundNotApplicableError, words, lambda: sdp.amplify_mixed(classes, delta=1e-6))
    said(sdp.BoundNotApplicableError, "got general:eps0=1; give", lambda: sdp.amplify_mixed(classes[:1], delta=1e-6))
    assert "; 1 user of " in str(sdp.amplify_mixed([("grr:eps0=1,d=4", 9), ("grr:eps0=2,d=4", 1)], delta=1e-6))


# -- the searches ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("steep", [0.1, 1.0, 1e3, 1e7])
@pytest.mark.parametrize("root", [-30.0, -1e-3, 0.0, 2.5, 499.0])
def test_largest_finds_a_root(steep: float, root: float) -> None:
    found = largest(
        lambda u: math.sinh(min(max(steep * (u - root), -700.0), 700.0)), low=-50.0, high=500.0, start=1.0, window=1e-6
    )
    assert found is not None and -2e-5 / steep - 1e-10 <= found - root <= 0.0


def test_largest_stops_at_a_jump_and_at_the_ends() -> None:
    jump = largest(lambda u: -math.inf if u < 0.3 else math.inf, low=-5.0, high=5.0, start=2.0, window=1e-6)
    assert jump is not None and 0.3 - 1e-9 < jump < 0.3
    assert largest(lambda u: -1.0, low=-5.0, high=5.0, start=2.0, window=1e-6) == 5.0
    assert largest(lambda u: 1.0, low=-5.0, high=5.0, start=2.0, window=1e-6) is None


@pytest.mark.parametrize("best", [1, 2, 63, 64, 700, 4095, 4096])
def test_best_of_range(best: int) -> None:
    looked: list[float] = []

    def error(k: float, limit: float) -> float:
        looked.append(k)
        value = 1.0 + math.log(k / best) ** 2
        return value if value <= limit else math.inf

    found = best_of_range(error, low=1, high=4096, whole=True, start=20)
    assert math.log(found / best) ** 2 <= 1e-4
    assert len(looked) == len(set(looked)) < 80


@pytest.mark.slow
@pytest.mark.parametrize(("n", "epsilon"), [(10**6, 1.0), (10**4, 0.3)])
def test_large_domains_of_sets(n: int, epsilon: float) -> None:
    """Reports of nearly all items say nothing about one of them in double precision: an error of inf, not a crash."""
    assert sdp.PrivSet(eps0=1.0, d=10**6, s=10, k=10**6).variance(n) == math.inf
    found = sdp.calibrate("privset", d=10**6, s=10, n=n, epsilon=epsilon, delta=1e-8)
    assert sdp.amplify(found, n=n, delta=1e-8).epsilon <= epsilon
    best = found.variance(n, 10 / (10**6 + 10))
    for k in (max(found.k // 2, 1), 2 * found.k):
        other = sdp.calibrate("privset", d=10**6, s=10, k=k, n=n, epsilon=epsilon, delta=1e-8)
        assert best <= other.variance(n, 10 / (10**6 + 10)) * 1.05


@pytest.mark.slow_cases("hierarchical-grr-fixed2-1000000000-5.0-4", "sampling-rappor-fixed3-1000000000-5.0-4")
@pytest.mark.parametrize(
    ("name", "fixed", "n", "epsilon", "most"),
    [
        ("laplace", {}, 10**6, 0.1, 2),
        ("grr", {"d": 64}, 10**6, 1.0, 2),
        ("hierarchical-grr", {"d": 1024}, 10**9, 5.0, 4),
        ("sampling-rappor", {"d": 1000, "s": 10}, 10**9, 5.0, 4),
    ],
)
def test_eps_is_solved_for_only_a_few_times(
    monkeypatch: pytest.MonkeyPatch, name: str, fixed: dict[str, Any], n: int, epsilon: float, most: int
) -> None:
    """Where eps is steep in the budget too: there delta hardly changes with eps, and must be met all the closer."""
    asked: list[float] = []
    reached = Target.reached
    monkeypatch.setattr(Target, "reached", lambda self, m: (asked.append(reached(self, m)), asked[-1])[1])
    found = sdp.calibrate(name, n=n, epsilon=epsilon, delta=0.1 / n, **fixed)
    assert len(asked) <= most
    assert epsilon * (1 - 1e-4) <= sdp.amplify(found, n=n, delta=0.1 / n).epsilon <= epsilon


@pytest.mark.heavy
def test_a_setting_is_chosen_with_few_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 10^6 settings the error is within 0.1% of the best of a scan; all settings of a pass are one call."""
    rows: list[int] = []
    ask = target.log_deltas
    monkeypatch.setattr(target, "log_deltas", lambda asked, *a, **k: (rows.append(len(asked)), ask(asked, *a, **k))[1])
    found = sdp.calibrate("subset", d=10**6, n=10**6, epsilon=0.1, delta=1e-8)
    assert len(rows) <= 15 and sum(rows) <= 95
    errors = {
        k: sdp.calibrate("subset", d=10**6, k=k, n=10**6, epsilon=0.1, delta=1e-8).variance(10**6)  # type: ignore[attr-defined]
        for k in (10, 13, 14, 15, 16, 17, 22)
    }
    assert found.variance(10**6) <= min(errors.values()) * 1.001  # type: ignore[attr-defined]
