"""The check of a programme: what all of its rounds cost together, period by period."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

from .._support.reading import PROGRAMME
from .._support.reading.yaml_text import read_plain
from ..accounting.guarantee import TRUST, TRUST_BUT
from ..composing.accountant import Accountant
from ..composing.composed_guarantee import trust_text
from ..errors import ParameterError
from ..numerics.composition.sequential import basic_composition
from .result import Check, CheckedRounds
from .scale import ACCURACY, Together, fitting
from .spec import Period, PlannedRounds, Programme
from .values import place

Progress = Callable[[int, int], object]


def checked(programme: Programme, progress: Progress | None = None, *, shop: Accountant | None = None) -> Check:
    """The check of a parsed programme; profiles that ``shop`` has sampled are used again."""
    tell = progress or (lambda done, total: None)
    steps = len(programme.rounds) + 2
    rounds = []
    for number, planned in enumerate(programme.rounds):
        with place(f"rounds[{number}]"):
            rounds.append(_one(planned, programme.delta))
        tell(number + 1, steps)
    parts = [Together(programme, period, shop or Accountant()) for period in programme.periods]
    spent = [part.epsilon(programme.delta) for part in parts]
    worst = max(range(len(parts)), key=lambda i: spent[i])
    result, together = spent[worst], parts[worst]
    within = result <= programme.epsilon
    tell(steps - 1, steps)
    lower = together.lower(math.nextafter(programme.delta, 1.0))  # at least the delta that was written
    left = _left(parts, programme) if within else None
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
        method=together.method,
        name=programme.name,
        rounds=tuple(rounds),
        neighbors=together.accountant.neighbors,
        trust=_trust(programme),
        per=programme.per,
        period=programme.periods[worst].label,
        period_counts=None if programme.per is None else programme.periods[worst].counts,
        all_periods_epsilon=_all_periods(programme, shop or together.accountant) if programme.dated else None,
        fits=None if within else fitting(programme, shop or together.accountant),
        accountant=together.accountant,
    )


def _one(planned: PlannedRounds, delta: float) -> CheckedRounds:
    crowd, entry = planned.crowd, planned.entry
    return CheckedRounds(
        name=planned.name,
        mechanism=planned.whole.spec,
        epsilon=entry.resolved.epsilon(delta=delta, tol=ACCURACY).epsilon,
        bound=entry.resolved.bound.name,
        users=crowd.n,
        dropouts=crowd.dropouts,
        colluding=crowd.colluding,
        counted=crowd.honest,
        minimum_batch=planned.minimum_batch,
        **{key: getattr(entry, key) for key in ("count", "participation_limit", "reports_per_user", "cost")},
        local_epsilon=planned.whole.local_epsilon,
    )


def _left(parts: Sequence[Together], programme: Programme) -> float | None:
    """What a further (left, delta/2)-DP release may cost: half of delta is kept for it (basic composition)."""
    if 0.5 * programme.delta == 0.0:
        return None
    spent = max(part.epsilon(0.5 * programme.delta) for part in parts)
    rest = math.nextafter(programme.epsilon - spent, -math.inf)
    return rest if rest > 0.0 else None


def _all_periods(programme: Programme, shop: Accountant) -> float:
    """eps of the rounds of all periods together."""
    everything = Period(None, 1, tuple(planned.entry.count for planned in programme.rounds))
    return Together(programme, everything, shop).epsilon(programme.delta)


def _trust(programme: Programme) -> str:
    """What the statement rests on."""
    crowds = [planned.crowd for planned in programme.rounds]
    text = trust_text(
        crowd=TRUST if all(crowd.complete for crowd in crowds) else TRUST_BUT,
        many=sum(planned.entry.count * planned.entry.reports_per_user for planned in programme.rounds) > 1,
        limited=any(planned.entry.participation_limit is not None for planned in programme.rounds),
    )
    if any(planned.minimum_batch is not None for planned in programme.rounds):
        text += "; smaller batches are withheld, and when a batch is closed does not depend on the values in it"
    return text


def folder_of(programme: object) -> str:
    """Where the files that a programme names are looked for: beside it."""
    return os.path.dirname(os.fspath(programme)) if isinstance(programme, str | os.PathLike) else ""


def content_of(programme: object) -> Any:
    """The content of a file, or that of a dictionary."""
    if isinstance(programme, Mapping):
        return _unwrapped(programme)
    if isinstance(programme, str | os.PathLike) and os.fspath(programme):
        return read_plain(programme, PROGRAMME)
    raise ParameterError(
        f"programme must be the path of a file or a dictionary, got {type(programme).__name__}; pass one of these."
    )


def _unwrapped(value: Any) -> Any:
    """Mappings of any kind as dictionaries, tuples as lists, dates as they are written."""
    if isinstance(value, Mapping):
        return {key: _unwrapped(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_unwrapped(item) for item in value]
    return str(value) if isinstance(value, date) else value
