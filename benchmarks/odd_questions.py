"""The slowest of 300 odd questions.

    python -m benchmarks.odd_questions                       all of them, and the ten slowest
    python -m benchmarks.odd_questions metric-laplace users  only those whose text has one of these words
    python -m benchmarks.odd_questions --limit 20 --all      20 s of CPU each at most, and every time in the end

Each question is asked in a process of its own (a fork, so that nothing is remembered from the one before), which is
ended when it has used its CPU time; so the list always comes to its end.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import resource
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection

from rich.console import Console
from rich.table import Table

import shuffledp as sdp

from .odd_list import Question, all_questions, shown
from .rows import Row

LIMIT = 60
WANTED = 5.0
_MEMORY = 8 * 2**30


@dataclass(frozen=True)
class Answer:
    """A question, its CPU seconds (the limit, if it was ended there), and what came back."""

    question: str
    seconds: float
    text: str


def _child(question: Question, limit: int, out: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
    with contextlib.suppress(ValueError, OSError):  # not every system has this limit
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    start = time.process_time()
    try:
        text = shown(question.ask())
    except Exception as error:  # a refusal is an answer, and its time counts
        text = f"{type(error).__name__}: {error}"
    out.send((time.process_time() - start, text))


def answers(questions: Iterable[Question], limit: int = LIMIT) -> Iterator[Answer]:
    """One after the other, so that they do not disturb each other."""
    sdp.amplify("general:eps0=1", n=1000, delta=1e-6)  # what every question needs is loaded before the forks
    context = multiprocessing.get_context("fork")
    for question in questions:
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_child, args=(question, limit, theirs))
        process.start()
        theirs.close()
        try:
            seconds, text = ours.recv()
        except EOFError:
            seconds, text = float(limit), f"ended after {limit} s of CPU"
        process.join()
        yield Answer(question.text, seconds, text)


def slowest(found: list[Answer], number: int = 10) -> list[Answer]:
    """The slowest first."""
    return sorted(found, key=lambda answer: -answer.seconds)[:number]


def rows() -> Iterator[Row]:
    """How many are slow, and the ten slowest."""
    found = list(answers(all_questions()))
    late = sum(answer.seconds >= WANTED for answer in found)
    yield Row(f"{len(found)} odd questions, CPU", f"{late} take {WANTED:g} s or more", "none", late == 0)
    for answer in slowest(found):
        measured = f"{answer.seconds:.2f} s: {answer.text[:80]}"
        yield Row(answer.question, measured, f"< {WANTED:g} s", answer.seconds < WANTED)


def main(arguments: list[str] | None = None) -> int:
    """The questions whose text has one of the given words (all without any), and their times."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.odd_questions", description="The slowest questions.")
    parser.add_argument("words", nargs="*", help="ask only the questions that contain one of these")
    parser.add_argument("--limit", type=int, default=LIMIT, help="CPU seconds for each question at most")
    parser.add_argument("--all", action="store_true", help="show every question, not the ten slowest")
    given = parser.parse_args(arguments)
    asked = [q for q in all_questions() if not given.words or any(word in q.text for word in given.words)]
    show = Console(stderr=True, width=200)
    found = []
    for answer in answers(asked, given.limit):
        found.append(answer)
        if answer.seconds >= WANTED:
            show.print(f"{len(found)}/{len(asked)}  {answer.seconds:.1f} s  {answer.question}", highlight=False)
    table = Table("question", "CPU seconds", "answer", title=f"{len(found)} odd questions")
    for answer in slowest(found, len(found) if given.all else 10):
        table.add_row(answer.question, f"{answer.seconds:.2f}", answer.text)
    Console(width=180).print(table)
    late = sum(answer.seconds >= WANTED for answer in found)
    print(f"{late} of {len(found)} take {WANTED:g} s of CPU or more; {sum(a.seconds for a in found):.0f} s in all.")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
