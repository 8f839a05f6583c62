"""Repeats a query on the same data and judges its errors: bias, intervals and predicted size."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from shuffledp.estimation.estimate import Estimate
from shuffledp.queries.base import Query
from shuffledp.queries.columns import Column


def judge(
    query: Query,
    columns: Sequence[Column],
    *,
    repeat: int,
    seed: int,
    ask: Callable[[Estimate], Estimate] = lambda answer: answer,
) -> None:
    """Mean error, coverage and size of the error within four standard errors, pooled over the items.

    Items of one answer are correlated, so that the standard errors over repetitions are taken from the repetitions.
    """
    rng = np.random.default_rng(seed)
    truth = ask(query.exact(columns)).value
    inputs = query.encode(columns)
    raw, off, inside = [], [], []
    for _ in range(repeat):
        found = ask(query.answer(query.randomizer.privatize_counts(inputs, rng=rng)))
        low, high = found.interval(0.95)
        raw.append(found.value - truth)
        off.append(raw[-1] / found.stderr)
        inside.append(np.mean((low <= truth) & (truth <= high)))
    errors = np.array(off)
    # of the value alone: its stated error rises with it, so that their ratio is a little below 0 on average
    plain = np.array(raw)
    bias = plain.mean(axis=0) / np.maximum(plain.std(axis=0), 1e-300)
    assert np.all(np.abs(bias) < 4.5 / np.sqrt(repeat)), bias
    covered, doubt = np.mean(inside), max(np.std(inside), np.sqrt(0.05 * 0.95 / errors[0].size))
    assert covered > 0.95 - 4.0 * doubt / np.sqrt(repeat), covered
    squares = (errors**2).mean(axis=1)
    assert abs(squares.mean() - 1.0) < 4.0 * squares.std() / np.sqrt(repeat) + 0.03, squares.mean()
