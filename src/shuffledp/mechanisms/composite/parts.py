"""What mechanisms that are made of others share: inputs side by side, a common budget, neighbors in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import ParameterError
from ..base import Mechanism
from ..free_setting import SharedBudget
from ..parameters import declared
from ..randomizer import Randomizer


class SideBySide:
    """The values of every user for several parts; a slice of it has them checked, in the fields q0, q1, ..."""

    def __init__(self, values: ArrayLike, parts: Sequence[Randomizer], what: str) -> None:
        many = len(parts)
        if isinstance(values, np.ndarray):
            columns = list(values.T) if values.ndim == 2 else []
        else:
            columns = list(values) if isinstance(values, Sequence) and not isinstance(values, str | bytes) else []
        if len(columns) != many:
            got = f"{len(columns)} of them" if columns else f"one {type(values).__name__}"
            raise ParameterError(
                f"values must be a list of {many} arrays or an array with {many} columns, got {got}; "
                f"pass one array for each {what}, with one entry per user."
            )
        self._parts = parts
        self._columns = [m._inputs(column) for m, column in zip(parts, columns, strict=True)]
        sizes = [len(column) for column in self._columns]
        if len(set(sizes)) > 1:
            raise ParameterError(f"values must have one entry per user and {what}, got {sizes} of them.")

    def __len__(self) -> int:
        return len(self._columns[0])

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        found = [m._check(column[rows]) for m, column in zip(self._parts, self._columns, strict=True)]
        out = np.empty(len(found[0]), dtype=[(f"q{k}", part.dtype, part.shape[1:]) for k, part in enumerate(found)])
        for k, part in enumerate(found):
            out[f"q{k}"] = part
        return out


def shared_eps0(parts: Sequence[Mechanism], make: Callable[[list[Any]], Mechanism]) -> SharedBudget | None:
    """One eps0 of all parts that have one; None if none has."""
    ranges = [declared(type(m))["eps0"].limits(m) for m in parts if "eps0" in declared(type(m))]
    if not ranges:
        return None

    def made(eps0: float) -> Mechanism:
        return make([replace(m, eps0=eps0) if "eps0" in declared(type(m)) else m for m in parts])  # type: ignore[type-var]

    return SharedBudget("eps0", max(low for low, _ in ranges), min(high for _, high in ranges), made)


def words_of_neighbors(parts: Sequence[Mechanism], any_value: str) -> str:
    """The changes that all parts cover; a part with metric privacy covers only values that are near enough."""
    kinds = dict.fromkeys(m.neighbors for m in parts)
    if len(kinds) == 1:
        return next(iter(kinds))
    near = [(m.neighbors.removeprefix(any_value).strip(), m.spec) for m in parts]
    said = dict.fromkeys(f"{where} in {spec}" for where, spec in near if where)
    return f"{any_value}, {' and '.join(said)}"
