"""Whoever derives a program from its plan gets the same text, on every machine and with every C library."""

from __future__ import annotations

import decimal
import json
import os
import subprocess
import sys
from functools import cache
from typing import Any

import pytest

import shuffledp as sdp
from contract.cases import all_cases
from house import vectors
from house.vectors import CASES, TWICE
from reference.places import ROOT
from shuffledp._support.exponentials import LOG2, exp, expm1, tanh
from shuffledp.mechanisms.parameters import declared
from shuffledp.protocol.portable import portable
from shuffledp.queries.base import Query
from shuffledp.queries.ranges import RangeQuery
from shuffledp.randomness import whole_numbers

Q = sdp.queries
_BUDGETS = (None, 0.01, 0.7, 1.1, 2.3, 3.9, 5.7, 8.2)
_GUARANTEE = {"epsilon": 1.0, "delta": 1e-6, "bound": "auto", "local_epsilon": 1.0}


def _with_budget(query: Query, eps0: float | None) -> dict[str, Any]:
    """The fields of a query; with another budget, what a mechanism chooses by itself is left out."""
    m: Any = query.mechanism
    held = query.to_dict()
    if eps0 is not None:
        kept = {name: getattr(m, name) for name, p in declared(type(m)).items() if name != "eps0" and p.choose is None}
        given = [f"eps0={eps0!r}", *(f"{name}={value!r}" for name, value in kept.items() if value is not None)]
        held["mechanism"] = f"{m.name}:{','.join(given)}"
    return held


def _more() -> dict[str, dict[str, Any]]:
    """Shares of levels, settings that are searched, long vectors and series."""
    grr = RangeQuery(column="x", low=0, high=60, bins=64, mechanism="grr:eps0=2", weights="ranges")
    oracles = ("grr:eps0=2,d=64", "subset:eps0=2,d=64", "local-hash:eps0=2,d=64", "optimized-unary:eps0=3,d=64")
    found = {f"ranges {spec}": {**grr.to_dict(), "mechanism": spec} for spec in oracles}
    mean, sets = (CASES[name][0].to_dict() for name in ("window", "privset"))
    numbers = (
        "window:eps0=0.5,d=9,cells=1",
        "window:eps0=6,d=9,cells=1",
        "window:eps0=7,d=300",
        "levels:eps0=2,d=200",
        "binomial:flips=90,stretch=1.1,shape=0.3,noise=0.2",
        "gaussian:sigma=0.7,low=-1,high=1,inputs=9,edges=21",
    )
    found |= {spec: {**mean, "mechanism": spec} for spec in numbers}
    found["long"] = {**CASES["duchi"][0].to_dict(), "column": [f"x{i}" for i in range(2500)]}
    found["long"]["mechanism"] = "duchi:eps0=3,dim=2500"
    wide = {"labels": [f"{i}" for i in range(300)], "size": 20, "mechanism": "privset:eps0=2,d=300,s=20"}
    return found | {"wide": {**sets, **wide}}


@cache
def _asked() -> str:
    plans: dict[str, Any] = {}
    for name, (query, _) in (CASES | TWICE).items():
        some = _BUDGETS if hasattr(query.mechanism, "eps0") else _BUDGETS[:1]
        plans |= {f"{name} {eps0}": _with_budget(query, eps0) for eps0 in some}
    head = {"version": 1, "name": "", "users": 10_000, "minimum_batch": 10_000, "delta": 1e-6}
    rest = {"reports_per_user": 1, "user_column": "", "guarantee": _GUARANTEE}
    specs = [case.mechanism.spec for case in all_cases() if case.mechanism._file_parameters is None]
    every = {name: {**head, "query": query, **rest} for name, query in (plans | _more()).items()}
    return json.dumps({"plans": every, "specs": specs})


@cache
def _found(factor: float) -> dict[str, Any]:
    path = os.pathsep.join([str(ROOT / "tests"), *filter(None, sys.path)])
    command = [sys.executable, "-m", "house.perturbed", repr(factor)]
    done = subprocess.run(
        command, input=_asked(), capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("factor", [1 + 2**-50, 1 - 2**-51])
def test_programs_do_not_depend_on_the_last_digits_of_a_library(factor: float) -> None:
    here, there = _found(1.0), _found(factor)
    assert len(here) > 250
    assert sum(program is not None for program in here.values()) > 250
    assert [name for name in here if json.dumps(here[name]) != json.dumps(there[name])] == []


@pytest.mark.parametrize("name", ["poisson-histogram", "poisson-sum", "pure-dump-poisson", "window", "gaussian"])
@pytest.mark.parametrize("digits", [6, 200])
def test_programs_do_not_depend_on_the_decimal_context_of_the_caller(name: str, digits: int) -> None:
    plan = vectors.plan(name)
    held = portable(plan)
    whole_numbers._poisson_table.cache_clear()
    with decimal.localcontext(prec=digits, rounding=decimal.ROUND_UP):
        assert portable(plan) == held


def test_exponentials_are_the_nearest_doubles() -> None:
    from mpmath import mp, mpf

    with mp.workprec(400):
        assert float(mp.log(2)) == LOG2
        for i in range(400):
            x = (-1) ** i * 1e-9 * 1.07**i
            assert exp(x) == float(mp.exp(mpf(x)))
            assert expm1(x) == float(mp.expm1(mpf(x)))
            assert tanh(x) == float(mp.tanh(mpf(x)))
