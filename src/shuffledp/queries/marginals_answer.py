"""What was found about marginals: every cell with its interval, and the fit in which they agree."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ParameterError
from ..estimation.constraints import Blocks, Simplex
from ..estimation.drawing import Look
from ..estimation.estimate import SHARE, Estimate, moments_of, weighted_sums
from ..estimation.marginal_fit import MarginalFit, fit
from ..estimation.moments import plausible
from ..estimation.variance import Variance, share_sampling
from ..mechanisms.samples import joined

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
            raise ParameterError(f"columns must be those of a marginal ({listed}), got {', '.join(columns)!r:.60}.")
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


def marginals_answer(
    parts: list[Estimate], asked: tuple[Columns, ...], options: dict[str, tuple[str, ...]]
) -> MarginalsAnswer:
    """The answer from the estimates of every marginal."""
    named = [
        replace(part, names=cell_names(some, options), quantity=SHARE) for part, some in zip(parts, asked, strict=True)
    ]
    return replace(_flat(named, asked, options), for_release=parts[0].for_release)


def _flat(parts: list[Estimate], asked: tuple[Columns, ...], options: dict[str, tuple[str, ...]]) -> MarginalsAnswer:
    constraint = Blocks(tuple((part.value.shape, Simplex()) for part in parts))
    whole = joined(parts, constraint, parts[0].n)
    names = tuple(name for part in parts for name in part.names)
    kept = {**vars(whole), "names": names, "quantity": SHARE, "ordered": True}
    return MarginalsAnswer(**kept, asked=asked, options=options, parts=tuple(parts))
