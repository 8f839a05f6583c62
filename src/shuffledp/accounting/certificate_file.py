"""The steps of a certificate as JSON: every number of a law is an exact decimal, and nothing else is accepted."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support.numbers import exact, round_down, round_up
from .._support.reading import as_written, mapping
from ..numerics.pair import ShuffledPair
from ..numerics.swap.pair import SwapPair
from .certificate_steps import Law, Step

if TYPE_CHECKING:
    from ..numerics.proof.pairs import Method

_LAW = ("P0", "P1", "t")
_TYPES = ("types", "common_mass")
#: Keys of a method besides its kind and bits.
_METHOD = {
    "counts": ("cap",),
    "contour": ("c", "s", "h", "nodes"),
    "swap": ("c", "s", "h", "nodes", "waits"),
    "local": (),
}
_WHOLE = ("bits", "cap", "nodes", "waits")
#: Figures before and after the point: the exact decimal of a double has up to 1074.
_FIGURES = 1200


def written(step: Step) -> dict[str, Any]:
    """One step, JSON-ready; the proved ends are rounded outward."""
    method = step.method
    return {
        **law_written(step.pair),
        "method": {"kind": method.kind, "bits": method.bits}
        | {key: getattr(method, key) for key in _METHOD[method.kind]},
        "proved": [round_down(step.lower, 25), round_up(step.upper, 25)],
    }


def law_written(law: Law) -> dict[str, Any]:
    """A law in exact decimals."""
    if isinstance(law, SwapPair):
        return {"types": [law_written(pair) for pair in law.types], "common_mass": exact(Fraction(law.common_mass))}
    return {key: [exact(Fraction(float(x))) for x in np.asarray(getattr(law, key))] for key in _LAW}


def step_of(raw: object, *, types: bool) -> Step:
    """A step as it was written; with ``types`` it may be one of the swap bound."""
    swap = types and isinstance(raw, dict) and any(key in raw for key in _TYPES)
    given = mapping("pair", raw, needed=(*(_TYPES if swap else _LAW), "method", "proved"))
    law: Law
    if swap:
        from ..numerics.proof.swap import MAX_TYPES

        if len(several := listed(given["types"], "types")) > MAX_TYPES:
            raise ValueError(f"a pair has at most {MAX_TYPES:,} types, not {len(several):,}")
        several = [mapping("type", item, needed=_LAW) for item in several]
        law = SwapPair(tuple(_pair(item) for item in several), double(given["common_mass"]))
    else:
        law = _pair(given)
    low, high = (decimal(text, low=0, high=10**9) for text in listed(given["proved"], "proved"))
    return Step(law, _method(given["method"]), low, high)


def _pair(given: dict[str, Any]) -> ShuffledPair:
    return ShuffledPair(**{key: [double(x) for x in listed(given[key], key)] for key in _LAW})


def _method(raw: object) -> Method:
    """The stated method, with exactly the keys of its kind."""
    from ..numerics.proof.pairs import MAX_BITS, MAX_NODES, Method

    kind = raw.get("kind") if isinstance(raw, dict) else None
    if kind not in _METHOD:
        raise ValueError("method")
    given = mapping("method", raw, needed=("kind", "bits", *_METHOD[kind]))
    numbers: dict[str, Any] = {key: given[key] for key in given if key != "kind"}
    for key, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int if key in _WHOLE else int | float):
            raise ValueError(key)
    numbers = {key: value if key in _WHOLE else float(value) for key, value in numbers.items()}
    method = Method(kind, **numbers)
    if not 64 <= method.bits <= MAX_BITS or not 0 <= method.nodes <= MAX_NODES:
        raise ValueError("bits or nodes")
    return method


def listed(value: object, name: str) -> list[Any]:
    """A list, or ValueError."""
    if not isinstance(value, list):
        raise ValueError(f"{name} must be a list")
    return value


def decimal(text: object, *, low: int, high: int) -> Fraction:
    """A decimal in [low, high], as written."""
    value = as_written(text, figures=_FIGURES, exponent=4) if isinstance(text, str) and "/" not in text else None
    if value is None or not low <= value <= high:
        raise ValueError(f"{text!s:.40} is not in [{low}, {high}]")
    return value


def double(text: object) -> float:
    """The double that an exact decimal states; a decimal that is not a double is refused."""
    value = decimal(text, low=0, high=2)
    if Fraction(float(value)) != value:
        raise ValueError(f"{text!s:.40} is not an exact double")
    return float(value)
