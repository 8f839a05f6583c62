"""Any randomizer with finitely many inputs and outputs, given by its probability matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._support.arrays import reals
from ..._support.reading.tables import read_table
from ...errors import ParameterError
from ...numerics.pair import MOST_LEFT_OUT, FloatArray, normalized_rows, with_symbols
from ..matrix import MatrixRandomizer


@dataclass(frozen=True, eq=False)
class FiniteRandomizer(MatrixRandomizer):
    """A local randomizer given as a matrix: ``matrix[x][y]`` is the probability of output y on input x.

    Parameters
    ----------
    matrix : rows = inputs, columns = outputs
        Non-negative, every row summing to 1.  What a row misses beyond rounding, up to 1e-9, is accounted for as an
        output that only its input has (numerics/pair.py); more is refused.  Reports are drawn from the rows
        divided by their sums.
    source : str
        Where it came from, for the spec (the file name); optional.

    Notes
    -----
    p, beta, q, the blanket omega_y = min_x R(x)_y, the worst input pairs and the best constant dataset are
    derived from the matrix.  Upper bounds take the maximum over all ordered input pairs; pairs are
    discarded only by a sound bound.

    It can be run: values are row numbers, reports are column numbers, drawn on whole numbers.  A row of floats sums
    to 1 only up to rounding; accounting and sampler divide it by its exact sum, so that every output is drawn with the
    accounted probability to within a relative 2^-52, which is charged.  The estimate is that of the frequencies of
    the inputs, by least squares; it is unbiased, and refused if some inputs cannot be distinguished.

    Examples
    --------
    >>> m = FiniteRandomizer([[0.75, 0.25], [0.25, 0.75]])
    >>> m.variation_ratio()
    VariationRatio(p=3.0, beta=0.5, q=3.0)
    >>> est = m.estimate(m.privatize([0, 1, 1, 1] * 1000, rng=np.random.default_rng(0)))
    >>> bool(abs(est.value[1] - 0.75) < 4 * est.stderr[1])
    True
    """

    name = "finite"
    _file_parameters = ()

    matrix: ArrayLike
    source: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", _checked(self.matrix))
        super().__post_init__()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return np.array_equal(np.asarray(self.matrix), np.asarray(other.matrix))

    def __hash__(self) -> int:
        return hash((self._rows.shape, np.asarray(self.matrix).tobytes()))

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        np.asarray(self.matrix).setflags(write=False)  # pickle forgets it

    @classmethod
    def from_file(cls, path: str | Path) -> FiniteRandomizer:
        """Read a matrix from a CSV (comma or blank separated, # comments) or .npy file; .npy is read without pickle."""
        return cls(read_table(path), source=str(path))

    @classmethod
    def from_cdf(
        cls,
        cdf: Callable[[Any, FloatArray], ArrayLike],
        *,
        inputs: ArrayLike,
        edges: ArrayLike,
        sf: Callable[[Any, FloatArray], ArrayLike] | None = None,
    ) -> FiniteRandomizer:
        """A continuous law on listed inputs, of which the *cell* between two edges is released, not the number.

        ``cdf(x, edges)`` returns Pr[output <= edge] on input x for the array of all edges; ``sf(x, edges)``, if given,
        1 - cdf to full relative accuracy: without it, small probabilities above the largest edges have no digits
        left, and are refused.  Outputs are the cells (-inf, e_0], (e_0, e_1], ..., (e_m, inf), numbered from 0.

        Values are the listed inputs themselves; others are refused, for their law is not accounted for.  Reports are
        drawn from the matrix of the cells, so its guarantee is exact for what is released.  It says nothing about
        the number behind a cell: release that, and there may be no guarantee at all.

        Examples
        --------
        >>> import math
        >>> def cdf(x, edges):  # logistic noise of scale 1
        ...     return [1 / (1 + math.exp(x - e)) for e in edges]
        >>> m = FiniteRandomizer.from_cdf(cdf, inputs=[0.0, 1.0], edges=[-2.0, 0.0, 1.0, 3.0])
        >>> round(m.local_epsilon, 4), m.inputs()
        (0.9217, [0.0, 1.0])
        >>> len(m.privatize([0.0, 1.0, 1.0]))
        3
        >>> m.privatize([0.5])
        Traceback (most recent call last):
        shuffledp.errors.ParameterError: values must be listed inputs, got 0.5, which is not; round values to the \
listed inputs first, at random without bias or to the nearest.
        """
        from .cells import of_cdf

        return of_cdf(cdf, inputs, edges, sf)

    @property
    def _rows(self) -> FloatArray:
        """As they are drawn: divided by their sums."""
        rows = normalized_rows(np.asarray(self.matrix))
        rows.setflags(write=False)
        return rows

    @property
    def _law(self) -> FloatArray:
        """As it is accounted for, with what the given rows leave out."""
        return with_symbols(np.asarray(self.matrix))

    @property
    def _left_out(self) -> float:
        """What the given rows leave out, at most."""
        return float(self._law[:, self._rows.shape[1] :].max(initial=0.0))

    @property
    def spec(self) -> str:
        """finite:FILE, or the shape if the matrix was given in memory."""
        if self.source:
            return f"finite:{self.source}"
        return "finite:<{} x {} matrix>".format(*self._rows.shape)

    @property
    def description(self) -> str:
        """In words."""
        inputs, outputs = self._rows.shape
        where = f" of {self.source}" if self.source else ""
        return f"the randomizer{where} with {inputs} inputs and {outputs} outputs"

    def _identity(self) -> dict[str, Any]:
        """The matrix itself, not its file, which may change later."""
        return {"matrix": np.asarray(self.matrix).tolist()}


def _checked(matrix: ArrayLike) -> FloatArray:
    try:
        rows = reals(matrix)
    except (TypeError, ValueError):
        raise ParameterError(
            "matrix must be a table of real numbers with rows of equal length, got something ragged or not real; "
            "give one row per input and one column per output."
        ) from None
    if rows.ndim != 2 or 0 in rows.shape:
        raise ParameterError(f"matrix must have rows and columns, got shape {rows.shape}; give one row per input.")
    if not np.all(np.isfinite(rows)):
        raise ParameterError("matrix must hold finite probabilities, got NaN or infinity; check its entries.")
    if np.any(rows < 0):
        x, y = np.argwhere(rows < 0)[0]
        raise ParameterError(
            f"matrix must hold probabilities >= 0, got {float(rows[x, y])!r} in row {x}, column {y}; correct it."
        )
    with np.errstate(over="ignore"):
        sums = rows.sum(axis=1)
    wrong = np.flatnonzero(np.abs(sums - 1.0) > MOST_LEFT_OUT)
    if wrong.size:
        x = int(wrong[0])
        raise ParameterError(
            f"matrix rows must sum to 1, got {float(sums[x])!r} in row {x}; divide each row by its sum."
        )
    rows.setflags(write=False)
    return rows
