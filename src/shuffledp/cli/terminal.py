"""A table on a terminal, as wide as the terminal is; rich draws what a Table says."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from .._support.text import visible

if TYPE_CHECKING:
    from .._support.tables import Table


def show_table(table: Table, *, faint: Collection[int] = ()) -> None:
    """Print the columns of a table that a terminal shows; the rows in ``faint`` are dimmed."""
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Column
    from rich.table import Table as RichTable

    columns = [
        Column(escape(head), justify="right" if right else "left", overflow="fold")
        for head, right in zip(table.header, table.right, strict=True)
    ]
    drawn = RichTable(*columns, box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0), show_header=any(table.header))
    for number, row in enumerate(table.texts):
        drawn.add_row(*(escape(visible(cell)) for cell in row), style="dim" if number in faint else None)
    Console().print(drawn)
