"""Questions about users, in their own words and units: a domain, what a client runs, and the answer with its error.

Names are resolved on first use, so that a client loads only its own query.
"""

from __future__ import annotations

import importlib
from typing import Any

#: The word of a plan file -> module and class; type checkers read ``__init__.pyi``, which make tables writes from it.
KINDS = {
    "histogram": ("histogram", "Histogram"),
    "range": ("ranges", "RangeQuery"),
    "mean": ("mean", "Mean"),
    "vector-mean": ("mean", "VectorMean"),
    "sets": ("sets", "SetFrequency"),
    "key-value": ("key_value", "KeyValue"),
    "marginals": ("marginals", "Marginals"),
    "location": ("location", "Location"),
    "heavy-hitters": ("heavy_hitters", "HeavyHitters"),
}
_HOME = {name: module for module, name in KINDS.values()}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=None)


def __dir__() -> list[str]:
    return sorted(__all__)
