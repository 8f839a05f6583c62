"""The answers of a study: one by one, as amplify gives them, from the cache, from other processes or from here.

Every question is answered alone, so that its answer depends on nothing but the question: not on the other points, the
number of processes or what the cache held.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import groupby, islice
from typing import Any, NamedTuple

from .._support import validation as check
from ..bounds import is_ours
from ..errors import BoundNotApplicableError, ParameterError, ShuffleDPError
from ..mechanisms.base import Mechanism
from ..mechanisms.registry import made_again
from ..numerics.family import Answer
from .crowd import Crowd
from .resolve import Subject, resolve
from .study_cache import Cache, key_of

#: The most processes.
_MOST_PROCESSES = 256
#: Questions that wait for each process: enough to keep it busy.
_AHEAD = 4

Outcome = Answer | ShuffleDPError
Progress = Callable[[int, int], None]


class Question(NamedTuple):
    """eps of n users who run a mechanism, at delta, by a bound."""

    subject: Subject
    n: int
    delta: float
    bound: str


def answered(
    questions: Sequence[Question],
    *,
    tol: float,
    processes: int = 1,
    cache: str | os.PathLike[str] | None = None,
    progress: Progress,
) -> list[Outcome]:
    """The answer to every question, or why there is none.

    processes : how many work at the same time, each a new interpreter
    cache : a file; what it has is not computed again, and what is computed is added to it at once

    Examples
    --------
    >>> from .resolve import subject_of
    >>> subject = subject_of("grr:eps0=2,d=64")
    >>> found = answered([Question(subject, n, 1e-6, "auto") for n in (1000, 10_000)], tol=1e-4, progress=print)
    1 2
    2 2
    >>> [round(answer.epsilon, 3) for answer in found]
    [0.125, 0.036]
    """
    stored = None if cache is None else Cache(cache)
    identities = _identities(questions, told=stored is not None or processes > 1)
    known = _Known(questions, identities, tol, stored, progress)
    missing = [i for i in range(len(questions)) if i not in known.found]
    away = {i: (identities[i], *questions[i][1:], tol) for i in missing if identities[i] is not None}
    if processes > 1 and len(away) > 1:
        _elsewhere(away, min(processes, len(away)), known.keep)
    here = [i for i in missing if i not in known.found]
    for _, same in groupby(here, key=lambda i: id(questions[i].subject)):
        places = list(same)
        alone = Subject(questions[places[0]].subject.mechanism)  # its families are forgotten with it
        for i in places:
            known.keep(i, _answer(alone, *questions[i][1:], tol))
    return [known.found[i] for i in range(len(questions))]


class _Known:
    """The answers so far, by the places of their questions; the cache has all that it may have."""

    def __init__(
        self,
        questions: Sequence[Question],
        identities: Sequence[str | None],
        tol: float,
        stored: Cache | None,
        progress: Progress,
    ) -> None:
        self.found: dict[int, Outcome] = {}
        self._keys: dict[int, str] = {}
        self._stored, self._progress, self._total = stored, progress, len(questions)
        if stored is None:
            return
        for i, (asked, identity) in enumerate(zip(questions, identities, strict=True)):
            if identity is not None:
                self._keys[i] = key_of(identity, asked.n, asked.delta, asked.bound, tol)
        before = stored.known(self._keys.values())
        self.found |= {i: before[key] for i, key in self._keys.items() if key in before}
        if self.found:
            progress(len(self.found), self._total)

    def keep(self, i: int, answer: Outcome) -> None:
        """Write down an answer, then count it; one that was counted when an interrupt came is not written again."""
        if i in self.found:
            return
        if self._stored is not None and i in self._keys:
            self._stored.add(self._keys[i], answer)
        self.found[i] = answer
        self._progress(len(self.found), self._total)


def process_count(processes: object) -> int:
    """A number of processes; None: as many as there are cores for this one."""
    if processes is None:
        from .._support.threads import thread_count

        return min(thread_count(None), _MOST_PROCESSES)
    hint = "1 computes in this process, None uses all cores"
    return check.whole("processes", processes, low=1, high=_MOST_PROCESSES, hint=hint)


# -- what can be computed elsewhere, or another day ------------------------------------------------------------------


def _identities(questions: Sequence[Question], *, told: bool) -> list[str | None]:
    """What makes the mechanism of every question again, as JSON; None where code of others decides the answer."""
    of = {
        id(subject): _identity(subject.mechanism) for subject in {id(q.subject): q.subject for q in questions}.values()
    }
    found = [of[id(asked.subject)] if is_ours(asked.bound) else None for asked in questions]
    if told and None in found:
        first = questions[found.index(None)]
        what = f"mechanism {first.subject.mechanism.spec}" if is_ours(first.bound) else f"bound {first.bound}"
        warnings.warn(
            "cache and processes are for mechanisms and bounds of the library that a spec or a matrix makes again, "
            f"got {what}; it is computed in this process, every time.",
            stacklevel=4,
        )
    return found


def _identity(mechanism: Mechanism) -> str | None:
    """As ledgers store it.  Code of others may change while its spec stays the same, and a file may be rewritten."""
    if not _is_ours(mechanism):
        return None
    identity = mechanism.law.identity()
    if "spec" in identity and any(mechanism.law.files()):
        return None
    try:
        again = made_again(identity)
    except ParameterError:  # what stands in memory only
        return None
    same = type(again) is type(mechanism) and again.law.identity() == identity
    return json.dumps(identity, sort_keys=True) if same else None


def _is_ours(value: Any) -> bool:
    """Whether the class of a mechanism, and those of all its parts, are of this library."""
    if isinstance(value, list | tuple):
        return all(map(_is_ours, value))
    if not isinstance(value, Mechanism):
        return True
    fields: Sequence[dataclasses.Field[Any]] = dataclasses.fields(value) if dataclasses.is_dataclass(value) else ()
    ours = type(value).__module__.startswith(f"{__name__.partition('.')[0]}.")
    return ours and _is_ours([vars(value).get(field.name) for field in fields])


# -- the work ---------------------------------------------------------------------------------------------------------


def _answer(subject: Subject, n: int, delta: float, bound: str, tol: float) -> Outcome:
    try:
        return resolve(subject, bound, Crowd(n)).epsilon(delta=delta, tol=tol)
    except (BoundNotApplicableError, ParameterError) as error:
        return error


def _elsewhere(tasks: dict[int, tuple[Any, ...]], processes: int, keep: Callable[[int, Outcome], None]) -> None:
    """The same in new interpreters; after an interrupt, answers that are being computed are still finished and kept."""
    from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_ignore_interrupts)
    left, waiting = iter(tasks.items()), dict[Future[Outcome], int]()
    try:
        while True:
            waiting |= {pool.submit(_work, *task): i for i, task in islice(left, _AHEAD * processes - len(waiting))}
            if not waiting:
                break
            for done in wait(waiting, return_when=FIRST_COMPLETED).done:
                keep(waiting[done], done.result())
                del waiting[done]
    except BrokenProcessPool:
        raise ShuffleDPError(
            "processes must be 1 where other processes cannot work, and one of them ended without an answer; in a "
            "script call sweep below if __name__ == '__main__':, and see that there is memory for all."
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        for future, i in waiting.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                keep(i, future.result())


def _ignore_interrupts() -> None:
    """Ctrl-C is for the process that waits for the answers; it ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _work(identity: str, n: int, delta: float, bound: str, tol: float) -> Outcome:
    return _answer(_subject(identity), n, delta, bound, tol)


@lru_cache(maxsize=4)
def _subject(identity: str) -> Subject:
    return Subject(made_again(json.loads(identity)))
