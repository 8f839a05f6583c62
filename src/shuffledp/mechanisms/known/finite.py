"""Any randomizer with finitely many inputs and outputs, given by its probability matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..._support.arrays import reals
from ..._support.reading.tables import read_table
from ...errors import ParameterError
from ...numerics.families.base import PairSet
from ...numerics.families.matrix_pairs import BlanketPairs, constant_datasets, two_count_datasets
from ...numerics.pair import FloatArray, ShuffledPair
from ...numerics.solve import log_up
from ..base import Mechanism
from .variation_ratio import VariationRatio

#: Rows may miss 1 by this much; they are then divided by their sum.
ROW_TOLERANCE = 1e-9
_FEW_TIES = 256


@dataclass(frozen=True, eq=False)
class FiniteRandomizer(Mechanism):
    """A local randomizer given as a matrix: ``matrix[x][y]`` is the probability of output y on input x.

    Parameters
    ----------
    matrix : rows = inputs, columns = outputs
        Non-negative, every row summing to 1 (up to 1e-9; rows are then normalised).
    source : str
        Where it came from, for the spec (the file name); optional.

    Notes
    -----
    p, beta, q, the blanket omega_y = min_x R(x)_y, the worst input pairs and the best constant dataset are
    derived from the matrix.  Upper bounds take the maximum over all ordered input pairs; pairs are
    discarded only by a sound bound.

    Examples
    --------
    >>> m = FiniteRandomizer([[0.75, 0.25], [0.25, 0.75]])
    >>> m.variation_ratio()
    VariationRatio(p=3.0, beta=0.5, q=3.0)
    """

    name: ClassVar[str] = "finite"
    file_parameters: ClassVar[tuple[str, ...] | None] = ()

    matrix: ArrayLike
    source: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", _checked(self.matrix))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FiniteRandomizer):
            return NotImplemented
        return np.array_equal(self._rows, other._rows)

    def __hash__(self) -> int:
        return hash((self._rows.shape, self._rows.tobytes()))

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._rows.setflags(write=False)  # pickle forgets it

    @classmethod
    def from_file(cls, path: str | Path) -> FiniteRandomizer:
        """Read a matrix from a CSV (comma or blank separated, # comments) or .npy file; .npy is read without pickle."""
        return cls(read_table(path), source=str(path))

    @property
    def _rows(self) -> FloatArray:
        return np.asarray(self.matrix)

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

    @cached_property
    def _worst_ratio(self) -> float:
        """max over outputs of max_x R / min_x R."""
        top, bottom = self._rows.max(axis=0), self._rows.min(axis=0)
        used = top > 0
        if np.any(bottom[used] == 0):
            return math.inf
        return float(np.max(top[used] / bottom[used]))

    @property
    def local_epsilon(self) -> float:
        """log of the largest ratio between two inputs, rounded up."""
        return log_up(self._worst_ratio)

    @cached_property
    def _largest_variation(self) -> float:
        """Largest total variation, correctly rounded: the largest few in floats are summed again exactly."""
        rows = np.unique(self._rows, axis=0)
        found = [(0.5 * np.abs(rows[i + 1 :] - rows[i]).sum(axis=1), i) for i in range(len(rows) - 1)]
        most = max((float(gaps.max()) for gaps, _ in found), default=0.0)
        ties = [(i, i + 1 + int(j)) for gaps, i in found for j in np.flatnonzero(gaps >= most - 1e-13)]
        if len(ties) <= _FEW_TIES:
            most = max((_variation(rows[i], rows[j]) for i, j in ties), default=0.0)
        # The entries are rounded too, by 2^-53 a row in sum; beside a large beta the evaluator's slack covers it.
        return most + 2.0**-50 if 0.0 < most < 0.125 else most

    def variation_ratio(self) -> VariationRatio:
        """p = q = largest ratio between two inputs, beta = largest total variation."""
        ratio = self._worst_ratio
        if ratio <= 1.0:
            raise ParameterError(
                "matrix must have two different rows for (p, beta, q) to exist, got rows that coincide; "
                "its output says nothing of the input and eps is 0."
            )
        most = 1.0 if math.isinf(ratio) else (ratio - 1.0) / (ratio + 1.0)
        return VariationRatio(p=ratio, beta=min(self._largest_variation, most), q=ratio)

    @cached_property
    def _pairs(self) -> BlanketPairs:
        return BlanketPairs(self._rows)

    def blanket(self) -> BlanketPairs:
        """All ordered input pairs over omega_y = min_x R(x)_y."""
        return self._pairs

    def dominating_pairs(self, most: int) -> list[ShuffledPair] | None:
        """Every ordered pair of rows over the blanket (nearly equal ones are kept apart), if not too many."""
        rows = np.unique(self._rows, axis=0)
        if len(rows) * (len(rows) - 1) > most:
            return None
        omega = rows.min(axis=0)
        return [ShuffledPair(P0=a, P1=b, t=omega) for a, b in permutations(rows, 2)]

    def identity(self) -> dict[str, Any]:
        """The matrix itself."""
        return {"matrix": self._rows.tolist()}

    def constant_datasets(self) -> PairSet:
        """t = R(x*) for the most telling pairs and x*."""
        return constant_datasets(self._rows)

    def two_counts(self) -> PairSet:
        """Theorem 5.1 with the six masses of each pair and x*."""
        return two_count_datasets(self._rows)


def _variation(a: FloatArray, b: FloatArray) -> float:
    """sum over a > b of a - b, in one exact sum."""
    more = a > b
    return math.fsum([*a[more].tolist(), *(-b[more]).tolist()])


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
    wrong = np.flatnonzero(np.abs(sums - 1.0) > ROW_TOLERANCE)
    if wrong.size:
        x = int(wrong[0])
        raise ParameterError(
            f"matrix rows must sum to 1, got {float(sums[x])!r} in row {x}; divide each row by its sum."
        )
    uneven = np.abs(sums - 1.0) > 2.0**-52 * rows.shape[1]  # the others are normalised already
    rows[uneven] /= sums[uneven, None]
    rows.setflags(write=False)
    return rows
