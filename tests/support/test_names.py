"""What a mechanism may be called, and what is said about a name that is none."""

from __future__ import annotations

import subprocess
import sys

import pytest

import shuffledp as sdp
from reference.commands import run
from shuffledp._support import names as _names
from shuffledp.mechanisms.catalog import CATALOG
from shuffledp.mechanisms.registry import names, word_of

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
        ("randomized responses", "randomized-response"),
        ("Hadamard response", "hadamard"),
        ("OEU", "optimized-unary"),
        ("Gausian", "gaussian"),
    ],
)
def test_by_spelling(name: str, meant: str) -> None:
    assert said(name).endswith(f"; did you mean {meant!r}?")


@pytest.mark.parametrize("name", ["xyz", "dp-sgd", "?", "qqqqqqqq"])
def test_otherwise_all_are_listed(name: str) -> None:
    assert said(name).endswith(f"'shuffledp mechanisms' lists all {len(CATALOG)}.")


def test_on_the_command_line() -> None:
    ours = run("amplify", "kRR:eps0=1,d=4", "--n", "10", "--delta", "0.1")
    assert ours.exit_code == 0 and ours.output == run("amplify", "grr:eps0=1,d=4", "--n", "10", "--delta", "0.1").output


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
        ("Gausian", "Gaussian"),
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
