"""What an analysis is about: a mechanism, however it was named, and the guarantee made of an answer."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..bounds import Bound
from ..errors import BoundNotApplicableError, ParameterError
from ..mechanisms.base import Mechanism
from ..mechanisms.registry import mechanism as _parse
from ..numerics.families.base import Family, PairSet, both_directions, thinned
from ..numerics.pair import ShuffledPair
from ..numerics.solve import log_up
from .crowd import Crowd, left_of
from .guarantee import Guarantee

#: What may be passed where a mechanism is expected.
MechanismLike = Mechanism | ShuffledPair | str


def as_mechanism(subject: MechanismLike) -> Mechanism:
    """A mechanism from itself, a spec string or a Round."""
    if isinstance(subject, Mechanism):
        return subject
    if isinstance(subject, str):
        return _parse(subject)
    if isinstance(subject, ShuffledPair):
        return _SinglePair(subject)
    hint = (
        "wrap a matrix as FiniteRandomizer(matrix)"
        if isinstance(subject, list | np.ndarray)
        else "see shuffledp.mechanism"
    )
    raise ParameterError(
        "mechanism must be a mechanism, a spec such as 'general:eps0=1' or a Round, "
        f"got {type(subject).__name__}; {hint}."
    )


def make_guarantee(
    subject: Mechanism,
    bound: Bound,
    *,
    n: int,
    delta: float,
    epsilon: float,
    tol: float,
    evaluated: int = 1,
    members: int = 1,
    note: str = "",
    crowd: Crowd | None = None,
) -> Guarantee:
    """A Guarantee with its lower bound, where one is known; both on the terms of ``crowd`` if it is given."""
    crowd = Crowd(n) if crowd is None else crowd
    lower = None
    if bound.side == "upper" and bound.sound:
        try:
            datasets = thinned(left_of(subject, crowd).constant_datasets(), crowd.participation)
            lower = datasets.epsilon(n=crowd.honest, delta=delta, tol=tol, side="lower").epsilon
        except BoundNotApplicableError:
            lower = None
    return Guarantee(
        epsilon=epsilon,
        lower=None if lower is None else min(lower, epsilon),
        delta=delta,
        n=n,
        mechanism=subject.spec,
        description=subject.description,
        bound=bound.name,
        local_epsilon=subject.local_epsilon,
        neighbours=subject.neighbours,
        sound=bound.sound,
        kind=bound.side,
        lower_scope=subject.lower_scope,
        evaluated=evaluated,
        members=members,
        note=note,
        **crowd.terms(),
    )


class _SinglePair(Mechanism):
    """A Round taken as a whole analysis of its own: both directions, nothing else known."""

    name = "round"
    lower_scope = "this round"

    def __init__(self, pair: ShuffledPair) -> None:
        self._family = PairSet(both_directions(pair))
        self._ratio = max(pair.max_ratio, pair.swapped().max_ratio)

    @property
    def local_epsilon(self) -> float:
        """log of the largest ratio, rounded up."""
        return log_up(self._ratio)

    @property
    def spec(self) -> str:
        """A round has no spec string."""
        return "round"

    @property
    def description(self) -> str:
        """In words."""
        return "a mechanism dominated by the given round"

    def identity(self) -> dict[str, Any]:
        """Its numbers."""
        pair = (self._family.pairs(2) or ())[0]
        return {"round": {key: np.asarray(getattr(pair, key)).tolist() for key in ("P0", "P1", "t")}}

    def blanket(self) -> Family:
        """The round itself."""
        return self._family

    def constant_datasets(self) -> Family:
        """The round itself: the answer is for this law."""
        return self._family
