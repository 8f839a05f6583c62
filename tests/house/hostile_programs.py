"""Programs of no plan, made to be read in one way and run in another, or to answer what their encoding cannot write.

Nearly all of them would pass a client that only compares their thresholds with an eps0 of 2.
"""

from __future__ import annotations

from typing import Any

Node = dict[str, Any]
HALF = "8" + 31 * "0"
BYTE: Node = {"kind": "number", "bytes": 1}


def _input(kind: str, column: Any = 0, **more: Any) -> Node:
    own = {
        "label": {"labels": ["a"], "other": 1},
        "items": {"labels": ["a", "b"], "other": -1, "size": 2, "separator": ""},
    }
    return {"kind": kind, "column": column, **own.get(kind, {"low": 0, "high": 1, "missing": 0}), **more}


def _keep(outputs: int, **more: Any) -> Node:
    """The truth with odds of 7 to 1 against any other answer, which an eps0 of 2 allows."""
    return {"kind": "keep", "size": outputs, "keep": f"{6 * 2**128 // (6 + outputs):032x}", **more}


def _numbers(count: int, size: int = 1) -> Node:
    return {"kind": "numbers", "bytes": size, "count": count}


def _encoded_bytes(encoding: Node) -> int:
    """As a client counts them that does not look at the kind."""
    if encoding["kind"] == "bits":
        return int(encoding["size"] + 7) // 8
    own = int(encoding.get("bytes", 0)) * int(encoding.get("count", 1))
    return own + sum(map(_encoded_bytes, encoding.get("fields", ())))


def _program(read: Node, law: Node, encoding: Node = BYTE, columns: int = 1) -> Node:
    names = [f"column {i}" for i in range(columns)]
    size = _encoded_bytes(encoding)
    return {"columns": names, "input": read, "law": law, "encoding": encoding, "message_bytes": size}


LABEL, BINS, SETS = _input("label"), _input("bins", bins=2, option=False), _input("items", fill=2)
EACH: Node = {"kind": "each", "of": [LABEL, _input("label", 1)]}
PARTS: Node = {"kind": "one-of", "cuts": [HALF], "laws": [_keep(2), _keep(2)]}
COORDINATE: Node = {"kind": "coordinate", "size": 2, "step": 2, "law": _keep(2)}
SUBSET: Node = {"kind": "subset", "size": 4, "members": 2, "hits": [f"{2**128 // 6:032x}", f"{5 * 2**128 // 6:032x}"]}
WHEEL: Node = {"kind": "wheel", "points": 40, "width": 4, "terms": 1, "on": f"{2**128 // 5:032x}"}


def _all(*laws: Node) -> Node:
    return {"kind": "all", "laws": list(laws)}


