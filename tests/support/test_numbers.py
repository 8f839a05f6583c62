"""Printed numbers: rounded to the private side, in every command, by less than one unit of the last figure."""

from __future__ import annotations

import dataclasses
import decimal
import json
import math
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shuffledp as sdp
from reference.commands import run
from reference.repetition import examples
from shuffledp._support.numbers import exact, round_down, round_up

finite = st.floats(allow_nan=False, allow_infinity=False)
figures = st.integers(min_value=1, max_value=17)


def unit(text: str, digits: int) -> Decimal:
    """One unit of the last of ``digits`` figures."""
    value = Decimal(text)
    return Decimal(1).scaleb(value.adjusted() - digits + 1) if value else Decimal(0)


@pytest.mark.heavy
@examples(1000)
@given(finite, figures)
def test_floats_go_to_the_named_side(x: float, digits: int) -> None:
    up, down = round_up(x, digits), round_down(x, digits)
    assert float(down) <= x <= float(up)
    assert Decimal(down) <= Decimal(repr(x)) <= Decimal(up)
    with decimal.localcontext(prec=400):
        assert Decimal(up) - Decimal(down) <= max(unit(up, digits), unit(down, digits))
    for text in (up, down):
        mantissa = text.partition("e")[0].lstrip("-").replace(".", "").strip("0")
        assert len(mantissa) <= digits
        assert "." not in text or not text.partition("e")[0].endswith(("0", "."))


@pytest.mark.heavy
@examples(300)
@given(st.fractions(min_value=-(10**6), max_value=10**6, max_denominator=10**9), figures)
def test_fractions_go_to_the_named_side(x: Fraction, digits: int) -> None:
    up, down = round_up(x, digits), round_down(x, digits)
    shortest = Fraction(repr(float(x))) if Fraction(float(x)) == x else x  # a double stands for its shortest decimal
    assert Fraction(down) <= shortest <= Fraction(up)
    with decimal.localcontext(prec=400):
        assert Decimal(up) - Decimal(down) <= max(unit(up, digits), unit(down, digits))


@pytest.mark.parametrize("text", ["1e-08", "0.05", "1", "0.1", "1e-300", "5e-324", "100", "2.5e+20", "0", "12345"])
def test_what_was_typed_is_what_is_shown(text: str) -> None:
    for x in (float(text), Fraction(float(text))):
        assert round_up(x) == round_down(x) == text


@pytest.mark.parametrize("digits", [5, 6, 9])
def test_the_notation_is_that_of_format(digits: int) -> None:
    for x in (1.5, 123456789.0, 0.0001, 0.00001, 99999.0, 1e5, 1e6, 1e16, 3e-11, 0.25, -0.5):
        if float(f"{x:.{digits}g}") == x:
            assert round_up(x, digits) == round_down(x, digits) == f"{x:.{digits}g}"


def test_edges() -> None:
    assert round_up(math.inf) == round_down(math.inf) == "inf" and round_down(-math.inf) == "-inf"
    assert round_up(0.999999) == "1" and round_down(99999.9) == "99999" and round_up(99999.9) == "1e+05"
    assert round_up(5e-324, 1) == "5e-324" and round_down(1.7976931348623157e308, 3) == "1.79e+308"
    assert (
        round_up(Fraction(10) ** 400, 3) == "1e+400"
        and round_down(Fraction(1, 3) * Fraction(10) ** 400, 2) == "3.3e+399"
    )
    assert round_up(10**400) == "1e+400" and int(round_up(2**53 + 1, 17)) > 2**53  # which is not a double
    assert round_up(-1.23456789, 3) == "-1.23" and round_down(-1.23456789, 3) == "-1.24"


def test_the_decimal_context_of_the_caller_does_not_matter() -> None:
    with decimal.localcontext(prec=2, rounding=decimal.ROUND_UP):
        assert round_down(0.123456) == "0.12345" and round_up(Fraction(1, 3)) == "0.33334"


@examples(200)
@given(finite)
def test_exact_decimals_are_exact(x: float) -> None:
    assert Fraction(exact(Fraction(x))) == Fraction(x)


# -- what the library says ------------------------------------------------------------------------------------------

