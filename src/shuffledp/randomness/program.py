"""A mechanism as a small program in whole numbers, so that clients in every language draw from the same law.

A program is plain data (JSON): an *input* that turns a user's row into whole numbers, a *law* that randomizes them, and
an *encoding* that writes a message.  ``docs/shuffler/laws.md`` defines every word of it, and the vectors in
``clients/vectors`` say which random bytes give which messages.  Nothing here uses numpy: this is what any client does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

from ..errors import ParameterError

#: Binary digits of a random word, and how many words there are.
_BITS = 128
ONE = 1 << _BITS
#: Whole numbers up to this are exact in every language.
_EXACT = 2.0**53
_BLANK = " \t\n\r\f\v"
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)

#: ``take(k)`` gives the next k random bytes.
Take = Callable[[int], bytes]
Node = Mapping[str, Any]


# -- writing a law: probabilities as thresholds ---------------------------------------------------------------------


def threshold(probability: float | Fraction) -> str:
    """The threshold of a coin, rounded down: 32 hexadecimal digits, and 33 for a probability of 1.

    Examples
    --------
    >>> threshold(0.5), threshold(1.0) == "1" + 32 * "0"
    ('80000000000000000000000000000000', True)
    """
    exact = Fraction(probability)
    if not 0 <= exact <= 1:
        raise ParameterError(f"probability must lie in [0, 1], got {float(exact):g}; check the law.")
    return f"{exact.numerator * ONE // exact.denominator:032x}"


def chance_of(own: float, rest: float) -> str:
    """The threshold of ``own``, where it and ``rest`` sum to 1: by the smaller one, so that both keep all their digits.

    Accounting takes every probability to be right to a relative 2^-50 (docs/proofs.md, Lemma 5); 1 - own in floats
    would not be, where own is near 1.

    Examples
    --------
    >>> chance_of(1.0 - 2.0**-53, 2.0**-70) == threshold(1 - Fraction(1, 2**70))
    True
    """
    return threshold(Fraction(own) if own <= rest else 1 - Fraction(rest))


def cuts(weights: Sequence[int | Fraction]) -> list[str]:
    """The sums of probabilities proportional to the weights, as thresholds: one fewer than there are weights.

    Examples
    --------
    >>> [cut[:4] for cut in cuts([1, 2, 1])]
    ['4000', 'c000']
    """
    total = Fraction(sum(weights))
    return [threshold(below / total) for below in accumulate(map(Fraction, weights[:-1]))]


# -- random numbers -------------------------------------------------------------------------------------------------


def coin(text: str, take: Take) -> bool:
    """Whether a random word is below the threshold."""
    return int.from_bytes(take(_BITS // 8), "big") < int(text, 16)


def choose(listed: Sequence[str], take: Take) -> int:
    """How many of the rising thresholds are at most a random word; without any, 0, and nothing is drawn."""
    if not listed:
        return 0
    word = int.from_bytes(take(_BITS // 8), "big")
    return sum(int(text, 16) <= word for text in listed)


def below(bound: int, take: Take) -> int:
    """A uniform number in [0, bound): as many bits as bound - 1 has, drawn again where that is too large."""
    bits = (bound - 1).bit_length()
    while bits:
        found = int.from_bytes(take((bits + 7) // 8), "big") & ((1 << bits) - 1)
        if found < bound:
            return found
    return 0


def coins(count: int, take: Take) -> list[int]:
    """Fair coins: the first bits of as many bytes as they need."""
    word = int.from_bytes(take((count + 7) // 8), "big") >> -count % 8
    return [word >> (count - 1 - i) & 1 for i in range(count)]


def sample(size: int, count: int, take: Take) -> list[int]:
    """``count`` different numbers of [0, size), rising (Floyd; Bentley, CACM 30(9), 1987)."""
    found: set[int] = set()
    for last in range(size - count, size):
        drawn = below(last + 1, take)
        found.add(last if drawn in found else drawn)
    return sorted(found)


# -- laws -----------------------------------------------------------------------------------------------------------


def _keep(law: Node, x: Any, take: Take) -> int:
    return int(x) if coin(law["keep"], take) else below(law["size"], take)


def _bits(law: Node, x: Any, take: Take) -> list[int]:
    held = {x} if isinstance(x, int) else set(x)
    return [i for i in range(law["size"]) if coin(law["one" if i in held else "zero"], take)]


def _subset(law: Node, x: Any, take: Take) -> list[int]:
    """Some of the held items, uniformly, and others that are not held, numbered without those that are."""
    held = [x] if isinstance(x, int) else list(x)
    hits = choose(law["hits"], take)
    found = [held[i] for i in sample(len(held), hits, take)]
    for other in sample(law["size"] - len(held), law["members"] - hits, take):
        for item in sorted(held):
            other += other >= item
        found.append(other)
    return sorted(found)


def _window(law: Node, x: Any, take: Take) -> int:
    return below(law["outputs"], take) if coin(law["uniform"], take) else int(x) + below(law["cells"], take)


def _one_of(law: Node, x: Any, take: Take) -> Any:
    k = choose(law["cuts"], take)
    own = x // law["divide"] ** k if "divide" in law else x[k]
    answer = draw_law(law["laws"][k], own, take)
    return answer + law["starts"][k] if "starts" in law else [k, answer]


def _coordinate(law: Node, x: Any, take: Take) -> int:
    k = below(law["size"], take)
    return k * int(law["step"]) + int(draw_law(law["law"], x[k], take))


def _hash(law: Node, x: Any, take: Take) -> list[int]:
    buckets = law["buckets"]
    seed = [below(buckets, take) for _ in range(law["bits"])]
    place = sum(a for i, a in enumerate(seed) if x >> i & 1) % buckets
    return [*seed, place if coin(law["keep"], take) else below(buckets, take)]


def _hadamard(law: Node, x: Any, take: Take) -> int:
    """A uniform output, or one of the block at which the row of x is +1: an odd product is made even."""
    block, row = divmod(x, law["block"] - 1)
    anywhere, keep = below(law["outputs"], take), coin(law["keep"], take)
    row += 1
    inside = anywhere % law["block"]
    if (inside & row).bit_count() % 2:
        inside ^= row & -row
    return int(block * law["block"] + inside if keep else anywhere)


def _half_space(law: Node, x: Any, take: Take) -> list[int]:
    """Signs (the places of +) with a positive product with those of x, or with one that is not positive."""
    size, odd = law["size"], law["size"] % 2
    high = coin(law["high"], take)
    while True:
        signs = coins(size, take)
        dot = sum(1 if a == b else -1 for a, b in zip(signs, x, strict=True))
        if (high and dot < 0) or (not high and dot > 0 and odd):
            signs, dot = [1 - sign for sign in signs], -dot
        if (dot > 0) == high:
            return [i for i, sign in enumerate(signs) if sign]


def _wheel(law: Node, x: Any, take: Take) -> list[int]:
    """Arcs of ``width`` points on a circle: a point of one of them, or one off all of them (sets/wheel.py)."""
    points, width = law["points"], law["width"]
    seed = [below(points, take) for _ in range(law["terms"])]
    start = sorted(sum(c * item ** (i + 1) for i, c in enumerate(seed)) % points for item in x)
    room = [((*start[1:], start[0] + points)[i] - start[i]) for i in range(len(start))]
    arc, offset = below(len(start), take), below(width, take)
    if coin(law["on"], take) and offset < room[arc]:
        return [*seed, (start[arc] + offset) % points]
    added = [min(space, width) for space in room]
    point = below(points - sum(added), take)
    for first, more in zip(start, added, strict=True):
        point += more * (point >= first - start[0])
    return [*seed, (start[0] + point) % points]


_LAWS: dict[str, Callable[[Node, Any, Take], Any]] = {
    "same": lambda law, x, take: x,
    "uniform": lambda law, x, take: below(law["size"], take),
    "block": lambda law, x, take: x * law["size"] + below(law["size"], take),
    "keep": _keep,
    "bits": _bits,
    "subset": _subset,
    "window": _window,
    "table": lambda law, x, take: choose(law["rows"][x], take),
    "one-of": _one_of,
    "all": lambda law, x, take: [draw_law(part, own, take) for part, own in zip(law["laws"], x, strict=True)],
    "coordinate": _coordinate,
    "pick": lambda law, x, take: draw_law(law["law"], x[below(len(x), take)], take),
    "hash": _hash,
    "hadamard": _hadamard,
    "half-space": _half_space,
    "wheel": _wheel,
}


def _of_kind(known: Mapping[str, Any], what: str, node: Node) -> Any:
    kind = node["kind"]
    if kind not in known:
        raise ParameterError(f"kind of the {what} must be one that is known, got {kind!r:.40}; update the client.")
    return known[kind]


def draw_law(law: Node, x: Any, take: Take) -> Any:
    """One answer: a whole number, or a list of them, or of answers."""
    return _of_kind(_LAWS, "law", law)(law, x, take)


def draw_messages(law: Node, x: Any, take: Take) -> list[Any]:
    """The messages of one report, the user's own ones first."""
    if law["kind"] != "messages":
        return [draw_law(law, x, take)]
    own = [0] * x if law["per"] == "unit" else [x] if isinstance(x, int) else x
    found = [draw_law(law["own"], item, take) for item in own]
    many = law["first"] + choose(law["count"], take)
    return found + [draw_law(law["dummy"], law["held"], take) for _ in range(many)]


