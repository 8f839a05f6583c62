"""Which keys do users hold, and what is the mean of the values they hold there?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, repeat
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._support import validation as check
from ..errors import ParameterError
from ..estimation.estimate import Estimate
from ..mechanisms.randomizer import Randomizer
from ..mechanisms.reports import Tally
from ..randomness.sampling import source
from .base import Query, must_take, runnable
from .columns import Column, ValueCounts, Weights, as_numbers, each, total
from .domains import NOTHING, Interval, Label, Labels
from .item_lists import at_most, dense, entries, flat, items, pairs, rows_without
from .key_value_answer import KeyValueAnswer, key_value_answer, known_answer


@dataclass(frozen=True, kw_only=True)
class KeyValue(Query):
    """The share of users who hold each key, and the mean of the values of those who do.

    Parameters
    ----------
    column : str, or two of them
        A column of pairs (a mapping, or a list of (key, value)), or one of lists of keys and one of their values.
    keys : sequence of texts, whole numbers or truth values
        The keys.  The values of a key that a user holds several times are averaged first.
    size : int >= 1
        Keys that a user may hold.  From more, the client draws ``size`` uniformly, and the answer is about those drawn;
        only intervals of the population (``of="population"``) hold the draw as well.
    low, high : float
        The range of the values, declared in advance; values outside count as the nearest end.
    missing : float
        What a value that is missing counts as.  Data with missing ones need it; a client on its own that has none takes
        the middle of the range.
    unit : str
        Of the values.
    other : label or None
        What a key that is not listed counts as: one more key, or (None) nothing.
    mechanism : mechanism or spec
        pckv-grr; ``d`` and ``l`` may be left out.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> rating = sdp.queries.KeyValue(
    ...     column="ratings", keys=["tea", "milk"], size=2, low=0, high=10, unit="points", mechanism="pckv-grr:eps0=5"
    ... )
    >>> m, values = rating.randomizer, rating.encode([[{"tea": 8.0, "milk": 3.0}, {"tea": 6.0}] * 10_000])
    >>> answer = rating.answer(m.tally(m.privatize(values, rng=np.random.default_rng(0))))
    >>> bool(abs(answer.value[0] - 1.0) < 4 * answer.stderr[0])
    True
    >>> low, high = answer.means.interval()
    >>> bool(low[0] < 7.0 < high[0]), answer.means.unit
    (True, 'points')
    """

    kind: ClassVar[str] = "key-value"

    column: str | tuple[str, str]
    keys: tuple[Label, ...]
    size: int
    low: float
    high: float
    missing: float | None = None
    unit: str = ""
    other: Label | None = None
    mechanism: Randomizer | str

    def __post_init__(self) -> None:
        if not isinstance(self.column, str):
            object.__setattr__(self, "column", tuple(self.column))
        if not all(isinstance(name, str) for name in self.columns) or len(self.columns) > 2 or not self.columns:
            raise ParameterError(
                f"column must be the name of a column of pairs, or those of keys and of values, got "
                f"{self.column!r:.60}; write column='ratings'."
            )
        domain, known = self.domain, self.range
        must_take(self.mechanism, ["key-values"], what="keys with values", choose="pckv-grr")
        size = check.whole("size", self.size, low=1, high=len(self.names), hint="it is how many keys a user may hold")
        made = runnable(self.mechanism, d=len(self.names), l=size)
        vars(self).update(
            keys=domain.labels, size=size, low=known.low, high=known.high, missing=known.missing, mechanism=made
        )

    @cached_property
    def domain(self) -> Labels:
        """The keys."""
        return Labels(self.keys, NOTHING if self.other is None else self.other)

    @cached_property
    def range(self) -> Interval:
        """Of the values."""
        return Interval(self.low, self.high, self.missing, self.unit)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the keys are called."""
        return self.domain.names[: self.domain.size - (self.other is None)]

    @property
    def question(self) -> str:
        """In words."""
        return (
            f"the share of users who hold each of {len(self.names):,} keys of {', '.join(map(repr, self.columns))}, "
            f"and the mean value in [{self.range.low:g}, {self.range.words(self.range.high)}] of those who do"
        )

    # -- a client -------------------------------------------------------------------------------------------------

    def _held(self, columns: Sequence[Column]) -> tuple[int, NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """The number of rows, and of every pair that counts its row, its key and its value as a share of the range."""
        rows, row, keys, values = _pairs(columns)
        places, shares = self.domain.places(keys), self.range.shares(as_numbers(values))
        known = places < len(self.names)
        pair, back = np.unique(row[known] * self.domain.size + places[known], return_inverse=True)
        number = np.bincount(back, minlength=pair.size)
        mean = np.bincount(back, weights=shares[known], minlength=pair.size) / np.maximum(number, 1)
        return rows, pair // self.domain.size, pair % self.domain.size, np.clip(mean, 0.0, 1.0)

    def entries(self, row: Any) -> list[Any]:
        """One value per column; where there is one column, a mapping is the pairs of a user, {key: number}.

        It is a row only if it has the column's name, and no number there.
        """
        if len(self.columns) == 1 and isinstance(row, Mapping):
            name = self.columns[0]
            if name not in row or isinstance(row[name], Real):
                return [row]
        return super().entries(row)

    def encode(self, columns: Sequence[Column]) -> NDArray[Any]:
        """(key, value in [-1, 1]) rows of every user; of more than ``size`` keys that many are drawn."""
        return self.inputs(columns)

    def inputs(self, columns: Sequence[Column], *, rng: np.random.Generator | None = None) -> NDArray[Any]:
        """As :meth:`encode`, the draw made with ``rng``."""
        rows, row, key, share = self._held(columns)
        kept = at_most(source(rng), row, self.size)
        both = np.stack([key[kept].astype(np.float64), 2.0 * share[kept] - 1.0], axis=1)
        return dense(row[kept], both, rows, self.size, -1.0)

    def _portable_input(self) -> dict[str, Any]:
        named = self.domain.portable(0)
        other = -1 if self.other is None else named["other"]
        read = self.range.portable("pairs", 0, keys=len(self.names), size=self.size)
        return {**read, "labels": named["labels"], "other": other}

    @property
    def clipping(self) -> str:
        """In words."""
        return f"values of a key {self.range.clipping()}"

    def value_counts(self, columns: Sequence[Column]) -> ValueCounts:
        """Unlisted keys; values that are missing, unreadable or clipped; rows without any pairs."""
        _, _, keys, values = _pairs(columns)
        labels, numbers = self.domain.counts(keys), self.range.counts(values)
        if len(columns) == 2:
            first, second = self.columns
            return ValueCounts({first: labels + rows_without(columns[0]), second: numbers})
        broken = len(entries(columns[0], items)[2]) - len(keys)  # entries that are no pairs
        del labels["values"]  # those of the pairs
        return ValueCounts(
            {self.columns[0]: labels + numbers + rows_without(columns[0]) + Counter(values=broken, unreadable=broken)}
        )

    # -- the answer -----------------------------------------------------------------------------------------------

    def answer(self, tally: Tally) -> KeyValueAnswer:
        """Shares of the keys, and the means of their values."""
        m = self.randomizer
        # a report names a key that is held with probability keep: what the covariance of share and sum needs
        found = key_value_answer(m.estimate(tally), getattr(m, "keep", 0.0), self.names, self.range)
        return replace(found, note=self.clipping, rest=self.domain.rest)

    def exact(self, columns: Sequence[Column], *, weights: Weights = None) -> Estimate:
        """The shares and means of these rows; a user with c > size keys counts size/c for each of them."""
        rows, row, key, share = self._held(columns)
        weight = np.minimum(1.0, self.size / np.maximum(np.bincount(row, minlength=max(rows, 1)), 1))[row]
        weight, count = weight * (1.0 if weights is None else weights[row]), total(rows, weights)
        shares = np.bincount(key, weights=weight, minlength=len(self.names)) / count
        sums = np.bincount(key, weights=weight * (2.0 * share - 1.0), minlength=len(self.names)) / count
        return known_answer(shares, sums, max(rows, 1), self.names, self.range)


def _pairs(columns: Sequence[Column]) -> tuple[int, NDArray[np.int64], list[Any], list[Any]]:
    """The number of rows, and of every pair its row, its key and its value; None where a row has fewer values."""
    if len(columns) == 1:
        lists = each(columns[0], pairs)
    else:
        beside = zip(*(each(column, items) for column in columns), strict=True)
        lists = [[*zip(keys, chain(values, repeat(None)), strict=False)] for keys, values in beside]
    rows, row, found = flat(lists)
    return rows, row, [key for key, _ in found], [value for _, value in found]
