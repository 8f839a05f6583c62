"""Calibrated programmes: never above the budget, close below it, by weight; periods, choices, files, one sentence."""

from __future__ import annotations

import json
import math
from datetime import date
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

import shuffledp as sdp
from reference.commands import refused, run
from shuffledp.accounting.crowd import Crowd
from shuffledp.programme import spec
from shuffledp.programme.values import MOST_DATES, Step

from .test_programme import SCHEMA, with_

CLOSE = 0.005
TWO: dict[str, Any] = {
    "version": 1,
    "population": {"users": 20_000, "dropouts": 0.03},
    "target": {"epsilon": 1, "delta": "1e-6"},
    "rounds": [
        {"name": "kind", "mechanism": "grr:d=16", "count": 5, "weight": 2},
        {"name": "other", "mechanism": "grr:d=4", "count": 3},
    ],
}


def budgets(found: sdp.CalibratedProgramme) -> list[float]:
    return [float(r.mechanism.split("eps0=")[1].split(",")[0]) for r in found.rounds]


def close(found: sdp.CalibratedProgramme) -> bool:
    check = found.check
    return check.within and check.target_epsilon * (1 - CLOSE) <= check.epsilon <= check.target_epsilon


def said(data: Any) -> str:
    with pytest.raises(sdp.ParameterError) as caught:
        sdp.calibrate_programme(data)
    text = str(caught.value)
    assert text[-1] in ".?" and "\n" not in text and len(text) < 500, text
    return text


# -- the budget ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_weights_and_the_accountant() -> None:
    found = sdp.calibrate_programme(TWO)
    assert found.weights == "local" and close(found)
    one, two = budgets(found)
    assert one / two == pytest.approx(2.0, rel=1e-5) and found.scale == pytest.approx(two, rel=1e-5)
    acc = sdp.Accountant().compose(f"grr:eps0={one},d=16", n=20_000, dropouts=0.03, count=5)
    acc.compose(f"grr:eps0={two},d=4", n=20_000, dropouts=0.03, count=3)
    assert acc.epsilon(delta=1e-6) == pytest.approx(found.check.epsilon, rel=1e-9)
    assert sdp.check(found.programme) == found.check
    slack = sdp.Accountant().compose(f"grr:eps0={one * 1.01},d=16", n=19_400, count=5)
    assert slack.compose(f"grr:eps0={two * 1.01},d=4", n=19_400, count=3).epsilon(delta=1e-6) > 1.0


@pytest.mark.heavy
def test_one_round_is_calibrate() -> None:
    one = with_(TWO, rounds=[{"mechanism": "subset:d=64"}])
    found = sdp.calibrate_programme(one, tol=1e-4)
    direct: Any = sdp.calibrate("subset:d=64", n=20_000, epsilon=1.0, delta=1e-6, dropouts=0.03)
    made: Any = sdp.mechanism(found.rounds[0].mechanism)
    assert made.k == direct.k and made.eps0 == pytest.approx(direct.eps0, rel=1e-3)
    assert found.check.method == "amplify" and close(found)


@pytest.mark.slow
def test_more_budget_is_more_everywhere() -> None:
    last = [0.0, 0.0]
    for eps in ("0.02", "0.3", "2", "30"):
        found = sdp.calibrate_programme(with_(TWO, target__epsilon=eps))
        assert close(found)
        now = budgets(found)
        assert all(a < b for a, b in zip(last, now, strict=True))
        last = now


@pytest.mark.slow
def test_the_others_stay_as_they_are() -> None:
    fixed = with_(TWO, rounds__1__mechanism="grr:eps0=1.5,d=4")
    found = sdp.calibrate_programme(fixed)
    assert close(found) and len(found.rounds) == 1
    assert found.programme["rounds"][1] == fixed["rounds"][1]
    with pytest.raises(sdp.ImpossibleError, match="even the most private settings of the open rounds leave eps ="):
        sdp.calibrate_programme(with_(fixed, rounds__1__mechanism="grr:eps0=9,d=4", target__epsilon="0.1"))


