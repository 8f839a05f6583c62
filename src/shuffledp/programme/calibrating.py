"""calibrate_programme: the budgets, and the mechanisms, with which a whole programme meets its budget."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .._support import validation as valid
from .._support.by_name import by_name
from ..calibration.unknowns import Unknown
from ..errors import ParameterError
from ..mechanisms.free_setting import FreeSetting
from .calibrated import CalibratedProgramme, CalibratedRounds
from .checking import Progress, checked, content_of
from .opening import OPENING, Choice, predicted_error
from .scale import Found, Scale
from .spec import Draft, draft, parse

#: Choices are made at most this many times: again while the eps of a round differs by this share from what was assumed.
_CHOICES, _CHANGE = 3, 0.1
_LEAST_TOL, _MOST_TOL = 1e-5, 0.1

Rows = list[Unknown | FreeSetting]


@by_name
def calibrate_programme(
    programme: str | os.PathLike[str] | Mapping[str, Any], *, tol: float = 1e-3, progress: Progress | None = None
) -> CalibratedProgramme:
    """The least noisy programme that meets its budget, for one whose rounds leave their budgets open.

    A round is open if its spec leaves out what :func:`~shuffledp.calibrate` would solve for ("grr:d=64"), if it lists
    ``candidates`` of which the one with the smallest predicted error is taken, or names a ``task``.  Weights divide the
    budget: the local budgets are scale times weight (``weights: local``, the default where all open rounds have local
    budgets and their mechanism is given), or the eps of one round is (``weights: central``).  One scale is
    found for all of them, such that the period that costs most is within the budget, and at least 1 - tol of it unless
    every open budget is at the end of its range or eps jumps.  Rounds that are complete stay as they are.

    The result is what :func:`~shuffledp.check` finds for the programme as it is written out.

    Parameters
    ----------
    programme : the path of a YAML or JSON file, or its content as a dictionary (keys: see docs/programmes.md)
    tol : which part of the budget may be left over, 1e-5 to 0.1
    progress : called with (steps done, steps in all)

    Raises
    ------
    ImpossibleError
        Not even the most private settings of the open rounds meet the budget.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> found = calibrate_programme({
    ...     "version": 1,
    ...     "population": {"users": 1_000_000, "dropouts": 0.03},
    ...     "target": {"epsilon": 1, "delta": "1e-8", "per": "quarter"},
    ...     "rounds": [{"name": "crash kind", "mechanism": "grr:d=64", "count": 13, "weight": 2},
    ...                {"name": "version", "mechanism": "grr:d=16", "count": 13, "weight": 1}],
    ... })
    >>> [round(sdp.mechanism(r.mechanism).eps0, 2) for r in found.rounds]
    [7.29, 3.65]
    >>> found.check.within and found.check.epsilon > 0.995
    True
    """
    data = content_of(programme)
    hint = "it is the part of the budget that may be left over"
    tol = valid.in_range("tol", tol, low=_LEAST_TOL, high=_MOST_TOL, hint=hint)
    asked = draft(data)
    tell = progress or (lambda done, total: None)
    openings = {i: terms.open for i, terms in enumerate(asked.entries) if terms.open is not None}
    if not openings:
        for terms in asked.entries:
            terms.made()  # one that is neither complete nor open says what it lacks
        raise ParameterError(
            "rounds must leave at least one budget open to be calibrated, got complete mechanisms only; "
            "leave eps0 out of one, or run shuffledp check."
        )
    rows = {i: opening.rows(asked.entries[i].where, asked.entries[i].crowd.n) for i, opening in openings.items()}
    weights = {i: opening.weight for i, opening in openings.items()}
    scale = Scale(asked, central=_central(asked, rows))
    choices, found = _solved(scale, rows, weights, tol)
    tell(1, 2)
    written = _written(data, {i: m.spec for i, m in found.mechanisms.items()})
    result = checked(parse(written), shop=scale.shop)
    tell(2, 2)
    rounds = []
    for i in sorted(weights):
        one, error = result.rounds[i], _error(found, i, result.rounds[i].counted)
        rounds.append(CalibratedRounds(one.name, one.mechanism, weights[i], one.epsilon, error, choices[i].compared))
    return CalibratedProgramme(written, result, tuple(rounds), "central" if scale.central else "local", found.scale)


def _solved(
    scale: Scale, rows: dict[int, Rows], weights: dict[int, float], tol: float
) -> tuple[dict[int, Choice], Found]:
    """The choices and the scale; choices depend on what one round may cost, and that on the choices."""
    asked = scale.draft
    shares = scale.shares(weights)
    simple = all(len(row) == 1 and isinstance(row[0], Unknown) for row in rows.values())
    for _ in range(_CHOICES):
        choices: dict[int, Choice] = {}
        for i, row in rows.items():
            terms = asked.entries[i]
            if terms.open is not None:
                choices[i] = terms.open.choose(terms.where, row, scale.target(i, shares[i]))
        found = scale.solve({i: choice.row for i, choice in choices.items()}, weights, tol)
        if simple:
            break
        now = scale.one_round(found.mechanisms)
        if all(abs(now[i] / shares[i] - 1.0) <= _CHANGE for i in now):
            break
        shares = {i: min(max(eps, 1e-9), asked.epsilon) for i, eps in now.items()}
    return choices, found


def _central(asked: Draft, rows: dict[int, Rows]) -> bool:
    """What the weights divide: by default the local budgets, where every open round has one of its own."""
    local = {i: all(isinstance(row, FreeSetting) or row.is_budget for row in found) for i, found in rows.items()}
    if asked.weights is None:
        return not all(local.values()) or any(len(found) > 1 for found in rows.values())
    if asked.weights == "local":
        for i, good in local.items():
            if not good:
                raise ParameterError(
                    f"weights must be central where an open round has no local budget, got local with "
                    f"{asked.entries[i].where}; write weights: central or leave it out."
                )
    return asked.weights == "central"


def _written(data: Any, specs: dict[int, str]) -> dict[str, Any]:
    """The programme as it was written, with the mechanisms that were found in their places."""
    rounds = []
    for i, item in enumerate(data["rounds"]):
        kept = {key: value for key, value in item.items() if i not in specs or key not in OPENING}
        head = {"name": kept.pop("name")} if "name" in kept else {}
        rounds.append({**head, "mechanism": specs[i], **kept} if i in specs else item)
    return {key: rounds if key == "rounds" else value for key, value in data.items() if key != "weights"}


def _error(found: Found, number: int, users: int) -> float | None:
    """The predicted standard error, where the mechanism predicts one."""
    try:
        return float(predicted_error(found.mechanisms[number], users) ** 0.5)
    except (ParameterError, TypeError):
        return None
