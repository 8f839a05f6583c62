"""Tables of laws, the unit of all numerics: a row is X = gap_j - (E - 1) v_j with probability t_j, else 0, and n."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from . import tuning
from .ledger import charge
from .pair import ENTRY, FloatArray, IntArray, ShuffledPair, Side, mass_slack

Table = TypeVar("Table", bound=tuple[Any, ...])

#: Each rounding step is charged this much: 16 units in the last place.
ULP = 2.0**-48
#: A symbol that the others are expected to send fewer times than this may count as never sent ...
_RARE = 1e-7
#: ... if its P/t exceeds n times this: a single draw of it would outweigh everything else.
_SWAMPS = 1e3


def take_rows(table: Table, rows: slice | IntArray) -> Table:
    """Some of the rows of a named tuple of arrays, or of such tuples."""
    return type(table)(*[take_rows(part, rows) if isinstance(part, tuple) else part[rows] for part in table])


class Laws(NamedTuple):
    """Laws by row, padded with atoms of mass 0 and value 0, which change nothing; a middle axis may list types.

    ``bare`` and ``bare1`` are P0 - P1 and P1 of the symbols that only the victim sends.
    """

    gap: FloatArray  # (row, ..., atom)
    v: FloatArray
    t: FloatArray
    bare: FloatArray  # (row, ..., exposed symbol)
    bare1: FloatArray
    n: FloatArray  # (row)
    limit: FloatArray  # eps from which delta = 0, by row

    @classmethod
    def of(cls, pairs: Sequence[ShuffledPair], n: FloatArray, side: Side) -> Laws:
        """One row per shuffled pair and its n; upper laws have t rounded down."""
        first, which = numbered([id(pair) for pair in pairs])
        gap, v, t, bare, bare1, limit = [part[which] for part in _columns([pairs[i] for i in first.tolist()], side)]
        rows = cls(gap, v, t, bare, bare1, n, limit)
        return expose_rare(rows) if side == "upper" else rows

    def at(self, eps: FloatArray, side: Side) -> tuple[FloatArray, FloatArray]:
        """X of every row at its eps, and what the symbols that only the victim sends add to delta."""
        growth = np.expm1(law_shift(np.minimum(eps, tuning.LARGEST_EPSILON), side))
        growth = growth.reshape(-1, *[1] * (self.gap.ndim - 1))
        exposed = np.maximum(self.bare - growth * self.bare1, 0.0).sum(axis=-1)
        return self.gap - growth * self.v, exposed * (1.0 + 1e-13 if side == "upper" else 1.0 - 1e-13)

    @property
    def spread(self) -> FloatArray:
        """sum t gap^2: to leading order eps is proportional to its root (inf where a symbol is exposed)."""
        exposed = (self.bare > 0.0).any(axis=-1)
        return np.where(exposed, np.inf, (self.t * self.gap * self.gap).sum(axis=-1))

    @property
    def floor(self) -> FloatArray:
        """delta at eps -> inf, rounded down.

        The victim sends a symbol with P1 = 0 and nobody sends one with P1 > 0: sum_{P1_j = 0} P0_j (1 - sum_{P1_j > 0}
        t_j)^(n-1), plus the exposed symbols with P1_j = 0.
        """
        telling = (self.v == 0.0) & (self.gap > 0.0)
        hiding = np.where(telling, 0.0, self.t).sum(axis=-1) * (1.0 + 1e-13)
        others = (self.n - 1.0).reshape(-1, *[1] * (hiding.ndim - 1))
        alone = np.where(hiding < 1.0, np.exp(others * np.log1p(-np.minimum(hiding, 1.0 - 2.0**-53))), others == 0.0)
        hidden = np.where(telling, self.t * self.gap, 0.0).sum(axis=-1) * alone
        exposed = np.where(self.bare1 == 0.0, np.maximum(self.bare, 0.0), 0.0).sum(axis=-1)
        return np.asarray((hidden + exposed) * (1.0 - 1e-12))


@charge("rounding of P0, P1 and of e^eps", "docs/proofs.md, Lemma 5")
def law_shift(eps: FloatArray, side: Side) -> FloatArray:
    """eps moved to the private side.

    Entries of P0 and P1 that are right to a relative 2^-50 move the eps of a given delta by at most 2^-49, and e^eps
    is formed with a relative error below 2^-51 eps: an upper value is taken at a smaller eps, a lower one at a larger.
    """
    room = ENTRY + 2.0**-51 * eps
    return np.asarray(eps - room if side == "upper" else eps + room)


@charge("symbols that others almost never send", "docs/proofs.md, Lemma 2(b)")
def expose_rare(laws: Laws) -> Laws:
    """Set t_j = 0 for symbols that would swamp the law: sound in an upper bound, and it costs the victim's mass on j.

    Where P/t is far above n, a single draw decides the sum, and a sum over a line would be inaccurate.
    """
    n = laws.n.reshape(-1, *[1] * (laws.t.ndim - 1))
    rare = (n * laws.t < _RARE) & (np.maximum(laws.gap + laws.v, laws.v) > _SWAMPS * n) & (laws.t > 0.0)
    if not rare.any():
        return laws
    kept = np.where(rare, 0.0, 1.0)
    hidden, bare = np.where(rare, laws.t, 0.0), [laws.bare, laws.bare1]
    bare = [np.concatenate([old, hidden * x], axis=-1) for old, x in zip(bare, (laws.gap, laws.v), strict=True)]
    return laws._replace(gap=laws.gap * kept, v=laws.v * kept, t=laws.t * kept, bare=bare[0], bare1=bare[1])


def _columns(pairs: Sequence[ShuffledPair], side: Side) -> tuple[FloatArray, ...]:
    """gap, v, t, bare, bare1 of some pairs, padded, and their limits."""
    parts = []
    for pair in pairs:
        atoms = pair.atoms
        factor = 1.0 - mass_slack(np.size(pair.t)) if side == "upper" else 1.0
        hidden = (atoms.gap / factor, atoms.v / factor, atoms.t * factor)
        parts.append((*hidden, atoms.zero0 - atoms.zero1, atoms.zero1))
    return *(pad([part[k] for part in parts]) for k in range(5)), np.array([pair.limit for pair in pairs])


def numbered(keys: Sequence[Hashable]) -> tuple[IntArray, IntArray]:
    """Where each distinct key first occurs, and the number of every key among them.

    Examples
    --------
    >>> [x.tolist() for x in numbered(["b", "a", "b"])]
    [[0, 1], [0, 1, 0]]
    """
    seen: dict[Hashable, int] = {}
    which = [seen.setdefault(key, len(seen)) for key in keys]
    first = dict(zip(reversed(which), range(len(which) - 1, -1, -1), strict=True))
    return np.array([first[k] for k in range(len(seen))], dtype=np.int64), np.array(which, dtype=np.int64)


def pad(parts: Sequence[FloatArray]) -> FloatArray:
    """Stack arrays along a new first axis, padded with zeros; an empty sequence gives a table without rows."""
    if not parts:
        return np.zeros((0, 1))
    shapes = {part.shape for part in parts}
    if len(shapes) == 1 and 0 not in parts[0].shape:
        return np.array(parts)
    out = np.zeros((len(parts), *[max(1, *sizes) for sizes in zip(*shapes, strict=True)]))
    for row, part in zip(out, parts, strict=True):
        row[tuple(map(slice, part.shape))] = part
    return out


def chunks(cost: FloatArray, most: float = tuning.CELLS) -> list[slice]:
    """Consecutive rows whose cost is about ``most`` together: the one place that bounds scratch memory."""
    if cost.sum() < most:
        return [slice(0, len(cost))] if len(cost) else []
    ends = (np.flatnonzero(np.diff(np.floor(np.cumsum(cost) / most))) + 1).tolist()
    return list(map(slice, [0, *ends], [*ends, len(cost)]))
