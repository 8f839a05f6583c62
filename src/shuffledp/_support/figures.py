"""Figures for print and for notebooks: one style, lines that differ without color, the same bytes every time.

Everything is drawn on figures that no global state knows of; no display is involved.
"""

from __future__ import annotations

import io
import os
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ..errors import ParameterError
from . import validation as check
from .files import write_whole
from .numbers import round_up
from .optional import require
from .text import visible

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure
    from matplotlib.text import Text

#: Widths in inches of one column and of the text of a two-column page.
COLUMN_WIDTH, TEXT_WIDTH = 3.33, 7.0
#: In which square axes leave room for a legend beside them, and not more.
SQUARE_WIDTH = 5.8

#: Characters of an inch of a title or a legend, and those that the mark of an entry of a legend takes.
_PER_INCH, _MARK = 15, 8
#: Okabe and Ito's colors, distinguishable for the color-blind; their yellow is left out, it is too pale for a line.
COLORS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")

#: 28 keyword sets for ``axes.plot``: no two agree in color and dashes, nor (in gray print) in dashes and marker.
LINES: tuple[dict[str, Any], ...] = tuple(
    {"color": COLORS[i % 7], "linestyle": _DASHES[i % 4], "marker": _MARKERS[i % 9]} for i in range(28)
)

#: The curve of a figure that has only one.
CURVE: dict[str, Any] = {"color": "#0072B2", "marker": "o"}
#: Bars that stay within a limit, that go beyond it (hatched, to show in gray print), and that are a part of others.
_EDGE: dict[str, Any] = {"edgecolor": "#000000", "linewidth": 0.6}
WITHIN_BAR: dict[str, Any] = {"color": "#56B4E9", **_EDGE}
BEYOND_BAR: dict[str, Any] = {"color": "#E69F00", "hatch": "///", **_EDGE}
PART_BAR: dict[str, Any] = {"color": "#DDDDDD", **_EDGE}

_STYLE: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # ships with matplotlib, so the figure is the same everywhere
    **dict.fromkeys(("font.size", "xtick.labelsize", "ytick.labelsize", "legend.fontsize"), 8),
    **dict.fromkeys(("axes.titlesize", "axes.labelsize", "figure.titlesize"), 9),
    "figure.figsize": (COLUMN_WIDTH, 2.5),
    "figure.constrained_layout.use": True,
    "figure.dpi": 100,
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
    **dict.fromkeys(("axes.axisbelow", "axes.grid", "axes.unicode_minus"), True),
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "lines.markeredgewidth": 0.8,
    **dict.fromkeys(("axes.linewidth", "xtick.major.width", "ytick.major.width"), 0.6),
    **dict.fromkeys(("xtick.minor.width", "ytick.minor.width"), 0.4),
    "legend.handlelength": 2.8,
    **dict.fromkeys(("pdf.fonttype", "ps.fonttype"), 42),  # TrueType: text stays text, as publishers ask
    "svg.fonttype": "none",
    "svg.hashsalt": "shuffledp",
    "savefig.dpi": 300,
    "savefig.facecolor": "white",
}
#: Serif letters as in papers that are set in Times, mathematics as LaTeX sets it, without LaTeX; all letters as shapes.
_PAPER: dict[str, Any] = {
    "font.family": ["STIXGeneral", "DejaVu Serif"],  # both ship with matplotlib; the second has what the first lacks
    "mathtext.fontset": "stix",
    "svg.fonttype": "path",
}
#: Styles by name: of pages and notebooks, and of papers, where a caption says what a title would.
STYLES: dict[str, dict[str, Any]] = {"plain": _STYLE, "paper": {**_STYLE, **_PAPER}}
_around: ContextVar[str] = ContextVar("style of figures", default="plain")
#: Symbols in words, as mathematics.
_SYMBOLS = {
    "ε₀": r"$\varepsilon_0$",
    "ε": r"$\varepsilon$",
    "δ": r"$\delta$",
    "μ": r"$\mu$",
    "\N{GREEK SMALL LETTER ALPHA}": r"$\alpha$",
    "β": r"$\beta$",
}
#: What would make two runs differ: dates, and the name of the program.
_METADATA: dict[str, dict[str, None]] = {
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
    "png": {"Software": None},
}


@contextmanager
def style(name: str | None = None) -> Iterator[None]:
    """matplotlib's settings for a figure in print, while the block runs.

    Fonts of 8 and 9 points at the final size, light grid, no top and right spines, embedded TrueType fonts.
    Create the figure and its artists inside the block; :func:`save` needs no block of its own.

    name : "plain"; or "paper" for serif letters, mathematics as in LaTeX (which need not be installed) and no title,
        which is for the caption to say.  None: that of the block around this one, or "plain".  Every ``plot`` of a
        result follows it

    Examples
    --------
    >>> with style():
    ...     axes = new_figure(COLUMN_WIDTH, 2.0).subplots()
    ...     curves = [axes.plot([1, 2], [i, i], **LINES[i]) for i in range(3)]
    >>> axes.spines["top"].get_visible()
    False
    >>> import shuffledp as sdp
    >>> with style("paper"):
    ...     figure = sdp.compare("grr:eps0=1,d=4", n=1000, delta=1e-6, bounds=["blanket"]).plot(width=COLUMN_WIDTH)
    >>> print(figure.axes[0].get_xlabel())
    central $\\varepsilon$ (smaller is better)
    """
    chosen = _around.get() if name is None else check.one_of("style", name, STYLES)
    matplotlib = require("matplotlib", extra="plot", purpose="drawing")
    before = _around.set(chosen)
    try:
        with matplotlib.rc_context(STYLES[chosen]), _quiet("matplotlib.font_manager"), _quiet("fontTools"):
            yield
    finally:
        _around.reset(before)


