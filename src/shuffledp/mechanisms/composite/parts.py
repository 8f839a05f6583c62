"""What mechanisms that are made of others share: inputs side by side, one estimate after the other, a common budget."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import ParameterError
from ...estimation.constraints import Blocks
from ...estimation.estimate import Estimate
from ..base import Mechanism
from ..free_setting import SharedBudget
from ..parameters import declared
from ..randomizer import Randomizer
from ..record_codecs import Tuples
from ..samples import joined


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
        return Tuples.packed([m._check(column[rows]) for m, column in zip(self._parts, self._columns, strict=True)])


class Composite(Randomizer):
    """A mechanism that is made of others."""

    #: What a part is called, and what a user's input for it is.
    _part: ClassVar[str]
    _asked: ClassVar[str]

    @property
    @abstractmethod
    def _mechanisms(self) -> Sequence[Mechanism]:
        """The parts."""

    @abstractmethod
    def _remade(self, parts: list[Any]) -> Mechanism:
        """The same of other parts."""

    @abstractmethod
    def _each(self, counts: NDArray[Any], users: int) -> list[Estimate]:
        """The estimate of every part."""

    def _files(self) -> Iterator[str]:
        """Its own file, and those that its parts were read from."""
        yield from super()._files()
        for m in self._mechanisms:
            yield from m.law.files()

    @property
    def _ratios_both_ways(self) -> bool:
        """If it is so for every part."""
        return all(m.law.ratios_both_ways for m in self._mechanisms)

    @property
    def neighbors(self) -> str:
        """The changes that all parts cover; a part with metric privacy covers only values that are near enough."""
        any_value, kinds = super().neighbors, dict.fromkeys(m.neighbors for m in self._mechanisms)
        if len(kinds) == 1:
            return next(iter(kinds))
        near = [(m.neighbors.removeprefix(any_value).strip(), m.spec) for m in self._mechanisms]
        said = dict.fromkeys(f"{where} in {spec}" for where, spec in near if where)
        return f"{any_value}, {' and '.join(said)}"

    def _shared_budget(self) -> SharedBudget | None:
        """One eps0 of all parts that have one, the rest is kept; None if none has."""
        parts = self._mechanisms
        ranges = [declared(type(m))["eps0"].limits(m) for m in parts if "eps0" in declared(type(m))]
        if not ranges:
            return None

        def made(eps0: float) -> Mechanism:
            return self._remade([replace(m, eps0=eps0) if "eps0" in declared(type(m)) else m for m in parts])  # type: ignore[type-var]

        return SharedBudget("eps0", max(low for low, _ in ranges), min(high for _, high in ranges), made)

    @property
    def _runnable(self) -> list[Randomizer]:
        for m in self._mechanisms:
            if not isinstance(m, Randomizer):
                raise ParameterError(
                    f"every {self._part} must be one that can be run, got {m.spec}; name its mechanism."
                )
        return list(self._mechanisms)  # type: ignore[arg-type]

    def _inputs(self, values: ArrayLike) -> SideBySide:
        """One record per user with the checked input of every part."""
        return SideBySide(values, self._runnable, self._asked)

    def _check(self, values: NDArray[Any]) -> NDArray[Any]:
        return values  # checked where they are put side by side

    def _infer(self, counts: NDArray[Any], users: int) -> Estimate:
        parts = self._each(counts, users)
        known = [(p.value.shape, p.constraint) for p in parts if p.constraint is not None]
        return joined(parts, Blocks(tuple(known)) if len(known) == len(parts) else None, users)