def _read_differently() -> dict[str, Node]:
    digits = [_input("label", i, labels=[str(k) for k in range(9)], other=9) for i in range(2)]
    nested: list[Node] = [{"kind": "each", "of": [one]} for one in digits]
    signs: list[Node] = [{"kind": "each", "of": [one]} for one in EACH["of"]]
    key = {"keys": 1, "size": 1}
    return {
        "option-1": _program({**BINS, "option": 1}, _keep(2)),
        "option-text": _program({**BINS, "option": "x"}, _keep(2)),
        "option-raw": _program({**BINS, "bins": 1, "option": 1}, {"kind": "same"}),
        "cells-of-lists": _program(
            {"kind": "cells", "of": nested, "sizes": [10, 10], "asked": [[0, 1]]}, _keep(100), {**BYTE, "bytes": 2}, 2
        ),
        "pairs-columns": _program(_input("pairs", **key), _keep(4), columns=3),
        "pairs-labels-null": _program(_input("pairs", labels=None, other=-1, **key), _keep(4)),
        "signs-of-lists": _program(
            {"kind": "each", "of": signs},
            {"kind": "half-space", "size": 2, "high": HALF},
            {"kind": "bits", "size": 2},
            2,
        ),
        "kind-list": _program({**LABEL, "kind": ["label"]}, _keep(2)),
        "kind-list-encoding": _program(LABEL, _keep(2), {**BYTE, "kind": ["number"]}),
        "kind-inherited-input": _program({**LABEL, "kind": "constructor"}, _keep(2)),
        "kind-inherited-encoding": _program(LABEL, _keep(2), {**BYTE, "kind": "valueOf"}),
        "column-inherited": _program({**LABEL, "column": "length"}, _keep(2)),
        "column-beyond": _program({**LABEL, "column": 1}, _keep(2)),
        "size-text": _program(LABEL, _keep(2, size="2")),
        "keep-list": _program(LABEL, _keep(2, keep=[_keep(2)["keep"]])),
        "missing-text": _program({**BINS, "missing": "0"}, _keep(2)),
        "other-text": _program({**LABEL, "other": "1"}, _keep(2)),
        "grid-text": _program(_input("number", grids=["1"]), _keep(2)),
        "grid-endless": _program(_input("number", grids=[2**50]), _keep(2**52), {**BYTE, "bytes": 7}),
        "fill-missing": _program(_input("items"), WHEEL, _numbers(2)),
        "separator-number": _program({**SETS, "separator": 1}, WHEEL, _numbers(2)),
        "law-more-fields": _program(LABEL, _keep(2, count=3)),
        "encoding-more-fields": _program(LABEL, _keep(2), {**BYTE, "fields": [BYTE]}),
        "starts-text": _program(EACH, {**PARTS, "starts": ["0", "2"]}, columns=2),
        "starts-of-lists": _program(
            {"kind": "each", "of": [EACH, EACH]}, {**PARTS, "laws": 2 * [_all(_keep(2))], "starts": [0, 2]}, columns=2
        ),
        "divide-null": _program(EACH, {**PARTS, "starts": [0, 2], "divide": None}, columns=2),
        "step-text": _program(EACH, {**COORDINATE, "step": "2"}, columns=2),
    }


def _not_written() -> dict[str, Node]:
    rows = [[f"{2**119 * more:032x}", *(f"{2**127 + i:032x}" for i in range(255))] for more in (1, 2)]
    two: Node = {"kind": "one-of", "bytes": 1, "fields": [BYTE], "field_of": [0]}
    coin = {"one": HALF, "zero": HALF}
    return {
        "table": _program(LABEL, {"kind": "table", "rows": rows}),
        "keep": _program(LABEL, _keep(257)),
        "coordinate": _program(EACH, {**COORDINATE, "step": 255}, columns=2),
        "starts": _program(EACH, {**PARTS, "starts": [0, 255]}, columns=2),
        "numbers": _program(SETS, SUBSET, _numbers(3)),
        "digits": _program(LABEL, {"kind": "hash", "buckets": 257, "bits": 1, "keep": 32 * "0"}, _numbers(2)),
        "bits": _program(LABEL, {"kind": "bits", "size": 9, **coin}, {"kind": "bits", "size": 8}),
        "parts": _program(EACH, PARTS, two, 2),
        "fields": _program(EACH, _all(_keep(2), _keep(2, keep=32 * "0")), {"kind": "all", "fields": [BYTE]}, 2),
        "list": _program(EACH, _all(_keep(2)), columns=2),
        "members": _program(SETS, {**SUBSET, "members": 3, "hits": [HALF, "c" + 31 * "0"]}, _numbers(3)),
        "hits": _program(SETS, {**SUBSET, "members": 1, "hits": ["4" + 31 * "0", HALF]}, _numbers(1)),
        "wheel": _program(SETS, {**WHEEL, "points": 2**53 - 1, "width": 2**51, "on": HALF}, _numbers(2, 7)),
    }


def programs() -> dict[str, tuple[str, Node]]:
    """Why each is refused, and what it changes in the program of a plan."""
    differently = {name: ("the program is read in two ways", one) for name, one in _read_differently().items()}
    unwritten = {f"not-written-{name}": ("answers that cannot be written", one) for name, one in _not_written().items()}
    return differently | unwritten