@pytest.mark.heavy
def test_messages_flips_and_budgets_together() -> None:
    rounds = [
        {"mechanism": "pure-dump:d=16", "count": 3},
        {"mechanism": "cheu-zhilyaev:d=16,messages=2", "unknown": "flip", "count": 2, "weight": 2},
        {"mechanism": "grr:d=16", "weight": "1/2"},
    ]
    found = sdp.calibrate_programme(with_(TWO, rounds=rounds))
    assert found.weights == "central" and close(found)
    eps = [r.epsilon / r.weight for r in found.rounds]
    assert eps == pytest.approx([found.scale] * 3, rel=1e-3)
    with pytest.raises(sdp.ParameterError, match="weights must be central where an open round has no local budget"):
        sdp.calibrate_programme(with_(TWO, rounds=rounds, weights="local"))


@pytest.mark.heavy
def test_central_weights_of_budgets() -> None:
    found = sdp.calibrate_programme(with_(TWO, weights="central"))
    assert close(found)
    assert found.rounds[0].epsilon / found.rounds[1].epsilon == pytest.approx(2.0, rel=1e-3)


@pytest.mark.slow
def test_limits_and_several_reports_are_counted() -> None:
    rounds = [{"mechanism": "grr:d=4", "count": 30, "participation_limit": 2, "reports_per_user": 2}]
    found = sdp.calibrate_programme(with_(TWO, rounds=rounds))
    assert close(found) and found.check.rounds[0].cost == 4
    every = sdp.calibrate_programme(with_(TWO, rounds=[{"mechanism": "grr:d=4", "count": 30}]))
    assert budgets(every)[0] < budgets(found)[0]


@pytest.mark.heavy
def test_a_budget_that_nothing_uses_up() -> None:
    found = sdp.calibrate_programme(with_(TWO, target__epsilon=1e6, rounds=[{"mechanism": "grr:d=4", "count": 2}]))
    assert found.check.within and budgets(found) == [500.0], "the end of the range"


@pytest.mark.heavy
def test_a_tiny_delta() -> None:
    found = sdp.calibrate_programme(with_(TWO, target__delta="1e-200", rounds=[{"mechanism": "grr:d=4", "count": 2}]))
    assert close(found) and found.check.method == "renyi"


@pytest.mark.slow
def test_joint_answers_share_a_budget() -> None:
    joint = {"mechanism": "joint:<grr:eps0=1,d=4; grr:eps0=1,d=3>", "weight": 1, "count": 2}
    found = sdp.calibrate_programme(with_(TWO, rounds=[joint]))
    assert close(found) and found.rounds[0].mechanism.startswith("joint:")


# -- choices ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_best_candidate_is_taken() -> None:
    rounds = [{"candidates": ["oue:d=16", "grr:d=16", "subset:d=16"], "count": 4}]
    found = sdp.calibrate_programme(with_(TWO, rounds=rounds))
    assert close(found) and found.weights == "central"
    alone = {}
    for candidate in rounds[0]["candidates"]:  # type: ignore[attr-defined]
        one = sdp.calibrate_programme(with_(TWO, rounds=[{"mechanism": candidate, "count": 4}]))
        alone[candidate] = one.rounds[0].error
    assert found.rounds[0].error == pytest.approx(min(alone.values()), rel=0.01)  # type: ignore[type-var]
    assert {spec for spec, _ in found.rounds[0].compared} == set(rounds[0]["candidates"])  # type: ignore[call-overload]
    best = min(found.rounds[0].compared, key=lambda pair: pair[1])
    for candidate, variance in found.rounds[0].compared:
        ratio = alone[candidate] / alone[best[0]]  # type: ignore[operator]
        assert math.sqrt(variance / best[1]) == pytest.approx(ratio, rel=0.05)