def for_paper() -> bool:
    """Return True inside a ``with`` block that sets the style of papers."""
    return _around.get() == "paper"


def new_figure(width: float, height: float) -> Figure:
    """An empty figure that no global state knows of and that a notebook shows."""
    require("matplotlib.figure", extra="plot", purpose="drawing")
    from .inline_figure import InlineFigure

    return InlineFigure(figsize=(width, height), look=_around.get())


def _drawn(figure: Figure, kind: str) -> bytes:
    """The figure as a file of this kind, in the style in which it was made, where that is known."""
    from .inline_figure import InlineFigure

    buffer = io.BytesIO()
    with style(figure.look if isinstance(figure, InlineFigure) else None):
        figure.savefig(buffer, format=kind, metadata=_METADATA[kind])
    return buffer.getvalue()


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as PDF, SVG or PNG (300 dpi), by the suffix of ``path``; the same figure gives the same bytes.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with style(), tempfile.TemporaryDirectory() as folder:
    ...     save(new_figure(1.0, 1.0), Path(folder) / "empty.svg")
    ...     (Path(folder) / "empty.svg").read_text(encoding="utf-8").startswith("<?xml")
    True
    """
    write_whole(path, _drawn(figure, prepare(path)), name="plot")


def inline_svg(figure: Figure) -> str:
    """The figure as an SVG element that a page holds, without the head of a file; the same bytes every time."""
    text = _drawn(figure, "svg").decode("utf-8")
    return text[text.index("<svg") :]


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """No warnings of this logger: fontTools remarks on the date inside DejaVu Sans, the font manager on spare fonts."""
    import logging

    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def prepare(path: str | os.PathLike[str]) -> str:
    """The format that the end of ``path`` asks for; call it before long work, so that a typo costs no time."""
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(f"plot must be the path of a file, got {path!r}; name a .pdf, .svg or .png file.")
    kind = os.path.splitext(path)[1].lower().removeprefix(".")
    if kind not in _METADATA:
        raise ParameterError(f"plot must end in .pdf, .svg or .png, got {os.fspath(path)!r}; choose one of the three.")
    require("matplotlib", extra="plot", purpose="drawing")
    return kind


# -- words and axes -------------------------------------------------------------------------------------------------


def is_wide(width: float) -> bool:
    """Return True if a legend fits beside the axes."""
    return width >= 5.0


def add_title(figure: Figure, title: str | Sequence[str]) -> None:
    """Over the whole figure, wrapped to its width; a spec is text, not mathematics.  None in a paper."""
    if not for_paper():
        figure.suptitle(lines_of(title, figure.get_figwidth()), fontsize=8, parse_math=False)


def lines_of(title: str | Sequence[str], width: float) -> str:
    """A title of one paragraph or several, each in lines that fit."""
    return "\n".join(wrapped(part, width) for part in ([title] if isinstance(title, str) else title) if part)


def wrapped(title: str, width: float) -> str:
    """A title in lines that fit into ``width`` inches; what a spec says cannot break it."""
    unbroken = visible(title).replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")
    return textwrap.fill(unbroken, int(_PER_INCH * width), break_on_hyphens=False)


def typeset(texts: Iterable[Text]) -> None:
    """Write the symbols among the words of these texts as mathematics; a dollar stays a dollar."""
    for text in texts:
        words = text.get_text()
        if "$" not in words and any(symbol in words for symbol in _SYMBOLS):
            for symbol, written in _SYMBOLS.items():
                words = words.replace(symbol, written)
            text.set_text(words)
            text.set_parse_math(True)


def users(n: int) -> str:
    """A number of users in words.

    >>> users(1), users(10_000)
    ('1 user', '10,000 users')
    """
    return "1 user" if n == 1 else f"{n:,} users"


def at_delta(delta: float | str) -> str:
    """The delta of a title, rounded up, or its rule.

    >>> at_delta(1e-6), at_delta("0.01/n")
    ('at δ = 1e-6', 'at δ = 0.01/n')
    """
    text = delta if isinstance(delta, str) else re.sub(r"e([+-])0+(?=\d)", r"e\1", round_up(delta, 6))
    return f"at δ = {text}"


def add_legend(
    figure: Figure, handles: Sequence[Artist], labels: Sequence[str], *, beside: bool = False, left_out: int = 0
) -> None:
    """Beside the axes, or below them in as many columns as fit; the last line says how many curves are left out."""
    if left_out:
        lines = require("matplotlib.lines", extra="plot", purpose="drawing")
        handles = [*handles, lines.Line2D([], [], linestyle="none")]
        labels = [*labels, f"and {left_out} more, left out"]
    if beside:
        figure.legend(handles, labels, loc="outside right center")
    else:
        width = figure.get_figwidth()
        fit = int(_PER_INCH * width / (max(map(len, labels), default=0) + _MARK))
        figure.legend(handles, labels, loc="outside lower center", ncols=min(max(fit, 1), 3) if is_wide(width) else 1)
