"""Comparisons along one variable: eps0, n or delta."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .._support import validation as check
from .._support.json_ready import json_object
from .._support.numbers import round_down, round_up
from .._support.tables import Column, Table, Tabular, number_column
from .._support.text import visible
from ..bounds import unalias
from ..errors import BoundNotApplicableError
from ..mechanisms.base import plain
from .comparison import Comparison, Row, absent_table

if TYPE_CHECKING:
    from .._support.canvas import Figure, Placing
    from .study import StudyPoint

#: Curves of a figure by default.
MOST_BOUNDS = 6
#: A value of an axis.
Value = float | str


@dataclass(frozen=True)
class Sweep(Tabular):
    """A :class:`Comparison` at every value of one variable.

    Attributes
    ----------
    mechanism : the spec, or what varies of it in words
    variable : "eps0", "n" or "delta"
    values : the values of the variable, in the order given
    points : the Comparison at each value
    rule : delta as a function of n, if one was given ("0.01/n")

    Examples
    --------
    >>> import shuffledp as sdp
    >>> s = sdp.sweep("subset:d=16", eps0=[0.5, 1.0], n=10_000, delta="0.01/n", bounds=["blanket", "general"])
    >>> s.variable, s.values, s.bounds
    ('eps0', (0.5, 1.0), ('blanket', 'general'))
    >>> (s.ratio("blanket") > s.ratio("general")).all()
    np.True_
    """

    mechanism: str
    variable: str
    values: tuple[float, ...]
    points: tuple[Comparison, ...]
    rule: str | None = None

    @property
    def bounds(self) -> tuple[str, ...]:
        """The bounds with an answer at one value at least, tightest at the last value first."""
        return tuple(dict.fromkeys(row.bound for point in reversed(self.points) for row in point.rows))

    @property
    def absent(self) -> dict[str, str]:
        """The bounds without any answer -> the reason at the first value."""
        answered = set(self.bounds)
        return {name: why for name, why in self.points[0].absent.items() if name not in answered}

    def row(self, bound: str) -> Row:
        """The first row of a bound, for its title, side and soundness."""
        return next(row for row in self._column(bound) if row is not None)

    def reasons(self, bound: str) -> dict[float, str]:
        """value -> why the bound gives no answer there."""
        self._column(bound)
        return {v: p.absent[bound] for v, p in zip(self.values, self.points, strict=True) if bound in p.absent}

    def epsilon(self, bound: str) -> np.ma.MaskedArray[Any, np.dtype[np.float64]]:
        """eps of a bound at every value; masked where it gives none (see :meth:`reasons`)."""
        return _masked([None if row is None else row.epsilon for row in self._column(bound)])

    @property
    def local_epsilon(self) -> np.ma.MaskedArray[Any, np.dtype[np.float64]]:
        """What remains without the shuffler, at every value."""
        return _masked([point.local_epsilon for point in self.points])

    def ratio(self, bound: str) -> np.ma.MaskedArray[Any, np.dtype[np.float64]]:
        """How many times shuffling divides the local budget: local eps / eps; masked where either is unknown.

        It is also masked where eps is 0 or both are infinite, because a ratio is meaningless there.
        """
        return _masked([_factor(point, row) for point, row in zip(self.points, self._column(bound), strict=True)])

    def _column(self, bound: str) -> list[Row | None]:
        bound = unalias(bound)
        if isinstance(bound, str) and bound in self.absent:
            raise BoundNotApplicableError(self.absent[bound])
        check.one_of("bound", bound, self.bounds)
        return [next((row for row in point.rows if row.bound == bound), None) for point in self.points]

    @property
    def terms(self) -> str:
        """What stays the same, in one line."""
        first = self.points[0]
        users = [] if self.variable == "n" else [f"n = {first.n:,}"]
        same = all(point.delta == first.delta for point in self.points)
        delta = [f"delta = {self.rule or round_up(first.delta, 6)}"] if same or self.rule else []
        return visible(", ".join([self.mechanism, *users, *delta, first.neighbors]))

    @property
    def title(self) -> str:
        """The terms and the range of the variable, in one line."""
        ends = [named(self.variable, value) for value in (self.values[0], self.values[-1])]
        return f"{self.terms}, {self.variable} = {ends[0]} to {ends[1]}"

    def columns(self) -> dict[str, list[Any]]:
        """One list per column, a value per point: the variable, n, delta, local eps, then eps of every bound."""
        named: dict[str, list[Any]] = {self.variable: list(self.values)}
        named.setdefault("n", [point.n for point in self.points])
        named.setdefault("delta", [point.delta for point in self.points])
        named["local_epsilon"] = [point.local_epsilon for point in self.points]
        return named | {name: [None if r is None else r.epsilon for r in self._column(name)] for name in self.bounds}

    def table(self) -> Table:
        """One row per value: the variable, then eps of every bound rounded to its safe side."""
        columns = self.columns()
        terms = [name for name in columns if name not in self.bounds and name != self.variable]
        hidden = [Column(name=x, values=columns[x], kind="Int64" if x == "n" else "Float64") for x in terms]
        kinds = {name: self.row(name).kind for name in self.bounds}
        heads = {name: name if kind == "upper" else f"{name} ({kind})" for name, kind in kinds.items()}
        shown = [_row_column(name, head, self._column(name)) for name, head in heads.items()]
        return Table((axis_column(self.variable, self.values), *hidden, *shown), caption=self.title)

    def _tables(self) -> tuple[Table, ...]:
        return (self.table(), *absent_table(self.absent))

    def summary(self) -> Table:
        """One row per value: the tightest sound upper bound and the best lower bound."""
        best = [point.best for point in self.points]
        lower = [point.lower for point in self.points]
        factors = [_factor(point, point.best) for point in self.points]
        return Table(
            (
                axis_column(self.variable, self.values),
                _row_column("epsilon", "eps", best),
                Column(name="bound", head="bound", values=[None if b is None else b.bound for b in best]),
                _row_column("lower", "lower", lower),
                number_column("ratio", "local/eps", factors, ["" if f is None else round_down(f, 4) for f in factors]),
            ),
            caption=self.title,
        )

    def __repr__(self) -> str:
        """One line: the terms and the range of the variable."""
        many = f"{len(self.values):,} value{'s' if len(self.values) != 1 else ''}"
        return f"<Sweep of {len(self.bounds)} bounds at {many}: {self.title}>"

    def __str__(self) -> str:
        return f"{self.title}\n\n{self.table().text()}"

    def plot(self, *, quantity: str = "epsilon", most: int = MOST_BOUNDS, **where: Unpack[Placing]) -> Figure:
        """A figure with a curve per bound, at most ``most`` of them (needs the extra ``plot``).

        quantity "epsilon" (central eps) or "ratio" (local eps / eps).  Of more bounds the tightest sound ones, the
        largest lower bound and the local budget are drawn.

        width : inches; ax : matplotlib axes to draw in, in place of a new figure; labels : other words for those of
        the figure
        """
        from .drawing_curves import draw_sweep

        return draw_sweep(self, quantity=quantity, most=most, **where)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary: null where a bound gives no answer, "inf" for infinity."""
        columns = self.columns()
        curves = {
            name: {
                "title": self.row(name).title,
                "side": self.row(name).side,
                "sound": self.row(name).sound,
                "epsilon": columns.pop(name),
                "reasons": {plain(value): why for value, why in self.reasons(name).items()},
            }
            for name in self.bounds
        }
        terms = {"mechanism": self.mechanism, "variable": self.variable, "values": self.values, "rule": self.rule}
        return json_object({**terms, **columns, "bounds": curves, "absent": self.absent})

    def to_json(self) -> str:
        """The same as one JSON object."""
        return json.dumps(self.to_dict(), indent=2)


