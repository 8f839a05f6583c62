"""What a user holds as whole numbers, for the law of a program: labels, numbers on a grid, bins, sets, pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .._support.reading.values import BLANKS, label_key, number
from ..errors import ParameterError
from .thresholds import Take, below, coin, sample, threshold, times

Node = Mapping[str, Any]


def of_kind(known: Mapping[str, Any], what: str, node: Node) -> Any:
    """What is known for the kind of a node; another kind is refused."""
    kind = node["kind"]
    if kind not in known:
        raise ParameterError(f"kind of the {what} must be one that is known, got {kind!r:.40}; update the client.")
    return known[kind]


def _label(node: Node, row: Sequence[Any], take: Take) -> int:
    return _place(node, row[node["column"]])


def _place(node: Node, value: object) -> int:
    """Of the label that is the same text, truth value or whole number."""
    key = label_key(value)
    same = (i for i, label in enumerate(node["labels"]) if (type(label), label) == key)
    return next(same, node["other"])


def _share(node: Node, value: object) -> float:
    """Where in the range a number is, in [0, 1]; outside it the nearest end."""
    found = number(value)
    low, high = float(node["low"]), float(node["high"])
    inside = float(node["missing"]) if math.isnan(found) else min(max(found, low), high)
    return min(max((inside - low) / (high - low), 0.0), 1.0)


def _number(node: Node, row: Sequence[Any], take: Take) -> Any:
    value = 2.0 * _share(node, row[node["column"]]) - 1.0
    found = [_rounded(grid, value, take) for grid in node["grids"]]
    return found[0] if len(found) == 1 else found


def _rounded(grid: Any, value: float, take: Take) -> int:
    """The point below or above, at random, without bias; the coin takes the whole numbers that a float is made of."""
    points = grid if isinstance(grid, list) else [(2 * i - grid) / grid for i in times(grid + 1)]
    at = 0
    while at < len(points) - 2 and value >= points[at + 1]:
        at += 1
    part = (value - points[at]) / (points[at + 1] - points[at])
    return at + coin(threshold(min(max(part, 0.0), 1.0)), take)


def _bins(node: Node, row: Sequence[Any], take: Take) -> int:
    value = row[node["column"]]
    if node["option"] and math.isnan(number(value)):
        return int(node["bins"])
    bins = int(node["bins"])
    return min(int(_share(node, value) * bins), bins - 1)


def _cells(node: Node, row: Sequence[Any], take: Take) -> Any:
    places = [read_input(part, row, take) for part in node["of"]]
    found = []
    for some in node["asked"]:
        cell = 0
        for i in some:
            cell = cell * node["sizes"][i] + places[i]
        found.append(cell)
    return found[0] if len(found) == 1 else found


def _listed(value: Any) -> Iterable[Any]:
    """The entries of a list; one value is a list of one, and nothing an empty one."""
    return value if isinstance(value, list | tuple | set | frozenset) else [] if value is None else [value]


def _items(node: Node, row: Sequence[Any], take: Take) -> list[int]:
    """The items that count, each once; ``size`` of them where there are more, and dummies where there are fewer."""
    value, separator = row[node["column"]], node["separator"]
    if isinstance(value, str) and separator:
        value = [part.strip(BLANKS) for part in value.split(separator)]
    places = sorted({place for place in (_place(node, item) for item in _listed(value)) if place >= 0})
    if len(places) > node["size"]:
        places = [places[i] for i in sample(len(places), node["size"], take)]
    fill = node["fill"]
    return places if fill is None else places + [fill + j for j in times(node["size"])[len(places) :]]


def _pairs(node: Node, row: Sequence[Any], take: Take) -> int:
    """One of the pairs, or a dummy where there are fewer than ``size``, as 2 key + (1 if its sign is +)."""
    held = _named(node, row) if "labels" in node else _by_column(node, row)
    slot = below(max(len(held), node["size"]), take)
    key, share = held[slot] if slot < len(held) else (node["keys"] + below(node["size"], take), 0.5)
    return 2 * key + coin(threshold(share), take)


def _by_column(node: Node, row: Sequence[Any]) -> list[tuple[int, float]]:
    """The columns that hold a number, and where in the range it is."""
    return [(i, _share(node, value)) for i, value in enumerate(row) if not math.isnan(number(value))]


def _named(node: Node, row: Sequence[Any]) -> list[tuple[int, float]]:
    """The keys that count, rising, and the mean of where in the range their numbers are."""
    if len(row) == 2:
        keys, values = (list(_listed(value)) for value in row)
        pairs = list(zip(keys, values + [None] * len(keys), strict=False))
    else:
        both = row[0].items() if isinstance(row[0], Mapping) else _listed(row[0])
        pairs = [tuple(pair) for pair in both if isinstance(pair, list | tuple) and len(pair) == 2]
    sums: dict[int, tuple[float, int]] = {}
    for key, value in pairs:
        if (place := _place(node, key)) >= 0:
            total, many = sums.get(place, (0.0, 0))  # sum() of floats is not the same in every Python
            sums[place] = total + _share(node, value), many + 1
    return [(place, min(total / many, 1.0)) for place, (total, many) in sorted(sums.items())]


_INPUTS: dict[str, Callable[[Node, Sequence[Any], Take], Any]] = {
    "label": _label,
    "number": _number,
    "bins": _bins,
    "cells": _cells,
    "items": _items,
    "pairs": _pairs,
    "each": lambda node, row, take: [read_input(part, row, take) for part in node["of"]],
}


def read_input(node: Node, row: Sequence[Any], take: Take) -> Any:
    """What the law is given, of one value for every column."""
    return of_kind(_INPUTS, "input", node)(node, row, take)


def read_row(portable: Node, value: Any) -> list[Any]:
    """One value for every column: of a mapping, of a list with as many, or the value itself if there is one column."""
    columns = portable["columns"]
    if len(columns) == 1 and (not isinstance(value, Mapping) or _is_pairs(portable, value)):
        return [value]
    if isinstance(value, Mapping):
        return [value.get(name) for name in columns]
    if value is None:
        return [None] * len(columns)
    if not isinstance(value, list | tuple) or len(value) != len(columns):
        raise ParameterError(
            f"value must have one entry for each of {', '.join(columns)}, got {type(value).__name__}; pass a mapping "
            "or a list."
        )
    return list(value)


def _is_pairs(portable: Node, value: Mapping[str, Any]) -> bool:
    """Whether a mapping is {key: number} and not a row: it has not the column's name, or a number there."""
    name, read = portable["columns"][0], portable["input"]
    named = read["kind"] == "pairs" and "labels" in read
    return named and (name not in value or isinstance(value[name], int | float))
