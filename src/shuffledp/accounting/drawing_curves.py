"""The figures of a sweep and of a study: curves of eps, or of the local budget over it, against one variable."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .._support import validation as check
from .._support.canvas import Placing, canvas
from .._support.figures import LINES, at_delta, users
from .._support.text import visible
from .._support.ticks import logarithmic, ticks_at
from ..bounds import BOUNDS, bound_of
from ..errors import ParameterError
from .study import MOST_CURVES, Study, StudyRow
from .sweeps import MOST_BOUNDS, Value, named

if TYPE_CHECKING:
    from .._support.canvas import Figure
    from .comparison import Row
    from .sweeps import Sweep

#: How "auto" is drawn, unlike all bounds.
_AUTO: dict[str, Any] = {"color": "#000000", "linestyle": "-", "marker": "*"}
_VARIABLES = {"eps0": "local budget ε₀", "n": "number of users n", "delta": "δ"}
#: What is drawn: its words in the title, on the axis, and which way is better.
_QUANTITIES = {
    "epsilon": ("ε", "central ε", "smaller"),
    "ratio": ("Amplification", "amplification ε₀/ε", "larger"),
}
#: An axis of numbers is logarithmic if its largest value is more than this many times the smallest, and shows powers of
#: ten alone from the second on.
_WIDE, _DECADES = 20.0, 300.0
#: Where a curve is, and how it looks; masked values leave a gap.
_Curve = tuple[Sequence[float], Any, dict[str, Any]]


def _drawn(
    of: str,
    curves: Sequence[_Curve],
    variable: str,
    places: Sequence[float],
    *,
    quantity: str,
    left_out: int,
    scaled: bool,
    ticks: bool = True,
    upward: bool = False,
    **where: Unpack[Placing],
) -> Figure:
    """Curves against a variable, which is on a logarithmic scale if it is ``scaled`` and has ticks at its ``places``.

    ``upward``: the legend begins with the last curve.
    """
    word, axis, better = _QUANTITIES[quantity]
    lines = len(curves) + bool(left_out)
    height = (max(3.0, 0.6 + 0.18 * lines), 2.5 + 0.17 * lines)
    with canvas(f"{word} of {of}", height=height, **where) as page:
        axes, drawn = page.axes, list[float]()
        for x, y, look in curves:
            axes.plot(x, y, **look)
            drawn.extend(y.compressed())
        if drawn:
            logarithmic(axes, "y", min(drawn), max(drawn))
        if scaled:
            logarithmic(axes, "x", min(places), max(places))
        if ticks:
            ticks_at(axes, places, page.beside_legend, logarithmic=scaled)
        axes.set_xlabel(_VARIABLES.get(variable, variable))
        axes.set_ylabel(f"{axis} ({better} is better)" if page.wide else axis)
        handles, texts = axes.get_legend_handles_labels()
        way = -1 if upward else 1
        page.legend(handles[::way], texts[::way], beside=page.wide, left_out=left_out)
    return page.figure


def _checked(quantity: str, most: object) -> int:
    """The largest number of curves, once both were checked."""
    check.one_of("quantity", quantity, _QUANTITIES)
    return check.whole("most", most, low=1, high=1000, hint="it is the number of curves to draw")


def look_of(row: Row) -> dict[str, Any]:
    """How a bound is drawn, the same in every figure."""
    look = _AUTO if row.bound == "auto" else LINES[list(BOUNDS).index(row.bound) % len(LINES)]
    if row.kind == "upper":
        return {**look, "label": row.bound}
    # hollow: not a bound; wide: a lower bound, which stays visible under an upper one that meets it
    special = {"linewidth": 3.0, "markersize": 6.0} if row.sound else {"markerfacecolor": "white"}
    return {**look, **special, "label": f"{row.bound} ({row.kind})"}


# -- a sweep: one curve per bound -----------------------------------------------------------------------------------


def draw_sweep(sweep: Sweep, *, quantity: str = "epsilon", most: int = MOST_BOUNDS, **where: Unpack[Placing]) -> Figure:
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
    most = _checked(quantity, most)
    if not sweep.bounds:
        raise ParameterError("sweep must have a curve to draw, got none; choose bounds that apply.")
    chosen, step, curves = drawn_bounds(sweep, most), max(1, len(sweep.values) // 8), list[_Curve]()
    for i, name in enumerate(chosen):
        values = sweep.epsilon(name) if quantity == "epsilon" else sweep.ratio(name)
        shown = np.ma.masked_where((values.data <= 0.0) | np.isinf(values.data), values)
        # staggered markers keep coinciding curves visible
        curves.append((sweep.values, shown, {**look_of(sweep.row(name)), "markevery": (i % step, step)}))
    return _drawn(
        _of_sweep(sweep),
        curves,
        sweep.variable,
        sweep.values,
        quantity=quantity,
        left_out=len(sweep.bounds) - len(chosen),
        scaled=sweep.variable != "eps0",
        upward=quantity == "epsilon",  # in the order in which the curves end
        **where,
    )


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


def _of_sweep(sweep: Sweep) -> str:
    """Of whom the curves are, for the title."""
    first = sweep.points[0]
    who = users(first.n) if sweep.variable != "n" else "shuffled users"
    same = all(point.delta == first.delta for point in sweep.points)
    at = f" {at_delta(sweep.rule or first.delta)}" if sweep.rule or same else ""
    return f"{who} running {sweep.mechanism}{at}, {first.neighbors}"


# -- a study: a curve for every combination of some axes ------------------------------------------------------------


def draw_study(
    study: Study,
    *,
    x: str | None = None,
    by: str | Sequence[str] | None = None,
    quantity: str = "epsilon",
    most: int = MOST_CURVES,
    **where: Unpack[Placing],
) -> Figure:
    """A curve for every combination of the axes ``by``, against ``x``; absent, infinite and zero values leave a gap.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> study = sdp.sweep("grr", eps0=[1, 2], d=[4, 16], n=[100, 1000, 10_000], delta=1e-6, bounds=["auto"])
    >>> [line.get_label() for line in draw_study(study, by=["d", "eps0"]).axes[0].lines]
    ['d = 4, ε₀ = 1', 'd = 4, ε₀ = 2', 'd = 16, ε₀ = 1', 'd = 16, ε₀ = 2']
    """
    most = _checked(quantity, most)
    across = _across(study, x)
    over = _over(study, across, by)
    found = _rows_of_curves(study, across, over)
    if not found:
        raise ParameterError("a study must have a curve to draw, got no answer in it; choose bounds that apply.")
    curves = list[_Curve]()
    for i, (label, rows) in enumerate(itertools.islice(found.items(), most)):
        shown = np.ma.masked_invalid([_quantity(row, quantity) for row in rows])
        curves.append(([float(row.value(across)) for row in rows], shown, {**_look(rows, i, over), "label": label}))
    places = [float(value) for value in study.axes[across]]
    scaled = across in ("n", "delta") or (min(places) > 0.0 and max(places) > _WIDE * min(places))
    return _drawn(
        f"shuffled users: {study.terms}",
        curves,
        across,
        places,
        quantity=quantity,
        left_out=len(found) - len(curves),
        scaled=scaled,
        ticks=not scaled or max(places) < _DECADES * min(places),  # else powers of ten read better
        **where,
    )


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


def _rows_of_curves(study: Study, across: str, over: list[str]) -> dict[str, list[StudyRow]]:
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
    return look_of(row) if over == ["bound"] else LINES[place % len(LINES)]
