"""A shuffled pair: what the victim sends under two hypotheses, and the messages that hide it.

The victim's message has law ``P0`` or ``P1`` over symbols j.  Each of the other n - 1 messages is,
independently, symbol j with probability ``t_j`` or nothing with probability ``1 - sum(t)``.  Then

    D_E(P || Q) = E[(mean of n copies of X)_+],   X = (P0_j - E P1_j) / t_j  with probability t_j, else 0,

because Mult_{n-1}(h - e_j) = Mult_n(h) h_j / (n t_j).  Every bound of this library is this formula
on a different ``t``; every evaluator computes it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support.arrays import reals
from ..errors import ParameterError
from .distinct import distinct
from .few_atoms import Few
from .left_out import ENTRY, MOST_LEFT_OUT, sum_slack, sure

FloatArray = NDArray[np.float64]

#: Absolute slack in eps and relative slack in t that cover the rounding of a law.
LAW_SLACK = ENTRY
#: Below this a symbol counts as never sent by the others: the ratio P/t would overflow.
TINY = 1e-280
#: Symbols from which equal ones are found in arrays.
_MANY = 256


@dataclass(frozen=True, eq=False)
class ShuffledPair:
    """The victim's two laws, and what each other message is guaranteed to contain.

    Parameters
    ----------
    P0, P1 : sequences of probabilities summing to 1
        The victim's message under the two hypotheses.  What a sum misses of 1 beyond rounding, up to 1e-9, counts as
        a symbol that only the victim sends (left_out.py), and is the attribute ``left_out``; more is refused.
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
        p0, missing0 = _victim("P0", p0)
        p1, missing1 = _victim("P1", p1)
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

    def thinned(self, chance: float) -> ShuffledPair:
        """The same victim where every other message is sent with this probability only: t is multiplied by it."""
        return ShuffledPair(P0=self.P0, P1=self.P1, t=np.asarray(self.t) * chance)

    @cached_property
    def max_ratio(self) -> float:
        """sup P0_j / P1_j: the divergence is exactly 0 from E = max_ratio on."""
        p0, p1 = np.asarray(self.P0), np.asarray(self.P1)
        live = p0 > 0
        if (p1[live] == 0).any():
            return float("inf")
        return float((p0[live] / p1[live]).max())

    @cached_property
    def atoms(self) -> Atoms:
        """The law of X, ready for every E: equal symbols merged, symbols with t_j = 0 split off."""
        return _merge(np.asarray(self.P0), np.asarray(self.P1), np.asarray(self.t))

    @cached_property
    def shrunk(self) -> Atoms:
        """The same with all masses rounded down, which is sound for upper bounds: delta falls with t."""
        a, factor = self.atoms, 1.0 - mass_slack(np.size(self.t))
        return Atoms(a.u / factor, a.v / factor, a.gap / factor, a.t * factor, a.zero0, a.zero1)


@dataclass(frozen=True)
class Atoms:
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

    @cached_property
    def spread(self) -> float:
        """sum t gap^2: the leading order of eps is proportional to its root."""
        with np.errstate(over="ignore"):
            return float(self.t @ (self.gap * self.gap))

    @cached_property
    def few(self) -> Few | None:
        """The same in plain floats; None if there are many atoms, or none."""
        return Few.of(self)

    @cached_property
    def outside(self) -> float:
        """Probability of a draw outside the heaviest category: all but one symbol, or all symbols but not "nothing"."""
        mass = np.append(self.t, max(0.0, 1.0 - float(self.t.sum())))
        others = (np.arange(mass.size) != mass.argmax()) & (mass > 0.0)
        return min(float(mass[others].sum()), 1.0)

    def values(self, eps: FloatArray) -> FloatArray:
        """X at each eps, one row per eps."""
        return self.gap[None, :] - np.expm1(eps)[:, None] * self.v[None, :]

    def exposed(self, eps: FloatArray) -> FloatArray:
        """sum over symbols with t_j = 0 of (P0_j - E P1_j)_+, one value per eps."""
        gap = self.zero0 - self.zero1
        return np.asarray(np.maximum(gap[None, :] - np.expm1(eps)[:, None] * self.zero1[None, :], 0.0).sum(axis=1))

    def exposed_slope(self, eps: FloatArray) -> FloatArray:
        """Derivative of :meth:`exposed` in eps."""
        gap = self.zero0 - self.zero1
        alive = gap[None, :] - np.expm1(eps)[:, None] * self.zero1[None, :] > 0
        return np.asarray(-np.exp(eps) * (alive * self.zero1[None, :]).sum(axis=1))


def mass_slack(symbols: int) -> float:
    """Relative slack in t that covers the rounding of its entries and of their sums."""
    return sum_slack(symbols)


def _victim(name: str, law: FloatArray) -> tuple[FloatArray, float]:
    """What is sure of one of the victim's laws, and the mass that it leaves out."""
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


def _merge(p0: FloatArray, p1: FloatArray, t: FloatArray) -> Atoms:
    live = (p0 > 0) | (p1 > 0)  # a symbol that the victim never sends has X = 0, like no symbol at all
    hidden = live & (t > TINY)
    alone = live & ~hidden
    u, v, mass = p0[hidden] / t[hidden], p1[hidden] / t[hidden], t[hidden]
    gap = (p0[hidden] - p1[hidden]) / mass
    if u.size > _MANY or len(set(zip(u.tolist(), v.tolist(), strict=True))) < u.size:
        first, label = distinct(np.column_stack([u, v]))
        if first.size == u.size:
            first = label = np.arange(u.size)
        mass = np.bincount(label, weights=mass, minlength=first.size).astype(np.float64)
        u, v, gap = u[first], v[first], gap[first]
    return Atoms(u=u, v=v, gap=gap, t=mass, zero0=p0[alone], zero1=p1[alone])
