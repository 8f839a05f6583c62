"""What would fit: the local budgets of a programme that is over its budget, all made smaller by one factor."""

from __future__ import annotations

from ..calibration.asked import question
from ..calibration.unknowns import Unknown
from ..composing.accountant import Accountant
from ..errors import BoundNotApplicableError, ImpossibleError, ParameterError
from .result import Fit
from .scale import Scale
from .spec import Programme

#: Longer programmes are not searched: each look composes all of their rounds.
_MOST = 20
#: The answer is within this share of the budget.
_TOL = 0.01


def fitting(programme: Programme, shop: Accountant) -> Fit | None:
    """The factor for all local budgets with which the programme fits; None if there is none, or it was not searched.

    Mechanisms without a local budget of their own (flips, messages, several parts) are left as they are.
    """
    if len(programme.rounds) > _MOST:
        return None
    rows, weights = {}, {}
    for number, planned in enumerate(programme.rounds):
        try:
            row = question(planned.whole, planned.crowd.n, None, {})
        except (ParameterError, BoundNotApplicableError):
            continue
        held = getattr(planned.whole, row.name, None) if isinstance(row, Unknown) and row.is_budget else None
        if isinstance(held, float) and isinstance(row, Unknown):
            rows[number], weights[number] = row, held
    fixed = {number: planned.whole for number, planned in enumerate(programme.rounds) if number not in rows}
    if not rows:
        return None
    try:
        found = Scale(programme, central=False, shop=shop, fixed=fixed).solve(rows, weights, _TOL)
    except (ImpossibleError, BoundNotApplicableError, ParameterError):
        return None
    whole = {**fixed, **found.mechanisms}
    specs = tuple(whole[number].spec for number in range(len(programme.rounds)))
    return Fit(factor=found.scale, epsilon=found.epsilon, mechanisms=specs)
