"""The one call for curves and grids: a sweep of one mechanism along one variable, or a study of several."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, overload

from numpy.typing import ArrayLike, NDArray

from .._support import validation as check
from .._support.by_name import by_name
from ..errors import ParameterError
from ..numerics.family import Answer
from .arrays import Several
from .comparison import Comparison, Found, Point, bound_names, compared, found_together
from .grids import Place, Sweepable, grid
from .study import Study, StudyPoint
from .study_answers import Progress, Question, answered, process_count
from .sweeps import Sweep, sweep_of

#: Points that are computed together while progress is shown.
_TOGETHER = 64
#: What a curve may be told beside its axis: the terms of :func:`sweep`, and one value of every other parameter.
_Single: TypeAlias = float | str | os.PathLike[str] | Iterable[str] | Progress | None


@overload
def sweep(mechanism: Sweepable, *, n: int, delta: float | str, eps0: Several, **terms: _Single) -> Sweep: ...
@overload
def sweep(
    mechanism: Sweepable, *, n: Several, delta: float | str, eps0: float | None = None, **terms: _Single
) -> Sweep: ...
@overload
def sweep(
    mechanism: Sweepable,
    *,
    n: int,
    delta: Sequence[float | str] | NDArray[Any],
    eps0: float | None = None,
    **terms: _Single,
) -> Sweep: ...
@overload
def sweep(
    mechanism: Sweepable | Sequence[Sweepable] | Mapping[str, Sweepable],
    *,
    n: ArrayLike,
    delta: ArrayLike | str,
    eps0: ArrayLike | None = None,
    **terms: Any,
) -> Any: ...
@by_name  # type: ignore[misc]  # the overloads know terms by their types alone
def sweep(
    mechanism: Any,
    *,
    n: ArrayLike,
    delta: ArrayLike | str,
    eps0: ArrayLike | None = None,
    bounds: Iterable[str] | None = None,
    tol: float = 1e-4,
    progress: Progress | None = None,
    processes: int | None = 1,
    cache: str | os.PathLike[str] | None = None,
    batched: bool | None = None,
    **parameters: Any,
) -> Sweep | Study:
    """:func:`compare` along one variable, or over a grid of several variables and mechanisms.

    Parameters
    ----------
    mechanism : as in :func:`shuffledp.amplify`; or a list of them, or a mapping from names to them.  Where eps0 or
        other parameters are given: a spec without them such as "subset:d=16" (its internal integers follow eps0), a
        mechanism whose fields of these names are replaced (its integers stay), or a function, which is called with
        eps0 and, by name, with the others
    n, delta, eps0 : numbers, or sequences of them; delta may be a rule such as "0.01/n"
    bounds : names of ``shuffledp.bounds``, "auto" among them; all bounds of the table if None
    tol : as in :func:`compare`
    progress : called with (done, in all) as the work proceeds
    processes : how many work at the same time, each a new interpreter (in a script, call below
        ``if __name__ == "__main__":``); None: one per core
    cache : a file of JSON lines; answers that it has are not computed again, and new ones are added to it at once, so
        that a sweep that is interrupted goes on where it was.  Answers of other code or versions are not used
    batched : whether all points are asked together, which takes a small part of the time and may be looser by a few
        times ``tol``; otherwise every answer is exactly that of :func:`amplify`, also with ``cache`` and ``processes``.
        None: only for a Sweep without these two
    parameters : other parameters of the mechanism by name, numbers or words, or sequences of them

    Returns
    -------
    Sweep, or Study
        A Sweep where one mechanism is asked along one of eps0, n and delta; a Study for anything else: every
        combination of all values.

    Examples
    --------
    >>> s = sweep("grr:eps0=1,d=4", n=[1_000, 10_000], delta="0.01/n", bounds=["blanket", "local"])
    >>> [f"{r:.1f}" for r in s.ratio("blanket")]
    ['10.1', '29.2']
    >>> study = sweep(["grr", "subset"], eps0=2.0, d=[4, 64], n=10_000, delta=1e-6, bounds=["auto"])
    >>> [(row.value("mechanism"), row.value("d"), round(row.epsilon, 2)) for row in study]
    [('grr', 4, 0.1), ('grr', 64, 0.04), ('subset', 4, 0.1), ('subset', 64, 0.08)]
    """
    names, tol, many = bound_names(bounds, auto=True), check.tolerance(tol), process_count(processes)
    swept = grid(mechanism, n=n, delta=delta, parameters={**({} if eps0 is None else {"eps0": eps0}), **parameters})
    points = [(place.subject, place.n, place.delta) for place in swept.places]
    if _is_batched(batched, alone=cache is None and many == 1, curve=swept.variable is not None):
        found = _together(points, names, tol, progress or _silent)
    else:
        asked = [Question(subject, n, delta, name) for subject, n, delta in points for name in names]
        outcomes = answered(asked, tol=tol, processes=many, cache=cache, progress=progress or _silent)
        found = dict(zip(itertools.product(range(len(points)), names), outcomes, strict=True))
    made = compared(points, found, names=names, tol=tol, refuse=swept.variable is not None)
    at = [_point(place, one, found, k, names) for k, (place, one) in enumerate(zip(swept.places, made, strict=True))]
    return Study(tuple(at), tuple(names)) if swept.variable is None else sweep_of(at, swept.variable)


def _is_batched(batched: object, *, alone: bool, curve: bool) -> bool:
    """Whether all points are asked together; ``alone``: in this process and without a cache."""
    if batched is not None and not isinstance(batched, bool):
        raise ParameterError(f"batched must be True, False or None, got {check.shown(batched)}; choose one of them.")
    if batched and not alone:
        raise ParameterError(
            "batched=True must be without cache and processes, which keep and compute single answers, got both; "
            "leave one of them out."
        )
    return alone and curve if batched is None else batched


def _silent(done: int, total: int) -> None:
    """Nobody asked for progress."""


def _together(points: list[Point], names: list[str], tol: float, progress: Progress) -> Found:
    """All points in one call, or in several of them while progress is shown."""
    found: Found = {}
    step = len(points) if progress is _silent else _TOGETHER
    for start in range(0, len(points), step):
        part = found_together(points[start : start + step], names=names, tol=tol)
        found |= {(start + k, name): answer for (k, name), answer in part.items()}
        for done in range(start, min(start + step, len(points))):
            progress(done + 1, len(points))
    return found


def _point(place: Place, made: Comparison, found: Found, k: int, names: list[str]) -> StudyPoint:
    """The k-th point, with the names and the notes of its answers by their bounds."""
    answers = {name: x for name in names if isinstance(x := found[k, name], Answer)}
    return StudyPoint(
        mechanism=place.mechanism,
        parameters=place.parameters,
        rule=place.rule,
        comparison=made,
        analyses={name: answer.bound for name, answer in answers.items()},
        notes={name: answer.note for name, answer in answers.items() if answer.note},
    )
