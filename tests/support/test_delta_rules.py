"""delta as a rule c/n: one reader, rounded down, taken wherever a delta is."""

from __future__ import annotations

import ast
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shuffledp as sdp
from reference.commands import refused, run
from reference.tolerances import within_tol
from shuffledp._support import delta_rules as rules
from shuffledp._support.delta_rules import delta_at

GRR = "grr:eps0=2,d=16"
N = 10_000
RULE = "0.01/n"


# -- the reader ------------------------------------------------------------------------------------------------


@given(st.decimals("1e-12", "0.999999", places=15).filter(bool), st.integers(1, 10**15))
def test_a_rule_is_the_largest_float_below_it(share: Any, n: int) -> None:
    exact = Fraction(share) / n
    found = delta_at(f"{share}/n", n)
    assert Fraction(found) <= exact < Fraction(math.nextafter(found, math.inf))


def test_the_decimals_are_those_that_were_written() -> None:
    """The float 0.01 lies above one hundredth, and 1e-5 above 1e-5: neither may be used."""
    assert Fraction(delta_at(RULE, 1000)) < Fraction(1, 100_000) < Fraction(1e-5) == Fraction(0.01 / 1000)
    assert delta_at("1_0e-3 / n", 10) == delta_at(" +.01/n ", 10) == delta_at(RULE, 10)


@pytest.mark.parametrize(
    "delta",
    [
        *("0.01/m", "n", "0.01*n", "", "/", "1e-6", "/n", "x/n", "nan/n", "inf/n", "-1/n", "0/n", "-0/n", "1/n/n"),
        *("1/2/n", "0.01/n^2", "0.01/nn", "\u0660.\u0660\u0661/n", "1e-999999999/n", "1e999999999/n"),
        "0." + "0" * 10**6 + "1/n",
    ],
    ids=lambda text: ascii(text)[:20],
)
def test_bad_rules_are_one_sentence(delta: str) -> None:
    with pytest.raises(sdp.ParameterError, match=r"^delta must be a number in \(0, 1\) or a rule") as caught:
        delta_at(delta, 1000)
    text = str(caught.value)
    assert text.endswith("; write one of the two.") and len(text) < 160


@pytest.mark.parametrize(("delta", "n"), [("2000/n", 1000), ("1/n", 1), ("1e-320/n", 10**9), ("1e300/n", 10**15)])
def test_a_rule_out_of_range_names_its_n(delta: str, n: int) -> None:
    with pytest.raises(sdp.ParameterError, match=rf"^delta must lie in \(0, 1\), got '{delta}' with n = {n:,}; "):
        delta_at(delta, n)


@pytest.mark.heavy
def test_there_is_one_reader() -> None:
    """Nothing else in the package takes a text apart at its slash, or divides a share of delta by n."""
    root = Path(sdp.__file__).parent
    names = {"delta_rules.py", "spec.py", "app.py"}  # spec.py: 1/3 as a number in a programme; app.py: addresses
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                slash = isinstance(node.args[0], ast.Constant) and node.args[0].value == "/"
                cuts = slash and node.func.attr.endswith(("partition", "split"))
                assert not cuts or path.name in names, f"{path}: {node.lineno}"


# -- every function that takes a delta -------------------------------------------------------------------------


@pytest.mark.heavy
def test_amplify_and_certificates() -> None:
    g = sdp.amplify(GRR, n=N, delta=RULE)
    assert g == sdp.amplify(GRR, n=N, delta=delta_at(RULE, N)) and g.delta == delta_at(RULE, N)
    away = sdp.amplify(GRR, n=N, delta=RULE, dropouts=0.5)
    assert away.delta == g.delta  # n is the number of users asked, so delta is not larger for the missing
    proved = sdp.amplify("general:eps0=1", n=100, delta=RULE, certify=True)
    assert proved.certificate is not None and proved.certificate.delta <= Fraction(1, 10_000)


def test_calibrate() -> None:
    m = sdp.calibrate("grr:d=16", n=N, epsilon=0.1, delta=RULE)
    assert m == sdp.calibrate("grr:d=16", n=N, epsilon=0.1, delta=delta_at(RULE, N))


def test_users_needed_applies_it_to_every_n() -> None:
    n = sdp.users_needed(GRR, epsilon=0.1, delta=RULE)
    assert sdp.amplify(GRR, n=n, delta=RULE).epsilon <= 0.1 < sdp.amplify(GRR, n=n - 1, delta=RULE).epsilon
    with pytest.raises(sdp.ParameterError, match=r"^delta must lie in \(0, 1\), got '3/n' with n = 1; "):
        sdp.users_needed(GRR, epsilon=0.1, delta="3/n")


def test_amplify_mixed_counts_all_users() -> None:
    classes = [("grr:eps0=1,d=8", 400), ("grr:eps0=3,d=8", 600)]
    assert sdp.amplify_mixed(classes, delta=RULE) == sdp.amplify_mixed(classes, delta=delta_at(RULE, 1000))


def test_compare_and_sweep() -> None:
    c = sdp.compare(GRR, n=N, delta=RULE, bounds=["blanket"])
    assert c.delta == delta_at(RULE, N)
    s = sdp.sweep(GRR, n=N, delta=["0.1/n", 1e-6], bounds=["local"])
    assert s.values == (delta_at("0.1/n", N), 1e-6) and s.rule is None


