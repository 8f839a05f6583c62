"""Figure 5: hierarchical range queries, every user on one random level (parallel composition)."""

from __future__ import annotations

import math
from typing import Any

from ..mechanisms.composite.hierarchical_grr import HierarchicalGRR
from ..mechanisms.known.variation_ratio import VariationRatio
from .curves import CORE, Series, best_epsilon, curves

BASIC = Series("basic", "basic parallel composition", ("general",))
_PRINTED = ("variation-ratio-published",)


def spread(eps0: float, options: float) -> float:
    """beta of randomized response: (e-1)/(e + options - 1).

    Examples
    --------
    >>> round(spread(1.0, 2), 4)
    0.4621
    """
    return math.expm1(eps0) / (math.exp(eps0) + options - 1.0)


def printed_epsilon(eps0: float, beta: float, *, n: int, delta: float) -> float | None:
    """eps of the printed law with p = q = e^eps0 and this beta.

    Examples
    --------
    >>> round(printed_epsilon(1.0, spread(1.0, 2), n=10**4, delta=1e-6), 4)
    0.0432
    """
    p = math.exp(eps0)
    return best_epsilon(_PRINTED, VariationRatio(p=p, beta=beta, q=p), n=n, delta=delta)


def panel(settings: dict[str, Any]) -> dict[str, Any]:
    """All curves of one panel.

    ``separate``: fixed groups of floor(n/H) users per level, the paper's best (d leaves) and worst (2 nodes) level.
    ``released``: the authors' program (github.com/wangsw/PrivacyAmplification, unifiedamplification.py, commit 1c74c8a)
    sets beta to the last term, (e-1)/(e+d-1)/H, instead of adding the terms up; and its worst separate level has
    n/H^2 users, because n is divided by H once for the best level and again for the worst.
    """
    n, d, delta = settings["n"], settings["d"], settings["delta"]
    levels = d.bit_length() - 1
    found = curves((*CORE, BASIC), [HierarchicalGRR(eps0=x, d=d) for x in settings["x"]], n=n, delta=delta)
    more = (
        ("separate-best", "separate groups, best level", lambda e: spread(e, d), n // levels),
        ("separate-worst", "separate groups, worst level", lambda e: spread(e, 2), n // levels),
        ("released", "authors' program: advanced", lambda e: spread(e, d) / levels, n),
        ("released-worst", "authors' program: separate, worst", lambda e: spread(e, 2), n // levels // levels),
    )
    for key, label, beta, users in more:
        eps = [printed_epsilon(x, beta(x), n=users, delta=delta) for x in settings["x"]]
        found[key] = {"label": label, "bounds": list(_PRINTED), "users": users, "epsilon": eps}
    return found
