"""A progress bar on stderr for work that takes more than a second, on a terminal only."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Shorter work shows nothing.
PATIENCE = 1.0


@contextmanager
def late_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yields a function of (steps done, steps in all)."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    bar = Progress(console=console, transient=True)
    task, begun = bar.add_task(what, total=None), time.monotonic()
    shown = False

    def advance(done: int, total: int) -> None:
        nonlocal shown
        if console.is_terminal and not shown and time.monotonic() - begun > PATIENCE:
            bar.start()
            shown = True
        bar.update(task, completed=done, total=total)

    try:
        yield advance
    finally:
        if shown:
            bar.stop()
