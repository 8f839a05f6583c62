"""Comparisons along one variable: eps0, n or delta."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._support import validation as check
from .._support.by_name import by_name
from .._support.delta_rules import delta_at
from .._support.figures import TEXT_WIDTH
from .._support.json_ready import json_ready
from .._support.numbers import round_down, round_up
from .._support.tables import Column, Table, Tabular, number_column
from .._support.text import visible
from ..bounds import unalias
from ..errors import BoundNotApplicableError, ParameterError
from ..mechanisms.base import Mechanism, plain
from ..mechanisms.registry import canonical, made, split
from .comparison import Comparison, Row, absent_table, bound_names, compare_all
from .drawing import MOST_CURVES
from .resolve import MechanismLike, Subject, as_mechanism

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .._support.canvas import Labels

#: What may be swept over eps0: a spec without eps0, a mechanism with a field eps0, or a function of eps0.
Sweepable = MechanismLike | Callable[[float], MechanismLike]
_MOST_POINTS = 10_000
#: Points that are computed together while progress is shown.
_TOGETHER = 64


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
        return f"{self.terms}, {self.variable} = {self._named(self.values[0])} to {self._named(self.values[-1])}"

    def _named(self, value: float) -> str:
        """In six figures, rounded to the side on which the upper bounds beside it stay true."""
        if self.variable == "n":
            return f"{value:,}"
        return round_up(value, 6) if self.variable == "delta" else round_down(value, 6)

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
        return Table((self._variable_column(), *hidden, *shown), caption=self.title)

    def _variable_column(self) -> Column:
        texts = [self._named(value) for value in self.values]
        kind = "Int64" if self.variable == "n" else "Float64"
        return number_column(self.variable, self.variable, self.values, texts, kind=kind)

    def _tables(self) -> tuple[Table, ...]:
        return (self.table(), *absent_table(self.absent))

    def summary(self) -> Table:
        """One row per value: the tightest sound upper bound and the best lower bound."""
        best = [point.best for point in self.points]
        lower = [point.lower for point in self.points]
        factors = [_factor(point, point.best) for point in self.points]
        return Table(
            (
                self._variable_column(),
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

    def plot(
        self,
        *,
        quantity: str = "epsilon",
        most: int = MOST_CURVES,
        width: float = TEXT_WIDTH,
        ax: Axes | None = None,
        labels: Labels | None = None,
    ) -> Figure:
        """A figure with a curve per bound, at most ``most`` of them (needs the extra ``plot``).

        quantity "epsilon" (central eps) or "ratio" (local eps / eps).  Of more bounds the tightest sound ones, the
        largest lower bound and the local budget are drawn.

        ax : matplotlib axes to draw in, in place of a new figure; labels : other words for those of the figure
        """
        from .drawing import draw_sweep

        return draw_sweep(self, quantity=quantity, most=most, width=width, ax=ax, labels=labels)

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
        return dict(json_ready({**terms, **columns, "bounds": curves, "absent": self.absent}))

    def to_json(self) -> str:
        """The same as one JSON object."""
        return json.dumps(self.to_dict(), indent=2)


@by_name
def sweep(
    mechanism: Sweepable,
    *,
    n: ArrayLike,
    delta: ArrayLike | str,
    eps0: ArrayLike | None = None,
    bounds: Iterable[str] | None = None,
    tol: float = 1e-4,
    progress: Callable[[int, int], None] | None = None,
) -> Sweep:
    """:func:`compare` along one variable: exactly one of eps0, n and delta holds several values.

    Parameters
    ----------
    mechanism : as in :func:`shuffledp.amplify`; where eps0 is given, a spec without eps0 such as "subset:d=16" (its
        internal integers follow eps0), a mechanism with a field eps0 (its integers stay), or a function of eps0
    n, delta, eps0 : numbers, one of them a sequence; delta may be a rule such as "0.01/n"
    bounds, tol : as in :func:`compare`
    progress : called with (points done, points in all) for every point

    Examples
    --------
    >>> s = sweep("grr:eps0=1,d=4", n=[1_000, 10_000], delta="0.01/n", bounds=["blanket", "local"])
    >>> [f"{r:.1f}" for r in s.ratio("blanket")]
    ['10.1', '29.2']
    """
    given = {"eps0": eps0, "n": n, "delta": delta}
    several = [name for name, value in given.items() if _is_sequence(value)]
    if len(several) != 1:
        raise ParameterError(
            f"exactly one of eps0, n and delta must be a sequence, got {' and '.join(several) or 'none of them'}; "
            "give a list of values for the variable to sweep and a number for the others."
        )
    variable = several[0]
    names, tol, make = bound_names(bounds), check.tolerance(tol), _maker(mechanism, eps0)
    values: list[float] = []
    terms: list[tuple[Subject, int, float]] = []
    subjects: dict[int, Subject] = {}  # one subject per mechanism, so that its families are built once
    listed: Any = given[variable]
    if not 1 <= len(listed) <= _MOST_POINTS:
        raise ParameterError(
            f"{variable} must hold 1 to {_MOST_POINTS:,} values, got {len(listed):,}; change their number."
        )
    for value in list(listed):  # everything is checked before the first answer is computed
        term = {**given, variable: value}
        users = check.users(term["n"])
        target = delta_at(term["delta"], users)
        budget = None if eps0 is None else check.local_budget(term["eps0"])
        asked = make(budget)
        terms.append((subjects.setdefault(id(asked), Subject(asked)), users, target))
        values.append({"eps0": budget or 0.0, "n": users, "delta": target}[variable])
    points: list[Comparison] = []
    step = len(terms) if progress is None else _TOGETHER
    for start in range(0, len(terms), step):
        points += compare_all(terms[start : start + step], names=names, tol=tol)
        for done in range(start + 1, len(points) + 1):
            if progress is not None:
                progress(done, len(terms))
    return Sweep(
        mechanism=canonical(mechanism)
        if isinstance(mechanism, str)
        else _common([point.mechanism for point in points]),
        variable=variable,
        values=tuple(values),
        points=tuple(points),
        rule=delta.strip() if isinstance(delta, str) else None,
    )


def _is_sequence(value: Any) -> bool:
    try:
        return np.ndim(value) > 0
    except ValueError:  # lists of different lengths
        return True


def _maker(mechanism: Any, eps0: object) -> Callable[[float | None], Mechanism]:
    """The mechanism as a function of eps0 (a constant one if eps0 is not given)."""
    if eps0 is None:
        fixed = as_mechanism(mechanism)
        return lambda _: fixed
    if isinstance(mechanism, str):
        cls, text = split(mechanism)
        _needs_eps0(cls)
        return lambda value: _from_spec(cls, text, value)
    if isinstance(mechanism, Mechanism):
        held: Any = mechanism
        _needs_eps0(type(held))
        return lambda value: dataclasses.replace(held, eps0=value)
    if callable(mechanism) and not isinstance(mechanism, type):
        return lambda value: as_mechanism(mechanism(value))
    raise ParameterError(
        "mechanism must be a spec without eps0, a mechanism with a field eps0 or a function of eps0, "
        f"got {mechanism!r}; write for example 'subset:d=16' or lambda e: GRR(eps0=e, d=4)."
    )


def _needs_eps0(cls: Any) -> None:
    if "eps0" not in (field.name for field in dataclasses.fields(cls)):
        raise ParameterError(
            f"eps0 must be left out for {cls.name}, which has no such parameter, got values; sweep n or delta."
        )


def _from_spec(cls: type[Mechanism], text: str, eps0: float | None) -> Mechanism:
    if any(part.partition("=")[0].strip() == "eps0" for part in text.split(",")):
        raise ParameterError(
            f"mechanism must be a spec without eps0 where eps0 is given, got {f'{cls.name}:{text}'!r}; leave it out."
        )
    return made(cls, f"{text}{',' if text else ''}eps0={eps0!r}")


def _common(specs: Sequence[str]) -> str:
    """What all the specs share: the name, and the parameters that do not change."""
    if len(set(specs)) == 1:
        return specs[0]
    name, _, parts = specs[0].partition(":")
    kept = [part for part in parts.split(",") if all(part in spec.partition(":")[2].split(",") for spec in specs)]
    return f"{name}:{','.join(kept)}" if kept else name


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
