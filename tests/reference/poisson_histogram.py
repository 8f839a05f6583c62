"""Poisson histograms from the definition: every set against every other one, all counts of all indices enumerated."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

#: Counts up to this many fabricated messages are enumerated; means below 3 leave less than 1e-30 beyond.
MOST = 44


def truth(d: int, most: int, mu: float, ratio: float) -> float:
    """max D_E over all pairs of sets of at most ``most`` of d indices, among Poisson(mu) messages of each."""
    held = list(_sets(d, most))
    laws = {s: _law(d, s, mu) for s in held}
    return max(float(np.maximum(laws[a] - ratio * laws[b], 0.0).sum()) for a in held for b in held)


def repeated(mu: float, times: int, ratio: float) -> float:
    """D_E where one user sends one index ``times`` times, or another index as often."""
    p, q = _one(mu, times), _one(mu, 0)
    one, other = np.multiply.outer(p, q), np.multiply.outer(q, p)
    return float(np.maximum(one - ratio * other, 0.0).sum())


def _sets(d: int, most: int) -> Iterator[tuple[int, ...]]:
    for size in range(most + 1):
        yield from itertools.combinations(range(d), size)


def _law(d: int, held: tuple[int, ...], mu: float) -> NDArray[np.float64]:
    """The joint law of the d counts of a user who holds these indices."""
    law = np.ones(())
    for index in range(d):
        law = np.multiply.outer(law, _one(mu, int(index in held)))
    return law


def _one(mu: float, own: int) -> NDArray[np.float64]:
    """Pr[own + Poisson(mu) = 0, 1, ...]."""
    out = np.zeros(MOST)
    for k in range(MOST - own):
        out[own + k] = math.exp(k * math.log(mu) - mu - math.lgamma(k + 1.0))
    return out
