"""The map of a location query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._support import figures
from .._support.figures import users
from .._support.numbers import round_down

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..estimation.estimate import Estimate
    from .location_answer import LocationAnswer


def draw_map(answer: LocationAnswer, *, level: float, of: str, width: float, truth: Estimate | None = None) -> Figure:
    """Cells shaded by their share; a cross where it may be 0; the truth in a panel of its own."""
    panels = [("estimate", answer.map)]
    if truth is not None:
        panels.append(("truth", truth.value.reshape(answer.map.shape)))
    title = f"Places of {users(answer.n)}"
    if not answer.step:
        title += f"; x: may be empty ({round_down(100 * level, 6)}% interval)"
    if answer.for_release is False:
        title += " (seeded: not for release)"
    top = max(float(table.max()) for _, table in panels)
    ratio = (answer.north[-1] - answer.north[0]) / (answer.east[-1] - answer.east[0])
    with figures.style():
        figure = figures.new_figure(width, min(max(0.8 * width / len(panels) * ratio, 1.8), 8.0) + 0.6)
        grid = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, (name, table) in zip(grid, panels, strict=True):
            drawn = axes.pcolormesh(answer.east, answer.north, table, cmap="Blues", vmin=0.0, vmax=max(top, 1e-12))
            axes.set_aspect("equal")
            axes.grid(visible=False)
            axes.set_xlabel("east" + (f" ({answer.length})" if answer.length else ""))
            axes.set_ylabel("north" + (f" ({answer.length})" if answer.length else ""))
            if len(panels) > 1:
                axes.set_title(name)
        if not answer.step:
            low, _ = answer.interval(level, of=of)
            row, column = np.nonzero(low.reshape(answer.map.shape) <= 0.0)
            x, y = (0.5 * (edges[1:] + edges[:-1]) for edges in (answer.east, answer.north))
            grid[0].plot(x[column], y[row], "x", color="#888888", markersize=3.0)
        figure.colorbar(drawn, ax=list(grid), label="share of users")
        figures.add_title(figure, title)
    return figure
