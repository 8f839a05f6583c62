"""How many users hold each combination of the options of several columns, in tables that may be made to agree?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._support import validation as check
from ..errors import ParameterError
from ..estimation.constraints import Blocks, Simplex
from ..estimation.drawing import Look
from ..estimation.estimate import SHARE, Estimate, moments_of, weighted_sums
from ..estimation.marginal_fit import MarginalFit, fit
from ..estimation.moments import plausible
from ..estimation.variance import Variance, share_sampling
from ..mechanisms.composite.parallel import one_drawn
from ..mechanisms.frequency import FrequencyOracle
from ..mechanisms.randomizer import Randomizer
from ..mechanisms.reports import Tally
from ..mechanisms.samples import joined
from .base import Query, known_shares, oracles
from .columns import Column, Weights, shares_of
from .domains import MOST_LABELS, Label, Labels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Columns = tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class MarginalsAnswer(Estimate):
    """The shares of the cells of all marginals, one marginal after the other.

    Attributes
    ----------
    asked : the columns of every marginal
    options : the names of the options of every column
    parts : the estimate of every marginal, its cells in the order of the options, the last column fastest
    fit, raw : the least-squares fit, where one was made, and the estimates that it is of
    """

    asked: tuple[Columns, ...] = ()
    options: dict[str, tuple[str, ...]] = field(default_factory=dict)
    parts: tuple[Estimate, ...] = ()
    fit: MarginalFit | None = None
    raw: tuple[Estimate, ...] = ()

    def marginal(self, *columns: str) -> Estimate:
        """The marginal over these columns; after :meth:`fitted` also one over fewer columns than were asked for."""
        wanted = frozenset(columns)
        for some, part in zip(self.asked, self.parts, strict=True):
            if frozenset(some) == wanted:
                return self._part(part, columns)
        inside = any(wanted < frozenset(some) for some in self.asked)
        if not wanted or not inside:
            listed = ", ".join(repr(" by ".join(some)) for some in self.asked[:6])
            raise ParameterError(
                f"columns must be those of a marginal ({listed}), got {', '.join(columns)!r:.60}; choose one of them."
            )
        if self.fit is None:
            raise ParameterError(
                f"columns must be all of a marginal before the fit, got {', '.join(columns)!r}, which are some of "
                "several; ask fitted() for it."
            )
        return self._part(self._from_fit(self.fit, tuple(columns)), columns)

    def _part(self, found: Estimate, columns: Columns) -> Estimate:
        known = self.narrowed(" by ".join(columns))
        return found if known is None else replace(found, provenance=known)

    def _from_fit(self, found: MarginalFit, columns: Columns) -> Estimate:
        table, users = found.table(columns), share_sampling(self.n)
        noise, step = Variance(np.zeros(table.size)), 0.0
        if any(np.any(part.stderr) for part in self.raw):
            parts = [moments_of(part) for part in self.raw]
            drawn, step = found.variance(columns, plausible(table, self.n, parts), parts)
            noise = drawn.plus(users, -1.0).mapped(lambda x: np.broadcast_to(x, table.shape).ravel())
        made = weighted_sums(table.ravel(), self.n, Simplex(), noise, step)
        names = cell_names(columns, self.options)
        return replace(made, for_release=self.for_release, names=names, quantity=SHARE)

    def fitted(self) -> MarginalsAnswer:
        """The least-squares fit: unbiased as well, more precise, and marginals agree on the columns they share.

        Every marginal counts with the variance that its cells would have if all were alike.  Intervals have about their
        nominal coverage with 100 users or more, whatever the shares are.  They are conservative below 100 users, and in
        a cell whose error is that of fewer than two reports: half a report is added on either side.
        """
        if any(not np.all(np.isfinite(part.stderr)) for part in self.parts):
            raise ParameterError("every marginal needs at least one report for a fit, got none for some; collect more.")
        variances = [max(moments_of(part).even(part.value.size), 1e-300) for part in self.parts]
        shapes = [tuple(len(self.options[name]) for name in some) for some in self.asked]
        tables = [part.value.reshape(shape) for part, shape in zip(self.parts, shapes, strict=True)]
        made, kept = fit(self.asked, tables, variances), replace(self, raw=self.parts)
        parts = [kept._from_fit(made, some) for some in self.asked]
        found = replace(_flat(parts, self.asked, self.options), fit=made, raw=self.parts)
        return replace(found, for_release=self.for_release, provenance=self.narrowed("fitted"))

    def _draw(self, look: Look) -> Figure:
        """Shaded tables where all marginals are two-way and no truth is to be marked, else bars (extra ``plot``)."""
        if look.truth is not None or any(len(some) != 2 for some in self.asked):
            return super()._draw(look)
        from .drawing import draw_tables

        return draw_tables(self, look)


def cell_names(columns: Columns, options: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The cells of a marginal in words.

    >>> cell_names(("sex", "age"), {"sex": ("F", "M"), "age": ("20-29",)})
    ('sex=F, age=20-29', 'sex=M, age=20-29')
    """
    listed = ([f"{name}={option}" for option in options[name]] for name in columns)
    return tuple(", ".join(cell) for cell in itertools.product(*listed))


