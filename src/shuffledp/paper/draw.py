"""The figures: the paper's axes above, and below them how far every analysis is from the exact blanket."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._support.figures import LINES, TEXT_WIDTH, new_figure, style
from .claims import ratio
from .draw_plain import PLAIN, plain_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: One line per analysis, the same in all figures (no two that share a number meet in one figure).
_LINE = {
    key: LINES[i]
    for i, keys in enumerate(
        (
            ("blanket",),
            ("repaired", "rows"),
            ("published",),
            ("dataset", "search"),
            ("two-counts",),
            ("stronger-clone", "basic", "analytic"),
            ("clone", "separate-best", "analytic-published"),
            ("specific", "separate-worst"),
            ("specific-gamma", "asymptotic"),
            ("generic", "released", "asymptotic-published"),
            ("efmrtt19",),
            ("swap",),
        )
    )
    for key in keys
}
_HOLLOW = {"published", "analytic-published", "asymptotic-published", "released"}
_STRIP = ("published", "repaired", "two-counts", "dataset")
_SINGLE = (
    *("swap", "blanket", "repaired", "published", "dataset", "two-counts"),
    *("stronger-clone", "clone", "specific", "specific-gamma", "generic", "efmrtt19"),
)
_CHEU = (
    *("blanket", "rows", "published", "dataset", "two-counts"),
    *("analytic", "analytic-published", "asymptotic", "asymptotic-published"),
)
_BALLS = ("blanket", "search", "analytic", "asymptotic")
_RANGES = (
    *("blanket", "repaired", "published", "dataset", "two-counts"),
    *("basic", "separate-best", "separate-worst", "released"),
)
_LOCAL = ("local budget $\\varepsilon_0$", "$\\log_2$ of the amplification\nratio $\\varepsilon_0/\\varepsilon$")
_CLAIMED = (
    "eps of the original claim, $\\varepsilon'$",
    "$\\log_2$ of the extra amplification\nratio $\\varepsilon'/\\varepsilon$",
)
#: part -> curves, axis labels, and whether the strip is drawn.
_LAYOUT: dict[str, tuple[Sequence[str], tuple[str, str], bool]] = {
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
    if part in PLAIN:
        return plain_figure(part, panels)
    keys, (xlabel, ylabel), strip = _LAYOUT[part]
    with style():
        drawn = new_figure(TEXT_WIDTH, 5.2 if strip else 3.6)
        shared: dict[str, Any] = {"sharex": True, "sharey": "row", "squeeze": False}
        grid = drawn.subplots(1 + strip, len(panels), height_ratios=[2.4, 1.0] if strip else [1.0], **shared)
        for column, panel in enumerate(panels):
            _ratios(grid[0, column], part, keys, panel)
            grid[0, column].set_title(panel["title"])
            if strip:
                _distances(grid[1, column], panel)
            grid[-1, column].set_xlabel(xlabel)
        grid[0, 0].set_ylabel(ylabel)
        if xlabel == _LOCAL[0]:
            grid[0, 0].set_xticks(range(6))
        if strip:
            grid[1, 0].set_ylabel("$\\varepsilon$ against the\nexact blanket")
            grid[1, 0].yaxis.set_major_formatter(_percent)
        handles, labels = grid[0, 0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="outside lower center", ncols=2)
        drawn.draw_without_rendering()  # the layout once, not again for every format
        drawn.set_layout_engine("none")
    return drawn


def _percent(value: float, _: int) -> str:
    """A tick of the strip, with a true minus sign."""
    return f"{value:+.0f} %".replace("-", "\N{MINUS SIGN}") if value else "0 %"


def _line(key: str, place: int, points: int) -> dict[str, Any]:
    """Markers at every fifth point, shifted from curve to curve so that curves which coincide are all seen."""
    line = {**_LINE[key], "markevery": (place % 5, max(1, min(5, points // 4)))}
    if key in _HOLLOW:
        line["markerfacecolor"] = "white"
    return line


def _ratios(axes: Axes, part: str, keys: Sequence[str], panel: dict[str, Any]) -> None:
    x = panel["settings"]["x"]
    for place, key in enumerate(keys):
        curve = panel["data"][key]
        points = [(a, ratio(a, eps)) for a, eps in zip(x, curve["epsilon"], strict=True)]
        known = [(a, y) for a, y in points if y is not None]
        label = _LABELS.get(part, {}).get(key, curve["label"])
        axes.plot([a for a, _ in known], [y for _, y in known], label=label, **_line(key, place, len(known)))
    axes.axhline(0.0, color="#888888", linewidth=0.6)
    if part == "figure3":
        _infeasible(axes, panel)


def _distances(axes: Axes, panel: dict[str, Any]) -> None:
    base = panel["data"]["blanket"]["epsilon"]
    for place, key in enumerate(_STRIP):
        points = zip(panel["settings"]["x"], panel["data"][key]["epsilon"], base, strict=True)
        known = [(a, 100.0 * (eps / b - 1.0)) for a, eps, b in points if eps is not None and b is not None]
        axes.plot([a for a, _ in known], [y for _, y in known], **_line(key, place, len(known)))
    axes.axhline(0.0, color="#000000", linewidth=0.8)


def _infeasible(axes: Axes, panel: dict[str, Any]) -> None:
    """Shade where no flip probability makes the original claim."""
    first = next(
        a for a, f in zip(panel["settings"]["x"], panel["data"]["flip"]["value"], strict=True) if f is not None
    )
    axes.axvspan(0.0, first, color="#eeeeee", linewidth=0)
    axes.text(0.5 * first, 0.5, "no flip probability", transform=axes.get_xaxis_transform(), rotation=90, **_NOTE)
    axes.set_xlim(0.0, 1.55)
