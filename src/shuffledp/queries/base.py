"""What every query declares: the columns it reads, what a client runs, and how a tally becomes an answer."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np

from .._support.arrays import FloatArray
from .._support.reading import mapping
from ..errors import ParameterError
from ..estimation.constraints import Constraint
from ..estimation.estimate import SHARE, Estimate
from ..estimation.variance import share_sampling
from ..mechanisms.base import Mechanism
from ..mechanisms.frequency import FrequencyOracle
from ..mechanisms.parameters import declared
from ..mechanisms.randomizer import Randomizer, portable_law
from ..mechanisms.registry import mechanism as parse
from ..mechanisms.registry import mechanism_in_file, split
from ..mechanisms.reports import Tally
from . import KINDS
from .columns import Column, ValueCounts, Weights
from .domains import OPTION, Interval, number_or_option


class Query(ABC):
    """A question about users; subclasses are frozen keyword-only dataclasses with a ``kind``.

    A plan file holds the fields of a query under their own names, so that it reads like the call that made it.
    """

    kind: ClassVar[str]

    column: str | tuple[str, ...]
    mechanism: Randomizer | str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the data that it reads."""
        names = (self.column,) if isinstance(self.column, str) else self.column
        if not isinstance(names, tuple) or not names or not all(isinstance(name, str) for name in names):
            raise ParameterError(f"column must be a name, got {self.column!r:.60}; write column='wait'.")
        return names

    @property
    def randomizer(self) -> Randomizer:
        """What a client runs: the mechanism itself, where a query declares nothing else."""
        return self.mechanism  # type: ignore[return-value]  # every __post_init__ makes it of its spec

    @abstractmethod
    def encode(self, columns: Sequence[Column]) -> Any:
        """Inputs of the randomizer, one for every row: no row is dropped or refused, whatever its values are."""

    def inputs(self, columns: Sequence[Column], *, rng: np.random.Generator | None = None) -> Any:
        """What :meth:`encode` gives, where a client must draw (some of a long list) with ``rng``; secure without."""
        return self.encode(columns)

    def value_counts(self, columns: Sequence[Column]) -> ValueCounts:
        """How many values are not what they should be: exact counts, for the operator who has the data only."""
        every = zip(self.columns, self._domains, columns, strict=True)
        return ValueCounts({name: domain.counts(column) for name, domain, column in every})

    @property
    def _domains(self) -> Sequence[Any]:
        """That of every column; the same for all, where a query has one."""
        return [getattr(self, "domain", None)] * len(self.columns)

    @abstractmethod
    def answer(self, tally: Tally) -> Estimate:
        """The answer in the words and units of the question, unbiased, with standard errors."""

    @abstractmethod
    def exact(self, columns: Sequence[Column], *, weights: Weights = None) -> Estimate:
        """The answer without any noise, of these rows: what a simulation compares with.

        ``weights`` say how much every row counts: what is expected if one of several rows of a user is drawn.
        """

    def _portable(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """How a row becomes an input, and the law of the randomizer, for clients in every language."""
        law = portable_law(self.randomizer)  # refuses first what no query could change
        return self._portable_input(), law

    def _portable_input(self) -> dict[str, Any]:
        raise ParameterError(f"query must be one that every client can run, got {self.kind}; ask another one.")

    def entries(self, row: Any) -> list[Any]:
        """One value per column, of what a client was given: a value, or a mapping or a sequence with one per column."""
        names = self.columns
        if isinstance(row, Mapping):
            return [row.get(name) for name in names]
        if len(names) == 1:
            return [row]
        if row is None:
            return [None] * len(names)
        if isinstance(row, str | bytes) or not isinstance(row, Sequence | np.ndarray) or len(row) != len(names):
            raise ParameterError(
                f"value must have one entry for each of {', '.join(names)}, got {type(row).__name__}; pass a mapping "
                "or a list."
            )
        return list(row)

    @property
    @abstractmethod
    def question(self) -> str:
        """The question in words."""

    @property
    def clipping(self) -> str:
        """What values outside the domain, and missing ones, were reported as, in words; empty where the answer says."""
        return ""

    def to_dict(self) -> dict[str, Any]:
        """The fields, ready for JSON."""
        return {"kind": self.kind, **{f.name: _plain(getattr(self, f.name)) for f in fields(self)}}  # type: ignore[arg-type]

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The query with these fields, as a plan file holds them: a mechanism is named by its spec."""
        known = [f.name for f in fields(cls)]  # type: ignore[arg-type]
        given = mapping("query", {k: v for k, v in data.items() if k != "kind"}, optional=known)
        if "mechanism" in given:
            given = {**given, "mechanism": mechanism_in_file(_spec(given["mechanism"]))}
        try:
            return cls(**given)
        except TypeError as error:
            got = f"got fewer ({error}); add them."
            raise ParameterError(f"query must have all fields of {cls.kind!r}, {got}") from None


class NumberQuery(Query):
    """A question about numbers of a range, whose missing ones may be an option of their own."""

    low: float
    high: float
    missing: float | Literal["option"] | None
    unit: str

    @cached_property
    def domain(self) -> Interval:
        """The range."""
        return Interval(self.low, self.high, number_or_option(self.missing), self.unit, self._option)

    @property
    def _option(self) -> bool:
        """Whether it is asked who has a number at all."""
        return self.missing == OPTION

    def _settle_range(self) -> None:
        """The fields as the range has checked them."""
        found = self.domain
        vars(self).update(low=found.low, high=found.high, missing=OPTION if self._option else found.missing)


def query_from(data: object) -> Query:
    """The query that a plan file describes."""
    given = mapping("query", data, needed=["kind"], optional=data.keys() if isinstance(data, dict) else ())
    kind = given["kind"]
    if not isinstance(kind, str) or kind not in KINDS:
        raise ParameterError(f"kind of query must be one of {', '.join(sorted(KINDS))}, got {kind!r:.60}; correct it.")
    module, name = KINDS[kind]
    cls: type[Query] = getattr(importlib.import_module(f".{module}", __package__), name)
    return cls.from_dict(given)


def runnable(subject: object, name: str = "mechanism", **sizes: int) -> Randomizer:
    """A mechanism that can be run, or its spec; ``sizes`` (d, dim) fill in what a spec leaves out and must agree."""
    found = parse(_completed(subject, sizes)) if isinstance(subject, str) else subject
    if not isinstance(found, Randomizer):
        what = found.spec if isinstance(found, Mechanism) else repr(found)[:60]
        raise ParameterError(f"{name} must be one that can be run, such as 'grr:eps0=2', got {what}; name another.")
    for size, wanted in sizes.items():
        stated = getattr(found, size, wanted)
        if stated != wanted:
            raise ParameterError(
                f"{name} must have {size} = {wanted}, as many as the query has, got {found.spec}; leave {size} out."
            )
    return found


def oracles(subject: object, sizes: Sequence[int]) -> tuple[FrequencyOracle, ...]:
    """The frequency mechanism for each of these numbers of options; settings but eps0 are chosen anew."""
    named = runnable(subject, d=sizes[0]) if isinstance(subject, str) else runnable(subject)
    word, _, given = named.spec.partition(":")
    kept = ",".join(part for part in given.split(",") if part.split("=")[0].strip() == "eps0")
    made = [named if getattr(named, "d", 0) == size else runnable(f"{word}:{kept}", d=size) for size in sizes]
    found = tuple(oracle for oracle in made if isinstance(oracle, FrequencyOracle) and not oracle._takes)
    if len(found) < len(made) or not named.single_message:
        raise ParameterError(
            f"mechanism must be a frequency mechanism such as 'grr:eps0=2', got {named.spec}; choose one."
        )
    return found


def known_shares(value: FloatArray, rows: int, constraint: Constraint, names: Sequence[str] = ()) -> Estimate:
    """Shares of all rows of the data: without privacy noise, yet a sample of a population."""
    n = max(rows, 1)
    found = Estimate(value, np.zeros(value.size), n, constraint=constraint, sampling=share_sampling(n))
    return replace(found, names=tuple(names), quantity=SHARE)


def must_take(subject: object, kinds: Sequence[str], *, what: str, choose: str) -> str:
    """What the inputs of a mechanism, or of the one that a spec names, are (its ``_takes``): one of ``kinds``."""
    found = split(subject)[0] if isinstance(subject, str) else type(subject)
    takes = str(getattr(found, "_takes", ""))
    if takes not in kinds:
        shown = subject.spec if isinstance(subject, Mechanism) else str(subject)[:60]
        raise ParameterError(f"mechanism must be for {what}, got {shown}; choose {choose}.")
    return takes


def _completed(spec: str, sizes: dict[str, int]) -> str:
    """The spec with the sizes that its mechanism needs and that are not in it."""
    cls, text = split(spec)
    known = declared(cls)
    absent = [f"{k}={v}" for k, v in sizes.items() if k in known and f"{k}=" not in text.replace(" ", "")]
    return f"{cls.name}:" + ",".join([*filter(None, [text.strip()]), *absent])


def _spec(value: object) -> str:
    if not isinstance(value, str):
        raise ParameterError(f"mechanism must be a spec such as 'grr:eps0=2', got {value!r:.40}; write one.")
    return value


def _plain(value: object) -> Any:
    if isinstance(value, Mechanism):
        return value.spec
    return list(value) if isinstance(value, tuple) else value
