"""Which setting, how many users, which delta."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Asked = dict[str, Any]


def questions() -> Iterator[Asked]:
    yield from _budgets()
    yield from _others()
    yield from _users()
    yield from _deltas()


def _budgets() -> Iterator[Asked]:
    for mechanism in (
        "general",
        "grr:d=16",
        "randomized-response",
        "unary:d=16",
        "optimized-unary:d=16",
        "subset:d=16,k=3",
        "privset:d=64,s=3,k=5",
        "local-hash:d=64,l=4",
        "sampling-rappor:d=16,s=2",
        "hierarchical-grr:d=16,branching=4",
        "pckv-grr:d=16,l=2",
        "laplace",
        "duchi:dim=3",
        "harmony:dim=5",
        "privunit:dim=10,cap=0.1",
        "wheel:d=64,s=3,w=0.1",
    ):
        for n, epsilon, delta in ((10**4, 0.3, 1e-6), (10**8, 0.05, 1e-10)):
            terms = {"n": n, "epsilon": epsilon, "delta": delta, "found": "eps0", "side": "lower"}
            yield {"ask": "calibrate", "mechanism": mechanism, **terms}


def _others() -> Iterator[Asked]:
    for mechanism in ("subset:d=64", "privset:d=64,s=3", "local-hash:d=1000", "hadamard:d=64", "privunit:dim=20"):
        terms = {"n": 10**6, "epsilon": 0.2, "delta": 1e-8, "found": "variance"}
        yield {"ask": "calibrate", "mechanism": mechanism, **terms}
    for mechanism, unknown, side in (
        ("cheu-zhilyaev:d=16,messages=2", "flip", "upper"),
        ("pure-dump:d=16", "messages", "upper"),
        ("pure-dump:d=16", "poisson", "upper"),
        ("pure-dump:d=16", "total_messages", "upper"),
        ("balcer-coin", "messages", "upper"),
        ("balls-into-bins:d=100,special=5", "messages", "upper"),
        ("metric-general:dmax=4", "d01", "lower"),
    ):
        terms = {"n": 10**4, "epsilon": 0.5, "delta": 1e-6, "unknown": unknown, "found": unknown, "side": side}
        yield {"ask": "calibrate", "mechanism": mechanism, **terms}
    for bound in ("clone", "general", "variation-ratio"):
        terms = {"n": 10**5, "epsilon": 0.2, "delta": 1e-7, "bound": bound, "found": "eps0", "side": "lower"}
        yield {"ask": "calibrate", "mechanism": "grr:d=16", **terms}


def _users() -> Iterator[Asked]:
    for mechanism in (
        "general:eps0=1",
        "general:eps0=8",
        "grr:eps0=2,d=16",
        "grr:eps0=5,d=1000",
        "randomized-response:eps0=1",
        "unary:eps0=2,d=16",
        "optimized-unary:eps0=2,d=16",
        "subset:eps0=2,d=16",
        "privset:eps0=2,d=64,s=3",
        "local-hash:eps0=2,d=64",
        "hadamard:eps0=2,d=64",
        "wheel:eps0=2,d=64,s=3",
        "pckv-grr:eps0=2,d=64,l=3",
        "harmony:eps0=2,dim=5",
        "privunit:eps0=2,dim=10",
        "planar-laplace:d01=1,dmax=4",
        "pure-dump:d=16,messages=2",
        "variation-ratio:p=7,beta=0.3,q=7",
    ):
        yield {"ask": "users_needed", "mechanism": mechanism, "epsilon": 0.05, "delta": 1e-7}
    for mechanism, bound in (
        ("grr:eps0=2,d=16", "clone"),
        ("unary:eps0=1,d=8", "general"),
        ("grr:eps0=1,d=4", "analytic"),
    ):
        yield {"ask": "users_needed", "mechanism": mechanism, "epsilon": 0.1, "delta": 1e-6, "bound": bound}
    for mechanism in ("general:eps0=1", "grr:eps0=2,d=16"):
        yield {"ask": "users_needed", "mechanism": mechanism, "epsilon": 0.1, "delta": "0.01/n"}


def _deltas() -> Iterator[Asked]:
    for mechanism in (
        "general:eps0=1",
        "grr:eps0=2,d=16",
        "randomized-response:eps0=1",
        "unary:eps0=2,d=16",
        "subset:eps0=2,d=16",
        "hadamard:eps0=2,d=64",
        "laplace:eps0=2",
        "duchi:eps0=2,dim=5",
        "metric-general:d01=1,dmax=3",
        "balcer-coin:messages=0.25",
    ):
        for n, epsilon in ((10**5, 0.05), (10**9, 0.0005)):
            yield {"ask": "delta_needed", "mechanism": mechanism, "n": n, "epsilon": epsilon}
    yield {"ask": "delta_needed", "mechanism": "general:eps0=1", "n": 100, "epsilon": 1.0}
    yield {"ask": "delta_needed", "mechanism": "grr:eps0=1,d=4", "n": 10**4, "epsilon": 0.1, "bound": "clone"}
