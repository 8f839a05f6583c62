"""What a mechanism may be called, and what is said about a name that is none."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from contract.cases import all_cases
from reference.commands import refused, run
from shuffledp._support import names as _names
from shuffledp.mechanisms.catalog import CATALOG
from shuffledp.mechanisms.categorical.optimized_unary import OptimizedUnary
from shuffledp.mechanisms.categorical.unary import Unary
from shuffledp.mechanisms.multimessage.base import MultiMessage
from shuffledp.mechanisms.registry import find, names, word_of

ALIASES = {
    "krr": "grr",
    "oue": "optimized-unary",
    "sue": "unary",
    "rappor": "unary",
    "olh": "local-hash",
    "hr": "hadamard",
    "ss": "subset",
}


@pytest.mark.slow_cases("olh", "ss")
@pytest.mark.parametrize("alias", ALIASES)
def test_aliases_in_any_case_make_the_canonical_mechanism(alias: str) -> None:
    word = ALIASES[alias]
    for name in (alias, alias.upper(), alias.capitalize(), f" {alias} "):
        m = sdp.mechanism(f"{name}:eps0=1,d=9")
        assert m == sdp.mechanism(f"{word}:eps0=1,d=9") and m.spec.startswith(f"{word}:")
    assert sdp.amplify(f"{alias}:eps0=1,d=9", n=100, delta=1e-3).mechanism.startswith(f"{word}:")
    found = sdp.calibrate(alias.upper(), n=1000, epsilon=0.5, delta=1e-3, d=4)
    assert found.name == word
    swept = sdp.sweep(f"{alias.upper()}:d=4", eps0=[1, 2], n=100, delta=0.01, bounds=["local"])
    assert swept.mechanism == f"{word}:d=4"


@pytest.mark.parametrize("word", names())
def test_case_and_hyphens_do_not_matter(word: str) -> None:
    forms = (word, word.upper(), word.title(), word.replace("-", "_"), word.replace("-", " "), word.replace("-", ""))
    assert {word_of(form) for form in forms} == {word}


def test_no_name_means_two_mechanisms() -> None:
    known = [_names.plain(word) for word in [*CATALOG, *_names.ALIASES]]
    assert len(known) == len(set(known))
    assert set(_names.ALIASES.values()) <= set(CATALOG)
    words = [word.replace("-", "") for purpose in _names.PURPOSES for word in purpose.words.split()]
    assert len(words) == len(set(words)) and not set(words) & set(known)
    assert all(_names.plain(word) == word for word in words)


# -- unknown names ---------------------------------------------------------------------------------------------


def said(name: str) -> str:
    with pytest.raises(sdp.ParameterError) as caught:
        sdp.mechanism(f"{name}:eps0=1")
    text = str(caught.value)
    assert text.startswith(f"unknown mechanism {name!r}; ") and text[-1] in ".?" and "\n" not in text
    return text


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("grrr", "grr"),
        ("Genral", "general"),
        ("locl_hash", "local-hash"),
        ("k-subset", "subset"),
        ("randomised responses", "randomized-response"),
        ("Hadamard response", "hadamard"),
        ("OEU", "optimized-unary"),
        ("Gausian", "gaussian"),
    ],
)
def test_by_spelling(name: str, meant: str) -> None:
    assert said(name).endswith(f"; did you mean {meant!r}?")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("normal", "gaussian"),
        ("Normal noise", "laplace"),
        ("square wave", "window"),
        ("unary encoding", "unary"),
        ("1bit", "harmony"),
        ("Microsoft", "duchi"),
        ("count-mean-sketch", "local-hash"),
        ("CMS", "hadamard"),
        ("apple", "hadamard"),
        ("subsampling", "parallel"),
        ("planar", "planar-laplace"),
        ("geo-indistinguishability", "planar-laplace"),
        ("vector", "privunit"),
        ("L2", "privunit"),
        ("set", "privset"),
        ("itemset", "wheel"),
        ("set", "sampling-rappor"),
        ("shuffle dp histogram", "pure-dump"),
        ("multi_message", "balls-into-bins"),
        ("binary sum", "balcer-coin"),
        ("exponential", "exponential-metric"),
        ("key-value", "pckv-grr"),
        ("tree", "hierarchical-grr"),
        ("warner", "randomized-response"),
        ("matrix", "finite"),
        ("ldp", "general"),
    ],
)
def test_by_meaning(name: str, meant: str) -> None:
    assert f"{meant!r}" in said(name).partition("; see ")[2]


@pytest.mark.parametrize("name", ["xyz", "dp-sgd", "?", "qqqqqqqq"])
def test_otherwise_all_are_listed(name: str) -> None:
    assert said(name).endswith(f"'shuffledp mechanisms' lists all {len(CATALOG)}.")


def test_on_the_command_line() -> None:
    assert refused(run("amplify", "normal:eps0=1", "--n", "10", "--delta", "0.1")) == (
        "shuffledp: unknown mechanism 'normal'; see 'laplace', 'gaussian' or 'metric-laplace' (noise on a number)."
    )
    ours = run("amplify", "kRR:eps0=1,d=4", "--n", "10", "--delta", "0.1")
    assert ours.exit_code == 0 and ours.output == run("amplify", "grr:eps0=1,d=4", "--n", "10", "--delta", "0.1").output


# -- every purpose is a fact -----------------------------------------------------------------------------------

CASES = {case.mechanism.name: case for case in all_cases()}


def fields(name: str) -> set[str]:
    return {field.name for field in dataclasses.fields(find(name))}  # type: ignore[arg-type]


def shape(name: str) -> tuple[int, ...]:
    """Of one user's value."""
    return np.shape(CASES[name].data(50)[0])[1:]


