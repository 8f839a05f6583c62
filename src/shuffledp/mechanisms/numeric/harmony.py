"""Means of vectors in [-1, 1]^dim, one random coordinate a user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._support.exponentials import exp, tanh
from ...estimation.estimate import Estimate
from ...numerics.pair import FloatArray, ShuffledPair, both_directions
from ...randomness.sampling import Array, Source, below, bernoulli
from ...randomness.thresholds import chance_of
from ..codecs import Category
from ..two_level import MIRRORED, law, pair
from .cube import Cube
from .discrete_laplace import coins


@dataclass(frozen=True, kw_only=True)
class Harmony(Cube):
    """Vectors in [-1, 1]^dim, one random coordinate each (Nguyen, Xiao, Yang, Hui, Shin, Shin, 2016).

    The report is a uniform coordinate j and a sign, + with probability (1 + x_j T)/2, T = tanh(eps0/2): x_j is rounded
    to +-1 and the sign flipped with probability 1/(e+1).  +-dim/T at coordinate j is unbiased for x.

    Parameters
    ----------
    eps0 : float > 0
        Local budget of the whole vector.
    dim : int >= 1
        Number of coordinates.

    Notes
    -----
    p = q = e, beta = tanh(eps0/2) (paper, Table 2).  The blanket is 1/(dim (e+1)) on each of the 2 dim reports; the
    worst pair is v, -v (proved in cube.py), for which the reports of all coordinates merge into two: binary randomized
    response, whatever dim is.  Lower bound: the others hold v0 with some coordinates flipped.

    Examples
    --------
    >>> Harmony(eps0=1.0, dim=10).variation_ratio().beta.__round__(4)
    0.4621
    >>> Harmony(eps0=4.0, dim=2).privatize([[0.5, -1.0], [1.0, 0.0]]).data.shape
    (2,)
    """

    name = "harmony"
    _in_words = "Harmony on [-1, 1]^{dim} with eps0 = {eps0}"

    @property
    def _flip(self) -> float:
        t = exp(-self.eps0)
        return t / (1.0 + t)

    @property
    def beta(self) -> float:
        """T = tanh(eps0/2)."""
        return tanh(0.5 * self.eps0)

    def _blanket(self) -> list[ShuffledPair]:
        """Two kinds of reports: those that v0 prefers and those that -v0 prefers."""
        return [pair([(1, 1, 0, 0), (1, 0, 1, 0)], self._flip, 1.0 - self._flip)]

    def _types(self) -> list[list[ShuffledPair]]:
        """In every coordinate a third vertex agrees with both, one or none of the victim's two (cube.py)."""
        return [[law(kind, 2.0 * self._flip, 2.0 * (1.0 - self._flip)) for kind in MIRRORED]]

    def _constant_datasets(self) -> list[ShuffledPair]:
        """The others agree with v0 in all coordinates, all but one, or half of them (any number, if dim is small)."""
        few = range(self.dim + 1) if self.dim <= 8 else (self.dim, self.dim - 1, (self.dim + 1) // 2)
        pairs = []
        for k in few:
            agree, differ = k / self.dim, 1.0 - k / self.dim
            rows = [(agree, 1, 0, 1), (agree, 0, 1, 0), (differ, 1, 0, 0), (differ, 0, 1, 1)]
            pairs += both_directions(pair(rows, self._flip, 1.0 - self._flip))
        return pairs

    # -- running it -------------------------------------------------------------------------------------------

    @property
    def codec(self) -> Category:
        """2j for a minus at coordinate j, 2j + 1 for a plus."""
        return Category(2 * self.dim, scratch=96)

    def _portable_law(self) -> dict[str, Any]:
        sign = {"kind": "keep", "size": 2, "keep": chance_of(self.beta, 2.0 * self._flip)}
        return {"kind": "coordinate", "size": self.dim, "step": 2, "law": sign}

    def _randomize(self, values: Array, src: Source) -> Array:
        users = len(values)
        coordinate = below(src, self.dim, users)
        sign = coins(src, 0.5 + 0.5 * values[np.arange(users), coordinate]) ^ bernoulli(src, self._flip, users)
        return (2 * coordinate.astype(np.int64) + sign).astype(self.codec.dtype)

    def _infer(self, counts: Array, users: int) -> Estimate:
        gain = self.beta
        value = (counts[1::2] - counts[::2]) * (self.dim / (gain * users))
        grain = self.dim / (gain * users)  # a sign may become the other one
        return self._mean(value, self.dim / gain**2, users, grain, 2.0 * grain)

    def variance(self, n: int, value: float = 0.0) -> float:
        """(dim/T^2 - value^2)/n, where the users' values have the mean square value^2."""
        return (self.dim / self.beta**2 - value**2) / n

    def probabilities(self) -> FloatArray:
        """Rows: the vertices; columns: (coordinate 0, -), (coordinate 0, +), (coordinate 1, -), ..."""
        v = np.array(self.inputs())
        right = np.stack([v < 0, v > 0], axis=2).reshape(len(v), -1)
        return np.where(right, 1.0 - self._flip, self._flip) / self.dim
