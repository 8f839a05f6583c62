"""What there is to compute of Wang et al. 2024: one unit of work per panel or table, its settings spelled out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from .._support import validation as check
from . import errata, panels, speed, tightness
from .curves import spaced
from .words import PARTS

#: delta of figures 1, 2, 3 and 5 times n: the paper is silent there and uses this in table 5.
DELTA_TIMES_N = 0.01
#: d/s and -log10(delta) of figure 4, where the number of messages follows from both; the paper names neither.
BALLS = ((16, 6), (128, 9))
POINTS = 25


@dataclass(frozen=True)
class Unit:
    """One piece of work: its file name, the part it belongs to, a title, and ``work(settings)`` that does it.

    Without a title it has that of its part.
    """

    name: str
    part: str
    title: str
    settings: dict[str, Any]
    work: Callable[[dict[str, Any]], dict[str, Any]]

    def run(self) -> dict[str, Any]:
        """Compute it."""
        return self.work(self.settings)


def units(only: Iterable[str] = (), *, points: int = POINTS) -> list[Unit]:
    """The work for these parts (all of them if none is named), with this many points per curve.

    Examples
    --------
    >>> [unit.name for unit in units(("figure4", "table5"))]
    ['figure4-ratio16-delta6', 'figure4-ratio128-delta9', 'table5']
    """
    chosen = {check.one_of("part", name, PARTS) for name in only} or set(PARTS)
    count = check.whole("points", points, low=2, high=10_000, hint="it is the number of points of a curve")
    wanted = [unit for unit in _every_unit(count) if unit.part in chosen]
    return [replace(unit, title=unit.title or PARTS[unit.part]) for unit in wanted]


def _every_unit(points: int) -> list[Unit]:
    """All work of figures 1 to 5, table 5, tightness and errata."""
    local, claimed = spaced(0.1, 5.0, points), spaced(0.01, 1.5, points)
    found = []
    for part, mechanism in (("figure1", "subset"), ("figure2", "local-hash")):
        for n in (10**4, 10**5):
            for d in (16, 128):
                settings = {"mechanism": mechanism, "n": n, "d": d, "delta": DELTA_TIMES_N / n, "x": local}
                found.append(Unit(f"{part}-n{n}-d{d}", part, _users(n, d), settings, panels.single_panel))
    for n in (10**4, 10**5):
        settings = {"n": n, "d": 16, "delta": DELTA_TIMES_N / n, "x": claimed}
        found.append(Unit(f"figure3-n{n}", "figure3", f"n = {n:,}, any d > 2", settings, panels.cheu_panel))
    for ratio, exponent in BALLS:
        settings = {"d": ratio, "special": 1, "delta": float(f"1e-{exponent}"), "x": claimed}
        title = f"d/s = {ratio}, delta = 1e-{exponent}"
        found.append(Unit(f"figure4-ratio{ratio}-delta{exponent}", "figure4", title, settings, panels.balls_panel))
    for n in (10**4, 10**5):
        for d in (64, 2048):
            settings = {"n": n, "d": d, "delta": DELTA_TIMES_N / n, "x": local}
            found.append(Unit(f"figure5-n{n}-d{d}", "figure5", _users(n, d), settings, panels.levels_panel))
    general_settings = {"tol": 1e-6, "delta_times_n": DELTA_TIMES_N}
    found.append(Unit("table5", "table5", "", general_settings, speed.table))
    tight_settings = {"eps0": 3.0, "n": 1000, "delta": 1e-5, "tol": 1e-6}
    found.append(Unit("tightness", "tightness", "", tight_settings, tightness.table))
    found.append(Unit("errata", "errata", "", {}, errata.table))
    return found


def _users(n: int, d: int) -> str:
    return f"n = {n:,}, d = {d}"
