"""The papers whose figures can be computed again: what each consists of, and what was assumed (words.yaml)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from .._support import validation as check
from . import blanket_2019, claims, clones_2023, plan, words
from .plan import Unit

SEED = "variation-ratio-2024"


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper: its citation, the parts that ``only`` takes, captions, assumptions, its work and its claims."""

    citation: str
    parts: dict[str, str]
    captions: dict[str, str]
    assumptions: list[str]
    make: Callable[[int], list[Unit]]
    judge: Callable[[claims.Results], list[dict[str, Any]]]

    def units(self, only: Iterable[str] = (), *, points: int = plan.POINTS) -> list[Unit]:
        """The work for these parts (all of them if none is named), with this many points per curve.

        Examples
        --------
        >>> [unit.name for unit in PAPERS[SEED].units(("figure4", "table5"))]
        ['figure4-ratio16-delta6', 'figure4-ratio128-delta9', 'table5']
        """
        chosen = {check.one_of("part", name, self.parts) for name in only} or set(self.parts)
        count = check.whole("points", points, low=2, high=10_000, hint="it is the number of points of a curve")
        wanted = [unit for unit in self.make(count) if unit.part in chosen]
        return [replace(unit, title=unit.title or self.parts[unit.part]) for unit in wanted]


#: Name -> paper, by what makes its work and what judges its claims.
PAPERS = {
    name: Paper(**words.PAPERS[name], make=make, judge=judge)
    for name, make, judge in (
        (SEED, plan.figures, claims.judge),
        ("clones-2023", clones_2023.units, clones_2023.judge),
        ("blanket-2019", blanket_2019.units, blanket_2019.judge),
    )
}
