"""The eps of a batch as a function of the number of users it actually reached.

Collections that wait for reports often do not know n in advance.  A table made before the collection says which eps
goes with which size, and from which size on a target is met; a batch that stays below it is not released.  When a
batch is closed must not depend on the values in it (the time, or the number of reports, are fine).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

from .._support import validation as check
from .._support.delta_rules import read
from .._support.json_ready import json_object
from .._support.numbers import round_down, round_up
from .._support.tables import Table, Tabular, count_column, epsilon_column, number_column
from .._support.text import visible
from ..errors import ParameterError
from ..mechanisms.base import Mechanism
from ..numerics.search import smallest_whole
from .crowd import Crowd, amount
from .guarantee import count_of
from .many import answers, questions
from .resolve import MechanismLike, resolve, subject_of

if TYPE_CHECKING:
    from .._support.canvas import Figure, Placing

_MOST_ROWS = 10_000


@dataclass(frozen=True)
class BatchTable(Tabular):
    """eps for every size of a batch, at one delta or at a delta that follows the size by a rule.

    Attributes
    ----------
    sizes, epsilons : increasing numbers of users, and an eps for each, never too small (inf if none reaches delta).
    delta : of all sizes; by a rule, of the smallest size, which is the largest delta.
    deltas, rule : the delta of every size, and the rule as written ("0.01/n"), if one was given.
    mechanism, description, bound, local_epsilon, neighbors : as in a Guarantee.
    dropouts, colluding : users who cannot be counted on, as given: numbers of users or fractions of the batch.
    randomizer, tol : the mechanism itself and the accuracy, for sizes between the rows.

    Examples
    --------
    >>> table = batch_table("grr:eps0=2,d=16", delta=1e-6, n=[100, 1000, 10_000])
    >>> [round(eps, 2) for eps in table.epsilons], table.minimum(0.5)
    ([0.74, 0.23, 0.07], 1000)
    """

    sizes: tuple[int, ...]
    epsilons: tuple[float, ...]
    delta: float
    mechanism: str
    description: str
    bound: str
    local_epsilon: float
    dropouts: float
    colluding: float
    neighbors: str
    deltas: tuple[float, ...]
    rule: str | None = None
    randomizer: Mechanism | None = field(default=None, repr=False, compare=False)
    tol: float = field(default=1e-4, repr=False, compare=False)

    def minimum(self, epsilon: float) -> int | None:
        """The smallest size from which on every batch of the table meets the target; None if there is none."""
        target = check.in_range("epsilon", epsilon, low=0.0, hint="it is the central target")
        found = None
        for size, eps in zip(reversed(self.sizes), reversed(self.epsilons), strict=True):
            if not eps <= target:
                break
            found = size
        return found

    def release_from(self, epsilon: float) -> int | None:
        """The smallest batch that meets the target, between the rows of the table too; None if none of them does.

        It is what :func:`shuffledp.users_needed` answers, if that is not below the first row.
        """
        row = self.minimum(epsilon)
        if row is None or self.randomizer is None:
            return row
        at, rule = self.sizes.index(row), read(self.rule or self.delta)
        subject = subject_of(self.randomizer)

        def excess(n: int) -> float:
            asked = resolve(subject, self.bound, Crowd.of(n, dropouts=self.dropouts, colluding=self.colluding))
            return asked.epsilon(delta=rule.at(n), tol=self.tol).epsilon - epsilon

        return smallest_whole(excess, low=self.sizes[max(at - 1, 0)], high=row, start=row)

    def epsilon(self, n: int) -> float:
        """The eps of a batch of n users: that of the largest size of the table up to n.

        A larger batch hides no less.  With fractions of dropouts or colluders, which are rounded up to users, and where
        delta follows n, n must be a size of the table.
        """
        n = check.users(n)
        at = bisect_right(self.sizes, n) - 1
        if at < 0:
            raise ParameterError(
                f"n must be at least the smallest batch of the table, {self.sizes[0]:,}, got {n:,}; "
                "do not release it, or make a table that starts lower."
            )
        shares = 0.0 < self.dropouts < 1.0 or 0.0 < self.colluding < 1.0
        if self.sizes[at] != n and (shares or self.rule is not None):
            why = "dropouts or colluding are fractions" if shares else "delta is a rule"
            raise ParameterError(f"n must be a size of the table where {why}, got {n:,}; add it to the table.")
        return self.epsilons[at]

    def table(self) -> Table:
        """One row per size; eps is rounded up where it is shown."""
        columns = [count_column("n", "n", self.sizes), epsilon_column("epsilon", "eps", self.epsilons)]
        if self.rule is not None:
            deltas = [round_up(delta, 6) for delta in self.deltas]
            columns.append(number_column("delta", "delta", self.deltas, deltas))
        terms = f"delta = {self._delta_text}, {self.neighbors} (bound: {self.bound}){self._away}"
        return Table(tuple(columns), caption=visible(f"{self.description}, {terms}"))

    def __repr__(self) -> str:
        """One line: the sizes, and the eps of the smallest and the largest batch."""
        ends = [round_up(eps) if math.isfinite(eps) else "none" for eps in (self.epsilons[0], self.epsilons[-1])]
        return visible(
            f"<BatchTable of {self.sizes[0]:,} to {self.sizes[-1]:,} users: eps <= {ends[0]} to {ends[1]} "
            f"at delta = {self._delta_text}, {self.mechanism} ({self.bound})>"
        )

    def __str__(self) -> str:
        """A small table in plain text, with its terms above it; eps is rounded up."""
        table = self.table()
        return f"{table.caption}\n{table.text()}"

    def plot(self, *, epsilon: float | None = None, **where: Unpack[Placing]) -> Figure:
        """A figure: eps against the size, with the target ``epsilon`` if it is given (needs the extra ``plot``).

        width : inches; ax : matplotlib axes to draw in, in place of a new figure; labels : other words for those of
        the figure
        """
        from .drawing import draw_batches

        return draw_batches(self, epsilon=epsilon, **where)

    @property
    def _delta_text(self) -> str:
        return self.rule or round_up(self.delta, 6)

    @property
    def _away(self) -> str:
        """The users who cannot be counted on, in words."""
        counts = [
            # rounded down: never more than were allowed for
            f"up to {count_of(x) if isinstance(x, int) else f'{round_down(100 * x, 6)} %'} of a batch may {what}"
            for x, what in ((self.dropouts, "drop out"), (self.colluding, "collude"))
            if x
        ]
        return f"; {' and '.join(counts)}" if counts else ""

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary; infinity is written as the string "inf"."""
        return json_object({k: v for k, v in vars(self).items() if k not in ("randomizer", "tol")})


