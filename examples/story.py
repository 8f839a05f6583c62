"""What the examples share: which data, and how an answer is told (estimate, intervals, truth, picture, statement)."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console

import shuffledp as sdp
from shuffledp._support.figures import save
from shuffledp.engines.base import engine
from shuffledp.engines.local import Local

HERE = Path(__file__).parent
OUT = HERE.parent / "build" / "examples"
console = Console(width=110, highlight=False)


def folder() -> Path:
    """The extract that is kept here, or with --full what ``make examples-data`` fetched."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true", help="use the whole data, fetched by 'make examples-data'")
    found = HERE / "data" / "full" if parser.parse_args().full else HERE / "data"
    if not found.is_dir():
        raise SystemExit("the whole data must be fetched first, got none; run 'make examples-data'.")
    return found


def tell(name: str, title: str, query: Any, data: Any, *, users: int, **more: Any) -> tuple[Any, Any]:
    """Run a plan on the data; print the largest entries and the statement, save the picture; answer and truth."""
    plan = sdp.Plan(query=query, users=users, delta=1e-8, name=title, **more)
    console.print(f"\n[bold]{title}[/]")
    # accepted: what the questions leave to "other", or outside the map, is more than a fifth of some columns
    collector = engine("local").count(plan, data, accept=True, tell=lambda values: console.print(str(values)))
    answer, truth = collector.estimate(release_early=True), Local().exact(plan, data)
    console.print(answer.top(6).table().text(), soft_wrap=True)
    console.print(collector.statement())
    OUT.mkdir(parents=True, exist_ok=True)
    same = answer.labels == truth.labels
    save(answer.plot(truth=truth) if same else answer.plot(), OUT / f"{name}.png")
    return answer, truth
