"""The one call for curves and grids: a sweep of one mechanism along one variable, or a study of several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeAlias, overload

from numpy.typing import ArrayLike, NDArray

from .._support import validation as check
from ..errors import BoundNotApplicableError, ParameterError
from ..numerics.family import Answer
from .arrays import Several
from .comparison import Comparison, Found, Point, bound_names, compared, found_together
from .crowd import Crowd
from .grids import Place, Sweepable, grid
from .resolve import Subject, resolve
from .study import Study, StudyPoint
from .sweeps import Sweep, sweep_of

Progress: TypeAlias = Callable[[int, int], None]
#: Points that are computed together while progress is shown.
_TOGETHER = 64
#: What a curve may be told beside its axis: the terms of :func:`sweep`, and one value of every other parameter.
_Single: TypeAlias = float | str | Iterable[str] | Progress | None


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
def sweep(  # type: ignore[misc]  # the overloads know terms by their types alone
    mechanism: Any,
    *,
    n: ArrayLike,
    delta: ArrayLike | str,
    eps0: ArrayLike | None = None,
    bounds: Iterable[str] | None = None,
    tol: float = 1e-4,
    progress: Progress | None = None,
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
    batched : whether all points are asked together, which takes a small part of the time and may be looser by a few
        times ``tol``; otherwise every answer is exactly that of :func:`amplify`.  None: only for a Sweep
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
    names, tol = bound_names(bounds, auto=True), check.tolerance(tol)
    if batched is not None and not isinstance(batched, bool):
        raise ParameterError(f"batched must be True, False or None, got {check.shown(batched)}; choose one of them.")
    swept = grid(mechanism, n=n, delta=delta, parameters={**({} if eps0 is None else {"eps0": eps0}), **parameters})
    points = [(place.subject, place.n, place.delta) for place in swept.places]
    ask = _together if (swept.variable is not None if batched is None else batched) else _one_by_one
    found = ask(points, names, tol, progress or _silent)
    made = compared(points, found, names=names, tol=tol, refuse=swept.variable is not None)
    at = [_point(place, one, found, k, names) for k, (place, one) in enumerate(zip(swept.places, made, strict=True))]
    return Study(tuple(at), tuple(names)) if swept.variable is None else sweep_of(at, swept.variable)


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


def _one_by_one(points: list[Point], names: list[str], tol: float, progress: Progress) -> Found:
    """Every answer by itself, so that it depends on no other point."""
    found: Found = {}
    for _, same in groupby(range(len(points)), key=lambda k: id(points[k][0])):
        places = list(same)
        alone = Subject(points[places[0]][0].mechanism)  # its families are forgotten with it
        for k in places:
            _, n, delta = points[k]
            for name in names:
                try:
                    found[k, name] = resolve(alone, name, Crowd(n)).epsilon(delta=delta, tol=tol)
                except (BoundNotApplicableError, ParameterError) as error:
                    found[k, name] = error
                progress(len(found), len(points) * len(names))
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