def test_a_task_names_its_candidates() -> None:
    asked: Any = spec.draft(with_(TWO, rounds=[{"task": "histogram", "d": 9}])).entries[0].open
    names = {row.mechanism for row in asked.rows("rounds[0]", Crowd(1000), 1e-6)}
    assert {"grr", "optimized-unary", "subset", "local-hash", "hadamard"} <= names
    assert not names & {"hierarchical-grr", "privset", "pure-dump", "general"}


# -- periods ---------------------------------------------------------------------------------------------------


def dated(per: str | None, *every: str, start: str = "2024-01-01", until: str = "2024-12-31") -> spec.Draft:
    target = {"epsilon": 1, "delta": "1e-6", **({"per": per} if per else {})}
    rounds = [{"mechanism": "grr:d=4", "every": step} for step in every]
    return spec.draft(with_(TWO, target=target, rounds=rounds) | {"start": start, "until": until})


@pytest.mark.parametrize(
    ("per", "every", "start", "until", "worst"),
    [
        ("year", "day", "2023-01-01", "2024-12-31", ("2024", 366)),
        ("month", "day", "2023-02-01", "2023-02-28", ("2023-02", 28)),
        ("month", "day", "2024-02-01", "2024-02-29", ("2024-02", 29)),
        ("quarter", "week", "2024-01-01", "2024-12-31", ("2024-Q3", 14)),
        ("quarter", "week", "2024-02-20", "2024-04-10", ("2024-Q1", 6)),
        ("week", "day", "2024-12-30", "2025-01-12", ("2025-W01", 7)),
        ("13 weeks", "week", "2024-01-01", "2024-12-31", ("from 2024-01-01", 13)),
        ("2 years", "month", "2023-01-31", "2026-01-30", ("from 2023-01-31", 24)),
        ("day", "day", "2024-02-28", "2024-03-01", ("2024-02-28", 1)),
        ("year", "quarter", "2024-03-31", "2024-12-30", ("2024", 3)),
    ],
)
def test_dates(per: str, every: str, start: str, until: str, worst: tuple[str, int]) -> None:
    (period,) = dated(per, every, start=start, until=until).periods
    assert (period.label, period.counts[0]) == worst


def test_the_days_of_a_month_do_not_drift() -> None:
    days = list(Step(1, "month").dates(date(2024, 1, 31), date(2024, 6, 30)))
    assert [str(day)[5:] for day in days] == ["01-31", "02-29", "03-31", "04-30", "05-31", "06-30"]
    assert list(Step(1, "year").dates(date(2024, 2, 29), date(2026, 12, 31)))[1:] == [
        date(2025, 2, 28),
        date(2026, 2, 28),
    ]
    assert len(list(Step(1, "year").dates(date(9990, 1, 1), date(9999, 12, 31)))) == 10


def test_periods_that_no_other_exceeds() -> None:
    periods = dated("quarter", "week", "month", start="2024-01-31", until="2025-06-30").periods
    assert len({p.counts for p in periods}) == len(periods)
    assert all(not all(map(int.__le__, p.counts, q.counts)) for p in periods for q in periods if p is not q)
    whole = dated(None, "week").periods
    assert [(p.label, p.counts) for p in whole] == [(None, (53,))]


@pytest.mark.slow
def test_the_worst_period_meets_the_budget() -> None:
    told = with_(TWO, target__per="quarter") | {"start": "2024-01-01", "until": "2024-12-31"}
    told["rounds"] = [
        {"mechanism": "grr:d=16", "every": "week"},
        {"mechanism": "grr:d=4", "every": "month", "until": "2024-05-31"},
    ]
    found = sdp.calibrate_programme(told)
    assert close(found)
    one, two = (r.mechanism for r in found.rounds)
    spent = [
        sdp.Accountant().compose(one, n=19_400, count=weeks).compose(two, n=19_400, count=months).epsilon(delta=1e-6)
        if months
        else sdp.Accountant().compose(one, n=19_400, count=weeks).epsilon(delta=1e-6)
        for weeks, months in ((13, 3), (13, 2), (14, 0), (13, 0))
    ]
    assert found.check.epsilon == pytest.approx(max(spent), rel=1e-6) and max(spent) <= 1.0
    whole = sdp.Accountant().compose(one, n=19_400, count=53).compose(two, n=19_400, count=5)
    assert found.check.all_periods_epsilon == pytest.approx(whole.epsilon(delta=1e-6), rel=1e-6)
    text = str(found)
    assert f"In {found.check.period}, the quarter that costs most" in text and "all of them together: (" in text


