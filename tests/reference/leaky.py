"""Randomizers as users write them, right and wrong, for audits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def seeded(*seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def unary(d: int, eps0: float, *, keep: bool = False, seed: int = 0) -> Callable[[int], Any]:
    """A unary encoder; ``keep`` is the bug of the field: the true bit is never flipped."""
    rng, flip = seeded(seed), 1.0 / (math.exp(eps0 / 2) + 1.0)

    def encoder(value: int) -> Any:
        bits = np.zeros(d, dtype=np.bool_)
        bits[value] = True
        bits ^= rng.random(d) < flip
        bits[value] |= keep
        return bits

    return encoder


def response(d: int, eps0: float, seed: int = 0) -> Callable[[int], int]:
    """Randomized response on 0, ..., d-1."""
    rng, stay = seeded(seed), math.exp(eps0) / (math.exp(eps0) + d - 1)
    return lambda x: int(x) if rng.random() < stay else int((x + rng.integers(1, d)) % d)


WHEEL = [[0.6, 0.4, 0.0], [0.0, 0.6, 0.4], [0.4, 0.0, 0.6]]


def step(share: float, names: Any = (0, 1, 2)) -> Callable[[int], Any]:
    """One step on with this probability, else stay: WHEEL at 0.4."""
    rng = seeded(8)
    return lambda x: names[(x + (rng.random() < share)) % 3]
