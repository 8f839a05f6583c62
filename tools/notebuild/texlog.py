"""Reads what TeX says: undefined or doubled references and boxes that stick out fail the build."""

from __future__ import annotations

import re

#: Boxes may stick out by this many points.
ROOM = 2.0
_OVERFULL = re.compile(r"Overfull \\([hv])box \(([\d.]+)pt too (?:wide|high)\)[^\n]*")
_WARNING = re.compile(
    r"(?:LaTeX|Package \w+) Warning: ((?:Reference|Citation|Label|There were)[^\n]*)|Missing character: [^\n]*"
)


def faults(log: str) -> list[str]:
    r"""What is wrong with the last run, one line each.

    Examples
    --------
    >>> faults("Overfull \\hbox (1.9pt too wide) in paragraph at lines 3--4\nOutput written on note.pdf (9 pages)")
    []
    >>> faults("LaTeX Warning: Reference `thm:x' on page 1 undefined on input line 7.\n")
    ["Reference `thm:x' on page 1 undefined on input line 7."]
    """
    joined = re.sub(r"(?<=.{79})\n", "", log)  # TeX breaks its lines after 79 characters
    found = [match[0] for match in _OVERFULL.finditer(joined) if float(match[2]) > ROOM]
    return found + [match[1] or match[0] for match in _WARNING.finditer(joined)]
