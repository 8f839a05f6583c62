"""Least squares on a tree: estimates of nodes on several levels, made one consistent estimate of all ranges.

Nodes of level 0 are the leaves, node i of a level is the sum of nodes branching*i, ..., of the one below, and the root
is 1.  With independent errors of variance s_h on level h this is a Gaussian tree, and the best linear unbiased
estimate comes from two passes (Hay, Rastogi, Miklau, Suciu, PVLDB 2010, for equal variances):

upwards, z_v = the mean of the estimate at v and of the sum of its children's z, weighted by their inverse variances;
downwards, the children share what is missing to their parent in proportion to their variances,
y_c = z_c + w_c (y_v - sum of z), w_c = t_c / sum of t, where t_c is the variance of z_c.

The sum of the leaves of a range is a weighted sum of all estimates.  Let a_v be the share of node v that is in the
range, by the w below it.  Then sum of a_c y_c over the children c of v is a_v y_v + sum of (a_c - a_v) z_c, and z_c =
p_c (its own estimate) + (1-p_c) sum of z below, where p_c is the trust in its own.  So z_c has the weight
r_c = a_c - a_v + (1-p_v) r_v in all, and the estimate at c has p_c r_c.  Unless v contains an end of the range,
a_c = a_v: below such nodes weights are r_v times numbers that do not depend on the range, whose sums are formed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.arrays import FloatArray, IntArray
from .moments import Moments, Sums

#: Ranges whose sums are formed at once.
_RANGES = 1 << 16
#: The largest variance of a level: that of one without any report.
_MOST = 1e100


@dataclass(frozen=True, eq=False)
class TreeFit:
    """The fit: ``leaves`` (consistent estimates of the leaves), and the weights behind it.

    ``shares`` are the w and ``trusts`` the p of every level, leaves first.
    """

    leaves: FloatArray
    branching: int
    shares: tuple[FloatArray, ...]
    trusts: tuple[FloatArray, ...]

    def sums(self, ranges: IntArray, frequencies: FloatArray, parts: Sequence[Moments]) -> Sums:
        """The weights of the levels in the shares of ranges of leaves (first, last + 1), summed up.

        ``frequencies`` are those of the leaves, all positive; no range may hold all leaves.

        Examples
        --------
        >>> tree = fit([np.array([0.5, 0.1, 0.3, 0.1]), np.array([0.6, 0.4])], [1.0, 1.0], 2)
        >>> coin = Moments(reports=100, square=1.0, own=0.0)
        >>> tree.sums(np.array([[0, 2]]), np.full(4, 0.25), [coin, coin]).square.round(6).tolist()
        [0.003333]
        """
        below = self._below(frequencies, parts)
        up_to = np.concatenate([[0.0], np.cumsum(frequencies)])
        blocks = [ranges[start : start + _RANGES] for start in range(0, len(ranges), _RANGES)]
        found = [self._descend(some, up_to, below, parts) for some in blocks]
        return Sums(*(np.concatenate([getattr(each, field.name) for each in found]) for field in fields(Sums)))

    def _below(self, frequencies: FloatArray, parts: Sequence[Moments]) -> list[FloatArray]:
        """For every level, running sums over its nodes v of the sums over the nodes at and below v if r_v = 1.

        Columns: Q square/reports, B own/reports, then G of the levels 0, 1, ..., up to this one, then A.
        """
        found: list[FloatArray] = []
        at, rows = frequencies, np.zeros((frequencies.size, 2))
        for k, (trust, part) in enumerate(zip(self.trusts, parts, strict=True)):
            if k:
                starts = _starts(at.size, self.branching)
                at, rows = np.add.reduceat(at, starts), np.add.reduceat(rows, starts)
                rows *= (1.0 - trust)[:, None] ** np.repeat([2, 1], [2, 2 * k])
            rows[:, 0] += trust**2 * (part.square / part.reports)
            rows[:, 1] += trust**2 * at * (part.own / part.reports)
            rows = np.column_stack([rows[:, : 2 + k], trust, rows[:, 2 + k :], trust * at])
            found.append(np.concatenate([np.zeros((1, 4 + 2 * k)), np.cumsum(rows, axis=0)]))
        return found

    def _cut(self, ranges: IntArray, k: int) -> _Cut:
        width, b, size, top = self.branching**k, self.branching, self.shares[k].size, k + 1 == len(self.shares)
        p, q = ranges[:, 0] // width, (ranges[:, 1] - 1) // width
        start, first = (np.zeros_like(p), np.zeros_like(q)) if top else (p // b * b, q // b * b)
        ends = (np.full_like(p, size),) * 2 if top else (np.minimum(x + b, size) for x in (start, first))
        end, last = ends
        same = start == first
        return _Cut(
            p, q, start, np.where(same, np.maximum(q, p + 1), end), np.where(same, q, first), last, same, p == q
        )

    def _held(self, cuts: Sequence[_Cut]) -> list[tuple[FloatArray, FloatArray]]:
        """a of the nodes at both ends of ranges, on every level and at the root."""
        one = np.ones(len(cuts[0].p))
        found = [(one, one)]
        for cut, share in zip(cuts, self.shares, strict=True):
            sums = np.concatenate([[0.0], np.cumsum(share)])
            left = share[cut.p] * found[-1][0] + sums[cut.middle] - sums[cut.p + 1]
            right = share[cut.q] * found[-1][1] + sums[cut.q] - sums[cut.first]
            both = left + np.where(cut.alone, 0.0, right)
            found.append((np.where(cut.same, both, left), np.where(cut.same, both, right)))
        return found

    def _descend(self, ranges: IntArray, up_to: FloatArray, below: list[FloatArray], parts: Sequence[Moments]) -> Sums:
        """From the top level to the leaves, along the nodes that contain the first and the last leaf of each range."""
        cuts = [self._cut(ranges, k) for k in range(len(parts))]
        held = self._held(cuts)
        square, own = np.zeros(len(ranges)), np.zeros((2, len(ranges)))  # outside of the range, and inside
        total, mean = np.zeros((len(ranges), len(parts))), np.zeros((2, len(ranges), len(parts)))
        most, least = np.zeros_like(total), np.zeros_like(total)  # weights, 0 among them
        sizes = np.array([share.size for share in self.shares])
        away = (-held[-1][0], -held[-1][1])  # r of the nodes outside, among the children of the nodes at both ends
        for k in range(len(parts) - 1, -1, -1):
            cut, part, trust = cuts[k], parts[k], self.trusts[k]
            for low, high, r, inside in cut.whole(away):
                rows = below[k][high] - below[k][low]
                square += r**2 * rows[:, 0]
                own[inside] += r**2 * rows[:, 1]
                total[:, : k + 1] += r[:, None] * rows[:, 2 : k + 3]
                mean[inside][:, : k + 1] += r[:, None] * rows[:, k + 3 :]
                width = self.branching ** np.arange(k, -1, -1)  # in nodes of the levels from the leaves to this one
                nodes = np.minimum(high[:, None] * width, sizes[: k + 1]) - low[:, None] * width
                each = r[:, None] * rows[:, 2 : k + 3] / np.maximum(nodes, 1)  # on average
                for bound, further in ((most, np.maximum), (least, np.minimum)):
                    further(bound[:, : k + 1], each, out=bound[:, : k + 1])
            r_both = [ratio + gone for ratio, gone in zip(held[k], away, strict=True)]
            width, leaves = self.branching**k, self.leaves.size
            for node, r, counts in ((cut.p, r_both[0], True), (cut.q, r_both[1], ~cut.alone)):
                weight = np.where(counts, trust[node] * r, 0.0)
                ends = node * width, np.minimum((node + 1) * width, leaves)
                share = up_to[np.minimum(ends[1], ranges[:, 1])] - up_to[np.maximum(ends[0], ranges[:, 0])]
                square += weight**2 * (part.square / part.reports)
                total[:, k] += weight
                most[:, k], least[:, k] = np.maximum(most[:, k], weight), np.minimum(least[:, k], weight)
                for inside, some in ((1, share), (0, up_to[ends[1]] - up_to[ends[0]] - share)):
                    own[inside] += weight**2 * some * (part.own / part.reports)
                    mean[inside][:, k] += weight * some
            left, right = ((1.0 - trust[node]) * r for node, r in zip((cut.p, cut.q), r_both, strict=True))
            away = left - held[k][0], right - held[k][1]
        share = up_to[ranges[:, 1]] - up_to[ranges[:, 0]]
        scale = np.stack([1.0 / (up_to[-1] - share), 1.0 / share])
        own, mean = own * scale, mean * scale[:, :, None]
        step = ((most - least) * [part.grain for part in parts]).max(axis=1)
        return Sums(square, own[1], own[0], total, mean[1], mean[0], step)


class _Cut(NamedTuple):
    """Where ranges begin and end on a level: nodes p and q, which are not whole.

    Children of their parents lie outside from ``start`` to p, inside from p + 1 to ``middle`` and from ``first`` to q,
    and outside from q + 1 to ``last``.
    """

    p: IntArray
    q: IntArray
    start: IntArray
    middle: IntArray
    first: IntArray
    last: IntArray
    same: NDArray[np.bool_]  # p and q have one parent
    alone: NDArray[np.bool_]  # and are one node

    def whole(self, away: tuple[FloatArray, FloatArray]) -> list[tuple[IntArray, IntArray, FloatArray, int]]:
        """The nodes that are whole: from, to, their r, and whether they are inside."""
        left, right = away
        return [
            (self.start, self.p, left, 0),
            (self.p + 1, self.middle, 1.0 + left, 1),
            (self.first, self.q, 1.0 + right, 1),
            (self.q + 1, self.last, right, 0),
        ]


def _starts(size: int, branching: int) -> IntArray:
    return np.arange(0, size, branching)


def fit(levels: list[FloatArray], variances: list[float], branching: int) -> TreeFit:
    """The least-squares fit to estimates of all levels, leaves first, with one variance each; the root is 1.

    Examples
    --------
    >>> fit([np.array([0.5, 0.2, 0.3, 0.1]), np.array([0.6, 0.4])], [1.0, 1.0], 2).leaves.round(3).tolist()
    [0.458, 0.158, 0.292, 0.092]
    """
    known = np.clip(variances, 1.0 / _MOST, _MOST)
    merged, spreads, trusts = [levels[0]], [np.full(levels[0].size, known[0])], [np.ones(levels[0].size)]
    for own, variance in zip(levels[1:], known[1:], strict=True):
        starts = _starts(merged[-1].size, branching)
        below, doubt = np.add.reduceat(merged[-1], starts), np.add.reduceat(spreads[-1], starts)
        trusts.append(doubt / (doubt + variance))
        merged.append(trusts[-1] * own + (1.0 - trusts[-1]) * below)
        spreads.append(trusts[-1] * variance)
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
    return TreeFit(above, branching, tuple(shares), tuple(trusts))
