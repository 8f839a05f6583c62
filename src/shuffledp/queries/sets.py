"""How many users hold each item, where a user holds a list of them; and which items they hold together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .._support import validation as check
from ..errors import ParameterError
from ..estimation.constraints import SumAtMost
from ..estimation.estimate import SHARE, Estimate
from ..mechanisms.randomizer import Randomizer
from ..mechanisms.reports import Tally
from ..randomness.sampling import source
from .base import Query, known_shares, must_take, runnable
from .columns import Column, ValueCounts, Weights, total
from .domains import MOST_LABELS, NOTHING, Label, Labels
from .item_lists import at_most, dense, entries, items, rows_without, subset_names, subsets


@dataclass(frozen=True, kw_only=True)
class SetFrequency(Query):
    """The share of users who hold each item, or each set of ``together`` items.

    Parameters
    ----------
    column : str
        Where the lists are: lists, or texts with a ``separator``; a single value is a list of one.
    labels : sequence of texts, whole numbers or truth values
        The items.
    size : int >= 1
        Items that a report has room for.  Shorter lists are filled up with dummies; from a longer one the client draws
        ``size`` uniformly, and the answer is then about those drawn: a holder of c > size items counts size/c on
        average.  Standard errors and intervals of the users are for what was drawn; those of the population hold the
        draw as well, which adds at most f(1-f)/n to the variance of a share f of n users.
    other : label or None
        What an item that is not listed counts as: one more item, or (None) nothing.
    together : int >= 1
        2: pairs of items that a user holds, 3: triples, ...  Each is an item of its own, and ``size`` is the number of
        pairs that a report has room for: lists of m items have m(m-1)/2.  A report on single items does not say which
        of them were held together, so that itemsets need this domain.
    separator : str
        For lists that are written as text, such as "|".
    mechanism : mechanism or spec
        privset, wheel, sampling-rappor or (several messages) poisson-histogram; ``d`` and ``s`` or ``indices`` may be
        left out.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> basket = sdp.queries.SetFrequency(
    ...     column="basket", labels=["tea", "milk", "bread"], size=2, mechanism="privset:eps0=4"
    ... )
    >>> m = basket.randomizer
    >>> values = basket.encode([[["tea", "milk"], ["tea"], ["gold"], None] * 5000])
    >>> answer = basket.answer(m.tally(m.privatize(values, rng=np.random.default_rng(0))))
    >>> answer.labels, bool(abs(answer.value[0] - 0.5) < 4 * answer.stderr[0])
    (['tea', 'milk', 'bread'], True)
    >>> basket.itemsets(2, size=1).names
    ('tea + milk', 'tea + bread', 'milk + bread')
    """

    kind: ClassVar[str] = "sets"

    column: str
    labels: tuple[Label, ...]
    size: int
    other: Label | None = None
    together: int = 1
    separator: str = ""
    mechanism: Randomizer | str

    def __post_init__(self) -> None:
        domain = self.domain
        known = self._known
        together = check.whole("together", self.together, low=1, high=known, hint="a set has no more items than labels")
        if math.comb(known, together) > MOST_LABELS:
            raise ParameterError(
                f"together must leave at most {MOST_LABELS:,} sets of items, got {math.comb(known, together):,}; list "
                "fewer labels."
            )
        if not isinstance(self.separator, str) or len(self.separator) > 10:
            raise ParameterError(f"separator must be a short text, got {self.separator!r:.40}; write separator='|'.")
        size = check.whole("size", self.size, low=1, high=10**4, hint="it is how many items a report has room for")
        vars(self).update(labels=domain.labels, together=together, size=size)
        choose = "privset, wheel, sampling-rappor or poisson-histogram"
        kind = must_take(self.mechanism, ["sets", "full sets"], what="sets", choose=choose)
        dummies = size if kind == "full sets" else 0  # the others pad by themselves
        if kind == "sets" and size > len(self.names):
            raise ParameterError(
                f"size must be at most the {len(self.names):,} items of this domain, got {size:,}; lower it."
            )
        made = runnable(self.mechanism, d=len(self.names) + dummies, s=size, indices=size)
        object.__setattr__(self, "mechanism", made)

    @cached_property
    def domain(self) -> Labels:
        """The items, one more for those that are not listed."""
        return Labels(self.labels, NOTHING if self.other is None else self.other)

    @property
    def _known(self) -> int:
        """Items that count: all of the domain but the place of nothing."""
        return self.domain.size - (self.other is None)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the entries of the answer are called."""
        known = self.domain.names[: self._known]
        return known if self.together == 1 else subset_names(known, self.together)

    @property
    def question(self) -> str:
        """In words."""
        what = "items" if self.together == 1 else f"sets of {self.together} items"
        return f"the share of users who hold each of {len(self.names):,} {what} in {self.column!r}"

    def itemsets(self, together: int, *, size: int) -> Self:
        """The query for sets of ``together`` items, where a report has room for ``size`` of them."""
        kept = self.randomizer.spec.partition(":")
        eps0 = next(part for part in kept[2].split(",") if part.startswith("eps0="))
        return replace(self, together=together, size=size, mechanism=f"{kept[0]}:{eps0}")

    # -- a client -------------------------------------------------------------------------------------------------

    def _held(self, column: Column) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
        """The number of rows, and the known items of every row, each once: row and place, both rising."""
        rows, row, found = entries(column, lambda value: items(value, self.separator))
        places = self.domain.places(found)
        listed = places < self._known
        each = np.unique(row[listed] * self.domain.size + places[listed])
        return rows, each // self.domain.size, each % self.domain.size

    def encode(self, columns: Sequence[Column]) -> NDArray[Any]:
        """One row of ``size`` items per user; of longer lists that many are drawn."""
        return self.inputs(columns)

    def inputs(self, columns: Sequence[Column], *, rng: np.random.Generator | None = None) -> NDArray[Any]:
        """As :meth:`encode`, the draw made with ``rng``."""
        src = source(rng)
        rows, row, place = self._held(columns[0])
        if self.together > 1:
            row, place = subsets(src, row, place, self.together, self.size)
        else:
            kept = at_most(src, row, self.size)
            row, place = row[kept], place[kept]
        sets = dense(row, place, rows, self.size, -1)
        if self.randomizer._takes == "full sets":  # dummies of their own: any of them, in order
            sets = np.where(sets < 0, len(self.names) + np.arange(self.size), sets)
        return sets

    def _portable_input(self) -> dict[str, Any]:
        """Dummies have numbers of their own, unless the mechanism sends several messages and needs none."""
        if self.together > 1:
            raise ParameterError(f"together must be 1 for every client to run it, got {self.together}; ask for items.")
        named, fill = self.domain.portable(0), len(self.names) if self.randomizer.single_message else None
        other = -1 if self.other is None else named["other"]
        more = {"size": self.size, "separator": self.separator, "fill": fill}
        return {**named, "kind": "items", "other": other, **more}

    def value_counts(self, columns: Sequence[Column]) -> ValueCounts:
        """Unlisted items among all items, and missing lists."""
        _, _, found = entries(columns[0], lambda value: items(value, self.separator))
        return ValueCounts({self.column: self.domain.counts(found) + rows_without(columns[0])})

    # -- the answer -----------------------------------------------------------------------------------------------

    def answer(self, tally: Tally) -> Estimate:
        """Shares of the users, with the labels."""
        found = self.randomizer.estimate(tally)
        known = found.taken(np.arange(len(self.names)))  # without dummies
        rest = self.domain.rest if self.together == 1 else ""
        return replace(known, names=self.names, quantity=SHARE, constraint=SumAtMost(self.size), rest=rest)

    def exact(self, columns: Sequence[Column], *, weights: Weights = None) -> Estimate:
        """The shares of these rows; a user with c > size counts size/c for each of its items (or sets of them)."""
        rows, row, place = self._held(columns[0])
        if self.together > 1:
            row, place = subsets(source(None), row, place, self.together, MOST_LABELS)
        held = np.bincount(row, minlength=max(rows, 1))
        weight = np.minimum(1.0, self.size / np.maximum(held, 1))[row] * (1.0 if weights is None else weights[row])
        value = np.bincount(place, weights=weight, minlength=len(self.names)) / total(rows, weights)
        return known_shares(value, rows, SumAtMost(self.size), self.names)