DELTA = 1.23456789e-7
PAIR = re.compile(r"\(([^,()\s]+), ([^,()\s]+)\)-DP")
LOWER = re.compile(r"can claim less than (?:eps = )?([\d.e+-]*\d)(?: at delta = ([\d.e+-]*\d))?")


def both(*args: str, codes: tuple[int, ...] = (0,)) -> tuple[str, Any]:
    """The text and the JSON object of one command."""
    text, data = run(*args), run(*args, "--json")
    assert text.exit_code in codes and data.exit_code in codes, (text.output, data.output)
    return text.stdout, json.loads(data.stdout)


def holds(text: str, found: dict[str, Any]) -> None:
    """The pair of the sentence is implied by the one that was proved, and the lower bound holds where it is stated."""
    pair = PAIR.search(text)
    assert pair is not None, text
    assert float(pair[1]) >= found["epsilon"] and float(pair[2]) >= found["delta"], (text, found)
    assert float(pair[1]) <= found["epsilon"] * 1.0002
    lower = LOWER.search(text)
    assert (lower is None) == (found["lower"] is None)
    if lower is not None:
        assert float(lower[1]) <= found["lower"]
        assert float(lower[2] or pair[2]) <= found["delta"], "a lower bound need not hold at a larger delta"


@pytest.mark.parametrize("delta", ["1e-7", "1.23456789e-7", "3.3333333333333334e-09"])
@pytest.mark.parametrize("spec", ["general:eps0=1", "grr:eps0=1.2345678,d=7", "metric-laplace:d01=0.7654321,dmax=3"])
def test_amplify(spec: str, delta: str) -> None:
    text, found = both("amplify", spec, "--n", "12345", "--delta", delta)
    holds(text, found)
    local = re.search(r"local guarantee eps0 = (\S+) remains", text)
    assert local is not None and float(local[1]) >= found["local_epsilon"]
    setting = re.search(r"options with eps0 = ([\d.]+),", text)
    if setting is not None:  # a guarantee is no guarantee for a larger local budget
        assert 1.23456 <= float(setting[1]) <= 1.2345678


def test_lower_bounds_and_missing_guarantees_are_not_stated_at_a_larger_delta() -> None:
    text, found = both(
        "amplify", "grr:eps0=1,d=4", "--n", "999", "--delta", repr(DELTA), "--bound", "constant-dataset-lower"
    )
    said = re.search(r"less than eps = (\S+) at delta = (\S+),", text)
    assert said is not None and float(said[1]) <= found["epsilon"] and float(said[2]) <= DELTA
    text, _ = both("amplify", "variation-ratio:inf,1,2", "--n", "2", "--delta", repr(DELTA))
    said = re.search(r"no finite eps reaches delta = (\S+),", text)
    assert said is not None and float(said[1]) <= DELTA


def test_the_table_of_a_lower_bound_does_not_call_it_upper() -> None:
    lower = sdp.amplify("grr:eps0=1,d=4", n=999, delta=DELTA, bound="constant-dataset-lower")
    page = lower._repr_html_()
    assert "eps (upper)" not in page and re.search(rf">eps \(lower\)</td><td[^>]*>{round_down(lower.epsilon)}", page)
    wrong = sdp.amplify("grr:eps0=1,d=4", n=999, delta=DELTA, bound="variation-ratio-published")._repr_html_()
    assert "eps (upper)" not in wrong and "not a bound" in wrong


@pytest.mark.parametrize("side", ["upper", "lower"])
def test_profile(side: str) -> None:
    """delta at most d at eps: true at a larger eps and a larger d only; at least: the other way round."""
    values = "0.01234567,0.0333333333333,0.05,0.0876543219"
    text, found = both("profile", "general:eps0=1", "--n", "1e3", "--epsilon", values, "--side", side)
    rows = re.findall(r"^ *([\d.e-]+) +([\d.e-]+) *$", text, re.MULTILINE)
    assert len(rows) == 4
    sign = 1 if side == "upper" else -1
    for (eps, delta), e, d in zip(rows, found["epsilon"], found["delta"], strict=True):
        assert sign * float(eps) >= sign * e and sign * float(delta) >= sign * d
        assert float(eps) == pytest.approx(e, rel=2e-5) and float(delta) == pytest.approx(d, rel=2e-5)


