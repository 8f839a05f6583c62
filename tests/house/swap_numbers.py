"""How far each bound is above the lower bound: writes docs/swap.svg and docs/swap-numbers.md.

Run ``python -m benchmarks.swap_figure``; it takes about a minute.  A bound that a mechanism does not offer is left out.
"""

from __future__ import annotations

import contextlib
import math
from pathlib import Path
from typing import NamedTuple

import shuffledp as sdp
from shuffledp._support import figures
from shuffledp._support.numbers import round_down, round_up
from shuffledp.errors import BoundNotApplicableError

DOCS = Path(__file__).parent.parent / "docs"
EPS0, DELTA, TOL = 1.0, 1e-6, 1e-6
CROWDS = (100, 300, 1_000, 3_000, 10_000, 100_000, 1_000_000, 10_000_000)
TABLED = (1_000, 10_000, 1_000_000)
#: What a panel is called, and its spec.
MECHANISMS = {
    "any ε₀-LDP randomizer": f"general:eps0={EPS0:g}",
    "randomized response": f"randomized-response:eps0={EPS0:g}",
    "unary encoding": f"unary:eps0={EPS0:g},d=16",
    "optimised unary encoding": f"optimised-unary:eps0={EPS0:g},d=16",
    "k-subset": f"subset:eps0={EPS0:g},d=16",
    "local hash": f"local-hash:eps0={EPS0:g},d=16",
    "Laplace": f"laplace:eps0={EPS0:g}",
    "Duchi": f"duchi:eps0={EPS0:g},dim=5",
    "Harmony": f"harmony:eps0={EPS0:g},dim=5",
    "PrivUnit": f"privunit:eps0={EPS0:g},dim=10",
    "sampling RAPPOR": f"sampling-rappor:eps0={EPS0:g},d=16,s=3",
    "Wheel": f"wheel:eps0={EPS0:g},d=16,s=3",
}
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
        """How far the curve is above the lower bound, in per cent; nan where it does not apply."""
        return 100.0 * (self.found.get(curve, math.nan) / self.lower - 1.0)


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


def draw(rows: list[Row], path: Path) -> None:
    """One panel per mechanism, per cent above the lower bound against n."""
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


def page(rows: list[Row]) -> str:
    """The table: eps of the lower bound and, for every curve, eps and how far it is above."""
    lines = [
        "# The swap bound in numbers",
        "",
        "This page and [its figure](swap.svg) are written by `python -m benchmarks.swap_figure`; the theory is in",
        f"[swap.md](swap.md). eps0 = {EPS0:g}, delta = {DELTA:g}; in brackets: above the lower bound. A dash: the",
        "mechanism does not offer the bound.",
        "",
        "| mechanism | n | lower | " + " | ".join(CURVES) + " |",
        "|---|---|---|" + "---|" * len(CURVES),
    ]
    for row in rows:
        if row.n in TABLED:
            cells = [
                f"{round_up(row.found[curve], 5)} (+{row.above(curve):.3f} %)" if curve in row.found else "-"
                for curve in CURVES
            ]
            lines.append(f"| `{row.spec}` | {row.n:,} | {round_down(row.lower, 5)} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    rows = [measure(title, spec, n) for title, spec in MECHANISMS.items() for n in CROWDS]
    draw(rows, DOCS / "swap.svg")
    (DOCS / "swap-numbers.md").write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
