"""The figure of an estimate: a bar per item, with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support import validation as check
from .._support.figures import TEXT_WIDTH, WITHIN_BAR, titled, users
from .._support.numbers import round_down
from .._support.text import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .._support.figures import Labels
    from .estimate import Estimate

_Floats = NDArray[np.float64]
#: Items drawn by default.
MOST_ITEMS = 50
#: Labels of items that fit beside each other, in characters per inch of the axes.
_CHARACTERS = 13.0
#: Labels longer than this are written beside horizontal bars instead of below; inches that such a bar takes.
_LONG, _LINE = 12, 0.15
#: A bar this many times as long as any other, with its interval, is cut; the axis ends at this multiple of the others.
_FAR, _ROOM = 5.0, 1.25
#: Characters of a label beside lying bars, at most, per inch of the figure.
_SHORT = 6.0
#: The marks of what is known.
TRUTH: dict[str, Any] = {"color": "#d55e00", "markersize": 4.0, "label": "truth"}


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
    def origin(title: str, estimate: Estimate) -> str:
        """The title, which says so where nothing may be released."""
        return title + (" (seeded: not for release)" if estimate.for_release is False else "")

    def largest(self, value: _Floats, what: str = "items") -> NDArray[np.intp]:
        """The places of what is drawn: all in their order, or the largest ones."""
        most = check.whole("most", self.most, low=1, high=10_000, hint=f"it is the number of {what} to draw")
        return np.arange(value.size) if value.size <= most else np.argsort(-value, kind="stable")[:most]


def draw_estimate(estimate: Estimate, look: Look) -> Figure:
    """A bar per item with its interval, in their order; of more than ``most`` items the largest, largest first.

    An estimate after a consistency step has no intervals; an infinite interval is not drawn.  One bar that is far
    longer than all others, as "other" may be, is cut and its value written on it, so that the others can be read.

    Examples
    --------
    >>> import numpy as np
    >>> from shuffledp.estimation.estimate import Estimate
    >>> e = Estimate(value=np.array([0.7, -0.1, 0.4]), stderr=np.array([0.1, 0.1, 0.1]), n=100)
    >>> [text.get_text() for text in draw_estimate(e, Look(most=2)).axes[0].get_xticklabels()]
    ['0', '2']
    """
    value, names, width = estimate.value.ravel(), estimate.labels, look.width
    at = look.largest(value)
    some = at.size < value.size
    sides = (value, value) if estimate.step else estimate.interval(look.level, of=look.of)
    low, high = (side.ravel() for side in sides)
    value, low, high = value[at], low[at], high[at]
    known = None if look.truth is None else look.truth.value.ravel()[at]
    sure = np.isfinite(low) & np.isfinite(high)
    reached = np.max([value, np.where(sure, high, value), value if known is None else known], axis=0)
    far = _far(reached)
    shown = [shortened(names[i], int(_SHORT * width)) for i in at]
    every = max(1, -(-sum(len(name) + 1 for name in shown) // int(_CHARACTERS * width)))
    lying = every > 1 and max(map(len, shown), default=0) > _LONG
    said = (estimate.quantity or "estimate") + (f" ({estimate.unit})" if estimate.unit else "")
    height = max(2.8, 0.8 + _LINE * at.size) if lying else 2.8
    with titled(_title(estimate, look, some, "" if far is None else names[at[far]]), width, height) as figure:
        axes = figure.subplots()
        _bars(axes, value, None if estimate.step else (low, high), sure, lying)
        if known is not None:
            place = np.arange(at.size)
            axes.plot(*((known, place) if lying else (place, known)), "x", **TRUTH)
            axes.legend(frameon=False)
        if lying:
            _beside(axes, shown, said)
        else:
            _below(axes, shown, said, every, largest_first=some)
        if far is not None:
            ends = np.minimum(value, np.where(np.isfinite(low), low, 0.0)).min(), np.delete(reached, far).max()
            _cut(axes, far, float(value[far]), _ROOM * min(ends[0], 0.0), _ROOM * ends[1], lying)
    return figure


def _title(estimate: Estimate, look: Look, some: bool, cut: str) -> str:
    """What is drawn; ``cut`` is the item whose bar goes on."""
    size = estimate.value.size
    title = f"{'Estimate' if size == 1 else f'Estimates of {size:,} items'} from {users(estimate.n)}"
    title += f" after the step {estimate.step!r}" if estimate.step else look.intervals
    title += f"; the {look.most:,} largest are drawn" if some else ""
    title += f"; the bar of {shortened(cut, _LONG)} is cut" if cut else ""
    return look.origin(title, estimate)


def _bars(
    axes: Any, value: _Floats, ends: tuple[_Floats, _Floats] | None, sure: NDArray[np.bool_], lying: bool
) -> None:
    """A bar per item, with its interval where it is finite."""
    place = np.arange(value.size)
    (axes.barh if lying else axes.bar)(place, value, 0.8, **WITHIN_BAR)
    if ends is None:
        return
    reach = np.abs(np.array([value - ends[0], ends[1] - value]))[:, sure]
    look: dict[str, Any] = {"ecolor": "#000000", "elinewidth": 0.9, "capsize": min(2.5, 90.0 / max(value.size, 1))}
    look["xerr" if lying else "yerr"] = reach
    axes.errorbar(*((value[sure], place[sure]) if lying else (place[sure], value[sure])), linestyle="none", **look)


def _beside(axes: Any, shown: list[str], said: str) -> None:
    """Labels beside lying bars, the first one on top."""
    axes.set_yticks(np.arange(len(shown)), shown, fontsize=7, parse_math=False)
    axes.set_ylim(max(len(shown), 1) - 0.3, -0.7)
    axes.axvline(0.0, color="#000000", linewidth=0.6)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(said)


def _below(axes: Any, shown: list[str], said: str, every: int, *, largest_first: bool) -> None:
    """Labels below standing bars; all of them where the order does not show which it is."""
    place = np.arange(len(shown))
    if every == 1 or not largest_first:
        axes.set_xticks(place[::every], shown[::every], parse_math=False)
    else:
        axes.set_xticks(place, shown, rotation=90, fontsize=7, parse_math=False)
    axes.axhline(0.0, color="#000000", linewidth=0.6)
    axes.set_xlim(-0.7, max(len(shown), 1) - 0.3)
    axes.grid(axis="x", visible=False)
    axes.set_xlabel("item, largest first" if largest_first else "item")
    axes.set_ylabel(said)


def _far(reached: NDArray[np.float64]) -> int | None:
    """The place of the one item that is far above all others, if there is one."""
    if reached.size < 3:
        return None
    second, first = np.sort(reached)[-2:]
    return int(np.argmax(reached)) if first > _FAR * second > 0.0 else None


def _cut(axes: Any, place: int, value: float, start: float, end: float, lying: bool) -> None:
    """End the axis, and write the value on the bar that goes on."""
    (axes.set_xlim if lying else axes.set_ylim)(start, end)
    at = (end, place) if lying else (place, end)
    look = {"ha": "right", "va": "center"} if lying else {"ha": "center", "va": "top"}
    box = {"facecolor": "#ffffff", "edgecolor": "none", "pad": 1.0}
    axes.annotate(f"{value:.3g} {'→' if lying else '↑'}", at, fontsize=7, bbox=box, **look)
