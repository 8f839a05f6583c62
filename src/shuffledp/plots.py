"""Figures fit for print: one style, lines that differ without colour, and files that are the same every time.

Everything is drawn on ``matplotlib.figure.Figure`` objects; no display and no global figure is involved.
"""

from __future__ import annotations

import io
import logging
import math
import os
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._support import files as _files
from ._support import validation as check
from ._support.optional import require
from .accounting.comparison import Comparison, Row
from .accounting.sweeping import Sweep
from .bounds import BOUNDS
from .errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Widths in inches of one column and of the text of a two-column page.
COLUMN_WIDTH, TEXT_WIDTH = 3.33, 7.0

#: Okabe and Ito's colours, told apart by the colour-blind; their yellow is left out, it is too pale for a line.
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")

#: 28 keyword sets for ``axes.plot``: no two agree in colour and dashes, nor (in grey print) in dashes and marker.
LINES: tuple[dict[str, Any], ...] = tuple(
    {"color": COLOURS[i % 7], "linestyle": _DASHES[i % 4], "marker": _MARKERS[i % 9]} for i in range(28)
)

_STYLE: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # ships with matplotlib, so the figure is the same everywhere
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "figure.titlesize": 9,
    "figure.figsize": (COLUMN_WIDTH, 2.5),
    "figure.constrained_layout.use": True,
    "figure.dpi": 100,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.unicode_minus": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "lines.markeredgewidth": 0.8,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "legend.frameon": False,
    "legend.handlelength": 2.8,
    "pdf.fonttype": 42,  # TrueType: text stays text, as publishers ask
    "ps.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "shuffledp",
    "savefig.dpi": 300,
    "savefig.facecolor": "white",
}
#: What would make two runs differ: dates, and the name of the program.
_METADATA: dict[str, dict[str, None]] = {
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
    "png": {"Software": None},
}


@contextmanager
def style() -> Iterator[None]:
    """matplotlib's settings for a figure in print, while the block runs.

    Fonts of 8 and 9 points at the final size, light grid, no top and right spines, embedded TrueType fonts.
    Create the figure and its artists inside the block; :func:`save` needs no block of its own.

    Examples
    --------
    >>> with style():
    ...     axes = new_figure(COLUMN_WIDTH, 2.0).subplots()
    ...     curves = [axes.plot([1, 2], [i, i], **LINES[i]) for i in range(3)]
    >>> axes.spines["top"].get_visible()
    False
    """
    with require("matplotlib", extra="plot", purpose="drawing").rc_context(_STYLE):
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure that no global state knows of."""
    figure: Figure = require("matplotlib.figure", extra="plot", purpose="drawing").Figure(figsize=(width, height))
    return figure


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as PDF, SVG or PNG (300 dpi), by the suffix of ``path``; the same figure gives the same bytes.

    Examples
    --------
    >>> import tempfile
    >>> with style(), tempfile.TemporaryDirectory() as folder:
    ...     save(new_figure(1.0, 1.0), Path(folder) / "empty.svg")
    ...     (Path(folder) / "empty.svg").read_text(encoding="utf-8").startswith("<?xml")
    True
    """
    kind = prepare(path)
    buffer = io.BytesIO()
    with style(), _quiet("fontTools"):
        figure.savefig(buffer, format=kind, metadata=_METADATA[kind])
    _files.write_whole(path, buffer.getvalue(), name="plot")


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """No warnings of this logger: embedding DejaVu Sans, it remarks on the date inside the font."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def prepare(path: str | os.PathLike[str]) -> str:
    """The format that the end of ``path`` asks for; call it before long work, so that a slip costs nothing."""
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(f"plot must be the path of a file, got {path!r}; name a .pdf, .svg or .png file.")
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in _METADATA:
        raise ParameterError(f"plot must end in .pdf, .svg or .png, got {os.fspath(path)!r}; choose one of the three.")
    require("matplotlib", extra="plot", purpose="drawing")
    return kind


def draw(result: Comparison | Sweep, *, width: float = COLUMN_WIDTH) -> Figure:
    """The figure of a comparison or of a sweep."""
    if not isinstance(result, Comparison | Sweep):
        raise ParameterError(f"result must be a Comparison or a Sweep, got {result!r}; draw what compare() returned.")
    return draw_sweep(result, width=width) if isinstance(result, Sweep) else draw_comparison(result, width=width)


# -- a comparison: one dot per bound --------------------------------------------------------------------------------

#: How a row looks, and what the legend calls it; unsound formulas are hollow.
_DOTS: dict[str, dict[str, Any]] = {
    "upper": {"marker": "o", "color": "#0072B2", "label": "upper bound"},
    "lower": {"marker": ">", "color": "#000000", "label": "lower bound"},
    "not a bound": {"marker": "o", "color": "#D55E00", "mfc": "white", "label": "formula as printed, not a bound"},
}


def draw_comparison(comparison: Comparison, *, width: float = COLUMN_WIDTH) -> Figure:
    """A dot per bound, tightest on top, and a line at the best lower bound; infinite eps is said, not drawn.

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
    columns = 1 if width < 5.0 else 3
    around = _wrapped(comparison.title, width).count("\n") + math.ceil(len({row.kind for row in rows}) / columns)
    with style():  # title, legend and axis label need their height however few the rows are
        figure = new_figure(width, 0.165 * len(rows) + max(0.95, 0.75 + 0.165 * around))
        axes = figure.subplots()
        for kind, look in _DOTS.items():
            held = [(row.epsilon, y) for y, row in enumerate(rows) if row.kind == kind and math.isfinite(row.epsilon)]
            if held:
                axes.plot(*zip(*held, strict=True), linestyle="none", **look)
        if comparison.lower is not None and math.isfinite(comparison.lower.epsilon):
            axes.axvline(comparison.lower.epsilon, color="#000000", linewidth=0.8, zorder=0.9)
        if finite and min(finite) > 0.0 and max(finite) > 10.0 * min(finite):
            _logarithmic(axes, "x", min(finite), max(finite))
        _label_rows(axes, rows)
        axes.set_xlabel(r"central $\varepsilon$ (smaller is better)")
        _title(figure, comparison.title, width)
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=columns)
    return figure


