"""One table for everything that is shown or written: text, HTML, a web page, Markdown, CSV and pandas.

A column holds full values, which CSV and pandas carry, and the texts that people read in their place.
"""

from __future__ import annotations

import io
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .numbers import round_up
from .optional import require
from .text import visible

if TYPE_CHECKING:
    import pandas as pd

#: A notebook shows this many rows; the whole table is in the page, the CSV file and the DataFrame.
SHOWN_ROWS = 60
_PAGE_STYLE = (
    "body{font-family:sans-serif;margin:2em;max-width:70em}table{border-collapse:collapse;margin:1em 0}"
    "caption{text-align:left;padding:.3em 0}th,td{padding:.25em .8em;border-bottom:1px solid #ddd;text-align:left}"
)


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column: what it is called, what it holds and how it reads.

    Attributes
    ----------
    values : in full precision, None where there is none
    name : in CSV and pandas; None for a column that is only shown
    head : above the column where it is shown; None for a column that is not shown
    texts : what is shown in place of the values; by default the values themselves, nothing for None
    right : flush right, as numbers are
    wide : shown in HTML only, where there is room
    kind : the pandas type; by default pandas decides
    marks : CSS classes of the cells, for a page with a style of its own; "" for none
    """

    values: Sequence[Any]
    name: str | None = None
    head: str | None = None
    texts: Sequence[str] | None = None
    right: bool = False
    wide: bool = False
    kind: str | None = None
    marks: Sequence[str] | None = None

    @property
    def shown(self) -> list[str]:
        """The texts of all cells."""
        if self.texts is not None:
            return list(self.texts)
        return ["" if value is None else str(value) for value in self.values]


@dataclass(frozen=True)
class Table:
    """Columns of equal length, a caption above them and notes below.

    Examples
    --------
    >>> table = Table((
    ...     Column(name="bound", head="bound", values=["blanket", "local"]),
    ...     Column(name="epsilon", head="eps", values=[0.0674921, 2.0], texts=["0.067493", "2"], right=True),
    ... ), caption="two bounds")
    >>> print(table.text())
    bound         eps
    -------  --------
    blanket  0.067493
    local           2
    >>> table.csv()
    'bound,epsilon\\nblanket,0.0674921\\nlocal,2.0\\n'
    """

    columns: tuple[Column, ...]
    caption: str = ""
    notes: tuple[str, ...] = ()

    @classmethod
    def facts(cls, pairs: Iterable[tuple[str, str]], *, caption: str = "", notes: Iterable[str] = ()) -> Table:
        """Names and what they are; pairs without a text are left out.

        >>> print(Table.facts([("n", "1,000"), ("note", "")]).text())
        n  1,000
        """
        kept = [pair for pair in pairs if pair[1]]
        columns = (Column(name=key, head="", values=[x[i] for x in kept]) for i, key in enumerate(("name", "value")))
        return cls(tuple(columns), caption, tuple(notes))

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.columns[0].values)

    def _shown(self, *, wide: bool = False) -> list[Column]:
        return [column for column in self.columns if column.head is not None and (wide or not column.wide)]

    @property
    def header(self) -> list[str]:
        """The heads of the columns that a terminal shows."""
        return [str(column.head) for column in self._shown()]

    @property
    def texts(self) -> list[list[str]]:
        """The rows that a terminal shows."""
        return [list(row) for row in zip(*(column.shown for column in self._shown()), strict=True)]

    @property
    def right(self) -> list[bool]:
        """Which of the columns that a terminal shows are flush right."""
        return [column.right for column in self._shown()]

    def text(self) -> str:
        """Columns two spaces apart under a ruled header, for a terminal; nothing in a cell acts on it."""
        head, rows = self.header, [[visible(cell) for cell in row] for row in self.texts]
        widths = [max(map(len, cells)) for cells in zip(head, *rows, strict=True)]

        def line(cells: Sequence[str]) -> str:
            every = zip(cells, widths, self.right, strict=True)
            return "  ".join(c.rjust(w) if right else c.ljust(w) for c, w, right in every).rstrip()

        top = [line(head), "  ".join("-" * w for w in widths)] if any(head) else []
        return "\n".join([*top, *map(line, rows)])

    __str__ = text

    def html(self, *, most: int | None = None) -> str:
        """A bare table with every cell escaped, then the notes; of more than ``most`` rows the first ones."""
        columns, rows = self._shown(wide=True), len(self)
        kept = rows if most is None else min(most, rows)
        sides = [f' style="text-align:{"right" if column.right else "left"}"' for column in columns]
        cells = [_marked(column, kept) for column in columns]

        def line(texts: Iterable[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}{s}>{t}</{tag}>" for s, t in zip(sides, texts, strict=True)) + "</tr>"

        caption = f"<caption>{_escaped(self.caption)}</caption>" if self.caption else ""
        heads = [_escaped(str(column.head)) for column in columns]
        top = f"<thead>{line(heads, 'th')}</thead>\n" if any(heads) else ""
        body = "\n".join(line(texts, "td") for texts in zip(*cells, strict=True))
        left = [f"{kept:,} of {rows:,} rows; to_frame() and to_csv() have all."] if kept < rows else []
        below = "".join(f"<p>{_escaped(note)}</p>" for note in (*left, *self.notes))
        return f"<table>{caption}\n{top}<tbody>\n{body}\n</tbody></table>{below}"

    def markdown(self) -> str:
        """A pipe table; pipes and line breaks inside cells are escaped."""

        def line(cells: Sequence[str]) -> str:
            safe = (c.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ") for c in cells)
            return "| " + " | ".join(safe) + " |"

        rule = "".join(" ---: |" if right else " --- |" for right in self.right)
        return "\n".join([line(self.header), f"|{rule}", *map(line, self.texts)])

    def top(self, rows: int) -> Table:
        """The first rows."""

        def cut(cells: Sequence[Any] | None) -> Sequence[Any] | None:
            return None if cells is None else cells[:rows]

        parts = (replace(c, values=c.values[:rows], texts=cut(c.texts), marks=cut(c.marks)) for c in self.columns)
        return replace(self, columns=tuple(parts))

    def _named(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns if column.name is not None}

    def csv(self) -> str:
        """Comma-separated values in full precision; an absent value is an empty cell."""
        import csv

        named, out = self._named(), io.StringIO()
        rows = zip(*(column.values for column in named.values()), strict=True)
        csv.writer(out, lineterminator="\n").writerows([list(named), *rows])
        return out.getvalue()

    def frame(self) -> pd.DataFrame:
        """A pandas DataFrame in full precision; absent values are missing (needs the extra ``frame``)."""
        pandas = require("pandas", extra="frame", purpose="to_frame")

        def typed(column: Column) -> Any:
            return list(column.values) if column.kind is None else pandas.array(column.values, dtype=column.kind)

        return pandas.DataFrame({name: typed(column) for name, column in self._named().items()})


def _escaped(text: str) -> str:
    from html import escape  # a client, which shows no table, does without it

    return escape(text)


def _marked(column: Column, rows: int) -> list[str]:
    """The first cells of a column as HTML."""
    texts = [_escaped(text) for text in column.shown[:rows]]
    marks = column.marks or [""] * rows
    return [f'<span class="{_escaped(m)}">{t}</span>' if m else t for t, m in zip(texts, marks, strict=False)]


def as_page(title: str, body: str, *, style: str = "") -> str:
    """A page that stands alone: no script, nothing loaded from elsewhere; ``style`` is added to that of all pages."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{_escaped(visible(title))}</title>\n'
        f"<style>{_PAGE_STYLE}{style}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


