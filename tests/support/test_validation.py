"""One sentence for every bad parameter: which, what was expected, what was given, what to do."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shuffledp
from shuffledp._support import validation as check
from shuffledp.errors import (
    BoundNotApplicableError,
    CertificationError,
    ParameterError,
    ShuffleDPError,
    VerificationError,
)


@pytest.mark.parametrize("value", [1, 1.5, np.float32(2), np.int8(3), Fraction(1, 3), math.inf, -math.inf])
def test_real_numbers(value: float) -> None:
    assert check.real("x", value) == float(value)


@pytest.mark.parametrize(
    "value", [True, np.bool_(True), "1", None, 1j, math.nan, [1], np.array([1.0]), 10**400], ids=lambda v: repr(v)[:12]
)
def test_not_real(value: object) -> None:
    with pytest.raises(ParameterError, match=r"^x must be .*got .*\.$"):
        check.real("x", value)


def outcome(parse: Callable[..., Any], value: object) -> tuple[Any, str | None]:
    """What a parser makes of a value, or what it says of it."""
    try:
        return parse(value), None
    except ParameterError as error:
        return None, str(error)


@pytest.mark.slow
@given(st.one_of(st.integers(), st.floats(), st.text(), st.booleans(), st.none(), st.complex_numbers()))
def test_any_object_is_a_number_of_users_or_refused(value: object) -> None:
    n, said = outcome(check.users, value)
    if said is None:
        assert type(n) is int and 1 <= n <= 10**15 and n == value
    else:
        assert said.startswith("n must ")


@pytest.mark.slow
@given(st.text(max_size=12))
def test_any_text_is_a_number_or_refused(text: str) -> None:
    for parse in (check.parse_users, lambda written: check.parse_number("x", written)):
        _, said = outcome(parse, text)
        assert said is None or said.endswith(".")


@pytest.mark.parametrize(
    ("text", "n"), [("1e6", 10**6), ("1_000_000", 10**6), (" 7 ", 7), ("1e15", 10**15), ("999999999999999", 10**15 - 1)]
)
def test_users_as_text(text: str, n: int) -> None:
    assert check.parse_users(text) == n


@pytest.mark.parametrize(
    "text",
    ["", "1,000", "ten", "1e16", "0", "-5", "1.5", "nan", "inf", "1e400", "9" * 5000, "0x10"],
    ids=lambda t: t[:12],
)
def test_bad_users_as_text(text: str) -> None:
    with pytest.raises(ParameterError, match=r"^n must .*\.$") as caught:
        check.parse_users(text)
    assert len(str(caught.value)) < 300


def test_ranges_name_their_ends() -> None:
    assert check.in_range("x", 1, low=1, high=2) == 1.0
    for value, options in ((1, {"low_open": True}), (2, {"high_open": True}), (0.5, {}), (2.5, {})):
        with pytest.raises(ParameterError, match=r"^x must lie in [\[(]1, 2[\])], got"):
            check.in_range("x", value, low=1, high=2, **options)


def test_names() -> None:
    assert check.one_of("color", "red", ["red", "green"]) == "red"
    with pytest.raises(ParameterError, match="unknown color 'gren'; did you mean 'green'"):
        check.one_of("color", "gren", ["red", "green"])
    with pytest.raises(ParameterError, match=r"choose one of green, red\."):
        check.one_of("color", "zzzz", ["red", "green"])


def test_delta_and_tol() -> None:
    assert check.probability_delta(5e-324) == 5e-324
    assert check.tolerance(1e-7) == 1e-7
    with pytest.raises(ParameterError, match=r"^delta must lie in \(0, 1\)"):
        check.probability_delta(1)
    with pytest.raises(ParameterError, match=r"^tol must lie in"):
        check.tolerance(1e-8)


def test_one_family_of_errors() -> None:
    codes = {ParameterError: 2, BoundNotApplicableError: 2, CertificationError: 3, VerificationError: 3}
    for kind, code in codes.items():
        assert issubclass(kind, ShuffleDPError) and kind.exit_code == code
    assert issubclass(ParameterError, ValueError) and issubclass(CertificationError, RuntimeError)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("2M", 2_000_000),
        ("2 million", 2_000_000),
        ("2.5m", 2_500_000),
        ("40k", 40_000),
        ("1 Billion", 10**9),
        ("1e6", 10**6),
    ],
)
def test_users_in_words(text: str, number: int) -> None:
    assert check.users(text) == check.parse_users(text) == number


@pytest.mark.parametrize("text", ["2X", "M", "0.0000001M", "2 million users", "2MM", "-2M", "2,5M", "1e10M", "\u0662M"])
def test_other_words_are_no_users(text: str) -> None:
    with pytest.raises(ParameterError, match=r"^n must be .*\.$"):
        check.users(text)


@pytest.mark.parametrize(("value", "share"), [("60%", 0.6), ("0.6", 0.6), (0.6, 0.6), (" 5 % ", 0.05)])
def test_shares(value: object, share: float) -> None:
    assert check.share("level", value) == share


@pytest.mark.parametrize("value", [60, "60", 100, 1.5])
def test_a_bare_number_of_percent_is_not_guessed(value: object) -> None:
    with pytest.raises(ParameterError, match=r'write "[0-9.]+%" or [0-9.]+ for'):
        check.share("level", value)


def test_a_number_of_percent_that_is_no_answer_either_is_not_proposed() -> None:
    with pytest.raises(ParameterError, match=r"^confidence must be a share in \[0\.5, 1\), got 1\.5; choose one\.$"):
        check.share("confidence", 1.5, low=0.5, low_open=False)


def test_more_than_all_percent_is_not_taken_for_a_number_of_percent() -> None:
    with pytest.raises(ParameterError, match=r"got '150%'; choose one\.$"):
        check.share("level", "150%")


def sentences(path: Path) -> list[str]:
    """What the refusals of a module say, with the names of what they show in braces."""

    def text(node: ast.AST) -> str:
        if isinstance(node, ast.JoinedStr):
            return "".join(map(text, node.values))
        return str(node.value) if isinstance(node, ast.Constant) else "{}"

    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "ParameterError" and node.args:
            said = node.args[0]
            found += map(text, [said.body, said.orelse] if isinstance(said, ast.IfExp) else [said])
    return found


def test_every_refusal_says_what_to_do() -> None:
    said = [sentence for path in Path(shuffledp.__file__).parent.rglob("*.py") for sentence in sentences(path)]
    silent = [text for text in said if " got " in text and re.search(r" got [^;?]*\.$", text)]
    assert len(said) > 500 and not silent, silent
