"""Two figures of the note: what earlier papers prove beside the bounds of today.

Settings of the one are those of the notebook of Balle, Bell, Gascon and Nissim
(github.com/BorjaBalle/amplification-by-shuffling, commit 1778a0d); those of Feldman, McMillan and Talwar could not be
opened, and are ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import shuffledp as sdp
from shuffledp._support.figures import LINES
from shuffledp.paper.curves import Series, curves
from shuffledp.paper.draw import above, draw_line, side_by_side

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Points of a curve.
POINTS = 13
_RANDOMIZERS = (("RR-2", "grr", {"d": 2}), ("RR-100", "grr", {"d": 100}), ("Laplace", "laplace", {}))
_TAILS = {
    "today (auto)": "auto",
    "exact blanket": "blanket",
    "Bennett": "blanket-bennett",
    "Hoeffding": "blanket-hoeffding",
}
_CLONES = (
    Series("swap", "swap bound (later than the paper)", ("swap-general", "local")),
    Series("stronger-clone", "stronger clone (2023)", ("general", "local")),
    Series("clone", "clone (2021)", ("clone", "local")),
    Series("clone-closed", "clone, closed form", ("clone-closed", "local")),
    Series("efmrtt19", "EFMRTT19", ("efmrtt19", "local")),
    Series("dataset", "lower bound: best constant dataset", ("constant-dataset-lower",)),
)


def budget(name: str, bound: str, *, n: int, epsilon: float, delta: float, **fixed: Any) -> float | None:
    """The largest eps0 with which this bound proves (eps, delta); None where it proves nothing."""
    try:
        made = sdp.calibrate(name, n=n, epsilon=epsilon, delta=delta, bound=bound, **fixed)
    except sdp.BoundNotApplicableError:
        return None
    return float(made.local_epsilon)


def tails() -> Figure:
    """The local budget that eps = 0.1 allows, by tail bounds of the blanket and by what came later."""
    users, labels = _spread_out(1e2, 1e5), ("users $n$", "local budget $\\varepsilon_0$")
    titles = [title for title, _, _ in _RANDOMIZERS]
    with side_by_side(titles, labels, height=3.4, rows=[1.0], columns=3) as (drawn, grid):
        for axes, (_, name, fixed) in zip(grid[0], _RANDOMIZERS, strict=True):
            axes.set_xscale("log")
            for place, (label, bound) in enumerate(_TAILS.items()):
                found = [budget(name, bound, n=n, epsilon=0.1, delta=1e-6, **fixed) for n in users]
                draw_line(axes, users, found, place, label=label, **LINES[place])
    return drawn


def clones() -> Figure:
    """eps of randomizers that are known by eps0 alone, and how far it is above a concrete dataset."""
    users, labels, budgets = _spread_out(1e3, 1e6), ("users $n$", "$\\varepsilon$ after shuffling"), (1.0, 4.0)
    titles = [f"local budget $\\varepsilon_0$ = {eps0:g}" for eps0 in budgets]
    with side_by_side(titles, labels, height=4.6, rows=[2.0, 1.0], columns=3) as (drawn, grid):
        for column, eps0 in enumerate(budgets):
            data = curves(_CLONES, [sdp.General(eps0=eps0)] * len(users), n=users, delta=1e-6)
            grid[0, column].set(xscale="log", yscale="log")
            for place, (key, curve) in enumerate(data.items()):
                draw_line(grid[0, column], users, curve["epsilon"], place, label=curve["label"], **LINES[place])
                if key in ("swap", "stronger-clone", "clone"):
                    draw_line(grid[1, column], users, above(curve, data["dataset"]), place, **LINES[place])
        grid[1, 0].set_ylabel("above the\nlower bound, %")
        grid[1, 0].set_ylim(-2.0, 70.0)
    return drawn


def _spread_out(low: float, high: float) -> list[int]:
    return [round(low * (high / low) ** (i / (POINTS - 1))) for i in range(POINTS)]


#: File -> what draws it.
FIGURES: dict[str, Callable[[], Figure]] = {"figure-blanket-tails": tails, "figure-clones-users": clones}
