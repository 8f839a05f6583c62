"""Where a result is drawn: a figure of its own, or axes that the caller has, with words of the caller's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from ..errors import ParameterError
from .figures import TEXT_WIDTH, add_legend, add_title, for_paper, is_wide, lines_of, new_figure, style, typeset
from .optional import require
from .text import visible

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Figure
    from matplotlib.text import Text

#: What the words of a figure (items, bounds, entries of the legend) are to be called: the word -> another one.
Labels = Mapping[str, str]


class Placing(TypedDict, total=False):
    """What every ``plot`` takes: inches of a new figure, or axes to draw in; other words for those of the figure."""

    width: float
    ax: Axes | None
    labels: Labels | None


class Canvas:
    """Where a result is drawn: a figure of its own, or axes that the caller has, with words of the caller's.

    Attributes
    ----------
    figure : that holds everything
    width : inches that there are
    wide : whether a legend fits beside the axes
    """

    def __init__(self, size: tuple[float, float], ax: Axes | None, labels: Labels | None) -> None:
        self._ax, self._labels, self._known = ax, {} if labels is None else _mapping(labels), set[str]()
        self.wide = is_wide(size[0])
        figure: Any = None if ax is None else _axes(ax).get_figure(root=True)
        self.width = size[0] if ax is None else float(ax.get_window_extent().width / figure.dpi)
        self.figure = new_figure(*size) if figure is None else figure

    @cached_property
    def axes(self) -> Axes:
        """The only axes."""
        return self.figure.subplots() if self._ax is None else self._ax

    def panels(self, down: int, across: int) -> Any:
        """Several axes, in rows; in the caller's axes they share their place, below a row for the title."""
        if self._ax is None:
            return self.figure.subplots(down, across, squeeze=False)
        place = self._ax.get_subplotspec()
        if place is None:
            raise ParameterError(
                "ax must be of figure.subplots() where several panels are drawn, got axes in a place of their own; "
                "make them with subplots."
            )
        self._ax.set_axis_off()
        grid = place.subgridspec(down + 1, across, height_ratios=[1e-3] + [1.0] * down)
        self._ax = self.figure.add_subplot(grid[0, :])
        self._ax.set_axis_off()
        return np.array([[self.figure.add_subplot(grid[i + 1, j]) for j in range(across)] for i in range(down)])

    @property
    def beside_legend(self) -> float:
        """Inches that a legend beside the axes leaves."""
        return self.width - (2.4 if self.wide and self._ax is None else 0.0)

    def said(self, names: Sequence[str]) -> list[str]:
        """What the caller calls these."""
        self._known.update(names)
        return [self._labels.get(name, name) for name in names]

    def legend(
        self, handles: Sequence[Artist], texts: Sequence[str], *, beside: bool = False, left_out: int = 0
    ) -> None:
        """Outside the axes of a figure, inside those of a caller; the last line says how many are left out."""
        words = self.said(texts)
        if self._ax is None:
            add_legend(self.figure, handles, words, beside=beside, left_out=left_out)
        elif handles:
            self._ax.legend(handles, words, fontsize=7)

    def explain(self, xlabel: str, ylabel: str = "", *, beside: bool = False) -> None:
        """The labels and the legend of the only axes."""
        self.axes.set_xlabel(xlabel)
        self.axes.set_ylabel(ylabel)
        self.legend(*self.axes.get_legend_handles_labels(), beside=beside)

    def finish(self, title: str | Sequence[str]) -> None:
        """The title, and an error if the caller renamed what is not shown."""
        unknown = [name for name in self._labels if name not in self._known]
        if unknown:
            shown = ", ".join(sorted(self._known)[:8])[:200]
            raise ParameterError(f"labels must rename what is drawn ({shown}), got {unknown[0]!r:.60}; correct it.")
        if for_paper():
            typeset(self._words())
        elif self._ax is None:
            add_title(self.figure, title)
        else:
            self._ax.set_title(lines_of(title, self.width), fontsize=8, parse_math=False)

    def _words(self) -> Iterator[Text]:
        """The labels of all axes that were drawn in, and the entries of legends."""
        every = self.figure.axes if self._ax is None else [self._ax]
        legends = [*self.figure.legends, *(axes.get_legend() for axes in every)]
        for axes in every:
            yield from (axes.xaxis.label, axes.yaxis.label, axes.title)
        for legend in legends:
            yield from [] if legend is None else legend.get_texts()


def _mapping(labels: Labels) -> dict[str, str]:
    if not isinstance(labels, Mapping) or not all(isinstance(x, str) for pair in labels.items() for x in pair):
        raise ParameterError(f"labels must map words of the figure to others, got {labels!r:.60}; write {{'a': 'A'}}.")
    return {name: visible(word) for name, word in labels.items()}


def _axes(ax: object) -> Axes:
    kind = require("matplotlib.axes", extra="plot", purpose="drawing").Axes
    if not isinstance(ax, kind):
        raise ParameterError(f"ax must be matplotlib axes, got {type(ax).__name__}; make them with figure.subplots().")
    return ax  # type: ignore[no-any-return]


@contextmanager
def canvas(
    title: str | Sequence[str],
    width: float = TEXT_WIDTH,
    height: float | tuple[float, float] = (3.0, 3.3),
    *,
    ax: Axes | None = None,
    labels: Labels | None = None,
) -> Iterator[Canvas]:
    """Where the block draws, in the style of all; the title, one paragraph or several, comes last.

    ``height`` is one, or that of a figure which has room for a legend beside its axes and that of a narrower one.
    """
    with style():
        inches = height[not is_wide(width)] if isinstance(height, tuple) else height
        made = Canvas((width, inches), ax, labels)
        yield made
        made.finish(title)
