"""The task of a map: shares of users in its cells, by noise on the place or by any mechanism on the cell's number."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from .. import queries
from .._support import validation as check
from ..calibration.unknowns import budget
from ..errors import ParameterError
from ..mechanisms.base import Mechanism
from ..mechanisms.registry import find
from ..queries.base import Query
from .candidates import Candidate, Refusal, plain_rows, runnable
from .frequency_tasks import HistogramTask
from .tasks import Columns, Labels, no_labels, options, short_unit

#: What noise on places is called among the inputs of mechanisms.
_PLACES = "cells of a map"
#: Cells of a map whose matrix is inverted.
_MOST_CELLS = 1024


@dataclass(frozen=True, kw_only=True)
class LocationTask(HistogramTask):
    """A place in one of d cells of a square map from low to high, in each direction.

    Guarantees are for moving a user anywhere on the map, so that noise on places and randomized cells are compared
    alike.  Noise on places also has a guarantee for short moves, which is not ranked.
    """

    name: ClassVar[str] = "location"
    measure: ClassVar[str] = "share of users, root mean square over the cells"

    d: int
    low: float = 0.0
    high: float = 1.0
    unit: str = ""

    def __post_init__(self) -> None:
        low, high = check.interval(self.low, self.high)
        vars(self).update(d=options(self.d, what="cells"), low=low, high=high, unit=short_unit(self.unit))

    @property
    def item(self) -> str:
        """One of the cells."""
        return f"each of {self.d:,} cells"

    @property
    def grid(self) -> tuple[int, int]:
        """Cells across and up: the divisors of d that are closest to each other."""
        up = next(k for k in range(math.isqrt(self.d), 0, -1) if self.d % k == 0)
        return self.d // up, up

    @property
    def inputs(self) -> Mapping[str, Mapping[str, int]]:
        """The cell as an option, or the place."""
        return {**super().inputs, **({_PLACES: {}} if self.d <= _MOST_CELLS else {})}

    def rows(self, name: str, kind: str, n: int) -> Iterator[Candidate | Refusal]:
        """Noise on places has its scale as the unknown."""
        if kind != _PLACES:
            yield from plain_rows(self, name, kind, n)
            return
        # cells of less than 0.02 or more than 500 units of noise are refused by the mechanism, eps above 500 by the map
        width = self.high - self.low
        least, most = 0.02 * max(self.grid) / width, min(500.0, 500.0 * min(self.grid) / width)
        if least < most:
            yield Candidate(name, budget("eps", self._places, low=least, high=most), self.accuracy, runnable)
        else:
            yield Refusal(name, f"Its eps is per unit of distance, and the map is {width:g} of them wide.", fits=True)

    def _places(self, eps: float) -> Mechanism:
        return self._map(eps, ("x", "y")).randomizer

    def _map(self, eps: float, column: tuple[str, str]) -> Query:
        (across, up), low, high = self.grid, self.low, self.high
        sides: dict[str, Any] = {"west": low, "east": high, "south": low, "north": high}
        return queries.Location(column=column, **sides, across=across, up=up, eps=eps, unit=self.unit)

    def query(self, mechanism: Mechanism, column: Columns, labels: Labels, variant: str = "") -> Query:
        """Two coordinates for noise on places; else one column with the number of the cell, rows from the south."""
        if _PLACES not in find(mechanism.name).serves:
            return super().query(mechanism, "cell" if column is None else column, labels)
        no_labels(labels, self.name)
        if column is not None and (isinstance(column, str) or len(column) != 2):
            raise ParameterError(f"column must name the two coordinates, got {column!r:.60}; write ('x', 'y').")
        eps = float(getattr(mechanism, "wide", 0.0)) * self.grid[0] / (self.high - self.low)
        return self._map(eps, ("x", "y") if column is None else (column[0], column[1]))
