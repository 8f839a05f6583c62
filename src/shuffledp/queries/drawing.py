"""The figures of answers that are more than bars: distribution functions, keys with values, maps and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._support.figures import WITHIN_BAR, titled, users
from .._support.text import shortened
from ..estimation.drawing import TRUTH, Look

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .key_value_answer import KeyValueAnswer
    from .location import LocationAnswer
    from .marginals_answer import MarginalsAnswer
    from .quantiles import Quantiles
    from .range_answer import RangeAnswer

#: Tables in one figure, and cells along one side that are still labeled with their share.
MOST_TABLES, _MOST_WRITTEN = 6, 12
#: Characters of the label of a key, and of one beside a table, at most.
_LONG_KEY, _LONG_OPTION = 24, 16


def draw_distribution(answer: RangeAnswer, look: Look, marks: Quantiles | None = None) -> Figure:
    """The share of users below every end of a bin, as a line in a band of its intervals; the truth is dashed."""
    found, edges = answer.cdf(), answer.edges
    title = f"Distribution from {users(answer.n)}{look.intervals}"
    title += "" if answer.tree is None else ", fitted to all levels"
    with titled(look.origin(title, answer), look.width, 2.8) as figure:
        axes = figure.subplots()
        line = np.concatenate([[0.0], found.value])
        ends = found.interval(look.level, of=look.of)
        bottom, top = (np.concatenate([[0.0], np.clip(end, 0.0, 1.0)]) for end in ends)
        axes.fill_between(edges, bottom, top, color="#56b4e9", alpha=0.35, linewidth=0.0)
        axes.plot(edges, line, color="#0072b2", linewidth=1.2)
        if look.truth is not None:
            known = np.concatenate([[0.0], np.cumsum(look.truth.value[: len(edges) - 1])])
            axes.plot(edges, known, color="#d55e00", linewidth=1.0, linestyle="--", label="truth")
            axes.legend(frameon=False)
        axes.set_xlim(answer.domain.low, answer.domain.high)
        # an unbiased estimate may leave [0, 1]: it is drawn as it is
        axes.set_ylim(min(0.0, float(line.min())) - 0.02, max(1.0, float(line.max())) + 0.02)
        axes.set_xlabel(answer.domain.unit or "value")
        axes.set_ylabel("share of users below")
    return figure


def draw_key_values(answer: KeyValueAnswer, look: Look) -> Figure:
    """Bars for the shares of the keys, points for the means; of more than ``most`` keys those held most."""
    at = look.largest(answer.value, "keys")
    title = f"Keys of {users(answer.n)}{look.intervals}"
    title += f"; the {at.size:,} held most are drawn" if at.size < answer.value.size else ""
    with titled(look.origin(title, answer), look.width, 4.2) as figure:
        above, below = figure.subplots(2, 1, sharex=True)
        place = np.arange(at.size)
        lines = {"ecolor": "#000000", "elinewidth": 0.9, "capsize": min(2.5, 90.0 / at.size), "linestyle": "none"}
        above.bar(place, answer.value[at], width=0.8, **WITHIN_BAR)
        truths = (look.truth, getattr(look.truth, "means", None))
        for axes, part, truth in zip((above, below), (answer, answer.means), truths, strict=True):
            low, high = (end[at] for end in part.interval(look.level, of=look.of))
            value = np.where(np.isfinite(part.value[at]), part.value[at], 0.5 * (low + high))
            reach = np.abs(np.array([value - low, high - value]))
            axes.errorbar(place, value, yerr=reach, fmt="none" if part is answer else "o", markersize=3.0, **lines)
            axes.grid(axis="x", visible=False)
            if truth is not None:
                axes.plot(place, truth.value[at], "x", **TRUTH)
        if look.truth is not None:
            above.legend(frameon=False)
        above.axhline(0.0, color="#000000", linewidth=0.6)
        above.set_ylabel("share of users")
        room = 0.05 * (answer.means.high - answer.means.low)
        below.set_ylim(answer.means.low - room, answer.means.high + room)
        below.set_ylabel("mean value" + (f" ({answer.means.unit})" if answer.means.unit else ""))
        names = answer.labels
        shown = [shortened(names[i], _LONG_KEY) for i in at]
        turned = sum(len(name) + 1 for name in shown) > 13 * look.width
        below.set_xticks(place, shown, parse_math=False, **({"rotation": 90, "fontsize": 7} if turned else {}))
    return figure


def draw_map(answer: LocationAnswer, look: Look) -> Figure:
    """Cells shaded by their share; a cross where it may be 0; the truth in a panel of its own."""
    panels = [("estimate", answer.map)]
    if look.truth is not None:
        panels.append(("truth", look.truth.value.reshape(answer.map.shape)))
    title = f"Places of {users(answer.n)}" + ("" if answer.step else f"; x: may be empty ({look.percent} interval)")
    top = max(float(table.max()) for _, table in panels)
    ratio = (answer.north[-1] - answer.north[0]) / (answer.east[-1] - answer.east[0])
    height = min(max(0.8 * look.width / len(panels) * ratio, 1.8), 8.0) + 0.6
    with titled(look.origin(title, answer), look.width, height) as figure:
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
            low, _ = answer.interval(look.level, of=look.of)
            row, column = np.nonzero(low.reshape(answer.map.shape) <= 0.0)
            x, y = (0.5 * (edges[1:] + edges[:-1]) for edges in (answer.east, answer.north))
            grid[0].plot(x[column], y[row], "x", color="#888888", markersize=3.0)
        figure.colorbar(drawn, ax=list(grid), label="share of users")
    return figure


def draw_tables(answer: MarginalsAnswer, look: Look) -> Figure:
    """A table per marginal, at most six, darker where the share is larger."""
    shown = list(zip(answer.asked, answer.parts, strict=True))[:MOST_TABLES]
    across = min(len(shown), 2)
    down = -(-len(shown) // across)
    title = f"Shares of {users(answer.n)}" + ("" if answer.fit is None else ", fitted so that they agree")
    if len(answer.asked) > MOST_TABLES:
        title += f"; {MOST_TABLES} of {len(answer.asked):,} marginals are drawn"
    top = max(float(part.value.max()) for _, part in shown)
    with titled(look.origin(title, answer), look.width, 2.6 * down) as figure:
        grid = figure.subplots(down, across, squeeze=False)
        for axes, (columns, part) in zip(grid.ravel(), shown, strict=False):
            rows, names = ([shortened(x, _LONG_OPTION) for x in answer.options[name]] for name in columns)
            table = part.value.reshape(len(rows), len(names))
            axes.imshow(table, cmap="Blues", vmin=0.0, vmax=max(top, 1e-12), aspect="auto")
            axes.grid(visible=False)
            turned = sum(map(len, names)) > 30
            axes.set_xticks(range(len(names)), names, rotation=90 if turned else 0, parse_math=False)
            axes.set_yticks(range(len(rows)), rows, parse_math=False)
            axes.set_xlabel(shortened(columns[1], _LONG_OPTION), parse_math=False)
            axes.set_ylabel(shortened(columns[0], _LONG_OPTION), parse_math=False)
            if len(rows) <= _MOST_WRITTEN and len(names) <= _MOST_WRITTEN // 2:
                for (i, j), share in np.ndenumerate(table):
                    color = "#ffffff" if share > 0.6 * top else "#000000"
                    axes.text(j, i, f"{share:.3f}", ha="center", va="center", color=color, fontsize=7)
        for axes in grid.ravel()[len(shown) :]:
            axes.set_visible(False)
    return figure