def test_batch_table_has_a_delta_for_every_size() -> None:
    table = sdp.batch_table(GRR, delta=RULE, n=[100, 1000])
    assert table.rule == RULE and table.deltas == (delta_at(RULE, 100), delta_at(RULE, 1000))
    assert table.delta == max(table.deltas)
    alone = [sdp.amplify(GRR, n=n, delta=RULE).epsilon for n in (100, 1000)]
    assert list(table.epsilons) == within_tol(alone)
    assert "delta = 0.01/n, replace-one" in str(table)
    head, first, _ = table.to_csv().splitlines()
    assert head == "n,epsilon,delta" and first == f"100,{table.epsilons[0]!r},{table.deltas[0]!r}"
    again = json.loads(json.dumps(table.to_dict(), allow_nan=False))
    assert again["deltas"] == list(table.deltas) and again["rule"] == RULE
    assert table.epsilon(1000) == table.epsilons[1]
    with pytest.raises(sdp.ParameterError, match="size of the table where delta is a rule, got 500"):
        table.epsilon(500)  # at the delta of 500 users, which is smaller, the eps of 100 is not proved
    fixed = sdp.batch_table(GRR, delta=1e-6, n=[100, 1000])
    assert fixed.rule is None and fixed.deltas == (1e-6, 1e-6) and fixed.epsilon(500) == fixed.epsilons[0]


@pytest.mark.slow
def test_an_account_takes_the_largest_n() -> None:
    """Then delta is at most c/n for the n of every round."""
    acc = sdp.Accountant().compose(GRR, n=1000).compose(GRR, n=N, count=2)
    delta = delta_at(RULE, N)
    assert acc.epsilon(delta=RULE) == acc.epsilon(delta=delta)
    assert acc.epsilon(delta=RULE, method="renyi") == acc.epsilon(delta=delta, method="renyi")
    assert acc.lower_epsilon(delta=RULE) == acc.lower_epsilon(delta=delta)
    g = acc.guarantee(delta=RULE)
    assert g == acc.guarantee(delta=delta) and g.delta == delta
    more: dict[str, Any] = {"epsilon": 1.0, "mechanism": GRR, "n": 2 * N}
    assert acc.remaining(delta=RULE, **more) == acc.remaining(delta=delta_at(RULE, 2 * N), **more)
    more["epsilon"] = acc.epsilon(delta=RULE) * 1.0001
    assert acc.would_exceed(delta=RULE, **more) is acc.would_exceed(delta=delta_at(RULE, 2 * N), **more) is True


def test_an_account_without_rounds_has_no_n() -> None:
    for ask in ("epsilon", "lower_epsilon", "guarantee"):
        with pytest.raises(sdp.ParameterError, match=r"^delta must be a number where no shuffled round says what n is"):
            getattr(sdp.Accountant(), ask)(delta=RULE)
    assert sdp.Accountant().epsilon(delta=1e-6) == 0.0


@pytest.mark.heavy
def test_check_takes_the_largest_number_of_users() -> None:
    def programme(delta: object) -> dict[str, Any]:
        rounds = [{"mechanism": GRR, "users": 1000}, {"mechanism": GRR, "users": N, "dropouts": 0.1}]
        return {"version": 1, "target": {"epsilon": 1, "delta": delta}, "rounds": rounds}

    found = sdp.check(programme(RULE))
    assert found.epsilon == sdp.check(programme("1e-6")).epsilon and found.delta == 1e-6
    with pytest.raises(sdp.ParameterError, match=r"^target: delta must lie in \(0, 1\), got '20000/n' with n = 10,000"):
        sdp.check(programme("20000/n"))
    with pytest.raises(sdp.ParameterError, match=r"^target: delta must be a number in \(0, 1\) or a rule"):
        sdp.check(programme("x/n"))


# -- the command line ------------------------------------------------------------------------------------------


@pytest.mark.slow_cases("compose")
@pytest.mark.parametrize(
    "args",
    [
        ["amplify", GRR, "--n", "1e4"],
        ["certify", "general:eps0=1", "--n", "1e4"],
        ["calibrate", "grr:d=16", "--n", "1e4", "--epsilon", "1"],
        ["compare", GRR, "--n", "1e4", "--bound", "local"],
        ["compose", "--round", f"{GRR},n=1e4"],
    ],
    ids=lambda args: args[0],
)
def test_every_command_takes_a_rule(args: list[str]) -> None:
    number = repr(delta_at(RULE, N))
    ours, theirs = run(*args, "--delta", RULE), run(*args, "--delta", number)
    assert ours.exit_code == 0 and ours.output == theirs.output
    said = refused(run(*args, "--delta", "0.01/m"))
    assert said == (
        "shuffledp: delta must be a number in (0, 1) or a rule such as '0.01/n', got '0.01/m'; write one of the two."
    )


def test_check_file(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(
        "version: 1\npopulation: {users: 10_000}\ntarget: {epsilon: 1, delta: 0.01/n}\n"
        f'rounds: [{{mechanism: "{GRR}"}}]\n'
    )
    found = run("check", str(path), "--json")
    assert found.exit_code == 0 and json.loads(found.stdout)["delta"] == 1e-6


def test_a_rule_stays_text_on_its_way_to_an_n() -> None:
    assert rules.parse(" 0.01/n ") == RULE and rules.parse("1e-6") == 1e-6
