"""check: does a programme stay within its budget?"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import Any

from .._support.by_name import by_name
from ..accounting.guarantee import TRUST, TRUST_BUT
from ..composing.accountant import Accountant
from ..composing.composed_guarantee import trust_text
from ..errors import ParameterError
from ..numerics.composition.sequential import LEAST_DELTA, basic_composition
from .reading import read
from .result import Check, CheckedRounds
from .spec import PlannedRounds, Programme, parse, place

Progress = Callable[[int, int], object]
#: Relative accuracy of the eps of one round, as in amplify.
_TOL = 1e-4


@by_name
def check(programme: str | os.PathLike[str] | Mapping[str, Any], *, progress: Progress | None = None) -> Check:
    """Check all rounds of a programme against its budget.

    A programme that costs each user one round is answered by :func:`shuffledp.amplify`, any other by
    :class:`shuffledp.Accountant` with privacy loss distributions (Renyi divergences where delta is below 1e-150; the
    result says which).  Users who may drop out or collude are not counted on: all of them may be missing at once.
    Where batches below ``minimum_batch`` are not released, that number of users is counted on, less the colluding ones.
    The budget is taken as written, in decimals, and compared without rounding it up.

    Parameters
    ----------
    programme : the path of a YAML or JSON file, or its content as a dictionary (keys: see docs/programmes.md)
    progress : called with (steps done, steps in all)

    Returns
    -------
    Check
        ``within`` is True only if every user's (epsilon, delta) over all rounds is at most the target.

    Examples
    --------
    >>> found = check({
    ...     "version": 1,
    ...     "population": {"users": 10_000, "dropouts": 0.05},
    ...     "target": {"epsilon": 1, "delta": "1e-6"},
    ...     "rounds": [{"mechanism": "grr:eps0=2,d=16", "count": 100}],
    ... })
    >>> found.within, round(found.epsilon, 3)
    (True, 0.816)
    """
    if isinstance(programme, Mapping):
        return _checked(parse(_unwrapped(programme)), progress)
    if not isinstance(programme, str | os.PathLike) or not os.fspath(programme):
        raise ParameterError(
            f"programme must be the path of a file or a dictionary, got {type(programme).__name__}; pass one of these."
        )
    return _checked(parse(read(programme)), progress)


def _checked(programme: Programme, progress: Progress | None) -> Check:
    tell = progress or (lambda done, total: None)
    steps = len(programme.rounds) + 2
    rounds = []
    for number, planned in enumerate(programme.rounds):
        with place(f"rounds[{number}]"):
            rounds.append(_one(planned, programme.delta))
        tell(number + 1, steps)
    epsilon, method, together = _together(programme)
    result = epsilon(programme.delta)
    within = result <= programme.epsilon
    tell(steps - 1, steps)
    lower = None if within else together.lower_epsilon(delta=programme.delta) if method != "renyi" else None
    left = _left(epsilon, programme) if within else None
    tell(steps, steps)
    return Check(
        within=within,
        epsilon=result,
        lower=None if lower is None else min(lower, result),
        target_epsilon=programme.written[0],
        delta=programme.written[1],
        left_epsilon=left,
        # the float below delta has half an ulp to spare where the nearest one is above what was written
        left_delta=None if left is None else 0.5 * programme.written[1],
        pure_epsilon=basic_composition((entry.local_epsilon, entry.cost) for entry in rounds),
        method=method,
        name=programme.name,
        rounds=tuple(rounds),
        neighbours=together.neighbours,
        trust=_trust(programme),
    )


def _one(planned: PlannedRounds, delta: float) -> CheckedRounds:
    crowd, entry = planned.crowd, planned.entry
    return CheckedRounds(
        name=planned.name,
        mechanism=planned.whole.spec,
        epsilon=entry.resolved.epsilon(delta=delta, tol=_TOL).epsilon,
        bound=entry.resolved.bound.name,
        users=crowd.n,
        dropouts=crowd.dropouts,
        colluding=crowd.colluding,
        counted=crowd.honest,
        minimum_batch=planned.minimum_batch,
        count=entry.count,
        participation_limit=entry.participation_limit,
        reports_per_user=entry.reports_per_user,
        cost=entry.cost,
        local_epsilon=planned.whole.local_epsilon,
    )


def _together(programme: Programme) -> tuple[Callable[[float], float], str, Accountant]:
    """eps of all rounds as a function of delta, how it is found, and the accountant that holds them."""
    accountant = Accountant()
    for number, planned in enumerate(programme.rounds):
        with place(f"rounds[{number}]"):
            accountant.add(planned.entry)
    if sum(planned.entry.cost for planned in programme.rounds) == 1:
        once = programme.rounds[0].entry.resolved
        return lambda d: once.epsilon(delta=d, tol=_TOL).epsilon, "amplify", accountant
    method = "pld" if 0.5 * programme.delta >= LEAST_DELTA else "renyi"
    return lambda d: accountant.epsilon(delta=d, method=method), method, accountant


def _left(epsilon: Callable[[float], float], programme: Programme) -> float | None:
    """What a further (left, delta/2)-DP release may cost: half of delta is kept for it (basic composition)."""
    if 0.5 * programme.delta == 0.0:
        return None
    rest = math.nextafter(programme.epsilon - epsilon(0.5 * programme.delta), -math.inf)
    return rest if rest > 0.0 else None


def _trust(programme: Programme) -> str:
    """What the statement rests on."""
    crowds = [planned.crowd for planned in programme.rounds]
    text = trust_text(
        crowd=TRUST if all(crowd.complete for crowd in crowds) else TRUST_BUT,
        many=sum(planned.entry.count for planned in programme.rounds) > 1,
        limited=any(planned.entry.participation_limit is not None for planned in programme.rounds),
    )
    if any(planned.minimum_batch is not None for planned in programme.rounds):
        text += "; smaller batches are withheld, and when a batch is closed does not depend on the values in it"
    return text


def _unwrapped(value: Any) -> Any:
    """Mappings of any kind as dictionaries, tuples as lists."""
    if isinstance(value, Mapping):
        return {key: _unwrapped(item) for key, item in value.items()}
    return [_unwrapped(item) for item in value] if isinstance(value, list | tuple) else value
