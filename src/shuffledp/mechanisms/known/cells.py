"""A continuous law released in cells: the matrix of a cumulative distribution function on listed inputs and edges.

What is released is the cell, drawn on whole numbers from this matrix, so the accounting of the matrix is that of the
release.  Accounting for cells while releasing the *number* would be unsound: the number is finer than its cell, its
likelihood ratios inside a cell are not those of the cell, and in an outer cell they may have no bound at all.  (For
Gaussian noise the ratio of two densities grows without limit, while that of two outer cells is finite.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._support.arrays import reals
from ...errors import ParameterError
from ...numerics.pair import FloatArray
from .finite import FiniteRandomizer

#: What a distribution function may be wrong by, relative, and what a probability made of it may be.
_FUNCTION, _CELL = 2.0**-51, 2.0**-36
#: cdf + sf may miss 1 by this much.
_TOGETHER = 1e-12

Function = Callable[[Any, FloatArray], ArrayLike]


@dataclass(frozen=True, eq=False)
class CellRandomizer(FiniteRandomizer):
    """A matrix whose inputs are numbers and whose outputs are cells of the line; made by ``FiniteRandomizer.from_cdf``.

    Values are the listed inputs themselves, and any other number is refused.  Report j is the cell
    (edges[j-1], edges[j]], where the first and the last have no outer end.
    """

    listed: tuple[float, ...] = field(default=(), kw_only=True)
    edges: tuple[float, ...] = field(default=(), kw_only=True)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FiniteRandomizer):
            return NotImplemented
        alike = isinstance(other, CellRandomizer) and (self.listed, self.edges) == (other.listed, other.edges)
        return alike and np.array_equal(self._rows, other._rows)

    def __hash__(self) -> int:
        return hash((self.listed, self.edges, self._rows.tobytes()))

    @property
    def description(self) -> str:
        """In words."""
        return f"a law on {len(self.listed)} listed inputs, released as one of {len(self.edges) + 1} cells"

    def inputs(self) -> list[Any]:
        """The listed inputs."""
        return list(self.listed)

    def _check(self, values: NDArray[Any]) -> NDArray[Any]:
        if values.dtype.kind not in "iufb" or values.ndim != 1:
            raise ParameterError(
                f"values must be a flat array of listed inputs, got {values.dtype} of shape {values.shape}; "
                "give one number per user."
            )
        order = np.argsort(self.listed)
        known = np.asarray(self.listed)[order]
        at = np.minimum(np.searchsorted(known, values), len(known) - 1)
        missing = np.flatnonzero(known[at] != values)
        if missing.size:
            raise ParameterError(
                f"values must be listed inputs, got {values[missing[0]].item()!r}, which is not; "
                "round values to the listed inputs first, at random without bias or to the nearest."
            )
        return order[at].astype(np.min_scalar_type(len(known) - 1))


def of_cdf(cdf: Function, inputs: ArrayLike, edges: ArrayLike, sf: Function | None) -> CellRandomizer:
    """The randomizer whose rows are differences of ``cdf(x, edges)``, or of ``sf(x, edges)`` in the upper tail."""
    listed, cuts = _numbers("inputs", inputs), _numbers("edges", edges)
    if np.unique(listed).size < listed.size:
        raise ParameterError("inputs must be different numbers, got one twice; list each once.")
    if np.any(np.diff(cuts) <= 0.0):
        raise ParameterError(
            "edges must be strictly increasing, got some that are not; sort them and drop repeated ones."
        )
    rows = [_row(x, cdf, sf, cuts) for x in listed.tolist()]
    return CellRandomizer(np.array(rows), listed=tuple(listed.tolist()), edges=tuple(cuts.tolist()))


def _numbers(name: str, values: ArrayLike) -> FloatArray:
    try:
        found = reals(values)
    except (TypeError, ValueError):
        found = np.empty((0, 0))
    if found.ndim != 1 or not found.size or not np.all(np.isfinite(found)):
        raise ParameterError(f"{name} must be a flat list of finite numbers, got {values!r:.60}; give at least one.")
    return found + 0.0  # -0.0 is 0.0


def _row(x: float, cdf: Function, sf: Function | None, edges: FloatArray) -> FloatArray:
    below = _called("cdf", cdf, x, edges)
    if np.any(np.diff(below) < 0.0):
        raise ParameterError(f"cdf must not fall from one edge to the next, got a fall at input {x!r}; correct it.")
    low = np.concatenate([[0.0], below, [1.0]])
    mass, wrong = np.diff(low), _FUNCTION * low[1:]
    flat = (mass == 0.0) & (low[1:] == 0.0)
    if sf is not None:
        # a difference of two numbers near 1 has few digits left; that of the survival function there has all of them
        above = _called("sf", sf, x, edges)
        if np.any(np.diff(above) > 0.0):
            raise ParameterError(f"sf must not rise from one edge to the next, got a rise at input {x!r}; correct it.")
        if np.any(np.abs(below + above - 1.0) > _TOGETHER):
            raise ParameterError(
                f"sf must be 1 - cdf at every edge, got another sum at input {x!r}; correct one of them."
            )
        high = np.concatenate([[1.0], above, [0.0]])
        flat = (mass == 0.0) & (np.diff(high) == 0.0)
        upper = high[:-1] < low[1:]
        mass, wrong = np.where(upper, -np.diff(high), mass), np.where(upper, _FUNCTION * high[:-1], wrong)
    bad = np.flatnonzero((wrong > _CELL * mass) & ~flat)
    if bad.size:
        j = int(bad[0])
        ends = ["-inf", *(f"{e:g}" for e in edges), "inf"]
        advice = "pass sf= (the survival function) as well" if sf is None else "use wider cells"
        raise ParameterError(
            f"cdf must give every cell's probability to 10 digits, got {mass[j]:.3g} for ({ends[j]}, {ends[j + 1]}] at "
            f"input {x!r} as a difference of rounded numbers; {advice}."
        )
    return mass


def _called(name: str, function: Function, x: float, edges: FloatArray) -> FloatArray:
    """The values of the function at all edges, one number in [0, 1] each."""
    try:
        found = reals(function(x, edges.copy()))
    except (TypeError, ValueError):
        found = np.empty((0, 0))
    if found.shape != edges.shape:
        raise ParameterError(
            f"{name}(x, edges) must return one number per edge, got something else at input {x!r}; "
            f"return an array of {edges.size}."
        )
    if not np.all((found >= 0.0) & (found <= 1.0)):
        raise ParameterError(f"{name} must return probabilities in [0, 1], got another at input {x!r}; correct it.")
    return found
