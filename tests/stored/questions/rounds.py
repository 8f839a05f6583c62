"""Many rounds: what they cost together, what still fits, programmes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .mechanisms import THREE

Asked = dict[str, Any]

GRR = "grr:eps0=2,d=16"
#: Two and three kinds of rounds.
TWO = [{"mechanism": GRR, "n": 10**4, "count": 5}, {"mechanism": "general:eps0=1", "n": 10**5, "count": 10}]
SEVERAL = [*TWO, {"mechanism": "unary:eps0=2,d=8", "n": 10**4, "count": 3, "bound": "variation-ratio"}]


def _rounds(mechanism: Any, n: int, count: int, **more: Any) -> list[Asked]:
    return [{"mechanism": mechanism, "n": n, "count": count, **more}]


def questions() -> Iterator[Asked]:
    yield from _epsilons()
    yield from _deltas()
    yield from _fitting()
    yield from _programmes()


def _epsilons() -> Iterator[Asked]:
    for mechanism in ("general:eps0=1", GRR, "subset:eps0=2,d=16", {"matrix": THREE}):
        for count in (1, 10, 100):
            yield {"ask": "Accountant.epsilon", "rounds": _rounds(mechanism, 10**4, count), "delta": 1e-6}
    for mechanism in (
        "randomized-response:eps0=1",
        "unary:eps0=2,d=16",
        "harmony:eps0=1,dim=3",
        "pure-dump:d=4,messages=2",
    ):
        yield {"ask": "Accountant.epsilon", "rounds": _rounds(mechanism, 10**5, 10), "delta": 1e-7}
    for delta in (1e-3, 1e-9, 1e-12):
        yield {"ask": "Accountant.epsilon", "rounds": TWO, "delta": delta}
        yield {"ask": "Accountant.epsilon", "rounds": SEVERAL, "delta": delta}
    for mechanism in ("general:eps0=1", GRR):
        rounds = _rounds(mechanism, 10**4, 30)
        yield {"ask": "Accountant.epsilon", "rounds": rounds, "delta": 1e-6, "method": "renyi"}
    limited = _rounds(GRR, 10**4, 50, participation_limit=7)
    yield {"ask": "Accountant.epsilon", "rounds": limited, "delta": 1e-6}
    yield {"ask": "Accountant.epsilon", "rounds": _rounds(GRR, 10**4, 5, reports_per_user=3), "delta": 1e-6}
    yield {"ask": "Accountant.epsilon", "rounds": _rounds(GRR, 10**4, 20, bound="clone"), "delta": 1e-6}
    yield {"ask": "Accountant.epsilon", "rounds": [], "delta": 1e-6}


def _deltas() -> Iterator[Asked]:
    for rounds in (_rounds(GRR, 10**4, 1), _rounds(GRR, 10**4, 100), TWO, SEVERAL):
        for epsilon in (0.1, 0.5):
            yield {"ask": "Accountant.delta", "rounds": rounds, "epsilon": epsilon}
    for rounds in (_rounds(GRR, 10**4, 10), _rounds("general:eps0=1", 10**6, 100), TWO):
        yield {"ask": "Accountant.guarantee", "rounds": rounds, "delta": 1e-6}


def _fitting() -> Iterator[Asked]:
    for before, mechanism, n, epsilon in (
        ([], GRR, 10**4, 0.12),
        ([], "general:eps0=0.5", 10**6, 0.006),
        (TWO, GRR, 10**5, 0.3),
        (TWO, GRR, 10**4, 0.01),
    ):
        terms = {"n": n, "epsilon": epsilon, "delta": 1e-6}
        yield {"ask": "Accountant.remaining", "mechanism": mechanism, "rounds": before, **terms}


def _programmes() -> Iterator[Asked]:
    target = {"epsilon": 1, "delta": "1e-6"}
    yield {
        "ask": "check",
        "programme": {"version": 1, "target": target, "rounds": [{"mechanism": GRR, "users": 1000}]},
    }
    crowd = {"users": 10_000, "dropouts": 0.05}
    for rounds in (
        [{"mechanism": GRR, "count": 100}],
        [{"mechanism": GRR, "count": 500}],
        [{"mechanism": "general:eps0=1", "count": 10}, {"mechanism": "unary:eps0=2,d=8", "count": 3}],
    ):
        programme = {"version": 1, "population": crowd, "target": target, "rounds": rounds}
        yield {"ask": "check", "programme": programme}
