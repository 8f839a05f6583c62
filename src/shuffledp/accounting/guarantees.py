"""Many guarantees of one mechanism: arrays over n and delta, on the same terms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.json_ready import json_object
from .._support.numbers import round_down, round_up
from .._support.tables import Column, Table, Tabular, count_column, number_column
from .._support.text import visible
from ..errors import ParameterError
from ..numerics.family import Answer
from .guarantee import Guarantee, absent
from .many import lowers
from .resolve import Resolved

#: Places of entries, in C order.
Places = NDArray[np.int64]
#: Fields with one entry per answer; the others are the same for all.
_ARRAYS = ("epsilon", "delta", "n", "bound", "evaluated", "members", "dropouts", "colluding", "note")
#: What an answer was computed from, and is not part of it.
_BEHIND = ("find_lower", "question")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Guarantees(Tabular):
    """A shuffled batch of n users is (epsilon, delta)-DP, for every entry of arrays of one shape.

    ``g[i]`` is the :class:`Guarantee` of one entry (``g[i, j]`` in two dimensions), a slice is a Guarantees again.

    Attributes
    ----------
    epsilon : array
        Never too small: every error of the computation is included.  ``inf`` where no finite value reaches delta.
    lower : array
        No analysis on the same terms can claim less; NaN where nothing is known.  All of it is computed when it is
        first read, printed or pickled.
    delta, n : arrays of what was asked, of the same shape.
    bound, note, evaluated, members, dropouts, colluding : arrays of what a Guarantee says.
    mechanism, description, local_epsilon, sound, kind, lower_scope, neighbors, trust, \
