"""Hierarchical randomized response: every user reports its node on one random level of a tree (range queries)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..._support import validation as check
from ..._support.numbers import round_down
from ...estimation.constraints import Simplex, Tree
from ...estimation.estimate import Estimate
from ...numerics.matrix import swap_pairs
from ...numerics.pair import FloatArray, ShuffledPair, both_directions
from ...numerics.swap.family import SwapSet
from ...numerics.swap.pair import SwapPair
from ...randomness.sampling import Array, Source, below
from ...randomness.thresholds import cuts
from ..categorical.grr import GRR
from ..codecs import Category
from ..frequency import Options
from ..parameters import whole
from ..samples import joined, sampled, without_reports
from .parallel_law import union

#: Leaves of a tree whose pairs are all listed for tuples.
_LISTED = 32


@dataclass(frozen=True, kw_only=True)
class HierarchicalGRR(Options):
    """One of H levels of a tree, uniformly, and GRR on the node of that level (paper, section 7.3 and figure 5).

    Level h = 0, ..., H-1 has k_h = ceil(d / branching^h) nodes; h = 0 are the leaves, and node x // branching^h holds
    leaf x.  Levels with a single node carry no information and are left out.  With probability 1/H each the report is
    GRR(eps0, k_h) of the node on level h (Cormode, Kulkarni, Srivastava, PVLDB 2019, with GRR as in the paper).

    Parameters
    ----------
    eps0 : float > 0
        Local budget.
    d : int >= 2
        Number of leaves; values are 0, ..., d-1.
    branching : int >= 2
        Children per node; 2 by default.

    Notes
    -----
    p = q = e, beta = mean over h of (e-1)/(e+k_h-1) (Theorem 6.1).  A report is one number: the nodes of all levels
    counted through, leaves first; the estimate has one frequency per node in that order (:meth:`level`).

    Blanket: that of GRR on every level, over H.  Two leaves are in different nodes below the level where they
    meet.  *Meeting at no level is the worst*: on one level X takes, each with the blanket's mass b, the values
    (e - E, 1 - E e) at the two nodes if they differ and ((1-E) e, 1-E) if they agree, at equal mean, and 1-E
    elsewhere; for E >= 1 the first pair is the wider, so X of the level, and with it X of the tree, is larger in
    convex order.  The first and the last leaf meet at no level; that pair is symmetric.

    Examples
    --------
    >>> import numpy as np
    >>> m = HierarchicalGRR(eps0=3.0, d=8)
    >>> est = m.estimate(m.privatize(np.array([0, 1, 1, 7] * 5000), rng=np.random.default_rng(0)))
    >>> top = est.value[m.level(2)]
    >>> bool(abs(top[0] - 0.75) < 5 * est.stderr[m.level(2)][0])
    True
    """

    name = "hierarchical-grr"
    serves = ("leaves of a tree",)
    _lists_every_type = True

    d: int = whole(low=2, high=2**31, hint="d counts the leaves")
    branching: int = whole(low=2, high=2**31, hint="a node has two children or more", default=2)

    @property
    def description(self) -> str:
        """In words."""
        levels = f"{len(self.levels)} level{'s' if len(self.levels) > 1 else ''}"
        return f"randomized response on one of {levels} over {self.d:,} leaves with eps0 = {round_down(self.eps0, 6)}"

    @property
    def levels(self) -> tuple[GRR, ...]:
        """The randomizer of every level, leaves first."""
        return tuple(GRR(eps0=self.eps0, d=nodes) for nodes in level_sizes(self.d, self.branching))

    @property
    def _starts(self) -> list[int]:
        """Number of the first node of every level, and of all nodes."""
        return [0, *np.cumsum([level.d for level in self.levels]).tolist()]

    def level(self, h: int) -> slice:
        """Where the nodes of level h are in an estimate."""
        h = check.whole("h", h, low=0, high=len(self.levels) - 1, hint="level 0 holds the leaves")
        return slice(self._starts[h], self._starts[h + 1])

    @property
    def beta(self) -> float:
        """The mean over the levels."""
        return math.fsum(level.beta for level in self.levels) / len(self.levels)

    @property
    def _truth(self) -> tuple[float, str]:
        share = math.fsum(level.keep for level in self.levels) / len(self.levels)
        return share, "name a range that the true value is in"

    def _pair(self, where: list[str]) -> ShuffledPair:
        """First and last leaf; others hold x* whose node is that of "x0" or a "third", or the "blanket", by level."""
        share = Fraction(1, len(self.levels))
        return union([(share, level._beside(node)) for level, node in zip(self.levels, where, strict=True)])

    def _blanket(self) -> list[ShuffledPair]:
        """First against last leaf."""
        return [self._pair(["blanket"] * len(self.levels))]

    def _constant_datasets(self) -> list[ShuffledPair]:
        """Others hold a leaf off the path of x0 below level g: x0 itself (g = 0), ..., a third top node (g = H)."""
        H = len(self.levels)
        pairs = []
        for g in range(H + (self.levels[-1].d > 2)):
            # below g a third node; it exists, since the subtree of the first leaf is full and x1 is outside it
            pairs += both_directions(self._pair(["third"] * g + ["x0"] * (H - g)))
        return pairs

    def _swap_members(self, most: int) -> Sequence[SwapPair] | None:
        """Every pair of leaves of a small tree.

        Leaves that share a node of some level are covered by first and last at every E, but not by one type for all E.
        """
        family = swap_pairs(self.probabilities()) if self.d <= _LISTED else None
        return family.members(most) if isinstance(family, SwapSet) else None

    # -- running it ---------------------------------------------------------------------------------------------

    @property
    def codec(self) -> Category:
        """A node, counted through all levels."""
        return Category(self._starts[-1], scratch=96)

    def _portable_law(self) -> dict[str, Any]:
        return {
            "kind": "one-of",
            "cuts": cuts([1] * len(self.levels)),
            "laws": [level._portable_law() for level in self.levels],
            "starts": self._starts[:-1],
            "divide": self.branching,
        }

    def _randomize(self, values: Array, src: Source) -> Array:
        out = np.empty(len(values), dtype=self.codec.dtype)
        which = below(src, len(self.levels), len(values))
        for h, level in enumerate(self.levels):
            at = np.flatnonzero(which == h)
            nodes = values[at].astype(out.dtype) // out.dtype.type(min(self.branching**h, self.d))
            out[at] = level._randomize(nodes, src) + out.dtype.type(self._starts[h])
        return out

    def _each(self, counts: Array, users: int) -> list[Estimate]:
        """Each level from its own reports, a random sample of the users, which adds to the error; leaves first."""
        parts = []
        for h, level in enumerate(self.levels):
            hits = counts[self.level(h)]
            here = int(hits.sum())
            parts.append(sampled(level._infer(hits, here) if here else without_reports(level.d, Simplex()), users))
        return parts

    def _infer(self, counts: Array, users: int) -> Estimate:
        whole = Tree(tuple(level.d for level in self.levels), self.branching)
        return joined(self._each(counts, users), whole, users)

    def variance(self, n: int, frequency: float = 0.0, *, h: int = 0) -> float:
        """Variance of one estimated node frequency on level h, with n/H users on it."""
        share = n / len(self.levels)
        level = self.levels[h]
        return level.variance(1, frequency) / share + frequency * (1 - frequency) * (1 / share - 1 / n)

    def inputs(self) -> list[int]:
        """0, ..., d-1."""
        self._few_cells(self.d * self._starts[-1])
        return super().inputs()

    def probabilities(self) -> FloatArray:
        """The matrices of all levels side by side, over H."""
        leaves = np.array(self.inputs())
        rows = [level.probabilities()[leaves // self.branching**h] for h, level in enumerate(self.levels)]
        return np.concatenate(rows, axis=1) / len(self.levels)


def level_sizes(leaves: int, branching: int) -> tuple[int, ...]:
    """Nodes of every level of a tree, leaves first; a level of one node says nothing and is left out.

    Examples
    --------
    >>> level_sizes(9, 2)
    (9, 5, 3, 2)
    """
    found = [leaves]
    while found[-1] > branching:
        found.append(-(-found[-1] // branching))
    return tuple(found)
