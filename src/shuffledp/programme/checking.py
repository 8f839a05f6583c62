"""check: do a programme, the plans that ship for it, or one plan, stay within the budget?"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..errors import ParameterError
from .composed import Progress, checked, content_of, folder_of
from .result import Check
from .shipped import check_folder, check_plan, current
from .spec import draft

#: What a plan has and a programme has not.
_OF_A_PLAN = {"query", "guarantee"}


def check(
    programme: str | os.PathLike[str] | Mapping[str, Any],
    *,
    plans: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Check:
    """Check all rounds of a programme against its budget, those of every period where it is one per period.

    A programme that costs each user one round is answered by :func:`shuffledp.amplify`, any other by
    :class:`shuffledp.Accountant` with privacy loss distributions (Renyi divergences where delta is below 2e-150; the
    result says which).  Users who may drop out or collude are not counted on: all of them may be missing at once.
    Where batches below ``minimum_batch`` are not released, that number of users is counted on, less the colluding ones.
    The budget is taken as written, in decimals, and compared without rounding it up.  Over budget, the local budgets
    that would fit are found as well (``fits``).

    Plans that ship are checked as they are: every file must be the one that its lock knows, and what the plans run must
    be within the budget (the result is then a :class:`CheckedPlans`).

    Parameters
    ----------
    programme : the path of a YAML or JSON file, or its content as a dictionary (keys: see docs/programmes.md); or of a
        folder of plans, or of one plan
    plans : the folder of the plans that :meth:`CalibratedProgramme.save_plans` wrote; by default the one that the
        programme names
    progress : called with (steps done, steps in all)

    Returns
    -------
    Check
        ``within`` is True only if every user's (epsilon, delta) over all rounds is at most the target, and no file of a
        folder has changed.

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
    if isinstance(programme, str | os.PathLike) and os.path.isdir(programme):
        if plans is not None:
            raise ParameterError(f"plans must be left out beside a folder of them, got {plans!r:.200}; remove it.")
        return check_folder(programme, progress=progress)
    data = content_of(programme)
    if isinstance(programme, str | os.PathLike) and isinstance(data, dict) and data.keys() >= _OF_A_PLAN:
        return check_plan(programme, progress=progress)
    folder = folder_of(programme)
    asked = draft(data, folder=folder)
    named = os.path.join(folder, asked.plans) if plans is None and asked.plans is not None else plans
    if named is None:
        return checked(asked.closed(), progress)
    path = os.fspath(programme) if isinstance(programme, str | os.PathLike) else ""
    return check_folder(named, programme=current(data, folder), path=path, progress=progress)
