"""Writes clients/vectors: for every mechanism what clients run, and which random bytes give which messages.

python -m house.vectors           all files
python -m house.vectors grr ...   only these
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from typing import Any

import shuffledp as sdp
from reference.places import ROOT
from shuffledp.protocol.portable import draw_rows, portable
from shuffledp.queries.base import Query

FOLDER = ROOT / "clients" / "vectors"
Q = sdp.queries

_NAMES = ["b", "a", None, "zz"]
_NUMBERS = [12.5, 60, None, -3, " 4.5e1 ", "2,5"]
_LISTS = [["a", "b"], ["c"], None, ["c", "b", "a", "a"], "b"]


def _histogram(mechanism: str, labels: tuple[str, ...] = ("a", "b", "c")) -> tuple[Query, list[Any]]:
    return Q.Histogram(column="x", labels=labels, mechanism=mechanism), _NAMES


def _bit(mechanism: str) -> tuple[Query, list[Any]]:
    return Q.Histogram(column="x", labels=[False, True], other=False, mechanism=mechanism), [True, False, None, 1]


def _mean(mechanism: str) -> tuple[Query, list[Any]]:
    return Q.Mean(column="x", low=0, high=60, mechanism=mechanism), _NUMBERS


def _vector(mechanism: str) -> tuple[Query, list[Any]]:
    values = [[1, 59.5, None], {"x": 30, "z": 7.25}, None, [60, 60, 60]]
    return Q.Mean(column=("x", "y", "z"), low=0, high=60, mechanism=mechanism), values


def _sets(mechanism: str) -> tuple[Query, list[Any]]:
    return Q.SetFrequency(column="x", labels=["a", "b", "c", "d"], size=2, mechanism=mechanism), _LISTS


def _tree(mechanism: str) -> tuple[Query, list[Any]]:
    return Q.RangeQuery(column="x", low=0, high=60, bins=8, missing="option", mechanism=mechanism), _NUMBERS


def _marginals(mechanism: str) -> tuple[Query, list[Any]]:
    values = [{"x": "a", "y": True, "z": 2}, ["b", False, 1.0], None, {"z": 7, "y": 1}]
    return Q.Marginals(labels={"x": ["a", "b"], "y": [True], "z": [1, 2, 3]}, mechanism=mechanism), values


#: File -> the query and values of its vectors.
CASES: dict[str, tuple[Query, list[Any]]] = {
    "grr": _histogram("grr:eps0=2"),
    "grr-300": _histogram("grr:eps0=6", tuple(f"{i}" for i in range(299))),
    "randomized-response": _bit("randomized-response:eps0=1"),
    "unary": _histogram("unary:eps0=2", tuple("abcdefghi")),
    "optimized-unary": _histogram("optimized-unary:eps0=2"),
    "subset": _histogram("subset:eps0=1,k=3", tuple("abcdefghi")),
    "subset-bits": _histogram("subset:eps0=0.5,k=9", tuple("abcdefghijklmnopqrstuvw")),
    "hadamard": _histogram("hadamard:eps0=3", tuple("abcdefghi")),
    "local-hash": _histogram("local-hash:eps0=2", tuple("abcdefghi")),
    "window": _mean("window:eps0=4"),
    "levels": _mean("levels:eps0=3"),
    "piecewise": _mean("piecewise:eps0=3"),
    "hybrid": _mean("hybrid:eps0=3"),
    "binomial": _mean("binomial:flips=4,stretch=1.2,shape=0.3,noise=0.2,inputs=9"),
    "gaussian": _mean("gaussian:sigma=1,low=-1,high=1"),
    "duchi": _vector("duchi:eps0=4"),
    "harmony": _vector("harmony:eps0=3"),
    "window-vector": _vector("window-vector:eps0=3"),
    "pckv-grr": (
        Q.KeyValue(column="x", keys=["a", "b", "c"], size=2, low=0, high=10, mechanism="pckv-grr:eps0=5"),
        [{"a": 7.5, "b": 2}, [["c", 1], ["c", 4]], None, {"x": {"a": 3, "b": 1, "c": 0}}],
    ),
    "pckv-grr-columns": (
        Q.Mean(column=("x", "y"), low=0, high=60, missing="option", mechanism="pckv-grr:eps0=4"),
        [[1, None], {"y": 30}, None, [60, 12.25]],
    ),
    "privset": _sets("privset:eps0=3"),
    "wheel": _sets("wheel:eps0=3"),
    "sampling-rappor": _sets("sampling-rappor:eps0=3"),
    "hierarchical-grr": _tree("grr:eps0=3"),
    "parallel": _tree("subset:eps0=3"),
    "parallel-marginals": _marginals("grr:eps0=3"),
    "parallel-bits": _marginals("unary:eps0=3"),
    "pure-dump": _histogram("pure-dump:messages=2"),
    "pure-dump-poisson": _histogram("pure-dump:poisson=2"),
    "mix-dump": _histogram("mix-dump:flip=0.1,messages=1.5"),
    "balls-into-bins": _histogram("balls-into-bins:special=1,messages=3"),
    "balcer-cheu": _bit("balcer-cheu:coin=0.3,messages=3"),
    "balcer-coin": _bit("balcer-coin:poisson=3"),
    "cheu-zhilyaev": _histogram("cheu-zhilyaev:flip=0.2,messages=1"),
    "poisson-histogram": _sets("poisson-histogram:poisson_per_index=0.2"),
    "poisson-sum": _mean("poisson-sum:units=8,poisson=3"),
}
#: Those of which a user has two rows: the values are rows of one user.
TWICE = {"grr-rows": (*_histogram("grr:eps0=1")[:1], [["a", "b", None], ["b"], [], ["zz", "a"]])}

_BINS = {"column": "x", "low": 0, "high": 64, "bins": 4, "branching": 4, "missing": "option"}
_SURE = "grr:eps0=50"
#: How values are read: every value with what it is read as, by clients, engines and programs alike.
READING: dict[str, tuple[Query, list[tuple[Any, Any]]]] = {
    "reading-numbers": (
        Q.RangeQuery(**_BINS, mechanism=_SURE),  # type: ignore[arg-type]
        [
            *((text, 0) for text in ("3", "+3", "3.", ".5", "-2", "3e0", "\t3 \n", "\v03\f\r", "1e-400", "-0")),
            *((value, 0) for value in (3, 3.5, False, True, -1e300)),
            *(("16", 1), ("2.5E1", 1), ("3.2e+1", 2), ("64", 3), ("1e400", 3), ("-1e400", 0), (1e300, 3), (2**60, 3)),
            *((text, 4) for text in ("inf", "-Infinity", "+inf", "nan", "NaN", "-nan", "", " ", ".", "+", "e3", "3e")),
            *((text, 4) for text in ("1_0", "2,5", "0x10", "1e1.5", "--3", "3 0", "1/3", "three", "true", "None")),
            *((text, 4) for text in ("\u0663", "\uff13", "\u00a03", "3\u2003", "\u20283", "\x1c3", "\ufeff3")),
            *((value, 4) for value in (None, [3], ["3"], [])),
        ],
    ),
    "reading-labels": (
        Q.Histogram(column="x", labels=["a", 3, True, "3", "\u00e9", " b"], mechanism=_SURE),
        [
            *(("a", 0), (3, 1), (3.0, 1), (True, 2), ("3", 3), ("\u00e9", 4), (" b", 5)),
            *((text, 6) for text in (" a", "a ", "A", "a\u00a0", "\uff41", "b", "\u00a0b", "e\u0301", "")),
            *((value, 6) for value in ("3.0", " 3", "+3", "\u0663", "true", "True", 1, 0, False, 3.5, None, ["a"])),
        ],
    ),
    "reading-items": (
        Q.SetFrequency(column="x", labels=["a", "b", "c"], size=2, separator="|", mechanism="privset:eps0=50"),
        [
            *(("a|b", [0, 1]), (" a | b\t", [0, 1]), ("b|b||a", [0, 1]), ("a", [0, 4]), ("", [3, 4]), (None, [3, 4])),
            *(("a\u00a0|b", [1, 4]), ("a|\u2003b", [0, 4]), ("\x1ca|A", [3, 4]), ("a,b", [3, 4])),
            *((["a", "b"], [0, 1]), ([" a", "b"], [1, 4]), ([None, 3, "c"], [2, 4]), ([["a"]], [3, 4])),
        ],
    ),
}


def _query(name: str) -> Query:
    return (CASES | TWICE | READING)[name][0]


def _values(name: str) -> list[Any]:
    return [value for value, _ in READING[name][1]] if name in READING else (CASES | TWICE)[name][1]


def plan(name: str) -> sdp.Plan:
    """The plan of a file."""
    query = _query(name)
    return sdp.Plan(query=query, users=10_000, delta=1e-6, reports_per_user=2 if name in TWICE else 1)


def thresholds(node: Any) -> Iterator[str]:
    """Every threshold of a law."""
    if isinstance(node, dict | list):
        for part in node.values() if isinstance(node, dict) else node:
            yield from thresholds(part)
    elif isinstance(node, str) and len(node) in (32, 33) and set(node) <= set("0123456789abcdef"):
        yield node


def written(name: str) -> dict[str, Any]:
    """What the file of a mechanism holds: values by random bytes, and those whose first word lies at a threshold."""
    made, values = portable(plan(name)), _values(name)
    some = [int(text, 16) for text in dict.fromkeys(thresholds(made["law"]))][:3]
    edges = [word.to_bytes(16, "big") for t in some for word in (t - 1, t) if 0 <= word < 2**128]
    starts = [b""] if name in READING else [b"", b"", b"", *edges]
    vectors = []
    for i, start in enumerate(starts):
        for value in values:
            used = Tape(start, f"{name} {i} {json.dumps(value)}")
            rows = value if name in TWICE else [value]
            report = [message.hex() for message in draw_rows(made, rows, used.take)]
            kind = "rows" if name in TWICE else "value"
            vectors.append({kind: value, "random": used.taken.hex(), "report": report})
    return {"mechanism": plan(name).query.randomizer.spec, "portable": made, "vectors": vectors}


class Tape:
    """Bytes that begin as given and go on as SHAKE-128 of a name; it keeps those that were taken."""

    def __init__(self, start: bytes, name: str) -> None:
        self._bytes = start + hashlib.shake_128(name.encode()).digest(1 << 16)
        self.taken = b""

    def take(self, count: int) -> bytes:
        found = self._bytes[len(self.taken) : len(self.taken) + count]
        self.taken += found
        return found


def main(names: list[str]) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in names or CASES | TWICE | READING:
        found = written(name)
        lines = ",\n".join(json.dumps(vector, ensure_ascii=False) for vector in found["vectors"])
        head = f'"mechanism": {json.dumps(found["mechanism"])},\n"portable": {json.dumps(found["portable"])}'
        (FOLDER / f"{name}.json").write_text(f'{{\n{head},\n"vectors": [\n{lines}\n]\n}}\n', "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
