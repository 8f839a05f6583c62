"""Numbers without a name, and one value where an array is wanted: a sentence that shows how to write it."""

from __future__ import annotations

import copy
import doctest
import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from contract.cases import Case, all_cases
from shuffledp.mechanisms.randomizer import Randomizer
from shuffledp.mechanisms.registry import find, names

CASES = list({case.mechanism.name: case for case in all_cases()}.values())
RUNNABLE = [case for case in CASES if isinstance(case.mechanism, Randomizer)]
#: Decorators take one thing and no number.
DECORATORS = {"register", "register_bound"}
FUNCTIONS = [
    name
    for name in sdp.__all__
    if inspect.isfunction(getattr(sdp, name)) and name not in {*DECORATORS, "poison", "round_up", "round_down"}
]


def said(call: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(sdp.ParameterError) as caught:
        call(*args, **kwargs)
    text = str(caught.value)
    assert text[-1] == "." and "\n" not in text and len(text) < 300
    return text


# -- mechanisms ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", names())
def test_every_mechanism_takes_its_numbers_by_name(name: str) -> None:
    cls = find(name)
    free = sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in inspect.signature(cls).parameters.values())
    assert free == {"finite": 1, "exponential-metric": 1, "parallel": 1, "joint": 1}.get(name, 0)
    text = said(cls, *[[[0.0]]] * free, 1.0)
    assert text.startswith(f"{cls.__name__} takes its numbers by name, got 1.0; write {cls.__name__}(")


def test_the_sentence_is_the_call() -> None:
    G = sdp.GRR
    assert said(sdp.General, 1.0) == "General takes its numbers by name, got 1.0; write General(eps0=1.0)."
    assert said(G, 2.0, 64) == "GRR takes its numbers by name, got 2.0 and 64; write GRR(eps0=2.0, d=64)."
    assert said(G, 2.0, d=64) == "GRR takes its numbers by name, got 2.0; write GRR(eps0=2.0, d=64)."
    assert said(sdp.VariationRatio, 3, 0.5, 3).endswith("3, 0.5 and 3; write VariationRatio(p=3, beta=0.5, q=3).")
    assert said(sdp.General, *range(9)).endswith("got 0, 1, 2 and more; write General(eps0=0).")
    assert said(sdp.General, np.zeros(1000)).endswith("got ...; write General(eps0=...).")
    table = [[0.0, 1.0], [1.0, 0.0]]
    assert said(sdp.ExponentialMetric, table, 2.0).endswith("got 2.0; write ExponentialMetric(distances, eps=2.0).")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_mechanisms_are_made_and_shown_as_before(case: Case) -> None:
    m = case.mechanism
    assert pickle.loads(pickle.dumps(m)) == m == copy.deepcopy(m) == copy.copy(m)
    parameters = inspect.signature(type(m)).parameters
    assert list(parameters) == list(inspect.signature(type(m).__init__).parameters)[1:]
    assert "args" not in parameters


# -- functions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_public_function_takes_its_numbers_by_name(name: str) -> None:
    text = said(getattr(sdp, name), "grr:eps0=1,d=4", 1000)
    assert text.startswith(f"{name} takes its numbers by name, got 1000; write {name}(")


def test_the_sentence_of_a_function() -> None:
    assert said(sdp.amplify, "general:1", 1000, 1e-6) == (
        "amplify takes its numbers by name, got 1000 and 1e-06; write amplify(mechanism, n=..., delta=...)."
    )
    assert said(sdp.amplify, "general:1", 1000, delta=1e-6).endswith("; write amplify(mechanism, n=1000, delta=1e-06).")


def test_methods_of_an_account() -> None:
    acc = sdp.Accountant()
    assert said(acc.epsilon, 1e-6) == (
        "Accountant.epsilon takes its numbers by name, got 1e-06; write Accountant.epsilon(delta=1e-06)."
    )
    assert said(acc.compose, "general:1", 9).endswith("; write Accountant.compose(mechanism, n=9).")
    for method in (acc.delta, acc.lower_epsilon, acc.guarantee, acc.would_exceed, acc.remaining):
        assert "takes its numbers by name, got 0.5;" in said(method, 0.5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_pickled_signed_and_tested_as_before(name: str) -> None:
    function = getattr(sdp, name)
    assert pickle.loads(pickle.dumps(function)) is function
    assert "args" not in inspect.signature(function).parameters
    module = inspect.getmodule(function)
    assert module is not None
    found = {test.name.rpartition(".")[2]: test for test in doctest.DocTestFinder().find(module)}
    assert found[name].examples, "its examples would not be run"


# -- one value -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", RUNNABLE, ids=str)
@pytest.mark.parametrize("value", [42, 0.5, True, np.int64(3), np.float32(0.5), np.array(7), "abc", b"abc", 10**30])
def test_one_value_is_no_array_of_them(case: Case, value: Any) -> None:
    for call in (case.mechanism.privatize, case.mechanism.privatize_counts):
        text = said(call, value)
        if case.mechanism.name in ("parallel", "joint"):
            what = "query" if case.mechanism.name == "parallel" else "question"
            assert f"got one {type(value).__name__}; pass one array for each {what}, with one entry per user." in text
        else:
            one = repr(np.asarray(value).item())
            assert text.startswith(f"values must have one entry per user, got the single value {one}; pass [{one}] ")


@pytest.mark.parametrize("value", [None, {1, 2}, {"a": 1}, iter([1]), object()], ids=lambda x: type(x).__name__)
def test_what_is_no_array_at_all(value: Any) -> None:
    text = said(sdp.GRR(eps0=1.0, d=4).privatize, value)
    assert text == f"values must have one entry per user, got {type(value).__name__}; pass a list or an array."


def test_what_is_advised_works() -> None:
    m = sdp.GRR(eps0=1.0, d=64)
    assert len(m.privatize([42])) == 1
    assert said(m.estimate, 42) == (
        "reports must have one entry per report, got the single value 42; pass [42] for one report."
    )
    assert said(m.tally, "x" * 100).count("x") < 100