def batch_table(
    mechanism: MechanismLike,
    *,
    delta: float | str,
    n: Iterable[int] | None = None,
    minimum: int | None = None,
    maximum: int | None = None,
    bound: str = "auto",
    tol: float = 1e-4,
    dropouts: float | str = 0,
    colluding: float | str = 0,
) -> BatchTable:
    """eps as a function of the size of the batch, to decide from which size on a batch may be released.

    Parameters
    ----------
    mechanism, delta, bound, tol : as in :func:`shuffledp.amplify`; the bound must be a proved upper one; a rule such as
        "0.01/n" is applied to every size
    n : the sizes, or
    minimum, maximum : sizes 1, 2, 5, 10, 20, ... between these two, both included
    dropouts, colluding : users of the batch who cannot be counted on: a number, or a fraction below 1 of every batch

    Returns
    -------
    BatchTable
        For every size, max(D_E(P||Q), D_E(Q||P)) <= delta at E = e^eps over all neighboring inputs.

    Examples
    --------
    >>> table = batch_table("general:eps0=1", delta=1e-6, minimum=100, maximum=1000)
    >>> [(n, round(eps, 3)) for n, eps in zip(table.sizes, table.epsilons)]
    [(100, 0.495), (200, 0.321), (500, 0.189), (1000, 0.131)]
    """
    subject = subject_of(mechanism)
    rule, tol = read(delta), check.tolerance(tol)
    sizes = _sizes(n, minimum, maximum)
    deltas = tuple(rule.at(size) for size in sizes)
    made = questions(subject, bound, sizes, (dropouts, colluding))
    rows = [made[size].must_hold("make a table") for size in sizes]
    terms = ("mechanism", "description", "local_epsilon", "neighbors")
    return BatchTable(
        sizes=sizes,
        epsilons=tuple(answer.epsilon for answer in answers(rows, delta=deltas, tol=tol)),
        delta=deltas[0],
        **{key: subject.facts[key] for key in terms},
        bound=rows[0].bound.name,
        dropouts=_number("dropouts", dropouts),
        colluding=_number("colluding", colluding),
        deltas=deltas,
        rule=rule.text,
        randomizer=subject.mechanism,
        tol=tol,
    )


def _sizes(n: object, minimum: object, maximum: object) -> tuple[int, ...]:
    """In increasing order, each once."""
    if (n is None) == (minimum is None and maximum is None) or (minimum is None) != (maximum is None):
        raise ParameterError(
            "batch_table needs either n (a list of sizes) or both minimum and maximum, got another combination; "
            "write n=[100, 1000] or minimum=100, maximum=10_000."
        )
    if n is not None:
        if not check.is_list(n):
            got = check.shown(n)
            raise ParameterError(f"n must be a list of batch sizes, got {got}; write for example n=[100, 1000].")
        sizes = {check.users(size, "every size in n") for size in n}
        if not 1 <= len(sizes) <= _MOST_ROWS:
            raise ParameterError(f"n must hold 1 to {_MOST_ROWS:,} batch sizes, got {len(sizes):,}; choose some.")
        return tuple(sorted(sizes))
    low, high = check.users(minimum, "minimum"), check.users(maximum, "maximum")
    if low > high:
        raise ParameterError(f"minimum must not exceed maximum, got {low:,} and {high:,}; swap them.")
    steps = (digit * 10**power for power in range(16) for digit in (1, 2, 5))
    return tuple(sorted({low, high, *(x for x in steps if low < x < high)}))


def _number(name: str, value: object) -> float:
    """A number of users as an int, or a share of them as a float."""
    number, counted = amount(name, value)
    return int(number) if counted else float(number)
