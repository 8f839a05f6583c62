"""What every answer can do: rows for a warehouse, words for people, and where it came from."""

from __future__ import annotations

import math
import os
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from .._support.tables import Column, Table, Tabular
from .._support.text import visible
from .._support.units import Amount, figures, with_unit
from ..errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

    from .._support.statement import Statement

#: The columns of a tidy table, and the types of their cells.
COLUMNS: dict[str, type] = {
    **dict.fromkeys(("question", "period", "item"), str),
    **dict.fromkeys(("value", "stderr", "low", "high"), float),
    "unit": str,
    "users": int,
    **dict.fromkeys(("epsilon", "delta"), float),
    "plan": str,
}
#: Rows that agree in these are one answer.
KEY = ("plan", "question", "period")
_KINDS: dict[type, str | None] = {str: None, float: "Float64", int: "Int64"}


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where an answer came from: what was asked, in which plan, and what is guaranteed about the reports.

    Attributes
    ----------
    question : in words
    views : which part of the answer this is, or how it is told, in words, such as "the 20 largest"
    name : of the plan, for people; empty if it has none
    epsilon, delta : what holds for the reports that were counted; infinite if nothing does
    plan : the digest of the plan
    signed : makes the statement for people who sign; None where no plan says what holds
    """

    question: str
    views: tuple[str, ...] = ()
    name: str = ""
    epsilon: float = math.inf
    delta: float = 0.0
    plan: str = ""
    signed: Callable[..., Statement] | None = field(default=None, repr=False, compare=False)

    @property
    def asked(self) -> str:
        """The question with its views: different answers of one plan differ in it.

        >>> Provenance(question="the share of users in any range", views=("fitted", "p50, p99")).asked
        'the share of users in any range (fitted; p50, p99)'
        """
        return self.question + (f" ({'; '.join(self.views)})" if self.views else "")

    @property
    def title(self) -> str:
        """What stands above a figure: the name of the plan, else the question."""
        return self.name or self.question[:1].upper() + self.question[1:]


class Entry(NamedTuple):
    """One number of an answer, with the ends of its 95% interval where it has one; None: it is not estimated."""

    item: str
    value: float | None
    stderr: float | None
    low: float | None
    high: float | None
    unit: str


class Answer(Tabular):
    """Numbers with intervals; ``provenance`` is None where they did not come from a plan."""

    n: int
    provenance: Provenance | None

    @abstractmethod
    def entries(self) -> Iterator[Entry]:
        """Every number, in full precision."""

    @abstractmethod
    def words(self) -> list[str]:
        """The answer in sentences, in the unit of the question."""

    def tidy(self, *, period: str = "") -> Table:
        """One row per number, as warehouses want it; an interval covers 95 %, and what is not known is absent.

        question, period, item, value, stderr, low, high, unit, users, epsilon, delta, plan (its digest)
        """
        rows = self._rows(period)
        cells = {name: [row[name] for row in rows] for name in COLUMNS}
        kinds = COLUMNS.items()
        return Table(
            tuple(Column(name=k, head=k, values=cells[k], right=t is not str, kind=_KINDS[t]) for k, t in kinds)
        )

    def to_frame(self, *, period: str = "") -> pd.DataFrame:
        """The tidy table (:meth:`tidy`) as a pandas DataFrame; absent values are missing (extra ``frame``)."""
        return self.tidy(period=period).frame()

    def to_csv(self, *, period: str = "") -> str:
        """The tidy table (:meth:`tidy`) as comma-separated values; an absent value is an empty cell."""
        return self.tidy(period=period).csv()

    def append_to(self, path: str | os.PathLike[str], *, period: str = "") -> bool:
        """Add the tidy table to a file (.csv, .jsonl or .parquet); False if this answer is there already.

        A crash leaves the file as it was or with all rows, and writers at the same time wait for each other.  Another
        answer to the same question, of the same plan and period, is refused.
        """
        if self.provenance is None or not self.provenance.plan:
            raise ParameterError(
                "answer must come from a plan to be added to a table, where the plan tells answers apart, got one of "
                "bare reports; ask a Collector for it."
            )
        from .._support.row_files import append_rows  # here, because a client adds to no table

        return append_rows(path, self._rows(period), COLUMNS, KEY)

    def _rows(self, period: str) -> list[dict[str, Any]]:
        if not isinstance(period, str) or len(period) > 100 or not period.isprintable():
            raise ParameterError(f"period must be a short text such as '2026-W14', got {period!r:.60}; shorten it.")
        known = self.provenance or Provenance(question="")
        same = {"question": known.asked, "period": period, "users": int(self.n), "plan": known.plan}
        numbers = (known.epsilon, known.delta) if known.plan else (None, None)
        same |= dict(zip(("epsilon", "delta"), numbers, strict=True))
        return [{**{k: _plain(v) for k, v in entry._asdict().items()}, **same} for entry in self.entries()]

    def statement(self, *, rounds: int = 1, kept: str = "") -> Statement:
        """What is guaranteed of this answer: a paragraph, and a page for people who sign (as Plan.statement)."""
        if self.provenance is None or self.provenance.signed is None:
            raise ParameterError(
                "answer must come from a plan to have a statement, got one of bare reports; ask a Collector for it."
            )
        return self.provenance.signed(rounds=rounds, kept=kept)

    def narrowed(self, words: str) -> Provenance | None:
        """The provenance of a part of this answer, or of another view of it, which ``words`` describe."""
        known = self.provenance
        return known if known is None else replace(known, views=(*known.views, words))


def _plain(value: Any) -> Any:
    """A cell: no lone surrogates, which no file can hold, and no number where none is known."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return None if value is None or math.isnan(value) else float(value)


def texts_of(entry: Entry) -> tuple[str, str, str]:
    """Value, low and high in the figures that the interval supports; ends are rounded outward, or empty."""
    word = "not estimated" if entry.value is None else "unknown" if math.isnan(entry.value) else ""
    if entry.low is None or entry.high is None:
        return word or figures(entry.value or 0.0, 5), "", ""
    if entry.value is None or word:
        return word, *Amount(entry.low, entry.low, entry.high).texts[1:]
    return Amount(entry.value, entry.low, entry.high).texts


def in_words(entry: Entry, level: float = 0.95) -> str:
    """An entry for people.

    Examples
    --------
    >>> in_words(Entry("p99", 28.913, None, 28.62, 29.16, "s"))
    'p99: 28.9 s, 95 % from 28.6 to 29.2'
    """
    value, low, high = texts_of(entry)
    name = f"{visible(entry.item)}: " if entry.item else ""
    rest = f", {100.0 * level:g} % from {low} to {high}" if low else ""
    known = entry.value is not None and not math.isnan(entry.value)
    return name + with_unit(value, entry.unit if known else "") + rest
