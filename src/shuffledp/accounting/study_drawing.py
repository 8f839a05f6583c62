"""The figure of a study: a curve for every combination of some axes, against another."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support import figures
from .._support import validation as check
from .._support.canvas import Labels, canvas
from .._support.figures import LINES, TEXT_WIDTH
from .._support.text import visible
from .._support.ticks import logarithmic, ticks_at
from ..bounds import bound_of
from ..errors import ParameterError
from .drawing import QUANTITIES, VARIABLES, look_of
from .study import MOST_CURVES, Study, StudyRow, Value, named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: An axis of numbers is logarithmic if its largest value is more than this many times the smallest, and shows powers of
#: ten alone from the second on.
_WIDE, _DECADES = 20.0, 300.0


def draw_study(
    study: Study,
    *,
    x: str | None = None,
    by: str | Sequence[str] | None = None,
    quantity: str = "epsilon",
    most: int = MOST_CURVES,
    width: float = TEXT_WIDTH,
    ax: Axes | None = None,
    labels: Labels | None = None,
) -> Figure:
    """A curve for every combination of the axes ``by``, against ``x``; absent, infinite and zero values leave a gap.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> study = sdp.sweep("grr", eps0=[1, 2], d=[4, 16], n=[100, 1000, 10_000], delta=1e-6, bounds=["auto"])
    >>> [line.get_label() for line in draw_study(study, by=["d", "eps0"]).axes[0].lines]
    ['d = 4, ε₀ = 1', 'd = 4, ε₀ = 2', 'd = 16, ε₀ = 1', 'd = 16, ε₀ = 2']
    """
    check.one_of("quantity", quantity, QUANTITIES)
    most = check.whole("most", most, low=1, high=1000, hint="it is the number of curves to draw")
    across = _across(study, x)
    over = _over(study, across, by)
    curves = _curves(study, across, over)
    if not curves:
        raise ParameterError("a study must have a curve to draw, got no answer in it; choose bounds that apply.")
    chosen, left_out = dict(list(curves.items())[:most]), max(0, len(curves) - most)
    wide, lines = figures.is_wide(width), len(chosen) + bool(left_out)
    height = max(3.0, 0.6 + 0.18 * lines) if wide else 2.5 + 0.17 * lines
    word, axis, better = QUANTITIES[quantity]
    with canvas(f"{word} of shuffled users: {study.terms}", width, height, ax=ax, labels=labels) as page:
        axes, drawn, places = page.axes, list[float](), [float(value) for value in study.axes[across]]
        for i, (label, rows) in enumerate(chosen.items()):
            shown = np.ma.masked_invalid([_quantity(row, quantity) for row in rows])
            drawn.extend(shown.compressed())
            at = [float(row.value(across)) for row in rows]
            axes.plot(at, shown, label=label, **_look(rows, i, over))
        if drawn:
            logarithmic(axes, "y", min(drawn), max(drawn))
        scaled = across in ("n", "delta") or (min(places) > 0.0 and max(places) > _WIDE * min(places))
        if scaled:
            logarithmic(axes, "x", min(places), max(places))
        if not scaled or max(places) < _DECADES * min(places):  # else powers of ten read better
            ticks_at(axes, places, page.width - (2.4 if wide and ax is None else 0.0), logarithmic=scaled)
        axes.set_xlabel(VARIABLES.get(across, across))
        axes.set_ylabel(f"{axis} ({better} is better)" if wide else axis)
        page.legend(*axes.get_legend_handles_labels(), beside=wide, left_out=left_out)
    return page.figure


def _across(study: Study, x: str | None) -> str:
    """The axis below: numbers only."""
    numbers = {
        name: len(values)
        for name, values in study.axes.items()
        if name not in ("mechanism", "bound") and not any(isinstance(value, str) for value in values)
    }
    if x is None:
        if not any(many > 1 for many in numbers.values()):
            raise ParameterError("x must be an axis of numbers that vary, got none in this study; sweep one.")
        return max(numbers, key=numbers.__getitem__)
    return check.one_of("x", x, numbers)


def _over(study: Study, across: str, by: str | Sequence[str] | None) -> list[str]:
    """The axes whose combinations are curves."""
    others = [name for name in study.varying if name != across]
    if by is None:
        return others
    chosen = [by] if isinstance(by, str) else list(by)
    known = [name for name in study.axes if name != across]
    for name in chosen:
        check.one_of("by", name, known)
    left = [name for name in others if name not in chosen]
    if left:
        values = ", ".join(named(left[0], value) for value in study.axes[left[0]][:4])
        raise ParameterError(
            f"by must name every axis that varies, got none of {', '.join(left)} ({values}); add it, or select "
            "one value."
        )
    return chosen


def _curves(study: Study, across: str, over: list[str]) -> dict[str, list[StudyRow]]:
    """What a curve is called -> its rows, in the order of x; those without any answer are left out."""
    rows: dict[tuple[Value, ...], list[StudyRow]] = {}
    for row in study.rows:
        rows.setdefault(tuple(row.value(name) for name in over), []).append(row)
    order = itertools.product(*(study.axes[name] for name in over))
    found = {}
    for key in order:
        mine = sorted(rows.get(key, []), key=lambda row: float(row.value(across)))
        if any(row.row is not None for row in mine):
            found[", ".join(_entry(name, value) for name, value in zip(over, key, strict=True)) or mine[0].bound] = mine
    return found


def _entry(axis: str, value: Value) -> str:
    if axis == "bound":
        bound = bound_of(str(value))
        kind = "not a bound" if not bound.sound else bound.side
        return str(value) if kind == "upper" else f"{value} ({kind})"
    word = {"eps0": "ε₀", "delta": "δ"}.get(axis, axis)
    said = str(value) if axis == "mechanism" else f"{word} = {named(axis, value)}"
    return visible(said).replace("$", r"\$")  # a name is text, not mathematics


def _quantity(row: StudyRow, quantity: str) -> float:
    """What is drawn of a row; NaN leaves a gap."""
    eps, local = row.epsilon, row.point.comparison.local_epsilon
    if eps is None or not 0.0 < eps < np.inf:
        return np.nan
    if quantity == "epsilon":
        return eps
    return np.nan if local is None or not local < np.inf else local / eps


def _look(rows: list[StudyRow], place: int, over: list[str]) -> dict[str, Any]:
    """A bound looks the same in every figure; other curves follow one another."""
    row = next(row.row for row in rows if row.row is not None)
    look = look_of(row) if over == ["bound"] else LINES[place % len(LINES)]
    return {key: value for key, value in look.items() if key != "label"}