class Tabular(ABC):
    """What every result with a table can do with it."""

    @abstractmethod
    def table(self) -> Table:
        """The table."""

    def _tables(self) -> Sequence[Table]:
        """What HTML shows: the table, and further ones where there is more to say."""
        return (self.table(),)

    def to_frame(self) -> pd.DataFrame:
        """The table as a pandas DataFrame in full precision; absent values are missing (needs the extra ``frame``)."""
        return self.table().frame()

    def to_csv(self) -> str:
        """The table as comma-separated values in full precision; an absent value is an empty cell."""
        return self.table().csv()

    def to_markdown(self) -> str:
        """The table as Markdown, rounded as it is shown."""
        return self.table().markdown()

    def to_html(self) -> str:
        """A web page that stands alone."""
        return as_page(self.table().caption, "".join(table.html() for table in self._tables()))

    def _repr_html_(self) -> str:
        """The table, for notebooks."""
        return "".join(table.html(most=SHOWN_ROWS) for table in self._tables())


def number_column(
    name: str, head: str | None, values: Sequence[Any], texts: Sequence[str], *, kind: str = "Float64"
) -> Column:
    """A column of numbers: flush right, with a pandas type that knows missing values."""
    return Column(name=name, head=head, values=values, texts=texts, right=True, kind=kind)


def count_column(name: str, head: str | None, values: Sequence[int | None]) -> Column:
    """A column of whole numbers, shown with separators.

    >>> count_column("n", "n", [1000, None]).shown
    ['1,000', '']
    """
    texts = ["" if value is None else f"{value:,}" for value in values]
    return number_column(name, head, values, texts, kind="Int64")


def epsilon_column(name: str, head: str, values: Sequence[float]) -> Column:
    """A column of proved eps, shown rounded up; "none" where no finite one is proved.

    >>> epsilon_column("epsilon", "eps", [0.0799301, float("inf")]).shown
    ['0.079931', 'none']
    """
    return number_column(name, head, values, [round_up(x) if math.isfinite(x) else "none" for x in values])