# -- inputs ---------------------------------------------------------------------------------------------------------


def number(value: object) -> float:
    """The number that a value is, or that a text spells in decimals; NaN where it is none."""
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value) else math.nan
    if not isinstance(value, int | float):
        return math.nan
    if isinstance(value, int) and abs(value) >= 2**1023:
        return math.inf if value > 0 else -math.inf
    return float(value)


def _label(node: Node, row: Sequence[Any], take: Take) -> int:
    return _place(node, row[node["column"]])


def _place(node: Node, value: object) -> int:
    """Of the label that is the same text, truth value or whole number."""
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        value = int(value)
    same = (i for i, label in enumerate(node["labels"]) if type(label) is type(value) and label == value)
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
    points = grid if isinstance(grid, list) else [(2 * i - grid) / grid for i in range(grid + 1)]
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
        value = [part.strip(_BLANK) for part in value.split(separator)]
    places = sorted({place for place in (_place(node, item) for item in _listed(value)) if place >= 0})
    if len(places) > node["size"]:
        places = [places[i] for i in sample(len(places), node["size"], take)]
    fill = node["fill"]
    return places if fill is None else places + [fill + j for j in range(len(places), node["size"])]


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
    return _of_kind(_INPUTS, "input", node)(node, row, take)


def _row(columns: Sequence[str], value: Any) -> list[Any]:
    """One value for every column: of a mapping, of a list with as many, or the value itself if there is one column."""
    if isinstance(value, Mapping):
        return [value.get(name) for name in columns]
    if len(columns) == 1:
        return [value]
    if value is None:
        return [None] * len(columns)
    if not isinstance(value, list | tuple) or len(value) != len(columns):
        raise ParameterError(
            f"value must have one entry for each of {', '.join(columns)}, got {type(value).__name__}; pass a mapping "
            "or a list."
        )
    return list(value)