@pytest.mark.slow
def test_counts_are_those_of_one_period() -> None:
    found = sdp.calibrate_programme(with_(TWO, target__per="quarter"))
    assert found.check == sdp.check(found.programme)
    assert found.check.epsilon == sdp.calibrate_programme(TWO).check.epsilon
    text = str(found)
    assert "In every quarter 8 rounds" in text and "several of them together, or a span that reaches into two" in text
    assert "all local guarantees of one quarter together leave" in text and "in any quarter" not in text


def test_what_is_neither_complete_nor_open_says_what_it_lacks() -> None:
    with pytest.raises(sdp.ParameterError, match=r"rounds\[0\].mechanism: mix-dump needs flip"):
        sdp.calibrate_programme(with_(TWO, rounds=[{"mechanism": "mix-dump:d=8"}]))


@pytest.mark.heavy
def test_periods_of_several_units_are_named() -> None:
    told = with_(TWO, target__per="13 weeks") | {"start": "2024-01-01", "until": "2024-12-31"}
    told["rounds"] = [{"mechanism": "grr:eps0=1,d=16", "every": "week"}]
    text = str(sdp.check(told))
    assert "In the period of 13 weeks from 2024-01-01, the one that costs most, 13 rounds" in text
    assert "The budget is for one period of 13 weeks; all of them together" in text


# -- over the budget -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_check_says_what_would_fit() -> None:
    over = with_(
        TWO, rounds=[{"name": "kind", "mechanism": "grr:eps0=8,d=16", "count": 9}, {"mechanism": "grr:eps0=4,d=4"}]
    )
    found = sdp.check(over)
    assert not found.within and found.fits is not None and found.fits.factor < 1.0
    fitting = with_(over)
    for round_, made in zip(fitting["rounds"], found.fits.mechanisms, strict=True):
        round_["mechanism"] = made
    again = sdp.check(fitting)
    assert again.within and again.epsilon >= 0.98 and again.epsilon == found.fits.epsilon
    first, second = (sdp.mechanism(made).eps0 for made in found.fits.mechanisms)  # type: ignore[attr-defined]
    assert first / second == pytest.approx(2.0, rel=1e-5)
    factor = float(str(found).split("local budgets times ")[1].split(":")[0])
    assert found.fits.factor - 1e-4 <= factor <= found.fits.factor
    assert f"{found.fits.mechanisms[0]} for kind" in str(found)
    assert json.loads(json.dumps(found.to_dict()))["fits"]["mechanisms"] == list(found.fits.mechanisms)


@pytest.mark.heavy
def test_nothing_fits_without_a_budget_to_lower() -> None:
    found = sdp.check(with_(TWO, target__epsilon="0.01", rounds=[{"mechanism": "pure-dump:d=4,messages=1"}]))
    assert not found.within and found.fits is None and "It fits" not in str(found)
    beside = [{"mechanism": "pure-dump:d=4,messages=1"}, {"mechanism": "grr:eps0=1,d=4"}]
    assert sdp.check(with_(TWO, target__epsilon="0.01", rounds=beside)).fits is None
    assert sdp.check(with_(TWO, rounds=[{"mechanism": "grr:eps0=1,d=4"}])).fits is None, "it is within"


# -- files -----------------------------------------------------------------------------------------------------


