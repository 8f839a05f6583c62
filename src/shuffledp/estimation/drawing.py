"""The figure of an estimate: a bar or a point per item, with its interval, and its numbers beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support import validation as check
from .._support.canvas import Labels, canvas
from .._support.figures import PART_BAR, TEXT_WIDTH, WITHIN_BAR, is_wide, users
from .._support.numbers import round_down
from .._support.text import shortened
from .._support.ticks import percents, thousands
from .._support.units import Amount, figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .estimate import Estimate

_Floats = NDArray[np.float64]
#: Items drawn by default.
MOST_ITEMS = 50
#: Inches that an item takes: of a few, and of many.
_LINE, _THIN, _FEW = 0.21, 0.16, 24
#: A bar this many times as long as any other, with its interval, is cut; the axis ends at this multiple of the others.
_FAR, _ROOM = 5.0, 1.25
#: Characters of a label beside the bars, at most, per inch of the figure.
_SHORT = 6.0
#: The gap in front of what is set apart, in items.
_GAP = 0.7
#: The marks of what is known.
TRUTH: dict[str, Any] = {"color": "#d55e00", "markersize": 4.5, "markeredgewidth": 1.2, "zorder": 4, "label": "truth"}
#: The lines of intervals.
INTERVAL: dict[str, Any] = {"ecolor": "#000000", "elinewidth": 1.0, "linestyle": "none"}


class Look(NamedTuple):
    """How an estimate is to be drawn, as :meth:`Estimate.plot` was asked."""

    level: float = 0.95
    of: str = "users"
    most: int = MOST_ITEMS
    width: float = TEXT_WIDTH
    truth: Estimate | None = None
    ax: Axes | None = None
    labels: Labels | None = None

    @property
    def percent(self) -> str:
        """The level."""
        return f"{round_down(100 * self.level, 6)}%"

    @property
    def intervals(self) -> str:
        """What the intervals cover, for the title."""
        return f" with {self.percent} intervals for {'these users' if self.of == 'users' else 'the population'}"

    @staticmethod
    def title(what: str, estimate: Estimate) -> list[str]:
        """The question, if it is known, and what is drawn; it says so where nothing may be released."""
        seeded = " (seeded: not for release)" if estimate.for_release is False else ""
        known = estimate.provenance
        return [what + seeded] if known is None else [known.title, what + seeded]

    def largest(self, value: _Floats, what: str = "items") -> NDArray[np.intp]:
        """The places of what is drawn: all in their order, or the largest ones."""
        most = check.whole("most", self.most, low=1, high=10_000, hint=f"it is the number of {what} to draw")
        return np.arange(value.size) if value.size <= most else np.argsort(-value, kind="stable")[:most]


class Drawn(NamedTuple):
    """The items of a figure, from top to bottom: where they are, and their numbers."""

    at: NDArray[np.intp]
    place: _Floats
    value: _Floats
    low: _Floats
    high: _Floats
    apart: NDArray[np.bool_]

    @property
    def bottom(self) -> float:
        """Where the axis of the items ends."""
        return float(self.place.max(initial=0.0)) + 0.6


def drawn_items(estimate: Estimate, look: Look) -> Drawn:
    """The largest items, largest first unless they have an order of their own; the rest of all is set apart, last."""
    value = np.where(np.isfinite(estimate.stderr), estimate.value, np.nan).ravel()  # without those not estimated
    at = look.largest(value)
    names = estimate.labels
    apart = np.array([bool(estimate.rest) and names[i] == estimate.rest for i in at], dtype=bool)
    keys = np.where(np.isfinite(value[at]), -value[at], np.inf)
    given = estimate.ordered or not (estimate.is_share and estimate.names)  # numbers of columns, indices
    order = np.lexsort([np.arange(at.size) if given else keys, apart])
    at, apart = at[order], apart[order]
    sides = (value, value) if estimate.step else estimate.interval(look.level, of=look.of)
    low, high = (side.ravel()[at] for side in sides)
    place = np.arange(at.size) + _GAP * apart * (~apart).any()
    return Drawn(at, place, value[at], low, high, apart)


def draw_estimate(estimate: Estimate, look: Look) -> Figure:
    """Shares and counts as bars, other numbers as points on their scale, each with its interval and its numbers.

    Largest first, unless the items have an order of their own; of more than ``most`` items the largest.  What is not
    listed ("other") comes last, in gray.  An estimate after a consistency step has no intervals; an infinite interval
    is not drawn.  One bar that is far longer than all others is cut, so that the others can be read.

    Examples
    --------
    >>> import numpy as np
    >>> from shuffledp.estimation.estimate import Estimate
    >>> e = Estimate(value=np.array([0.4, -0.1, 0.7]), stderr=np.array([0.1, 0.1, 0.1]), n=100)
    >>> [text.get_text() for text in draw_estimate(e, Look(most=2)).axes[0].get_yticklabels()]
    ['2', '0']
    """
    items, names = drawn_items(estimate, look), estimate.labels
    known = None if look.truth is None else look.truth.value.ravel()[items.at]
    bars = estimate.is_share or not estimate.quantity
    far = _far(items, known) if bars else None
    cut = "" if far is None else names[items.at[far]]
    some = items.at.size < estimate.value.size
    height = 1.15 + (_LINE if items.at.size <= _FEW else _THIN) * (items.bottom + 0.6)
    with canvas(_title(estimate, look, some, cut), look.width, height, ax=look.ax, labels=look.labels) as page:
        axes = page.axes
        called = page.said(names)
        if bars:
            draw_bars(axes, items)
        else:
            draw_points(axes, items, estimate)
        draw_intervals(axes, items)
        if known is not None:
            axes.plot(known, items.place, "x", **TRUTH)
            page.legend(*axes.get_legend_handles_labels())
        shown = [shortened(called[i], int(_SHORT * page.width)) for i in items.at]
        name_items(axes, items, shown)
        write_numbers(axes, items, numbers_of(estimate, items, look.level, wide=is_wide(page.width)))
        label_scale(axes, estimate)
        if far is not None:
            _cut(axes, items, far, known)
    return page.figure


def _title(estimate: Estimate, look: Look, some: bool, cut: str) -> list[str]:
    """What is drawn; ``cut`` is the item whose bar goes on."""
    size = estimate.value.size
    title = f"{'Estimate' if size == 1 else f'Estimates of {size:,} items'} from {users(estimate.n)}"
    title += f" after the step {estimate.step!r}" if estimate.step else look.intervals
    title += f"; the {look.most:,} largest are drawn" if some else ""
    title += f"; the bar of {shortened(cut, 12)} is cut" if cut else ""
    return look.title(title, estimate)


# -- parts that figures of answers share ------------------------------------------------------------------------------


def draw_bars(axes: Axes, items: Drawn) -> None:
    """A bar per item, gray where it is set apart."""
    for some, look in ((~items.apart, WITHIN_BAR), (items.apart, PART_BAR)):
        axes.barh(items.place[some], items.value[some], 0.72, **look)
    axes.axvline(0.0, color="#000000", linewidth=0.6)


def draw_points(axes: Axes, items: Drawn, estimate: Estimate) -> None:
    """A point per item, on the whole scale of what it can be."""
    sure = np.isfinite(items.value)
    axes.plot(items.value[sure], items.place[sure], "o", color="#0072b2", markersize=4.0, zorder=3)
    limits = None if estimate.constraint is None else estimate.constraint.limits
    ends = [] if limits is None else [np.min(limits[0]), np.max(limits[1])]
    if ends and np.all(np.isfinite(ends)):
        reached = [x for x in (*items.value, *items.low, *items.high) if np.isfinite(x)]
        low, high = min([ends[0], *reached]), max([ends[1], *reached])
        margin = 0.02 * (high - low)
        axes.set_xlim(low - margin, high + margin)
        for end in ends:
            axes.axvline(end, color="#888888", linewidth=0.6)


def draw_intervals(axes: Axes, items: Drawn) -> None:
    """A line per item from end to end of its interval, where it is finite and there is one."""
    sure = np.isfinite(items.low) & np.isfinite(items.high) & (items.low < items.high)
    reach = np.abs(np.array([items.value - items.low, items.high - items.value]))[:, sure]
    cap = min(3.5, 90.0 / max(items.at.size, 1))
    axes.errorbar(items.value[sure], items.place[sure], xerr=reach, capsize=cap, zorder=3.5, **INTERVAL)


def name_items(axes: Axes, items: Drawn, shown: Sequence[str]) -> None:
    """Labels on the left, the first item on top, and only vertical lines behind."""
    axes.set_yticks(items.place, list(shown), fontsize=8 if items.at.size <= _FEW else 7, parse_math=False)
    axes.set_ylim(items.bottom, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)


def write_numbers(axes: Axes, items: Drawn, texts: Sequence[str]) -> None:
    """In a column on the right."""
    size = 7.5 if items.at.size <= _FEW else 6.5
    where: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "va": "center_baseline", "annotation_clip": False}
    for y, text in zip(items.place, texts, strict=True):
        axes.annotate(text, (1.02, y), fontsize=size, **where)


def numbers_of(estimate: Estimate, items: Drawn, level: float, *, wide: bool) -> list[str]:
    """Value and interval of every item in the figures that it supports; of shares the number of users too."""
    scale, unit = (100.0, "%") if estimate.quantity == "share of users" else (1.0, estimate.unit)
    texts = []
    for value, low, high in zip(items.value, items.low, items.high, strict=True):
        if np.isnan(value):
            texts.append("unknown")
            continue
        amount = Amount(scale * value, scale * low, scale * high, unit, level)
        text = _said(amount) if wide or not estimate.is_share else f"{amount.texts[0]} {unit}".rstrip()
        if wide and unit == "%":
            text += f", {Amount(estimate.n * value, estimate.n * low, estimate.n * high).texts[0]} users"
        texts.append(text)
    return texts


def _said(amount: Amount) -> str:
    """12.0 min (11.8 to 12.3)."""
    if not amount.low < amount.high:
        return f"{figures(amount.value, 4)} {amount.unit}".rstrip()
    value, low, high = amount.texts
    return f"{value}{' ' + amount.unit if amount.unit else ''} ({low} to {high})"


def label_scale(axes: Axes, estimate: Estimate) -> None:
    """What the numbers are, below their axis."""
    axes.set_xlabel((estimate.quantity or "estimate") + (f" ({estimate.unit})" if estimate.unit else ""))
    if estimate.quantity == "share of users":
        percents(axes, "x")
    elif estimate.is_share:
        thousands(axes)


def _far(items: Drawn, known: _Floats | None) -> int | None:
    """The place of the one item that is far above all others, if there is one."""
    reached = _reached(items, known)
    if reached.size < 3:
        return None
    second, first = np.sort(reached)[-2:]
    return int(np.argmax(reached)) if first > _FAR * second > 0.0 else None


def _reached(items: Drawn, known: _Floats | None) -> _Floats:
    ends = [items.value, np.where(np.isfinite(items.high), items.high, items.value)]
    return np.asarray(np.max(ends if known is None else [*ends, known], axis=0))


def _cut(axes: Axes, items: Drawn, far: int, known: _Floats | None) -> None:
    """End the axis at the others; an arrow says that the bar goes on, and its number stands beside it."""
    start = float(np.minimum(items.value, np.where(np.isfinite(items.low), items.low, 0.0)).min())
    end = _ROOM * float(np.delete(_reached(items, known), far).max())
    axes.set_xlim(_ROOM * min(start, 0.0), end)
    box = {"facecolor": "#ffffff", "edgecolor": "none", "pad": 1.0}
    axes.annotate("→", (end, items.place[far]), fontsize=7, ha="right", va="center", bbox=box)
