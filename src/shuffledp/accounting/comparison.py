"""Every bound side by side: which is tightest, how much it saves, and how far it is from the best lower bound."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

from .._support import validation as check
from .._support.delta_rules import delta_at
from .._support.json_ready import json_object
from .._support.numbers import round_down, round_up
from .._support.tables import Column, Table, Tabular, number_column
from .._support.text import visible
from ..bounds import Bound, bound_of, called, known, unalias
from ..errors import BoundNotApplicableError, ParameterError, ShuffleDPError
from ..numerics.family import Answer
from .crowd import Crowd
from .guarantee import not_below
from .many import attempts
from .resolve import MechanismLike, Resolved, Subject, resolve, subject_of

if TYPE_CHECKING:
    from .._support.canvas import Figure, Placing


#: A mechanism, how many users run it, and delta.
Point = tuple[Subject, int, float]
#: The place of a point and the name of a bound -> its answer, or why there is none.
Found = dict[tuple[int, str], Answer | ShuffleDPError]


@dataclass(frozen=True)
class Row:
    """One bound of a comparison.

    ``saved`` is the share of this eps that the tightest sound upper bound saves, 1 - best/eps (None for lower
    bounds; negative where an unsound formula claims less than is proved).  ``looseness`` is eps/lower - 1 against
    the best lower bound; an upper row below 0 is refuted by a concrete dataset.
    """

    bound: str
    title: str
    epsilon: float
    side: str
    sound: bool
    saved: float | None
    looseness: float | None
    citation: str

    @property
    def kind(self) -> str:
        """Whether it is an upper bound, a lower bound or neither, in words."""
        return "not a bound" if not self.sound else self.side

    @property
    def shown(self) -> str:
        """eps in five figures, rounded to the side on which the row stays true."""
        return round_down(self.epsilon) if self.side == "lower" else round_up(self.epsilon)

    def __repr__(self) -> str:
        """One line: what the bound says, and whether it holds."""
        sign = {"upper": "<=", "lower": ">="}.get(self.kind, "=")
        said = "" if self.sound else ", not a bound"
        return f"<Row {self.bound}: eps {sign} {self.shown}{said}>"


@dataclass(frozen=True)
class Comparison(Tabular):
    """The eps of every applicable bound for one mechanism, n and delta, smallest first.

    Attributes
    ----------
    rows : tuple of Row, sorted by eps; lower bounds (``side``) and unsound formulas (``sound``) among them.
    absent : name of a bound -> why it gives no answer here.
    best, lower : the tightest sound upper row and the largest lower row; None where there is none.
    mechanism, n, delta, tol, local_epsilon, neighbors, lower_scope : the terms.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> c = sdp.compare("grr:eps0=2,d=16", n=10_000, delta=1e-6, bounds=["blanket", "general", "local"])
    >>> print(c.to_markdown().splitlines()[2])
    | blanket | 0.067492 | upper | 0% |  |
    """

    mechanism: str
    description: str
    n: int
    delta: float
    tol: float
    local_epsilon: float | None
    neighbors: str
    lower_scope: str
    rows: tuple[Row, ...]
    absent: dict[str, str] = field(default_factory=dict, hash=False)

    @property
    def best(self) -> Row | None:
        """The tightest sound upper bound."""
        return next((row for row in self.rows if row.side == "upper" and row.sound), None)

    @property
    def lower(self) -> Row | None:
        """The largest lower bound: no analysis on the same terms can claim less."""
        return next((row for row in reversed(self.rows) if row.side == "lower"), None)

    @property
    def title(self) -> str:
        """The terms in one line."""
        return visible(f"{self.mechanism}, n = {self.n:,}, delta = {round_up(self.delta, 17)}, {self.neighbors}")

    def __getitem__(self, bound: str) -> Row:
        """The row of a bound; an absent one is refused with its reason."""
        bound = unalias(bound)
        if isinstance(bound, str) and bound in self.absent:
            raise BoundNotApplicableError(self.absent[bound])
        rows = {row.bound: row for row in self.rows}
        return rows[check.one_of("bound", bound, rows)]

    def __contains__(self, bound: object) -> bool:
        """Whether a bound of this name has a row."""
        return any(row.bound == unalias(bound) for row in self.rows)

    def __iter__(self) -> Iterator[Row]:
        """The rows, smallest eps first."""
        return iter(self.rows)

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.rows)

    def table(self) -> Table:
        """One row per bound, as shown everywhere."""
        rows = self.rows
        return Table(
            (
                Column(name="bound", head="bound", values=[r.bound for r in rows]),
                Column(name="title", head="what it is", values=[r.title for r in rows], wide=True),
                number_column("epsilon", "eps", [r.epsilon for r in rows], [r.shown for r in rows], kind="float64"),
                Column(name="side", values=[r.side for r in rows]),
                Column(name="sound", values=[r.sound for r in rows]),
                Column(head="kind", values=[r.kind for r in rows]),
                _share_column("saved", "best saves", [r.saved for r in rows]),
                _share_column("looseness", "above lower", [r.looseness for r in rows]),
                Column(name="citation", head="source", values=[r.citation for r in rows], wide=True),
            ),
            caption=self.title,
            notes=tuple(self.notes),
        )

    def _tables(self) -> tuple[Table, ...]:
        return (self.table(), *absent_table(self.absent))

    @property
    def notes(self) -> list[str]:
        """What follows from the lower bound, in sentences."""
        if self.lower is None:
            return []
        said = [f"No analysis of {self.lower_scope} can claim less than {not_below(self.lower.epsilon, self.delta)}."]
        below = [r.bound for r in self.rows if not r.sound and r.epsilon < self.lower.epsilon]
        return said + [f"{name} claims less: it is refuted here." for name in below]

    def __repr__(self) -> str:
        """One line: the terms, the tightest bound and the largest lower one."""
        said = [f"eps <= {self.best.shown} ({self.best.bound})"] if self.best else []
        said += [f"eps >= {not_below(self.lower.epsilon, self.delta)}"] if self.lower else []
        return f"<Comparison of {len(self.rows)} bounds: {', '.join([self.title, *said])}>"

    def __str__(self) -> str:
        text = self.title
        if self.rows:
            text += f"\n\n{self.table().text()}"
        if self.notes:
            text += "\n\n" + "\n".join(self.notes)
        if self.absent:
            text += "\n\nNo answer here:\n" + "\n".join(
                f"  {name}: {brief(name, why)}" for name, why in self.absent.items()
            )
        return text

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary; infinity is written as the string "inf"."""
        ends = {"best": self.best, "lower": self.lower}
        return json_object({**asdict(self), **{key: row.bound if row else None for key, row in ends.items()}})

    def to_json(self) -> str:
        """The same as one JSON object."""
        return json.dumps(self.to_dict(), indent=2)

    def plot(self, **where: Unpack[Placing]) -> Figure:
        """A figure: a dot per bound and a line at the best lower bound (needs the extra ``plot``).

        width : inches; ax : matplotlib axes to draw in, in place of a new figure; labels : other words for those of
        the figure
        """
        from .drawing import draw_comparison

        return draw_comparison(self, **where)


