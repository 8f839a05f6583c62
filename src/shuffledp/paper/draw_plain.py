"""Figures whose panels hold curves over one axis; where a lower bound is known, a strip below says how far above it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .._support.figures import LINES, TEXT_WIDTH, new_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_USERS, _LOCAL, _EPS = "users $n$", "local budget $\\varepsilon_0$", "$\\varepsilon$ after shuffling"


class Layout(NamedTuple):
    """Labels of the axes, whether they are logarithmic, and the curves that the strip compares with the lower bound."""

    xlabel: str
    ylabel: str
    xlog: bool = True
    ylog: bool = False
    strip: tuple[str, ...] = ()


_ABOVE = ("swap", "stronger-clone", "clone")
PLAIN = {
    "figure-clones-budget": Layout(_LOCAL, _EPS, xlog=False, ylog=True, strip=_ABOVE),
    "figure-clones-users": Layout(_USERS, _EPS, ylog=True, strip=_ABOVE),
    "figure-clones-renyi": Layout("order $\\alpha$", "Renyi divergence / $\\alpha$", ylog=True),
    "figure-blanket-generic": Layout(_USERS, _EPS, ylog=True, strip=("swap", "stronger-clone")),
    "figure-blanket-budget": Layout(_USERS, _LOCAL),
    "figure-blanket-tails": Layout(_USERS, _LOCAL),
    "figure-blanket-alphabet": Layout(_USERS, _LOCAL),
}


def plain_figure(part: str, panels: Sequence[dict[str, Any]]) -> Figure:
    """Draw the panels side by side, with one legend below."""
    layout = PLAIN[part]
    keys = list(panels[0]["data"])
    with style():
        drawn = new_figure(TEXT_WIDTH, 4.6 if layout.strip else 3.4)
        rows: dict[str, Any] = {"height_ratios": [2.0, 1.0]} if layout.strip else {}
        grid = drawn.subplots(1 + bool(layout.strip), len(panels), sharex=True, sharey="row", squeeze=False, **rows)
        for column, panel in enumerate(panels):
            axes, x = grid[0, column], panel["settings"]["x"]
            axes.set_title(panel["title"])
            for place, key in enumerate(keys):
                curve = panel["data"][key]
                _draw(axes, x, values_of(curve), place, curve["label"])
            axes.set_xscale("log" if layout.xlog else "linear")
            axes.set_yscale("log" if layout.ylog else "linear")
            for key in layout.strip:
                _draw(grid[1, column], x, _above(panel, key), keys.index(key), None)
            grid[-1, column].set_xlabel(layout.xlabel)
        grid[0, 0].set_ylabel(layout.ylabel)
        if layout.strip:
            grid[1, 0].set_ylabel("above the\nlower bound, %")
            grid[1, 0].set_ylim(-2.0, 70.0)
        handles, labels = grid[0, 0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="outside lower center", ncols=3)
        drawn.draw_without_rendering()  # the layout once, not again for every format
        drawn.set_layout_engine("none")
    return drawn


def values_of(curve: dict[str, Any]) -> list[float | None]:
    """What a curve shows: eps, or another value."""
    found: list[float | None] = curve["epsilon"] if "epsilon" in curve else curve["value"]
    return found


def _above(panel: dict[str, Any], key: str) -> list[float | None]:
    """How many percent a curve is above the lower bound."""
    pairs = zip(values_of(panel["data"][key]), values_of(panel["data"]["dataset"]), strict=True)
    return [None if a is None or not b else 100.0 * (a / b - 1.0) for a, b in pairs]


def _draw(axes: Axes, x: Sequence[float], y: Sequence[float | None], place: int, label: str | None) -> None:
    """One line through the points that are known, with markers at some of them."""
    known = [(a, b) for a, b in zip(x, y, strict=True) if b is not None]
    every = (place % 5, max(1, min(5, len(known) // 4)))
    axes.plot([a for a, _ in known], [b for _, b in known], label=label, markevery=every, **LINES[place])
