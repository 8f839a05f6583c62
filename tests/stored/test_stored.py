"""Every stored question is asked again: no sound answer has become looser, and no two contradict each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stored.asking import ask
from stored.judging import Number, contradictions, moved
from stored.make import numbers, stored
from stored.questions import all_questions

#: id -> why this answer may be looser than the stored one.
LOOSER: dict[str, str] = json.loads(Path(__file__).with_name("looser.json").read_text())
ENTRIES = stored()
#: Questions whose answers hold lower and upper bounds of one eps.
BRACKETS = ("amplify", "certify", "compare", "Accountant.guarantee")
#: A bound or a proof that was not to be had may be given later; what is no question stays refused.
MAY_BE_ANSWERED = ("BoundNotApplicableError", "CertificationError")


def cases() -> list[Any]:
    """In the quick run two of the questions of one kind about one mechanism and bound: the first and the last."""
    kinds: dict[tuple[str, ...], list[str]] = {}
    for name, entry in ENTRIES.items():
        if not entry.get("slow"):
            asked = entry["asked"]
            about = str(asked.get("mechanism") or asked.get("rounds") or name).partition(":")[0]
            kinds.setdefault((asked["ask"], about, str(asked.get("bound"))), []).append(name)
    quick = {names[at] for names in kinds.values() for at in (0, -1)}
    return [pytest.param(e, id=name, marks=[] if name in quick else [pytest.mark.slow]) for name, e in ENTRIES.items()]


@pytest.mark.slow_cases(
    "Accountant.delta rounds=[{mechanism=grr*bound=variation-ratio}] epsilon=0.5",
    "Accountant.guarantee rounds=[{mechanism=gene*",
    "amplify planar-laplace:d01=1,dmax=5 n=1000*",
    "calibrate cheu-zhilyaev:d=16,messages=1 *",
    "calibrate privset:d=64,s=3 n*",
    "calibrate privunit:dim=2*",
    "shuffledp certify grr:ep*",
    "users_needed randomized-*",
)
@pytest.mark.parametrize("entry", cases())
def test_no_answer_became_looser(entry: dict[str, Any]) -> None:
    before, now = numbers(entry["answer"]), ask(entry["asked"])
    if "raises" in before and before["raises"].value in MAY_BE_ANSWERED and "raises" not in now:
        before = {}
    missing = before.keys() - now.keys()
    worse = [f"{key} {why}" for key, old in before.items() if key in now for why in moved(old, now[key])]
    if entry["id"] not in LOOSER:
        assert not missing, f"no longer answered: {sorted(missing)}; now {now}"
        assert not worse, "; ".join(worse)
    if entry["asked"]["ask"] in BRACKETS:
        assert contradictions(before, now) == []


def test_the_file_holds_the_answers_to_all_questions() -> None:
    asked = all_questions()
    assert len(asked) >= 600
    assert {name: e["asked"] for name, e in ENTRIES.items()} == asked, "run python -m stored.make"


def test_only_stored_answers_are_excused_and_each_for_a_reason() -> None:
    assert LOOSER.keys() <= ENTRIES.keys()
    assert all(isinstance(why, str) and len(why) > 10 for why in LOOSER.values())


@pytest.mark.parametrize(
    ("side", "old", "new", "good"),
    [
        ("upper", 1.0, 1.0 + 5e-7, True),
        ("upper", 1.0, 1.0 + 2e-6, False),
        ("upper", 1.0, 0.5, True),
        ("upper", 1.0, float("inf"), False),
        ("upper", "inf", 3.0, True),
        ("upper", "inf", float("inf"), True),
        ("upper", 1.0, float("nan"), False),
        ("lower", 1.0, 1.0 - 2e-6, False),
        ("lower", 1.0, 2.0, True),
        ("exact", 1.0, 1.0 - 2e-6, False),
        ("exact", [1.0, 0.0], [1.0, 1e-3], False),
        ("is", "ParameterError", "ImpossibleError", False),
    ],
)
def test_a_looser_answer_is_noticed(side: str, old: Any, new: Any, good: bool) -> None:
    assert (moved(Number(side, old), Number(side, new)) == []) == good


def test_room_is_given_where_it_is_stated() -> None:
    old = Number("exact", [0.5, 0.25], 0.0, [0.1, 0.01])
    assert moved(old, Number("exact", [0.45, 0.255])) == []
    assert len(moved(old, Number("exact", [0.45, 0.3]))) == 1


def test_a_lower_bound_above_an_upper_one_is_noticed() -> None:
    old, new = {"lower": Number("lower", 0.5)}, {"epsilon": Number("upper", 0.4), "other": Number("exact", 0.1)}
    assert contradictions(old, new) == ["lower >= 0.5 contradicts epsilon <= 0.4"]
    assert contradictions({"lower": Number("lower", 0.3)}, new) == []
