"""The figure of keys with values: shares above, means below, each with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._support import figures
from .._support import validation as check
from .._support.figures import WITHIN_BAR, users
from .._support.numbers import round_down
from .._support.text import shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..estimation.estimate import Estimate
    from .key_value_answer import KeyValueAnswer

#: Characters of a label, at most.
_LONGEST = 24


def draw_key_values(
    answer: KeyValueAnswer, *, level: float, of: str, most: int, width: float, truth: Estimate | None = None
) -> Figure:
    """Bars for the shares of the keys, points for the means; of more than ``most`` keys those held most."""
    most = check.whole("most", most, low=1, high=10_000, hint="it is the number of keys to draw")
    size = answer.value.size
    at = np.arange(size) if size <= most else np.argsort(-answer.value, kind="stable")[:most]
    whom = "these users" if of == "users" else "the population"
    title = f"Keys of {users(answer.n)} with {round_down(100 * level, 6)}% intervals for {whom}"
    if size > most:
        title += f"; the {most:,} held most are drawn"
    if answer.for_release is False:
        title += " (seeded: not for release)"
    known = getattr(truth, "means", None)
    with figures.style():
        figure = figures.new_figure(width, 4.2)
        above, below = figure.subplots(2, 1, sharex=True)
        place = np.arange(at.size)
        look = {"ecolor": "#000000", "elinewidth": 0.9, "capsize": min(2.5, 90.0 / at.size), "linestyle": "none"}
        above.bar(place, answer.value[at], width=0.8, **WITHIN_BAR)
        for axes, part in ((above, answer), (below, answer.means)):
            low, high = (end[at] for end in part.interval(level, of=of))
            value = np.where(np.isfinite(part.value[at]), part.value[at], 0.5 * (low + high))
            reach = np.abs(np.array([value - low, high - value]))
            axes.errorbar(place, value, yerr=reach, fmt="none" if part is answer else "o", markersize=3.0, **look)
        if truth is not None:
            above.plot(place, truth.value[at], "x", color="#d55e00", markersize=4.0, label="truth")
            above.legend(frameon=False)
        if known is not None:
            below.plot(place, known.value[at], "x", color="#d55e00", markersize=4.0)
        above.axhline(0.0, color="#000000", linewidth=0.6)
        above.set_ylabel("share of users")
        room = 0.05 * (answer.means.high - answer.means.low)
        below.set_ylim(answer.means.low - room, answer.means.high + room)
        below.set_ylabel("mean value" + (f" ({answer.means.unit})" if answer.means.unit else ""))
        names = answer.labels
        shown = [shortened(names[i], _LONGEST) for i in at]
        turned = sum(len(name) + 1 for name in shown) > 13 * width
        below.set_xticks(place, shown, parse_math=False, **({"rotation": 90, "fontsize": 7} if turned else {}))
        for axes in (above, below):
            axes.grid(axis="x", visible=False)
        figures.add_title(figure, title)
    return figure