def compare(
    mechanism: MechanismLike,
    *,
    n: int,
    delta: float | str,
    tol: float = 1e-4,
    bounds: Iterable[str] | None = None,
) -> Comparison:
    """The eps of every bound that applies to ``mechanism`` among n users, sorted.

    Parameters
    ----------
    mechanism, n, tol : as in :func:`shuffledp.amplify`
    delta : in (0, 1), or a rule such as "0.01/n"
    bounds : names of ``shuffledp.bounds``; all of them if None

    Returns
    -------
    Comparison
        A sound upper row holds for every neighboring pair; a lower row cannot be beaten on the same terms.  A bound
        that cannot answer is ``absent`` with its reason.

    Examples
    --------
    >>> c = compare("grr:eps0=2,d=16", n=10_000, delta=1e-6, bounds=["local", "blanket", "variation-ratio-lower"])
    >>> [row.bound for row in c.rows]
    ['variation-ratio-lower', 'blanket', 'local']
    >>> c.best.bound, round(c["local"].saved, 2)
    ('blanket', 0.97)
    """
    subject = subject_of(mechanism)
    n, tol = check.users(n), check.tolerance(tol)
    delta = delta_at(delta, n)
    names, point = bound_names(bounds), [(subject, n, delta)]
    return compared(point, found_together(point, names=names, tol=tol), names=names, tol=tol)[0]


def found_together(points: Sequence[Point], *, names: Sequence[str], tol: float) -> Found:
    """The answers of all bounds at all points, asked together."""
    found: Found = {}
    asked: dict[tuple[int, str], Resolved] = {}
    for k, (subject, n, _) in enumerate(points):
        for name in names:
            try:
                asked[k, name] = resolve(subject, name, Crowd(n))
            except (BoundNotApplicableError, ParameterError) as error:
                found[k, name] = error
    answers = attempts(list(asked.values()), delta=[points[k][2] for k, _ in asked], tol=tol)
    return found | dict(zip(asked, answers, strict=True))


