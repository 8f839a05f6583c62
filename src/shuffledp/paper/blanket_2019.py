"""Balle, Bell, Gascon and Nissim, CRYPTO 2019: the privacy blanket by tail bounds, beside the exact ones of today.

Settings are those of the notebook that the authors released and say was used for the plots of the paper
(github.com/BorjaBalle/amplification-by-shuffling, commit 1778a0d).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from ..calibration import calibrate
from ..errors import BoundNotApplicableError
from ..mechanisms.known.general import General
from .claims import Results, claim, savings, verdict
from .curves import Series, curves, spread_out
from .plan import Unit

#: Label, name of the mechanism and what else it needs.
_RANDOMIZERS: dict[str, tuple[str, str, dict[str, int]]] = {
    "rr2": ("RR-2", "grr", {"d": 2}),
    "rr100": ("RR-100", "grr", {"d": 100}),
    "laplace": ("Laplace", "laplace", {}),
}
_TAILS = {
    "auto": ("today (auto)", "auto"),
    "blanket": ("exact blanket", "blanket"),
    "bennett": ("Bennett", "blanket-bennett"),
    "hoeffding": ("Hoeffding", "blanket-hoeffding"),
}
_GENERIC = (
    Series("swap", "swap bound (later than the paper)", ("swap-general", "local")),
    Series("stronger-clone", "stronger clone (2023)", ("general", "local")),
    Series("hoeffding", "Hoeffding, generic", ("blanket-hoeffding-generic", "local")),
    Series("bennett", "Bennett, generic", ("blanket-bennett-generic", "local")),
    Series("dataset", "lower bound: best constant dataset", ("constant-dataset-lower",)),
)


def units(points: int) -> list[Unit]:
    """The work of the four figures, with this many points per curve."""
    many, few = ([round(n) for n in spread_out(low, high, points)] for low, high in ((1e3, 1e6), (1e2, 1e5)))
    asked = {"x": few, "delta": [1e-6] * points, "epsilon": 0.1}
    generic = {"x": many, "delta": 1e-6, "eps0": 0.5}
    title = "$\\varepsilon$ = 0.1, $\\delta$ = 1e-6"
    found = [
        Unit(
            "blanket-generic",
            "figure-blanket-generic",
            "$\\varepsilon_0$ = 0.5, $\\delta$ = 1e-6",
            generic,
            _generic_panel,
        ),
        Unit("blanket-budget", "figure-blanket-budget", title, asked, _budget_panel),
    ]
    for key, (label, name, fixed) in _RANDOMIZERS.items():
        settings = {**asked, "name": name, "fixed": fixed}
        found.append(Unit(f"blanket-tails-{key}", "figure-blanket-tails", label, settings, _tails_panel))
    growing = {**asked, "delta": [n**-2.0 for n in few], "name": "grr", "fixed": {}}
    title = "RR-k, $\\varepsilon$ = 0.1, $\\delta = n^{-2}$, $k = n^{1/3}$"
    found.append(Unit("blanket-alphabet", "figure-blanket-alphabet", title, growing, _tails_panel))
    return found


def cube_root(n: int) -> int:
    """The whole part of the cube root of n.

    Examples
    --------
    >>> cube_root(999), cube_root(1000), cube_root(10**15)
    (9, 10, 100000)
    """
    k = round(math.cbrt(n))
    return k - (k * k * k > n)


def first_epsilon(eps0: float, n: int, delta: float) -> float | None:
    """EFMRTT19 as the notebook draws it; None outside its range, or where it is no amplification."""
    eps = 12.0 * eps0 * math.sqrt(math.log(1.0 / delta) / n)
    return eps if eps0 <= 0.5 and n >= 1000 and eps <= eps0 else None


def first_budget(epsilon: float, n: int, delta: float) -> float | None:
    """The eps0 that EFMRTT19 allows for eps, as the notebook draws it."""
    eps0 = epsilon / (12.0 * math.sqrt(math.log(1.0 / delta) / n))
    return eps0 if epsilon <= eps0 <= 0.5 and n >= 1000 else None


def budget(name: str, bound: str, *, n: int, epsilon: float, delta: float, **fixed: Any) -> float | None:
    """The largest eps0 with which this bound proves (eps, delta); None where it proves nothing.

    Examples
    --------
    >>> round(budget("grr", "blanket-hoeffding", n=1000, epsilon=0.1, delta=1e-6, d=2), 3)
    0.649
    """
    try:
        made = calibrate(name, n=n, epsilon=epsilon, delta=delta, bound=bound, **fixed)
    except BoundNotApplicableError:
        return None
    return float(made.local_epsilon)


def _budgets(settings: dict[str, Any], at: Callable[..., float | None]) -> list[float | None]:
    return [at(n=n, delta=delta) for n, delta in zip(settings["x"], settings["delta"], strict=True)]


def _generic_panel(settings: dict[str, Any]) -> dict[str, Any]:
    n, delta, eps0 = settings["x"], settings["delta"], settings["eps0"]
    found = curves(_GENERIC, [General(eps0=eps0)] * len(n), n=n, delta=delta)
    drawn = [first_epsilon(eps0, users, delta) for users in n]
    return {**found, "efmrtt19": Series("efmrtt19", "EFMRTT19", ()).drawn(drawn)}


def _budget_panel(settings: dict[str, Any]) -> dict[str, Any]:
    eps = settings["epsilon"]
    asked: list[tuple[str, str, str, str, dict[str, int]]] = []
    for kind in ("auto", "hoeffding"):
        words, bound = _TAILS[kind]
        asked += [(f"{key}-{kind}", f"{words}, {m[0]}", m[1], bound, m[2]) for key, m in _RANDOMIZERS.items()]
    asked.append(("hoeffding", "Hoeffding, generic", "general", "blanket-hoeffding-generic", {}))
    found: dict[str, Any] = {}
    for key, label, name, bound, fixed in asked:
        ask = partial(budget, name, bound, epsilon=eps, **fixed)
        found[key] = {"label": label, "bounds": [bound], "value": _budgets(settings, ask)}
    first = _budgets(settings, partial(first_budget, eps))
    return {**found, "efmrtt19": {"label": "EFMRTT19", "bounds": [], "value": first}}


def _tails_panel(settings: dict[str, Any]) -> dict[str, Any]:
    """Four analyses of one randomizer; without ``fixed`` randomized response has the cube root of n symbols."""
    found = {}
    for key, (label, bound) in _TAILS.items():

        def at(n: int, delta: float, bound: str = bound) -> float | None:
            fixed = settings["fixed"] or ({"d": cube_root(n)} if settings["name"] == "grr" else {})
            return budget(settings["name"], bound, n=n, epsilon=settings["epsilon"], delta=delta, **fixed)

        found[key] = {"label": label, "bounds": [bound], "value": _budgets(settings, at)}
    return found


def judge(results: Results) -> list[dict[str, Any]]:
    """What the abstract says of the first bound, at the points of the first figure."""
    panels = list(results.get("figure-blanket-generic", {}).values())
    if not panels:
        return []
    found = [
        (theirs, first)
        for panel in panels
        for theirs, first in zip(
            panel["data"]["hoeffding"]["epsilon"], panel["data"]["efmrtt19"]["epsilon"], strict=True
        )
    ]
    share = sum(first is None or theirs <= first for theirs, first in found) / len(found)
    alone = sum(first is None and theirs < panels[0]["settings"]["eps0"] for theirs, first in found)
    return [
        claim(
            "blanket-2019",
            verdict(share),
            {
                "points of the first figure where only the blanket amplifies": f"{alone} of {len(found)}",
                "Hoeffding, generic, saved against EFMRTT19": savings(panels, "hoeffding", ["efmrtt19"]),
                "swap bound (sound, later than the paper), saved against Hoeffding, generic": savings(
                    panels, "swap", ["hoeffding"]
                ),
            },
        )
    ]
