"""One table of texts, written for a terminal, a web page, a Markdown file or a spreadsheet."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Sequence

Rows = Sequence[Sequence[str]]


def as_text(header: Sequence[str], rows: Rows, *, right: Sequence[int] = ()) -> str:
    """Columns two spaces apart under a ruled header; the columns in ``right`` are flush right."""
    widths = [max(len(line[i]) for line in (header, *rows)) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        placed = (c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True)))
        return "  ".join(placed).rstrip()

    return "\n".join([line(header), "  ".join("-" * w for w in widths), *map(line, rows)])


def as_html(header: Sequence[str], rows: Rows, *, caption: str = "") -> str:
    """A bare table; every cell is escaped."""

    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in cells) + "</tr>"

    head = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    body = "\n".join(line(row, "td") for row in rows)
    return f"<table>{head}\n<thead>{line(header, 'th')}</thead>\n<tbody>\n{body}\n</tbody></table>"


def as_page(title: str, body: str) -> str:
    """A page that stands alone: no script, nothing loaded from elsewhere."""
    rules = (
        "body{font-family:sans-serif;margin:2em;max-width:70em}table{border-collapse:collapse;margin:1em 0}"
        "caption{text-align:left;padding:.3em 0}th,td{padding:.25em .8em;border-bottom:1px solid #ddd;text-align:left}"
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>\n'
        f"<style>{rules}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def as_markdown(header: Sequence[str], rows: Rows) -> str:
    """A pipe table; pipes and line breaks inside cells are escaped."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(c.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ") for c in cells) + " |"

    return "\n".join([line(header), "|" + " --- |" * len(header), *map(line, rows)])


def as_csv(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Comma-separated values with full precision; an absent value is an empty cell."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([header, *rows])
    return out.getvalue()