def compared(
    points: Sequence[Point], found: Found, *, names: Sequence[str], tol: float, refuse: bool = True
) -> list[Comparison]:
    """The Comparison at every point from the answers to all questions.

    ``refuse`` raises where a point has no answer at all because a parameter is refused, for example for more messages
    than a bound is proved for; otherwise that is a reason like any other.
    """
    terms = {id(subject): _terms(subject) for subject in {id(s): s for s, _, _ in points}.values()}
    out = []
    for k, (subject, n, delta) in enumerate(points):
        here = {name: found[k, name] for name in names}
        rows = [(bound_of(name), x.epsilon) for name, x in here.items() if isinstance(x, Answer)]
        errors = {name: x for name, x in here.items() if isinstance(x, ShuffleDPError)}
        for refusal in errors.values():
            if refuse and not rows and isinstance(refusal, ParameterError):
                raise refusal
        reasons = {name: str(error) for name, error in errors.items()}
        made = {"rows": _ranked(rows), "absent": reasons, **terms[id(subject)]}
        out.append(Comparison(n=n, delta=delta, tol=tol, **made))
    return out


def _terms(subject: Subject) -> dict[str, Any]:
    """The terms of a Comparison that the mechanism decides, with its local guarantee if there is one."""
    try:
        return subject.facts
    except BoundNotApplicableError:
        return {**subject.words, "local_epsilon": None}


def _ranked(found: list[tuple[Bound, float]]) -> tuple[Row, ...]:
    """Sorted by eps; of equal ones the lower bound comes first, then the sound ones."""
    best = min((eps for bound, eps in found if bound.side == "upper" and bound.sound), default=None)
    lower = max((eps for bound, eps in found if bound.side == "lower"), default=None)
    found = sorted(found, key=lambda item: (item[1], item[0].side != "lower", not item[0].sound))
    return tuple(
        Row(
            bound=bound.name,
            title=bound.title,
            epsilon=eps,
            side=bound.side,
            sound=bound.sound,
            saved=None if best is None or bound.side == "lower" else _saved(best, eps),
            looseness=None if lower is None else _looseness(eps, lower),
            citation=bound.citation,
        )
        for bound, eps in found
    )


def _saved(best: float, eps: float) -> float | None:
    if best == eps:
        return 0.0
    return None if eps == 0.0 or math.isinf(best) else 1.0 - best / eps


def _looseness(eps: float, lower: float) -> float:
    if eps == lower:
        return 0.0
    return math.inf if lower == 0.0 else eps / lower - 1.0


def bound_names(bounds: Iterable[str] | None, *, auto: bool = False) -> list[str]:
    """The bounds asked for, each once; unknown names are refused, and "auto" where it is no row."""
    if bounds is None:
        return list(known())
    if not check.is_list(bounds):
        got = check.shown(bounds)
        raise ParameterError(f"bounds must be a list of names, got {got}; write for example bounds=['blanket'].")
    bounds = list(bounds)
    if not auto and any(isinstance(name, str) and name == "auto" for name in bounds):
        raise ParameterError(
            "bound 'auto' is the best of the table, not a row of it; leave it out for all bounds, or name some of them."
        )
    chosen = list(dict.fromkeys(called(name) for name in bounds))
    if not chosen:
        raise ParameterError("bounds must name at least one bound, got none; leave it out to compare all of them.")
    return chosen


def brief(name: str, why: str) -> str:
    """A reason without the bound's name and the advice, for a list of reasons."""
    return visible(why.partition(";")[0].removeprefix(f"bound {name!r} ").rstrip("."))


def absent_table(absent: dict[str, str]) -> tuple[Table, ...]:
    """The bounds without an answer and their reasons: one table, or none if all have one."""
    if not absent:
        return ()
    names = Column(name="bound", head="bound", values=list(absent))
    return (Table((names, Column(name="why", head="why", values=list(absent.values()))), caption="No answer here"),)


def _share_column(name: str, head: str, values: list[float | None]) -> Column:
    return number_column(name, head, values, [_share(value) for value in values])


def _share(value: float | None) -> str:
    """Percent in three figures, or a factor where the percentage would be long."""
    if value is None:
        return ""
    if value >= 10.0:
        return "inf" if math.isinf(value) else f"{value + 1:.4g} x"
    return "0%" if abs(value) < 5e-6 else f"{100 * value:.3g}%"
