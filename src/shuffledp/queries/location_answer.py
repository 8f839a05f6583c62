"""What was found on a map: the share of every cell, and its picture."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from .._support.arrays import FloatArray
from ..estimation.drawing import Look
from ..estimation.estimate import SHARE, Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class LocationAnswer(Estimate):
    """The shares of the cells, from west to east, then from south to north.

    Attributes
    ----------
    east, north : the ends of the cells in either direction
    length : the unit of the map
    """

    east: FloatArray = field(default_factory=lambda: np.zeros(1))
    north: FloatArray = field(default_factory=lambda: np.zeros(1))
    length: str = ""

    @property
    def map(self) -> FloatArray:
        """The shares as a table, south first."""
        return self.value.reshape(len(self.north) - 1, len(self.east) - 1)

    def _draw(self, look: Look) -> Figure:
        """A map, darker where more users are, a cross where the interval holds 0; the truth is drawn beside it.

        Some cells on their own (:meth:`top`) are drawn as bars.
        """
        if self.value.size != (len(self.north) - 1) * (len(self.east) - 1):
            return super()._draw(look)
        from .drawing import draw_map

        return draw_map(self, look)


def location_answer(found: Estimate, east: FloatArray, north: FloatArray, length: str) -> LocationAnswer:
    """The answer from shares of the cells."""
    columns, rows = ([f"{low:g} to {high:g}" for low, high in itertools.pairwise(edges)] for edges in (east, north))
    names = tuple(f"{column} by {row}" for row in rows for column in columns)
    kept = {**vars(found), "names": names, "quantity": SHARE}
    return LocationAnswer(**kept, east=east, north=north, length=length)
