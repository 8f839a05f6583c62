"""Planar Laplace noise on the cells of a map: the report is the cell in which the noisy place lies."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import BoundNotApplicableError, ParameterError
from ...estimation.estimate import Estimate
from ...numerics.family import PairSet
from ...randomness.sampling import Array, Source
from ..accuracy import Accuracy
from ..codecs import Category
from ..matrix import inverted
from ..parameters import real, whole
from ..values import categories
from .planar_laplace import PlanarLaplace

FloatArray = NDArray[np.float64]
#: Cells of a map: its matrix is inverted.
MOST_CELLS = 1024
#: Nodes of the quadrature over an angle, for 1e-9 at the smallest cells and 1e-13 from sides of 0.1 on.
_NODES = 200
#: Beyond this distance the noise has no mass that a double shows.
_FAR = 700.0


@dataclass(frozen=True, kw_only=True)
class PlanarCells(PlanarLaplace):
    """Planar Laplace noise on the middle of a cell of a map of across x up cells; the report is the cell it falls in.

    A noisy place outside the map counts in the nearest cell.

    Parameters
    ----------
    d01, dmax : float
        As in :class:`PlanarLaplace`: neighbors are cells whose middles are at most d01 apart, and no two middles of
        the map are further apart than dmax.  eps is part of all lengths.
    across, up : int
        Cells from left to right and from bottom to top, at most 1024 in all; cell (i, j) has number j across + i.
    wide, high : float
        Sides of a cell.

    Notes
    -----
    The report is a function of that of planar Laplace noise, whose (p, beta, q) hold for it (data processing).

    *Estimator.*  Pr[cell j | cell i] is an integral of e^-r/(2 pi) over a rectangle, by four values of
    Q(a, b) = integral over [0, a] x [0, b], which in polar coordinates is that of 1 - (1 + R) e^-R over the angle, with
    R the distance to the edge.  The frequencies are those of the inverse matrix: unbiased, to about 1e-9.  Where the
    noise is much wider than a cell they are very uncertain, and the standard errors say so.

    Examples
    --------
    >>> m = PlanarCells(d01=6.0, dmax=6.0, across=3, up=2, wide=2.0, high=2.0)
    >>> est = m.estimate(m.privatize(np.array([0, 5, 5, 5] * 5000), rng=np.random.default_rng(0)))
    >>> bool(abs(est.value[5] - 0.75) < 4 * est.stderr[5])
    True
    """

    name = "planar-cells"
    _in_words = "planar Laplace noise of scale 1 on {across} x {up} cells, {_distances}"
    _takes = ""
    serves = ("cells of a map",)

    across: int = whole(low=1, high=MOST_CELLS, hint="cells from left to right")
    up: int = whole(low=1, high=MOST_CELLS, hint="cells from bottom to top")
    wide: float = real(low=0.02, high=500.0, hint="it is the width of a cell, eps included")
    high: float = real(low=0.02, high=500.0, hint="it is the height of a cell, eps included")

    def _check_together(self) -> None:
        super()._check_together()
        if not 2 <= self.across * self.up <= MOST_CELLS:
            raise ParameterError(
                f"across and up must make 2 to {MOST_CELLS:,} cells, got {self.across} x {self.up}; change them."
            )
        if self.dmax < self._reach:
            raise ParameterError(
                f"dmax must be at least the distance {self._reach:g} of the middles of opposite corners, got "
                f"{self.dmax!r}; raise it."
            )

    @property
    def _reach(self) -> float:
        return math.hypot((self.across - 1) * self.wide, (self.up - 1) * self.high)

    def _constant_datasets(self) -> PairSet:
        """None: what distinguishes places in the plane need not be seen in the cells."""
        raise BoundNotApplicableError(f"no dataset is known for {self.name}, so it has no lower bound.")

    # -- running it -------------------------------------------------------------------------------------------

    @property
    def codec(self) -> Category:  # type: ignore[override]
        """The cell."""
        return Category(self.across * self.up, scratch=400)

    def _check(self, values: Array) -> Array:
        return categories(values, self.across * self.up)

    def _randomize(self, values: Array, src: Source) -> Array:
        cell = values.astype(np.int64)
        place = np.stack([cell % self.across, cell // self.across], axis=1)
        middle = (place - 0.5 * np.array([self.across - 1, self.up - 1])) * [self.wide, self.high]
        noisy = super()._randomize(middle, src) / [self.wide, self.high] + 0.5 * np.array([self.across, self.up])
        found = np.clip(np.floor(noisy), 0, [self.across - 1, self.up - 1]).astype(np.int64)
        return (found[:, 1] * self.across + found[:, 0]).astype(self.codec.dtype)

    @property
    def _rows(self) -> FloatArray:
        """Pr[report | cell], rows = inputs: rectangles around the middle of the cell, those at the rim unbounded."""
        sides = []
        for number, side in ((self.across, self.wide), (self.up, self.high)):
            edges = side * (np.arange(number + 1) - np.arange(number)[:, None] - 0.5).astype(np.float64)
            edges[:, 0], edges[:, -1] = -np.inf, np.inf
            sides.append(np.unique(edges, return_inverse=True))  # most of them are equally far from a middle
        (a, at), (b, place) = sides
        at, place = at.reshape(self.across, -1), place.reshape(self.up, -1)
        corners = _corner(a[:, None], b[None, :])
        corner = corners[at[:, None, :, None], place[None, :, None, :]]  # middle x, middle y, edge x, edge y
        table = np.diff(np.diff(corner, axis=2), axis=3)
        size = self.across * self.up
        return np.maximum(table.transpose(1, 0, 3, 2).reshape(size, size), 0.0)

    @property
    def _inverse(self) -> FloatArray:
        """Maps shares of reports to frequencies; the noise has no frequency that it hides entirely."""
        return np.asarray(np.linalg.inv(self._rows.T))

    def _infer(self, counts: Array, users: int) -> Estimate:
        return inverted(counts, users, self._rows, self._inverse)

    def variance(self, n: int) -> float:
        """Variance of one estimated share, the mean over the cells, if all are equally frequent."""
        even = 1.0 / (self.across * self.up)
        return float(np.mean(self._inverse**2 @ (even * self._rows.sum(axis=0)) - even)) / n

    def accuracy(self, n: int, *, items: int | None = None) -> Accuracy:
        """From the law of every cell: the mean over the entries is linear in the shares, so at worst all are in one."""
        size = self.across * self.up
        square = self._rows @ (self._inverse**2).T  # mean square of entry j if everybody is in cell i
        held = square - np.eye(size)
        worst = float(np.max(held.mean(axis=1)))
        return Accuracy(*(math.sqrt(max(x, 0.0) / n) for x in (worst, n * self.variance(n), float(held.max()))))

    def inputs(self) -> list[int]:
        """The cells."""
        return list(range(self.across * self.up))

    def probabilities(self) -> NDArray[np.float64]:
        """The matrix."""
        self._few_cells(float(self.across * self.up) ** 2)
        return np.asarray(self._rows / self._rows.sum(axis=1, keepdims=True))


def _corner(a: FloatArray, b: FloatArray) -> FloatArray:
    """Q(a, b), odd in both: the mass of planar Laplace noise in [0, a] x [0, b]; ends may be infinite.

    Up to the angle of the corner the ray meets the side x = a, beyond it the side y = b.

    >>> round(float(_corner(np.array(np.inf), np.array(np.inf))), 12)
    0.25
    """
    a, b = np.broadcast_arrays(a, b)
    long, tall = (np.minimum(np.abs(side), _FAR) for side in (a, b))
    points, weights = np.polynomial.legendre.leggauss(_NODES)
    turn, total = np.arctan2(tall, long), np.zeros(a.shape)
    for point, weight in zip(0.5 * (points + 1.0), 0.5 * weights, strict=True):
        for side, angle in ((long, turn), (tall, 0.5 * math.pi - turn)):
            reach = side / np.cos(angle * point)
            total += weight * angle * (-np.expm1(-reach) - reach * np.exp(-reach))
    return np.asarray(np.sign(a) * np.sign(b) * total / (2.0 * math.pi))
