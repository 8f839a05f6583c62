"""The two interpreters of laws, in Python and in JavaScript, on values and random bytes of all sorts."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from reference.deployed import CLIENT
from reference.places import ROOT
from shuffledp.randomness.program import draw_rows

pytestmark = pytest.mark.shuffler
CASES = 60


def number(rng: random.Random) -> Any:
    exact = rng.choice([0, 1, 30, 60, -1, 61, 1e300, 5e-324, 2**53, True, None, 0.1, 1 / 3, 59.999999999999996])
    spelled = rng.choice(["7", " 2.5e1\n", "+.5", "5.", "0x10", "1_0", "", "nan", "Infinity", "-3E-2", "\uff11"])
    return rng.choice([exact, spelled, rng.uniform(-5, 65), rng.gauss(30, 10), rng.randrange(61)])


def item(rng: random.Random, labels: list[Any]) -> Any:
    return rng.choice([*labels, *labels, "zz", "", None, 1, 1.0, True, 0, "1", "é", [1], 2.5])


def value(rng: random.Random, node: Mapping[str, Any]) -> Any:
    """Of one column, as an input reads it."""
    labels = node.get("labels", [])
    if node["kind"] == "label":
        return item(rng, labels)
    if node["kind"] == "items":
        many = [item(rng, labels) for _ in range(rng.randrange(6))]
        return rng.choice([many, many, item(rng, labels), ", ".join(map(str, many))])
    if node["kind"] == "pairs" and labels:
        pairs = [[item(rng, labels), number(rng)] for _ in range(rng.randrange(5))]
        named = {str(key): found for key, found in pairs}
        return rng.choice([pairs, named, {"x": pairs}, {"x": named}, {"x": 3}, {"x": None}, None, "a", [["a"], 3]])
    return number(rng)


def row(rng: random.Random, portable: Mapping[str, Any]) -> Any:
    node, columns = portable["input"], portable["columns"]
    parts = node.get("of", [node] * len(columns))
    if len(columns) == 1:
        found = value(rng, parts[0])
        return rng.choice([found, found, {columns[0]: found}, {"other": found}])
    entries = [value(rng, parts[min(i, len(parts) - 1)]) for i in range(len(columns))]
    named = {name: entry for name, entry in zip(columns, entries, strict=True) if rng.random() < 0.8}
    return rng.choice([entries, entries, named, None])


def taking(data: bytes) -> tuple[Callable[[int], bytes], Callable[[], int]]:
    used = 0

    def take(count: int) -> bytes:
        nonlocal used
        used += count
        return data[used - count : used]

    return take, lambda: used


def test_both_draw_the_same() -> None:
    """Every law with its input, on lists, objects, numbers, texts that spell numbers, and nothing."""
    rng = random.Random(23)
    files = sorted((ROOT / "clients" / "vectors").glob("*.json"))
    portables = {path.stem: json.loads(path.read_text("utf-8"))["portable"] for path in files}
    cases, expected = [], []
    for name, portable in portables.items():
        for _ in range(CASES):
            rows = [row(rng, portable) for _ in range(rng.choice([1, 1, 1, 0, 3]))]
            data = rng.randbytes(20_000)
            take, used = taking(data)
            expected.append([[message.hex() for message in draw_rows(portable, rows, take)], used()])
            cases.append([name, rows, data[: used() + 64].hex()])
    asked = json.dumps({"portables": portables, "cases": cases})
    program = ["node", str(CLIENT / "test" / "draw.js")]
    done = subprocess.run(program, input=asked, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    for case, mine, yours in zip(cases, expected, json.loads(done.stdout), strict=True):
        assert mine == yours, case[:2]