def _is_pairs(portable: Node, value: Any) -> bool:
    """Whether a mapping is {key: number} and not a row: it has not the column's name, or a number there."""
    columns, named = portable["columns"], portable["input"]["kind"] == "pairs" and "labels" in portable["input"]
    mapping = named and len(columns) == 1 and isinstance(value, Mapping)
    return mapping and (columns[0] not in value or isinstance(value[columns[0]], int | float))


# -- messages as bytes ----------------------------------------------------------------------------------------------


def _packed(encoding: Node, answer: Iterable[int]) -> bytes:
    """One bit per place, the first one highest."""
    out = bytearray((encoding["size"] + 7) // 8)
    for i in answer:
        out[i // 8] |= 128 >> i % 8
    return bytes(out)


def _record(encoding: Node, answer: Any) -> bytes:
    """The number of the part that answers, then every field: zeros but for that of the part."""
    k, own = answer
    out = k.to_bytes(encoding["bytes"], "little")
    for i, field in enumerate(encoding["fields"]):
        out += encode(field, own) if encoding["field_of"][k] == i else bytes(encoded_bytes(field))
    return bytes(out)


_ENCODINGS: dict[str, Callable[[Node, Any], bytes]] = {
    "number": lambda encoding, answer: answer.to_bytes(encoding["bytes"], "little"),
    "numbers": lambda encoding, answer: b"".join(x.to_bytes(encoding["bytes"], "little") for x in answer),
    "bits": _packed,
    "one-of": _record,
    "all": lambda e, answer: b"".join(encode(field, own) for field, own in zip(e["fields"], answer, strict=True)),
}


def encode(encoding: Node, answer: Any) -> bytes:
    """A message as bytes, always as many."""
    return bytes(_of_kind(_ENCODINGS, "encoding", encoding)(encoding, answer))


def encoded_bytes(encoding: Node) -> int:
    """How many bytes a message has."""
    kind = encoding["kind"]
    if kind == "bits":
        return int(encoding["size"] + 7) // 8
    own = int(encoding.get("bytes", 0)) * int(encoding.get("count", 1))
    return own + sum(encoded_bytes(field) for field in encoding.get("fields", ()))


# -- a report -------------------------------------------------------------------------------------------------------


def draw(portable: Node, value: Any, take: Take) -> list[bytes]:
    """The messages of a user who holds ``value``.

    value : of the column, or a mapping or a list with one entry per column; None: nothing
    take : gives the next k random bytes, such as ``secrets.token_bytes``

    Examples
    --------
    >>> fruit = {
    ...     "columns": ["fruit"], "reports_per_user": 1, "slots": 1,
    ...     "input": {"kind": "label", "column": 0, "labels": ["apple", "pear"], "other": 2},
    ...     "law": {"kind": "keep", "size": 3, "keep": threshold(0.75)}, "encoding": {"kind": "number", "bytes": 1},
    ... }
    >>> draw(fruit, "pear", bytes)
    [b'\\x01']
    """
    return draw_rows(portable, [value], take)


def draw_rows(portable: Node, rows: Sequence[Any], take: Take) -> list[bytes]:
    """The messages of a user with several rows, or none: as many as the plan says, drawn without replacement."""
    left, found = list(rows), []
    for _ in range(portable["reports_per_user"]):
        value = left.pop(below(len(left), take)) if left else None
        row = [value] if _is_pairs(portable, value) else _row(portable["columns"], value)
        x = read_input(portable["input"], row, take)
        found += [encode(portable["encoding"], answer) for answer in draw_messages(portable["law"], x, take)]
    if len(found) > portable["slots"]:
        raise ParameterError(f"messages must fit {portable['slots']} slots, got {len(found)}; check the law.")
    return found
