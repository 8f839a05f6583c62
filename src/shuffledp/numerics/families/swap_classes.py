"""The swap bound among several classes of users, whose laws differ but share a common part.

In step 4 of Theorem 2 (docs/swap.md) the mean of |M| over all others is the mean over the classes, each with its share
of the others, of the mean over the users of a class, which is at most the largest |M| of a type of that class.  The
size of a class is known, so it is the *mean of the moduli* that counts: neither the modulus of the mean law, which is
smaller, nor the worst class alone, which is larger.  The subset S_k is a uniformly random one of all others, whatever
the numbers of each class in it are: Maclaurin's inequality does not ask.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..evaluators import swap
from ..evaluators.choose import LARGEST_EPSILON, Side, law_shift
from ..evaluators.contour import LogBracket
from ..evaluators.swap_class_sums import log_upper_of_classes
from ..pair import FloatArray
from ..solve import Guess, log_up, look, solve
from .swap import SwapPair

_DITHER = 0.02


class Class(NamedTuple):
    """Users with the same law: how many others there are, and the victim's pair among each of their types."""

    others: int
    member: SwapPair


class ClassCurve:
    """One victim pair among classes of others, in the form that the solver asks for."""

    side: Side = "upper"

    def __init__(self, classes: Sequence[Class], common_mass: float) -> None:
        self._classes = [some for some in classes if some.others > 0]
        self._others = sum(some.others for some in self._classes)
        self._shares = [some.others / self._others for some in self._classes]
        self._common = common_mass
        self.limit = log_up(max((some.member.max_ratio for some in classes), default=1.0))

    def bracket(self, eps: FloatArray, rtol: FloatArray | float) -> LogBracket:
        """log delta (the lower end makes no claim), and its slope in eps."""
        found = [self._evaluate(float(value)) for value in np.atleast_1d(eps)]
        upper = np.array([value for value, _ in found])
        slope = np.array([-fall * math.exp(min(value, 0.0)) for value, fall in found])
        return LogBracket(upper, np.full(upper.shape, -np.inf), slope)

    @np.errstate(all="ignore")
    def _evaluate(self, eps: float) -> tuple[float, float]:
        """log delta and -d(log delta)/d(eps), roughly."""
        n = self._others + 1
        at = np.array([min(eps, LARGEST_EPSILON)])
        laws = [tuple(part[0] for part in some.member.laws.at(at - law_shift(at), n)) for some in self._classes]
        local = max(float((np.maximum(x, 0.0) * t).sum(axis=1).max() + alone.max()) for x, t, alone in laws)
        log_local = math.log(min(local, 1.0)) + 1e-13 if local > 0.0 else -math.inf
        if self._common <= 0.0 or log_local == -math.inf:
            return log_local, 1.0
        copies = max(n - 1.0 / self._common, 1.0)
        worst = []
        for x, t, _ in laws:
            height = swap.saddle(x, t, copies)[1]
            worst.append(int(np.where(np.isfinite(height), height, -np.inf).argmax()))
        # the line of the law that mixes the worst types of the classes: any line is sound
        x = np.concatenate([law[0][k] for law, k in zip(laws, worst, strict=True)])
        t = np.concatenate([share * law[1][k] for share, law, k in zip(self._shares, laws, worst, strict=True)])
        c, height, bend = swap.saddle(x[None], t[None], copies)
        line = swap.line_at(c, bend, _DITHER)
        waiting = swap.Waiting.of(self._common, n, min(max(float(height[0]) - math.log(n), -740.0), 0.0))
        value = log_upper_of_classes([law[:2] for law in laws], self._shares, waiting, line)
        alone = sum(share * float(law[2].max()) for share, law in zip(self._shares, laws, strict=True))
        total = np.logaddexp(
            np.logaddexp(value, math.log(alone * (1.0 + 1e-12)) if alone > 0.0 else -np.inf),
            waiting.log_rest + log_local,
        )
        weight = t * np.exp(c[0] * x)
        v = np.concatenate([some.member.laws.v[k] for some, k in zip(self._classes, worst, strict=True)])
        fall = math.exp(eps) * float(c[0]) * copies * float((weight * v).sum() / (weight.sum() + 1e-300))
        return (min(float(total), log_local) if total == total else log_local), max(fall, 1e-300)


def epsilon_among(classes: Sequence[Class], common_mass: float, *, delta: float, tol: float, least: float) -> float:
    """eps of one victim pair among these classes; ``least`` if that is enough."""
    curve = ClassCurve(classes, common_mass)
    if curve.limit <= least:
        return least
    if look(curve, least, 1e-3, math.log(delta)).excess <= 0.0:  # type: ignore[arg-type]
        return least
    guess = Guess(least * 1.05 if least else 0.1 * curve.limit, 10.0)
    return solve(curve, delta, limit=curve.limit, tol=tol, guess=guess)  # type: ignore[arg-type]
