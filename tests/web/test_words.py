"""Risk in words: the number behind the sentence is a bound, and extreme settings are named."""

from __future__ import annotations

import math

import numpy as np
import pytest

import shuffledp as sdp
from shuffledp.web import words


@pytest.mark.parametrize("eps", [0.0, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.3])
def test_no_pair_of_laws_is_guessed_better(eps: float, delta: float) -> None:
    # the worst (eps, delta) pair: with probability delta the value itself, else randomized response
    keep = math.exp(eps) / (1.0 + math.exp(eps))
    P = np.array([delta, (1 - delta) * keep, (1 - delta) * (1 - keep), 0.0])
    Q = P[::-1]
    best = 0.5 * np.maximum(P, Q).sum()
    assert words.guess(eps, delta) == pytest.approx(best, rel=1e-12)


def test_percent_is_rounded_up() -> None:
    assert words.percent(0.731058578) == "73.11 %" and words.percent(0.9999999) == "100 %"


@pytest.mark.parametrize(
    ("spec", "n", "delta", "said"),
    [
        ("grr:eps0=14,d=4", 10_000, 1e-6, "protects hardly anybody: outputs"),
        ("grr:eps0=1,d=4", 1000, 0.01, "above 1/n"),
        ("grr:eps0=1,d=4", 50, 1e-6, "50 users are no crowd"),
        ("grr:eps0=9,d=4", 10**9, 1e-12, "all rests on the shuffler"),
        ("pure-dump:d=64,messages=0.001", 2, 1e-9, "No finite eps"),
    ],
)
def test_extreme_settings_are_named(spec: str, n: int, delta: float, said: str) -> None:
    assert any(said in line for line in words.warnings(sdp.amplify(spec, n=n, delta=delta)))


def test_a_usual_setting_has_no_warning() -> None:
    assert words.warnings(sdp.amplify("grr:eps0=2,d=64", n=100_000, delta=1e-7)) == []


def test_many_missing_users_are_named() -> None:
    (said,) = words.warnings(sdp.amplify("grr:eps0=2,d=64", n=100_000, delta=1e-7, dropouts=0.6))
    assert said.startswith("Half of the users or more")


def test_without_a_local_guarantee_nothing_remains() -> None:
    g = sdp.amplify("pure-dump:d=64,messages=1", n=100_000, delta=1e-7)
    assert words.risk(g)["local"] == "If the shuffler fails, nothing protects the user."
