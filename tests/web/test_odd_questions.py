"""Whatever is asked, however odd, is answered, refused in a sentence, or stopped; nothing is an internal error."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from reference.asgi import Client
from reference.repetition import slow
from shuffledp.web.addresses import ANSWERS, FILES
from shuffledp.web.app import create_app
from shuffledp.web.catalog import mechanisms
from shuffledp.web.pool import Pool
from shuffledp.web.ranking import tasks

USERS = ("1", "2", "3", "10", "1000", "12345", "1e6", "1e9", "1e12", "1e15")
DELTAS = ("1e-9", "1e-300", "5e-324", "0.5", "0.999999", "1e-3", "0.01/n", "0.9/n", "1e-16")
SHARES = ("0", "0", "0.5", "95%", "1e-9", "5%", "1e-300")
SIZES = (1, 2, 3, 4, 16, 1000, 10**6, 0, -1, 0.5, 1e-300, 1e300)
TARGETS = ("", "1e-9", "0.1", "1", "50", "1e-300", "1e300", "inf", "0", "5e-324", "700")
ODD = (0, 5e-324, 1e-300, 1e-12, 1e-9, 0.5, 1, 2, 3, 500, 1e9, 1e300)
ASKED = tuple(path for path in ANSWERS if path not in ("/api/mechanisms", "/api/tasks", "/api/rank"))
RANKED = ("/api/rank", "/api/download/plan.json", "/api/download/report.html")


@pytest.fixture(scope="module")
def asking() -> Iterator[Client]:
    """A client of real processes, which are stopped when they take long."""
    pool = Pool(work_seconds=10.0)
    yield Client(create_app(pool))
    pool.close()


def spec(rng: random.Random, name: str) -> str:
    """A mechanism whose parameters are usual, at an end of their range, or odd."""
    parts = []
    for p in mechanisms()[name]["parameters"]:
        if p["needed"] or rng.random() < 0.3:
            known = [x for x in (p["low"], p["high"], p["start"]) if x is not None]
            value = rng.choice(known) if known and rng.random() < 0.8 else rng.choice(ODD)
            parts.append(f"{p['name']}={int(min(value, 1e7)) if p['whole'] else value}")
    return f"{name}:{','.join(parts)}"


def question(rng: random.Random, name: str, path: str) -> dict[str, str]:
    given = {"spec": spec(rng, name), "n": rng.choice(USERS), "delta": rng.choice(DELTAS)}
    given |= {"dropouts": rng.choice(SHARES), "rounds": rng.choice(("1", "1", "7", "9973"))}
    if path == "/api/curves":
        given |= {"over": rng.choice(("n", "noise")), "points": rng.choice(("9", "17", "33"))}
    if path in RANKED:
        task = rng.choice(sorted(tasks()))
        sizes = {size["name"]: str(rng.choice(SIZES)) for size in tasks()[task]["sizes"] if size["needed"]}
        given |= {"task": task, "epsilon": rng.choice(TARGETS), "messages": rng.choice(("", "1", "0", "inf")), **sizes}
    return given


def is_answered(asking: Client, path: str, given: dict[str, str]) -> None:
    answer: Any = asking.get(path, params=given)
    assert answer.status_code in (200, 400, 503), (path, given)
    if answer.status_code != 200:
        said = answer.json()["error"]
        assert "\n" not in said and said.endswith((".", "?")), (path, given)


@pytest.mark.slow_cases("laplace")
@pytest.mark.parametrize("name", [name if k % 3 == 0 else slow(name) for k, name in enumerate(sorted(mechanisms()))])
def test_odd_questions_about_a_mechanism(client: Client, name: str) -> None:
    rng = random.Random(f"odd {name}")
    for path in ("/api/guarantee", "/api/curves"):
        is_answered(client, path, question(rng, name, path))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(mechanisms()))
def test_many_odd_questions_about_a_mechanism(asking: Client, name: str) -> None:
    rng = random.Random(f"many {name}")
    for path in 10 * (*ASKED, *FILES):
        is_answered(asking, path, question(rng, name, path))
    is_answered(asking, "/api/rank", question(rng, name, "/api/rank"))


@pytest.mark.slow_cases("5e-324", "1e-300")
@pytest.mark.parametrize("target", ["5e-324", "1e-300"])
def test_a_target_next_to_nothing(client: Client, target: str) -> None:
    given = {"spec": "grr:eps0=1,d=4", "n": "1e9", "delta": "0.5", "task": "key-value", "d": "1000", "size": "1"}
    is_answered(client, "/api/rank", {**given, "epsilon": target})
