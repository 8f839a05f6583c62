"""Balle, Bell, Gascon, Nissim (CRYPTO 2019): the privacy blanket through Hoeffding's and Bennett's inequalities.

L = (R0 - E R1)/omega with omega the *normalized* blanket, gamma its mass, a = E - 1 = -E[L].  Then
delta = E[(L_1 + ... + L_M)_+]/(gamma n) with M ~ Bin(n, gamma), and each inequality bounds the expectation by the range
b of L, its largest value b+ and its second moment c.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..errors import BoundNotApplicableError
from ..mechanisms.base import Mechanism
from ..numerics.pair import FloatArray, ShuffledPair

Refuse = Callable[[str], BoundNotApplicableError]
Curve = Callable[[FloatArray], FloatArray]
#: Mechanisms with more distinct pairs than this are refused; the exact blanket bound handles them.
_MAX_PAIRS = 64


class Range(NamedTuple):
    """What a tail bound uses of L, at each eps: the range b, the maximum b+ and the second moment c."""

    width: FloatArray
    top: FloatArray
    square: FloatArray


class Knowledge(NamedTuple):
    """The blanket mass, and what is known of L as a function of eps, one entry per input pair."""

    gamma: float
    pairs: list[Callable[[FloatArray], Range]]


Knows = Callable[[Mechanism, Refuse], Knowledge]


def exactly(mechanism: Mechanism, refuse: Refuse) -> Knowledge:
    """gamma, b, b+ and c of the mechanism itself, for all its input pairs."""
    try:
        pairs = mechanism.law.blanket_pairs(_MAX_PAIRS)
    except BoundNotApplicableError:
        raise refuse(f"{mechanism.name}, which states no law") from None
    if pairs is None:
        raise refuse(f"more than {_MAX_PAIRS} input pairs or several messages per user in {mechanism.name}")
    if any(np.any((r.atoms.zero0 > 0) | (r.atoms.zero1 > 0)) for r in pairs):
        raise refuse(f"an output of {mechanism.name} that the blanket does not cover")
    return Knowledge(min((_mass(r) for r in pairs), default=1.0), [_range_of(r) for r in pairs])


def by_mass(mechanism: Mechanism, refuse: Refuse) -> Knowledge:
    """gamma of the mechanism; b, b+ and c from eps0, as the wording of the paper suggests."""
    gamma = exactly(mechanism, refuse).gamma
    return Knowledge(gamma, [_generic_range(_budget(mechanism, refuse), gamma, gamma)])


def generic(mechanism: Mechanism, refuse: Refuse) -> Knowledge:
    """Everything from eps0 alone: e^-eps0 <= gamma <= 1."""
    budget = _budget(mechanism, refuse)
    least = math.exp(-budget)
    return Knowledge(least, [_generic_range(budget, least, 1.0)])


def hoeffding(know: Knows) -> Callable[[Mechanism, int, Refuse], Curve]:
    """delta = b^2/(4 a gamma n) (1 - gamma (1 - e^(-2 a^2/b^2)))^n."""
    return lambda mechanism, n, refuse: _worst(know(mechanism, refuse), n, _hoeffding)


def bennett(know: Knows) -> Callable[[Mechanism, int, Refuse], Curve]:
    """delta = (b+/log(1+u)) ((1 - gamma + gamma t)^n - (1-gamma)^n)/(gamma n), u = a b+/c, t = e^(-c phi(u)/b+^2)."""
    return lambda mechanism, n, refuse: _worst(know(mechanism, refuse), n, _bennett)


def _worst(known: Knowledge, n: int, tail: Callable[[FloatArray, Range, float, int], FloatArray]) -> Curve:
    def curve(eps: FloatArray) -> FloatArray:
        excess = np.expm1(eps)
        found = [tail(excess, pair(eps), known.gamma, n) for pair in known.pairs]
        return np.asarray(np.max(found, axis=0)) if found else np.full(eps.shape, -np.inf)

    return curve


def _hoeffding(a: FloatArray, known: Range, gamma: float, n: int) -> FloatArray:
    kept = n * np.log1p(gamma * np.expm1(-2.0 * (a / known.width) ** 2))
    return np.asarray(np.where(known.top > 0.0, kept + np.log(known.width**2 / (4.0 * a * gamma * n)), -np.inf))


def _bennett(a: FloatArray, known: Range, gamma: float, n: int) -> FloatArray:
    u = a * known.top / known.square
    # phi(u) = (1+u) log(1+u) - u, and its alternating series (cut after a negative term) where that would cancel
    phi = np.where(u < 1e-3, u * u * (1 / 2 - u * (1 / 6 - u * (1 / 12 - u / 20))), (1.0 + u) * np.log1p(u) - u)
    some = n * np.log1p(gamma * np.expm1(-known.square / known.top**2 * phi))
    nobody = n * math.log1p(-gamma) if gamma < 1.0 else -math.inf
    gap = some + np.log(-np.expm1(np.minimum(nobody - some, 0.0)))
    return np.asarray(np.where(known.top > 0.0, gap + np.log(known.top / np.log1p(u) / (gamma * n)), -np.inf))


def _mass(pair: ShuffledPair) -> float:
    return min(float(np.sum(np.asarray(pair.t))), 1.0) * (1.0 - 1e-14)


def _range_of(pair: ShuffledPair) -> Callable[[FloatArray], Range]:
    atoms, gamma = pair.atoms, _mass(pair)

    def at(eps: FloatArray) -> Range:
        values = gamma * atoms.values(eps)
        if float(atoms.t.sum()) < gamma * (1.0 - 1e-9):  # symbols that the victim never sends: L = 0 there
            values = np.column_stack([values, np.zeros(len(values))])
        top = values.max(axis=1)
        square = gamma * ((atoms.values(eps) ** 2) @ atoms.t)
        return Range(top - values.min(axis=1), top, square)

    return at


def _generic_range(budget: float, least: float, most: float) -> Callable[[FloatArray], Range]:
    """b = gamma (E+1)(e^eps0 - e^-eps0), b+ = gamma e^eps0 (1 - e^(eps-2 eps0)), c by the same bounds on R/omega."""
    e0 = math.exp(budget)

    def at(eps: FloatArray) -> Range:
        E = np.exp(eps)
        width = most * (E + 1.0) * (e0 - 1.0 / e0)
        top = -most * e0 * np.expm1(eps - 2.0 * budget)
        return Range(width, top, most * (e0 * (E * E + 1.0) - 2.0 * least * E / e0**2))

    return at


def _budget(mechanism: Mechanism, refuse: Refuse) -> float:
    budget = mechanism.law.pairwise_epsilon
    if budget > 300.0:
        raise refuse(f"eps0 = {budget:g}")
    return budget
