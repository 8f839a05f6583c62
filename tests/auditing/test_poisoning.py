"""False users: gains that follow from the law, every mechanism, alarms, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from contract.cases import Case, all_cases
from shuffledp.auditing.poisoning import contradicted

RUNNABLE = [c for c in all_cases() if isinstance(c.mechanism, sdp.Randomizer)]


@pytest.mark.parametrize("attack", ["maximal-gain", "targeted", "random"])
def test_gains_of_randomized_response_follow_from_its_law(attack: str) -> None:
    """m false of n + m users raise entry t by m/(n+m) (a - f_t): a is what a false report adds to it on average."""
    m, honest, false = sdp.GRR(eps0=1.5, d=5), 3000, 500
    values = np.repeat(np.arange(5), honest // 5)
    found = sdp.poison(m, values, false=false, target=2, attack=attack, repetitions=25, rng=np.random.default_rng(4))
    full = (1.0 - m.stray) / (m.keep - m.stray)
    adds = {"maximal-gain": full, "targeted": 1.0, "random": 0.2}[attack]
    assert found.gain == pytest.approx(false / (honest + false) * (adds - 0.2), abs=5 * found.gain_stderr + 1e-3)
    assert found.gain <= found.worst and (found.entry, found.honest, found.false) == (2, honest, false)
    assert attack in str(found) and found.to_dict()["gain"] == found.gain


@pytest.mark.slow_cases("prefix-*", "wheel*")
@pytest.mark.one_setting
@pytest.mark.parametrize("case", RUNNABLE, ids=str)
def test_no_mechanism_moves_further_than_its_worst(case: Case) -> None:
    values, _ = case.data(120)
    if case.mechanism.name in ("parallel", "joint"):
        values = np.column_stack(values)
    asked: dict[str, Any] = {"false": 6, "target": np.asarray(values)[-1], "entry": 0, "repetitions": 2}
    for attack in ("maximal-gain", "random"):
        found = sdp.poison(case.mechanism, values, attack=attack, rng=np.random.default_rng(1), **asked)
        assert abs(found.gain) <= found.worst * (1 + 1e-9) and not math.isnan(found.gain)


@pytest.mark.heavy
def test_bits_that_do_not_add_up_are_noticed_and_honest_ones_are_not() -> None:
    m = sdp.mechanism("optimized-unary:eps0=1,d=8")
    values, rng = np.arange(4000) % 8, np.random.default_rng(3)
    found = sdp.poison(m, values, false=300, target=1, attack="random", repetitions=10, rng=rng)
    assert found.detected == 1.0
    assert isinstance(m, sdp.Randomizer)
    alarms = [contradicted(m.estimate(m.privatize(values[:400], rng=rng))) for _ in range(300)]
    assert np.mean(alarms) <= 0.03


@pytest.mark.parametrize(
    ("spec", "asked", "said"),
    [
        ("general:eps0=1", {}, "mechanism must be one that can be run, got general:eps0=1"),
        ("grr:eps0=1,d=3", {"attack": "clever"}, "unknown attack 'clever'"),
        ("grr:eps0=1,d=3", {"false": 0}, "false must"),
        ("grr:eps0=1,d=3", {"repetitions": 1}, "repetitions must"),
        ("grr:eps0=1,d=3", {"entry": 3}, "entry must"),
        ("grr:eps0=1,d=3", {"target": 7, "entry": 0}, "values must"),
        ("grr:eps0=1,d=3", {"target": 7}, r"target must lie in \[0, 2\], got 7"),
        ("privset:eps0=1,d=5,s=2", {"target": [0, 1]}, "entry must be given for privset"),
    ],
)
def test_what_is_refused(spec: str, asked: dict[str, Any], said: str) -> None:
    values: Any = [[0, 1]] * 20 if spec.startswith("privset") else [0, 1] * 10
    with pytest.raises(sdp.ParameterError, match=said):
        sdp.poison(spec, values, **{"false": 2, "target": 1} | asked)


def test_what_is_no_mechanism_and_what_is_ragged() -> None:
    nothing: Any = None
    with pytest.raises(sdp.ParameterError, match="mechanism must be one that can be run, got None"):
        sdp.poison(nothing, [0, 1], false=2, target=1)
    ragged: Any = [[0], [0, 1]]
    with pytest.raises(sdp.ParameterError, match="values must"):
        sdp.poison("grr:eps0=1,d=3", ragged, false=2, target=1)
    with pytest.raises(sdp.ParameterError, match="target must"):
        sdp.poison("grr:eps0=1,d=3", [0, 1], false=2, target=ragged, entry=0)
