"""Several quantiles of a number, with their intervals, as an answer of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._support.arrays import FloatArray
from .._support.figures import TEXT_WIDTH
from .._support.json_ready import json_object
from .._support.tables import Column, Table, number_column
from ..estimation.answer import Answer, Entry, Provenance, in_words, texts_of
from ..estimation.drawing import Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .._support.canvas import Labels
    from .range_answer import RangeAnswer


@dataclass(frozen=True, eq=False)
class Quantiles(Answer):
    """The numbers below which given shares of the users lie.

    Attributes
    ----------
    shares : of the users, such as 0.99
    value, low, high : in the unit of the question, with the ends of the interval
    level : of the intervals
    inside : how users are taken to be spread inside a bin, as in :meth:`RangeAnswer.quantile`
    answer : the ranges that they were read from
    """

    shares: tuple[float, ...]
    value: FloatArray
    low: FloatArray
    high: FloatArray
    level: float
    answer: RangeAnswer
    inside: str = "even"

    @property
    def n(self) -> int:  # type: ignore[override]  # that of the answer
        """Users who reported."""
        return self.answer.n

    @property
    def labels(self) -> list[str]:
        """p50, p99, ..."""
        return [f"p{100.0 * share:.10g}" for share in self.shares]

    @property
    def unit(self) -> str:
        """Of the numbers."""
        return self.answer.domain.unit

    @property
    def provenance(self) -> Provenance | None:  # type: ignore[override]  # that of the answer
        """That of the ranges; which quantiles were asked for is a part of the question."""
        percent = "" if self.level == 0.95 else f" at {100.0 * self.level:g} %"
        ends = "" if self.inside == "even" else ", to the ends of bins"
        return self.answer.narrowed(", ".join(self.labels) + percent + ends)

    def entries(self) -> Iterator[Entry]:
        """One for each share; the error of a quantile is stated by its interval alone."""
        for item, value, low, high in zip(self.labels, self.value, self.low, self.high, strict=True):
            yield Entry(item, float(value), None, float(low), float(high), self.unit)

    def words(self) -> list[str]:
        """p99: 28.9 s, 95 % from 28.6 to 29.2; and what is assumed."""
        domain, each = self.answer.domain, [in_words(row, self.level) for row in self.entries()]
        width = domain.words(domain.width / (len(self.answer.edges) - 1))
        taken = f"Users of a bin ({width} wide) are taken to be spread evenly inside it."
        return [*each, taken] if self.inside == "even" else each

    def table(self) -> Table:
        """One row for each quantile."""
        rows = list(self.entries())
        shown = list(zip(*map(texts_of, rows), strict=True))
        heads = (f"quantile{f' ({self.unit})' if self.unit else ''}", f"{100.0 * self.level:g}% from", "to")
        columns = [
            number_column(key, head, [getattr(row, key) for row in rows], list(texts))
            for key, head, texts in zip(("value", "low", "high"), heads, shown, strict=True)
        ]
        named = Column(name="item", head="item", values=self.labels, right=True)
        return Table((named, *columns), caption=self.answer._title)

    def lies(self, what: str = "report") -> str:
        """What false reports can do at worst: a quantile moves by as much as the shares around it allow."""
        return self.answer.lies(what)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        ends = {key: getattr(self, key).tolist() for key in ("value", "low", "high")}
        return json_object({"unit": self.unit, "items": self.labels, "shares": self.shares, **ends})

    @property
    def for_release(self) -> bool | None:
        """As that of the answer."""
        return self.answer.for_release

    def __repr__(self) -> str:
        """One line."""
        return f"<Quantiles {'; '.join(self.words()[:3])}: {self.answer._title}>"

    def plot(
        self,
        *,
        width: float = TEXT_WIDTH,
        truth: RangeAnswer | None = None,
        ax: Axes | None = None,
        labels: Labels | None = None,
    ) -> Figure:
        """The distribution function with a mark and an interval at every quantile (needs the extra ``plot``).

        truth, ax, labels : as in :meth:`Estimate.plot`
        """
        from .drawing import draw_distribution

        look = Look(level=self.level, width=width, truth=truth, ax=ax, labels=labels)
        return draw_distribution(self.answer, look, self)
