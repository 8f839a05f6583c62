"""Least squares on marginals: estimates of several marginals of one table, made to agree where they overlap.

A marginal over the columns S is a sum of orthogonal parts, one for each T in S: sum its table over S without T and
take the mean along every axis of T away.  That gives the interaction u_T, which is the same whichever marginal it
comes from, and the marginal is the sum over T of u_T / (cells of S without T), spread evenly over those cells.  So the
marginals that agree on all common columns are those with common u_T, and the best linear unbiased estimate of u_T
from independent tables with errors of variance v_S per cell is the mean of theirs weighted by
1/(v_S cells of S without T) (Barak et al., PODS 2007, for the parts; Qardaji, Yang, Li, SIGMOD 2014).
u of no column is the total, which is 1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Columns = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class MarginalFit:
    """The interactions, each with the variance of the errors that it was made of, before means were taken away."""

    sizes: Mapping[str, int]
    parts: Mapping[frozenset[str], FloatArray]
    variances: Mapping[frozenset[str], float]

    def table(self, columns: Columns) -> tuple[FloatArray, float]:
        """The marginal over these columns, and the variance of each of its cells.

        Examples
        --------
        >>> one = fit([("a",), ("a", "b")], [np.array([0.6, 0.4]), np.full((2, 2), 0.25)], [1.0, 1.0])
        >>> [table.round(4).tolist() for table in (one.table(("a",))[0], one.table(("a", "b"))[0])]
        [[0.5667, 0.4333], [[0.2833, 0.2833], [0.2167, 0.2167]]]
        """
        shape = tuple(self.sizes[name] for name in columns)
        total, variance = np.full(shape, 1.0 / math.prod(shape)), 0.0
        for some in _subsets(columns):
            part, known = self.parts[frozenset(some)], sorted(some)
            spread = math.prod(self.sizes[name] for name in columns if name not in some)
            axes = [known.index(name) for name in columns if name in some]
            wide = [self.sizes[name] if name in some else 1 for name in columns]
            total = total + part.transpose(axes).reshape(wide) / spread
            left = math.prod(1.0 - 1.0 / self.sizes[name] for name in some)
            variance += self.variances[frozenset(some)] * left / spread**2
        return total, variance


def fit(subsets: Sequence[Columns], tables: Sequence[FloatArray], variances: Sequence[float]) -> MarginalFit:
    """The least-squares fit to tables over these columns, with one variance each; every table sums to 1."""
    sizes: dict[str, int] = {}
    sums: dict[frozenset[str], FloatArray] = {}
    weights: dict[frozenset[str], float] = {}
    for columns, table, variance in zip(subsets, tables, variances, strict=True):
        sizes.update(zip(columns, table.shape, strict=True))
        for some in _subsets(columns):
            key, known = frozenset(some), sorted(some)
            others = tuple(i for i, name in enumerate(columns) if name not in key)
            part = table.sum(axis=others)
            left = [name for name in columns if name in key]
            part = part.transpose([left.index(name) for name in known])
            for axis in range(part.ndim):
                part = part - part.mean(axis=axis, keepdims=True)
            weight = 1.0 / (variance * math.prod(table.shape[i] for i in others))
            sums[key] = sums.get(key, np.zeros(part.shape)) + weight * part
            weights[key] = weights.get(key, 0.0) + weight
    return MarginalFit(
        sizes, {key: sums[key] / weights[key] for key in sums}, {key: 1.0 / w for key, w in weights.items()}
    )


def _subsets(columns: Columns) -> list[Columns]:
    """Every subset but the empty one."""
    return [some for size in range(1, len(columns) + 1) for some in itertools.combinations(columns, size)]
