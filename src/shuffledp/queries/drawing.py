"""The figures of answers that are more than bars: distribution functions, keys with values, maps and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._support.canvas import Canvas, canvas
from .._support.figures import is_wide, users
from .._support.text import shortened
from .._support.ticks import percents
from .._support.units import Amount, figures
from ..estimation.answer import in_words
from ..estimation.drawing import (
    TRUTH,
    Drawn,
    Look,
    draw_bars,
    draw_intervals,
    draw_points,
    drawn_items,
    label_scale,
    name_items,
    numbers_of,
    write_numbers,
)
from ..estimation.estimate import SHARE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .key_value_answer import KeyValueAnswer
    from .location import LocationAnswer
    from .marginals import MarginalsAnswer
    from .quantiles import Quantiles
    from .range_answer import RangeAnswer

#: Tables in one figure, and cells along one side that are still labeled with their share.
MOST_TABLES, _MOST_WRITTEN = 6, 12
#: Characters of the label of a key, and of one beside a table, at most.
_LONG_KEY, _LONG_OPTION = 24, 16
#: The quantiles that are marked unless others are asked for, and how they look.
_MARKED = (0.5, 0.95)
_MARKS = (("#d55e00", "o"), ("#009e73", "s"), ("#cc79a7", "D"), ("#e69f00", "^"), ("#000000", "v"))


def draw_distribution(answer: RangeAnswer, look: Look, marks: Quantiles | None = None) -> Figure:
    """The share of users below every end of a bin, as a line in a band of its intervals; the truth is dashed.

    Quantiles are marked where the line meets their share, each with its interval as a band along the axis.
    """
    found, edges = answer.cdf(), answer.edges
    title = f"Distribution from {users(answer.n)}{look.intervals}"
    title += "" if answer.tree is None else ", fitted to all levels"
    height = 3.2 if is_wide(look.width) else 3.9
    with canvas(look.title(title, answer), look.width, height, ax=look.ax, labels=look.labels) as page:
        axes = page.axes
        line = np.concatenate([[0.0], found.value])
        ends = found.interval(look.level, of=look.of)
        bottom, top = (np.concatenate([[0.0], np.clip(end, 0.0, 1.0)]) for end in ends)
        axes.fill_between(
            edges, bottom, top, color="#56b4e9", alpha=0.4, linewidth=0.0, label=f"{look.percent} interval"
        )
        axes.plot(edges, line, color="#0072b2", linewidth=1.2, label="share of users below")
        if look.truth is not None:
            known = np.concatenate([[0.0], np.cumsum(look.truth.value[: len(edges) - 1])])
            axes.plot(edges, known, color="#000000", linewidth=1.0, linestyle="--", label="truth")
        marks = answer.quantiles(answer.declared or _MARKED, level=look.level) if marks is None else marks
        _mark_quantiles(axes, marks)
        axes.set_xlim(answer.domain.low, answer.domain.high)
        # an unbiased estimate may leave [0, 1]: it is drawn as it is
        axes.set_ylim(min(0.0, float(line.min())) - 0.02, max(1.0, float(line.max())) + 0.02)
        percents(axes, "y")
        unit = f" ({answer.domain.unit})" if answer.domain.unit else ""
        axes.set_xlabel(page.said([shortened(answer.column or "value")])[0] + unit, parse_math=False)
        axes.set_ylabel("share of users below")
        page.legend(*axes.get_legend_handles_labels())
    return page.figure


def _mark_quantiles(axes: Axes, marks: Quantiles) -> None:
    rows = zip(marks.shares, marks.value, marks.low, marks.high, marks.entries(), strict=True)
    part = marks.answer.missing.value[0] if marks.answer.option else 0.0  # quantiles are of those who have a number
    for number, (share, value, low, high, row) in enumerate(rows):
        color, marker = _MARKS[number % len(_MARKS)]
        at = share * (1.0 - min(max(float(part), 0.0), 1.0))
        axes.axvspan(float(low), float(high), color=color, alpha=0.12, linewidth=0.0)
        axes.vlines(float(value), -1.0, at, color=color, linewidth=0.8, linestyle=(0, (1, 1)))
        label = in_words(row, marks.level)
        axes.plot([float(value)], [at], color=color, marker=marker, markersize=5.0, linestyle="none", label=label)


def draw_key_values(answer: KeyValueAnswer, look: Look) -> Figure:
    """Bars for the shares of the keys, points for the means beside them; of more than ``most`` keys those held most."""
    items = drawn_items(answer, look)
    title = f"Keys of {users(answer.n)}{look.intervals}"
    title += f"; the {items.at.size:,} held most are drawn" if items.at.size < answer.value.size else ""
    wide = is_wide(look.width)
    height = (1.2 + 0.24 * (items.bottom + 0.6)) * (1 if wide else 2)
    with canvas(look.title(title, answer), look.width, height, ax=look.ax, labels=look.labels) as page:
        shares, means = page.panels(1, 2).ravel() if wide else page.panels(2, 1).ravel()
        called = [shortened(name, _LONG_KEY) for name in page.said(answer.labels)]
        shown = [called[i] for i in items.at]
        draw_bars(shares, items)
        low, high = (end[items.at] for end in answer.means.interval(look.level, of=look.of))
        value = answer.means.value[items.at]
        middle = np.where(np.isfinite(value), value, 0.5 * (low + high))
        held = items._replace(value=middle, low=low, high=high)
        draw_points(means, held, answer.means)
        truths = (None, None) if look.truth is None else (look.truth, look.truth.means)  # type: ignore[attr-defined]
        for axes, part, some, truth in zip((shares, means), (answer, answer.means), (items, held), truths, strict=True):
            _complete_panel(axes, part, some, look, shown)
            if truth is not None:
                axes.plot(truth.value[items.at], items.place, "x", **TRUTH)
        _set_scale(means, answer)
        if wide:
            means.set_yticklabels([])
        if look.truth is not None:
            page.legend(*shares.get_legend_handles_labels())
    return page.figure


def _complete_panel(axes: Axes, part: Any, items: Drawn, look: Look, shown: list[str]) -> None:
    draw_intervals(axes, items)
    name_items(axes, items, shown)
    write_numbers(axes, items, numbers_of(part, items, look.level, wide=False))
    label_scale(axes, part)


def _set_scale(axes: Axes, answer: KeyValueAnswer) -> None:
    """The range of the values."""
    low, high = answer.means.low, answer.means.high
    axes.set_xlim(low - 0.03 * (high - low), high + 0.03 * (high - low))
    axes.set_xlabel("mean value of the holders" + (f" ({answer.means.unit})" if answer.means.unit else ""))


def draw_map(answer: LocationAnswer, look: Look) -> Figure:
    """Cells shaded by their share; a cross where it may be 0; the truth in a panel of its own."""
    panels = [("estimate", answer.map)]
    if look.truth is not None:
        panels.append(("truth", look.truth.value.reshape(answer.map.shape)))
    title = f"Places of {users(answer.n)}" + ("" if answer.step else f"; x: may be empty ({look.percent} interval)")
    top = max(float(table.max()) for _, table in panels)
    ratio = (answer.north[-1] - answer.north[0]) / (answer.east[-1] - answer.east[0])
    height = min(max(0.8 * look.width / len(panels) * ratio, 1.8), 8.0) + 0.75
    with canvas(look.title(title, answer), look.width, height, ax=look.ax, labels=look.labels) as page:
        grid = page.panels(1, len(panels))[0]
        for axes, (name, table) in zip(grid, panels, strict=True):
            drawn = axes.pcolormesh(answer.east, answer.north, table, cmap="Blues", vmin=0.0, vmax=max(top, 1e-12))
            axes.set_aspect("equal")
            axes.grid(visible=False)
            axes.set_xlabel("east" + (f" ({answer.length})" if answer.length else ""))
            axes.set_ylabel("north" + (f" ({answer.length})" if answer.length else ""))
            if len(panels) > 1:
                axes.set_title(page.said([name])[0])
        if not answer.step:
            low, _ = answer.interval(look.level, of=look.of)
            row, column = np.nonzero(low.reshape(answer.map.shape) <= 0.0)
            x, y = (0.5 * (edges[1:] + edges[:-1]) for edges in (answer.east, answer.north))
            grid[0].plot(x[column], y[row], "x", color="#888888", markersize=3.0)
        bar = page.figure.colorbar(drawn, ax=list(grid), label=answer.quantity)
        if answer.quantity == SHARE:
            percents(bar.ax, "y")
    return page.figure


def draw_tables(answer: MarginalsAnswer, look: Look) -> Figure:
    """A table per marginal, at most six, darker where the share is larger; half its interval, where there is room."""
    shown = list(zip(answer.asked, answer.parts, strict=True))[:MOST_TABLES]
    across = min(len(shown), 2)
    down = -(-len(shown) // across)
    title = f"Percent of {users(answer.n)}, \u00b1 half of the {look.percent} interval"
    title += "" if answer.fit is None else ", fitted so that they agree"
    if len(answer.asked) > MOST_TABLES:
        title += f"; {MOST_TABLES} of {len(answer.asked):,} marginals are drawn"
    top = max(float(part.value.max()) for _, part in shown)
    with canvas(look.title(title, answer), look.width, 2.6 * down, ax=look.ax, labels=look.labels) as page:
        grid = page.panels(down, across)
        for axes, (columns, part) in zip(grid.ravel(), shown, strict=False):
            low, high = part.interval(look.level, of=look.of)
            _shade(axes, page, answer, columns, part.value, 0.5 * (high - low), top)
        for axes in grid.ravel()[len(shown) :]:
            axes.set_visible(False)
    return page.figure


def _shade(
    axes: Axes, page: Canvas, answer: MarginalsAnswer, columns: tuple[str, ...], value: Any, half: Any, top: float
) -> None:
    rows, names = ([shortened(x, _LONG_OPTION) for x in page.said(answer.options[name])] for name in columns)
    table, reach = (x.reshape(len(rows), len(names)) for x in (value, half))
    axes.imshow(table, cmap="Blues", vmin=0.0, vmax=max(top, 1e-12), aspect="auto")
    axes.grid(visible=False)
    axes.tick_params(length=0)
    turned = sum(map(len, names)) > 30
    axes.set_xticks(range(len(names)), names, rotation=90 if turned else 0, parse_math=False)
    axes.set_yticks(range(len(rows)), rows, parse_math=False)
    heads = [shortened(name, _LONG_OPTION) for name in page.said(columns)]
    axes.set_xlabel(heads[1], parse_math=False)
    axes.set_ylabel(heads[0], parse_math=False)
    if len(rows) > _MOST_WRITTEN or len(names) > _MOST_WRITTEN // 2:
        return
    for (i, j), share in np.ndenumerate(table):
        color = "#ffffff" if share > 0.6 * top else "#000000"
        low, high = share - reach[i, j], share + reach[i, j]
        text = Amount(100.0 * share, 100.0 * low, 100.0 * high).texts[0]
        text += f"\n\u00b1{figures(100.0 * reach[i, j], 2, up=True)}" if low < high else ""
        axes.text(j, i, text, ha="center", va="center", color=color, fontsize=7)
