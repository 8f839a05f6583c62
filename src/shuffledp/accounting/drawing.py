"""The figures of a comparison, of a table of batches, of a trade-off function and of a curve from above and below."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .._support import figures
from .._support import validation as check
from .._support.canvas import Placing, canvas
from .._support.figures import CURVE, SQUARE_WIDTH, TEXT_WIDTH, at_delta, users
from .._support.numbers import round_down, round_up
from .._support.ticks import logarithmic, name_rows, ticks_at
from ..errors import ParameterError
from ..numerics.composition.gaussian import gaussian_tradeoff

if TYPE_CHECKING:
    from .._support.canvas import Figure
    from .batches import BatchTable
    from .comparison import Comparison
    from .tradeoffs import TradeOff
    from .two_sides import TwoSided

# -- a comparison: one dot per bound --------------------------------------------------------------------------------

#: The label of the line at the largest lower bound.
_LEAST = "no analysis can claim less"
#: The look of a row and its words in the legend; unsound formulas are hollow.
_DOTS: dict[str, dict[str, Any]] = {
    "upper": {"marker": "o", "color": "#0072B2", "label": "upper bound"},
    "lower": {"marker": ">", "color": "#000000", "label": "lower bound"},
    "not a bound": {"marker": "o", "color": "#D55E00", "mfc": "white", "label": "formula as printed, not a bound"},
}


def draw_comparison(comparison: Comparison, **where: Unpack[Placing]) -> Figure:
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
    width = where.get("width", TEXT_WIDTH)
    columns = 3 if figures.is_wide(width) else 1
    title = f"ε of {users(comparison.n)} running {comparison.mechanism} {at_delta(comparison.delta)}"
    title += f", {comparison.neighbors}"
    entries = len({row.kind for row in rows}) + (comparison.lower is not None)
    around = figures.wrapped(title, width).count("\n") + math.ceil(entries / columns)
    # title, legend and axis label need their height even with few rows
    height = 0.165 * len(rows) + max(0.95, 0.75 + 0.165 * around)
    with canvas(title, height=height, **where) as page:
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
        page.explain("central ε (smaller is better)")
    return page.figure


# -- batches: eps against the size ----------------------------------------------------------------------------------


def draw_batches(table: BatchTable, *, epsilon: float | None = None, **where: Unpack[Placing]) -> Figure:
    """eps against the size of the batch, and the target with the smallest batch that meets it.

    A size without a finite eps leaves a gap.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> table = sdp.batch_table("grr:eps0=2,d=16", delta=1e-6, n=[100, 1000, 10_000])
    >>> [line.get_label() for line in draw_batches(table, epsilon=0.5).axes[0].lines]
    ['ε of the batch', 'target ε = 0.5', 'release from 224 users on']
    """
    target = None if epsilon is None else check.inside("epsilon", epsilon)
    title = f"ε of a batch running {table.mechanism} {at_delta(table.rule or table.delta)}, {table.neighbors}"
    with canvas(title, **where) as page:
        axes = page.axes
        eps = np.ma.masked_less_equal(np.ma.masked_invalid(table.epsilons), 0.0)
        axes.plot(table.sizes, eps, **CURVE, label="ε of the batch")
        seen = eps.compressed().tolist()
        if target is not None:
            seen.append(target)
            axes.axhline(target, color="#000000", linestyle=(0, (5, 1.5)), label=f"target ε = {round_down(target)}")
            least = table.release_from(target)
            if least is not None:
                label = f"release from {users(least)} on"
                axes.axvline(least, color="#D55E00", linestyle=(0, (1, 1)), label=label)
        if seen:
            logarithmic(axes, "y", min(seen), max(seen))
        logarithmic(axes, "x", min(table.sizes), max(table.sizes))
        ticks_at(axes, table.sizes, page.width, logarithmic=True)
        page.explain("users in the batch n", "central ε (smaller is better)")
    return page.figure


# -- what is guaranteed, and what an attack reaches -----------------------------------------------------------------

_GUARANTEED: dict[str, Any] = {"color": "#0072B2", "linestyle": "-"}
_ATTACK: dict[str, Any] = {"color": "#D55E00", "linestyle": (0, (5, 1.5))}
_GAUSSIAN: dict[str, Any] = {"color": "#009E73", "linestyle": (0, (1, 1))}
_NOTHING: dict[str, Any] = {"color": "#000000", "linewidth": 0.8, "zorder": 0.9}


def draw_tradeoff(tradeoff: TradeOff, **where: Unpack[Placing]) -> Figure:
    """beta against alpha: guaranteed, of an attack, of Gaussian DP with the mu of the guarantee, and of a blind guess.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> figure = draw_tradeoff(sdp.tradeoff("grr:eps0=3,d=4", n=100))
    >>> [line.get_label() for line in figure.axes[0].lines]
    ['no information', 'guaranteed', 'Gaussian DP, μ = 0.723', 'an attack']
    """
    alpha = np.concatenate([np.linspace(0.0, 0.1, 101), np.linspace(0.1, 1.0, 181)[1:]])
    title = f"Errors of a test: {tradeoff.subject}, {tradeoff.neighbors}"
    square: Placing = {"width": SQUARE_WIDTH, **where}
    with canvas(title, height=(3.4, 3.8), **square) as page:
        axes = page.axes
        axes.plot([0.0, 1.0], [1.0, 0.0], label="no information", **_NOTHING)
        axes.plot(alpha, tradeoff(alpha), label="guaranteed", **_GUARANTEED)
        if math.isfinite(tradeoff.mu):
            name = f"Gaussian DP, μ = {round_up(tradeoff.mu, 4)}"
            axes.plot(alpha, gaussian_tradeoff(tradeoff.mu, alpha), label=name, **_GAUSSIAN)
        attack = tradeoff.attack(alpha)
        if attack is not None:
            axes.plot(alpha, attack, label="an attack", **_ATTACK)
        axes.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), aspect="equal")
        page.explain("false-positive rate \N{GREEK SMALL LETTER ALPHA}", "false-negative rate β", beside=page.wide)
    return page.figure


def draw_two_sides(curve: TwoSided, **where: Unpack[Placing]) -> Figure:
    """Renyi divergences, or delta of eps, from above and from below; what is 0 or infinite leaves a gap.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> figure = draw_two_sides(sdp.renyi("grr:eps0=3,d=4", n=100, orders=[1.5, 2.0, 4.0, 8.0]))
    >>> [line.get_label() for line in figure.axes[0].lines]
    ['at most', 'at least']
    """
    words, (at, upper, lower) = curve._words, curve._curve
    sides = {"at most": (upper, _GUARANTEED), "at least": (lower, _ATTACK)}
    with canvas(f"{words.title}: {curve.subject}, {curve.neighbors}", **where) as page:
        axes, x, drawn = page.axes, at.reshape(-1), list[float]()
        for name, (values, look) in sides.items():
            if values is not None:
                shown = np.ma.masked_less_equal(np.ma.masked_invalid(values), 0.0)
                drawn.extend(shown.compressed())
                axes.plot(x, shown.reshape(-1), label=name, **look)
        if drawn:
            logarithmic(axes, "y", min(drawn), max(drawn))
        if words.along == "orders":
            logarithmic(axes, "x", float(x.min()), float(x.max()))
        page.explain(words.x, words.y)
    return page.figure
