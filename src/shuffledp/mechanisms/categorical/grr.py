"""Generalized randomized response: report your value, or now and then a uniformly random one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._support.exponentials import exp, expm1
from ...numerics.family import Family
from ...numerics.pair import FloatArray, ShuffledPair, both_directions
from ...randomness.sampling import Array, Source, below, bernoulli, pick
from ...randomness.thresholds import chance_of, exact_chance
from ..base import Mechanism
from ..codecs import Category
from ..frequency import FrequencyOracle
from ..laws import SLACK
from ..two_level import pair


@dataclass(frozen=True, kw_only=True)
class GRR(FrequencyOracle):
    """Generalized (k-ary) randomized response on d options (Kairouz, Bonawitz, Ramage, ICML 2016).

    With e = e^eps0 the report is the true value with probability a = e/(e+d-1) and any other value with
    probability b = 1/(e+d-1) each; equivalently a uniform value with probability d b, else the truth.

    Parameters
    ----------
    eps0, d : local budget and number of options, as in :class:`~shuffledp.FrequencyOracle`

    Notes
    -----
    Parameters (paper, Table 2): p = q = e, beta = (e-1)/(e+d-1).  The blanket is b on every option.  All ordered
    pairs are alike under permutations of the options, so one shuffled pair gives the maximum over pairs:
    symbols {x0}, {x1}, {the others}.  The lower bound lets the others hold a third value (d >= 3), x0 or x1.

    Examples
    --------
    >>> GRR(eps0=1.0, d=4).variation_ratio().beta.__round__(4)
    0.3005
    >>> import numpy as np
    >>> m = GRR(eps0=3.0, d=4)
    >>> est = m.estimate(m.privatize(np.array([0, 1, 1, 3] * 1000), rng=np.random.default_rng(0)))
    >>> bool(abs(est.value[1] - 0.5) < 5 * est.stderr[1])
    True
    """

    name = "grr"
    _in_words = "generalized randomized response on {d:,} options with eps0 = {eps0}"
    _lists_every_type = True
    _is_response = True
    _both = (0.0, 0.0)  # a report names one option

    @property
    def keep(self) -> float:
        """a = e/(e+d-1)."""
        return 1.0 / (1.0 + (self.d - 1) * exp(-self.eps0))

    @property
    def _truth(self) -> tuple[float, str]:
        return self.keep, "are the true value"

    @property
    def stray(self) -> float:
        """b = 1/(e+d-1)."""
        return exp(-self.eps0) * self.keep

    @property
    def beta(self) -> float:
        """(e-1)/(e+d-1)."""
        return -expm1(-self.eps0) * self.keep

    @property
    def codec(self) -> Category:
        """The option itself."""
        return Category(self.d)

    def _beside(self, held: str) -> ShuffledPair:
        """The victim holds x0 or x1, others hold "x0" or a "third" option, or send at least the "blanket"."""
        third = [(1, 0, 0, 1)] if held == "third" else []
        rows = [(1, 1, 0, int(held == "x0")), (1, 0, 1, 0), *third, (self.d - 2 - len(third), 0, 0, 0)]
        return pair(rows, self.stray, self.keep)

    def _blanket(self) -> Family | list[ShuffledPair]:
        """The blanket is uniform with mass d b; the pair is symmetric in x0 and x1."""
        return [self._beside("blanket")]

    def _constant_datasets(self) -> Family | list[ShuffledPair]:
        """Others hold a third option, or x0."""
        third = [self._beside("third")] if self.d > 2 else []
        return [*third, *both_directions(self._beside("x0"))]

    @property
    def _binary_budget(self) -> tuple[float, float] | None:
        """Two options are one bit."""
        return (self.eps0, self.eps0) if self.d == 2 else None

    def _blanket_ratio(self, victim: Mechanism) -> float:
        """b over that of the victim: both blankets are uniform on the d options."""
        if isinstance(victim, GRR) and victim.d == self.d:
            return self.stray / victim.stray * (1.0 - SLACK)
        return super()._blanket_ratio(victim)

    def _portable_law(self) -> dict[str, Any]:
        return {"kind": "keep", "size": self.d, "keep": chance_of(self.beta, self.d * self.stray)}

    def _randomize(self, values: Array, src: Source) -> Array:
        lie = bernoulli(src, exact_chance(self.d * self.stray, self.beta), len(values))
        return pick(lie, below(src, self.d, len(values)).astype(values.dtype, copy=False), values)

    def probabilities(self) -> FloatArray:
        """a on the diagonal, b elsewhere."""
        self._few_cells(self.d**2)
        return np.full((self.d, self.d), self.stray) + np.eye(self.d) * (self.keep - self.stray)
