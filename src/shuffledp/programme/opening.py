"""What a programme leaves open: a mechanism without its budget, or several of which one is to be chosen."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..accounting.crowd import Crowd
from ..calibration.asked import question
from ..calibration.questions import settled
from ..calibration.target import Target
from ..calibration.unknowns import Unknown
from ..errors import BoundNotApplicableError, ImpossibleError, ParameterError, ShuffleDPError
from ..mechanisms.base import Mechanism
from ..mechanisms.free_setting import FreeSetting
from ..mechanisms.registry import mechanism_in_file
from .asking import ASKING, Asked
from .values import exact, kind, place, shown

#: Keys of a round that say what is run, or leave it open.
OPENING = {"mechanism", "candidates", "task", "weight", "unknown"} | ASKING
MOST_CANDIDATES = 20
_LEAST_WEIGHT, _MOST_WEIGHT = 1e-6, 1e6
#: Predicted variances that differ by less than this share count as alike.
_ALIKE = 1e-3


@dataclass(frozen=True)
class Opening:
    """Specs of which one is run, without the number to solve for; ``weight`` is its share.

    Examples
    --------
    >>> Opening.read("rounds[0]", {"mechanism": "grr:d=64", "weight": "2"})
    Opening(specs=('grr:d=64',), weight=2.0, unknown=None)
    """

    specs: tuple[str, ...]
    weight: float = 1.0
    unknown: str | None = None
    #: It names no files of labels.
    files: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def read(cls, where: str, given: dict[str, Any], folder: str = "") -> Opening | Asked | None:
        """What the keys of a round leave open; None if they only name a mechanism, which may still be a part of one."""
        ways = [key for key in ("mechanism", "candidates", "task") if key in given]
        if len(ways) > 1:
            raise ParameterError(
                f"{where} must have one of mechanism, candidates and task, got {' and '.join(ways)}; remove one."
            )
        if "task" in given:
            if "unknown" in given:
                raise ParameterError(f"{where}.unknown must be left out beside task, got both; remove it.")
            return Asked.read(where, given, _weight(f"{where}.weight", given.get("weight", 1)), folder)
        for key in sorted(ASKING & given.keys()):
            raise ParameterError(
                f"{where}.{key} must be given together with task, got no task; name one, or write this into the "
                "mechanism."
            )
        if not {"weight", "unknown", "candidates"} & given.keys():
            _spec(f"{where}.mechanism", given.get("mechanism"))
            return None
        unknown = given.get("unknown")
        if unknown is not None and not (isinstance(unknown, str) and unknown.isprintable() and len(unknown) < 60):
            raise ParameterError(f"{where}.unknown must be the name of a parameter, got {shown(unknown)}; name it.")
        return cls(_specs(where, given), _weight(f"{where}.weight", given.get("weight", 1)), unknown)

    @classmethod
    def of_spec(cls, where: str, spec: str, n: int) -> Opening | None:
        """A spec that leaves its budget out; None if it is complete, or wrong in another way."""
        try:
            mechanism_in_file(spec)
        except ShuffleDPError:
            with contextlib.suppress(ShuffleDPError):
                question(spec, n, None, {}, imports=False)
                return cls((spec,))
        return None

    def rows(self, where: str, crowd: Crowd, delta: float) -> list[Unknown | FreeSetting]:
        """What may be chosen for these users, candidate by candidate."""
        found: list[Unknown | FreeSetting] = []
        for number, spec in enumerate(self.specs):
            with place(f"{where}.candidates[{number}]" if len(self.specs) > 1 else f"{where}.mechanism"):
                row = question(spec, crowd.n, self.unknown, {}, imports=False)
                example = _example(row)
                again = mechanism_in_file(example.spec)
                if again != example:
                    raise ParameterError(
                        f"mechanism must be written by a spec with its budget to be solved for, got {spec[:60]!r}, "
                        "which is read from a file; write its parts into the programme."
                    )
            found.append(row)
        return found

    def choose(self, where: str, rows: list[Unknown | FreeSetting], target: Target) -> Choice:
        """The candidate with the smallest predicted error at the target of one round, its settings chosen as well.

        Where several predict the same error, the first of them is taken.
        """
        if len(rows) == 1:
            return Choice(settled(rows[0], dataclasses.replace(target, start=None)), ())
        best: tuple[float, Unknown] | None = None
        compared: list[tuple[str, float]] = []
        for spec, row in zip(self.specs, rows, strict=True):
            own = dataclasses.replace(target, start=None)
            try:
                unknown = settled(row, own)
                u = own.near(unknown)
            except (ImpossibleError, BoundNotApplicableError):
                u = None
            error = math.inf if u is None else predicted_error(unknown.at(u), own.n)
            if u is not None and (best is None or error < (1.0 - _ALIKE) * best[0]):
                best = error, unknown
                compared.insert(0, (spec, error))
            else:
                compared.append((spec, error))
        if best is None:
            raise ImpossibleError(
                f"{where}.candidates: none of {', '.join(self.specs)[:200]} can meet its share of the budget; "
                "raise epsilon or delta, or collect from more users."
            )
        return Choice(best[1], tuple(compared))


@dataclass(frozen=True)
class Choice:
    """The row of mechanisms that was chosen, and the predicted variance of every candidate, its own first."""

    row: Unknown
    compared: tuple[tuple[str, float], ...]

    def opened(self, made: dict[str, Mechanism]) -> Unknown:
        """The row itself: what is run is not made of anything else."""
        return self.row

    def told(self, run: Mechanism, made: dict[str, Mechanism], n: int, users: int) -> dict[str, Any]:
        """The predicted standard error of the mechanism that is run, where it predicts one."""
        try:
            return {"error": float(predicted_error(run, n) ** 0.5)}
        except (ParameterError, TypeError):
            return {"error": None}


def predicted_error(mechanism: Mechanism, n: int) -> float:
    """The predicted variance of the estimate among n users: of a frequency, the mean over the items.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> m = sdp.GRR(eps0=2.0, d=16)
    >>> predicted_error(m, 1000) == m.variance(1000, 1 / 16)
    True
    """
    variance = getattr(mechanism, "variance", None)
    if variance is None:
        raise ParameterError(
            f"candidates must be mechanisms with a predicted error, got {mechanism.name}, which has none; leave it out."
        )
    d = getattr(mechanism, "d", None)
    if d is not None and "frequency" in inspect.signature(variance).parameters:
        return float(variance(n, getattr(mechanism, "s", 1) / d))
    return float(np.mean(variance(n)))


def _example(row: Unknown | FreeSetting) -> Mechanism:
    """One of the mechanisms of a row."""
    if isinstance(row, Unknown):
        return row.make(row.private)
    return row.make(row.low, row.budgets(row.low)[0])


def _spec(where: str, value: object) -> str:
    if not isinstance(value, str):
        raise ParameterError(f"{where} must be a spec such as grr:eps0=2,d=64, got {kind(value)}; name it.")
    return value


def _specs(where: str, given: dict[str, Any]) -> tuple[str, ...]:
    if "mechanism" in given:
        return (_spec(f"{where}.mechanism", given["mechanism"]),)
    value = given.get("candidates")
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_CANDIDATES:
        got = f"{len(value)}" if isinstance(value, list) else kind(value)
        raise ParameterError(
            f"{where}.candidates must be a list of 1 to {MOST_CANDIDATES} specs such as grr:d=64, got {got}; list them."
        )
    return tuple(_spec(f"{where}.candidates[{i}]", item) for i, item in enumerate(value))


def _weight(where: str, value: object) -> float:
    number, _ = exact(where, value)
    if not _LEAST_WEIGHT <= number <= _MOST_WEIGHT:
        raise ParameterError(
            f"{where} must lie in [{_LEAST_WEIGHT:g}, {_MOST_WEIGHT:g}], got {shown(value)}; weights are shares, "
            "relative to each other."
        )
    return float(number)
