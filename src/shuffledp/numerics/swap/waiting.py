"""The waiting time k, how many others precede the first free one, and the sum over k that the swap bound needs.

    A(r) = sum_k beta (1-beta)^k r^(m-k) / (m-k),   m = n - 1 others, k = 0, ..., m-1.

If the number of others is random, A is the mean over the numbers ``others`` (row, part) of probability e^log_mass.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import tuning
from ..ledger import charge
from ..pair import FloatArray, IntArray
from ..rows import ULP, chunks

#: Charged on every A for the roundings that do not grow with n.
_SUMMING = 1e-12
#: The least log(1 - beta), which stands for beta = 1.
_NEVER = -700.0
#: Places of a chord table: distances below the largest log r, in units of the depth, denser near the top.
_DEPTHS = np.linspace(0.0, 1.0, tuning.PLACES) ** 4
#: Ends of blocks of waiting times, counted up from 0, and down from n - 1 where k may come near it.
_GROWING = np.unique(np.floor(np.append(np.arange(16.0), 16.0 * tuning.WAITS_GROWTH ** np.arange(250.0))))


class Others(NamedTuple):
    """The law of the number of others, by row; with probability ``lost`` there are too few of them."""

    number: FloatArray  # (row, part)
    log_mass: FloatArray  # (row, part)
    lost: FloatArray  # (row)

    @classmethod
    def fixed(cls, n: FloatArray) -> Others:
        """All but the victim of n users."""
        return cls(n[:, None] - 1.0, np.zeros((n.size, 1)), np.zeros(n.size))


class Waiting(NamedTuple):
    """The law of k, by row, in blocks [first, last] of consecutive k."""

    beta: FloatArray
    log_miss: FloatArray  # log(1 - beta), not below _NEVER
    others: FloatArray  # (row, part)
    log_mass: FloatArray  # (row, part)
    log_rest: FloatArray  # log of a bound on the probability of larger k
    fewest: FloatArray  # the smallest power of r in A
    kept: FloatArray
    first: FloatArray  # (row, part, block)
    last: FloatArray

    @classmethod
    @np.errstate(all="ignore")
    def of(cls, beta: FloatArray, among: Others, kept: FloatArray) -> Waiting:
        """All k except some of total probability about e^-kept.

        Examples
        --------
        >>> made = Waiting.of(np.array([0.5]), Others.fixed(np.array([100.0])), np.array([60.0]))
        >>> float(made.log_sum(np.zeros(1, dtype=np.int64), np.zeros(1))[0].round(2))
        -4.58
        """
        others, log_mass = among.number, among.log_mass
        log_miss = np.maximum(np.log1p(-beta), _NEVER)
        most = np.floor(np.minimum((kept / -log_miss)[:, None], others - 1.0)) + 1.0  # k = 0, ..., most - 1
        rest = np.where(beta[:, None] < 1.0, rest_of_waiting(beta[:, None], most), -np.inf)
        log_rest = np.logaddexp.reduce(log_mass + rest, axis=1) if others.shape[1] > 1 else rest[:, 0]
        at, fewest = _edges(most, others, beta), (others - most + 1.0).min(axis=1)
        return cls(beta, log_miss, others, log_mass, log_rest, fewest, kept, at[..., :-1], at[..., 1:] - 1.0)

    def log_sum(self, row: IntArray, log_r: FloatArray) -> FloatArray:
        """An upper value of log A at every r; ``row``, of the same shape, says whose it is."""
        flat, at = row.ravel(), log_r.ravel()
        out = np.empty((at.size, self.others.shape[1]))
        for part in chunks(np.full(at.size, float(self.first.shape[1] * self.first.shape[2] + 1))):
            mine = flat[part]
            law = self.beta[mine, None], self.log_miss[mine, None], self.others[mine], at[part, None]
            out[part] = blocks_of_waits(*law, self.first[mine], self.last[mine])
        if out.shape[1] > 1:  # the mean over the numbers of others
            return np.asarray(np.logaddexp.reduce(out + self.log_mass[flat], axis=1) + _SUMMING).reshape(row.shape)
        return out[:, 0].reshape(row.shape)

    def log_sums(self, row: IntArray, log_r: FloatArray, top: FloatArray) -> FloatArray:
        """The same at many nodes, by chords; ``top`` is the largest log r of a row.

        Consecutive rows of the same law share their chords.
        """
        law = np.column_stack([self.beta, self.kept, self.others, self.log_mass])
        start = np.flatnonzero(np.append(True, (law[1:] != law[:-1]).any(axis=1)))
        if log_r.size <= 2 * tuning.PLACES * start.size:
            return self.log_sum(row, log_r)
        number = np.repeat(np.arange(start.size), np.diff(start, append=len(law)))
        most, least = (pick.reduceat(top, start) for pick in (np.maximum, np.minimum))
        deep = tuning.DEPTH / self.fewest[start] + most - least
        places = most[:, None] - deep[:, None] * _DEPTHS
        table = self.log_sum(np.broadcast_to(start[:, None], places.shape), places)
        mine = number[row]
        return chord_of_waits(table, mine, (most[mine] - log_r) / deep[mine])


def _edges(most: FloatArray, others: FloatArray, beta: FloatArray) -> FloatArray:
    """Ends of blocks that cover 0, ..., most - 1; within a block k and n - 1 - k change by a bounded ratio.

    All k far below their mean 1/beta form one block, because 1/(n-1-k) hardly changes there.
    """
    growing = _GROWING[: int(np.searchsorted(_GROWING, most.max())) + 1]
    coarse = np.where(growing < tuning.SHORT_WAIT / beta[:, None], 0.0, growing)[:, None]
    edges = np.minimum(coarse, most[..., None])
    if np.any(most > 0.1 * others):
        back = np.clip(others[..., None] - growing, 0.0, most[..., None])
        edges = np.sort(np.concatenate([edges, back], axis=-1), axis=-1)
    ends = np.flatnonzero((edges[..., 1:] > edges[..., :-1]).any(axis=(0, 1))) + 1  # drop blocks that no row has
    return np.asarray(edges[..., np.append(0, ends) if ends.size else [0, -1]])


@charge("waiting times that are not summed", "docs/swap.md, Theorem 2")
def rest_of_waiting(beta: FloatArray, most: FloatArray) -> FloatArray:
    """log Pr[k >= most] = most log(1-beta), rounded up: each of these k adds at most local(E) times its probability."""
    return np.asarray(most * np.log1p(-beta) * (1.0 - ULP))


@charge("waiting times in blocks", "docs/swap.md, Theorem 2: every term of A is positive")
def blocks_of_waits(
    beta: FloatArray, log_miss: FloatArray, m: FloatArray, log_r: FloatArray, first: FloatArray, last: FloatArray
) -> FloatArray:
    """log of A(r) with 1/(m-k) replaced by its largest value in every block of k.

    The powers of q = (1-beta)/r in a block form a geometric sum, taken from its larger end, in units of the largest
    power of all blocks.  The sum rises with q, so q may be raised slightly to keep it away from 1.
    """
    log_q = log_miss - log_r
    log_q = np.where(np.abs(log_q) < 1e-9, 1e-9, log_q)[..., None]
    down, top = -np.abs(log_q), last.max(axis=-1, initial=0.0)
    ends = np.where(log_q < 0.0, first, top[..., None] - last)
    terms = np.exp(ends * down) * np.expm1((last - first + 1.0) * down) / (m[..., None] - last)
    total = np.where(last >= first, terms, 0.0).sum(axis=-1) / np.expm1(down[..., 0])
    return np.asarray(np.log(beta * total) + m * log_r + np.maximum(log_q[..., 0], 0.0) * top + _SUMMING)


@charge("A between two places", "docs/swap.md, Theorem 2")
def chord_of_waits(table: FloatArray, row: IntArray, depth: FloatArray) -> FloatArray:
    """The chord between two places of a table: A has positive coefficients, so log A is convex in log r.

    Below the last place the value there is an upper one, because A rises with r.
    """
    depth = np.clip(np.where(np.isnan(depth), 0.0, depth), 0.0, 1.0)  # the first place is above all r of the row
    i = np.minimum((depth**0.25 * (_DEPTHS.size - 1)).astype(np.int64), _DEPTHS.size - 2)
    share = (depth - _DEPTHS[i]) / (_DEPTHS[i + 1] - _DEPTHS[i])
    low, high = table[row, i], table[row, i + 1]
    return np.asarray(low + (high - low) * np.clip(share, 0.0, 1.0) + _SUMMING)