def _label_rows(axes: Axes, rows: tuple[Row, ...]) -> None:
    """Names on the left, values in a column on the right, the first row on top."""
    axes.set_yticks(range(len(rows)), [row.bound for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", visible=False)
    for y, row in enumerate(rows):
        axes.annotate(
            row.shown, (1.02, y), xycoords=("axes fraction", "data"), va="center_baseline", annotation_clip=False
        )


# -- a sweep: one curve per bound -----------------------------------------------------------------------------------

_VARIABLES = {"eps0": r"local budget $\varepsilon_0$", "n": r"number of users $n$", "delta": r"$\delta$"}
_QUANTITIES = {
    "epsilon": r"central $\varepsilon$",
    "ratio": r"amplification $\varepsilon_0/\varepsilon$",
}


def draw_sweep(sweep: Sweep, *, quantity: str = "epsilon", width: float = COLUMN_WIDTH) -> Figure:
    """A curve per bound: eps, or the ratio of the local budget to it, against the swept variable.

    A bound looks the same in every figure.  Formulas that are not bounds have hollow markers and say so in the legend;
    values that are absent, infinite or (on the logarithmic axis) zero leave a gap.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> s = sdp.sweep("grr:d=4", eps0=[0.5, 1.0, 2.0], n=1000, delta=1e-6, bounds=["blanket", "general"])
    >>> len(draw_sweep(s, quantity="ratio").axes[0].lines)
    2
    """
    check.one_of("quantity", quantity, _QUANTITIES)
    if not sweep.bounds:
        raise ParameterError("sweep must have a curve to draw, got none; choose bounds that apply.")
    with style():
        wide = width >= 5.0
        lines = len(sweep.bounds)
        figure = new_figure(width, max(3.0, 0.6 + 0.18 * lines) if wide else 2.5 + 0.17 * lines)
        axes = figure.subplots()
        step = max(1, len(sweep.values) // 8)
        drawn: list[float] = []
        for i, name in enumerate(sweep.bounds):
            values = sweep.epsilon(name) if quantity == "epsilon" else sweep.ratio(name)
            shown = np.ma.masked_where((values.data <= 0.0) | np.isinf(values.data), values)
            drawn.extend(shown.compressed())
            # staggered markers: curves that lie on each other still show both
            axes.plot(sweep.values, shown, markevery=(i % step, step), **_look(sweep.row(name)))
        if drawn:
            _logarithmic(axes, "y", min(drawn), max(drawn))
        if sweep.variable != "eps0":
            _logarithmic(axes, "x", min(sweep.values), max(sweep.values))
        axes.set_xlabel(_VARIABLES[sweep.variable])
        better = "smaller" if quantity == "epsilon" else "larger"
        axes.set_ylabel(f"{_QUANTITIES[quantity]} ({better} is better)" if wide else _QUANTITIES[quantity])
        _title(figure, sweep.terms, width)
        handles, labels = axes.get_legend_handles_labels()
        if quantity == "epsilon":  # in the order in which the curves end
            handles, labels = handles[::-1], labels[::-1]
        figure.legend(handles, labels, loc="outside right center" if wide else "outside lower center")
    return figure


def _look(row: Row) -> dict[str, Any]:
    look = LINES[list(BOUNDS).index(row.bound) % len(LINES)]
    if row.kind == "upper":
        return {**look, "label": row.bound}
    hollow = {} if row.sound else {"markerfacecolor": "white"}
    return {**look, **hollow, "label": f"{row.bound} ({row.kind})"}


def _title(figure: Figure, title: str, width: float) -> None:
    """Over the whole figure, wrapped to its width; a spec is text, not mathematics."""
    figure.suptitle(_wrapped(title, width), fontsize=8, parse_math=False)


def _wrapped(title: str, width: float) -> str:
    return textwrap.fill(title, int(15 * width), break_on_hyphens=False)


def _logarithmic(axes: Axes, which: str, low: float, high: float) -> None:
    """A logarithmic axis that has labels between the powers of ten where it spans few of them."""
    ticker = require("matplotlib.ticker", extra="plot", purpose="drawing")
    axes.set(**{f"{which}scale": "log"})
    if high < 300.0 * low:
        axis = axes.xaxis if which == "x" else axes.yaxis
        axis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(ticker.NullFormatter())
