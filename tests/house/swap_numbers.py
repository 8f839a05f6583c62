"""How far each bound is above the lower bound, for the tables of docs/swap-numbers.md and the figure docs/swap.svg.

A bound that a mechanism does not offer is left out.
"""

from __future__ import annotations

import contextlib
import math
from functools import cache
from pathlib import Path
from typing import NamedTuple

import shuffledp as sdp
from shuffledp._support import figures
from shuffledp._support.numbers import round_down, round_up
from shuffledp.errors import BoundNotApplicableError

EPS0, DELTA, TOL = 1.0, 1e-6, 1e-6
CROWDS = (100, 300, 1_000, 3_000, 10_000, 100_000, 1_000_000, 10_000_000)
TABLED = (1_000, 10_000, 1_000_000)
#: What a panel is called, and its spec.
MECHANISMS = {
    "one ε₀-LDP randomizer for all": f"general:eps0={EPS0:g}",
    "randomized response": f"randomized-response:eps0={EPS0:g}",
    "unary encoding": f"unary:eps0={EPS0:g},d=16",
    "optimized unary encoding": f"optimized-unary:eps0={EPS0:g},d=16",
    "k-subset": f"subset:eps0={EPS0:g},d=16",
    "local hash": f"local-hash:eps0={EPS0:g},d=16",
    "Laplace": f"laplace:eps0={EPS0:g}",
    "Duchi": f"duchi:eps0={EPS0:g},dim=5",
    "Harmony": f"harmony:eps0={EPS0:g},dim=5",
    "PrivUnit": f"privunit:eps0={EPS0:g},dim=10",
    "sampling RAPPOR": f"sampling-rappor:eps0={EPS0:g},d=16,s=3",
    "Wheel": f"wheel:eps0={EPS0:g},d=16,s=3",
}
#: Mechanisms that do not list the types of all others.
UNLISTED = ("PrivUnit", "Wheel")
#: Curve -> the bound for a mechanism with a law, and the one for a mechanism known by its budget.
CURVES = {
    "swap": ("swap", "swap-general"),
    "blanket": ("blanket", "blanket"),
    "stronger clone": ("general", "general"),
}


class Row(NamedTuple):
    """One mechanism among n users: the lower bound, and eps of every curve that applies."""

    title: str
    spec: str
    n: int
    lower: float
    found: dict[str, float]

    def above(self, curve: str) -> float:
        """How far the curve is above the lower bound, in percent; nan where it does not apply."""
        return 100.0 * (self.found.get(curve, math.nan) / self.lower - 1.0)


@cache
def measure(title: str, spec: str, n: int) -> Row:
    """Every curve at one crowd size."""
    mechanism = sdp.mechanism(spec)
    lower = sdp.amplify(mechanism, n=n, delta=DELTA, bound="constant-dataset-lower", tol=TOL).epsilon
    found = {}
    for curve, (by_law, by_budget) in CURVES.items():
        name = by_budget if spec.startswith("general") else by_law
        with contextlib.suppress(BoundNotApplicableError):
            found[curve] = sdp.amplify(mechanism, n=n, delta=DELTA, bound=name, tol=TOL).epsilon
    return Row(title, spec, n, lower, found)


def draw(path: Path) -> None:
    """One panel per mechanism, percent above the lower bound against n."""
    rows = [measure(title, spec, n) for title, spec in MECHANISMS.items() for n in CROWDS]
    with figures.style():
        figure = figures.new_figure(figures.TEXT_WIDTH, 6.6)
        panels = figure.subplots(4, 3, sharex=True, sharey=True)
        for axes, title in zip(panels.flat, MECHANISMS, strict=True):
            mine = [row for row in rows if row.title == title]
            for look, curve in zip(figures.LINES[1:], CURVES, strict=False):
                points = [(row.n, row.above(curve)) for row in mine if row.above(curve) > 0.0]
                axes.plot(*zip(*points, strict=True) if points else ([], []), label=curve, **look)
            axes.set(xscale="log", yscale="log", ylim=(1e-4, 1e3))
            axes.minorticks_off()
            axes.set_title(title)
        for axes in panels[-1]:
            axes.set_xlabel("number of users n")
        for axes in panels[:, 0]:
            axes.set_ylabel("% above lower")
        figures.add_title(figure, f"ε above the lower bound, ε₀ = {EPS0:g}, {figures.at_delta(DELTA)}")
        figures.add_legend(figure, *panels.flat[0].get_legend_handles_labels())
        figures.save(figure, path)


def line(row: Row) -> str:
    """eps of the lower bound and, for every curve, eps and how far it is above."""
    cells = [
        f"{round_up(row.found[curve], 5)} (+{row.above(curve):.3f} %)" if curve in row.found else "-"
        for curve in CURVES
    ]
    return f"| `{row.spec}` | {row.n:,} | {round_down(row.lower, 5)} | " + " | ".join(cells) + " |"


def lines(*, every: int = 1) -> list[str]:
    """The lines of the table; ``every`` leaves out all but each so-manieth mechanism."""
    return [line(measure(title, spec, n)) for title, spec in list(MECHANISMS.items())[::every] for n in TABLED]


def ranges() -> str:
    """How far the bounds are above the lower bound among 10,000 users, in a sentence."""
    rows = [measure(title, spec, 10_000) for title, spec in MECHANISMS.items()]
    listed = [row for row in rows if row.title not in UNLISTED]

    def span(curve: str, among: list[Row], digits: int) -> str:
        above = [row.above(curve) for row in among if curve in row.found]
        return f"{max(min(above), 0.0):.{digits}f} to {max(above):.{digits}f} %"

    return (
        f"Among 10,000 users, at $\\varepsilon_0 = {EPS0:g}$ and $\\delta = 10^{{{math.log10(DELTA):.0f}}}$, "
        f"the swap bound is {span('swap', listed, 3)}\n"
        f"above the lower bound for {len(listed)} of the {len(rows)} mechanisms of the figure "
        f"(all but {' and '.join(UNLISTED)}, see\n"
        f"[where it misses](#where-it-misses)), the exact privacy blanket {span('blanket', rows, 0)} and the stronger\n"
        f"clone {span('stronger clone', rows, 0)}."
    )
