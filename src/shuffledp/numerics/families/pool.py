"""Many questions to families at once: one family, n and delta (or eps) per row.

A class of families that can evaluate many rows together says so with the static methods ``together`` (eps) and
``log_deltas_together``; rows of one class go to it in one call, whatever their laws are.  The others are asked one by
one.  Either way a row's answer is that of its family alone, within the tolerance and on the same safe side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..evaluators.choose import Side
from ..pair import FloatArray
from .base import Answer, Family

#: Fewer rows than this are asked one by one, which is about as fast.
FEW_ROWS = 12


def epsilons(families: Sequence[Family], *, n: FloatArray, delta: FloatArray, tol: float, side: Side) -> list[Answer]:
    """What ``family.epsilon`` gives, for every row.

    Examples
    --------
    >>> from shuffledp.numerics.families.base import PairSet
    >>> from shuffledp.numerics.pair import ShuffledPair
    >>> coin = PairSet([ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])])
    >>> users = np.geomspace(1e3, 1e6, 16).round()
    >>> found = epsilons([coin] * 16, n=users, delta=np.full(16, 1e-6), tol=1e-4, side="upper")
    >>> [round(answer.epsilon, 3) for answer in found[::5]]
    [0.168, 0.049, 0.014, 0.004]
    """
    out: list[Answer | None] = [None] * len(families)
    for kind, rows in _kinds(families, "together", "epsilon"):
        mine = [families[i] for i in rows]
        if kind is None:
            found = [
                family.epsilon(n=int(n[i]), delta=float(delta[i]), tol=tol, side=side)
                for i, family in zip(rows, mine, strict=True)
            ]
        else:
            found = kind(mine, n=n[rows], delta=delta[rows], tol=tol, side=side)
        for i, answer in zip(rows, found, strict=True):
            out[i] = answer
    return [answer for answer in out if answer is not None]


def log_deltas(families: Sequence[Family], eps: FloatArray, *, n: FloatArray, tol: float, side: Side) -> FloatArray:
    """What ``family.log_delta`` gives for one eps, for every row.

    Rows that share a family which cannot be evaluated together, and n, are asked in one call.
    """
    out = np.full(len(families), -np.inf)
    for kind, rows in _kinds(families, "log_deltas_together", "log_delta"):
        mine = [families[i] for i in rows]
        if kind is not None:
            out[rows] = kind(mine, eps[rows], n=n[rows], tol=tol, side=side)
            continue
        same: dict[tuple[int, float], list[int]] = {}
        for i in rows.tolist():
            same.setdefault((id(families[i]), float(n[i])), []).append(i)
        for at in same.values():
            out[at] = families[at[0]].log_delta(eps[at], n=int(n[at[0]]), tol=tol, side=side)
    return out


def _kinds(families: Sequence[Family], name: str, plain: str) -> list[tuple[Any, np.ndarray]]:
    """The function for many rows and its rows, for every class that has one; None for those that are asked alone."""
    rows: dict[Any, list[int]] = {}
    known: dict[type, Any] = {}
    for i, family in enumerate(families):
        kind = type(family)
        if kind not in known:
            known[kind] = _function(kind, name, plain)
        rows.setdefault(known[kind], []).append(i)
    lone = rows.pop(None, [])
    for function in [function for function, at in rows.items() if len(at) < FEW_ROWS]:
        lone += rows.pop(function)
    groups: list[tuple[Any, np.ndarray]] = [(function, np.array(at)) for function, at in rows.items()]
    return [*groups, (None, np.array(sorted(lone)))] if lone else groups


def _function(kind: type, name: str, plain: str) -> Any:
    """The function of that name, unless a subclass answers one question in its own way since."""
    for cls in kind.__mro__:
        if name in vars(cls):
            return getattr(cls, name)
        if plain in vars(cls):
            return None
    return None
