"""One progress bar: on stderr, on a terminal only, and only for work that takes more than a second."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

#: Shorter work shows nothing (seconds).
PATIENCE = 1.0

Item = TypeVar("Item")


class Advance(Protocol):
    """Tells the bar how far the work is, and what it is doing now."""

    def __call__(self, done: int, total: int, doing: str | None = None) -> None:
        """``done`` of ``total`` steps are done."""


@contextmanager
def progress(what: str) -> Iterator[Advance]:
    """A bar around the block, which may call the function that is yielded; without calls the bar only moves.

    Examples
    --------
    >>> with progress("counting") as advance:  # no terminal: nothing is shown
    ...     for done in range(3):
    ...         advance(done + 1, 3)
    """
    if not on_terminal():
        yield lambda done, total, doing=None: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=None)

    def advance(done: int, total: int, doing: str | None = None) -> None:
        bar.update(task, completed=done, total=total, description=doing or what)

    late = threading.Timer(min(max(PATIENCE, 0.0), threading.TIMEOUT_MAX), bar.start)
    late.daemon = True
    late.start()
    try:
        yield advance
    finally:
        late.cancel()
        late.join()  # a bar that is just being started is stopped, too
        bar.stop()


def on_terminal() -> bool:
    """Return True if someone sees stderr redrawn; a notebook keeps all redraws, although ``!`` gives it a terminal.

    ipykernel sets TERM and PAGER for every command that a cell runs, jupyter_client JPY_PARENT_PID.
    """
    kept = "JPY_PARENT_PID" in os.environ or (os.environ.get("TERM"), os.environ.get("PAGER")) == ("xterm-color", "cat")
    return sys.stderr is not None and sys.stderr.isatty() and not kept


def each(items: Sequence[Item], name: Callable[[Item], str]) -> Iterable[Item]:
    """The items one by one, with a bar that names the one at work.

    Examples
    --------
    >>> list(each([3, 4], str))
    [3, 4]
    """
    with progress("") as advance:
        for done, item in enumerate(items):
            advance(done, len(items), name(item))
            yield item
