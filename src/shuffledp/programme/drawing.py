"""The figure of a check: what a programme spends, against its budget."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .._support.canvas import Labels, canvas
from .._support.figures import BEYOND_BAR, PART_BAR, TEXT_WIDTH, WITHIN_BAR, at_delta
from .._support.numbers import round_down, round_up
from .._support.text import shortened
from .._support.ticks import name_rows
from ..accounting.guarantee import not_below
from ..composing.composed_guarantee import rounds_in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .result import Check

#: Entries drawn, the most expensive ones, and the longest name of one.
_MOST, _LONGEST = 20, 40


def draw_check(
    check: Check, *, width: float = TEXT_WIDTH, ax: Axes | None = None, labels: Labels | None = None
) -> Figure:
    """A bar for all rounds together, one for a single round of every entry, and a line at the budget.

    Of more than 20 entries the 20 with the largest eps are drawn.  An infinite eps is written, not drawn.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> found = sdp.check({"version": 1, "target": {"epsilon": 1, "delta": "1e-8"},
    ...                    "rounds": [{"mechanism": "grr:eps0=2,d=64", "users": 1000, "count": 2}]})
    >>> [text.get_text() for text in draw_check(found).axes[0].get_yticklabels()]
    ['all rounds together', 'one of 2: grr:eps0=2,d=64']
    """
    kept = sorted(check.rounds, key=lambda entry: -entry.epsilon)[:_MOST]
    entries = [entry for entry in check.rounds if entry in kept]
    bars = [("all rounds together", check.epsilon)]
    named = [e.name if e.count == 1 else f"one of {e.count:,}: {e.name}" for e in entries]
    bars += [(shortened(name, _LONGEST), e.epsilon) for name, e in zip(named, entries, strict=True)]
    number = rounds_in_words(sum(entry.count for entry in check.rounds))
    left_out = len(check.rounds) - len(entries)
    title = f"{check.verdict} (ε of {number} {at_delta(check.delta)}, {check.neighbors})"
    title += f"; {left_out} entries with a smaller ε left out" if left_out else ""
    look = WITHIN_BAR if check.within else BEYOND_BAR
    with canvas(title, width, 1.3 + 0.22 * len(bars), ax=ax, labels=labels) as page:
        axes = page.axes
        for y, (_, eps) in enumerate(bars):
            if math.isfinite(eps):
                axes.barh(y, eps, height=0.6, **(PART_BAR if y else look))
        target = f"budget ε = {round_down(check.target_epsilon)}"
        axes.axvline(check.target_epsilon, color="#D55E00", linestyle=(0, (5, 1.5)), label=target)
        if check.lower is not None:
            least = f"no analysis can claim less than {not_below(check.lower, check.delta)}"
            axes.axvline(check.lower, color="#000000", linestyle=(0, (1, 1)), label=least)
        name_rows(axes, page.said([name for name, _ in bars]), [round_up(eps) for _, eps in bars])
        axes.grid(axis="y", visible=False)
        axes.grid(axis="x", visible=True)
        axes.set_xlim(left=0.0)
        axes.set_xlabel("central ε (smaller is better)")
        page.legend(*axes.get_legend_handles_labels())
    return page.figure
