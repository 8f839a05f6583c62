"""Least squares on a tree: estimates of nodes on several levels, made one consistent estimate of all ranges.

Nodes of level 0 are the leaves, node i of a level is the sum of nodes branching*i, ..., of the one below, and the root
is 1.  With independent errors of variance s_h on level h this is a Gaussian tree, and the best linear unbiased
estimate comes from two passes (Hay, Rastogi, Miklau, Suciu, PVLDB 2010, for equal variances):

upwards, z_v = the mean of the estimate at v and of the sum of its children's z, weighted by their inverse variances;
downwards, the children share what is missing to their parent in proportion to their variances,
y_c = z_c + w_c (y_v - sum of z), w_c = t_c / sum of t, where t_c is the variance of z_c.

Given y_v, the errors of the children have covariance diag(t) - t t'/sum(t).  So for weights a on the children the
sum of a_c y_c is (sum of a_c w_c) y_v plus an error of variance sum a_c^2 t_c - (sum a_c t_c)^2 / sum t, and repeating
this upwards, to a root without error, gives the variance of every linear function of the leaves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TreeFit:
    """The fit: ``leaves`` (consistent estimates of the leaves), and the variances behind it.

    ``shares`` are the w and ``spreads`` the t of every level, leaves first.
    """

    leaves: FloatArray
    branching: int
    shares: tuple[FloatArray, ...]
    spreads: tuple[FloatArray, ...]

    def variance(self, weights: FloatArray) -> FloatArray:
        """The variance of the sum of weights times leaves, for every row of ``weights``.

        Examples
        --------
        >>> tree = fit([np.array([0.5, 0.1, 0.3, 0.1]), np.array([0.6, 0.4])], [1.0, 1.0], 2)
        >>> tree.variance(np.ones((1, 4))).round(12).tolist(), tree.variance(np.array([[1.0, 1, 0, 0]])).tolist()
        ([0.0], [0.3333333333333333])
        """
        a = np.atleast_2d(weights)
        total = np.zeros(len(a))
        for share, spread in zip(self.shares, self.spreads, strict=True):
            starts = (
                _starts(share.size, self.branching) if share is not self.shares[-1] else np.zeros(1, dtype=np.int64)
            )
            over = np.add.reduceat(spread, starts)
            pulled = np.add.reduceat(a * spread, starts, axis=1)
            total += np.add.reduceat(a * a * spread, starts, axis=1).sum(axis=1) - (pulled * pulled / over).sum(axis=1)
            a = np.add.reduceat(a * share, starts, axis=1)
        return np.maximum(total, 0.0)


def _starts(size: int, branching: int) -> NDArray[np.int64]:
    return np.arange(0, size, branching)


def fit(levels: list[FloatArray], variances: list[float], branching: int) -> TreeFit:
    """The least-squares fit to estimates of all levels, leaves first, with one variance each; the root is 1.

    Examples
    --------
    >>> fit([np.array([0.5, 0.2, 0.3, 0.1]), np.array([0.6, 0.4])], [1.0, 1.0], 2).leaves.round(3).tolist()
    [0.458, 0.158, 0.292, 0.092]
    """
    merged, spreads = [levels[0]], [np.full(levels[0].size, variances[0])]
    for own, variance in zip(levels[1:], variances[1:], strict=True):
        starts = _starts(merged[-1].size, branching)
        below, doubt = np.add.reduceat(merged[-1], starts), np.add.reduceat(spreads[-1], starts)
        trust = doubt / (doubt + variance)  # in the node's own estimate
        merged.append(trust * own + (1.0 - trust) * below)
        spreads.append(trust * variance)
    shares = []
    for spread in spreads[:-1]:
        starts = _starts(spread.size, branching)
        over = np.add.reduceat(spread, starts)
        shares.append(spread / np.repeat(over, np.diff(starts, append=spread.size)))
    shares.append(spreads[-1] / spreads[-1].sum())
    above = merged[-1] + shares[-1] * (1.0 - merged[-1].sum())
    for z, share in zip(merged[-2::-1], shares[-2::-1], strict=True):
        starts = _starts(z.size, branching)
        counts = np.diff(starts, append=z.size)
        above = z + share * np.repeat(above - np.add.reduceat(z, starts), counts)
    return TreeFit(above, branching, tuple(shares), tuple(spreads))
