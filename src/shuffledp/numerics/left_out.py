"""Probabilities that miss 1 by more than rounding: what they leave out counts as a symbol that only its user sends.

Let p be a law as it was given.  If its sum is below 1, entries are too small or symbols are missing; if it exceeds 1 by
e, the entries are too large by e in all, and each by e at most.  Either way the true law is pointwise at least

    sure_j = p_j,   or   (p_j - e)_+ ,        and it is   P = sure + d mu ,    d = 1 - sum sure,    mu some law.

A message of P is one of the law (sure, d), in which the last symbol is replaced by a draw from mu: a post-processing,
which raises no divergence.  Under the other hypothesis mu may be another law, so what is missing there is another
symbol.  Other users need not send either: t is only what their messages certainly contain.  So whatever was left
out, (sure0, d0, 0) against (sure1, 0, d1) among others who contain (t, 0, 0) has at least the true divergence.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

#: Probabilities that miss 1 by more than this are refused.
MOST_LEFT_OUT = 1e-9
#: Relative rounding of an entry of a law: a few units in the last place.
ENTRY = 2.0**-49


def sum_slack(entries: int) -> float:
    """How far rounding alone may move the sum of a law from 1."""
    return (entries + 8) * ENTRY


def sure(law: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """What each entry of a law is at least, and the mass that is left out, rounded up; (law, 0) up to rounding.

    The difference of a sum and 1 is summed in one go: the sum alone, rounded, would lose up to 2^-54 of it.

    Examples
    --------
    >>> sure(np.array([0.5, 0.25, 0.25]))[1]
    0.0
    >>> least, missing = sure(np.array([0.5, 0.5 - 2.0**-31]))
    >>> missing == 2.0**-31
    True
    """
    excess = _sum_up([*law.tolist(), -1.0])
    if abs(excess) <= sum_slack(law.size):
        return law, 0.0
    least = np.maximum(law - excess, 0.0) if excess > 0.0 else law
    return least, _sum_up([1.0, *(-least).tolist()])


def _sum_up(terms: list[float]) -> float:
    """The exact sum, rounded up."""
    total = math.fsum(terms)
    return total if math.fsum([*terms, -total]) <= 0.0 else math.nextafter(total, math.inf)


def with_symbols(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rows, each of what is sure of it, with one more column for every row that leaves something out."""
    off = np.flatnonzero(np.abs(rows.sum(axis=1) - 1.0) > 0.5 * sum_slack(rows.shape[1]))
    found = {x: sure(rows[x]) for x in off.tolist()}
    short = [x for x, (_, missing) in found.items() if missing > 0.0]
    if not short:
        return rows
    out = np.hstack([rows, np.zeros((len(rows), len(short)))])
    for column, x in enumerate(short, start=rows.shape[1]):
        out[x, : rows.shape[1]], out[x, column] = found[x]
    return out