def report_bytes(name: str, d: int) -> int:
    m: Any = find(name)(eps0=1.0, d=d)  # type: ignore[call-arg]
    return int(m.privatize(np.arange(4)).data[0].nbytes)


FACTS: dict[str, Callable[[str], bool]] = {
    "noise on a number": lambda m: shape(m) == () and "noise" in (find(m).__doc__ or ""),
    "the mean of a number": lambda m: "numbers" in find(m).serves and find(m).single_message,
    "the mean of a number from several messages a user": lambda m: (
        "numbers" in find(m).serves and not find(m).single_message
    ),
    "one bit of a number or vector": lambda m: "dim" in fields(m) and len(shape(m)) == 1,
    "vectors": lambda m: "dim" in fields(m) and len(shape(m)) == 1,
    "a yes/no question": lambda m: CASES[m].mechanism.inputs() == [0, 1],
    "one of d options": lambda m: "d" in fields(m) and "s" not in fields(m) and shape(m) == (),
    "one bit for each option": lambda m: find(m) in (Unary, OptimizedUnary) and report_bytes(m, 8000) == 1000,
    "short reports of many options": lambda m: report_bytes(m, 8000) <= 16,
    "sets of items": lambda m: {"d", "s"} <= fields(m),
    "keys with values": lambda m: len(shape(m)) == 2 and shape(m)[1] == 2,
    "ranges over a tree": lambda m: "branching" in fields(m),
    "one of several queries, drawn at random": lambda m: sdp.Parallel([(0.5, "grr:1,4")] * 2).name == m,
    "answers to several questions in one report": lambda m: len(CASES[m].mechanism.codec.dtype.names) > 0,
    "places on a map": lambda m: shape(m) == (2,) or {"across", "up"} <= fields(m),
    "strings that nobody can list": lambda m: "salt" in fields(m) and len(shape(m)) == 1,
    "privacy that depends on a distance": lambda m: any(w in (find(m).__doc__ or "") for w in ("metric", "distance")),
    "points with distances": lambda m: "distances" in fields(m),
    "a histogram from several messages a user": lambda m: not find(m).single_message and "d" in fields(m),
    "noise that the shuffler adds": lambda m: find(m)._noise_by_shuffler,
    "a sum of bits from several messages a user": lambda m: (
        issubclass(find(m), MultiMessage) and set(np.unique(CASES[m].data(50)[0])) == {0, 1}
    ),
    "a matrix of your own": lambda m: "matrix" in fields(m),
    "a randomizer of which only eps0 is known": lambda m: fields(m) == {"eps0"} and m == "general",
}


@pytest.mark.parametrize("purpose", _names.PURPOSES, ids=lambda p: p.what)
def test_every_purpose_holds_of_its_mechanisms(purpose: _names.Purpose) -> None:
    assert {p.what for p in _names.PURPOSES} == set(FACTS)
    assert purpose.mechanisms and set(purpose.mechanisms) <= set(CATALOG)
    for name in purpose.mechanisms:
        assert FACTS[purpose.what](name), name


# -- the front door --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("ampify", "amplify"),
        ("amplifyMixed", "amplify_mixed"),
        ("accountant_", "Accountant"),
        ("KRR", "GRR"),
        ("OUE", "OptimizedUnary"),
        ("Rappor", "Unary"),
        ("OLH", "LocalHash"),
        ("RandomisedResponse", "RandomizedResponse"),
        ("Gausian", "Gaussian"),
        ("Normal", "Laplace"),
    ],
)
def test_a_wrong_attribute_is_told_the_right_one(name: str, meant: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(sdp, name)
    assert str(caught.value) == f"module 'shuffledp' has no attribute {name!r}; did you mean {meant!r}?"


def test_no_guess_where_there_is_none() -> None:
    for name in ("zzz", "_amplify", "__amplify__"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'$"):
            getattr(sdp, name)


def test_a_guess_is_made_once_and_loads_nothing() -> None:
    code = "import sys, atexit, shuffledp as s\natexit.register(lambda: print('numpy' in sys.modules))\ns.KRR\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.strip() == "False"
    assert done.stderr.splitlines()[-1].lower().count("did you mean") == 1


@pytest.mark.heavy
def test_dir_shows_public_names_only() -> None:
    shown = dir(sdp)
    assert shown == sorted(shown) and {x for x in shown if not x.startswith("__")} == {
        *sdp.__all__,
        "extend",
        "queries",
    }
    code = (
        "import shuffledp as s, shuffledp.cli, shuffledp.composing.accountant; s.amplify('general:1', n=9, delta=0.1)\n"
        "print({x for x in dir(s) if not x.startswith('__')} == {*s.__all__, 'extend', 'queries'})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "True"
