"""The figure of two-way marginals: a shaded table each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._support import figures
from .._support.figures import users
from .._support.text import shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .marginals_answer import MarginalsAnswer

#: Tables in one figure, and cells along one side that are still labeled with their share.
MOST_TABLES, _MOST_WRITTEN = 6, 12
#: Characters of a label, at most.
_LONGEST = 16


def draw_tables(answer: MarginalsAnswer, *, width: float) -> Figure:
    """A table per marginal, at most six, darker where the share is larger."""
    shown = list(zip(answer.asked, answer.parts, strict=True))[:MOST_TABLES]
    across = min(len(shown), 2)
    down = -(-len(shown) // across)
    title = f"Shares of {users(answer.n)}"
    if answer.fit is not None:
        title += ", fitted so that they agree"
    if len(answer.asked) > MOST_TABLES:
        title += f"; {MOST_TABLES} of {len(answer.asked):,} marginals are drawn"
    if answer.for_release is False:
        title += " (seeded: not for release)"
    top = max(float(part.value.max()) for _, part in shown)
    with figures.style():
        figure = figures.new_figure(width, 2.6 * down)
        grid = figure.subplots(down, across, squeeze=False)
        for axes, (columns, part) in zip(grid.ravel(), shown, strict=False):
            rows, names = ([shortened(x, _LONGEST) for x in answer.options[name]] for name in columns)
            table = part.value.reshape(len(rows), len(names))
            axes.imshow(table, cmap="Blues", vmin=0.0, vmax=max(top, 1e-12), aspect="auto")
            axes.grid(visible=False)
            turned = sum(map(len, names)) > 30
            axes.set_xticks(range(len(names)), names, rotation=90 if turned else 0, parse_math=False)
            axes.set_yticks(range(len(rows)), rows, parse_math=False)
            axes.set_xlabel(shortened(columns[1], _LONGEST), parse_math=False)
            axes.set_ylabel(shortened(columns[0], _LONGEST), parse_math=False)
            if len(rows) <= _MOST_WRITTEN and len(names) <= _MOST_WRITTEN // 2:
                for (i, j), share in _cells(table):
                    color = "#ffffff" if share > 0.6 * top else "#000000"
                    axes.text(j, i, f"{share:.3f}", ha="center", va="center", color=color, fontsize=7)
        for axes in grid.ravel()[len(shown) :]:
            axes.set_visible(False)
        figures.add_title(figure, title)
    return figure


def _cells(table: object) -> list[tuple[tuple[int, int], float]]:
    import numpy as np

    return [((i, j), float(share)) for (i, j), share in np.ndenumerate(np.asarray(table))]
