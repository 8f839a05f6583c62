"""Programmes: what is counted is what is written, the budget is never stretched, bad files are one sentence."""

from __future__ import annotations

import copy
import json
import math
import shlex
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from click.testing import CliRunner

import shuffledp as sdp
from reference.places import ROOT
from shuffledp._support.reading import PROGRAMME
from shuffledp._support.reading.yaml_text import parse_yaml, read_plain
from shuffledp.cli import main
from shuffledp.programme import spec, values

SCHEMA = json.loads((Path(sdp.__file__).parent / "programme.schema.json").read_text(encoding="utf-8"))
DOCS = ROOT / "docs" / "programmes.md"

ONE: dict[str, Any] = {
    "version": 1,
    "population": {"users": 10_000},
    "target": {"epsilon": 1, "delta": "1e-6"},
    "rounds": [{"mechanism": "grr:eps0=2,d=16"}],
}
TWO: dict[str, Any] = {
    "version": 1,
    "name": "weekly",
    "population": {"users": "20_000", "dropouts": 0.05, "colluding": 100},
    "target": {"epsilon": "0.5", "delta": "1e-6"},
    "rounds": [
        {"name": "kind", "mechanism": "grr:eps0=2,d=16", "count": 5},
        {"mechanism": "general:eps0=1", "users": 5000, "count": 4, "participation_limit": 2, "reports_per_user": 2},
    ],
}