@pytest.mark.slow_cases("json")
@pytest.mark.slow_cases("yaml")
@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_what_is_saved_is_what_was_checked(suffix: str, tmp_path: Path) -> None:
    source, target = tmp_path / "open.yaml", tmp_path / f"calibrated.{suffix}"
    source.write_text(
        "version: 1\nname: weekly é\npopulation: {users: 20_000, dropouts: 0.03}\nstart: 2024-01-01\n"
        "until: 2024-03-31\ntarget: {epsilon: 1, delta: 1e-6}\n"
        "rounds: [{mechanism: 'grr:d=4', every: week, weight: 3}]\n"
    )
    found = sdp.calibrate_programme(source)
    found.save(target)
    text = target.read_text(encoding="utf-8")
    assert sdp.check(target) == found.check and close(found)
    assert "weight" not in text and "20_000" in text and "2024-03-31" in text
    plain = json.loads(text) if suffix == "json" else yaml.load(text, Loader=yaml.BaseLoader)
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(plain)
    if suffix == "yaml":
        assert "'" not in text, text
    assert "must leave at least one budget open" in said(target)


@pytest.mark.heavy
def test_python_dates_and_tuples() -> None:
    told = {
        **TWO,
        "start": date(2024, 1, 1),
        "until": date(2024, 1, 31),
        "rounds": ({"mechanism": "grr:d=4", "every": "week"},),
    }
    found = sdp.calibrate_programme(told)
    assert found.check.rounds[0].count == 5 and json.dumps(found.to_dict())


@pytest.mark.slow
def test_the_result_says_itself() -> None:
    found = sdp.calibrate_programme(TWO)
    text = str(found)
    assert text.startswith(f"kind: {found.rounds[0].mechanism}, predicted standard error")
    assert "By weight: each local budget is" in text and text.endswith(str(found.check))
    assert repr(found).startswith("<CalibratedProgramme of 2 open entries: <Check WITHIN BUDGET")
    assert len(found.table()) == 2
    steps: list[tuple[int, int]] = []
    sdp.calibrate_programme(TWO, progress=lambda done, total: steps.append((done, total)))
    assert steps[-1] == (2, 2)


