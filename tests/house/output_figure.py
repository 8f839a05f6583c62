"""The figure of docs/outputs.md: a trade-off function and Renyi divergences of one small batch."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import shuffledp as sdp
from reference.places import ROOT
from shuffledp.plots import TEXT_WIDTH, new_figure, save, style

SPEC, N = "grr:eps0=3,d=4", 100


def draw(path: Path) -> None:
    """Both panels, drawn by ``plot(ax=...)`` of the results."""
    batch = sdp.amplify(SPEC, n=N, delta=1e-6)
    with style():
        figure = new_figure(TEXT_WIDTH, 3.4)
        left, right = figure.subplots(1, 2)
        batch.tradeoff().plot(ax=left)
        batch.renyi_curve(orders=np.geomspace(1.1, 300.0, 120)).plot(ax=right)
        save(figure, path)


def main() -> None:
    """Draw the figure."""
    draw(ROOT / "docs" / "outputs.svg")


if __name__ == "__main__":
    main()
