"""A shuffled pair: what the victim sends under two hypotheses, and the messages that hide it.

The victim's message has law ``P0`` or ``P1`` over symbols j.  Each of the other n - 1 messages is, independently,
symbol j with probability ``t_j`` or nothing with probability ``1 - sum(t)``.  Then

    D_E(P || Q) = E[(mean of n copies of X)_+],   X = (P0_j - E P1_j) / t_j  with probability t_j, else 0,

because Mult_{n-1}(h - e_j) = Mult_n(h) h_j / (n t_j).  Every bound of this library is this formula on a different
``t``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support.arrays import reals
from ..errors import ParameterError
from .ledger import charge

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
#: Which way errors are charged: an upper value is at least the true one, a lower value at most.
Side = Literal["upper", "lower"]

#: Probabilities that miss 1 by more than this are refused.
MOST_LEFT_OUT = 1e-9
#: Relative rounding of one entry of a law: eight units in the last place.
ENTRY = 2.0**-49
#: Below this a symbol counts as never sent by the others: the ratio P/t would overflow.
TINY = 1e-280


@dataclass(frozen=True, eq=False)
class ShuffledPair:
    """The victim's two laws, and what each other message is guaranteed to contain.

    Parameters
    ----------
    P0, P1 : sequences of probabilities summing to 1
        The victim's message under the two hypotheses.  If a sum misses 1 by more than rounding, the difference, up to
        1e-9, counts as a symbol that only the victim sends (:func:`sure`); ``left_out`` holds it.  More is refused.
    t : sequence of probabilities summing to at most 1
        What each other message is known to contain.

    Examples
    --------
    >>> ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25]).max_ratio
    3.0
    """

    P0: ArrayLike
    P1: ArrayLike
    t: ArrayLike
    left_out: float = field(default=0.0, init=False, repr=False)

    def __post_init__(self) -> None:
        p0, p1, t = _vector("P0", self.P0), _vector("P1", self.P1), _vector("t", self.t)
        if not p0.size == p1.size == t.size > 0:
            raise ParameterError(
                "P0, P1 and t must have the same number of symbols, at least one, got "
                f"{p0.size}, {p1.size}, {t.size}; give one entry per symbol."
            )
        given = p0, p1
        p0, missing0 = _victim("P0", p0)
        p1, missing1 = _victim("P1", p1)
        if missing0 == missing1 == 0.0 and (p0 is not given[0] or p1 is not given[1]):
            p0, p1 = _apart(np.array(given), np.array([p0, p1]))
        total = math.fsum(t.tolist())
        if total > 1.0 + MOST_LEFT_OUT:
            raise ParameterError(f"t must sum to at most 1, got {total!r}; check its entries.")
        if total > 1.0:
            t, _ = sure(t)
        left_out = max(missing0, missing1)
        if left_out > 0.0:
            p0, p1, t = np.append(p0, [missing0, 0.0]), np.append(p1, [0.0, missing1]), np.append(t, [0.0, 0.0])
        for law in (p0, p1, t):
            law.setflags(write=False)
        vars(self).update(P0=p0, P1=p1, t=t, left_out=left_out)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ShuffledPair):
            return NotImplemented
        return all(np.array_equal(getattr(self, k), getattr(other, k)) for k in ("P0", "P1", "t"))

    def __hash__(self) -> int:
        return hash(tuple(np.asarray(getattr(self, k)).tobytes() for k in ("P0", "P1", "t")))

    def __reduce__(self) -> tuple[Any, ...]:
        laws = (np.array(self.P0), np.array(self.P1), np.array(self.t))
        return ShuffledPair, laws, {"left_out": self.left_out}

    def swapped(self) -> ShuffledPair:
        """The other direction, D(Q || P)."""
        other = object.__new__(ShuffledPair)  # its laws were checked already
        vars(other).update(P0=self.P1, P1=self.P0, t=self.t, left_out=self.left_out)
        return other

    @property
    def symmetric(self) -> bool:
        """Whether the other direction only lists the symbols in another order."""
        here = np.array([self.P0, self.P1, self.t])
        back = here[[1, 0, 2]]
        return np.array_equal(here[:, np.lexsort(here)], back[:, np.lexsort(back)])

    def thinned(self, chance: float) -> ShuffledPair:
        """The same victim where every other message is sent with this probability only, which multiplies t."""
        return ShuffledPair(P0=self.P0, P1=self.P1, t=np.asarray(self.t) * chance)

    @cached_property
    def max_ratio(self) -> float:
        """sup P0_j / P1_j: for E >= max_ratio the divergence is exactly 0."""
        p0, p1 = np.asarray(self.P0), np.asarray(self.P1)
        live = p0 > 0
        if (p1[live] == 0).any():
            return float("inf")
        with np.errstate(over="ignore"):  # a ratio beyond the largest double is inf
            return float((p0[live] / p1[live]).max())

    @property
    def limit(self) -> float:
        """The eps from which the divergence is 0, whatever the others do; entries are right to a relative 2^-50."""
        return log_up(self.max_ratio * (1.0 + ENTRY)) if self.max_ratio > 1.0 else 0.0

    @cached_property
    def atoms(self) -> Atoms:
        """The law of X, ready for every E: equal symbols merged, symbols with t_j = 0 split off."""
        return Atoms.of(np.asarray(self.P0), np.asarray(self.P1), np.asarray(self.t))

    @property
    def spread(self) -> float:
        """sum (P0 - P1)^2 / t: the leading order of eps is proportional to its root (inf if a symbol is exposed)."""
        return math.inf if np.any(self.atoms.zero0 > self.atoms.zero1) else self.atoms.spread


class Atoms(NamedTuple):
    """X at E takes the value u - E v with probability t, else 0; ``gap`` = u - v without cancellation.

    ``zero0``, ``zero1`` are the masses P0, P1 of the symbols that nobody else sends (t_j = 0); they
    reveal the victim and add sum (P0_j - E P1_j)_+ to the divergence.
    """

    u: FloatArray
    v: FloatArray
    gap: FloatArray
    t: FloatArray
    zero0: FloatArray
    zero1: FloatArray

    @classmethod
    def of(cls, p0: FloatArray, p1: FloatArray, t: FloatArray) -> Atoms:
        """A symbol that the victim never sends is dropped: X is 0 there, as it is for "nothing"."""
        live = (p0 > 0) | (p1 > 0)
        hidden = live & (t > TINY)
        alone = live & ~hidden
        mass = t[hidden]
        u, v, gap = p0[hidden] / mass, p1[hidden] / mass, (p0[hidden] - p1[hidden]) / mass
        first, label = distinct(np.column_stack([u, v]))
        if first.size < u.size:
            mass = np.bincount(label, weights=mass, minlength=first.size).astype(np.float64)
            u, v, gap = u[first], v[first], gap[first]
        return cls(u, v, gap, mass, p0[alone], p1[alone])

    @property
    def spread(self) -> float:
        """sum t gap^2: the leading order of eps is proportional to its root."""
        with np.errstate(over="ignore"):
            return float(self.t @ (self.gap * self.gap))

    def values(self, eps: FloatArray) -> FloatArray:
        """X at each eps, one row per eps."""
        return self.gap[None, :] - np.expm1(eps)[:, None] * self.v[None, :]


def distinct(rows: NDArray[Any]) -> tuple[IntArray, IntArray]:
    """Where each distinct row of a table first occurs, in rising order, and the number of every row among them.

    Examples
    --------
    >>> [x.tolist() for x in distinct(np.array([[2.0, 1.0], [0.0, 5.0], [2.0, 1.0]]))]
    [[0, 1], [0, 1, 0]]
    """
    seen: dict[bytes, int] = {}
    data = np.ascontiguousarray(rows + 0.0)  # -0.0 and 0.0 are equal
    label = [seen.setdefault(row.tobytes(), len(seen)) for row in data]
    numbers = np.array(label, dtype=np.int64)
    return np.unique(numbers, return_index=True)[1].astype(np.int64), numbers


def log_up(ratio: float) -> float:
    """log of a ratio of probabilities that are right to a relative 2^-52, rounded up; 0 for ratios up to 1."""
    return math.log(ratio) * (1.0 + 2.0**-50) + 2.0**-50 if ratio > 1.0 else 0.0


def both_directions(pair: ShuffledPair) -> list[ShuffledPair]:
    """The pair in both directions: a guarantee needs D(P||Q) and D(Q||P)."""
    return [pair, pair.swapped()]


def two_counts(pair: ShuffledPair) -> ShuffledPair:
    """The pair seen through two counts: {P0 > P1}, {P0 < P1} and the rest merged (paper, Theorem 5.1)."""
    laws = [np.asarray(a) for a in (pair.P0, pair.P1, pair.t)]
    side = np.sign(laws[0] - laws[1])
    return ShuffledPair(*([float(law[side == k].sum()) for k in (1, -1, 0)] for law in laws))


@charge("rounding of the entries of t and of their sums", "docs/proofs.md, Lemma 2(b)")
def mass_slack(symbols: int) -> float:
    """Relative slack in t.

    Every entry of a law of k symbols is known to a relative 2^-49, so sums of up to k of them are known to a relative
    (k + 8) 2^-49.  Upper values use t (1 - slack) in place of t, which is sound because delta falls with t.
    """
    return (symbols + 8) * ENTRY


@charge("probabilities that miss 1 by more than rounding", "docs/proofs.md, Lemma 11")
def sure(law: FloatArray) -> tuple[FloatArray, float]:
    """A lower bound on each entry of a law, and the mass left out, rounded up; 0 if it sums to 1 up to rounding.

    Let p be a law as it was given.  If its sum is below 1, entries are too small or symbols are missing; if it exceeds
    1 by e, the entries are too large by e in all, and each by e at most.  Either way the true law is

        P = sure + d mu,   sure_j = p_j or (p_j - e)_+,   d = 1 - sum sure,   mu some law.

    A message of P is one of the law (sure, d) in which the last symbol is replaced by a draw from mu: that is
    post-processing, which raises no divergence.  Under the other hypothesis mu may be another law, so the missing mass
    there is another symbol.  The others need not send either: t is only what their messages certainly contain.

    The 1 is subtracted within the exact sum: a sum that is rounded first would lose up to 2^-54.

    Examples
    --------
    >>> sure(np.array([0.5, 0.25, 0.25]))[1]
    0.0
    >>> sure(np.array([0.5, 0.5 - 2.0**-31]))[1] == 2.0**-31
    True
    """
    excess = _sum_up([*law.tolist(), -1.0])
    if abs(excess) <= mass_slack(law.size):
        return law if abs(excess) <= 0.5 * ENTRY else law / math.fsum(law.tolist()), 0.0
    least = np.maximum(law - excess, 0.0) if excess > 0.0 else law
    return least, _sum_up([1.0, *(-least).tolist()])


def with_symbols(rows: FloatArray) -> FloatArray:
    """Lower bounds on all entries, with one more column for every row that leaves some mass out (:func:`sure`)."""
    found = [sure(row) for row in rows]
    short = [x for x, (_, missing) in enumerate(found) if missing > 0.0]
    out = np.hstack([normalized_rows(rows), np.zeros((len(rows), len(short)))])
    for column, x in enumerate(short, start=rows.shape[1]):
        out[x, : rows.shape[1]], out[x, column] = found[x]
    return out


def normalized_rows(rows: FloatArray) -> FloatArray:
    """Laws divided by their exact sums, unless these are 1 up to the rounding of an entry."""
    sums = np.array([math.fsum(row) for row in rows.tolist()])[:, None]
    return _apart(rows, np.where(np.abs(sums - 1.0) <= 2.0**-52, rows, rows / sums))


def _apart(given: FloatArray, rows: FloatArray) -> FloatArray:
    """Rows that were not given alike differ in a last digit, if dividing has made them alike.

    Their true laws may differ by less than rounding: that is charged between laws that differ, and equal ones have
    delta = 0.
    """
    first, label = distinct(rows)
    other = np.flatnonzero((given != given[first[label]]).any(axis=1))
    largest = rows[other].argmax(axis=1)
    rows[other, largest] = np.nextafter(rows[other, largest], 0.0)
    return rows


def _sum_up(terms: list[float]) -> float:
    """The exact sum, rounded up."""
    total = math.fsum(terms)
    return total if math.fsum([*terms, -total]) <= 0.0 else math.nextafter(total, math.inf)


def _victim(name: str, law: FloatArray) -> tuple[FloatArray, float]:
    """Lower bounds on the entries of one of the victim's laws, and the mass that it leaves out."""
    total = math.fsum(law.tolist())
    if not abs(total - 1.0) <= MOST_LEFT_OUT:
        raise ParameterError(
            f"{name} must sum to 1, got {total!r}; include every symbol the victim may send, with all digits."
        )
    return sure(law)


def _vector(name: str, values: ArrayLike | Sequence[float]) -> FloatArray:
    try:
        array = reals(values)
    except (TypeError, ValueError):
        array = np.empty((0, 0))
    if array.ndim != 1:
        raise ParameterError(f"{name} must be a flat list of probabilities, got {values!r:.80}; one number per symbol.")
    if not (array.min(initial=0.0) >= 0.0 and array.max(initial=0.0) < np.inf):  # NaN is neither
        raise ParameterError(f"{name} must hold finite probabilities >= 0, got {values!r:.80}; check its entries.")
    return array
