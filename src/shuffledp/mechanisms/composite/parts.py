"""What mechanisms that are made of others share: inputs side by side, one estimate after the other, a common budget.

Parts are checked, and read from a list of specs (and weights) in JSON or YAML, at the end of this file.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._support import validation as check
from ..._support.reading import QUERIES, as_written, mapping
from ...errors import ParameterError
from ...estimation.constraints import Blocks
from ...estimation.estimate import Estimate
from ...numerics.pair import MOST_LEFT_OUT
from ..base import Mechanism
from ..free_setting import SharedBudget
from ..parameters import declared
from ..randomizer import Randomizer
from ..record_codecs import Tuples
from ..registry import mechanism, mechanism_in_file
from ..samples import joined

#: The word of the spec of a parallel composition.
PARALLEL = "parallel"
#: The word of the spec of a tuple of answers.
JOINT = "joint"
#: Most queries of one file.
MOST_QUERIES = 1000
#: Most answers of one tuple.
MOST_ANSWERS = 32

Query = tuple[float, Mechanism]


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
            raise ParameterError(f"values must have one entry per user and {what}, got {sizes}; give as many of each.")

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


# -- lists of parts, as they are given or read ------------------------------------------------------------------------


def checked(queries: Iterable[tuple[object, object]]) -> tuple[Query, ...]:
    """Weights that sum to 1, each with a mechanism (or its spec) that sends one report per user."""
    try:
        pairs = [(weight, m) for weight, m in queries]
    except (TypeError, ValueError):
        raise ParameterError(
            f"queries must be pairs (weight, mechanism), got {queries!r}; pass a list of them."
        ) from None
    if not pairs:
        raise ParameterError("queries must hold at least one (weight, mechanism), got none; add one.")
    found = tuple((_weight(weight), _part(PARALLEL, "queries", m)) for weight, m in pairs)
    total = math.fsum(weight for weight, _ in found)
    if abs(total - 1.0) > MOST_LEFT_OUT:
        raise ParameterError(f"weights must sum to 1, got {total!r}; divide each by the sum.")
    return found


def _weight(value: object) -> float:
    return check.in_range("weight", value, low=0.0, high=1.0, low_open=True, hint="leave out queries nobody answers")


def checked_answers(answers: Iterable[object], parse: Callable[[str], Mechanism] = mechanism) -> tuple[Mechanism, ...]:
    """One mechanism (or its spec) for every answer of a tuple; each sends one report per user."""
    try:
        if isinstance(answers, str | bytes):
            raise TypeError
        listed = list(answers)
    except TypeError:
        raise ParameterError(
            f"answers must be a list of mechanisms or specs, got {answers!r:.60}; write Joint([first, second])."
        ) from None
    if not 1 <= len(listed) <= MOST_ANSWERS:
        raise ParameterError(f"answers must hold 1 to {MOST_ANSWERS} mechanisms, got {len(listed)}; list one for each.")
    return tuple(_part(JOINT, "answers", entry, parse) for entry in listed)


def _part(whole: str, parts: str, subject: object, parse: Callable[[str], Mechanism] = mechanism) -> Mechanism:
    """A mechanism, possibly by its spec, that sends one report per user and is not of the same kind as the whole."""
    if isinstance(subject, str) and subject.partition(":")[0].strip() != whole:
        subject = parse(subject)
    if isinstance(subject, str) or (isinstance(subject, Mechanism) and subject.name == whole):
        raise ParameterError(f"{parts} must not be {whole} themselves, got one that is; list its {parts} instead.")
    if not isinstance(subject, Mechanism):
        raise ParameterError(f"{parts} must be mechanisms or specs, got {subject!r:.60}; name one for each.")
    if not subject.single_message:
        raise ParameterError(f"{parts} must send one report per user, got {subject.spec}; account for it on its own.")
    return subject


def read_answers(path: Path) -> list[str]:
    """The spec of every entry, in the files of :func:`read_queries` without weights."""
    entries = _entries(path, ("spec",), "give spec alone, as every user gives every answer")
    return [_spec(entry["spec"]) for entry in entries]


def read_queries(path: Path) -> list[tuple[Fraction, Mechanism]]:
    """(weight, mechanism) of every entry of a list in JSON or YAML."""
    entries = _entries(path, ("weight", "spec"), "give weight and spec")
    return [
        (_fraction(entry["weight"]), _part(PARALLEL, "queries", _spec(entry["spec"]), mechanism_in_file))
        for entry in entries
    ]


def _entries(path: Path, needed: tuple[str, ...], advice: str) -> list[dict[str, Any]]:
    from ..._support.reading.yaml_text import read_plain  # loads yaml, which only files need

    shown, listed = repr(str(path)), read_plain(path, QUERIES) or []
    if not isinstance(listed, list):
        raise ParameterError(
            f"file must hold a list of queries, got something else in {shown}; start every entry with '- spec: ...'."
        )
    if len(listed) > MOST_QUERIES:
        raise ParameterError(
            f"file must list at most {MOST_QUERIES:,} queries, got {len(listed):,} in {shown}; merge some of them."
        )
    return [
        mapping(f"entry {number} of {shown}", entry, needed=needed, advice=advice)
        for number, entry in enumerate(listed)
    ]


def _fraction(value: object) -> Fraction:
    """A weight as written: 0.25, or 1/3."""
    number = as_written(value.strip()) if isinstance(value, str) else None
    if number is None:
        raise ParameterError(f"weight must be a number such as 0.25 or 1/3, got {value!r:.40}; correct it.")
    return number


def _spec(value: object) -> str:
    if not isinstance(value, str):
        raise ParameterError(f"spec must be a text such as 'grr:eps0=1,d=4', got {value!r:.40}; correct it.")
    return value
