"""Fixed values of users, of every kind that a mechanism takes."""

from __future__ import annotations

from typing import Any

import numpy as np


def users_values(kind: dict[str, Any], users: int) -> Any:
    """``kind`` holds one key, which names what is made, and its size."""
    ((name, size),) = kind.items()
    return _KINDS[name](users, size)


def _categories(users: int, d: int) -> Any:
    """0, ..., d-1, the smaller ones more often."""
    return (d * (np.arange(users) / users) ** 2).astype(np.int64)


def _sets(users: int, size: list[int]) -> Any:
    """s neighboring items of d, wrapping around."""
    d, s = size
    return (_categories(users, d)[:, None] + np.arange(s)) % d


def _numbers(users: int, high: float) -> Any:
    return high * (np.arange(users) / users) ** 2


def _disk(users: int, diameter: float) -> Any:
    angle, radius = np.linspace(0.0, 2.0, users), np.linspace(0.0, 0.5 * diameter, users)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


def _vectors(users: int, dim: int) -> Any:
    """Coordinate j near a value of its own between -0.8 and 0.8."""
    return np.linspace(-0.8, 0.8, dim) + 0.2 * np.sin(np.arange(users))[:, None]


def _directions(users: int, dim: int) -> Any:
    around = np.arange(1.0, dim + 1) + 0.3 * np.sin(np.arange(users)[:, None] * np.arange(1, dim + 1))
    return around / np.linalg.norm(around, axis=1, keepdims=True)


def _keys(users: int, size: list[int]) -> Any:
    """Up to l of d keys, with a value each; -1 for none."""
    d, l = size
    keys = ((_categories(users, d)[:, None] + np.arange(l)) % d).astype(float)
    keys[np.arange(users)[:, None] % (l + 1) < np.arange(l)] = -1.0
    return np.stack([keys, np.where(keys < 0, 0.0, np.cos(keys))], axis=2)


def _several(users: int, sizes: list[int]) -> Any:
    """One value for each of several queries."""
    return [_categories(users, d) for d in sizes]


_KINDS = {
    "categories": _categories,
    "sets": _sets,
    "numbers": _numbers,
    "disk": _disk,
    "vectors": _vectors,
    "directions": _directions,
    "keys": _keys,
    "several": _several,
}
