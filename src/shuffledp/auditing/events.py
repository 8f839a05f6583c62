"""Events that distinguish two inputs: found on some of the reports, chosen on others, counted on the rest.

Any event may be used, since the ratio of its probabilities under two inputs never exceeds e^eps0; an event that
distinguishes the inputs better only shows more of eps0.  Candidates are made from the
reports ORDER, the best of them is chosen by its counts on CHOOSE, and only PROVE says how often it happens: the
three are disjoint, so the choice does not bias the proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .confidence import quick_log_ratio
from .reading import Bits, Observed

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

ORDER, CHOOSE, PROVE = slice(0, None, 4), slice(2, None, 4), slice(1, None, 2)

#: Cuts of a line: every 1/128 of the reports, closer in the tails.
_TAIL = 2.0 ** -np.arange(13, 7, -1)
_CUTS = np.concatenate([_TAIL, np.arange(1, 128) / 128.0, 1.0 - _TAIL[::-1]])
#: A report must have been seen this often among ORDER to be an event of its own.
_SEEN = 4
#: Unions of reports tried, entries of a row tried in pairs, and bytes unpacked at once.
_UNIONS, _ENTRIES, _BLOCK = 400, 8, 1 << 21


class Event(NamedTuple):
    """A set of reports in words, and how many reports of an input and part lie in it."""

    words: str
    hits: Callable[[int, slice], int]


class _Candidates(NamedTuple):
    """Counts of many events among the reports CHOOSE of two inputs; ``make`` builds the k-th."""

    hits: tuple[IntArray, IntArray]
    make: Callable[[int], Event]


class Search:
    """Finds the event that best distinguishes a pair of inputs."""

    def __init__(self, observed: Observed) -> None:
        self._seen = observed
        self._size = len(observed.keys[0][CHOOSE])
        self._vocabulary()
        self._moments: list[tuple[FloatArray, FloatArray]] = []
        if observed.bits:
            means = [self._means(observed.bits, x) for x in range(len(observed.keys))]
            self._moments = [(m, m * (1.0 - m)) for m in means]
        if observed.rows:
            self._moments = [(part[ORDER].mean(axis=0), part[ORDER].var(axis=0)) for part in observed.rows]

    def best(self, first: int, second: int, alpha: float) -> tuple[Event, Event]:
        """The event most indicative of the first input, and the one most indicative of the second."""
        groups = list(self._groups(first, second))
        sizes = (self._size, self._size)
        found = []
        for one, two in ((0, 1), (1, 0)):
            scores = [quick_log_ratio(g.hits[one], g.hits[two], sizes, alpha) for g in groups]
            g = int(np.argmax([s.max() for s in scores]))
            found.append(groups[g].make(int(np.argmax(scores[g]))))
        return found[0], found[1]

    def _groups(self, i: int, j: int) -> Iterator[_Candidates]:
        """The simplest events first: of equal scores the first one wins."""
        seen = self._seen
        if seen.bits is not None:
            yield from self._few_bits(seen.bits, i, j)
        # likelihood-ratio events: the k reports most typical of one input (Neyman, Pearson)
        order, choose = self._counts[ORDER.start], self._counts[CHOOSE.start]
        yield from _by_ratio((order[i], order[j]), (choose[i], choose[j]), self._union)
        if seen.numbers is not None:
            numbers = seen.numbers
            yield from _of_numbers(lambda x, part: numbers[x][part], i, j, "the report")
        if self._moments:
            yield from self._directions(i, j)

    # -- whole reports -----------------------------------------------------------------------------------------

    def _vocabulary(self) -> None:
        """Reports seen often enough; the others count as one."""
        keys = self._seen.keys
        known, first, often = np.unique(np.concatenate([k[ORDER] for k in keys]), return_index=True, return_counts=True)
        frequent = often >= _SEEN
        self._known, self._first = known[frequent], first[frequent]
        self._codes = [self._code(k) for k in keys]
        size = len(self._known) + 1
        self._counts = {
            part.start: [np.bincount(c[part], minlength=size) for c in self._codes] for part in (ORDER, CHOOSE)
        }

    def _code(self, keys: NDArray[Any]) -> IntArray:
        place = np.searchsorted(self._known, keys)
        hit = place < len(self._known)
        hit[hit] = self._known[place[hit]] == keys[hit]
        return np.where(hit, place, len(self._known))

    def _union(self, members: IntArray) -> Event:
        chosen = np.zeros(len(self._known) + 1, dtype=np.bool_)
        chosen[members] = True
        return Event(self._union_words(chosen), lambda x, part: int(chosen[self._codes[x][part]].sum()))

    def _union_words(self, chosen: NDArray[np.bool_]) -> str:
        rare = bool(chosen[-1])
        others = np.flatnonzero(~chosen[:-1])
        members = np.flatnonzero(chosen[:-1])
        if rare and not members.size:
            return "the report is a rare one"
        if rare and others.size <= members.size:
            return f"the report is not {self._names(others)}"
        return f"the report is {self._names(members)}{' or a rare one' if rare else ''}"

    def _names(self, codes: IntArray) -> str:
        per_input = len(self._seen.keys[0][ORDER])
        shown = [
            self._seen.show(int(at) // per_input, int(at) % per_input * ORDER.step) for at in self._first[codes[:4]]
        ]
        if len(codes) == 1:
            return shown[0]
        return f"one of {len(codes):,} ({', '.join(shown)}{', ...' if len(codes) > 4 else ''})"

    # -- entries of a row --------------------------------------------------------------------------------------

    @staticmethod
    def _means(bits: Bits, x: int) -> FloatArray:
        """How often each bit is set among ORDER, unpacking some rows at a time."""
        packed, total = bits.packed[x][ORDER], np.zeros(bits.width, dtype=np.int64)
        step = max(1, _BLOCK // bits.width)
        for k in range(0, len(packed), step):
            total += np.unpackbits(packed[k : k + step], axis=1, count=bits.width).sum(axis=0, dtype=np.int64)
        return total / len(packed)

    def _distance(self, i: int, j: int) -> FloatArray:
        """By how many standard errors the means of each entry differ."""
        (m0, v0), (m1, v1) = self._moments[i], self._moments[j]
        return np.asarray(np.abs(m0 - m1) / np.sqrt((v0 + v1) / self._size + 1.0 / self._size**2))

    def _few_bits(self, bits: Bits, i: int, j: int) -> Iterator[_Candidates]:
        """One bit, or two bits together."""
        m0, m1 = self._moments[i][0], self._moments[j][0]
        room = 1.0 / self._size
        ratio = np.abs(np.log((m0 + room) / (m1 + room))) + np.abs(np.log((1 - m0 + room) / (1 - m1 + room)))
        top = np.unique([*np.argsort(-self._distance(i, j))[:_ENTRIES], *np.argsort(-ratio)[: _ENTRIES // 2]])

        choice: list[list[tuple[int, int]]] = [[(int(b), v)] for b in top for v in (0, 1)]
        for a, b in combinations(top.tolist(), 2):
            choice += [[(a, v), (b, w)] for v in (0, 1) for w in (0, 1)]

        def count(x: int, part: slice, event: list[tuple[int, int]]) -> int:
            found = _entries(bits, x, part, np.array([b for b, _ in event]))
            return int(np.all(found == np.array([v for _, v in event], dtype=np.bool_), axis=1).sum())

        def hits(x: int) -> IntArray:
            table = _entries(bits, x, CHOOSE, top)
            both = np.stack([~table, table], axis=2).reshape(len(table), -1).astype(np.float32)
            place = {(int(b), v): 2 * k + v for k, b in enumerate(top) for v in (0, 1)}
            joint = (both.T @ both).astype(np.int64)
            return np.array([joint[place[event[0]], place[event[-1]]] for event in choice])

        def make(k: int) -> Event:
            event = choice[k]
            words = " and ".join(bits.names(b, v) for b, v in event)
            return Event(words, lambda x, part: count(x, part, event))

        yield _Candidates((hits(i), hits(j)), make)

    def _directions(self, i: int, j: int) -> Iterator[_Candidates]:
        """The entries that differ most one by one (rows of numbers), and all of them added up with weights.

        Bits are weighted by their log odds ratio, which for independent bits is the log likelihood ratio; numbers by
        the difference of means over the variance.  Entries within the noise get no weight.
        """
        (m0, v0), (m1, v1) = self._moments[i], self._moments[j]
        distance = self._distance(i, j)
        rows, bits, room = self._seen.rows, self._seen.bits, 0.5 / self._size
        if rows is not None:
            for column in np.argsort(-distance)[:_ENTRIES].tolist():
                entry = partial(_column, rows, column)
                yield from _of_numbers(entry, i, j, f"entry {column} of the report")
            weights = (m0 - m1) / (v0 + v1 + 1e-300)
        else:
            weights = np.log((m0 + room) / (1 - m0 + room)) - np.log((m1 + room) / (1 - m1 + room))
        telling = distance > 3.0
        if telling.sum() < 2:
            return
        weights = np.where(telling, weights, 0.0)
        weights, used = weights / np.abs(weights).max(), np.flatnonzero(telling)

        def score(x: int, part: slice) -> FloatArray:
            if bits is not None:
                return np.asarray(_entries(bits, x, part, used) @ weights[used])
            return np.asarray(rows[x][part] @ weights) if rows is not None else np.empty(0)

        shown = np.argsort(-np.abs(weights))[:3]
        words = ", ".join(f"{weights[k]:+.3g} for entry {k}" for k in shown)
        more = ", ..." if telling.sum() > len(shown) else ""
        yield from _on_a_line(score, i, j, f"the weighted sum of the report's entries ({words}{more})")


def _column(rows: list[FloatArray], column: int, x: int, part: slice) -> FloatArray:
    return rows[x][part, column]


def _entries(bits: Bits, x: int, part: slice, which: IntArray) -> NDArray[np.bool_]:
    """Some bits of every report, one column each."""
    return np.asarray(bits.packed[x][part][:, which >> 3] & (128 >> (which & 7)) != 0)


def _of_numbers(values: Callable[[int, slice], FloatArray], i: int, j: int, name: str) -> Iterator[_Candidates]:
    """Where a number lies, and how fine it is: the last digits of a sum of floats reveal its larger term.

    (I. Mironov, "On significance of the least significant bits for differential privacy", CCS 2012.)
    """
    yield from _on_a_line(values, i, j, name)
    finest = f"the finest binary digit of {name} as a power of 2"
    yield from _on_a_line(lambda x, part: _finest_digit(values(x, part)), i, j, finest)


def _finest_digit(values: FloatArray) -> FloatArray:
    """log2 of the lowest set bit of a float: -1 for 2.5, 3 for 24; 2000 for zero, which has none."""
    fraction, exponent = np.frexp(values)
    whole = np.abs(fraction * 2.0**53).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    return np.where(whole == 0, 2000.0, exponent - 53.0 + lowest)


def _by_ratio(
    order: tuple[IntArray, IntArray], choose: tuple[IntArray, IntArray], make: Callable[[IntArray], Event]
) -> Iterator[_Candidates]:
    """The cells most typical of the first input, from one to all, and likewise for the second."""
    ranked = np.argsort(-np.log((order[0] + 0.5) / (order[1] + 0.5)), kind="stable")
    for line in (ranked, ranked[::-1]):
        ends = np.arange(1, len(line) + 1)
        if len(ends) > _UNIONS:
            ends = np.unique(np.geomspace(1, len(line), _UNIONS).astype(np.int64))
        hits = (np.cumsum(choose[0][line])[ends - 1], np.cumsum(choose[1][line])[ends - 1])
        yield _Candidates(hits, lambda k, line=line, ends=ends: make(line[: ends[k]]))  # type: ignore[misc]


def _on_a_line(values: Callable[[int, slice], FloatArray], i: int, j: int, name: str) -> Iterator[_Candidates]:
    """At most a cut, more than a cut, and unions of the intervals between cuts by their likelihood ratio."""
    first, second = values(i, ORDER), values(j, ORDER)
    cuts = np.unique(np.quantile(np.concatenate([first, second]), _CUTS, method="inverted_cdf"))

    def cells(x: FloatArray) -> IntArray:
        return np.asarray(np.searchsorted(cuts, x, side="left"))

    def counts(x: FloatArray) -> IntArray:
        return np.bincount(cells(x), minlength=len(cuts) + 1)

    order, choose = (counts(first), counts(second)), (counts(values(i, CHOOSE)), counts(values(j, CHOOSE)))
    up = (np.cumsum(choose[0])[:-1], np.cumsum(choose[1])[:-1])

    def at_most(k: int) -> Event:
        return Event(f"{name} is at most {cuts[k]:.9g}", lambda x, part: int((values(x, part) <= cuts[k]).sum()))

    def above(k: int) -> Event:
        return Event(f"{name} is above {cuts[k]:.9g}", lambda x, part: int((values(x, part) > cuts[k]).sum()))

    def union(members: IntArray) -> Event:
        chosen = np.zeros(len(cuts) + 1, dtype=np.bool_)
        chosen[members] = True
        return Event(f"{name} is {_intervals(cuts, chosen)}", lambda x, part: int(chosen[cells(values(x, part))].sum()))

    yield _Candidates(up, at_most)
    yield _Candidates((choose[0].sum() - up[0], choose[1].sum() - up[1]), above)
    yield from _by_ratio(order, choose, union)


def _intervals(cuts: FloatArray, chosen: NDArray[np.bool_]) -> str:
    """Cell k is (cuts[k-1], cuts[k]]; neighbors are joined."""
    edges = np.diff(chosen.astype(np.int8), prepend=0, append=0)
    ends = np.concatenate([[-np.inf], cuts, [np.inf]])
    found = [
        f"({ends[a]:.6g}, {ends[b]:.6g}]" for a, b in zip(*map(np.flatnonzero, (edges > 0, edges < 0)), strict=True)
    ]
    return "in " + " or ".join(found[:3]) + (f" or {len(found) - 3} more intervals" if len(found) > 3 else "")
