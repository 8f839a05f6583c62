"""The smallest of several analyses, for many questions at once (families/smallest.py)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ..evaluators.choose import Side
from ..pair import FloatArray
from . import pool
from .base import Answer, Family
from .smallest import GLANCE, Smallest, says, sharp_look


def epsilons(families: Sequence[Smallest], *, n: FloatArray, delta: FloatArray, tol: float, side: Side) -> list[Answer]:
    """The smallest eps of every row; a later analysis is solved only where one look does not show that it is larger."""
    best = [Answer(math.inf, 0, 0)] * len(families)
    orders = _orders(families, n)
    log_delta = np.log(delta)
    for place in range(max(map(len, orders), default=0)):
        rows: list[int] = []
        asked: list[tuple[str, Family]] = []
        for i, order in enumerate(orders):
            if place < len(order) and _open(families[i], *order[place], best[i], int(n[i])):
                rows.append(i)
                asked.append(order[place])
        keep = _not_larger([f for _, f in asked], rows, best, n=n, log_delta=log_delta, side=side)
        rows, asked = [rows[k] for k in keep], [asked[k] for k in keep]
        found = pool.epsilons([f for _, f in asked], n=n[rows], delta=delta[rows], tol=tol, side=side) if rows else []
        for i, (name, _), answer in zip(rows, asked, found, strict=True):
            if answer.epsilon < best[i].epsilon or not best[i].bound:
                best[i] = answer._replace(bound=name)
    return best


def _orders(families: Sequence[Smallest], n: FloatArray) -> list[list[tuple[str, Family]]]:
    """The order in which the analyses of every row are asked."""
    known: dict[tuple[int, int], list[tuple[str, Family]]] = {}
    out = []
    for family, users in zip(families, n.tolist(), strict=True):
        key = id(family), int(users)
        if key not in known:
            known[key] = family.order(int(users))
        out.append(known[key])
    return out


def _open(whole: Smallest, name: str, family: Family, best: Answer, n: int) -> bool:
    """Whether this analysis may still be the smallest, before it is evaluated."""
    if best.bound and (best.epsilon == 0.0 or says(family, "superseded_at", n)):
        return False
    return not (0.0 < best.epsilon < math.inf and whole.clearly_larger(name, best.epsilon, n))


def _not_larger(
    asked: Sequence[Family],
    rows: Sequence[int],
    best: Sequence[Answer],
    *,
    n: FloatArray,
    log_delta: FloatArray,
    side: Side,
) -> list[int]:
    """Which of the analyses one look at the best eps so far does not show to be larger."""
    eps = np.array([best[i].epsilon for i in rows])
    known = [k for k in range(len(asked)) if 0.0 < eps[k] < math.inf]
    looked = [k for k in known if sharp_look(asked[k])]
    larger = {k for k in known if _shows_larger(asked[k], float(eps[k]), int(n[rows[k]]), float(log_delta[rows[k]]))}
    if looked:
        at = [rows[k] for k in looked]
        value = pool.log_deltas([asked[k] for k in looked], eps[looked], n=n[at], tol=GLANCE, side=side)
        larger |= {k for k, above in zip(looked, value > log_delta[at] + 3.0 * GLANCE, strict=True) if above}
    return [k for k in range(len(asked)) if k not in larger]


def _shows_larger(family: Family, eps: float, n: int, log_delta: float) -> bool:
    """Whether an analysis that is searched, which takes long, says that a part of it is larger at this eps."""
    larger_at: Callable[[float, int, float], bool] | None = getattr(family, "larger_at", None)
    return larger_at is not None and larger_at(eps, n, log_delta)
