"""Results as JSON: the one place that says how to write numbers that JSON does not have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def json_ready(value: Any) -> Any:
    """Return the value with infinity as the text "inf", and tuples and arrays as lists, at any depth.

    Examples
    --------
    >>> json_ready({"epsilon": float("inf"), "sizes": (1, 2.5)})
    {'epsilon': 'inf', 'sizes': [1, 2.5]}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return json_object(value)
    if hasattr(value, "tolist"):  # an array
        value = value.tolist()
    return [json_ready(item) for item in value] if isinstance(value, list | tuple) else value


def json_object(value: Mapping[str, Any]) -> dict[str, Any]:
    """A whole object of JSON, as :func:`json_ready` makes it."""
    return {key: json_ready(item) for key, item in value.items()}
