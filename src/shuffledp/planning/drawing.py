"""Figures of a recommendation: the ranking against what users send, and how the best choice depends on n and eps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._support import figures
from .._support.canvas import Labels, canvas
from .._support.figures import TEXT_WIDTH, at_delta
from .._support.numbers import round_down
from .._support.ticks import logarithmic, ticks_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .candidates import Choice
    from .recommendation import Recommendation

#: The looks of references and of the floor.
_LINES: dict[str, dict[str, Any]] = {
    "central model": {"color": "#009E73", "linestyle": (0, (5, 1.5))},
    "local model": {"color": "#D55E00", "linestyle": (0, (1, 1))},
    "floor of one message": {"color": "#CC79A7", "linestyle": (0, (6, 1.5, 1, 1.5))},
}


def draw_recommendation(
    found: Recommendation, *, width: float = TEXT_WIDTH, ax: Axes | None = None, labels: Labels | None = None
) -> Figure:
    """Error (eps, if an error was the target) against bits per user; both axes logarithmic, better toward 0.

    The line is the front: every choice above it is beaten in both.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> figure = draw_recommendation(sdp.recommend("histogram", n=100_000, d=16, epsilon=1.0, delta=1e-8))
    >>> figure.axes[0].get_xlabel()
    'bits per user and round, on average (fewer is better)'
    """
    by_error = found.error is None
    target = f"ε = {round_down(found.epsilon)}" if by_error else f"an error of {found.error:g}"
    rounds = "" if found.rounds == 1 else f" over {found.rounds:,} rounds"
    title = f"{found.task}: {figures.users(found.n)}, {target}{rounds} {at_delta(found.delta)}"
    height = max(3.6, 1.0 + 0.19 * (len(found.choices) + 3))
    with canvas(title, width, height, ax=ax, labels=labels) as page:
        axes = page.axes
        _points(axes, found, by_error)
        room = page.width - (2.0 if ax is None and figures.is_wide(width) else 0.0)  # beside the legend
        ticks_at(axes, [choice.bits for choice in found.choices], room, logarithmic=True)
        axes.set_xlabel("bits per user and round, on average (fewer is better)")
        axes.set_ylabel("error per item (smaller is better)" if by_error else "central ε (smaller is better)")
        page.legend(*axes.get_legend_handles_labels(), beside=figures.is_wide(width))
    return page.figure


def _points(axes: Axes, found: Recommendation, by_error: bool) -> None:
    values = [choice.error if by_error else choice.epsilon for choice in found.choices]
    for number, (choice, value) in enumerate(zip(found.choices, values, strict=True)):
        look = figures.LINES[number % len(figures.LINES)]
        look = {**look, "markerfacecolor": look["color"] if choice.on_front else "white", "linestyle": "none"}
        place: dict[str, Any] = {
            "label": f"{number + 1}. {choice.name}",
            "zorder": 3.0 + 1.0 / (number + 1),
        }  # better ones on top
        axes.plot(choice.bits, value, markersize=5.0, **look, **place)
    front = sorted((choice.bits, choice.error if by_error else choice.epsilon) for choice in found.front)
    bits = [choice.bits for choice in found.choices]
    low, high = min(bits), max(bits)
    x, y = zip(*front, (high * 1.5, front[-1][1]), strict=True)
    axes.plot(x, y, drawstyle="steps-post", color="#888888", linewidth=0.8, label="front: no other has both less")
    shown = list(values)
    if by_error:
        lines = {f"{r.model} model": r.error for r in reversed(found.references)}  # the best of a model is its first
        if found.floor is not None:
            lines["floor of one message"] = found.floor.error
        for name, error in lines.items():
            if error > 0.0:
                axes.axhline(error, linewidth=1.0, label=name, **_LINES[name])
                shown.append(error)
    logarithmic(axes, "x", low / 1.5, high * 1.5)
    logarithmic(axes, "y", min(shown), max(shown))
    axes.set_xlim(low / 1.5, high * 1.5)


def draw_budgets(found: Recommendation, choice: Choice) -> Figure:
    """The guarantee of a choice for one round: eps against the users who take part, and against delta."""
    from ..accounting.amplification import amplify

    n, run = found.counted, found.mechanism_of(choice)
    sizes = sorted({max(1, round(n * share)) for share in (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0, 1.5, 2.0)})
    deltas = [10.0**-k for k in range(4, 13)]
    with canvas(f"{choice.spec}, one round (the gray lines are the plan)", TEXT_WIDTH, 2.6) as page:
        left, right = page.panels(1, 2)[0]
        by_users = amplify(run, n=sizes, delta=found.delta)
        by_delta = amplify(run, n=n, delta=deltas)
        left.plot(sizes, list(by_users.epsilon), **figures.CURVE)
        left.axvline(n, color="#888888", linewidth=0.8)
        logarithmic(left, "x", sizes[0], sizes[-1])
        ticks_at(left, sizes, 0.5 * TEXT_WIDTH, logarithmic=True)
        left.set_xlabel("users who take part")
        left.set_ylabel("central ε of one round")
        right.plot(deltas, list(by_delta.epsilon), **figures.CURVE)
        right.axvline(found.delta, color="#888888", linewidth=0.8)
        right.set_xscale("log")
        right.set_xlabel("δ")
    return page.figure
