"""A calibrated programme: what was found, its check, and the file to run from now on."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._support.figures import TEXT_WIDTH
from .._support.files import write_whole
from .._support.json_ready import json_object
from .._support.numbers import round_down, round_up
from .._support.reading import as_written
from .._support.tables import Column, Table, Tabular, epsilon_column, number_column
from .._support.text import visible
from ..accounting.outputs import About, WithOutputs
from ..errors import ParameterError
from ..planning.tasks import Predicted
from .plans import PlanDraft, Source, plans_of, save_plans
from .result import Check

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .._support.canvas import Labels
    from ..protocol.plan import Plan

#: Candidates of a round that are named beside the chosen one, the best ones.
_MOST_COMPARED = 6


@dataclass(frozen=True)
class CalibratedRounds:
    """One entry that was open.

    Attributes
    ----------
    name, mechanism : a missing name is replaced by the spec that was found
    weight : its share
    epsilon : of one of these rounds at the delta of the budget
    error : the predicted standard error of an estimate from those who can be counted on (of a frequency, the root of
        the mean variance over the items); None where none is predicted
    compared : the candidates, the chosen one first, and the variance that each would have; empty if there was no choice
    predicted : of a question: the errors to expect, in the units that people read
    wanted : of a question: the error that was asked for, as written; None where it has a weight
    assumed : what the prediction takes for granted of the data; empty: it is the largest over all data

    Examples
    --------
    >>> CalibratedRounds(name="kind", mechanism="grr:eps0=2,d=4", weight=1.0, epsilon=0.1, error=None, compared=())
    <CalibratedRounds 'kind': grr:eps0=2,d=4, weight 1>
    """

    name: str
    mechanism: str
    weight: float
    epsilon: float
    error: float | None
    compared: tuple[tuple[str, float], ...]
    predicted: tuple[Predicted, ...] = ()
    wanted: str | None = None
    assumed: str = ""

    @property
    def errors(self) -> str:
        """The predicted errors, in words; empty where none is predicted."""
        if self.predicted:
            return "; ".join(f"{one.item}: {one.text}" for one in self.predicted)
        return "" if self.error is None else f"standard error {round_up(self.error, 3)}"

    def __repr__(self) -> str:
        """One line: what was found."""
        share = f"weight {self.weight:g}" if self.wanted is None else f"wanted error {self.wanted}"
        return visible(f"<CalibratedRounds {self.name!r}: {self.mechanism}, {share}>")

    def __str__(self) -> str:
        """One line of the statement."""
        text = self.mechanism if self.name == self.mechanism else f"{self.name}: {self.mechanism}"
        text += f", predicted {'error of ' if self.predicted else ''}{self.errors}" if self.errors else ""
        text += f" for {self.assumed}" if self.assumed else ""
        best = self.compared[0][1] if self.compared else 0.0
        if len(self.compared) > 1 and best > 0.0:
            others = sorted(self.compared[1:], key=lambda pair: (round(pair[1] / best, 4), pair[0]))[:_MOST_COMPARED]
            shown = [f"{spec} {_times(error, best)}" for spec, error in others]
            text += f" ({', '.join(shown)} at the same eps)"
        return f"{text}."


def _times(error: float, best: float) -> str:
    return "cannot meet it" if math.isinf(error) else f"{math.sqrt(error / best):.2f} times that"


@dataclass(frozen=True)
class CalibratedProgramme(WithOutputs, Tabular):
    """A programme whose open budgets were found; ``save`` writes the file that ``shuffledp check`` reads.

    Attributes
    ----------
    programme : the content of the file, with every mechanism complete
    check : what check finds for it
    rounds : the entries that were open
    weights : what they divide: "local" (eps0 = scale times weight) or "central" (eps of one round = scale times weight)
    scale : the scale that was found
    source, drafts : the programme as it was asked, and what the plans of its questions are made of

    Examples
    --------
    >>> import shuffledp as sdp
    >>> found = sdp.calibrate_programme({"version": 1, "target": {"epsilon": 0.5, "delta": "1e-8"},
    ...                                  "rounds": [{"mechanism": "grr:d=4", "users": 10_000, "count": 4}]})
    >>> round(sdp.mechanism(found.programme["rounds"][0]["mechanism"]).eps0, 2), found.check.within
    (2.83, True)
    """

    programme: dict[str, Any]
    check: Check
    rounds: tuple[CalibratedRounds, ...]
    weights: str
    scale: float
    source: Source = field(repr=False, compare=False)
    drafts: tuple[PlanDraft, ...] = field(default=(), repr=False, compare=False)

    def _about(self) -> About:
        return self.check._about()

    def plans(self) -> dict[str, Plan]:
        """The plan of every round that is a question, by the name of its file.

        Examples
        --------
        >>> import shuffledp as sdp
        >>> found = sdp.calibrate_programme({"version": 1, "target": {"epsilon": 1, "delta": "1e-8"}, "rounds": [
        ...     {"name": "Session", "task": "mean", "column": "session", "low": 0, "high": 60, "users": 10_000}]})
        >>> {name: plan.query.columns for name, plan in found.plans().items()}
        {'session.json': ('session',)}
        """
        return plans_of(self.source, self.drafts)

    def save_plans(self, folder: str | os.PathLike[str]) -> list[str]:
        """Write the plans into a folder, with a lock file that check compares them with; the paths of all files.

        The folder may be new, empty, or one that was written before: then what is no longer part of it is removed.
        """
        return save_plans(folder, self)

    def table(self) -> Table:
        """One row per entry that was open."""
        rows = self.rounds
        columns = (
            Column(name="name", head="rounds", values=[r.name for r in rows]),
            Column(name="mechanism", head="mechanism", values=[r.mechanism for r in rows]),
            number_column("weight", "weight", [r.weight for r in rows], [r.wanted or f"{r.weight:g}" for r in rows]),
            epsilon_column("epsilon", "eps of one", [r.epsilon for r in rows]),
            Column(name="predicted", head="predicted error", values=[r.errors for r in rows]),
            number_column("error", None, [r.error for r in rows], ["" for r in rows]),
        )
        return Table(columns, caption=self.check.verdict, notes=tuple(map(visible, self._lines())))

    def __repr__(self) -> str:
        """One line: how many budgets were found, and what the programme spends."""
        number = len(self.rounds)
        return f"<CalibratedProgramme of {number} open entr{'y' if number == 1 else 'ies'}: {self.check!r}>"

    def __str__(self) -> str:
        """What was found, then the statement of the check."""
        return "\n".join(map(visible, self._lines()))

    def _lines(self) -> Iterator[str]:
        for entry in self.rounds:
            yield str(entry)
        if sum(entry.wanted is None for entry in self.rounds) > 1:
            what = "each local budget" if self.weights == "local" else "the eps of one round of each"
            yield f"By weight: {what} is {round_down(self.scale, 6)} times its weight."
        yield from str(self.check).split("\n")

    def plot(self, *, width: float = TEXT_WIDTH, ax: Axes | None = None, labels: Labels | None = None) -> Figure:
        """The figure of the check (needs the extra ``plot``).

        ax : matplotlib axes to draw in, in place of a new figure; labels : other words for those of the figure
        """
        return self.check.plot(width=width, ax=ax, labels=labels)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary; infinity is written as the string "inf"."""
        rounds = [
            json_object(
                {**vars(r), "compared": [*map(list, r.compared)], "predicted": [p._asdict() for p in r.predicted]}
            )
            for r in self.rounds
        ]
        return {
            "programme": self.programme,
            "rounds": rounds,
            "weights": self.weights,
            "scale": self.scale,
            "check": self.check.to_dict(),
            "statement": str(self),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the programme: JSON if its name ends in .json, else YAML; an older file is replaced in one step.

        The file names mechanisms by their specs; what a question asks for is in its plan, so use :meth:`save_plans` to
        run it.
        """
        for i, entry in enumerate(self.programme["rounds"]):
            if "<" in str(entry.get("mechanism", "")):
                raise ParameterError(
                    f"rounds[{i}] has a mechanism of several parts, which no spec of one line names, so that the "
                    "programme cannot be saved; save its plans instead: --plans DIR."
                )
        if os.fspath(path).lower().endswith(".json"):
            write_whole(path, json.dumps(self.programme, indent=2, allow_nan=False) + "\n")
        else:
            write_whole(path, _yaml(self.programme))


def _yaml(content: dict[str, Any]) -> str:
    """The content in YAML; numbers and dates that were read as text are written as they were, without quotes."""
    import yaml

    class Plain(yaml.SafeDumper):  # type: ignore[misc,unused-ignore]
        """Writes texts that look like numbers or dates as such: all numbers of a programme are read as text."""

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        number = as_written(value) is not None or (value[:4].isdigit() and value.count("-") == 2)
        tag = dumper.resolve(yaml.ScalarNode, value, (True, False)) if number else "tag:yaml.org,2002:str"
        return dumper.represent_scalar(tag, value)

    Plain.add_representer(str, text)
    return str(yaml.dump(content, Dumper=Plain, sort_keys=False, allow_unicode=True, width=120))
