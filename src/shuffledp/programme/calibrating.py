"""calibrate_programme: the budgets, and the mechanisms, with which a whole programme meets its budget."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .._support import validation as valid
from .._support.numbers import round_down, round_up
from ..calibration.unknowns import Unknown
from ..composing.accountant import Accountant
from ..errors import ImpossibleError, ParameterError
from ..mechanisms.base import Mechanism
from ..mechanisms.free_setting import FreeSetting
from ..planning.candidates import Candidate
from .asking import Asked, Chosen
from .calibrated import CalibratedProgramme, CalibratedRounds
from .composed import Progress, checked, content_of, folder_of
from .opening import OPENING, Choice
from .plans import PlanDraft, Source
from .result import CheckedRounds
from .scale import Scale
from .spec import Draft, draft

#: Choices are made at most this many times: again while the eps of a round differs by this share from what was assumed.
_CHOICES, _CHANGE = 3, 0.1
_LEAST_TOL, _MOST_TOL = 1e-5, 0.1

Rows = list[Any]  # Unknown, FreeSetting or Candidate, as the opening gives and takes them


def calibrate_programme(
    programme: str | os.PathLike[str] | Mapping[str, Any], *, tol: float = 1e-3, progress: Progress | None = None
) -> CalibratedProgramme:
    """The least noisy programme that meets its budget, for one whose rounds leave their budgets open.

    A round is open if it names a ``task``: a question in its own words, of the planner's tasks.  Or if its spec leaves
    out what :func:`~shuffledp.calibrate` would solve for ("grr:d=64"), or if it lists ``candidates``; of several
    mechanisms the one with the smallest predicted error is taken.

    Weights divide the budget: the local budgets are scale times weight (``weights: local``, the default where all open
    rounds have local budgets and their mechanism is given), or the eps of one round is (``weights: central``).  One
    scale is found for all of them, such that the period that costs most is within the budget, and at least 1 - tol of
    it unless every open budget is at the end of its range or eps jumps.  A question with a wanted error has no weight:
    it gets what that error costs.  Rounds that are complete stay as they are.

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
    asked = draft(data, folder=folder_of(programme))
    tell = progress or (lambda done, total: None)
    if not asked.opened:
        for terms in asked.entries:
            terms.made()  # one that is neither complete nor open says what it lacks
        raise ParameterError(
            "rounds must leave at least one budget open to be calibrated, got complete mechanisms only; "
            "leave eps0 out of one, or run shuffledp check."
        )
    precise = _precise(asked)
    found = _Search.of(asked, precise).solved(tol)
    tell(1, 2)
    result = checked(asked.closed(found.mechanisms), shop=found.shop)
    if not result.within:
        raise ImpossibleError(
            f"the wanted errors cannot be had for this budget: they cost eps = {round_up(result.epsilon)}, above "
            f"{round_down(result.target_epsilon, 12)}; ask for larger errors, or for fewer rounds."
        )
    tell(2, 2)
    rounds = tuple(found.described(i, one) for i, one in enumerate(result.rounds) if i in found.mechanisms)
    written = _written(data, {i: m.spec for i, m in found.mechanisms.items()})
    weights = "central" if found.central else "local"
    source = Source(data, {name: digest for opened in asked.opened.values() for name, digest in opened.files.items()})
    return CalibratedProgramme(written, result, rounds, weights, found.scale, source, tuple(found.drafts()))


def _precise(asked: Draft) -> dict[int, Chosen]:
    """The questions with a wanted error: what is most private and as precise, whatever is left for the others."""
    return {
        i: opened.precise(asked.entries[i].where, asked.entries[i].crowd, asked.delta)
        for i, opened in asked.opened.items()
        if isinstance(opened, Asked) and opened.error is not None
    }


@dataclass
class _Search:
    """The open rounds of a draft, and what was found for them."""

    draft: Draft
    precise: dict[int, Chosen]
    rows: dict[int, Rows]
    weights: dict[int, float]
    central: bool
    shop: Accountant
    scale: float = 1.0
    choices: dict[int, Choice | Chosen] = field(default_factory=dict)
    mechanisms: dict[int, Mechanism] = field(default_factory=dict)
    #: The spec of what is run -> the mechanism of the task that it was made of.
    made: dict[str, Mechanism] = field(default_factory=dict)

    @classmethod
    def of(cls, asked: Draft, precise: dict[int, Chosen]) -> _Search:
        """With the candidates of every round that has a weight."""
        opened = {i: found for i, found in asked.opened.items() if i not in precise}
        terms, weights = asked.entries, {i: found.weight for i, found in opened.items()}
        rows: dict[int, Rows] = {
            i: found.rows(terms[i].where, terms[i].crowd, asked.delta) for i, found in opened.items()
        }
        return cls(asked, precise, rows, weights, _central(asked, rows), Accountant())

    def solved(self, tol: float) -> _Search:
        """Itself, with the mechanisms of all open rounds."""
        for i, chosen in self.precise.items():
            best = chosen.ranked[0]
            self.choices[i], self.mechanisms[i], self.made[best.run.spec] = chosen, best.run, best.asked
        if not self.rows:
            return self
        scale = Scale(self.draft, central=self.central, shop=self.shop, fixed=dict(self.mechanisms))
        shares = scale.shares(self.weights)
        simple = all(len(row) == 1 and isinstance(row[0], Unknown) for row in self.rows.values())
        for _ in range(_CHOICES):
            for i, rows in self.rows.items():  # which depend on what one round may cost, and that on the choices
                target = scale.target(i, shares[i])
                self.choices[i] = self.draft.opened[i].choose(self.draft.entries[i].where, rows, target)
            found = scale.solve({i: self.choices[i].opened(self.made) for i in self.rows}, self.weights, tol)
            if simple:
                break
            now = scale.one_round(found.mechanisms)
            if all(abs(now[i] / shares[i] - 1.0) <= _CHANGE for i in now):
                break
            shares = {i: min(max(eps, 1e-9), self.draft.epsilon) for i, eps in now.items()}
        self.scale = found.scale
        self.mechanisms.update(found.mechanisms)
        return self

    def described(self, number: int, one: CheckedRounds) -> CalibratedRounds:
        """What was found for an entry, in the units that people read."""
        choice, weight = self.choices[number], self.weights.get(number, 0.0)
        told = choice.told(self.mechanisms[number], self.made, one.counted, one.users)
        title = choice.asked.title if isinstance(choice, Chosen) else one.name
        claim = (self.draft.entries[number].name or title, one.mechanism, weight, one.epsilon)
        return CalibratedRounds(*claim, compared=choice.compared, **told)

    def drafts(self) -> Iterator[PlanDraft]:
        """What the plans are made of, for the rounds that are questions."""
        for i, run in self.mechanisms.items():
            choice, delta = self.choices[i], self.draft.written[1]  # a claim; the budget is compared as it is written
            if isinstance(choice, Chosen):
                yield PlanDraft(i, self.draft.entries[i], choice, self.made[run.spec], delta)


def _central(asked: Draft, rows: dict[int, Rows]) -> bool:
    """What the weights divide: by default the local budgets, where every open round has one of its own."""
    inner = {i: [row.row if isinstance(row, Candidate) else row for row in found] for i, found in rows.items()}
    local = {i: all(isinstance(row, FreeSetting) or row.is_budget for row in found) for i, found in inner.items()}
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
    kept = {key: value for key, value in data.items() if key not in ("weights", "plans")}
    return {**kept, "rounds": rounds}