reports_per_user : as in a Guarantee; the same for all entries.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> g = sdp.amplify("general:eps0=1", n=[10_000, 1_000_000], delta="0.01/n")
    >>> g.epsilon.round(4).tolist(), g.shape, g[1].n
    ([0.038, 0.0044], (2,), 1000000)
    """

    epsilon: NDArray[np.float64]
    delta: NDArray[np.float64]
    n: NDArray[np.int64]
    bound: NDArray[np.str_]
    evaluated: NDArray[np.int64]
    members: NDArray[np.int64]
    dropouts: NDArray[np.int64]
    colluding: NDArray[np.int64]
    note: NDArray[np.str_]
    mechanism: str
    description: str
    local_epsilon: float
    sound: bool
    kind: str
    lower_scope: str
    neighbors: str
    trust: str
    reports_per_user: int
    find_lower: Callable[[Places], NDArray[np.float64]]
    question: tuple[Resolved, ...] = field(default=(), repr=False)

    @cached_property
    def lower(self) -> NDArray[np.float64]:
        """The lower bounds beside epsilon; NaN where nothing is known."""
        return _frozen(self.find_lower(np.arange(self.size)), self.shape)

    @classmethod
    def of(
        cls, asked: Sequence[Resolved], answers: Sequence[Answer], delta: NDArray[np.float64], tol: float
    ) -> Guarantees:
        """From resolved questions and their answers, one per entry of ``delta`` in C order."""
        first = asked[0]
        terms = {key: value for key, value in first.terms().items() if key not in _ARRAYS}
        entries = {
            "epsilon": [a.epsilon for a in answers],
            "delta": delta,
            "n": [q.crowd.n for q in asked],
            "bound": [a.bound for a in answers],
            "evaluated": [a.evaluated for a in answers],
            "members": [a.members for a in answers],
            "dropouts": [q.crowd.dropouts for q in asked],
            "colluding": [q.crowd.colluding for q in asked],
            "note": [a.note for a in answers],
        }
        made: dict[str, Any] = {name: _frozen(values, delta.shape) for name, values in entries.items()}
        known = tuple(asked) if first.bound.side == "upper" and first.bound.sound else ()
        find_lower = partial(_lower_bounds, known, made["epsilon"], delta, tol)
        return cls(**made, **terms, find_lower=find_lower, question=tuple(asked))

    def __getstate__(self) -> dict[str, Any]:
        """All numbers, the lower bounds included: a copy cannot compute them again."""
        return {**vars(self), "lower": self.lower, "find_lower": partial(np.take, self.lower), "question": ()}

    @property
    def shape(self) -> tuple[int, ...]:
        """That of n and delta, broadcast."""
        return self.epsilon.shape

    @property
    def size(self) -> int:
        """The number of guarantees."""
        return self.epsilon.size

    def __len__(self) -> int:
        """The length of the first dimension."""
        return len(self.epsilon)

    def __iter__(self) -> Iterator[Guarantee | Guarantees]:
        """Along the first dimension."""
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        """The Guarantee of one entry, or the Guarantees of several, as NumPy indexes arrays."""
        try:
            picked = np.arange(self.size).reshape(self.shape)[key]
        except (IndexError, TypeError, ValueError):
            raise self._no_entry(key) from None
        single = not np.ndim(picked)
        parts = {f.name: getattr(self, f.name) for f in fields(self)}
        for name in _ARRAYS:
            part = parts[name].reshape(-1)[picked]
            parts[name] = part.item() if single else _frozen(part, picked.shape)
        asked = [self.question[i] for i in np.ravel(picked).tolist()] if self.question else [None]
        parts["question"] = asked[0] if single else tuple(filter(None, asked))
        parts["find_lower"] = partial(self._lower_of if single else self._lower_among, np.ravel(picked))
        return Guarantee(**parts) if single else Guarantees(**parts)

    def _lower_among(self, picked: Places, places: Places) -> NDArray[np.float64]:
        """The lower bounds at some places of the picked entries: only they are computed, unless all are known."""
        find = partial(np.take, self.lower) if "lower" in vars(self) else self.find_lower
        return find(picked[places])

    def _lower_of(self, picked: Places) -> float | None:
        """The lower bound of one entry."""
        found = float(self._lower_among(picked, np.arange(1))[0])
        return None if math.isnan(found) else found

    def _no_entry(self, key: object) -> Exception:
        if isinstance(key, int | np.integer):  # the protocol of sequences
            return IndexError(f"index must be below {len(self):,} here, got {key}; see shape.")
        return ParameterError(f"an index must fit the shape {self.shape}, got {key!r:.60}; index as in NumPy.")

    def __eq__(self, other: object) -> bool:
        """Whether all numbers and terms agree."""
        if not isinstance(other, Guarantees):
            return NotImplemented
        names = (f.name for f in fields(self) if f.name not in _BEHIND)
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    def __hash__(self) -> int:
        return hash((self.mechanism, self.shape, self.epsilon.tobytes()))

    def table(self) -> Table:
        """One row per entry, in C order; every number is rounded to its safe side where it is shown."""
        upper, flat = self.kind != "lower", self.epsilon.reshape(-1).tolist()
        side = round_up if upper else round_down
        lower = self._known_lower.reshape(-1).tolist()
        deltas = self.delta.reshape(-1).tolist()
        head = "eps" if upper and self.sound else "eps (lower)" if not upper else "eps (not a bound)"
        columns = [
            count_column("n", "n", self.n.reshape(-1).tolist()),
            number_column("delta", "delta", deltas, [side(x, 6) for x in deltas]),
            number_column("epsilon", head, flat, [side(x) if math.isfinite(x) else "none" for x in flat]),
            number_column("lower", "lower", lower, ["" if x is None else round_down(x) for x in lower]),
            Column(name="bound", head="bound", values=self.bound.reshape(-1).tolist()),
        ]
        known = any(x is not None for x in lower)
        return Table(tuple(c for c in columns if known or c.name != "lower"), caption=self.title)

    @property
    def _known_lower(self) -> NDArray[Any]:
        """The lower bounds with None where nothing is known."""
        known = self.lower.astype(object)
        known[np.isnan(self.lower)] = None
        return known

    @property
    def title(self) -> str:
        """The terms in one line."""
        away = ""
        if self.dropouts.any() or self.colluding.any():
            worst = int(self.n.argmax())
            n, gone, against = (int(x.reshape(-1)[worst]) for x in (self.n, self.dropouts, self.colluding))
            away = f"; of the largest n{absent(n, gone, against)}"
        sent = "" if self.reports_per_user == 1 else f", {self.reports_per_user:,} reports per user"
        return visible(f"{self.description}{sent}, {self.neighbors}{away}")

    def __repr__(self) -> str:
        """One line: the range of eps, of which mechanism, by which bounds."""
        least, most = float(self.epsilon.min()), float(self.epsilon.max())
        side = round_down if self.kind == "lower" else round_up
        ends = [side(x) if math.isfinite(x) else "none" for x in (least, most)]
        sign = ">=" if self.kind == "lower" else "<=" if self.sound else "="
        said = "" if self.sound else ", not a bound"
        names = ", ".join(dict.fromkeys(self.bound.reshape(-1).tolist()))
        sizes = [f"{int(x):,}" for x in (self.n.min(), self.n.max())]
        users = sizes[0] if sizes[0] == sizes[1] else f"{sizes[0]} to {sizes[1]}"
        return visible(
            f"<Guarantees {self.shape}: eps {sign} {ends[0]} to {ends[1]}{said}, {users} users of {self.mechanism} "
            f"({names})>"
        )

    def __str__(self) -> str:
        """A small table in plain text, with its terms above it."""
        return f"{self.title}\n\n{self.table().text()}"

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary; infinity is written as the string "inf", an unknown lower bound as null."""
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in _BEHIND}
        return json_object({"shape": self.shape, "epsilon": self.epsilon, "lower": self._known_lower, **plain})


def _lower_bounds(
    asked: Sequence[Resolved], epsilon: NDArray[np.float64], delta: NDArray[np.float64], tol: float, places: Places
) -> NDArray[np.float64]:
    """The lower bounds beside some of these eps, computed together; NaN where nothing is known."""
    found: Sequence[float | None] = [None] * places.size
    if asked:
        found = lowers([asked[i] for i in places.tolist()], delta=delta.reshape(-1)[places], tol=tol)
    known = np.array([math.nan if x is None else x for x in found])
    return np.asarray(np.minimum(known, epsilon.reshape(-1)[places]))


def _frozen(values: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """A read-only array."""
    made = np.array(values).reshape(shape)
    made.setflags(write=False)
    return made
