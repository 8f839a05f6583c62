"""Quantiles and their intervals, from an estimated distribution function whose errors are not all alike.

Every end of a bin has an error of its own, so that on fine bins the estimate crosses a share many times.  The range is
therefore halved only as long as halves hold more users than noise (``_SIGNAL`` standard errors each), and the users of
a part that is left are taken to be spread evenly inside it.

The interval is Woodruff's (JASA 1952): all numbers x at which F(x) = share is not contradicted.  At the true quantile
this is one test of its level, whatever the others say, so that coverage is about nominal; that the interval reaches
from the first such x to the last adds a little.  Between two ends a and b, F is the mean of both with weights 1-w and
w, and its variance is (1-w)^2 Va + w^2 Vb + 2 w (1-w) C, where C = (Va + Vb - V(b-a))/2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._support.arrays import FloatArray, IntArray
from .._support.figures import TEXT_WIDTH
from .._support.json_ready import json_object
from .._support.tables import Column, Table, number_column
from ..estimation.answer import Answer, Entry, Provenance, in_words, texts_of
from ..estimation.drawing import Look
from ..estimation.estimate import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .._support.canvas import Labels
    from .range_answer import RangeAnswer

#: A part is halved further if each half holds this many standard errors of users, and if the share is no more than so
#: many standard errors away from it.
_SIGNAL, _FAR = 1.0, 4.0
#: Points between two ends at which the interval is looked for.
_POINTS = 64


@dataclass(frozen=True)
class Distribution:
    """An estimated distribution function, asked by places: the numbers of bins below.

    Attributes
    ----------
    below : the share of users below the end of every bin
    bins : how many there are; ``below`` may have an entry more, for those without a number
    level : of the intervals
    spread : the standard errors of the shares between pairs of places
    """

    below: Estimate
    bins: int
    level: float
    spread: Callable[[IntArray], FloatArray]

    @property
    def lines(self) -> tuple[FloatArray, FloatArray]:
        """F at every place, and its standard error; 0 at the first."""
        some = self.below.value[: self.bins], self.below.stderr[: self.bins]
        value, error = (np.append(0.0, x) for x in some)
        return value, error

    def grid(self, share: float) -> IntArray:
        """The places between which F is taken to be straight: as near as there is signal, where the share is near."""
        value, error = self.lines
        chosen, first, last = [np.array([0, self.bins])], np.array([0]), np.array([self.bins])
        while first.size:
            middle, halved = _halved(value[None], error, first, last)
            first, middle, last = (x[halved] for x in (first, middle, last))
            start, end = np.sort([value[first], value[last]], axis=0)
            near = (start - _FAR * error[middle] <= share) & (share <= end + _FAR * error[middle])
            chosen.append(middle[near])
            first, last = (np.append(*ends) for ends in ((first[near], middle[near]), (middle[near], last[near])))
        return np.unique(np.concatenate(chosen))

    def band(self, places: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Numbers of bins from the first place to the last, and what F may be there, at least and at most."""
        some = self.below.taken(places[1:] - 1)
        low, high = (np.append(0.0, end) for end in some.interval(self.level))
        value, error = np.append(0.0, some.value), np.append(0.0, some.stderr)
        both = self.spread(np.stack([places[:-1], places[1:]], axis=1))
        share = np.arange(_POINTS)[:, None] / _POINTS

        def between(ends: FloatArray) -> FloatArray:
            return np.append(((1.0 - share) * ends[:-1] + share * ends[1:]).T.ravel(), ends[-1])

        first, last = error[:-1] ** 2, error[1:] ** 2
        with np.errstate(invalid="ignore"):  # infinite errors: nothing is known
            square = (1.0 - share) ** 2 * first + share**2 * last + share * (1.0 - share) * (first + last - both**2)
            line, middle = between(error), between(value)
            root = np.append(np.sqrt(np.maximum(square, 0.0)).T.ravel(), error[-1])
            narrow = root / np.where(line > 0.0, line, 1.0)  # the interpolated interval is too long by this factor
            below, above = (np.nan_to_num(narrow * np.abs(between(x) - middle), nan=np.inf) for x in (low, high))
        return between(places.astype(np.float64)), middle - below, middle + above


def _halved(
    value: FloatArray, error: FloatArray, first: IntArray, last: IntArray
) -> tuple[IntArray, NDArray[np.bool_]]:
    """The places that halve these parts, and whether the halves hold enough users; F is a row for each part, or one."""
    rows = np.arange(len(value))
    middle = first + (1 << np.maximum(np.frexp(last - first - 1)[1] - 1, 0).astype(np.int64))
    rise = np.abs(value[rows, last] - value[rows, first])
    inner = np.minimum(middle, last)
    return inner, (last - first >= 2) & (rise >= 2.0 * _SIGNAL * error[inner])


def quantile_place(value: FloatArray, error: FloatArray, share: FloatArray) -> FloatArray:
    """The quantiles of this share, in bins, of one or more distribution functions at all places, one in a row.

    Planning predicts errors with it, so that it predicts those of what answers.

    Examples
    --------
    >>> quantile_place(np.array([0.0, 0.2, 0.6, 0.9, 1.0]), np.full(5, 0.01), np.array([0.5])).round(3).tolist()
    [1.75]
    """
    value = np.atleast_2d(value)
    rows = np.arange(len(value))
    first, last = np.zeros(len(value), dtype=np.int64), np.full(len(value), value.shape[1] - 1)
    for _ in range(value.shape[1].bit_length()):
        middle, halved = _halved(value, error, first, last)
        left = share <= value[rows, middle]
        first, last = np.where(halved & ~left, middle, first), np.where(halved & left, middle, last)
    start = value[rows, first]
    rise = value[rows, last] - start
    inner = np.where(rise > 0.0, np.clip((share - start) / np.where(rise > 0.0, rise, 1.0), 0.0, 1.0), 0.5)
    return np.asarray(first + inner * (last - first))


def quantile_places(found: Distribution, share: float, fewest: float, most: float) -> tuple[float, float, float]:
    """The quantile and the ends of its interval, in bins; the share of all users is between ``fewest`` and ``most``."""
    value = float(quantile_place(*found.lines, np.array([share]))[0])
    at, low, high = found.band(found.grid(share))
    open_ = np.flatnonzero((low <= most) & (high >= fewest))
    start, end = (value, value) if not open_.size else (float(at[open_[0]]), float(at[open_[-1]]))
    start, end = _earlier(at, high, fewest, start), -_earlier(-at[::-1], -low[::-1], -most, -end)
    return value, min(start, value), max(end, value)


def _earlier(at: FloatArray, high: FloatArray, share: float, start: float) -> float:
    """Where the line before ``start`` reaches the share: up to there it stays below."""
    i = int(np.searchsorted(at, start))
    if i == 0 or not high[i - 1] < share <= high[i]:
        return start
    return float(at[i - 1] + (share - high[i - 1]) / (high[i] - high[i - 1]) * (at[i] - at[i - 1]))


# -- the answer ------------------------------------------------------------------------------------------------


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
