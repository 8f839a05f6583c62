"""What recommend found: the ranking, the references, what was refused, and the plan of a choice."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._support.figures import TEXT_WIDTH
from .._support.files import write_whole
from .._support.json_ready import json_object
from .._support.numbers import round_down, round_up
from .._support.tables import Column, Table, Tabular, epsilon_column, number_column
from .._support.text import visible
from .._support.units import figures, with_unit
from ..errors import ParameterError
from ..mechanisms.accuracy import Accuracy
from .candidates import Choice, Refusal
from .code import command_line, python_code
from .leading_order import Floor
from .references import Reference
from .tasks import Predicted, Task

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .._support.canvas import Labels
    from ..mechanisms.randomizer import Randomizer
    from ..protocol.plan import Plan


@dataclass(frozen=True, kw_only=True)
class Recommendation(Tabular):
    """Mechanisms for a task, best first.

    Attributes
    ----------
    task, n, delta, rounds, dropouts, messages, bits, local_epsilon, noise : as asked; dropouts as a number of users
    epsilon : the target, or that of the best choice if an error was the target
    error : the target error, or None
    choices : ranked, best first
    references : the central and the local model at the same eps
    floor : the least error of one message per user at the same eps, to leading order; None where no theorem says one
    refused : mechanisms that do not fit the task or cannot meet the target, and why
    question : the task with its sizes

    Examples
    --------
    >>> import shuffledp as sdp
    >>> found = sdp.recommend("histogram", n=100_000, d=16, epsilon=1.0, delta=1e-8)
    >>> [choice.mechanism for choice in found.front]
    ['pure-dump', 'grr']
    >>> plan = found.plan(column="fruit")
    >>> plan.epsilon <= 1.0, plan.query.columns
    (True, ('fruit',))
    """

    task: str
    n: int
    epsilon: float
    delta: float
    error: float | None
    rounds: int
    dropouts: int
    messages: float | None
    bits: float | None
    local_epsilon: float | None = None
    noise: str = "users"
    choices: tuple[Choice, ...]
    references: tuple[Reference, ...]
    floor: Floor | None
    refused: tuple[Refusal, ...]
    question: Task = field(repr=False)

    @property
    def best(self) -> Choice:
        """The first of the ranking."""
        return self.choices[0]

    @property
    def front(self) -> tuple[Choice, ...]:
        """Choices that no other one beats in both error (or eps) and bits per user: the Pareto front."""
        return tuple(choice for choice in self.choices if choice.on_front)

    @property
    def counted(self) -> int:
        """Users who can be counted on."""
        return self.n - self.dropouts

    # -- a choice ---------------------------------------------------------------------------------------------------

    def choice(self, which: str | int | Choice | None = None) -> Choice:
        """The best choice, or the one of this place in the ranking (from 0), word, name or spec."""
        if which is None:
            return self.best
        if isinstance(which, Choice):
            return which
        if isinstance(which, int) and not isinstance(which, bool) and 0 <= which < len(self.choices):
            return self.choices[which]
        for choice in self.choices:
            if which in (choice.name, choice.spec, choice.mechanism):
                return choice
        known = ", ".join(choice.name for choice in self.choices)
        raise ParameterError(f"choice must be one of {known}, got {which!r:.60}; name another.")

    def to_save(self, which: str | int | Choice | None = None, *, allow_no_local: bool = False) -> Choice:
        """The choice that :meth:`plan` and :meth:`report` take: one that is named, or the best with a local guarantee.

        Where the shuffler fails, that guarantee remains.  ``allow_no_local`` takes the first of the ranking, whatever
        remains without the shuffler.
        """
        if which is not None or allow_no_local:
            return self.choice(which)
        if self._kept is None:
            raise ParameterError(
                "a choice that keeps a guarantee if the shuffler fails must be in the ranking, got "
                f"{', '.join(choice.name for choice in self.choices[:4])}, which have none; pass allow_no_local=True "
                "(--allow-no-local on the command line), or ask with messages=1."
            )
        return self._kept

    @property
    def _kept(self) -> Choice | None:
        """The best choice with a local guarantee."""
        return next((choice for choice in self.choices if math.isfinite(choice.local_epsilon)), None)

    def why(self, chosen: Choice) -> str:
        """Why a choice is saved, in a sentence."""
        best = self.best
        local = "nothing" if math.isinf(chosen.local_epsilon) else f"local eps = {round_up(chosen.local_epsilon)}"
        reason = "first in the ranking" if chosen is best else "as it was named"
        if chosen is self._kept and chosen is not best:
            reason = f"first in the ranking of those that keep a local guarantee; {self._price(chosen)}"
        return visible(f"{chosen.spec}, {reason}. If the shuffler fails, {local} remains.")

    def _price(self, kept: Choice) -> str:
        """What a local guarantee costs."""
        what = "error" if self.error is None else "epsilon"
        ratio = getattr(kept, what) / getattr(self.best, what)
        much = "about" if f"{ratio:.2g}" == "1" else _times(ratio)
        return f"its {what} is {much} that of {self.best.name}, which has none"

    def plan(
        self,
        which: str | int | Choice | None = None,
        *,
        allow_no_local: bool = False,
        column: str | Sequence[str] | None = None,
        labels: Sequence[Any] | None = None,
        name: str = "",
    ) -> Plan:
        """The plan of a choice, ready for Client, Shuffler and Collector.

        Unless one is named, that is the best that keeps a guarantee if the shuffler fails, and with ``allow_no_local``
        the first of the ranking; refused if it must be kept and none does (:meth:`to_save`).

        Its guarantee is that of one round.  ``column`` says where the values are and ``labels`` what they are called;
        unless given they are "value" and "0", "1", ..., to be edited in the file that ``save`` writes.
        """
        from ..protocol.plan import Plan

        chosen = self.to_save(which, allow_no_local=allow_no_local)
        query = self.question.query(chosen.asked, column, labels, chosen.variant)
        return Plan(query=query, users=self.n, minimum_batch=self.counted, delta=self.delta, name=name)

    def mechanism_of(self, which: str | int | Choice | None = None) -> Randomizer:
        """What a client of a choice runs: its mechanism, on the levels of a tree where there is one."""
        return self.choice(which).run

    # -- in words ---------------------------------------------------------------------------------------------------

    def predicted(self, which: str | int | Choice | None = None) -> list[Predicted]:
        """What to expect of the answer of a choice, in the units that people read, from those who can be counted on.

        Shares are stated as numbers of all users who are asked.

        Examples
        --------
        >>> import shuffledp as sdp
        >>> found = sdp.recommend("quantile", n=1_000_000, d=60, high=30, unit="s", epsilon=0.2, delta=1e-9, messages=1)
        >>> [(one.item, one.unit) for one in found.predicted()], 0.0 < found.predicted()[2].error < 0.3
        ([('p50', 's'), ('p95', 's'), ('p99', 's')], True)
        """
        chosen = self.choice(which)
        accuracy = Accuracy(chosen.error, chosen.typical_error, chosen.item_error)
        return self.question.predicted(chosen.asked, chosen.variant, accuracy, n=self.counted, users=self.n)

    def _words(self, error: float) -> str:
        """An error of the task in the units that people read."""
        return self.question.words(error, self.n)

    @property
    def statement(self) -> str:
        """The answer in a paragraph."""
        return self.statement_of(self.best)

    def statement_of(self, best: Choice) -> str:
        """What a choice guarantees and how precise it is, in a paragraph."""
        over = "" if self.rounds == 1 else f" over {self.rounds:,} rounds"
        crowd = f"{self.n:,} users" + (f" of whom up to {self.dropouts:,} may be missing" if self.dropouts else "")
        local = "nothing" if math.isinf(best.local_epsilon) else f"eps0 = {round_up(best.local_epsilon)}"
        shape = f" ({best.variant})" if best.variant else ""
        sent = f"{best.messages:.4g} message{'' if best.messages == 1.0 else 's'}"
        claim = f"({round_up(best.epsilon)}, {round_up(self.delta, 6)})-DP"
        return visible(
            f"For the task {self.task!r} with {crowd}, {best.spec}{shape} is {claim}{over} in the shuffle model "
            f"(bound: {best.bound}) with an error of {self._words(best.error)} ({self.question.measure}), {sent} and "
            f"{best.bits:.4g} bits per user{' and round' if over else ''}.{self._expected(best)} If the shuffler "
            f"fails, {local} remains."
        )

    def _expected(self, best: Choice) -> str:
        """What is predicted beside the error that is ranked; empty if there is nothing else."""
        found = [one for one in self.predicted(best) if one.item != self.question.item]
        if not found:
            return ""
        about = f" For {self.question.assumed}:" if self.question.assumed else ""
        return f"{about} {', '.join(f'{one.item} {one.text}' for one in found)}."

    def __str__(self) -> str:
        """The statement, the table and the references, for a terminal."""
        lines = [self.statement, "", self.table().text(), "", *self.comparison]
        if self.refused:
            lines.append(f"{len(self.refused)} mechanisms are not ranked; .refused says why.")
        return "\n".join(lines)

    def __repr__(self) -> str:
        """One line."""
        return visible(
            f"<Recommendation for {self.task}: {len(self.choices)} mechanisms, best {self.best.spec}, "
            f"error {self.best.error:.3g}>"
        )

    @property
    def comparison(self) -> list[str]:
        """What a local guarantee costs, if that is something; one line per reference, and one about the floor."""
        return [*map(visible, self._compared())]

    def _compared(self) -> Iterator[str]:
        names = list(dict.fromkeys(choice.mechanism for choice in self.choices if choice.run._noise_by_shuffler))
        if names:
            yield (
                f"Trust: users of {' and '.join(names)} send their values without noise, encrypted for the data "
                "collector; the shuffler adds the noise, and must not work with the collector."
            )
        kept = self._kept
        if kept is None:
            yield "None of these keeps a guarantee if the shuffler fails."
        elif kept is not self.best:
            local = round_up(kept.local_epsilon)
            yield f"Best with a local guarantee: {kept.name} (local eps = {local}); {self._price(kept)}."
        if self.floor is not None:
            above = [(choice.name, self.above_floor(choice)) for choice in self.choices]
            far = next((f"; the error of {name} is {ratio:.2f} times that" for name, ratio in above if ratio), "")
            least = figures(self.question.in_units(self.floor.error, self.n))
            yield f"{self.floor.words} Floor: error {with_unit(least, self.question.shown_unit)}{far}."
        for found in self.references:
            yield (
                f"{found.model} model at eps = {round_down(self.epsilon)}: error {self._words(found.error)} "
                f"({found.mechanism}), {_times(found.error / self.best.error)} the best above; {found.note}."
            )

    def above_floor(self, choice: Choice) -> float | None:
        """The error of a choice over the floor; None where there is no floor, and of several messages per user."""
        return choice.error / self.floor.error if self.floor is not None and choice.most_messages == 1 else None

    def table(self) -> Table:
        """One row per choice, best first."""
        rows, marks = self.choices, ["*" if choice.on_front else "" for choice in self.choices]
        above = [self.above_floor(choice) for choice in rows]
        times = ["" if x is None else f"{x:.2f}" if x < 10.0 else f"{x:,.0f}" for x in above]
        alike = all(math.isclose(c.error, c.typical_error, rel_tol=1e-3) for c in rows)
        return Table(
            (
                Column(name="mechanism", head="mechanism", values=[c.name for c in rows]),
                self._errors("error", "error", [c.error for c in rows]),
                self._errors("typical_error", None if alike else "typical", [c.typical_error for c in rows]),
                _sizes("item_error", None, [c.item_error for c in rows]),
                epsilon_column("epsilon", "eps", [c.epsilon for c in rows]),
                _sizes("bits", "bits", [c.bits for c in rows], 4),
                _sizes("messages", "messages", [c.messages for c in rows], 4),
                epsilon_column("local_epsilon", "local eps", [c.local_epsilon for c in rows]),
                number_column("above_floor", None if self.floor is None else "x floor", above, times),
                Column(name="on_front", head="*", values=[c.on_front for c in rows], texts=marks),
                Column(name="bound", head="bound", values=[c.bound for c in rows], wide=True),
                Column(name="spec", head="spec", values=[c.spec for c in rows], wide=True),
            ),
            caption=f"{self.task}: error in {self.measure}",
        )

    @property
    def measure(self) -> str:
        """What the errors of the table are in, in words."""
        unit = self.question.shown_unit
        of = f" of {self.n:,}" if unit == "users" else ""
        return f"{unit}{of} ({self.question.measure})" if unit else self.question.measure

    def _errors(self, name: str, head: str | None, values: Sequence[float]) -> Column:
        """Errors as people read them; a frame holds those of the task."""
        texts = [figures(self.question.in_units(x, self.n), 3, up=True) for x in values]
        return number_column(name, head, values, texts)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON.

        Keys: task, sizes (those of the question), n, dropouts, rounds, epsilon, delta, error, messages, bits and
        local_epsilon (targets and limits, null where not given), noise (who makes it), measure (what errors are in),
        unit (what people count them in), statement, choices (each with the attributes of Choice, above_floor, and
        predicted: errors in that unit), front (places in choices), references, floor (error and words, or null),
        refused, python and command (code that asks the same).
        """
        asked = ("n", "dropouts", "rounds", "epsilon", "delta", "error", "messages", "bits", "local_epsilon", "noise")
        return json_object(
            {
                "task": self.task,
                "sizes": self.question.sizes,
                **{key: getattr(self, key) for key in asked},
                "measure": self.question.measure,
                "statement": self.statement,
                "unit": self.question.shown_unit,
                "choices": [self._listed(choice) for choice in self.choices],
                "front": [i for i, choice in enumerate(self.choices) if choice.on_front],
                "references": [found._asdict() for found in self.references],
                "floor": None if self.floor is None else self.floor._asdict(),
                "refused": [found._asdict() for found in self.refused],
                "python": python_code(self),
                "command": command_line(self),
            }
        )

    def _listed(self, choice: Choice) -> dict[str, Any]:
        expected = [one._asdict() for one in self.predicted(choice)]
        return {**choice.to_dict(), "above_floor": self.above_floor(choice), "predicted": expected}

    # -- pictures ---------------------------------------------------------------------------------------------------

    def plot(self, *, width: float = TEXT_WIDTH, ax: Axes | None = None, labels: Labels | None = None) -> Figure:
        """Error (or eps) against bits per user, with the front and the references (needs the extra ``plot``).

        ax : matplotlib axes to draw in, in place of a new figure; labels : other words for those of the figure
        """
        from .drawing import draw_recommendation

        return draw_recommendation(self, width=width, ax=ax, labels=labels)

    def report(
        self, path: str | os.PathLike[str], which: str | int | Choice | None = None, *, allow_no_local: bool = False
    ) -> None:
        """Write a design review as one HTML file: statement, trust, ranking, curves, certificate, code.

        It is of the choice whose plan :meth:`plan` gives.
        """
        from .page import review_page

        write_whole(path, review_page(self, self.to_save(which, allow_no_local=allow_no_local)), name="report")


def _sizes(name: str, head: str | None, values: Sequence[float], digits: int = 3) -> Column:
    return number_column(name, head, values, [f"{x:.{digits}g}" if x < 1000 else f"{x:,.0f}" for x in values])


def _times(ratio: float) -> str:
    """A ratio in words.

    >>> _times(0.25), _times(1234.5)
    ('0.25 times', '1,234 times')
    """
    return f"{ratio:.2g} times" if ratio < 10.0 else f"{ratio:,.0f} times"