def test_compare() -> None:
    text, found = both("compare", "grr:eps0=1.7,d=5", "--n", "1234", "--delta", repr(DELTA))
    rows = {row["bound"]: row for row in found["rows"]}
    seen = {
        m[1]: float(m[2]) for m in re.finditer(r"^\s*(\S+)\s+([\d.e+-]+)\s+(?:upper|lower|not a bound)\b", text, re.M)
    }
    assert len(seen) > 10
    for name, shown in seen.items():
        sign = -1 if rows[name]["side"] == "lower" else 1
        assert sign * shown >= sign * rows[name]["epsilon"], name
    lower = LOWER.search(" ".join(text.split()))
    best = max(row["epsilon"] for row in found["rows"] if row["side"] == "lower")
    assert lower is not None and float(lower[1]) <= best and float(lower[2]) <= DELTA


@pytest.mark.parametrize("grid", ["delta=1.2345678e-9,3.3333333e-7", "n=1000,12345"])
def test_sweeps(grid: str) -> None:
    terms = ["--n", "1000"] if grid.startswith("delta") else ["--delta", repr(DELTA)]
    args = ["compare", "grr:eps0=1.1,d=5", *terms, "--sweep", grid, "--bound", "blanket", "--bound", "general"]
    text, found = both(*args)
    rows = re.findall(r"^\s*([\d.,e-]+)\s+([\d.e-]+)\s+([\d.e-]+)\s*$", text, re.M)
    assert len(rows) == 2
    for i, (value, *shown) in enumerate(rows):
        assert float(value.replace(",", "")) >= found["values"][i]
        for eps, curve in zip(shown, found["bounds"].values(), strict=True):
            assert curve["epsilon"][i] <= float(eps) <= curve["epsilon"][i] * 1.0002


def test_a_sweep_over_eps0_shows_no_larger_budget() -> None:
    s = sdp.sweep("grr:d=4", eps0=[1.23456789, 2.3456789], n=1000, delta=DELTA, bounds=["blanket"])
    for line, value in zip(s.table().texts, s.values, strict=True):
        assert float(line[0]) <= value


@pytest.mark.heavy
def test_calibrate_and_users() -> None:
    text, found = both("calibrate", "grr:d=64", "--n", "1e5", "--epsilon", "0.0123456789", "--delta", repr(DELTA))
    spec, sentence = text.splitlines()
    holds(sentence, found["guarantee"])
    budget = sdp.mechanism(found["mechanism"]).local_epsilon
    shown = re.search(r"eps0 = ([\d.]+), a shuffled", sentence)
    assert spec == found["mechanism"] and shown is not None and float(shown[1]) <= budget
    text, found = both("users", "grr:eps0=2,d=64", "--epsilon", "0.0987654321", "--delta", "0.01/n")
    users, sentence = text.splitlines()
    assert int(users.removesuffix(" users").replace(",", "")) == found["n"]
    holds(sentence, found["guarantee"])


def test_an_impossible_target_is_not_shown_larger_than_it_is() -> None:
    with pytest.raises(sdp.ImpossibleError) as error:
        sdp.calibrate("pure-dump:d=4", n=1000, epsilon=1.23456789e-9, delta=1.23456789e-9)
    said = re.search(r"epsilon = (\S+) at delta = (\S+) cannot .* eps = (\S+);", str(error.value))
    assert said is not None
    assert float(said[1]) <= 1.23456789e-9 < float(said[3]) and float(said[2]) <= 1.23456789e-9


@pytest.mark.heavy
def test_compose() -> None:
    text, found = both(
        *("compose", "--round", "grr:eps0=1,d=5,n=12345,count=3", "--delta", repr(DELTA), "--epsilon", "0.123456789"),
        *("--target", "0.33333333333333"),
    )
    holds(text, found["guarantee"])
    at = re.search(r"At eps = (\S+) delta is at most (\S+)\.", text)
    assert at is not None and float(at[1]) >= found["epsilon"] and float(at[2]) >= found["delta_at_epsilon"]
    budget = re.search(r"budget eps = (\S+)\.", text)
    assert budget is not None and float(budget[1]) <= found["target_epsilon"]


