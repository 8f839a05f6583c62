"""Draws docs/overview.svg, the picture of the README, for ``make figures``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import shuffledp as sdp
from shuffledp._support.figures import new_figure, save, style
from shuffledp._support.numbers import round_up

SPEC, DELTA, LOCAL = "grr:eps0=2,d=16", 1e-8, 2.0
#: The colors of the page in the browser (src/shuffledp/web/static/style.css): ink, and three of its scale.
_INK, _GREEN, _ORANGE, _YELLOW = "#1b2430", "#0f6b62", "#cf6a2d", "#c9a227"


def draw(path: Path) -> None:
    """On the left how a collection goes, on the right what the crowd is worth."""
    with style():
        figure = new_figure(7.6, 2.9)
        left, right = figure.subplots(1, 2, width_ratios=[1.25, 1.0])
        _collection(left)
        _curve(right)
    save(figure, path)


def _collection(axes: Any) -> None:
    axes.set(xlim=(0, 10), ylim=(0, 6.4))
    axes.axis("off")
    colors = (_GREEN, _ORANGE, _YELLOW, _GREEN, _INK)
    order = (2, 4, 0, 3, 1)
    for row, color in enumerate(colors):
        y = 5.2 - row
        axes.plot(0.6, y, marker="o", markersize=7, color=color, clip_on=False)
        axes.annotate("", (3.9, y), (1.0, y), arrowprops={"arrowstyle": "->", "color": "#888888"})
        axes.text(2.4, y + 0.14, "randomize", ha="center", color="#555555", fontsize=7)
        to = 5.2 - order.index(row)
        axes.plot([4.15, 6.05], [y, to], color=color, linewidth=1.1)
        axes.annotate("", (7.4, to), (6.2, to), arrowprops={"arrowstyle": "->", "color": "#888888"})
        axes.plot(7.75, to, marker="s", markersize=6, color="#999999")
    for x, width in ((4.0, 2.2), (8.35, 1.6)):
        axes.add_patch(_box(x, width))
    for x, words in ((0.6, "users"), (5.1, "shuffler"), (9.15, "collector")):
        axes.text(x, 6.05, words, ha="center", fontweight="bold")
    axes.text(9.15, 3.2, "counts,\nestimates,\nintervals", ha="center", va="center", fontsize=7)
    shuffled = round_up(sdp.amplify(SPEC, n=100_000, delta=DELTA).epsilon, 3)
    axes.text(2.0, 0.3, f"here: ε₀ = {LOCAL:g}, local", ha="center", color=_ORANGE)
    axes.text(7.9, 0.3, f"here: ε = {shuffled} for 100,000 users", ha="center", color=_GREEN)


def _box(x: float, width: float) -> Any:
    from matplotlib.patches import FancyBboxPatch

    return FancyBboxPatch(
        (x, 0.85), width, 4.75, boxstyle="round,pad=0.02,rounding_size=0.2", fill=False, color="#888888"
    )


def _curve(axes: Any) -> None:
    sizes = np.unique(np.geomspace(10, 1e9, 60).astype(np.int64))
    shuffled = sdp.amplify(SPEC, n=sizes, delta=DELTA).epsilon
    axes.loglog(sizes, shuffled, color=_GREEN, label="after shuffling (ε)")
    axes.axhline(LOCAL, color=_ORANGE, linestyle=(0, (5, 1.5)), label="local (ε₀)")
    axes.set(xlabel="users", ylabel="ε", title="randomized response, 16 options, δ = 1e-8")
    axes.legend(loc="lower left")
