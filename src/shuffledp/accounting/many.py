"""Many resolved questions at once: those that families answer are answered together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np

from ..bounds.base import capped
from ..errors import BoundNotApplicableError, ParameterError, ShuffleDPError
from ..numerics import family as families
from ..numerics.family import Answer, Asked, Family
from ..numerics.pair import FloatArray, Side
from .crowd import Crowd
from .resolve import Resolved, Subject, resolve

T = TypeVar("T")
#: The families of a question; refused where a bound does not apply.
_FAMILY, _DATASETS = attrgetter("family"), attrgetter("datasets")


def questions(subject: Subject, bound: str, sizes: Iterable[int], crowd: Sequence[Any] = ()) -> dict[int, Resolved]:
    """One resolved question for every different size; ``crowd`` are the further arguments of :meth:`Crowd.of`.

    Examples
    --------
    >>> from .resolve import subject_of
    >>> made = questions(subject_of("general:eps0=1"), "auto", [100, 1000, 100], [0.1])
    >>> [(n, question.n) for n, question in made.items()]
    [(100, 90), (1000, 900)]
    """
    made: dict[int, Resolved] = {}
    first: dict[int, Resolved] = {}  # what the honest users run -> the first question about it
    for n in dict.fromkeys(sizes):
        question = made[n] = resolve(subject, bound, Crowd.of(n, *crowd))
        question.share(first.setdefault(id(question.left), question))
    return made


def answers(asked: Sequence[Resolved], *, delta: Sequence[float] | FloatArray, tol: float) -> list[Answer]:
    """eps of every question at its delta, as ``question.epsilon`` gives it.

    Examples
    --------
    >>> from .resolve import subject_of
    >>> made = questions(subject_of("grr:eps0=2,d=64"), "auto", [1000, 10_000])
    >>> [round(answer.epsilon, 3) for answer in answers(list(made.values()), delta=[1e-6, 1e-6], tol=1e-4)]
    [0.125, 0.036]
    """
    found = attempts(asked, delta=delta, tol=tol)
    for answer in found:
        if isinstance(answer, Exception):
            raise answer
    return [answer for answer in found if isinstance(answer, Answer)]


def attempts(
    asked: Sequence[Resolved], *, delta: Sequence[float] | FloatArray, tol: float
) -> list[Answer | ShuffleDPError]:
    """The same, with the error in the place of an answer where a bound does not apply, or refuses a parameter."""
    targets = np.asarray(delta, dtype=np.float64)
    sides: dict[Side, list[int]] = {}
    for i, question in enumerate(asked):
        if question.by_family and not isinstance(_tried(partial(_FAMILY, question)), ShuffleDPError):
            sides.setdefault(question.bound.side, []).append(i)
    out: dict[int, Answer | ShuffleDPError] = {}
    for side, rows in sides.items():
        found = _tried(partial(_pooled, [asked[i] for i in rows], _FAMILY, targets[rows], tol, side))
        if not isinstance(found, ShuffleDPError):
            out |= {i: asked[i].capped(answer, float(targets[i])) for i, answer in zip(rows, found, strict=True)}
    for i, question in enumerate(asked):
        if i not in out:  # the questions left over are asked one by one
            out[i] = _tried(partial(question.epsilon, delta=float(targets[i]), tol=tol))
    return [out[i] for i in range(len(asked))]


def _tried(call: Callable[[], T]) -> T | ShuffleDPError:
    """The result, or why there is none."""
    try:
        return call()
    except (BoundNotApplicableError, ParameterError) as error:
        return error


def lowers(asked: Sequence[Resolved], *, delta: Sequence[float] | FloatArray, tol: float) -> list[float | None]:
    """The lower bound of every question, as ``question.lower`` gives it."""
    targets = np.asarray(delta, dtype=np.float64)
    rows = [i for i, q in enumerate(asked) if not isinstance(_tried(partial(_DATASETS, q)), ShuffleDPError)]
    try:
        found = _pooled([asked[i] for i in rows], _DATASETS, targets[rows], tol, "lower")
    except BoundNotApplicableError:  # some have none: ask one by one
        return [question.lower(delta=float(x), tol=tol) for question, x in zip(asked, targets, strict=True)]
    known = dict(zip(rows, found, strict=True))
    return [known[i].epsilon if i in known else None for i in range(len(asked))]


def log_deltas(asked: Sequence[Resolved], eps: FloatArray, *, tol: float) -> FloatArray:
    """log delta of every question at its eps, as ``question.log_delta`` gives it.

    A question with several eps is asked once, because chords may answer some of them; all others are asked together.
    """
    out = np.full(len(asked), -np.inf)
    same: dict[int, list[int]] = {}
    for i, question in enumerate(asked):
        same.setdefault(id(question), []).append(i)
    lone = [at[0] for at in same.values() if len(at) == 1 and asked[at[0]].by_family]
    if lone:
        out[lone] = np.concatenate(curves([asked[i] for i in lone], [eps[[i]] for i in lone], tol))
    together = set(lone)
    for at in same.values():
        if at[0] not in together:
            out[at] = asked[at[0]].log_delta(eps[at], tol=tol)
    return out


def curves(asked: Sequence[Resolved], eps: Sequence[FloatArray], tol: float) -> list[FloatArray]:
    """log delta of every question at its own several eps, in one call; nothing is asked from the local guarantee on."""
    flat, sizes = np.concatenate(eps), [at.size for at in eps]
    rows = [question for question, size in zip(asked, sizes, strict=True) for _ in range(size)]
    value, below = (
        np.full(flat.size, -np.inf),
        np.flatnonzero([not x >= q.cap for q, x in zip(rows, flat, strict=True)]),
    )
    if below.size:
        mine = [rows[i] for i in below.tolist()]
        side = mine[0].bound.side
        value[below] = families.log_deltas([q.family for q in mine], Asked(_honest(mine), flat[below], tol, side))
    parts = np.split(value, np.cumsum(sizes)[:-1])
    return [capped(part, at, question.cap) for question, part, at in zip(asked, parts, eps, strict=True)]


def _pooled(
    asked: Sequence[Resolved], family: Callable[[Resolved], Family], delta: FloatArray, tol: float, side: Side
) -> list[Answer]:
    return families.epsilons([family(q) for q in asked], Asked(_honest(asked), delta, tol, side))


def _honest(asked: Sequence[Resolved]) -> FloatArray:
    return np.array([float(question.n) for question in asked])
