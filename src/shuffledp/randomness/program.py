"""A mechanism as a small program in whole numbers, so that clients in every language draw from the same law.

A program is plain data (JSON): an *input* that turns a user's row into whole numbers (program_input.py), a *law* that
randomizes them, and an *encoding* that writes a message.  ``docs/shuffler/laws.md`` defines every word of it, and the
vectors in ``clients/vectors`` say which random bytes give which messages.  Nothing here uses numpy: this is what any
client does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..errors import ParameterError
from .program_input import Node, of_kind, read_input, read_row
from .thresholds import Take, below, choose, coin, coins, sample, times

# -- laws -----------------------------------------------------------------------------------------------------------


def _keep(law: Node, x: Any, take: Take) -> int:
    return int(x) if coin(law["keep"], take) else below(law["size"], take)


def _bits(law: Node, x: Any, take: Take) -> list[int]:
    held = {x} if isinstance(x, int) else set(x)
    return [i for i in times(law["size"]) if coin(law["one" if i in held else "zero"], take)]


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
    seed = [below(buckets, take) for _ in times(law["bits"])]
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
    while times(size):
        signs = coins(size, take)
        dot = sum(1 if a == b else -1 for a, b in zip(signs, x, strict=True))
        if (high and dot < 0) or (not high and dot > 0 and odd):
            signs, dot = [1 - sign for sign in signs], -dot
        if (dot > 0) == high:
            return [i for i, sign in enumerate(signs) if sign]
    raise ParameterError("a law must have signs to draw, got none; do not run it.")


def _wheel(law: Node, x: Any, take: Take) -> list[int]:
    """Arcs of ``width`` points on a circle: a point of one of them, or one off all of them (sets/wheel.py)."""
    points, width = law["points"], law["width"]
    seed = [below(points, take) for _ in times(law["terms"])]
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


def draw_law(law: Node, x: Any, take: Take) -> Any:
    """One answer: a whole number, or a list of them, or of answers."""
    return of_kind(_LAWS, "law", law)(law, x, take)


def draw_messages(law: Node, x: Any, take: Take) -> list[Any]:
    """The messages of one report, the user's own ones first."""
    if law["kind"] != "messages":
        return [draw_law(law, x, take)]
    own = [0 for _ in times(x)] if law["per"] == "unit" else [x] if isinstance(x, int) else x
    found = [draw_law(law["own"], item, take) for item in own]
    many = law["first"] + choose(law["count"], take)
    return found + [draw_law(law["dummy"], law["held"], take) for _ in times(many)]


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
    return bytes(of_kind(_ENCODINGS, "encoding", encoding)(encoding, answer))


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
    >>> from .thresholds import threshold
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
    for _ in times(portable["reports_per_user"]):
        value = left.pop(below(len(left), take)) if left else None
        x = read_input(portable["input"], read_row(portable, value), take)
        found += [encode(portable["encoding"], answer) for answer in draw_messages(portable["law"], x, take)]
    if len(found) > portable["slots"]:
        raise ParameterError(f"messages must fit {portable['slots']} slots, got {len(found)}; check the law.")
    return found
