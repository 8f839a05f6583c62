"""Everything that can be wrong with an audit: one sentence that names it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from reference import refusals
from reference.leaky import WHEEL, response, seeded, step, unary
from shuffledp.auditing.foreign import short


def refused(words: str, *args: Any, **kwargs: Any) -> None:
    refusals.refused(words, sdp.audit, *args, **kwargs)


class Thing:
    """Compared by identity."""


class MuteError(Exception):
    """An error that cannot be read."""

    def __str__(self) -> str:
        raise GeneratorExit


class Stop(KeyboardInterrupt):
    """Not Ctrl-C."""


class Touchy:
    """A report that objects to being compared, copied and shown."""

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        raise MuteError

    def __repr__(self) -> str:
        raise MuteError

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise SystemExit(3)


def throws(error: BaseException) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        raise error

    return function


def fails(x: Any) -> Any:
    raise RuntimeError("line one\nline two.")


def in_turn(*reports: Any) -> Callable[[Any], Any]:
    rng = seeded(12)
    return lambda x: reports[rng.integers(len(reports))]


@pytest.mark.parametrize(
    ("words", "function"),
    [
        ("got None; let it end with a return", lambda x: None),
        ("got None; let", in_turn(1, 2, 3, None)),
        ("got NaN", lambda x: math.nan),
        ("got NaN", in_turn(1.0, np.float32("nan"))),
        ("got NaN", lambda x: [1.0, math.nan]),
        ("got NaN", lambda x: ("a", math.nan)),
        ("got an infinite number", lambda x: -math.inf),
        ("got an infinite number", lambda x: np.array([1.0, math.inf])),
        ("got ragged ones; pad", in_turn([1], [1, 2])),
        ("got ragged ones; pad", lambda x: [[1, 2], [3]]),
        ("reports of one shape, got", lambda x: [1] * (x + 1)),
        ("got a dict, which cannot be compared", lambda x: {"a": 1}),
        ("got a Thing, which", lambda x: Thing()),
        ("got a generator, which", lambda x: (i for i in "ab")),
        ("got a function, which", lambda x: fails),
        ("got something unhashable", lambda x: (1, {})),
        ("got None inside a report", lambda x: [None]),
        ("got empty rows", lambda x: []),
        ("got list and number reports mixed", in_turn([1], 1)),
        (r"got RuntimeError on input 0 \(line one line two\); try it", fails),
        ("got TypeError on input 0", lambda: 1),
        ("got GeneratorExit on input 0; try", throws(GeneratorExit())),
        (r"got SystemExit on input 0 \(3\)", throws(SystemExit(3))),
        ("got Stop on input 0", throws(Stop())),
        ("got StopIteration on input 0", throws(StopIteration())),
        ("got MuteError on input 0; try", throws(MuteError())),
        (r"\(\\x1b\[31m\)", throws(ValueError("\x1b[31m"))),
        (r"got SystemExit when they were \(3\)", lambda x: Touchy()),
        ("got MuteError when they were; return", lambda x: {Touchy()}),
        ("got a whole number of more than 307 digits; return it as text", lambda x: 10**5000),
        ("got a whole number of more than 307 digits", lambda x: -(10**5000)),
        ("got a whole number of more than 307 digits", lambda x: (1, 10**5000)),
        ("got a whole number of more than 307 digits", lambda x: [10**400, 0.5]),
    ],
)
def test_junk_reports(words: str, function: Any) -> None:
    refused(f"^randomizer must return .*{words}", function, inputs=[0, 1], samples=400)


@pytest.mark.parametrize(
    ("words", "function"),
    [
        ("one report per value when vectorized, got one NoneType for 400", lambda v: None),
        ("got one int for 400", lambda v: 5),
        ("got 3 for 400 values; leave out vectorized", lambda v: [1, 2, 3]),
        ("got ragged ones", lambda v: [[1]] + [[1, 2]] * (len(v) - 1)),
        ("got a masked array", lambda v: np.ma.masked_array(v, v > 0)),
        ("got NaN", lambda v: v * math.nan),
        ("got None", lambda v: np.full(len(v), None)),
        ("got an array of raw bytes", lambda v: np.zeros(len(v), dtype="V3")),
        ("reports of one shape", lambda v: np.zeros((len(v), 1 + int(v[0])))),
        ("got ZeroDivisionError", lambda v: 1 // 0),
        ("got GeneratorExit", throws(GeneratorExit())),
        ("got a whole number of more than 307 digits", lambda v: [10**5000] * len(v)),
        ("got a whole number of more than 307 digits", lambda v: [10**400, 0.5] * (len(v) // 2)),
        ("got SystemExit when they were", lambda v: Touchy()),
    ],
)
def test_junk_of_vectorized_functions(words: str, function: Any) -> None:
    refused(f"^randomizer must return .*{words}", function, inputs=[0, 1], samples=400, vectorized=True)


def test_ctrl_c_is_not_an_error_of_the_function() -> None:
    with pytest.raises(KeyboardInterrupt):
        sdp.audit(throws(KeyboardInterrupt()), inputs=[0, 1])


def test_long_numbers_and_unreadable_items_are_shown_in_words() -> None:
    assert short(10**5000) == "a whole number of about 5,000 digits" and short(Touchy()) == "a Touchy"
    assert short("\x1b[31m\n\u2028") == "'\\x1b[31m\\n\\u2028'" and len(short("a" * 99)) == 40
    found = sdp.audit(lambda x: {10**5000, x}, inputs=[0, 1], samples=400)
    assert found.lower > 1.0


def test_chunks_of_different_shapes() -> None:
    refused(
        "^randomizer must .*different shapes",
        lambda v: np.zeros((len(v), len(v))),
        inputs=[0, 1],
        samples=20_400,
        vectorized=True,
    )


def test_bad_randomizers() -> None:
    for bad in (None, 5, [[0.5, 0.5]], b"grr"):
        refused("^randomizer must be a mechanism that can be run", bad, inputs=[0, 1])
    refused("^randomizer must be a mechanism that can be run, .*got general", "general:eps0=1", inputs=[0, 1])
    refused("^randomizer must be .*got variation-ratio", sdp.VariationRatio(p=3.0, beta=0.4, q=3.0))
    refused("^unknown mechanism", "gr:eps0=1", inputs=[0, 1])
    refused("^randomizer must send one report per user", "balcer-coin:messages=1", inputs=[0, 1])
    refused("^values must lie in", "grr:eps0=1,d=3", inputs=[0, 5])


@pytest.mark.parametrize("inputs", [[], [1], range(33), 5, "ab", {1: 2}, {1, 2}], ids=repr)
def test_bad_inputs(inputs: Any) -> None:
    refused("^inputs must", response(3, 1.0), inputs=inputs)


def test_more_bad_inputs() -> None:
    refused("^inputs must be given for a function, got None", response(3, 1.0))
    refused("^inputs must be given for privunit", "privunit:eps0=1,dim=3")
    refused("^inputs must be given for grr", "grr:eps0=1,d=4000000000")
    refused("^inputs must be given for general", response(3, 1.0), claimed="general:eps0=1")
    refused("^inputs must differ from each other, got 1 twice", response(3, 1.0), inputs=[0, 1, 1])
    refused(r"^inputs must differ", lambda x: 1, inputs=[(1, 2), np.array([1, 2])])
    refused("^inputs must have entries of equal length", lambda v: v, inputs=[[1, [2, 3]], 0], vectorized=True)


@pytest.mark.parametrize("samples", [0, 10, 399, -5, 10**8, 1000.5, math.nan, "many", None, True], ids=repr)
def test_bad_samples(samples: Any) -> None:
    refused("^samples must", "grr:eps0=1,d=3", samples=samples)


@pytest.mark.parametrize("confidence", [0, 0.4, 1, 1.5, 99, math.nan, "40%", None, True], ids=repr)
def test_bad_confidence(confidence: Any) -> None:
    refused("^confidence must", "grr:eps0=1,d=3", confidence=confidence)


@pytest.mark.parametrize("eps0", [-1, math.inf, math.nan, "1", 501, True], ids=repr)
def test_bad_eps0(eps0: Any) -> None:
    refused("^eps0 must", response(3, 1.0), inputs=[0, 1], eps0=eps0)


def test_bad_claims() -> None:
    three = {"inputs": [0, 1, 2], "samples": 400}
    refused("^claimed must have one row per input, got 3 rows for 2 inputs", step(0.4), claimed=WHEEL, inputs=[0, 1])
    refused("^matrix rows must sum to 1", step(0.4), claimed=[[0.5, 0.6], [0.5, 0.5]])
    refused("^matrix must be a table", step(0.4), claimed=[[0.5, 0.5], [1.0]])
    refused("^matrix must", step(0.4), claimed=5)
    refused("^unknown mechanism", step(0.4), claimed="gr:eps0=1,d=3")
    refused("^outputs must name one report per column", step(0.4), claimed=WHEEL, outputs=["a", "b"])
    refused("^outputs must differ", step(0.4), claimed=WHEEL, outputs=["a", "b", "a"])
    refused("^outputs must be reports that can be compared", step(0.4), claimed=WHEEL, outputs=[{}, "b", "a"])
    refused("^outputs must go with a claimed matrix, got no claim", step(0.4), outputs=[0, 1, 2], **three)
    refused("^outputs must go with a claimed matrix, got another", step(0.4), claimed="grr:eps0=1,d=3", outputs=[0])
    refused("^reports must be column numbers of claimed, got '[abc]'", step(0.4, "abc"), claimed=WHEEL, samples=400)
    refused("^reports must be column numbers", step(0.4, ((1,), (2, 2), (3,))), claimed=WHEEL, samples=400)
    refused("^reports must be written as grr.*got '[abc]'", step(0.4, "abc"), claimed="grr:eps0=1,d=3", **three)
    refused("^reports must be written as grr", step(0.4, (0.5, 1.5, 2.5)), claimed="grr:eps0=1,d=3", **three)
    refused("^reports must be written as grr", step(0.4, ((1,), (2, 2), (3,))), claimed="grr:eps0=1,d=3", **three)
    refused("^reports must be written as unary", step(0.4), claimed="unary:eps0=1,d=3", **three)
    refused("^reports must be written as unary", unary(5, 1.0), claimed="unary:eps0=1,d=3", **three)
    records = sdp.Parallel([(1.0, "grr:eps0=1,d=3")])
    refused("^reports must be written as parallel", lambda x: 1, claimed=records, inputs=[(0,), (1,)], samples=400)


def test_bad_switches() -> None:
    refused("^rng must be left out for a function", response(3, 1.0), inputs=[0, 1], rng=seeded(0))
    refused("^rng must be None", "grr:eps0=1,d=3", rng=5)
    refused("^vectorized must be left out", "grr:eps0=1,d=3", vectorized=True)
    refused("^vectorized must be True or False", response(3, 1.0), inputs=[0, 1], vectorized="yes")
