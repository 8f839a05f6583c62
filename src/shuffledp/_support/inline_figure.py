"""A matplotlib figure that a notebook shows by itself; imported only where something is drawn."""

from __future__ import annotations

import io

from matplotlib.figure import Figure

#: Dots per inch of the picture, and of the place that it takes: twice as sharp as it is large.
_SHARP, _PLACE = 200, 100


class InlineFigure(Figure):
    """A figure outside pyplot, which would show it a second time; a plain one shows nothing outside pyplot.

    ``look`` is the style in which it is drawn, and so saved (figures.py).
    """

    def __init__(self, *, figsize: tuple[float, float], look: str) -> None:
        super().__init__(figsize=figsize)
        self.look = look

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """The picture, for notebooks."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=_SHARP, facecolor="white")
        width, height = (round(_PLACE * inches) for inches in self.get_size_inches())
        return buffer.getvalue(), {"width": width, "height": height}
