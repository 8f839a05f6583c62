"""Least squares on marginals: estimates of several marginals of one table, made to agree where they overlap.

A marginal over the columns S is a sum of orthogonal parts, one for each T in S: sum its table over S without T and
take the mean along every axis of T away.  That gives the interaction u_T, which is the same whichever marginal it
comes from, and the marginal is the sum over T of u_T / (cells of S without T), spread evenly over those cells.  So the
marginals that agree on all common columns are those with common u_T, and the best linear unbiased estimate of u_T
from independent tables with errors of variance v_S per cell is the mean of theirs weighted by
1/(v_S cells of S without T) (Barak et al., PODS 2007, for the parts; Qardaji, Yang, Li, SIGMOD 2014).
u of no column is the total, which is 1.

A cell c of the fit over S is then a weighted sum of the cells of every table.  In that over T, a cell y has the weight

    g(y) = sum over U in both S and T of m_U prod over j in U of (1[y_j = c_j] - 1/(options of j)),

where m_U is the part of this table in u_U, over the cells of S without U.  It depends on the columns in which y agrees
with c, and on nothing else: sums over y follow from the shares of users who agree with c in some columns, which are
cells of marginals of the table over S.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .._support.arrays import FloatArray
from .moments import Moments, Sums
from .variance import Variance

Columns = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class MarginalFit:
    """The interactions, each with the variance of the errors that it was made of, before means were taken away.

    ``given`` are the columns of every table and the variance that it counted with.
    """

    sizes: Mapping[str, int]
    parts: Mapping[frozenset[str], FloatArray]
    variances: Mapping[frozenset[str], float]
    given: tuple[tuple[Columns, float], ...]

    def table(self, columns: Columns) -> FloatArray:
        """The marginal over these columns.

        Examples
        --------
        >>> one = fit([("a",), ("a", "b")], [np.array([0.6, 0.4]), np.full((2, 2), 0.25)], [1.0, 1.0])
        >>> [table.round(4).tolist() for table in (one.table(("a",)), one.table(("a", "b")))]
        [[0.5667, 0.4333], [[0.2833, 0.2833], [0.2167, 0.2167]]]
        """
        shape = tuple(self.sizes[name] for name in columns)
        total = np.full(shape, 1.0 / math.prod(shape))
        for some in _subsets(columns):
            part, known = self.parts[frozenset(some)], sorted(some)
            axes = [known.index(name) for name in columns if name in some]
            wide = [self.sizes[name] if name in some else 1 for name in columns]
            total = total + part.transpose(axes).reshape(wide) / self._cells(columns, some)
        return total

    def variance(self, columns: Columns, frequencies: FloatArray, parts: Sequence[Moments]) -> tuple[Variance, float]:
        """That of every cell of :meth:`table`, for users drawn from a population, as a function of its share.

        ``frequencies`` are shares of the cells, all between 0 and 1, and ``parts`` belong to the tables.  The other
        number is the most that a report changes a cell by.
        """
        out, found, step = 1.0 - frequencies, Variance(np.zeros(frequencies.shape)), 0.0
        for (others, variance), part in zip(self.given, parts, strict=True):
            common = [name for name in columns if name in others]
            if not common:
                continue
            weights = self._weights(columns, others, common, variance)
            counts = np.ones(()) * self._cells(others, common)  # cells that agree in some columns and no other
            for name in common:
                counts = np.multiply.outer(counts, [self.sizes[name] - 1.0, 1.0])
            own, mean = (self._expected(columns, common, w, frequencies) for w in (weights**2, weights))
            top = float(weights.flat[-1])  # of users in the cell
            scale = part.own / part.reports
            sums = Sums(
                float(np.sum(counts * weights**2)) * part.square / part.reports,
                top**2 * scale,
                (own - frequencies * top**2) / out * scale,
                np.full((1,) * (frequencies.ndim + 1), np.sum(counts * weights)),
                np.full((1,) * (frequencies.ndim + 1), top),
                ((mean - frequencies * top) / out)[..., None],
                step=float(np.ptp(weights)) * part.grain,
            )
            found, step = found.plus(sums.variance([part])), max(step, float(sums.step))
        return found, step

    def _cells(self, columns: Iterable[str], without: Iterable[str]) -> int:
        return math.prod(self.sizes[name] for name in columns if name not in without)

    def _weights(self, columns: Columns, others: Columns, common: Sequence[str], variance: float) -> FloatArray:
        """g by whether a cell agrees (1) or not (0), one axis for every common column."""
        found = np.zeros((2,) * len(common))
        for place in itertools.islice(np.ndindex(found.shape), 1, None):
            some = frozenset(itertools.compress(common, place))
            weight = self.variances[some] / (variance * self._cells(others, some))
            found[place] = weight / self._cells(columns, some)
        for axis, name in enumerate(common):
            none, one = np.moveaxis(found, axis, 0)
            away = 1.0 / self.sizes[name]
            found = np.stack([none - away * one, none + (1.0 - away) * one], axis=axis)
        return found

    def _expected(
        self, columns: Columns, common: Sequence[str], weights: FloatArray, frequencies: FloatArray
    ) -> FloatArray:
        """The mean of a function of where users agree with a cell, for every cell."""
        for axis in range(weights.ndim):  # from "here and nowhere else" to "here": what each agreement adds
            none, one = np.moveaxis(weights, axis, 0)
            weights = np.stack([none, one - none], axis=axis)
        total: FloatArray = np.zeros((1,) * frequencies.ndim)
        for place in np.ndindex(weights.shape):
            some = set(itertools.compress(common, place))
            rest = tuple(axis for axis, name in enumerate(columns) if name not in some)
            total = total + weights[place] * frequencies.sum(axis=rest, keepdims=True)
        return total


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
        sizes,
        {key: sums[key] / weights[key] for key in sums},
        {key: 1.0 / w for key, w in weights.items()},
        tuple(zip(subsets, variances, strict=True)),
    )


def _subsets(columns: Columns) -> list[Columns]:
    """Every subset but the empty one."""
    return [some for size in range(1, len(columns) + 1) for some in itertools.combinations(columns, size)]
