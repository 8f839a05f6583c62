"""Equal rounds over the same users: the profile of one round, and the cost of several together.

Calibration needs equal rounds only; the accountant (composing/) handles different ones.  It samples the same profiles,
so both give the same eps.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from .._support import validation as check
from ..numerics.composition import sequential
from ..numerics.composition.profile_curve import Ladder
from ..numerics.composition.sequential import Kind
from ..numerics.pair import FloatArray
from .crowd import Crowd
from .many import curves
from .resolve import MechanismLike, Resolved, Subject, resolve, subject_of

#: The most rounds.
MOST_ROUNDS = 10**9
#: Relative accuracy of the eps of a single round.
_ACCURACY = 1e-4


class Rounds:
    """``count`` rounds of one mechanism, ready to be asked for eps or delta; one round is answered as by amplify.

    Attributes
    ----------
    one : what is composed ``cost`` times: one round, or one report of it where users send several
    cost : how many times one user's value is exposed

    Examples
    --------
    >>> several = Rounds("grr:eps0=2,d=16", "auto", Crowd.of(10_500, dropouts=500), count=100)
    >>> several.cost, round(several.epsilon(delta=1e-6, tol=1e-4), 3)
    (100, 0.794)
    """

    def __init__(self, mechanism: MechanismLike | Subject, bound: str, crowd: Crowd, *, count: int = 1) -> None:
        asked = subject_of(mechanism)
        self._count, self.cost = count, count
        if count > 1:
            self.cost = count * crowd.reports_per_user
            left = asked.left_of(dataclasses.replace(crowd, reports_per_user=1)).mechanism
            part = left.law.bundled(crowd.reports_per_user, n=crowd.honest)
            asked = asked if part is asked.mechanism else Subject(part)
            crowd = Crowd(crowd.honest)
        self.one = resolve(asked, bound, crowd)

    def must_hold(self, purpose: str) -> Rounds:
        """Itself if the bound is a guarantee, as in :meth:`Resolved.must_hold`."""
        self.one.must_hold(purpose)
        return self

    def epsilon(self, *, delta: float, tol: float, ladder: Ladder | None = None) -> float:
        """eps of all rounds together; ``tol`` is the accuracy of a single one, ``ladder`` where it is sampled."""
        if self._count == 1:
            return self.one.epsilon(delta=delta, tol=tol).epsilon
        sequential.refuse_tiny(delta)
        return sequential.epsilon([kind_of(self.one)], [self.cost], delta, ladder)

    def log_delta(self, epsilon: float, *, tol: float) -> float:
        """log delta of all rounds together at one eps; ``tol`` is the accuracy of a single one."""
        if self._count == 1:
            return float(self.one.log_delta(np.array([epsilon]), tol=tol)[0])
        value = sequential.delta([kind_of(self.one)], [self.cost], epsilon)
        return math.log(value) if value > 0.0 else -math.inf


def count_of(value: object) -> int:
    """The number of rounds, validated."""
    return check.whole("count", value, low=1, high=MOST_ROUNDS, hint="it is the number of rounds")


def kind_of(resolved: Resolved) -> Kind:
    """The privacy profile of one round, by its bound."""

    def once(delta: float) -> float:
        return resolved.epsilon(delta=delta, tol=_ACCURACY).epsilon

    ask = curves if resolved.by_family else _alone
    limit = resolved.left.cap
    return sequential.kind_of(resolved.family, resolved, n=resolved.n, limit=limit, ask=ask, once=once)


def _alone(asked: Sequence[Resolved], eps: Sequence[FloatArray], tol: float) -> list[FloatArray]:
    """log delta of every question at its own eps, one by one."""
    return [question.log_delta(at, tol=tol) for question, at in zip(asked, eps, strict=True)]