def axis_column(name: str, values: Sequence[Value], *, shown: bool = True) -> Column:
    """The values of an axis: numbers, or words."""
    head = name if shown else None
    if all(isinstance(value, str) for value in values):
        return Column(name=name, head=head, values=values)
    kind = "Int64" if all(isinstance(value, int) for value in values) else "Float64"
    return number_column(name, head, values, [named(name, value) for value in values], kind=kind)


def named(axis: str, value: Value) -> str:
    """A value of an axis in words: a budget is rounded down, delta up, both to the side on which eps holds.

    >>> named("n", 10_000), named("delta", 1e-6), named("d", 16)
    ('10,000', '1e-06', '16')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    return round_up(value, 6) if axis == "delta" else round_down(value, 6)


def sweep_of(points: Sequence[StudyPoint], variable: str) -> Sweep:
    """The points of one mechanism that differ in this variable."""
    at, rules = [point.comparison for point in points], {point.rule for point in points}
    values: dict[str, list[float]] = {"n": [c.n for c in at], "delta": [c.delta for c in at]}
    return Sweep(
        mechanism=points[0].mechanism,
        variable=variable,
        values=tuple(values.get(variable) or [float(point.value(variable)) for point in points]),
        points=tuple(at),
        rule=rules.pop() if len(rules) == 1 else None,
    )


def _factor(point: Comparison, row: Row | None) -> float | None:
    """The local budget divided by the eps of a row; None where the ratio is meaningless."""
    local = point.local_epsilon
    return None if row is None or local is None or row.epsilon == 0.0 or math.isinf(local) else local / row.epsilon


def _row_column(name: str, head: str, rows: Sequence[Row | None]) -> Column:
    values = [None if row is None else row.epsilon for row in rows]
    return number_column(name, head, values, ["" if row is None else row.shown for row in rows])


def _masked(values: Sequence[float | None]) -> np.ma.MaskedArray[Any, np.dtype[np.float64]]:
    """Values with the unknown ones masked (0 underneath, never NaN)."""
    return np.ma.MaskedArray(
        np.array([0.0 if v is None else v for v in values]), mask=np.array([v is None for v in values])
    )
