"""The papers whose figures can be computed again: what each consists of, and what was assumed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from . import blanket_2019, claims, clones_2023, plan
from .plan import Unit

SEED = "variation-ratio-2024"


@dataclass(frozen=True)
class Paper:
    """A paper: its citation, the parts that ``only`` takes, captions, assumptions, its work and its claims."""

    citation: str
    parts: dict[str, str]
    captions: dict[str, str]
    assumptions: tuple[str, ...]
    make: Callable[[int], list[Unit]]
    judge: Callable[[claims.Results], list[dict[str, Any]]]

    def units(self, only: Iterable[str] = (), *, points: int = plan.POINTS) -> list[Unit]:
        """The work for these parts, all of them if none is named."""
        return plan.units(tuple(only), points=points, parts=self.parts, make=self.make)


PAPERS = {
    SEED: Paper(plan.CITATION, plan.PARTS, plan.CAPTIONS, plan.ASSUMPTIONS, plan.figures, claims.judge),
    **{
        name: Paper(page.CITATION, page.PARTS, page.CAPTIONS, page.ASSUMPTIONS, page.units, page.judge)
        for name, page in (("clones-2023", clones_2023), ("blanket-2019", blanket_2019))
    },
}
