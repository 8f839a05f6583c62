"""What the same budget gives elsewhere: with a curator who sees all values, and without any shuffler.

The central model adds noise to the exact answer: Gaussian noise calibrated to the exact profile of the Gaussian
mechanism (Balle, Wang, ICML 2018, Theorem 8), which composes over rounds by adding squares (Dong, Roth, Su, JRSS-B
2022), or discrete Laplace noise at eps/rounds (Ghosh, Roughgarden, Sundararajan, STOC 2009).  The local model is the
best single-message mechanism at eps0 = eps/rounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from ..calibration.unknowns import Unknown
from ..errors import ShuffleDPError
from ..mechanisms.free_setting import FreeSetting
from ..numerics.composition.conversions import mu_of
from .candidates import Candidate
from .solving import Budget
from .tasks import Sensitivity, Task


class Reference(NamedTuple):
    """An error to compare with.

    Attributes
    ----------
    model : "central" or "local"
    mechanism : the noise of the curator, or the spec of the local mechanism
    error : root-mean-square error in the units of the task, the largest over all data
    note : what it is, in words
    """

    model: str
    mechanism: str
    error: float
    note: str


def references(task: Task, rows: Iterable[Candidate], budget: Budget, epsilon: float) -> tuple[Reference, ...]:
    """Central first, each model with its best mechanism first."""
    if not math.isfinite(epsilon):
        return ()
    moved, n, delta, rounds = task.sensitivity, budget.n, budget.delta, budget.rounds
    trusted = "a trusted curator sees every value and adds noise to the exact answer"
    central = [
        Reference("central", "gaussian", gaussian_error(moved, n, epsilon, delta, rounds), trusted),
        Reference("central", "laplace", laplace_error(moved, n, epsilon, rounds), trusted),
    ]
    central.sort(key=lambda found: found.error)
    return (*central, *_local(rows, n, epsilon / rounds))


def _local(rows: Iterable[Candidate], n: int, eps0: float) -> list[Reference]:
    """The best mechanism whose own budget is eps0: nobody is trusted."""
    best: Reference | None = None
    for candidate in rows:
        row = candidate.row
        try:
            if isinstance(row, FreeSetting):
                made = row.make(min(max(row.start(eps0), row.low), row.high), eps0)
            elif isinstance(row, Unknown) and row.is_budget:
                made = row.make(eps0)
            else:
                continue
            if made.local_epsilon > eps0 * (1.0 + 1e-9):
                continue
            error = candidate.accuracy(made, n).worst
        except ShuffleDPError:
            continue
        if best is None or error < best.error:
            best = Reference("local", made.spec, error, "nobody is trusted: eps0 = eps/rounds in every report")
    return [] if best is None else [best]


def gaussian_error(moved: Sensitivity, n: int, epsilon: float, delta: float, rounds: int) -> float:
    """Of Gaussian noise on every entry.

    >>> round(gaussian_error(Sensitivity(1.0, 1.0), 1, 1.0, 1e-5, 1), 3)  # the usual sigma at (1, 1e-5)
    3.731
    """
    return moved.entry * moved.l2 * math.sqrt(rounds) / mu_of(epsilon, delta) / n


def laplace_error(moved: Sensitivity, n: int, epsilon: float, rounds: int) -> float:
    """Of discrete Laplace noise on whole counts, else of continuous noise: standard deviation of an entry."""
    scale = moved.l1 * rounds / epsilon
    if not moved.counts or scale > 1e9:  # where both are the same in all figures
        return moved.entry * math.sqrt(2.0) * scale / n
    q = math.exp(-1.0 / scale)
    return moved.entry * math.sqrt(2.0 * q) / -math.expm1(-1.0 / scale) / n
