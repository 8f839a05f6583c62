"""The axes of figures: where ticks are, and how their numbers read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .optional import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Inches that a character of a number takes below an axis.
_CHARACTER = 0.075
#: Decimals of a number below an axis, at most.
_DECIMALS = 2


def logarithmic(axes: Axes, which: str, low: float, high: float) -> None:
    """A logarithmic axis that has labels between the powers of ten where it spans few of them."""
    ticker = require("matplotlib.ticker", extra="plot", purpose="drawing")
    axes.set(**{f"{which}scale": "log"})
    if high < 300.0 * low:
        axis = axes.xaxis if which == "x" else axes.yaxis
        axis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: _tick(value)))
        axis.set_minor_formatter(ticker.NullFormatter())


def _tick(value: float) -> str:
    """A number below an axis.

    >>> _tick(20_000.0), _tick(0.05)
    ('20,000', '0.05')
    """
    return f"{value:,.0f}" if 1000.0 <= abs(value) < 1e7 and value == int(value) else f"{value:g}"


def ticks_at(axes: Axes, places: Sequence[float], width: float, *, logarithmic: bool = False) -> None:
    """Ticks of the x axis where points are, with a number below as many of them as there is room for.

    The last one has its number, then those from the first on that do not come too near to another.  Where the points
    have many decimals, the ticks of the axis stay as they are.
    """
    ticker = require("matplotlib.ticker", extra="plot", purpose="drawing")
    known = sorted({float(place) for place in places})
    if any(len(_tick(x).partition(".")[2]) > _DECIMALS for x in known):
        return  # points at numbers that are not round: those of the axis read better
    at = [math.log(x) for x in known] if logarithmic else known
    room = 0.75 * width / max(at[-1] - at[0], 1e-300)  # inches for one unit of the axis
    sizes = [_CHARACTER * (len(_tick(x)) + 1) for x in known]
    chosen = [len(known) - 1]
    for i in range(len(known) - 1):
        if all(abs(at[i] - at[j]) * room >= 0.5 * (sizes[i] + sizes[j]) for j in chosen):
            chosen.append(i)
    axes.set_xticks([known[i] for i in sorted(chosen)], [_tick(known[i]) for i in sorted(chosen)])
    axes.set_xticks([x for i, x in enumerate(known) if i not in chosen], minor=True)
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())


def thousands(axes: Axes) -> None:
    """Large numbers on the x axis with commas."""
    ticker = require("matplotlib.ticker", extra="plot", purpose="drawing")
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: _tick(value)))


def percents(axes: Axes, which: str) -> None:
    """Shares as percentages."""
    ticker = require("matplotlib.ticker", extra="plot", purpose="drawing")
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{100.0 * value:.6g} %"))


def round_numbers(last: int, most: int) -> list[int]:
    """1 and last, and what is between them: every number, or multiples of a round one; at most about ``most``.

    >>> round_numbers(5, 20), round_numbers(52, 20)
    ([1, 2, 3, 4, 5], [1, 5, 10, 15, 20, 25, 30, 35, 40, 45, 52])
    """
    if last <= most:
        return list(range(1, last + 1))
    step = next(k * 10**p for p in range(20) for k in (1, 2, 5) if k * 10**p * most >= last)
    return [1, *(x for x in range(step, last, step) if x > 1 and 2 * (last - x) > step), last]


def name_rows(axes: Axes, names: Sequence[str], shown: Sequence[str]) -> None:
    """Rows of a figure: names on the left, values in a column on the right, the first row on top."""
    axes.set_yticks(range(len(names)), list(names), parse_math=False)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", visible=False)
    for y, text in enumerate(shown):
        axes.annotate(text, (1.02, y), xycoords=("axes fraction", "data"), va="center_baseline", annotation_clip=False)
