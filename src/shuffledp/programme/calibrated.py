"""A calibrated programme: what was found, its check, and the file to run from now on."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._support.figures import TEXT_WIDTH
from .._support.files import write_whole
from .._support.json_ready import json_object
from .._support.numbers import round_down, round_up
from .._support.reading import as_written
from .._support.tables import Column, Table, Tabular, epsilon_column, number_column
from .._support.text import visible
from .result import Check

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .._support.canvas import Labels


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

    def __repr__(self) -> str:
        """One line: what was found."""
        return visible(f"<CalibratedRounds {self.name!r}: {self.mechanism}, weight {self.weight:g}>")

    def __str__(self) -> str:
        """One line of the statement."""
        text = self.mechanism if self.name == self.mechanism else f"{self.name}: {self.mechanism}"
        text += "" if self.error is None else f", predicted standard error {round_up(self.error, 3)}"
        best = self.compared[0][1] if self.compared else 0.0
        if len(self.compared) > 1 and best > 0.0:
            others = sorted(self.compared[1:], key=lambda pair: pair[1])
            shown = [f"{spec} {_times(error, best)}" for spec, error in others]
            text += f" ({', '.join(shown)} at the same eps)"
        return f"{text}."


def _times(error: float, best: float) -> str:
    return "cannot meet it" if math.isinf(error) else f"{math.sqrt(error / best):.2f} times that"


@dataclass(frozen=True)
class CalibratedProgramme(Tabular):
    """A programme whose open budgets were found; ``save`` writes the file that ``shuffledp check`` reads.

    Attributes
    ----------
    programme : the content of the file, with every mechanism complete
    check : what check finds for it
    rounds : the entries that were open
    weights : what they divide: "local" (eps0 = scale times weight) or "central" (eps of one round = scale times weight)
    scale : the scale that was found

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

    def table(self) -> Table:
        """One row per entry that was open."""
        rows = self.rounds
        errors = ["" if r.error is None else round_up(r.error, 3) for r in rows]
        columns = (
            Column(name="name", head="rounds", values=[r.name for r in rows]),
            Column(name="mechanism", head="mechanism", values=[r.mechanism for r in rows]),
            number_column("weight", "weight", [r.weight for r in rows], [f"{r.weight:g}" for r in rows]),
            epsilon_column("epsilon", "eps of one", [r.epsilon for r in rows]),
            number_column("error", "standard error", [r.error for r in rows], errors),
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
        if len(self.rounds) > 1:
            what = "each local budget" if self.weights == "local" else "the eps of one round of each"
            yield f"By weight: {what} is {round_down(self.scale, 6)} times its weight."
        yield from str(self.check).split("\n")

    def plot(
        self,
        *,
        width: float = TEXT_WIDTH,
        ax: Axes | None = None,
        labels: Labels | None = None,
    ) -> Figure:
        """The figure of the check (needs the extra ``plot``).

        ax : matplotlib axes to draw in, in place of a new figure; labels : other words for those of the figure
        """
        return self.check.plot(width=width, ax=ax, labels=labels)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary; infinity is written as the string "inf"."""
        rounds = [json_object({**vars(r), "compared": [list(pair) for pair in r.compared]}) for r in self.rounds]
        return {
            "programme": self.programme,
            "rounds": rounds,
            "weights": self.weights,
            "scale": self.scale,
            "check": self.check.to_dict(),
            "statement": str(self),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the programme: JSON if its name ends in .json, else YAML; an older file is replaced in one step."""
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
