"""A plan as a program in whole numbers, which clients in every language run: input, law and encoding.

The law is that of the plan's mechanism but for rounding: thresholds are whole multiples of 2^-128, and a report has a
fixed number of slots, so that the few users who have more messages than slots leave some out.  How far the two laws are
apart at most, for one user, is :func:`tau`; for all users together :func:`charge` says what it costs in delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from .._support.exponentials import exp
from ..errors import ParameterError
from ..mechanisms.codecs import Category, Codec, Digits, Members, PackedBits
from ..mechanisms.record_codecs import Records, Tuples
from ..randomness.program import draw, draw_rows, encoded_bytes
from ..randomness.thresholds import ONE
from ..randomness.whole_numbers import poisson_cuts
from .plan import Plan

__all__ = ["charge", "draw", "draw_rows", "portable", "tau"]

#: The share of delta that messages beyond the slots may take, at the eps of the plan; that of a publication is more.
_SHARE = Fraction(1, 200)
#: Most slots of a report, and most thresholds and points of a law.
_MOST_SLOTS, _MOST_LISTED = 20_000, 50_000

Node = Mapping[str, Any]


def portable(plan: Plan) -> dict[str, Any]:
    """What a client of this plan runs, ready for JSON; refused where the law is not finite or too long to list.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> fruit = sdp.queries.Histogram(column="fruit", labels=["apple", "pear"], mechanism="grr:eps0=2")
    >>> found = portable(sdp.Plan(query=fruit, users=10_000, delta=1e-6))
    >>> found["law"]["kind"], found["slots"], found["message_bytes"]
    ('keep', 1, 1)
    >>> len(draw(found, "pear", bytes))
    1
    """
    query, rows = plan.query, plan.reports_per_user
    read, law = query._portable()
    if "poisson" in law:
        first, count, _ = _counted(plan, law["poisson"])
        law = {**{key: value for key, value in law.items() if key != "poisson"}, "first": first, "count": count}
    if bool(query.randomizer._rounding) != _has_number(read):
        raise ParameterError(
            f"mechanism must be for the values of the query, got {query.randomizer.spec}; name another."
        )
    encoding = _encoding(query.randomizer.codec)
    slots = rows * _messages(law, read)
    _refuse_long(_listed(law) + _listed(read.get("grids", [])), slots)
    return {
        "columns": list(query.columns),
        "input": read,
        "law": law,
        "encoding": encoding,
        "message_bytes": encoded_bytes(encoding),
        "slots": slots,
        "reports_per_user": rows,
    }


def tau(plan: Plan, made: Node) -> Fraction:
    """An upper bound on the distance in total variation between the law that clients run and that of the plan.

    Every threshold is within 2^-128 of its probability (those of a Poisson number within two units), and laws that are
    drawn one after the other are no further apart than the sum of theirs.  To this comes the chance that a user has
    more messages than slots.

    plan, made : a plan, and what :func:`portable` made of it
    """
    law = plan.query._portable()[1]
    beyond = _counted(plan, law["poisson"])[2] if "poisson" in law else Fraction(0)
    return int(made["reports_per_user"]) * (Fraction(_units(made["law"]), ONE) + beyond)


def charge(plan: Plan, made: Node, *, users: int, epsilon: float) -> float:
    """What the distance of the laws of ``users`` users adds to delta at most: (1 + e^eps) users tau, rounded up.

    If the law of every user is replaced by one at distance tau, that of the batch moves by at most users tau, under
    either dataset: Pr[A] <= e^eps (Pr'[A] + users tau) + delta + users tau.
    """
    if epsilon > 700:  # beyond floats, and beyond any use
        return math.inf
    exact = (1 + Fraction(exp(epsilon)) * Fraction(1 + 2**-40)) * users * tau(plan, made)
    return math.nextafter(float(exact), math.inf)


def _counted(plan: Plan, mean: Fraction) -> tuple[int, list[str], Fraction]:
    """The number of dummies, cut off where all users together lose too little of delta to matter."""
    stated = float(plan.to_dict()["guarantee"]["epsilon"])  # as in the file, so that it is the same in every version
    odds = 1 + Fraction(exp(min(stated, 700.0)))
    return poisson_cuts(mean, _SHARE * Fraction(plan.delta) / (odds * plan.users * plan.reports_per_user))


# -- sizes ----------------------------------------------------------------------------------------------------------


def _messages(law: Node, read: Node) -> int:
    """Messages of a report, at most: its own ones, and the dummies."""
    if law["kind"] != "messages":
        return 1
    own = {"value": 1, "item": read.get("size", 1), "unit": (read.get("grids") or [1])[0]}
    return int(own[law["per"]] + law["first"] + len(law["count"]))


def _refuse_long(listed: int, slots: int) -> None:
    if slots > _MOST_SLOTS:
        raise ParameterError(
            f"a report must have at most {_MOST_SLOTS:,} slots, got {slots:,} messages of one user; use a mechanism of "
            "fewer messages, such as grr or subset."
        )
    if listed > _MOST_LISTED:
        raise ParameterError(
            f"a law must list at most {_MOST_LISTED:,} numbers to be published, got {listed:,}; use one with fewer "
            "inputs or outputs."
        )


def _listed(node: Any) -> int:
    """Entries of all lists."""
    if isinstance(node, Mapping):
        return sum(map(_listed, node.values()))
    return sum(map(_listed, node)) if isinstance(node, list) else 1


def _has_number(read: Node) -> bool:
    return read["kind"] == "number" or any(map(_has_number, read.get("of", ())))


# -- the distance of the laws, in units of 2^-128 -------------------------------------------------------------------


def _of_messages(law: Node) -> int:
    most = law["first"] + len(law["count"])
    own = (
        0 if law["own"]["kind"] == "same" else _units(law["own"])
    )  # several messages of a user are its items themselves
    return int(own + 2 * len(law["count"]) + 2 + most * _units(law["dummy"]))


_UNITS: dict[str, Callable[[Node], int]] = {
    "same": lambda law: 0,
    "uniform": lambda law: 0,
    "block": lambda law: 0,
    "bits": lambda law: int(law["size"]),
    "subset": lambda law: len(law["hits"]),
    "table": lambda law: max(map(len, law["rows"])),
    "one-of": lambda law: len(law["cuts"]) + max(map(_units, law["laws"])),
    "all": lambda law: sum(map(_units, law["laws"])),
    "coordinate": lambda law: _units(law["law"]),
    "pick": lambda law: _units(law["law"]),
    "messages": _of_messages,
}


def _units(law: Node) -> int:
    """How many thresholds a draw may look at, at most: one for the kinds that flip a single coin."""
    found = _UNITS.get(law["kind"])
    return found(law) if found else 1


# -- encodings ------------------------------------------------------------------------------------------------------


def _encoding(codec: Codec) -> dict[str, Any]:
    """How a codec writes messages, in words that any language understands; numbers are little-endian."""
    size = codec.dtype.itemsize
    if isinstance(codec, Category):
        return {"kind": "number", "bytes": size}
    if isinstance(codec, PackedBits):
        return {"kind": "bits", "size": codec.width}
    if isinstance(codec, Members | Digits):
        return {"kind": "numbers", "bytes": size, "count": codec.count}
    if isinstance(codec, Tuples):
        return {"kind": "all", "fields": [_encoding(part) for part in codec.parts]}
    if isinstance(codec, Records):
        names = (codec.dtype.names or ())[1:]
        home = [names.index(name) for name in Records.fields(codec.dtype)]
        fields = [_encoding(codec.parts[home.index(i)]) for i in range(len(names))]
        return {"kind": "one-of", "bytes": codec.dtype["query"].itemsize, "fields": fields, "field_of": home}
    raise ParameterError(
        f"reports must be whole numbers, bits or records of them, got {type(codec).__name__}; use grr."
    )
