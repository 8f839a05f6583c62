"""Figures 1 and 2: subset selection and optimal local hash, one message per user."""

from __future__ import annotations

import math
from typing import Any

from ..mechanisms.categorical.local_hash import LocalHash
from ..mechanisms.categorical.subset import Subset
from .curves import CORE, SWAP, Series, curves

#: The paper's baselines; where a bound does not apply, or gives a larger eps, the local guarantee is used (ratio 1).
BASELINES = (
    Series("stronger-clone", "stronger clone", ("general", "local")),
    Series("clone", "clone", ("clone", "local")),
    Series("specific", "privacy blanket, specific (exact b, c)", ("blanket-hoeffding", "blanket-bennett", "local")),
    Series(
        "specific-gamma",
        "privacy blanket, specific ($\\gamma$ only)",
        ("blanket-hoeffding-gamma", "blanket-bennett-gamma", "local"),
    ),
    Series("generic", "privacy blanket, general", ("blanket-hoeffding-generic", "blanket-bennett-generic", "local")),
    Series("efmrtt19", "EFMRTT19", ("efmrtt19", "local")),
)


def subset(eps0: float, d: int) -> Subset:
    """Subset selection with k = ceil(d/(e^eps0 + 1)) (the library's default takes the better of the neighbors).

    Examples
    --------
    >>> subset(1.0, 16).k
    5
    """
    return Subset(eps0=eps0, d=d, k=max(1, math.ceil(d / (math.exp(eps0) + 1.0))))


def local_hash(eps0: float, d: int) -> LocalHash:
    """Optimal local hash, l = round(e^eps0 + 1).

    Examples
    --------
    >>> local_hash(2.0, 16).l
    8
    """
    return LocalHash(eps0=eps0, d=d)


def panel(settings: dict[str, Any]) -> dict[str, Any]:
    """All curves of one panel: eps against eps0."""
    family = {"subset": subset, "local-hash": local_hash}[settings["mechanism"]]
    made = [family(eps0, settings["d"]) for eps0 in settings["x"]]
    return curves((*CORE, SWAP, *BASELINES), made, n=settings["n"], delta=settings["delta"])
