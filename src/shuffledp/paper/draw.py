"""Figures 1 to 5: curves on the paper's axes, panel beside panel; a strip below compares with the exact blanket."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .._support.figures import LINES, TEXT_WIDTH, new_figure, style
from .claims import ratio

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@contextmanager
def side_by_side(
    titles: Sequence[str], labels: tuple[str, str], *, height: float, rows: Sequence[float], columns: int
) -> Iterator[tuple[Figure, Any]]:
    """A figure with a column of axes for each title, in ``rows`` of these heights; its legend has ``columns``."""
    with style():
        drawn = new_figure(TEXT_WIDTH, height)
        grid = drawn.subplots(len(rows), len(titles), sharex=True, sharey="row", squeeze=False, height_ratios=rows)
        for column, title in enumerate(titles):
            grid[0, column].set_title(title)
            grid[-1, column].set_xlabel(labels[0])
        grid[0, 0].set_ylabel(labels[1])
        yield drawn, grid
        drawn.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=columns)
        drawn.draw_without_rendering()  # the layout once, not again for every format
        drawn.set_layout_engine("none")


def above(curve: dict[str, Any], other: dict[str, Any]) -> list[float | None]:
    """How many percent a curve is above another one."""
    pairs = zip(curve["epsilon"], other["epsilon"], strict=True)
    return [None if a is None or not b else 100.0 * (a / b - 1.0) for a, b in pairs]


def draw_line(axes: Axes, x: Sequence[float], y: Sequence[float | None], place: int, **look: Any) -> None:
    """One line through the points that are known.

    Markers are at every fifth point or so, shifted from curve to curve so that curves which coincide are all seen.
    """
    known = [(a, b) for a, b in zip(x, y, strict=True) if b is not None]
    every = (place % 5, max(1, min(5, len(known) // 4)))
    axes.plot([a for a, _ in known], [b for _, b in known], markevery=every, **look)


#: Analyses by their lines, the same in all figures (no two that share a line meet in one figure).
_KEYS = (
    "blanket; repaired rows; published; dataset search; two-counts; stronger-clone basic analytic; "
    "clone separate-best analytic-published; specific separate-worst; specific-gamma asymptotic; "
    "generic released asymptotic-published; efmrtt19; swap"
)
_LINE = {key: LINES[i] for i, keys in enumerate(_KEYS.split("; ")) for key in keys.split()}
_HOLLOW = {"published", "analytic-published", "asymptotic-published", "released"}
_STRIP = ("published", "repaired", "two-counts", "dataset")
_SINGLE = (
    "swap blanket repaired published dataset two-counts stronger-clone clone specific specific-gamma generic efmrtt19"
)
_CHEU = "blanket rows published dataset two-counts analytic analytic-published asymptotic asymptotic-published"
_BALLS = "blanket search analytic asymptotic"
_RANGES = "blanket repaired published dataset two-counts basic separate-best separate-worst released"
_LOCAL = ("local budget $\\varepsilon_0$", "$\\log_2$ of the amplification\nratio $\\varepsilon_0/\\varepsilon$")
_CLAIMED = (
    "eps of the original claim, $\\varepsilon'$",
    "$\\log_2$ of the extra amplification\nratio $\\varepsilon'/\\varepsilon$",
)
#: part -> curves, axis labels, and whether the strip is drawn.
_LAYOUT: dict[str, tuple[str, tuple[str, str], bool]] = {
    "figure1": (_SINGLE, _LOCAL, True),
    "figure2": (_SINGLE, _LOCAL, True),
    "figure3": (_CHEU, _CLAIMED, False),
    "figure4": (_BALLS, _CLAIMED, False),
    "figure5": (_RANGES, _LOCAL, True),
}
_NOTE: dict[str, Any] = {"ha": "center", "va": "center", "color": "#555555", "size": 7}
_LABELS = {
    "figure4": {
        "blanket": "exact (= printed law = lower bounds)",
        "analytic": "analytic (Theorem 4.2; printed = repaired)",
        "asymptotic": "asymptotic (Theorem 4.3; printed = proved)",
    },
    "figure5": {"published": "advanced, as printed (no bound)", "repaired": "advanced, repaired"},
}


def figure(part: str, panels: Sequence[dict[str, Any]]) -> Figure:
    """Draw a figure from its panels."""
    keys, words, strip = _LAYOUT[part]
    height, rows = (5.2, [2.4, 1.0]) if strip else (3.6, [1.0])
    with side_by_side([panel["title"] for panel in panels], words, height=height, rows=rows, columns=2) as (
        drawn,
        grid,
    ):
        for column, panel in enumerate(panels):
            _ratios(grid[0, column], part, keys.split(), panel)
            if strip:
                _distances(grid[1, column], panel)
        if words == _LOCAL:
            grid[0, 0].set_xticks(range(6))
        if strip:
            grid[1, 0].set_ylabel("$\\varepsilon$ against the\nexact blanket")
            grid[1, 0].yaxis.set_major_formatter(_percent)
    return drawn


def _percent(value: float, _: int) -> str:
    """A tick of the strip, with a true minus sign."""
    return f"{value:+.0f} %".replace("-", "\N{MINUS SIGN}") if value else "0 %"


def _look(key: str) -> dict[str, Any]:
    return {**_LINE[key], "markerfacecolor": "white"} if key in _HOLLOW else _LINE[key]


def _ratios(axes: Axes, part: str, keys: Sequence[str], panel: dict[str, Any]) -> None:
    x = panel["settings"]["x"]
    for place, key in enumerate(keys):
        curve = panel["data"][key]
        label = _LABELS.get(part, {}).get(key, curve["label"])
        draw_line(axes, x, list(map(ratio, x, curve["epsilon"])), place, label=label, **_look(key))
    axes.axhline(0.0, color="#888888", linewidth=0.6)
    if part == "figure3":
        _infeasible(axes, panel)


def _distances(axes: Axes, panel: dict[str, Any]) -> None:
    x, data = panel["settings"]["x"], panel["data"]
    for place, key in enumerate(_STRIP):
        draw_line(axes, x, above(data[key], data["blanket"]), place, **_look(key))
    axes.axhline(0.0, color="#000000", linewidth=0.8)


def _infeasible(axes: Axes, panel: dict[str, Any]) -> None:
    """Shade where no flip probability makes the original claim."""
    first = next(
        a for a, f in zip(panel["settings"]["x"], panel["data"]["flip"]["value"], strict=True) if f is not None
    )
    axes.axvspan(0.0, first, color="#eeeeee", linewidth=0)
    axes.text(0.5 * first, 0.5, "no flip probability", transform=axes.get_xaxis_transform(), rotation=90, **_NOTE)
    axes.set_xlim(0.0, 1.55)
