"""The figures of a comparison, of a sweep and of a table of batches."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support import figures
from .._support import validation as check
from .._support.canvas import Labels, canvas
from .._support.figures import CURVE, LINES, TEXT_WIDTH, at_delta, users
from .._support.numbers import round_down
from .._support.ticks import logarithmic, name_rows, ticks_at
from ..bounds import BOUNDS
from ..errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .batches import BatchTable
    from .comparison import Comparison, Row
    from .sweeps import Sweep

#: Curves of a sweep by default.
MOST_CURVES = 6

# -- a comparison: one dot per bound --------------------------------------------------------------------------------

#: The label of the line at the largest lower bound.
_LEAST = "no analysis can claim less"
#: The look of a row and its words in the legend; unsound formulas are hollow.
_DOTS: dict[str, dict[str, Any]] = {
    "upper": {"marker": "o", "color": "#0072B2", "label": "upper bound"},
    "lower": {"marker": ">", "color": "#000000", "label": "lower bound"},
    "not a bound": {"marker": "o", "color": "#D55E00", "mfc": "white", "label": "formula as printed, not a bound"},
}


def draw_comparison(
    comparison: Comparison, *, width: float = TEXT_WIDTH, ax: Axes | None = None, labels: Labels | None = None
) -> Figure:
    """A dot per bound, tightest on top, and a line at the best lower bound; an infinite eps is written, not drawn.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> figure = draw_comparison(sdp.compare("grr:eps0=1,d=4", n=1000, delta=1e-6, bounds=["blanket", "local"]))
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['blanket', 'local']
    """
    rows = comparison.rows
    if not rows:
        raise ParameterError("comparison must have a row to draw, got none; choose bounds that apply.")
    finite = [row.epsilon for row in rows if math.isfinite(row.epsilon)]
    columns = 3 if figures.is_wide(width) else 1
    title = f"ε of {users(comparison.n)} running {comparison.mechanism} {at_delta(comparison.delta)}"
    title += f", {comparison.neighbors}"
    entries = len({row.kind for row in rows}) + (comparison.lower is not None)
    around = figures.wrapped(title, width).count("\n") + math.ceil(entries / columns)
    # title, legend and axis label need their height even with few rows
    height = 0.165 * len(rows) + max(0.95, 0.75 + 0.165 * around)
    with canvas(title, width, height, ax=ax, labels=labels) as page:
        axes = page.axes
        for kind, look in _DOTS.items():
            held = [(row.epsilon, y) for y, row in enumerate(rows) if row.kind == kind and math.isfinite(row.epsilon)]
            if held:
                axes.plot(*zip(*held, strict=True), linestyle="none", **look)
        if comparison.lower is not None and math.isfinite(comparison.lower.epsilon):
            axes.axvline(comparison.lower.epsilon, color="#000000", linewidth=0.8, zorder=0.9, label=_LEAST)
        if finite and min(finite) > 0.0 and max(finite) > 10.0 * min(finite):
            logarithmic(axes, "x", min(finite), max(finite))
        name_rows(axes, page.said([row.bound for row in rows]), [row.shown for row in rows])
        axes.set_xlabel("central ε (smaller is better)")
        page.legend(*axes.get_legend_handles_labels())
    return page.figure


# -- a sweep: one curve per bound -----------------------------------------------------------------------------------

#: How "auto" is drawn, unlike all bounds.
_AUTO: dict[str, Any] = {"color": "#000000", "linestyle": "-", "marker": "*"}
VARIABLES = {"eps0": "local budget ε₀", "n": "number of users n", "delta": "δ"}
#: What is drawn: its words in the title, on the axis, and which way is better.
QUANTITIES = {
    "epsilon": ("ε", "central ε", "smaller"),
    "ratio": ("Amplification", "amplification ε₀/ε", "larger"),
}


def draw_sweep(
    sweep: Sweep,
    *,
    quantity: str = "epsilon",
    most: int = MOST_CURVES,
    width: float = TEXT_WIDTH,
    ax: Axes | None = None,
    labels: Labels | None = None,
) -> Figure:
    """A curve per bound: eps, or the ratio of the local budget to it, against the swept variable.

    Of more than ``most`` bounds the largest lower bound, the local budget and the tightest sound bounds are drawn, and
    the legend says how many are left out.  A bound looks the same in every figure.  Formulas that are not bounds
    have hollow markers and say so in the legend; values that are absent, infinite or (on the logarithmic axis) zero
    leave a gap.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> s = sdp.sweep("grr:d=4", eps0=[0.5, 1.0, 2.0], n=1000, delta=1e-6, bounds=["blanket", "general"])
    >>> len(draw_sweep(s, quantity="ratio").axes[0].lines)
    2
    """
    check.one_of("quantity", quantity, QUANTITIES)
    most = check.whole("most", most, low=1, high=1000, hint="it is the number of curves to draw")
    if not sweep.bounds:
        raise ParameterError("sweep must have a curve to draw, got none; choose bounds that apply.")
    word, axis, better = QUANTITIES[quantity]
    chosen = drawn_bounds(sweep, most)
    left_out = len(sweep.bounds) - len(chosen)
    wide, lines = figures.is_wide(width), len(chosen) + bool(left_out)
    height = max(3.0, 0.6 + 0.18 * lines) if wide else 2.5 + 0.17 * lines
    with canvas(_sweep_title(sweep, word), width, height, ax=ax, labels=labels) as page:
        axes = page.axes
        step = max(1, len(sweep.values) // 8)
        drawn: list[float] = []
        for i, name in enumerate(chosen):
            values = sweep.epsilon(name) if quantity == "epsilon" else sweep.ratio(name)
            shown = np.ma.masked_where((values.data <= 0.0) | np.isinf(values.data), values)
            drawn.extend(shown.compressed())
            # staggered markers keep coinciding curves visible
            axes.plot(sweep.values, shown, markevery=(i % step, step), **look_of(sweep.row(name)))
        if drawn:
            logarithmic(axes, "y", min(drawn), max(drawn))
        if sweep.variable != "eps0":
            logarithmic(axes, "x", min(sweep.values), max(sweep.values))
        room = page.width - (2.4 if wide and ax is None else 0.0)  # beside the legend
        ticks_at(axes, sweep.values, room, logarithmic=sweep.variable != "eps0")
        axes.set_xlabel(VARIABLES[sweep.variable])
        axes.set_ylabel(f"{axis} ({better} is better)" if wide else axis)
        handles, texts = axes.get_legend_handles_labels()
        if quantity == "epsilon":  # in the order in which the curves end
            handles, texts = handles[::-1], texts[::-1]
        page.legend(handles, texts, beside=wide, left_out=left_out)
    return page.figure


def drawn_bounds(sweep: Sweep, most: int) -> list[str]:
    """At most ``most`` bounds, in the order of ``sweep.bounds``.

    First the tightest sound upper bound, the largest lower bound and the local budget; then further sound upper
    bounds, tightest first (by their places at all values), lower bounds, and formulas that are not bounds.
    """
    places = dict.fromkeys(sweep.bounds, 0)
    for point in sweep.points:
        order = [row.bound for row in point.rows]
        for name in places:
            places[name] += order.index(name) if name in order else len(BOUNDS)
    ranked = sorted(places, key=places.__getitem__)
    upper = [name for name in ranked if sweep.row(name).kind == "upper"]
    lower = [name for name in reversed(ranked) if sweep.row(name).kind == "lower"]
    local = [name for name in upper if name == "local"]
    wanted = dict.fromkeys([*upper[:1], *lower[:1], *local, *upper, *lower, *ranked])
    kept = set(list(wanted)[:most])
    return [name for name in sweep.bounds if name in kept]


def _sweep_title(sweep: Sweep, word: str) -> str:
    first = sweep.points[0]
    of = f" of {users(first.n)}" if sweep.variable != "n" else " of shuffled users"
    same = all(point.delta == first.delta for point in sweep.points)
    at = f" {at_delta(sweep.rule or first.delta)}" if sweep.rule or same else ""
    return f"{word}{of} running {sweep.mechanism}{at}, {first.neighbors}"


def look_of(row: Row) -> dict[str, Any]:
    """How a bound is drawn, the same in every figure."""
    look = _AUTO if row.bound == "auto" else LINES[list(BOUNDS).index(row.bound) % len(LINES)]
    if row.kind == "upper":
        return {**look, "label": row.bound}
    # hollow: not a bound; wide: a lower bound, which stays visible under an upper one that meets it
    special = {"linewidth": 3.0, "markersize": 6.0} if row.sound else {"markerfacecolor": "white"}
    return {**look, **special, "label": f"{row.bound} ({row.kind})"}


# -- batches: eps against the size ----------------------------------------------------------------------------------


def draw_batches(
    table: BatchTable,
    *,
    epsilon: float | None = None,
    width: float = TEXT_WIDTH,
    ax: Axes | None = None,
    labels: Labels | None = None,
) -> Figure:
    """eps against the size of the batch, and the target with the smallest batch that meets it.

    A size without a finite eps leaves a gap.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> table = sdp.batch_table("grr:eps0=2,d=16", delta=1e-6, n=[100, 1000, 10_000])
    >>> [line.get_label() for line in draw_batches(table, epsilon=0.5).axes[0].lines]
    ['ε of the batch', 'target ε = 0.5', 'release from 224 users on']
    """
    target = None
    if epsilon is not None:
        target = check.in_range("epsilon", epsilon, low=0.0, high=math.inf, low_open=True, high_open=True)
    title = f"ε of a batch running {table.mechanism} {at_delta(table.rule or table.delta)}, {table.neighbors}"
    with canvas(title, width, 3.0 if figures.is_wide(width) else 3.3, ax=ax, labels=labels) as page:
        axes = page.axes
        eps = np.ma.masked_less_equal(np.ma.masked_invalid(table.epsilons), 0.0)
        axes.plot(table.sizes, eps, **CURVE, label="ε of the batch")
        seen = [*eps.compressed(), *([] if target is None else [target])]
        if target is not None:
            axes.axhline(target, color="#000000", linestyle=(0, (5, 1.5)), label=f"target ε = {round_down(target)}")
            least = table.release_from(target)
            if least is not None:
                label = f"release from {users(least)} on"
                axes.axvline(least, color="#D55E00", linestyle=(0, (1, 1)), label=label)
        if seen:
            logarithmic(axes, "y", min(seen), max(seen))
        logarithmic(axes, "x", min(table.sizes), max(table.sizes))
        ticks_at(axes, table.sizes, page.width, logarithmic=True)
        axes.set_xlabel("users in the batch n")
        axes.set_ylabel("central ε (smaller is better)")
        page.legend(*axes.get_legend_handles_labels())
    return page.figure
