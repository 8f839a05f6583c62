"""The figure of a range query: the distribution function with its intervals, in the users' units."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._support import figures
from .._support.figures import users
from .._support.numbers import round_down

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..estimation.estimate import Estimate
    from .range_answer import RangeAnswer


def draw_distribution(
    answer: RangeAnswer, *, level: float, of: str, width: float, truth: Estimate | None = None
) -> Figure:
    """The share of users below every end of a bin, as a line in a band of its intervals; the truth is dashed."""
    found = answer.cdf()
    low, high = found.interval(level, of=of)
    edges = answer.edges
    whom = "these users" if of == "users" else "the population"
    title = f"Distribution from {users(answer.n)} with {round_down(100 * level, 6)}% intervals for {whom}"
    if answer.tree is not None:
        title += ", fitted to all levels"
    if answer.for_release is False:
        title += " (seeded: not for release)"
    with figures.style():
        figure = figures.new_figure(width, 2.8)
        axes = figure.subplots()
        line = np.concatenate([[0.0], found.value])
        bottom, top = (np.concatenate([[0.0], np.clip(end, 0.0, 1.0)]) for end in (low, high))
        axes.fill_between(edges, bottom, top, color="#56b4e9", alpha=0.35, linewidth=0.0)
        axes.plot(edges, line, color="#0072b2", linewidth=1.2)
        if truth is not None:
            known = np.concatenate([[0.0], np.cumsum(truth.value[: len(edges) - 1])])
            axes.plot(edges, known, color="#d55e00", linewidth=1.0, linestyle="--", label="truth")
            axes.legend(frameon=False)
        axes.set_xlim(answer.domain.low, answer.domain.high)
        # an unbiased estimate may leave [0, 1]: it is drawn as it is
        axes.set_ylim(min(0.0, float(line.min())) - 0.02, max(1.0, float(line.max())) + 0.02)
        axes.set_xlabel(answer.domain.unit or "value")
        axes.set_ylabel("share of users below")
        figures.add_title(figure, title)
    return figure