def with_(base: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A deep copy in which "a__0__b"=x is the path a, 0, b; a value of ... removes the key."""
    made = copy.deepcopy(base)
    for path, value in changes.items():
        *steps, last = path.split("__")
        place: Any = made
        for step in steps:
            place = place[int(step) if isinstance(place, list) else step]
        if value is ...:
            del place[last]
        else:
            place[last] = value
    return made


def valid(data: Any) -> bool:
    return bool(jsonschema.Draft202012Validator(SCHEMA).is_valid(data))


def said(data: Any) -> str:
    """The one sentence with which it is refused."""
    with pytest.raises(sdp.ParameterError) as caught:
        sdp.check(data)
    text = str(caught.value)
    assert text[-1] in ".?" and "\n" not in text and len(text) < 500, text
    return text


def told(programme: spec.Programme) -> list[Any]:
    return [programme.name, programme.epsilon, programme.delta, *((r.crowd, r.entry) for r in programme.rounds)]


def write(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "programme.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


# -- what is counted -------------------------------------------------------------------------------------------


def test_one_round_is_amplify() -> None:
    found = sdp.check(ONE)
    direct = sdp.amplify("grr:eps0=2,d=16", n=10_000, delta=math.nextafter(1e-6, 0.0))
    assert Fraction(math.nextafter(1e-6, 0.0)) <= Fraction("1e-6")
    assert (found.method, found.within) == ("amplify", True)
    assert direct.epsilon * (1 - 1e-9) <= found.epsilon == pytest.approx(direct.epsilon, rel=1e-9)
    assert found.rounds[0].epsilon == found.epsilon and found.rounds[0].bound == "auto" and direct.bound == "blanket"
    assert found.pure_epsilon == 2.0 == found.rounds[0].local_epsilon


@pytest.mark.heavy
def test_many_rounds_are_the_accountant() -> None:
    found = sdp.check(TWO)
    acc = sdp.Accountant().compose("grr:eps0=2,d=16", n=18_900, count=5)
    acc.compose("general:eps0=1", n=4650, count=4, participation_limit=2, reports_per_user=2)
    assert found.method == "pld" and found.within
    assert found.epsilon == pytest.approx(acc.epsilon(delta=1e-6), rel=1e-9)
    assert found.lower is None is acc.lower_epsilon(delta=1e-6), "unknown for several reports of a user"
    assert "no analysis" not in str(found)
    assert [(r.counted, r.dropouts, r.colluding, r.cost) for r in found.rounds] == [
        (18_900, 1000, 100, 5),
        (4650, 250, 100, 4),
    ]
    assert found.pure_epsilon == 5 * 2.0 + 4 * 1.0
    for entry, n in zip(found.rounds, (18_900, 4650), strict=True):
        assert entry.epsilon == pytest.approx(sdp.amplify(entry.mechanism, n=n, delta=1e-6).epsilon, rel=1e-6)


@pytest.mark.heavy
def test_a_limit_of_one_is_one_round() -> None:
    limited = sdp.check(with_(ONE, rounds__0__count=30, rounds__0__participation_limit=1))
    assert limited.method == "amplify" and limited.epsilon == sdp.check(ONE).epsilon
    assert "30 rounds over the same users" in str(limited) and "at stake 1 times at most" in str(limited)
    assert sdp.check(with_(ONE, rounds__0__count=2)).epsilon > limited.epsilon


def test_a_limit_above_the_number_of_rounds_limits_nothing() -> None:
    every, two = (sdp.check(with_(ONE, rounds__0__count=3, rounds__0__participation_limit=k)) for k in (9, 2))
    assert every.epsilon == sdp.check(with_(ONE, rounds__0__count=3)).epsilon > two.epsilon
    assert every.rounds[0].cost == 3 and "each user in at most 2" in str(two)
    assert "each user in at most" not in str(every)


def test_blanket_messages_of_the_missing_are_missing() -> None:
    told = {"mechanism": "pure-dump:d=4,total_messages=3000", "users": 1000, "dropouts": 300, "colluding": 50}
    found = sdp.check(with_(ONE, rounds=[told]))
    direct = sdp.amplify(told["mechanism"], n=1000, delta=1e-6, dropouts=300, colluding=50)  # type: ignore[arg-type]
    full = sdp.amplify(told["mechanism"], n=650, delta=1e-6)  # type: ignore[arg-type]
    assert found.epsilon == pytest.approx(direct.epsilon, rel=1e-9) and found.epsilon > 1.1 * full.epsilon
    twice = sdp.check(with_(ONE, rounds=[{**told, "count": 2}]))
    assert twice.epsilon > found.epsilon


def test_users_may_be_written_in_words() -> None:
    plain = sdp.check(with_(ONE, population__users=2_000_000, minimum_batch=40_000))
    assert sdp.check(with_(ONE, population__users="2M", minimum_batch="40 thousand")).epsilon == plain.epsilon


@pytest.mark.heavy
def test_a_smallest_batch_is_counted_on() -> None:
    small = sdp.check(with_(ONE, minimum_batch=4000, population__colluding=10))
    assert small.rounds[0].counted == 3990
    assert small.epsilon == sdp.check(with_(ONE, population__users=3990)).epsilon > sdp.check(ONE).epsilon
    assert "released only with 4,000 or more" in str(small) and "smaller batches are withheld" in small.trust
    # a round's own rule replaces the default, also the other kind of rule
    own = sdp.check(with_(ONE, minimum_batch=4000, rounds__0__dropouts=0.1))
    assert own.rounds[0].counted == 9000 and own.rounds[0].minimum_batch is None
    other = sdp.check(with_(ONE, population__dropouts=0.1, rounds__0__minimum_batch=5000))
    assert other.rounds[0].counted == 5000


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("share", "away"),
    [("0.1", 3), (0.1, 3), ("1/3", 10), ("0.34", 11), ("1e-9", 1), ("10%", 3), ("34 %", 11), (3, 3), ("3", 3), (0, 0)],
)
def test_parts_of_the_users_are_rounded_up_exactly(share: object, away: int) -> None:
    found = sdp.check(with_(ONE, population={"users": 30, "dropouts": share}))
    assert found.rounds[0].dropouts == away


@pytest.mark.heavy
def test_a_target_equal_to_the_local_budgets_is_within() -> None:
    told = with_(ONE, population__users=2, target={"epsilon": 4, "delta": "1e-12"})
    told = with_(told, rounds=[{"mechanism": "grr:eps0=2,d=4", "count": 2}])
    found = sdp.check(told)
    assert found.within and found.pure_epsilon == 4.0 and 4.0 * (1.0 - 1e-9) <= found.epsilon <= 4.0
    assert "eps <= 4 at delta = 1e-12" in repr(found)
    assert not sdp.check(with_(told, target__epsilon="3.99999")).within


@pytest.mark.heavy
def test_the_terms_are_those_of_the_accountant() -> None:
    told = with_(ONE, rounds__0__count=3, rounds__0__participation_limit=2)
    acc = sdp.Accountant().compose("grr:eps0=2,d=16", n=10_000, count=3, participation_limit=2)
    assert sdp.check(told).trust == acc.guarantee(delta=1e-6).trust


# -- the verdict -----------------------------------------------------------------------------------------------


@pytest.mark.slow_cases("three")
@pytest.mark.parametrize("base", [ONE, with_(ONE, rounds__0__count=3)], ids=["one", "three"])
def test_the_budget_is_compared_as_written(base: dict[str, Any]) -> None:
    eps = Decimal(sdp.check(base).epsilon)
    grain = Decimal(1).scaleb(-25)
    above, below = (str(eps.quantize(grain, rounding=r)) for r in (ROUND_CEILING, ROUND_FLOOR))
    assert float(above) == float(below) and above != below, "no float can tell them apart"
    assert sdp.check(with_(base, target__epsilon=above)).within
    assert not sdp.check(with_(base, target__epsilon=below)).within


@pytest.mark.parametrize("text", ["1e-8", "0.1", "1/3", "0.3", "7e-7", "0.05"])
def test_delta_is_not_rounded_up(text: str) -> None:
    programme = spec.parse(with_(ONE, target__delta=text))
    assert Fraction(programme.delta) <= Fraction(text) < Fraction(math.nextafter(programme.delta, 1.0))
    assert programme.written[1] == float(Fraction(text))
    left = sdp.check(with_(ONE, target__delta=text)).left_delta
    assert left is not None and Fraction(left) + Fraction(0.5 * programme.delta) <= Fraction(text)


@pytest.mark.slow_cases("two")
@pytest.mark.parametrize("base", [ONE, TWO], ids=["one", "two"])
def test_what_is_left_fits(base: dict[str, Any]) -> None:
    found = sdp.check(base)
    assert found.left_epsilon is not None and found.left_delta == pytest.approx(found.delta / 2)
    half = sdp.check(with_(base, target__delta=str(Decimal("5e-7")))).epsilon
    assert half > found.epsilon, "half of delta must cost something"
    assert found.left_epsilon + half == pytest.approx(found.target_epsilon, rel=1e-9)
    assert Fraction(found.left_epsilon) + Fraction(half) <= Fraction(found.target_epsilon) * (1 + Fraction(1, 10**12))


@pytest.mark.heavy
def test_over_budget_says_what_no_analysis_can_reach() -> None:
    found = sdp.check(with_(TWO, target__epsilon="0.01", rounds=[TWO["rounds"][0]]))
    assert not found.within and found.lower is not None and 0.01 < found.lower <= found.epsilon
    text = str(found)
    assert text.startswith("OVER BUDGET: weekly") and "No analysis of these rounds can claim less" in text
    assert found.left_epsilon is None and found.left_delta is None


@pytest.mark.heavy_cases("5")
@pytest.mark.parametrize("count", [1, 5])
def test_both_ends_are_told_within_the_budget(count: int) -> None:
    found = sdp.check(with_(ONE, rounds__0__count=count))
    acc = sdp.Accountant().compose("grr:eps0=2,d=16", n=10_000, count=count)
    low = sdp.amplify("grr:eps0=2,d=16", n=10_000, delta=1e-6).lower if count == 1 else acc.lower_epsilon(delta=1e-6)
    assert found.within and found.lower == pytest.approx(low, rel=1e-6)
    assert found.lower is not None and 0.99 * found.epsilon < found.lower <= found.epsilon
    assert f"no analysis can claim less than {sdp.round_down(found.lower)}" in str(found)
    assert found.to_dict()["lower"] == found.lower


def test_no_finite_eps_is_over() -> None:
    found = sdp.check(with_(ONE, rounds=[{"mechanism": "variation-ratio:inf,1,2", "users": 2, "count": 2}]))
    assert not found.within and math.isinf(found.epsilon)
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["epsilon"] == "inf" == data["rounds"][0]["local_epsilon"]
    assert "no finite eps" in str(found) and "not every round has a local guarantee" in str(found)


@pytest.mark.heavy
def test_a_tiny_delta_goes_through_renyi_and_says_so() -> None:
    found = sdp.check(with_(ONE, target__delta="1e-200", target__epsilon=50, rounds__0__count=3))
    acc = sdp.Accountant().compose("grr:eps0=2,d=16", n=10_000, count=3)
    assert found.method == "renyi" and "Renyi" in str(found)
    assert found.epsilon == pytest.approx(acc.epsilon(delta=1e-200, method="renyi"), rel=1e-9)


@pytest.mark.heavy
def test_the_statement_never_rounds_down() -> None:
    found = sdp.check(TWO)
    shown = float(str(found).split("together (")[1].split(",")[0])
    assert found.epsilon <= shown < found.epsilon * 1.001
    left = float(str(found).split("Remaining budget: (")[1].split(",")[0])
    assert found.left_epsilon is not None and left <= found.left_epsilon
    for word in ("kind: 5 rounds", "each user in at most 2", "2 reports of each user", "Trusted: the shuffler", "0.5"):
        assert word in str(found)


@pytest.mark.heavy
def test_progress_is_told() -> None:
    steps: list[tuple[int, int]] = []
    sdp.check(TWO, progress=lambda done, total: steps.append((done, total)))
    assert steps == [(k, 4) for k in (1, 2, 3, 4)]


# -- files -----------------------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_files_and_dictionaries_say_the_same(tmp_path: Path) -> None:
    expected = spec.parse(TWO)
    for text in (json.dumps(TWO), json.dumps(TWO, indent="\t"), yaml.safe_dump(TWO), "\ufeff" + yaml.safe_dump(TWO)):
        path = write(tmp_path, text)
        assert told(spec.parse(read_plain(path, PROGRAMME))) == told(expected)
    assert sdp.check(path) == sdp.check(str(path)) == sdp.check(TWO)


def test_numbers_are_what_they_look_like() -> None:
    text = "{a: 010, b: 1e-8, c: 1_000, d: '0.1', e: 2024-01-01, f: 1:30, g: no, h: ~, i: 0x10}"
    assert parse_yaml(text, PROGRAMME, "") == {
        **{"a": "010", "b": "1e-8", "c": "1_000", "d": "0.1", "e": "2024-01-01", "f": "1:30", "g": False},
        **{"h": None, "i": "0x10"},
    }
    assert values.exact("a", "010")[0] == 10
    for bad in ("1:30", "0x10", "", ".", "_", "e5", "1e9999", "nan", "inf", "1/0", "--1", "1 2", "٣", "9" * 60):
        with pytest.raises(sdp.ParameterError, match="a must be a number"):
            values.exact("a", bad)
    with pytest.raises(sdp.ParameterError, match="below 1e40"):
        values.exact("a", 10**5000)


MINIMAL = "version: 1\ntarget: {epsilon: 1, delta: 1e-6}\n"
BAD_FILES = {
    "binary": (b"\x00\x01\xff\xfe" * 9, "UTF-8"),
    "control characters": ("version: 1\n\x07", "YAML or JSON"),
    "empty": ("", "the programme must be a mapping"),
    "only a comment": ("# nothing\n", "the programme must be a mapping"),
    "list": ("- 1\n- 2\n", "got a list"),
    "text": ("hello", "got 'hello'"),
    "not yaml": ("version: [1\ntarget: }", "in line 2"),
    "not json": ('{"version": 1,, }', "YAML or JSON"),
    "two documents": ("version: 1\n---\nversion: 1\n", "YAML or JSON"),
    "duplicate": (MINIMAL + "version: 1\nrounds: []\n", "'version' twice"),
    "duplicate deeper": (MINIMAL + "rounds: [{mechanism: a, mechanism: b}]\n", "'mechanism' twice"),
    "duplicate json": ('{"version": 1, "version": 2}', "'version' twice"),
    "python tag": ("!!python/object/apply:os.system [echo]\n", "tags"),
    "python value": ("version: !!python/name:os.system\n", "tags"),
    "own tag": ("version: !secret 1\n", "'!secret' in line 1"),
    "binary tag": ("version: !!binary aGk=\n", "tags"),
    "alias": ("a: &x [1]\nb: *x\n", "aliases"),
    "alias of a word": ("a: &x hello\nb: *x\n", "aliases"),
    "endless": ("&x [*x]\n", "aliases"),
    "bomb": (
        "a: &a [x,x]\n" + "".join(f"b{i}: &b{i} [*{'a' if not i else f'b{i - 1}'}, 1]\n" for i in range(60)),
        "ali",
    ),
    "merge key": (MINIMAL + "<<: {name: x}\nrounds: []\n", "'<<'"),
    "complex key": ("? [1, 2]\n: 3\n", "keys of a programme must be words"),
    "deep": ("[" * 50_000, "levels deep, got more"),
    "deep json": ('{"a":' * 50_000, "levels deep, got more"),
    "large": ("#" * (PROGRAMME.most_bytes + 1), "at most 1,048,576 bytes"),
    "unquoted spec": (MINIMAL + "rounds: [{mechanism: grr:eps0=2,d=64, users: 10}]\n", "in quotes"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files(name: str, tmp_path: Path) -> None:
    text, expected = BAD_FILES[name]
    assert expected in said(write(tmp_path, text))


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    assert "a folder with programme.lock.json, got" in said(tmp_path)
    assert "No such file" in said(tmp_path / "none.yaml")
    assert "readable file" in said("a\0b")
    for bad in (None, 7, "", [1], b""):
        said(bad)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no version": (with_(ONE, version=...), "version must be 1, got nothing"),
    "new version": (with_(ONE, version=2), "version must be 1, got 2"),
    "true version": (with_(ONE, version=True), "version must be 1, got True"),
    "unknown key": (with_(ONE, budget=1), "unknown key in the programme 'budget'"),
    "misspelled key": (
        with_(TWO, rounds__1__particpation_limit=2),
        "key in rounds[1] 'particpation_limit'; did you mean",
    ),
    "number as key": ({**ONE, 7: 1}, "key in the programme must be a name, got 7"),  # type: ignore[dict-item]
    "no target": (with_(ONE, target=...), "target must be a mapping"),
    "no epsilon": (with_(ONE, target__epsilon=...), "target.epsilon must be a number"),
    "epsilon 0": (with_(ONE, target__epsilon=0), "target: epsilon must lie in (0, inf), got 0.0"),
    "epsilon below 0": (with_(ONE, target__epsilon="-1"), "target: epsilon must lie in"),
    "epsilon nan": (with_(ONE, target__epsilon=math.nan), "target.epsilon must be a number"),
    "epsilon inf": (with_(ONE, target__epsilon=math.inf), "target.epsilon must be a number"),
    "epsilon too large": (with_(ONE, target__epsilon="1e999"), "target.epsilon must be below 1e308"),
    "epsilon too small": (with_(ONE, target__epsilon="1e-999"), "target: epsilon must lie in (0, inf), got 0.0"),
    "delta 0": (with_(ONE, target__delta=0), "target: delta must lie in (0, 1), got 0.0"),
    "delta 1": (with_(ONE, target__delta="1"), "target: delta must lie in (0, 1)"),
    "delta true": (with_(ONE, target__delta=True), "target.delta must be a number"),
    "no rounds": (with_(ONE, rounds=...), "rounds must be a list of 1 to 1000 entries, got nothing"),
    "empty rounds": (with_(ONE, rounds=[]), "got 0"),
    "rounds no list": (with_(ONE, rounds={"a": 1}), "got a mapping"),
    "too many rounds": (with_(ONE, rounds=[{}] * 1001), "got 1001"),
    "round no mapping": (with_(ONE, rounds=["grr"]), "rounds[0] must be a mapping"),
    "population no mapping": (with_(ONE, population=[1]), "population must be a mapping"),
    "population nothing": (with_(ONE, population=None), "population must be a mapping"),
    "no mechanism": (with_(ONE, rounds__0__mechanism=...), "rounds[0].mechanism must be a spec"),
    "mechanism number": (with_(ONE, rounds__0__mechanism=3), "rounds[0].mechanism must be a spec"),
    "unknown mechanism": (with_(ONE, rounds__0__mechanism="grrr:1,2"), "rounds[0].mechanism: unknown mechanism 'grrr'"),
    "bad parameter": (with_(TWO, rounds__1__mechanism="general:eps0=-1"), "rounds[1].mechanism: eps0 must lie"),
    "no users": (with_(ONE, population={}), "rounds[0].users must be given"),
    "users 0": (with_(ONE, population__users=0), "population.users must be a whole number of users"),
    "users half": (with_(ONE, population__users=10.5), "population.users must be a whole number"),
    "users words": (with_(ONE, rounds__0__users="many"), "rounds[0].users must be a number"),
    "users list": (with_(ONE, rounds__0__users=[1]), "rounds[0].users must be a number"),
    "users true": (with_(ONE, rounds__0__users=True), "rounds[0].users must be a number"),
    "count 0": (with_(ONE, rounds__0__count=0), "rounds[0]: count must lie in"),
    "count half": (with_(ONE, rounds__0__count="2.5"), "rounds[0].count must be a whole number"),
    "count nothing": (with_(ONE, rounds__0__count=None), "rounds[0]: count must be a number"),
    "limit 0": (with_(ONE, rounds__0__participation_limit=0), "rounds[0]: participation_limit must lie in"),
    "reports 0": (with_(ONE, rounds__0__reports_per_user=0), "rounds[0]: reports_per_user must lie in"),
    "all drop out": (
        with_(ONE, population__dropouts=10_000),
        "rounds[0]: dropouts + colluding must leave at least one",
    ),
    "dropouts below 0": (with_(ONE, population__dropouts=-1), "population.dropouts must be a number of users >= 0"),
    "dropouts one point": (with_(ONE, population__dropouts=1.0), "population.dropouts must be a whole number"),
    "dropouts 2.5": (with_(ONE, rounds__0__dropouts="2.5"), "rounds[0].dropouts must be a whole number"),
    "two rules": (
        with_(ONE, minimum_batch=5, population__dropouts=1),
        "population must have dropouts or minimum_batch",
    ),
    "two rules in a round": (
        with_(ONE, rounds__0__minimum_batch=5, rounds__0__dropouts=1),
        "rounds[0] must have dropouts or minimum_batch",
    ),
    "large batch": (with_(ONE, minimum_batch=20_000), "minimum_batch must not exceed the number of users"),
    "memoized": (with_(ONE, rounds__0__memoized=True), "rounds[0].memoized must be false, got True"),
    "unknown bound": (with_(ONE, rounds__0__bound="blankt"), "rounds[0]: unknown bound 'blankt'"),
    "lower bound": (
        with_(ONE, rounds__0__bound="variation-ratio-lower"),
        "rounds[0]: bound must be a proved upper bound",
    ),
    "unproved bound": (with_(ONE, rounds__0__bound="analytic-published"), "rounds[0]: "),
    "bound number": (with_(ONE, rounds__0__bound=3), "rounds[0]: bound must be a name"),
    "bound that does not apply": (
        with_(ONE, rounds=[{"mechanism": "general:eps0=1", "bound": "blanket"}]),
        "rounds[0]: bound 'blanket'",
    ),
    "name of two lines": (with_(ONE, name="a\nb"), "name must be one line"),
    "name number": (with_(ONE, rounds__0__name=3), "rounds[0].name must be one line"),
    "long name": (with_(ONE, rounds__0__name="x" * 201), "rounds[0].name must be one line"),
    "neighbors that differ": (
        with_(ONE, rounds=[*ONE["rounds"], {"mechanism": "metric-general:1,5"}]),
        "rounds[1]: mechanism must have neighbors 'replace-one'",
    ),
    "missing matrix": (with_(ONE, rounds__0__mechanism="finite:/no/such.csv"), "rounds[0].mechanism: "),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_programmes_name_the_place(name: str) -> None:
    data, expected = BAD[name]
    assert expected in said(data)


# -- the schema ------------------------------------------------------------------------------------------------


def test_the_schema_knows_the_same_keys() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    properties = SCHEMA["properties"]
    assert set(properties) == spec.KEYS
    assert set(properties["population"]["properties"]) == spec.CROWD
    assert set(properties["target"]["properties"]) == spec.TARGET
    assert set(SCHEMA["$defs"]["round"]["properties"]) == spec.ROUND
    assert properties["rounds"]["maxItems"] == spec.MOST_ENTRIES


@pytest.mark.parametrize("data", [ONE, TWO, with_(ONE, minimum_batch="5_000", rounds__0__memoized=False)])
def test_the_schema_takes_what_the_checker_takes(data: dict[str, Any]) -> None:
    assert valid(data) and sdp.check(data)


#: What only the checker can see: names, ranges that depend on other keys, and numbers inside texts.
BEYOND = """new version|unknown mechanism|bad parameter|no users|users 0|all drop out|dropouts one point|dropouts 2.5
two rules|two rules in a round|large batch|unknown bound|lower bound|unproved bound|bound that does not apply
name of two lines|neighbors that differ|missing matrix|epsilon nan|epsilon inf|epsilon too large|epsilon too small
epsilon below 0|delta 1|count half|number as key""".replace("\n", "|").split("|")


@pytest.mark.parametrize("name", [name for name in BAD if name not in BEYOND])
def test_the_schema_refuses_what_has_a_wrong_shape(name: str) -> None:
    assert not valid(BAD[name][0])


@pytest.mark.parametrize("text", ["1_000_000", "0.05", ".5", "5.", "1e-8", "1E+3", "1/3", "-2", "010"])
def test_the_schema_reads_the_same_numbers(text: str) -> None:
    values.exact("a", text)
    assert valid(with_(ONE, target__epsilon=text))


@pytest.mark.parametrize("text", ["0.01/n", " 1e-2 / n", ".5/n", "1_0/n"])
def test_the_schema_takes_a_rule_for_delta_alone(text: str) -> None:
    assert valid(with_(ONE, target__delta=text)) and sdp.check(with_(ONE, target__delta=text))
    assert not valid(with_(ONE, target__epsilon=text))
    with pytest.raises(sdp.ParameterError, match=r"^target\.epsilon must be a number"):
        sdp.check(with_(ONE, target__epsilon=text))


@pytest.mark.parametrize("text", ["0.01/m", "x/n", "-1/n", "/n", "1/n/n"])
def test_the_schema_refuses_other_rules(text: str) -> None:
    said(with_(ONE, target__delta=text))
    assert not valid(with_(ONE, target__delta=text))


@pytest.mark.parametrize("text", ["", "x", "1:30", "0x10", "1e9999", "1/", ".", "e5", "nan", "1 2"])
def test_the_schema_refuses_the_same_texts(text: str) -> None:
    with pytest.raises(sdp.ParameterError):
        values.exact("a", text)
    assert not valid(with_(ONE, target__epsilon=text))


def example(name: str = "telemetry") -> str:
    """A file that docs/programmes.md shows."""
    return DOCS.read_text(encoding="utf-8").split(f"```yaml\n# {name}.yaml\n")[1].split("```")[0]


@pytest.mark.heavy
def test_the_documented_file_is_valid_and_within_its_budget(tmp_path: Path) -> None:
    text = example()
    assert valid(yaml.safe_load(text))
    found = sdp.check(write(tmp_path, text))
    assert found.within
    shown = DOCS.read_text(encoding="utf-8").split("```text\n")[1].split("```")[0]
    assert shown.strip() == str(found).strip(), str(found)


@pytest.mark.slow
def test_the_documented_calibration_is_what_is_printed(tmp_path: Path) -> None:
    assert valid(yaml.load(example("quarter"), Loader=yaml.BaseLoader))
    found = sdp.calibrate_programme(write(tmp_path, example("quarter")))
    shown = DOCS.read_text(encoding="utf-8").split("```text\n")[2].split("```")[0]
    assert shown.strip() == str(found).strip(), str(found)


def test_the_documented_dates(tmp_path: Path) -> None:
    dated = example("dated")
    assert valid(yaml.load(dated, Loader=yaml.BaseLoader))
    assert [p.counts for p in spec.draft(read_plain(write(tmp_path, dated), PROGRAMME)).periods] == [(13, 3)]


def test_the_documentation_names_every_key() -> None:
    rows = [
        line for line in DOCS.read_text(encoding="utf-8").splitlines() if line.startswith("| `") and "`shuf" not in line
    ]
    listed = {line.split("`")[1] for line in rows}
    places = {f"target.{k}" for k in spec.TARGET} | {f"population.{k}" for k in spec.CROWD}
    assert listed == (spec.KEYS - {"target", "population", "rounds"}) | places | {f"rounds[].{k}" for k in spec.ROUND}


CLIENT = "import random\ndef encode(x):\n    return x if random.random() < 0.8 else 1 - x\n"


@pytest.mark.slow
def test_the_documented_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("telemetry", "quarter"):
        (tmp_path / f"{name}.yaml").write_text(example(name))
    (tmp_path / "telemetry_client.py").write_text(CLIENT)
    lines = [line[2:] for line in DOCS.read_text(encoding="utf-8").splitlines() if line.startswith("$ shuffledp ")]
    assert len(lines) == 12
    for line in lines:
        result = CliRunner().invoke(main, shlex.split(line)[1:])
        assert result.exit_code == 0, (line, result.output)
    rounds = [(entry.n, entry.cost) for entry in sdp.Accountant.load("ledger.json").entries]
    assert rounds == [(949_900, 30), (189_900, 2)]
