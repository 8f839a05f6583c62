"""Feldman, McMillan and Talwar, SODA 2023: what is known of eps0 alone, the stronger clone beside the swap bound.

The numbers that its text states for the figures could not be opened, so the settings here are ours
(words.yaml, assumptions).
"""

from __future__ import annotations

from typing import Any

from ..composing.accountant import Accountant
from ..mechanisms.known.general import General
from .claims import Results, claim, savings, verdict
from .curves import Series, curves, spaced, spread_out
from .plan import Unit

_SERIES = (
    Series("swap", "swap bound (later than the paper)", ("swap-general", "local")),
    Series("stronger-clone", "stronger clone (2023)", ("general", "local")),
    Series("clone", "clone (2021)", ("clone", "local")),
    Series("clone-closed", "clone, closed form", ("clone-closed", "local")),
    Series("efmrtt19", "EFMRTT19", ("efmrtt19", "local")),
    Series("dataset", "lower bound: best constant dataset", ("constant-dataset-lower",)),
)
_RENYI = {"auto": "auto", "stronger-clone": "general", "clone": "clone"}


def units(points: int) -> list[Unit]:
    """The work of the three figures, with this many points per curve."""
    found = []
    for n in (10**4, 10**6):
        settings = {"n": [n] * points, "x": spaced(0.1, 6.0, points), "delta": 1e-6, "eps0": None}
        found.append(Unit(f"clones-budget-n{n}", "figure-clones-budget", f"n = {n:,}", settings, _panel))
    for eps0 in (1.0, 4.0):
        users = [round(n) for n in spread_out(1e3, 1e6, points)]
        settings = {"n": users, "x": users, "delta": 1e-6, "eps0": eps0}
        title = f"local budget $\\varepsilon_0$ = {eps0:g}"
        found.append(Unit(f"clones-users-eps{eps0:g}", "figure-clones-users", title, settings, _panel))
    for n, eps0 in ((10**4, 1.0), (10**6, 4.0)):
        settings = {"n": n, "eps0": eps0, "x": spread_out(2.0, 512.0, points)}
        title = f"n = {n:,}, $\\varepsilon_0$ = {eps0:g}"
        found.append(Unit(f"clones-renyi-n{n}", "figure-clones-renyi", title, settings, _renyi))
    return found


def _panel(settings: dict[str, Any]) -> dict[str, Any]:
    eps0 = settings["eps0"]
    made = [General(eps0=x if eps0 is None else eps0) for x in settings["x"]]
    return curves(_SERIES, made, n=settings["n"], delta=settings["delta"])


def _renyi(settings: dict[str, Any]) -> dict[str, Any]:
    """Upper values of the Renyi divergence of one round over its order."""
    found, labels = {}, {"auto": "today (auto)", **{s.key: s.label for s in _SERIES}}
    for key, bound in _RENYI.items():
        accountant = Accountant()
        accountant.compose(General(eps0=settings["eps0"]), n=settings["n"], bound=bound)
        over = [value / order for value, order in zip(accountant.renyi(settings["x"]), settings["x"], strict=True)]
        found[key] = {"label": labels[key], "bounds": [bound], "value": over}
    return found


def judge(results: Results) -> list[dict[str, Any]]:
    """The one claim of the abstract that the figures speak of."""
    panels = [*results.get("figure-clones-budget", {}).values(), *results.get("figure-clones-users", {}).values()]
    if not panels:
        return []
    saved = savings(panels, "stronger-clone", ["clone"], 0.0)
    measured = {
        "stronger clone, saved against the clone of 2021": saved,
        "swap bound (sound, later than the paper), saved against the stronger clone": savings(
            panels, "swap", ["stronger-clone"]
        ),
    }
    return [claim("clones-2023", verdict(saved.share), measured)]
