"""Draw a result and write the figure: the same as its ``plot()``, with the style and the widths of print.

What a figure shows is decided beside each result (``drawing.py`` of its package); how it looks, in
``_support/figures.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._support.figures import COLUMN_WIDTH, LINES, TEXT_WIDTH, new_figure, prepare, save, style
from .accounting.comparison import Comparison
from .accounting.drawing import draw_batches, draw_comparison
from .accounting.drawing_curves import draw_study, draw_sweep
from .accounting.study import Study
from .accounting.sweeps import Sweep
from .errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "COLUMN_WIDTH",
    "LINES",
    "TEXT_WIDTH",
    "draw",
    "draw_batches",
    "draw_comparison",
    "draw_study",
    "draw_sweep",
    "new_figure",
    "prepare",
    "save",
    "style",
]


def draw(result: Comparison | Sweep | Study, *, width: float = TEXT_WIDTH) -> Figure:
    """The figure of a comparison, of a sweep or of a study."""
    if not isinstance(result, Comparison | Sweep | Study):
        raise ParameterError(
            f"result must be a Comparison, a Sweep or a Study, got {result!r:.200}; draw what compare() or sweep() "
            "returned."
        )
    return result.plot(width=width)
