"""One value where an array is wanted: a sentence that shows how to write it; mechanisms copied, pickled and signed."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from contract.cases import Case, all_cases
from shuffledp.mechanisms.randomizer import Randomizer

CASES = list({case.mechanism.name: case for case in all_cases()}.values())
RUNNABLE = [case for case in CASES if isinstance(case.mechanism, Randomizer)]


def said(call: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(sdp.ParameterError) as caught:
        call(*args, **kwargs)
    text = str(caught.value)
    assert text[-1] == "." and "\n" not in text and len(text) < 300
    return text


@pytest.mark.parametrize("case", CASES, ids=str)
def test_mechanisms_are_copied_and_take_their_numbers_by_name(case: Case) -> None:
    m = case.mechanism
    assert pickle.loads(pickle.dumps(m)) == m == copy.deepcopy(m) == copy.copy(m)
    parameters = inspect.signature(type(m)).parameters.values()
    free = sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)
    assert free == {"finite": 1, "exponential-metric": 1, "parallel": 1, "joint": 1}.get(m.name, 0)
    with pytest.raises(TypeError, match="positional argument"):
        type(m)(*[[[0.0]]] * free, 1.0)


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
