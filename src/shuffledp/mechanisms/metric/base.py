"""Metric privacy: how well a report hides *where* its input is depends on how far apart the candidates are.

The neighbors of these mechanisms are replace-one with inputs at distance at most d01 (in units of the metric: eps
is part of it), in a domain where no two points are further apart than dmax.  A guarantee for d01 holds for every
smaller distance too.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

from ..._support import validation as check
from ..._support.numbers import round_down
from ..base import Mechanism, plain
from ..parameters import budget

#: Smaller distances are negligible beside the noise.
_LEAST = 1e-6


def _widest(mechanism: MetricPair) -> float:
    """dmax if it is a valid distance; otherwise the check of dmax itself raises."""
    far = mechanism.dmax
    distance = isinstance(far, Real) and not isinstance(far, bool) and far >= _LEAST
    return float(min(far, check.MAX_EPS0)) if distance else check.MAX_EPS0


@dataclass(frozen=True, kw_only=True)
class MetricPair(Mechanism):
    """Two distances, that of neighbors and that of any two inputs, and what they say of the guarantee."""

    d01: float = budget(
        low=_LEAST, high=_widest, hint="it is the distance of two neighboring inputs, eps included, at most dmax"
    )
    dmax: float = budget(
        low=lambda m: m.d01, hint="it is the largest distance of two inputs, so at least d01; bound the domain"
    )

    @property
    def _crowd_epsilon(self) -> float:
        """dmax (and what the grid adds): other users may hold a value that far away."""
        return self.variation_ratio().law.crowd_epsilon

    @property
    def neighbors(self) -> str:
        """Metric privacy: values further apart are protected less."""
        return f"replace-one at distance at most {plain(self.d01)}"

    @property
    def _distances(self) -> str:
        """Both distances in words."""
        near, far = round_down(self.d01, 6), round_down(self.dmax, 6)
        return f"for inputs at distance at most {near} in a domain of diameter {far}"
