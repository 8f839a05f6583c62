"""Binary randomized response, analysed exactly: no reduction between the mechanism and the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..._support import validation as check
from ..._support.numbers import round_down
from ...estimation.estimate import Estimate
from ...numerics.families.base import Family
from ...numerics.families.binary_response import ExactCounts
from ...numerics.pair import ShuffledPair
from ...randomness.sampling import Source
from ..base import Mechanism
from ..known.variation_ratio import VariationRatio
from ..parameters import budget
from ..randomizer import Randomizer
from .grr import GRR


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(Randomizer):
    """Randomized response to a yes/no question (Warner, JASA 1965), with its exact central guarantee.

    The report is the true bit with probability a = e^eps0/(e^eps0 + 1), else the other one: the mechanism
    ``grr:eps0,d=2``.  What differs is the analysis.  The blanket forgets that a report that is no blanket coin still
    hides the victim; here the datasets, described by how many of the others hold 1, are gone through instead.

    Parameters
    ----------
    eps0 : float > 0
        Local budget.

    Notes
    -----
    p = q = e^eps0, beta = tanh(eps0/2).  In leading order of n the blanket's eps is sqrt(2a) times the truth; what is
    proved, and for which n, stands in numerics/families/binary_response.py: up to 10^7 users the answer is the truth to
    two percent or better, beyond 2 x 10^7 it is the blanket's.  A certificate takes bound="variation-ratio", which is
    the blanket here.  The estimate holds the frequencies of 0 and of 1.

    Examples
    --------
    >>> import numpy as np
    >>> import shuffledp as sdp
    >>> m = RandomizedResponse(eps0=2.0)
    >>> exact, blanket = sdp.amplify(m, n=1000, delta=1e-6), sdp.amplify(GRR(eps0=2.0, d=2), n=1000, delta=1e-6)
    >>> round(exact.epsilon, 2), round(blanket.epsilon, 2)
    (0.32, 0.4)
    >>> est = m.estimate(m.privatise(np.array([0, 1, 1, 1] * 1000), rng=np.random.default_rng(0)))
    >>> bool(abs(est.value[1] - 0.75) < 5 * est.stderr[1])
    True
    """

    name: ClassVar[str] = "randomized-response"

    eps0: float = budget()

    def __post_init__(self) -> None:
        eps0 = check.local_budget(self.eps0)
        object.__setattr__(self, "eps0", eps0)

    @property
    def description(self) -> str:
        """In words."""
        return f"binary randomized response with eps0 = {round_down(self.eps0, 6)}"

    @cached_property
    def _grr(self) -> GRR:
        return GRR(eps0=self.eps0, d=2)

    def variation_ratio(self) -> VariationRatio:
        """p = q = e^eps0, beta = tanh(eps0/2): those of :class:`GRR` with d = 2."""
        return self._grr.variation_ratio()

    def blanket(self) -> Family:
        """All datasets (tighter than the blanket, and never above it)."""
        return ExactCounts(self.eps0)

    def blanket_pairs(self, most: int) -> Sequence[ShuffledPair] | None:
        """Those of GRR on two options: bounds from the blanket do not see the exact analysis."""
        return self._grr.blanket_pairs(most)

    def blanket_ratio(self, victim: Mechanism) -> float:
        """That of GRR."""
        return self._grr.blanket_ratio(victim)

    def constant_datasets(self) -> Family:
        """All datasets, of which the constant ones are two."""
        return ExactCounts(self.eps0)

    def two_counts(self) -> Family:
        """Theorem 5.1: with two outputs nothing is merged."""
        return self._grr.two_counts()

    # -- running it -------------------------------------------------------------------------------------------

    def _check(self, values: NDArray[Any]) -> NDArray[Any]:
        return self._grr._check(values.astype(np.uint8) if values.dtype == np.bool_ else values)

    def _randomise(self, values: NDArray[Any], src: Source) -> NDArray[Any]:
        return self._grr._randomise(values, src)

    def _tally(self, data: NDArray[Any]) -> NDArray[Any]:
        return self._grr._tally(data)

    def _infer(self, counts: NDArray[Any], users: int) -> Estimate:
        return self._grr._infer(counts, users)

    def variance(self, n: int, frequency: float = 0.0) -> float:
        """Variance of an estimated frequency, a(1-a)/(n (2a-1)^2) whatever the frequency is."""
        return self._grr.variance(n, frequency)

    def inputs(self) -> list[int]:
        """0 and 1."""
        return self._grr.inputs()

    def probabilities(self) -> NDArray[np.float64]:
        """a on the diagonal, 1 - a elsewhere."""
        return self._grr.probabilities()