OPEN = {"mechanism": "grr:d=4"}
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "nothing open": (with_(TWO, rounds=[{"mechanism": "grr:eps0=1,d=4"}]), "must leave at least one budget open"),
    "weight and budget": (with_(TWO, rounds=[{"mechanism": "grr:eps0=1,d=4", "weight": 1}]), "must be left out of grr"),
    "weight 0": (with_(TWO, rounds__0__weight=0), "rounds[0].weight must lie in"),
    "weight below 0": (with_(TWO, rounds__0__weight="-1"), "rounds[0].weight must lie in"),
    "weight huge": (with_(TWO, rounds__0__weight="1e999"), "rounds[0].weight must lie in"),
    "weight words": (with_(TWO, rounds__0__weight="much"), "rounds[0].weight must be a number"),
    "weight true": (with_(TWO, rounds__0__weight=True), "rounds[0].weight must be a number"),
    "weights": (with_(TWO, weights="equal"), "weights must be local or central, got 'equal'"),
    "weights far apart": (
        with_(TWO, rounds=[{**OPEN, "weight": 1e-6}, {**OPEN, "weight": 1e6}]),
        "weights leave no local budgets",
    ),
    "two ways": (with_(TWO, rounds=[{**OPEN, "candidates": ["grr:d=4"]}]), "one of mechanism, candidates and task"),
    "no candidates": (with_(TWO, rounds=[{"candidates": []}]), "rounds[0].candidates must be a list of 1 to 20"),
    "many candidates": (with_(TWO, rounds=[{"candidates": ["grr:d=4"] * 21}]), "got 21"),
    "candidate number": (with_(TWO, rounds=[{"candidates": [3]}]), "rounds[0].candidates[0] must be a spec"),
    "candidates text": (with_(TWO, rounds=[{"candidates": "grr:d=4"}]), "rounds[0].candidates must be a list"),
    "unknown candidate": (
        with_(TWO, rounds=[{"candidates": ["grr:d=4", "x:d=4"]}]),
        "candidates[1]: unknown mechanism",
    ),
    "candidate of code": (
        with_(TWO, rounds=[{"candidates": ["os.path:join:d=4"]}]),
        "must name a mechanism that is registered",
    ),
    "mechanism of code": (with_(TWO, rounds=[{"mechanism": "os.path:join:d=4", "weight": 1}]), "that is registered"),
    "candidate without error": (with_(TWO, rounds=[{"candidates": ["grr:d=4", "general"]}]), "with a predicted error"),
    "task": (with_(TWO, rounds=[{"task": "poem", "d": 4}]), "rounds[0]: task must be one of 11 known ones, got 'poem'"),
    "task alone": (with_(TWO, rounds=[{"task": "histogram"}]), "rounds[0]: the task 'histogram' needs d, got nothing"),
    "d alone": (with_(TWO, rounds=[{**OPEN, "d": 4}]), "rounds[0].d must be given together with task"),
    "d 1": (with_(TWO, rounds=[{"task": "histogram", "d": 1}]), "d must lie in"),
    "unknown": (
        with_(TWO, rounds=[{**OPEN, "unknown": "flip"}]),
        "rounds[0].mechanism: unknown parameter to solve for",
    ),
    "unknown number": (
        with_(TWO, rounds=[{**OPEN, "unknown": 3}]),
        "rounds[0].unknown must be the name of a parameter",
    ),
    "bad spec": (with_(TWO, rounds=[{"mechanism": "grr:d=1", "weight": 1}]), "rounds[0].mechanism: d must lie in"),
    "per": (with_(TWO, target__per="fortnight"), "target.per must be day, week, month, quarter or year"),
    "per 0": (with_(TWO, target__per="0 weeks"), "target.per must be day"),
    "per plural": (with_(TWO, target__per="weeks"), "target.per must be day"),
    "count and every": (with_(TWO, rounds__0__every="week"), "rounds[0] must have count or every, got both"),
    "every alone": (
        with_(TWO, rounds=[{**OPEN, "every": "week"}]),
        "rounds[0].start must be given together with every",
    ),
    "start alone": (
        with_(TWO, rounds=[{**OPEN, "start": "2024-01-01"}]),
        "rounds[0].start must be given together with every",
    ),
    "no date": (
        with_(TWO, rounds=[{**OPEN, "every": "week", "start": "2023-02-29", "until": "2024-01-01"}]),
        "rounds[0].start must be a date such as 2026-01-05, got '2023-02-29'",
    ),
    "american date": (
        with_(TWO, rounds=[{**OPEN, "every": "week", "start": "1/2/2024", "until": "2024-01-01"}]),
        "rounds[0].start must be a date",
    ),
    "backwards": (
        with_(TWO, rounds=[{**OPEN, "every": "week", "start": "2024-02-01", "until": "2024-01-01"}]),
        "rounds[0].until must not be before start, 2024-02-01, got 2024-01-01",
    ),
    "too many dates": (
        with_(TWO, rounds=[{**OPEN, "every": "day", "start": "0001-01-01", "until": "9999-12-31"}]),
        f"at most {MOST_DATES:,} dates",
    ),
    "too many dates together": (
        with_(TWO, rounds=[{**OPEN, "every": "day", "start": "1800-01-01", "until": "2000-12-31"}] * 2),
        "rounds[1].until must leave at most",
    ),
    "counts beside dates": (
        with_(
            TWO,
            target__per="month",
            rounds=[{**OPEN, "every": "week", "start": "2024-01-01", "until": "2024-02-01"}, OPEN],
        ),
        "rounds[1] must have every, like rounds[0]",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_programmes_name_the_place(name: str) -> None:
    data, expected = BAD[name]
    if name == "weights far apart":
        with pytest.raises(sdp.ImpossibleError, match=expected):
            sdp.calibrate_programme(data)
        return
    assert expected in said(data)


@pytest.mark.parametrize("tol", [0, 1e-6, 0.2, math.nan])
def test_bad_tolerances(tol: float) -> None:
    with pytest.raises(sdp.ParameterError, match="tol must"):
        sdp.calibrate_programme(TWO, tol=tol)


@pytest.mark.parametrize("bad", [None, 3, "", [TWO]])
def test_what_is_no_programme(bad: Any) -> None:
    assert "programme must be the path of a file or a dictionary" in said(bad)


def test_check_refuses_what_is_open() -> None:
    with pytest.raises(sdp.ParameterError, match=r"rounds\[0\] must give the whole mechanism .* calibrate --programme"):
        sdp.check(TWO)


WRONG_SHAPE = (
    "two ways",
    "no candidates",
    "many candidates",
    "candidate number",
    "candidates text",
    "task",
)
WRONG_SHAPE += (
    "weight 0",
    "weight words",
    "weight true",
    "weights",
    "unknown number",
    "per",
    "per 0",
    "per plural",
    "american date",
)


@pytest.mark.parametrize("name", WRONG_SHAPE)
def test_the_schema_refuses_wrong_shapes(name: str) -> None:
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(BAD[name][0])


def test_the_schema_takes_what_is_open() -> None:
    task = {
        "task": "histogram",
        "d": "64",
        "weight": "1/2",
        "every": "2 weeks",
        "start": "2024-01-01",
        "until": "2024-03-01",
    }
    told = with_(
        TWO, rounds=[task, {"candidates": ["grr:d=4"], "unknown": "eps0"}], target__per="13 weeks", weights="central"
    )
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(told) and jsonschema.Draft202012Validator(SCHEMA).is_valid(
        TWO
    )


# -- the command line ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "open.json").write_text(json.dumps(TWO))
    found = sdp.calibrate_programme("open.json")
    plain = run("calibrate", "--programme", "open.json", "--save", "done.yaml")
    assert plain.exit_code == 0 and plain.stdout.strip() == str(found) and plain.stderr.strip() == "wrote done.yaml"
    assert run("check", "done.yaml").exit_code == 0
    data = json.loads(run("calibrate", "--programme", "open.json", "--json").stdout)
    assert data["programme"] == found.programme and data["check"]["within"] is True
    assert data["rounds"][0]["mechanism"] == found.rounds[0].mechanism
    loose = json.loads(run("calibrate", "--programme", "open.json", "--tol", "0.05", "--json").stdout)
    assert 0.95 <= loose["check"]["epsilon"] <= 1.0


@pytest.mark.heavy
def test_the_command_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    hopeless = with_(TWO, target__epsilon="1e-6", rounds=[{"mechanism": "grr:d=4"}, {"mechanism": "grr:eps0=5,d=4"}])
    (tmp_path / "hopeless.json").write_text(json.dumps(hopeless))
    assert "cannot be reached by this programme" in refused(run("calibrate", "--programme", "hopeless.json"), 1)
    both = run("calibrate", "--programme", "hopeless.json", "--json", "--save", "no.yaml")
    assert both.exit_code == 1 and json.loads(both.stdout)["impossible"] is True
    assert not (tmp_path / "no.yaml").exists()
    assert "leave out --n" in refused(run("calibrate", "--programme", "hopeless.json", "--n", "5"), 2)
    assert "leave out the spec" in refused(run("calibrate", "grr", "--programme", "hopeless.json"), 2)
    assert "--save needs --programme" in refused(run("calibrate", "grr", "--save", "x"), 2)
    assert "calibrate needs NAME_OR_SPEC" in refused(run("calibrate", "grr"), 2)
    assert "No such file" in refused(run("calibrate", "--programme", "none.yaml"), 2)
