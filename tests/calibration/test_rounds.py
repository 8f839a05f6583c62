"""calibrate, users_needed, delta_needed and compose with rounds and missing users: amplify and the accountant agree."""

from __future__ import annotations

import json
from typing import Any

import pytest

import shuffledp as sdp
from reference.commands import refused, run

N, DELTA = 20_000, 1e-6
CROWDS: dict[str, dict[str, Any]] = {
    "all": {},
    "dropouts": {"dropouts": 0.03},
    "both": {"dropouts": 100, "colluding": 0.01},
    "reports": {"reports_per_user": 2, "colluding": 5},
}


@pytest.mark.slow_cases("reports")
@pytest.mark.parametrize("crowd", CROWDS.values(), ids=list(CROWDS))
def test_one_round_is_amplify(crowd: dict[str, Any]) -> None:
    terms = {"delta": DELTA, **crowd}
    m: Any = sdp.calibrate("grr:d=16", n=N, epsilon=0.3, **terms)
    assert 0.3 * (1 - 2e-4) <= sdp.amplify(m, n=N, **terms).epsilon <= 0.3
    assert m.eps0 < sdp.calibrate("grr:d=16", n=N, epsilon=0.3, delta=DELTA).eps0 or not crowd  # type: ignore[attr-defined]
    delta = sdp.delta_needed(m, n=N, epsilon=0.3, **crowd)
    assert 0.99 * DELTA < delta <= DELTA * (1 + 1e-9)
    n = sdp.users_needed(m, epsilon=0.3, **terms)
    assert sdp.amplify(m, n=n, **terms).epsilon <= 0.3 < sdp.amplify(m, n=n - 1, **terms).epsilon


@pytest.mark.heavy
@pytest.mark.slow_cases("both", "dropouts", "reports")
@pytest.mark.parametrize("crowd", CROWDS.values(), ids=list(CROWDS))
def test_many_rounds_are_the_accountant(crowd: dict[str, Any]) -> None:
    m: Any = sdp.calibrate("grr:d=16", n=N, epsilon=0.5, delta=DELTA, count=10, tol=1e-3, **crowd)
    acc = sdp.Accountant().compose(m, n=N, count=10, **crowd)
    assert 0.5 * (1 - 2e-3) <= acc.epsilon(delta=DELTA) <= 0.5
    delta = sdp.delta_needed(m, n=N, epsilon=0.5, count=10, **crowd)
    assert delta == pytest.approx(acc.delta(epsilon=0.5), rel=1e-6) and delta <= DELTA * 1.001


@pytest.mark.slow
def test_users_of_many_rounds() -> None:
    terms = {"dropouts": 0.1, "count": 5}
    n = sdp.users_needed("grr:eps0=1,d=4", epsilon=0.2, delta=1e-5, **terms)  # type: ignore[arg-type]

    def spent(users: int) -> float:
        return sdp.Accountant().compose("grr:eps0=1,d=4", n=users, **terms).epsilon(delta=1e-5)  # type: ignore[arg-type]

    assert spent(n) <= 0.2 < spent(n - 1)


def test_users_start_where_somebody_is_left() -> None:
    assert sdp.users_needed("grr:eps0=1,d=4", epsilon=1.0, delta=1e-5, dropouts=7) == 8
    with pytest.raises(sdp.ParameterError, match="leave at least one honest user"):
        sdp.users_needed("grr:eps0=1,d=4", epsilon=1.0, delta=1e-5, dropouts=0.5, colluding=0.5)


def test_a_fixed_total_loses_the_messages_of_the_missing() -> None:
    m = sdp.calibrate("pure-dump:d=4", n=1000, epsilon=0.5, delta=1e-6, unknown="total_messages", dropouts=0.3)
    whole = sdp.calibrate("pure-dump:d=4", n=1000, epsilon=0.5, delta=1e-6, unknown="total_messages")
    assert m.total_messages > 1.3 * whole.total_messages  # type: ignore[attr-defined]
    assert sdp.amplify(m, n=1000, delta=1e-6, dropouts=0.3).epsilon <= 0.5
    acc = sdp.Accountant().compose(m, n=1000, dropouts=0.3)
    assert acc.epsilon(delta=1e-6) == pytest.approx(sdp.amplify(m, n=1000, delta=1e-6, dropouts=0.3).epsilon, rel=1e-9)


@pytest.mark.parametrize("bad", [{"count": 0}, {"count": 1.5}, {"dropouts": 2000}])
def test_bad_terms(bad: dict[str, Any]) -> None:
    with pytest.raises(sdp.ParameterError, match=next(iter(bad))):
        sdp.calibrate("grr:d=4", n=1000, epsilon=1.0, delta=1e-6, **bad)
    with pytest.raises(sdp.ParameterError, match=next(iter(bad))):
        sdp.delta_needed("grr:eps0=1,d=4", n=1000, epsilon=1.0, **bad)


def test_impossible_names_the_rounds() -> None:
    with pytest.raises(sdp.ImpossibleError, match=r"by 3 rounds of pure-dump with n = 10, 1 of them missing"):
        sdp.calibrate("pure-dump:d=16", n=10, epsilon=1e-9, delta=1e-12, count=3, dropouts=1)


# -- the command line ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_commands() -> None:
    crowd = ["--dropouts", "0.05", "--colluding", "10", "--count", "4", "--delta", "1e-6"]
    spec = json.loads(run("calibrate", "grr:d=16", "--n", "1e4", "--epsilon", "0.5", *crowd, "--json").stdout)
    acc = sdp.Accountant().compose(spec["mechanism"], n=10_000, count=4, dropouts=0.05, colluding=10)
    assert spec["guarantee"]["epsilon"] == acc.epsilon(delta=1e-6) <= 0.5
    found = json.loads(run("users", "grr:eps0=1,d=4", "--epsilon", "0.2", *crowd, "--json").stdout)
    assert found["guarantee"]["rounds"] == 4 and found["guarantee"]["epsilon"] <= 0.2
    one = json.loads(
        run("users", "grr:eps0=1,d=4", "--epsilon", "0.2", "--delta", "1e-6", "--dropouts", "9", "--json").stdout
    )
    assert one["n"] == sdp.users_needed("grr:eps0=1,d=4", epsilon=0.2, delta=1e-6, dropouts=9)
    assert one["guarantee"]["dropouts"] == 9
    round_ = "grr:eps0=1,d=4,n=1e4,count=4,dropouts=0.05,colluding=10"
    data = json.loads(run("compose", "--round", round_, "--delta", "1e-6", "--json").stdout)
    assert data["rounds"][0]["n"] == 9490
    assert "dropouts" in refused(
        run("calibrate", "grr:d=16", "--n", "10", "--epsilon", "1", "--delta", "0.1", "--dropouts", "x"), 2
    )
