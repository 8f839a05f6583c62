"""Simulated errors of a planned choice: its query is run on made-up users, again and again, beside the truth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import shuffledp as sdp


def users(found: sdp.Recommendation, rng: np.random.Generator, *, even: bool) -> list[Any]:
    """The columns of n users whose values are spread evenly over the inputs, or (not even) are all alike."""
    n, sizes = found.n, found.question.sizes
    d = sizes.get("d", 2)
    places = np.arange(n) % d if even else np.zeros(n, dtype=np.int64)
    if found.task in ("histogram", "sum of bits"):
        return [[str(place) for place in places]]
    if found.task == "location":
        return [[str(place) for place in places], places]
    if found.task in ("range", "quantile"):
        return [(places + 0.5) / d]
    if found.task == "mean":
        return [rng.uniform(size=n) if even else np.full(n, 0.5)]
    if found.task == "vector mean":
        vectors = rng.normal(size=(n, sizes["dim"])) if even else np.eye(1, sizes["dim"])[np.zeros(n, dtype=int)]
        return list((vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).T)
    size = sizes["size"]
    held = (places[:, None] + np.arange(size)) % d
    if found.task == "sets":
        return [["|".join(map(str, row)) for row in held]]
    return [[{str(key): 0.5 for key in row} for row in held]]


def errors(
    found: sdp.Recommendation, choice: sdp.Choice, *, repeats: int, seed: int, even: bool = True
) -> NDArray[Any]:
    """Squared errors of the entries of the answer, one row per repetition, as the task measures them."""
    rng = np.random.default_rng(seed)
    query = found.plan(choice).query
    columns = users(found, rng, even=even)
    if found.task == "location":
        columns = [columns[0]] if len(query.columns) == 1 else _middles(found, columns[1])
    truth = query.exact(columns)
    values, m = query.encode(columns), query.randomizer
    rows = []
    for _ in range(repeats):
        answer = query.answer(m.privatize_counts(values, rng=rng))
        if found.task in ("range", "quantile"):
            pairs = found.question.ranges
            rows.append(
                answer._shares(pairs, [""] * len(pairs), "").value - truth._shares(pairs, [""] * len(pairs), "").value
            )
        else:
            rows.append(
                np.ravel(answer.value[0] - truth.value[0] if answer.value.ndim == 2 else answer.value - truth.value)
            )
    return np.array(rows) ** 2


def _middles(found: sdp.Recommendation, cells: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    across, up = found.question.grid
    return [(cells % across + 0.5) / across, (cells // across + 0.5) / up]


def rmse(found: sdp.Recommendation, choice: sdp.Choice, **how: Any) -> float:
    """The root of the mean squared error over entries and repetitions."""
    return math.sqrt(float(errors(found, choice, **how).mean()))