@pytest.mark.heavy
@pytest.mark.slow_cases("0.0123456789")
@pytest.mark.parametrize("target", ["0.5", "0.0123456789"])
def test_check(target: str, tmp_path: Path) -> None:
    plan = {
        "version": 1,
        "target": {"epsilon": target, "delta": "1.2345678901234567e-7"},
        "rounds": [{"name": "a", "mechanism": "grr:eps0=1.3,d=5", "users": 12345, "count": 2}],
    }
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan))
    text, found = both("check", str(path), codes=(0, 1))
    pair, budget = PAIR.search(text), re.search(r"the budget is \(([^,]+), ([^)]+)\)", text)
    assert pair is not None and budget is not None
    assert float(pair[1]) >= found["epsilon"] and float(pair[2]) >= found["delta"]
    assert float(budget[1]) <= found["target_epsilon"] and float(budget[2]) <= found["delta"]
    for shown, row in zip(re.findall(r"one round has eps = (\S+) ", text), found["rounds"], strict=True):
        assert float(shown) >= row["epsilon"]
    left = re.search(r"^Remaining budget: \(([^,]+), ([^)]+)\)-DP", text, re.M)
    if left is not None:
        assert float(left[1]) <= found["left_epsilon"] and float(left[2]) <= found["left_delta"]
    lower = LOWER.search(text)
    if lower is not None:
        assert float(lower[1]) <= found["lower"]
    assert (left is not None) == found["within"] and (lower is not None or found["within"])


def test_batches_and_mixtures() -> None:
    table = sdp.batch_table("grr:eps0=1.1,d=6", delta=DELTA, n=[123, 4567, 89012])
    head, _, _, *rows = str(table).splitlines()
    shown = re.search(r"delta = (\S+),", head)
    assert shown is not None and float(shown[1]) >= DELTA
    for line, eps in zip(rows, table.epsilons, strict=True):
        assert float(line.split()[1]) >= eps
    mixed = sdp.amplify_mixed([("grr:eps0=1,d=8", 500), ("grr:eps0=3,d=8", 700)], delta=DELTA)
    pair = PAIR.search(str(mixed))
    assert pair is not None and float(pair[1]) >= mixed.epsilon and float(pair[2]) >= DELTA
    for eps, one in zip(re.findall(r": eps = ([\d.e-]*\d)", str(mixed)), mixed.classes, strict=True):
        assert float(eps) >= one.epsilon


@pytest.mark.heavy
def test_certificates(tmp_path: Path) -> None:
    out = str(tmp_path / "proof.json")
    assert run("certify", "general:eps0=1.1", "--n", "54321", "--delta", repr(DELTA), "--out", out).exit_code == 0
    text, _ = both("certify", "--verify", out)
    proof = sdp.verify(out)
    said = re.search(r"delta <= (\S+) at eps = (\S+), within the stated delta = (\S+), replace-one", text)
    assert said is not None
    assert Fraction(said[1]) >= proof.proved_delta and Fraction(said[2]) >= proof.epsilon
    assert float(said[3]) <= float(proof.delta)


def test_audits_show_no_more_than_was_found() -> None:
    base = sdp.audit("grr:eps0=1,d=3", samples=2000)
    for lower, claimed in ((0.98765432, 0.87654321), (0.98765432, 1.2345678)):
        found = dataclasses.replace(base, lower=lower, claimed=claimed, confidence=0.98765432109876, law=0.12345)
        text = str(found)
        least = re.search(r"is at least (\S+) with (\S+)% confidence", text)
        assert least is not None and float(least[1]) <= lower and float(least[2]) <= 98.765432109876
        stated = re.search(r"claimed eps0 = ([\d.]*\d)", text)
        assert stated is not None
        # "too small" holds for smaller claims, "does not contradict" for larger ones
        assert float(stated[1]) <= claimed if found.breaks_eps0 else float(stated[1]) >= claimed


@pytest.mark.parametrize("rounded", [sdp.round_up, sdp.round_down])
@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("x",), r"^x must be a number, got 'x'; pass "),
        ((None,), r"^x must be a number, got None; pass "),
        ((math.nan,), r"^x must be a number, got nan; pass "),
        ((3.0, 0), r"^digits must lie in \[1, 1000\], got 0; it is how many"),
        ((3.0, 1.5), r"^digits must be a whole number, got 1.5; it is how many"),
    ],
    ids=str,
)
def test_what_is_no_number_or_no_number_of_figures_is_refused(rounded: Any, args: tuple[Any, ...], said: str) -> None:
    with pytest.raises(sdp.ParameterError, match=said):
        rounded(*args)
