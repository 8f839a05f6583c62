"""Comparisons over a grid: several variables, mechanisms and bounds at once, as one tidy table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

from .._support import validation as check
from .._support.json_ready import json_object
from .._support.numbers import round_up
from .._support.tables import Column, Table, Tabular, count_column, number_column
from .._support.text import visible
from ..bounds import bound_of, unalias
from ..errors import ParameterError
from .comparison import Comparison, Row
from .grids import is_sequence
from .sweeps import Sweep, Value, axis_column, named, sweep_of

if TYPE_CHECKING:
    from .._support.canvas import Figure, Placing

#: Curves of a figure by default.
MOST_CURVES = 12
#: Values of an axis that a sentence lists.
_LISTED = 8
#: Characters of a title in one line.
_LINE = 150


@dataclass(frozen=True)
class StudyPoint:
    """A mechanism with its parameters among n users at delta: the bounds there.

    Attributes
    ----------
    mechanism : what the mechanism is called in the study; its whole spec is ``comparison.mechanism``
    parameters : those that the study set, such as eps0 and d
    rule : delta as a function of n, if one was given ("0.01/n")
    comparison : eps of every bound, and the reasons of those without one
    analyses, notes : bound -> the analysis behind it (for "auto": which it was), and why it is looser than it could be
    """

    mechanism: str
    parameters: dict[str, Value] = field(hash=False)
    rule: str | None
    comparison: Comparison
    analyses: dict[str, str] = field(default_factory=dict, hash=False)
    notes: dict[str, str] = field(default_factory=dict, hash=False)

    def value(self, axis: str) -> Value:
        """Its value on an axis: mechanism, a parameter, n or delta (the rule, if there is one)."""
        if axis == "delta":
            return self.rule or self.comparison.delta
        return {"mechanism": self.mechanism, "n": self.comparison.n, **self.parameters}[axis]

    def __repr__(self) -> str:
        """One line: where it is."""
        said = [f"{axis} = {named(axis, self.value(axis))}" for axis in (*self.parameters, "n", "delta")]
        return visible(f"<StudyPoint {', '.join([self.mechanism, *said])}>")


@dataclass(frozen=True)
class StudyRow:
    """One bound at one point; ``row`` is None where it gives no answer, for the ``reason``."""

    point: StudyPoint
    bound: str
    row: Row | None

    @property
    def epsilon(self) -> float | None:
        """eps, on the safe side; None where there is no answer."""
        return None if self.row is None else self.row.epsilon

    @property
    def reason(self) -> str:
        """Why there is no answer."""
        return self.point.comparison.absent.get(self.bound, "")

    def value(self, axis: str) -> Value:
        """Its value on an axis of the study."""
        return self.bound if axis == "bound" else self.point.value(axis)

    def __repr__(self) -> str:
        """One line: where it is, and what the bound says."""
        said = f"{self.bound}: no answer" if self.row is None else repr(self.row)[5:-1]
        return f"<StudyRow {repr(self.point)[12:-1]}, {said}>"


@dataclass(frozen=True)
class Study(Tabular):
    """eps of every bound at every point of a grid: one row per mechanism, choice of its parameters, n, delta and bound.

    Attributes
    ----------
    points : every point with its Comparison
    bounds : the names that were asked for, "auto" among them if it was
    axes : name -> its values: mechanism, the parameters that were given, n, delta (rules as written), bound

    Examples
    --------
    >>> import shuffledp as sdp
    >>> study = sdp.sweep(["grr", "subset"], eps0=[1, 2], d=16, n=[10**3, 10**5], delta="0.01/n", bounds=["auto"])
    >>> study.axes["mechanism"], study.axes["n"], len(study)
    (('grr', 'subset'), (1000, 100000), 8)
    >>> [round(row.epsilon, 2) for row in study.select(mechanism="subset", eps0=1)]
    [0.08, 0.01]
    >>> study.select(mechanism="grr", eps0=2).to_sweep().variable
    'n'
    """

    points: tuple[StudyPoint, ...]
    bounds: tuple[str, ...]

    @cached_property
    def rows(self) -> tuple[StudyRow, ...]:
        """One row per point and bound."""
        found = []
        for point in self.points:
            known = {row.bound: row for row in point.comparison.rows}
            found += [StudyRow(point, name, known.get(name)) for name in self.bounds]
        return tuple(found)

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.points) * len(self.bounds)

    def __iter__(self) -> Iterator[StudyRow]:
        """The rows."""
        return iter(self.rows)

    @cached_property
    def axes(self) -> dict[str, tuple[Value, ...]]:
        """Every name by which rows are selected -> its values, in the order given."""
        names = ("mechanism", *self.points[0].parameters, "n", "delta")
        found = {name: tuple(dict.fromkeys(point.value(name) for point in self.points)) for name in names}
        return {**found, "bound": self.bounds}

    @property
    def varying(self) -> list[str]:
        """The axes with more than one value."""
        return [name for name, values in self.axes.items() if len(values) > 1]

    def select(self, **terms: Value | Sequence[Value]) -> Study:
        """The rows with these values, each one value of an axis or a list of them, as a Study.

        Examples
        --------
        >>> import shuffledp as sdp
        >>> study = sdp.sweep("grr", eps0=[1, 2], d=[4, 16], n=1000, delta=1e-6, bounds=["auto", "clone"])
        >>> [row.bound for row in study.select(eps0=2, d=[4, 16], bound="auto")]
        ['auto', 'auto']
        """
        wanted = {name: self._chosen(name, values) for name, values in terms.items()}
        bounds = wanted.pop("bound", self.bounds)
        kept = [p for p in self.points if all(p.value(name) in values for name, values in wanted.items())]
        return Study(tuple(kept), tuple(name for name in self.bounds if name in bounds))

    def _chosen(self, name: str, given: Any) -> list[Value]:
        """The values of an axis that were asked for; others are refused."""
        known = self.axes[check.one_of("axis", name, self.axes)]
        chosen = list(given) if is_sequence(given) else [given]
        if name == "bound":
            chosen = [unalias(value) for value in chosen]
        for value in chosen or [None]:
            if value not in known:
                listed = ", ".join(map(str, known[:_LISTED])) + (", ..." if len(known) > _LISTED else "")
                raise ParameterError(
                    f"{name} must be among the values of the study ({listed}), got {check.shown(value)}; choose one."
                )
        return chosen

    def to_sweep(self) -> Sweep:
        """The curves of one mechanism along eps0, n or delta, where nothing else varies but the bound."""
        several = [name for name in self.varying if name != "bound"]
        if len(several) != 1 or several[0] not in ("eps0", "n", "delta"):
            raise ParameterError(
                f"a sweep must vary one of eps0, n and delta, got {' and '.join(several) or 'none of them'}; select "
                "one value of all others."
            )
        return sweep_of([replace(p, comparison=_among(p.comparison, self.bounds)) for p in self.points], several[0])

    # -- as a table -----------------------------------------------------------------------------------------------

    def columns(self) -> dict[str, list[Any]]:
        """One list per column of the tidy table, a value per row; None where there is none."""
        table = self.table()
        return {column.name: list(column.values) for column in table.columns if column.name is not None}

    def table(self) -> Table:
        """One row per point and bound, in full precision where it is exported; shown is what varies."""
        rows, shown = self.rows, {*self.varying, "bound"}
        at = [row.point.comparison for row in rows]
        columns = [
            axis_column(name, [row.value(name) for row in rows], shown=name in shown)
            for name in ("mechanism", *self.points[0].parameters)
        ]
        sizes = count_column("n", "n" if "n" in shown else None, [c.n for c in at])
        deltas = [row.point.rule or round_up(row.point.comparison.delta, 6) for row in rows]
        columns += [sizes, number_column("delta", "delta" if "delta" in shown else None, [c.delta for c in at], deltas)]
        if any(point.rule for point in self.points):
            columns.append(Column(name="rule", values=[row.point.rule for row in rows]))
        judged = [bound_of(row.bound) for row in rows]
        eps = [row.epsilon for row in rows]
        columns += [
            Column(name="bound", head="bound", values=[row.bound for row in rows]),
            number_column("epsilon", "eps", eps, ["" if row.row is None else row.row.shown for row in rows]),
            self._analysis_column(),
            Column(name="side", values=[bound.side for bound in judged]),
            Column(name="sound", values=[bound.sound for bound in judged]),
            Column(name="local_epsilon", values=[c.local_epsilon for c in at], kind="Float64"),
            Column(name="spec", values=[c.mechanism for c in at]),
            Column(name="note", values=[row.point.notes.get(row.bound) for row in rows]),
            Column(name="reason", values=[row.reason or None for row in rows]),
        ]
        return Table(tuple(columns), caption=self.title)

    def _analysis_column(self) -> Column:
        """Which analysis gave the answer; shown beside "auto", which does not say it."""
        values = [row.point.analyses.get(row.bound) for row in self.rows]
        texts = [value or "" if row.bound == "auto" else "" for row, value in zip(self.rows, values, strict=True)]
        return Column(name="analysis", head="by" if "auto" in self.bounds else None, values=values, texts=texts)

    @property
    def terms(self) -> str:
        """What stays the same, in one line."""
        said = [_range(name, values) for name, values in self.axes.items() if len(values) == 1]
        return visible(", ".join([*said, self.points[0].comparison.neighbors]))

    @property
    def title(self) -> str:
        """What stays the same and what varies, in one line."""
        said = [_range(name, values) for name, values in self.axes.items()]
        return visible(", ".join([*said, self.points[0].comparison.neighbors]))

    def __repr__(self) -> str:
        """One line: how many rows, and the terms."""
        many = f"{len(self):,} row{'s' if len(self) != 1 else ''}"
        return f"<Study of {many}: {self.title if len(self.title) <= _LINE else f'{self.title[:_LINE]}...'}>"

    def __str__(self) -> str:
        return f"{self.title}\n\n{self.table().text()}"

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary: the axes and one object per row; null for no answer, "inf" for infinity."""
        columns = self.columns()
        rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        tol = self.points[0].comparison.tol
        return json_object({"axes": self.axes, "tol": tol, "rows": rows})

    def to_json(self) -> str:
        """The same as one JSON object."""
        return json.dumps(self.to_dict(), indent=2)

    def plot(
        self,
        *,
        x: str | None = None,
        by: str | Sequence[str] | None = None,
        quantity: str = "epsilon",
        most: int = MOST_CURVES,
        **where: Unpack[Placing],
    ) -> Figure:
        """A figure with a curve for every combination of the axes ``by``, against the axis ``x`` (extra ``plot``).

        x : a parameter, n or delta; by default the axis of most values
        by : one axis or several; by default all others that vary.  What varies and is in neither must be selected first
        quantity : "epsilon" (central eps) or "ratio" (local eps / eps)
        width : inches; ax : matplotlib axes to draw in, in place of a new figure; labels : other words for those of
            the figure

        For a paper, draw inside ``with shuffledp.plots.style("paper"):``.
        """
        from .drawing_curves import draw_study

        return draw_study(self, x=x, by=by, quantity=quantity, most=most, **where)


def _among(comparison: Comparison, bounds: Sequence[str]) -> Comparison:
    """A comparison without the bounds that were not selected."""
    rows = tuple(row for row in comparison.rows if row.bound in bounds)
    return replace(comparison, rows=rows, absent={k: v for k, v in comparison.absent.items() if k in bounds})


def _range(axis: str, values: Sequence[Value]) -> str:
    if axis in ("mechanism", "bound"):
        listed = ", ".join(map(str, values[:3]))
        more = f" and {len(values) - 3} more" if len(values) > 3 else ""
        return listed + more if axis == "mechanism" else f"bound {listed}{more}"
    if len(values) == 1:
        return f"{axis} = {named(axis, values[0])}"
    return f"{axis} = {named(axis, values[0])} to {named(axis, values[-1])}"
