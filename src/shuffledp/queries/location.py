"""Where are the users? The share of them in every cell of a map."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._support import validation as check
from .._support.arrays import FloatArray
from ..errors import ParameterError
from ..estimation.constraints import Simplex
from ..estimation.drawing import Look
from ..estimation.estimate import SHARE, Estimate
from ..mechanisms.randomizer import Randomizer
from ..mechanisms.reports import Tally
from .base import Query, known_shares, runnable
from .columns import Column, Weights, shares_of
from .domains import Interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The distance between the centers of opposite corners is rounded up by this factor.
_ROOM = 1.0 + 1e-9


@dataclass(frozen=True, kw_only=True)
class Location(Query):
    """The share of users in every cell of a map, by planar Laplace noise on their places.

    Parameters
    ----------
    column : two columns
        The coordinates of a place in the plane: to the east and to the north, in ``unit``.
    west, east, south, north : float
        The map, declared in advance; places outside are moved to its nearest point.
    across, up : int
        Cells from west to east and from south to north, at most 1024 in all.
    eps : float
        Local privacy per unit of distance (geo-indistinguishability): the noise has a mean distance of 2/eps.
    near : float
        The guarantee covers moving a user by at most this distance; anywhere on the map by default.
    missing : two floats
        The place that a missing coordinate counts as.  Data with missing ones need it; a client on its own that has
        none takes the middle of the map.
    unit : str
        Of the coordinates; "km" by default.

    Notes
    -----
    A client takes the middle of its cell, adds noise, and reports the cell it arrives in (``planar-cells``).  Two
    places within ``near`` of each other have cell centers within ``near`` plus one diagonal of a cell: that is the
    distance the guarantee is computed for.

    Examples
    --------
    >>> import numpy as np
    >>> import shuffledp as sdp
    >>> town = sdp.queries.Location(
    ...     column=("x", "y"), west=0, east=6, south=0, north=4, across=3, up=2, eps=1.0, unit="km"
    ... )
    >>> m, values = town.randomizer, town.encode([[1.0, 5.5] * 10_000, [1.0, 9.0] * 10_000])
    >>> answer = town.answer(m.tally(m.privatize(values, rng=np.random.default_rng(0))))
    >>> answer.labels[0], bool(abs(answer.value[0] - 0.5) < 4 * answer.stderr[0])
    ('0 to 2 by 0 to 2', True)
    """

    kind: ClassVar[str] = "location"

    column: tuple[str, str]
    west: float
    east: float
    south: float
    north: float
    across: int
    up: int
    eps: float
    near: float | None = None
    missing: tuple[float, float] | None = None
    unit: str = "km"

    def __post_init__(self) -> None:
        column = () if isinstance(self.column, str) else tuple(self.column)
        if len(column) != 2 or not all(isinstance(name, str) for name in column):
            raise ParameterError(f"column must name the two coordinates, got {self.column!r:.60}; write ('x', 'y').")
        x, y = self.sides
        across, up = (check.whole(key, getattr(self, key), low=1, high=1024) for key in ("across", "up"))
        eps = check.in_range("eps", self.eps, low=0.0, high=500.0, low_open=True, hint="it is per unit of distance")
        near, wide, hint = self.near, math.hypot(x.width, y.width), "no two places are further"
        if near is not None:
            near = check.in_range("near", near, low=0.0, high=wide, low_open=True, hint=hint)
        missing = None if self.missing is None else (x.missing, y.missing)
        vars(self).update(column=column, west=x.low, east=x.high, south=y.low, north=y.high)
        vars(self).update(across=across, up=up, missing=missing, eps=eps, near=near)
        _ = self.randomizer  # refuses what the noise cannot do

    @cached_property
    def sides(self) -> tuple[Interval, Interval]:
        """West to east, and south to north."""
        made = []
        given = (None, None) if self.missing is None else tuple(self.missing)
        if len(given) != 2:
            raise ParameterError(f"missing must be a place, got {self.missing!r:.60}; write (x, y).")
        for names, place in zip((("west", "east"), ("south", "north")), given, strict=True):
            low, high = (check.in_range(name, getattr(self, name), low=-1e300, high=1e300) for name in names)
            if not low < high:
                raise ParameterError(f"{names[1]} must be above {names[0]}, got {low:g} and {high:g}; exchange them.")
            made.append(Interval(low, high, place, self.unit))
        return made[0], made[1]

    @cached_property
    def randomizer(self) -> Randomizer:
        """Planar Laplace noise between cells, lengths in units of the noise."""
        x, y = (side.width / number for side, number in zip(self.sides, (self.across, self.up), strict=True))
        far = _ROOM * self.eps * math.hypot((self.across - 1) * x, (self.up - 1) * y)
        near = far if self.near is None else min(far, _ROOM * self.eps * (self.near + math.hypot(x, y)))
        spec = f"planar-cells:d01={near!r},dmax={far!r},across={self.across},up={self.up}"
        return runnable(f"{spec},wide={self.eps * x!r},high={self.eps * y!r}", "eps, the map and its cells")

    @property
    def question(self) -> str:
        """In words."""
        x, y = self.sides
        moved = "anywhere on the map" if self.near is None else f"by at most {x.words(self.near)}"
        return (
            f"the share of users in each of {self.across} x {self.up} cells from {x.low:g} to {x.words(x.high)} by "
            f"{y.low:g} to {y.words(y.high)} (eps = {self.eps:g} per {self.unit or 'unit'}, for users who move {moved})"
        )

    def encode(self, columns: Sequence[Column]) -> NDArray[Any]:
        """The cell of every row."""
        every = zip(self.sides, columns, (self.across, self.up), strict=True)
        x, y = (side.bins(column, number) for side, column, number in every)
        return y * self.across + x

    @property
    def clipping(self) -> str:
        """In words."""
        x, y = self.sides
        place = f"({x.substitute:g}, {y.words(y.substitute)})"
        return f"places outside the map count as its nearest point, and missing ones as {place}"

    @property
    def _domains(self) -> Sequence[Interval]:
        return self.sides

    def _shown(self, found: Estimate) -> LocationAnswer:
        edges = [side.edges(number) for side, number in zip(self.sides, (self.across, self.up), strict=True)]
        columns, rows = ([f"{low:g} to {high:g}" for low, high in itertools.pairwise(ends)] for ends in edges)
        names = tuple(f"{column} by {row}" for row in rows for column in columns)
        kept = {**vars(found), "names": names, "quantity": SHARE, "note": self.clipping}
        return LocationAnswer(**kept, east=edges[0], north=edges[1], length=self.unit)

    def answer(self, tally: Tally) -> LocationAnswer:
        """Shares of the users, with the cells."""
        return self._shown(self.randomizer.estimate(tally))

    def exact(self, columns: Sequence[Column], *, weights: Weights = None) -> Estimate:
        """The shares of these rows."""
        cells, size = self.encode(columns), self.across * self.up
        return self._shown(known_shares(shares_of(cells, size, weights), len(cells), Simplex()))


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

    def counts(self) -> LocationAnswer:
        """Numbers of users in the cells."""
        return replace(self, **vars(super().counts()))

    def _draw(self, look: Look) -> Figure:
        """A map, darker where more users are, a cross where the interval holds 0; the truth is drawn beside it.

        Some cells on their own (:meth:`top`) are drawn as bars.
        """
        if self.value.size != (len(self.north) - 1) * (len(self.east) - 1):
            return super()._draw(look)
        from .drawing import draw_map

        return draw_map(self, look)
