"""PrivSet: every user holds a set of items and reports a subset that is likelier if it meets the set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...estimation.constraints import SumAtMost
from ...estimation.estimate import Estimate
from ...randomness.sampling import Array, Source
from ..parameters import Free, whole
from ..values import padded_sets
from .drawing import shuffle
from .reported_sets import SetRandomizer, best_k


@dataclass(frozen=True, kw_only=True)
class PrivSet(SetRandomizer):
    """PrivSet: set-valued data, s of d items each (Wang, Huang, Nie, Wang, Xu, Yang, INFOCOM 2018).

    Sets are padded to s items with dummies d, ..., d+s-1, so the domain has D = d + s items.  With e = e^eps0 the
    report y is a k-subset of [D], e times likelier if it meets the padded set S:

        R(S)_y = (e if y meets S else 1)/Omega,   Omega = e (C(D,k) - C(D-s,k)) + C(D-s,k).

    It contains an item that is held with probability a = e C(D-1,k-1)/Omega, another one with probability
    b = (e (C(D-1,k-1) - C(D-s-1,k-1)) + C(D-s-1,k-1))/Omega.

    Parameters
    ----------
    eps0 : float > 0
        Local budget.
    d : int >= 1
        Number of real items 0, ..., d-1.
    s : int in [1, min(d, 10^4)]
        Items per user after padding.
    k : int in [1, d], optional
        Size of a report; by default the one with the smallest mean variance.

    Notes
    -----
    *Values* are whole numbers of shape (users, width), -1 for "no item", no item twice in a row.  A -1 in column j
    becomes the dummy d+j, so every s-subset of [D] is some user's input.  Of more than s items a user samples s
    uniformly.  The estimate is the share of users who hold each real item, and of the *sampled* sets where some were
    larger than s.

    Parameters (paper, Table 2): p = q = e, beta = (e-1)(C(D-s,k) - C(D-2s,k))/Omega.  The blanket is 1/Omega on every
    y, since k <= D - s.  Ordered pairs (S0, S1) are alike under permutations of the items if they share as many.
    Disjoint ones are worst, at every eps and n: over the blanket X is 1-E, e(1-E), e-E or 1-eE as y meets neither set,
    both, S0 or S1 only.  Sharing fewer items lowers Pr[neither] by some amount, hence Pr[both] by the same (Pr[y meets
    S0] is fixed) and raises the other two by it: mass goes from {e(1-E), 1-E} to {1-eE, e-E}, which have the same sum
    and lie outside, a mean-preserving spread (docs/proofs.md, section 2).
    The lower bound takes disjoint S0 and S1 too; the best S* is not always disjoint from both.
    The swap bound lists (s+1)^2 - 1 ways in which three sets meet, which dominate all others (docs/proofs.md, Lemma
    16), up to s = 30.

    Examples
    --------
    >>> PrivSet(eps0=2.0, d=4, s=2, k=1).variation_ratio().beta.__round__(4)
    0.6805
    >>> m = PrivSet(eps0=3.0, d=5, s=2)
    >>> est = m.estimate(m.privatize([[0, 1], [1, 4], [1, -1], [-1, -1]] * 1000, rng=np.random.default_rng(0)))
    >>> bool(abs(est.value[1] - 0.75) < 5 * est.stderr[1])
    True
    """

    name = "privset"
    _in_words = "PrivSet on sets of {s:,} of {d:,} items, reporting {k:,} of them and the dummies, with eps0 = {eps0}"
    _takes = "sets"
    serves = ("sets",)
    _holds = (0, "s")

    d: int = whole(low=1, high=2**31, hint="d counts the real items")
    s: int = whole(low=1, high=lambda m: min(m.d, 10**4), hint="users hold s of the d items; smaller sets are padded")
    k: int = whole(
        low=1,
        high=lambda m: m.d,
        hint="larger reports meet every set",
        choose=lambda m: best_k(m.eps0, m.d + m.s, m.s),
        free=Free(2.0, lambda m: m.s / (m.d + m.s)),  # the mean error over the items and the dummies
    )

    @property
    def domain(self) -> int:
        """d + s."""
        return self.d + self.s

    @property
    def held(self) -> int:
        """s."""
        return self.s

    @property
    def _constraint(self) -> SumAtMost:
        """At most s items each; dummies are not estimated."""
        return SumAtMost(self.s)

    def _check(self, values: Array) -> Array:
        return padded_sets(values, self.d)

    def _randomize(self, values: Array, src: Source) -> Array:
        held = values.T.copy()
        if len(held) > self.s:  # a uniform choice of the items, those that are -1 last
            shuffle(src, held, first=len(held))
            held = np.take_along_axis(held, np.argsort(held < 0, axis=0, kind="stable")[: self.s], axis=0)
        elif len(held) < self.s:
            held = np.pad(held, ((0, self.s - len(held)), (0, 0)), constant_values=-1)
        dummies = self.d + np.arange(self.s)[:, None]
        return self._report(np.where(held < 0, dummies, held).astype(np.min_scalar_type(self.domain - 1)), src)

    def _infer(self, counts: Array, users: int) -> Estimate:
        return super()._infer(counts[: self.d], users)

    def inputs(self) -> list[tuple[int, ...]]:
        """Every s-subset of [D], in lexicographic order, as a row of values: dummy d+j is a -1 in column j."""
        rows = []
        for held in self._sets():
            real = iter(v for v in held if v < self.d)
            rows.append(tuple(-1 if self.d + j in held else next(real) for j in range(self.s)))
        return rows
