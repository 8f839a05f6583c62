"""Generalised randomized response: report your value, or now and then a uniformly random one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..._support import validation as check
from ..._support.numbers import round_down
from ...estimation.constraints import Simplex
from ...estimation.estimate import Estimate, pure
from ...numerics.families.base import PairSet, both_directions
from ...numerics.pair import ShuffledPair
from ...randomness.sampling import Source, below, bernoulli
from ..known.general import VariationRatio
from ..randomizer import Randomizer, categories


@dataclass(frozen=True, kw_only=True)
class GRR(Randomizer):
    """Generalised (k-ary) randomized response on d options (Kairouz, Bonawitz, Ramage, ICML 2016).

    With e = e^eps0 the report is the true value with probability a = e/(e+d-1) and any other value with
    probability b = 1/(e+d-1) each; equivalently a uniform value with probability d b, else the truth.

    Parameters
    ----------
    eps0 : float > 0
        Local budget.
    d : int >= 2
        Number of options; values are 0, ..., d-1.

    Notes
    -----
    Parameters (paper, Table 2): p = q = e, beta = (e-1)/(e+d-1).  The blanket is b on every option.  All ordered
    pairs are alike under permutations of the options, so one round gives the maximum over pairs:
    symbols {x0}, {x1}, {the others}.  The lower bound lets the others hold a third value (d >= 3), x0 or x1.

    Examples
    --------
    >>> GRR(eps0=1.0, d=4).variation_ratio().beta.__round__(4)
    0.3005
    >>> import numpy as np
    >>> m = GRR(eps0=3.0, d=4)
    >>> est = m.estimate(m.privatise(np.array([0, 1, 1, 3] * 1000), rng=np.random.default_rng(0)))
    >>> bool(abs(est.value[1] - 0.5) < 5 * est.stderr[1])
    True
    """

    name: ClassVar[str] = "grr"

    eps0: float
    d: int

    def __post_init__(self) -> None:
        eps0 = check.local_budget(self.eps0)
        object.__setattr__(self, "eps0", eps0)
        object.__setattr__(self, "d", check.whole("d", self.d, low=2, high=2**32, hint="d counts the options"))

    @property
    def description(self) -> str:
        """In words."""
        return f"generalised randomized response on {self.d:,} options with eps0 = {round_down(self.eps0, 6)}"

    @property
    def _keep(self) -> float:
        return 1.0 / (1.0 + (self.d - 1) * math.exp(-self.eps0))

    @property
    def _stray(self) -> float:
        return math.exp(-self.eps0) * self._keep

    def variation_ratio(self) -> VariationRatio:
        """p = q = e^eps0, beta = (1-t)/(1+(d-1)t) with t = e^-eps0."""
        p = math.exp(self.eps0)
        return VariationRatio(p=p, beta=-math.expm1(-self.eps0) * self._keep, q=p)

    def _pair(self, own: float, other: float, third: float) -> ShuffledPair:
        """Others send x0, x1 and each further option with these probabilities."""
        a, b, more = self._keep, self._stray, self.d - 2
        return ShuffledPair(P0=[a, b, more * b], P1=[b, a, more * b], t=[own, other, more * third])

    def blanket(self) -> PairSet:
        """The blanket is uniform with mass d b; the round is its own swap."""
        b = self._stray
        return PairSet([self._pair(b, b, b)])

    def constant_datasets(self) -> PairSet:
        """Others hold a third option (two symbols left among the rest: x* and the others), or x0."""
        a, b = self._keep, self._stray
        held = both_directions(self._pair(a, b, b))
        if self.d == 2:
            return PairSet(held)
        more = self.d - 3
        third = ShuffledPair(P0=[a, b, b, more * b], P1=[b, a, b, more * b], t=[b, b, a, more * b])
        return PairSet([third, *held])

    # -- running it -------------------------------------------------------------------------------------------

    def _check(self, values: NDArray[Any]) -> NDArray[Any]:
        return categories(values, self.d)

    def _randomise(self, values: NDArray[Any], src: Source) -> NDArray[Any]:
        lie = bernoulli(src, self.d * self._stray, len(values))
        return np.where(lie, below(src, self.d, len(values)).astype(values.dtype, copy=False), values)

    def _tally(self, data: NDArray[Any]) -> NDArray[Any]:
        return np.bincount(data, minlength=self.d)

    def _infer(self, counts: NDArray[Any], users: int) -> Estimate:
        return pure(counts, users, self._keep, self._stray, Simplex())

    def variance(self, n: int, frequency: float = 0.0) -> float:
        """Variance of one estimated frequency: [f a(1-a) + (1-f) b(1-b)]/(n (a-b)^2)."""
        a, b = self._keep, self._stray
        return (frequency * a * (1 - a) + (1 - frequency) * b * (1 - b)) / (n * (a - b) ** 2)

    def inputs(self) -> list[int]:
        """0, ..., d-1."""
        return list(range(self.d))

    def probabilities(self) -> NDArray[np.float64]:
        """a on the diagonal, b elsewhere."""
        return np.full((self.d, self.d), self._stray) + np.eye(self.d) * (self._keep - self._stray)