def _flat(parts: list[Estimate], asked: tuple[Columns, ...], options: dict[str, tuple[str, ...]]) -> MarginalsAnswer:
    constraint = Blocks(tuple((part.value.shape, Simplex()) for part in parts))
    whole = joined(parts, constraint, parts[0].n)
    names = tuple(name for part in parts for name in part.names)
    kept = {**vars(whole), "names": names, "quantity": SHARE, "ordered": True}
    return MarginalsAnswer(**kept, asked=asked, options=options, parts=tuple(parts))


#: Marginals of one query, at most.
MOST_MARGINALS = 1000


@dataclass(frozen=True, kw_only=True)
class Marginals(Query):
    """The share of users in every cell of the marginals of several columns: each user answers one, drawn at random.

    Parameters
    ----------
    labels : mapping of columns to their options
        Every other value of a column, and a missing one, counts as ``other``.
    ways : int >= 1
        All marginals of this many columns, unless ``subsets`` lists them.
    subsets : sequence of sequences of columns
        The marginals that are asked for.
    other : label
        An option of its own in every column, or one of its labels.
    mechanism : frequency mechanism or spec
        The oracle of every marginal, without its ``d``: "grr:eps0=2".

    Notes
    -----
    A user answers a marginal over its product domain by one report (:class:`~shuffledp.Parallel`), so that the
    guarantee is for all n users.  The error of a cell includes that of drawing the users who answered it.
    ``answer.fitted()`` is the consistency step: the least-squares fit in which overlapping marginals agree.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> query = sdp.queries.Marginals(
    ...     labels={"sex": ["F", "M"], "smokes": [False, True], "age": ["young", "old"]}, mechanism="grr:eps0=4"
    ... )
    >>> rows = [["F", "M"] * 5000, [False, False] * 5000, ["old", None] * 5000]
    >>> m = query.randomizer
    >>> answer = query.answer(m.tally(m.privatize(query.encode(rows), rng=np.random.default_rng(0))))
    >>> answer.marginal("sex", "age").labels[1]
    'sex=F, age=old'
    >>> bool(abs(answer.marginal("sex", "age").value[1] - 0.5) < 4 * answer.marginal("sex", "age").stderr[1])
    True
    """

    kind: ClassVar[str] = "marginals"

    labels: Mapping[str, Sequence[Label]]
    ways: int = 2
    subsets: tuple[tuple[str, ...], ...] | None = None
    other: Label = "other"
    mechanism: Randomizer | str

    def __post_init__(self) -> None:
        if not isinstance(self.labels, Mapping) or not self.labels or not all(isinstance(x, str) for x in self.labels):
            raise ParameterError(
                f"labels must map columns to their options, got {self.labels!r:.60}; write {{'sex': ['F', 'M']}}."
            )
        vars(self).update(labels={name: domain.labels for name, domain in self.domains.items()})
        ways = check.whole(
            "ways", self.ways, low=1, high=len(self.labels), hint="a marginal is over some of the columns"
        )
        listed = None if self.subsets is None else self._listed(self.subsets)
        vars(self).update(ways=ways, subsets=listed)
        largest = max(self.sizes)
        if len(self.asked) > MOST_MARGINALS or sum(self.sizes) > MOST_LABELS:
            raise ParameterError(
                f"marginals must be at most {MOST_MARGINALS:,} with {MOST_LABELS:,} cells in all, got "
                f"{len(self.asked):,} with up to {largest:,} cells each; list fewer subsets or group options."
            )
        object.__setattr__(self, "mechanism", oracles(self.mechanism, [largest])[0])

    def _listed(self, given: object) -> tuple[tuple[str, ...], ...]:
        try:
            found = tuple(tuple(one) for one in given if not isinstance(one, str))  # type: ignore[attr-defined]
            fine = all(some and set(some) <= set(self.labels) and len(set(some)) == len(some) for some in found)
        except TypeError:
            found, fine = (), False
        if not found or not fine or len({frozenset(some) for some in found}) < len(found):
            raise ParameterError(
                f"subsets must list different sets of the columns {', '.join(self.labels)}, got {given!r:.80}; write "
                "[['sex', 'age']]."
            )
        return found

    @cached_property
    def domains(self) -> dict[str, Labels]:
        """The options of every column."""
        return {name: Labels(tuple(options), self.other) for name, options in self.labels.items()}

    @cached_property
    def asked(self) -> tuple[tuple[str, ...], ...]:
        """The columns of every marginal."""
        return self.subsets or tuple(itertools.combinations(self.labels, self.ways))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The cells of every marginal."""
        return tuple(math.prod(self.domains[name].size for name in some) for some in self.asked)

    @cached_property
    def oracles(self) -> tuple[FrequencyOracle, ...]:
        """The frequency mechanism of every marginal."""
        return oracles(self.mechanism, self.sizes)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that have options."""
        return tuple(self.labels)

    @cached_property
    def randomizer(self) -> Randomizer:
        """One marginal drawn at random, and its oracle."""
        return one_drawn(self.oracles)

    @property
    def question(self) -> str:
        """In words."""
        listed = "; ".join(" by ".join(some) for some in self.asked[:6])
        more = f" and {len(self.asked) - 6:,} more" if len(self.asked) > 6 else ""
        return f"the share of users in every cell of {len(self.asked):,} marginals ({listed}{more})"

    @property
    def clipping(self) -> str:
        """Which label holds more than its own values."""
        found = next((domain.takes_in for domain in self.domains.values() if domain.takes_in), "")
        return f"of values of a column with that label, {found}" if found else ""

    def _cells(self, columns: Sequence[Column]) -> list[NDArray[np.int64]]:
        places = {name: self.domains[name].places(column) for name, column in zip(self.labels, columns, strict=True)}
        found = []
        for some in self.asked:
            cell = np.zeros(len(places[some[0]]), dtype=np.int64)
            for name in some:
                cell = cell * self.domains[name].size + places[name]
            found.append(cell)
        return found

    def encode(self, columns: Sequence[Column]) -> Any:
        """The cell of every row in every marginal."""
        found = self._cells(columns)
        return found[0] if len(found) == 1 else found

    def _portable_input(self) -> dict[str, Any]:
        every, names = list(self.domains.values()), list(self.labels)
        asked = [[names.index(name) for name in some] for some in self.asked]
        places = [domain.portable(i) for i, domain in enumerate(every)]
        return {"kind": "cells", "of": places, "sizes": [domain.size for domain in every], "asked": asked}

    @property
    def _domains(self) -> Sequence[Labels]:
        return list(self.domains.values())

    def answer(self, tally: Tally) -> MarginalsAnswer:
        """The estimates of all marginals."""
        return self._answer(self.randomizer.estimates(tally))

    def _answer(self, parts: list[Estimate]) -> MarginalsAnswer:
        options = {name: domain.names for name, domain in self.domains.items()}
        every = zip(parts, self.asked, strict=True)
        named = [replace(part, names=cell_names(some, options), quantity=SHARE) for part, some in every]
        return replace(_flat(named, self.asked, options), for_release=parts[0].for_release)

    def exact(self, columns: Sequence[Column], *, weights: Weights = None) -> Estimate:
        """The marginals of these rows."""
        every = zip(self._cells(columns), self.sizes, strict=True)
        return self._answer(
            [known_shares(shares_of(cells, size, weights), len(cells), Simplex()) for cells, size in every]
        )
