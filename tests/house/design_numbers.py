"""The error of a mean by mechanisms of the local model and by those made for the shuffle model, at equal budgets.

For the table of docs/designs.md and the figure docs/designs.svg; n x v is n times the largest mean square error.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np

import shuffledp as sdp
from shuffledp._support import figures, ticks
from shuffledp.numerics.composition.conversions import mu_of

DELTA = 1e-8
CROWDS = (10_000, 1_000_000)
TABLED = (0.1, 0.5, 1.0)
DRAWN = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0)
#: The binomial is computed up to this V: beyond it the window has less error.
MOST = 250.0
#: Curve -> what is calibrated, and the square of how much wider than its own range [-1, 1] is.
CURVES = {
    "laplace": ("laplace", 4.0),
    "duchi": ("duchi:dim=1", 1.0),
    "levels": ("levels", 1.0),
    "window": ("window", 1.0),
    "binomial": ("binomial", 1.0),
}
WORDS = {
    "laplace": "Laplace noise (local model)",
    "duchi": "Duchi et al. (local model)",
    "levels": "equal levels + GRR (Balle et al.)",
    "window": "window (made for the shuffler)",
    "binomial": "binomial (made for the shuffler)",
    "least": "floor of one message to leading order = central Gaussian",
}


def budget(n: int, epsilon: float) -> float:
    """V = n mu^2, to leading order."""
    return n * mu_of(epsilon, DELTA) ** 2


def least(n: int, epsilon: float) -> float:
    """4/V: Theorem M, and n times the mean square error of the Gaussian mechanism in the central model."""
    return 4.0 / budget(n, epsilon)


def binomial(budget: float) -> str:
    """Flips, stretch and shape for a V, as the docstring of Binomial says."""
    flips = round(2.0 + 0.7 * budget ** (2.0 / 3.0))
    shape = float(np.interp(flips, [2, 6, 9, 16], [0.15, 0.65, 0.65, 0.45]))
    return f"binomial:flips={flips},stretch={1 + 1 / (flips + 2):.4f},shape={shape:.4f}"


@cache
def error(curve: str, n: int, epsilon: float) -> float:
    """n times the largest mean square error of the calibrated mechanism; nan where it is not computed."""
    spec, scale = CURVES[curve]
    if curve == "binomial":
        if budget(n, epsilon) > MOST:
            return math.nan
        spec = binomial(budget(n, epsilon))
    made = sdp.calibrate(spec, n=n, epsilon=epsilon, delta=DELTA)
    return scale * float(made.variance(1))  # type: ignore[attr-defined]


def line(n: int, epsilon: float) -> str:
    """n x v of every curve, and the least."""
    found = [error(curve, n, epsilon) for curve in CURVES]
    cells = [f"{value:#.3g}" if value == value else "-" for value in found]
    ratio = found[0] / min(value for value in found if value == value)
    return f"| {n:,} | {epsilon:g} | " + " | ".join(cells) + f" | {least(n, epsilon):#.3g} | {ratio:.1f} |"


def lines() -> list[str]:
    """The lines of the table."""
    return [line(n, epsilon) for n in CROWDS for epsilon in TABLED]


#: Users, eps and coordinates of vectors in a ball, and what is compared.
VECTORS = (
    *((10_000, 0.1, k) for k in (1, 2, 10)),
    *((10_000, 1.0, k) for k in (1, 2, 10, 100)),
    *((1_000_000, 1.0, k) for k in (1, 2, 10, 100)),
)
BALL = ("harmony", "duchi", "window-vector", "window", "binomial", "privunit")


def vectors(n: int, epsilon: float, k: int) -> str:
    """n times the mean square error of a coordinate, at the worst vectors of length 1, as the planner has it."""
    found = sdp.recommend("vector mean", n=n, epsilon=epsilon, delta=DELTA, dim=k, messages=1)
    errors = {choice.mechanism: n * choice.error**2 for choice in found.choices}
    cells = [f"{errors[name]:#.3g}" if name in errors else "-" for name in BALL]
    return f"| {n:,} | {epsilon:g} | {k} | " + " | ".join(cells) + " |"


def draw(path: Path) -> None:
    """One panel per crowd, the root of n x v against eps."""
    with figures.style():
        figure = figures.new_figure(figures.TEXT_WIDTH, 4.2)
        panels = figure.subplots(1, len(CROWDS), sharey=True)
        for axes, n in zip(panels, CROWDS, strict=True):
            for look, curve in zip(figures.LINES[1:], CURVES, strict=False):
                points = [(epsilon, math.sqrt(error(curve, n, epsilon))) for epsilon in DRAWN]
                axes.plot(*zip(*points, strict=True), label=WORDS[curve], **look)
            floor = [math.sqrt(least(n, epsilon)) for epsilon in DRAWN]
            axes.plot(DRAWN, floor, label=WORDS["least"], color="#000000", linewidth=1.8)
            ticks.logarithmic(axes, "x", DRAWN[0], DRAWN[-1])
            ticks.logarithmic(axes, "y", 0.01, 2.0)
            axes.minorticks_off()
            axes.set_title(f"{n:,} users")
            axes.set_xlabel("ε after shuffling")
        panels[0].set_ylabel("√n times the worst-case error of the mean")
        figures.add_title(figure, f"The mean of numbers in [-1, 1], {figures.at_delta(DELTA)}")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
        figures.save(figure, path)
