"""Answers the questions that have no stored answer yet, and drops those that are no longer asked.

    PYTHONPATH=tests python -m stored.make             new questions only: stored answers stay what they were
    PYTHONPATH=tests python -m stored.make --tighten   also replaces every answer that has become better on all counts

An answer is never replaced by a looser one: that takes a line in ``looser.json``, with the reason, and the removal of
the old entry from ``answers.json`` by hand.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import shuffledp as sdp

from .asking import Answer, ask
from .judging import Number, moved
from .questions import all_questions

FILE = Path(__file__).with_name("answers.json")
#: Questions that take more CPU seconds are left to make test-all.
SLOW = 0.5


def entry(name: str, asked: dict[str, Any]) -> dict[str, Any]:
    """A question and its answer as they are stored."""
    start = time.process_time()
    answer = ask(asked)
    slow = {"slow": True} if time.process_time() - start > SLOW else {}
    return {"id": name, "asked": asked, "answer": {key: x.to_json() for key, x in answer.items()}, **slow}


def stored() -> dict[str, dict[str, Any]]:
    """id -> entry."""
    if not FILE.is_file():
        return {}
    return {each["id"]: each for each in json.loads(FILE.read_text())["entries"]}


def numbers(plain: dict[str, Any]) -> Answer:
    """The answer of an entry."""
    return {key: Number.from_json(x) for key, x in plain.items()}


def better(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether the new answer is nowhere worse, and somewhere better."""
    before, now = numbers(old["answer"]), numbers(new["answer"])
    if before.keys() - now.keys() or any(moved(before[key], now[key]) for key in before):
        return False
    return bool(now.keys() - before.keys()) or any(moved(now[key], before[key]) for key in before)


def write(entries: list[dict[str, Any]]) -> None:
    """One line for each entry, so that a change of one answer is a change of one line."""
    head = json.dumps(f"answers of shuffledp {sdp.__version__}; made by python -m stored.make, see tests/stored")
    lines = ",\n".join(json.dumps(each) for each in entries)
    FILE.write_text(f'{{"about": {head}, "entries": [\n{lines}\n]}}\n')


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m stored.make", description="Answer the questions that are new.")
    parser.add_argument("--tighten", action="store_true", help="replace answers that have become better")
    tighten = parser.parse_args(arguments).tighten
    known, asked, made = stored(), all_questions(), 0
    found = {name: known[name] for name in asked if name in known}
    try:
        for name, question in asked.items():
            if name in found and not tighten:
                continue
            new = entry(name, question)
            if name not in found or better(found[name], new):
                found[name], made = new, made + 1
    finally:  # an interrupted run keeps what it has; the next one goes on from there
        write([found[name] for name in asked if name in found])
    print(f"{len(found)} questions, {made} answers are new.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
