"""A page of Markdown, cut into prose and blocks of code.

Code of a page is run from top to bottom, in one folder and one namespace.  What a fence means is its language:

- ``python``: run; ``>>>`` lines are run as a doctest
- ``console``: every line ``$ shuffledp ...`` is run, the lines below it are what it prints
- ``text``: what the block before it prints
- any block whose first line is ``# NAME.EXT``: saved under that name, not run
- a comment ``<!-- not run: REASON -->`` above a fence leaves it out; ``<!-- setup ... -->`` is run and not shown
"""

from __future__ import annotations

import re
from typing import NamedTuple

_BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<reason>[^\n]+) -->\n)?^```(?P<kind>\w+)\n(?P<code>.*?)^```$"
    r"|^<!-- setup\n(?P<setup>.*?)^-->$",
    re.MULTILINE | re.DOTALL,
)
_FILE = re.compile(r"# (\w[\w.-]*\.\w+)\n")


class Block(NamedTuple):
    """One fence: its language (or "setup"), its text, the line of the page it starts at, why it is not run."""

    kind: str
    code: str
    line: int
    reason: str = ""

    @property
    def file(self) -> str:
        """The name under which the block is saved, or nothing."""
        found = _FILE.match(self.code)
        return found[1] if found else ""

    @property
    def commands(self) -> list[tuple[str, str]]:
        """Command lines of a console block, and what is shown below each."""
        parts = re.split(r"^\$ ", self.code, flags=re.MULTILINE)[1:] if self.kind == "console" else []
        return [(line, shown.strip()) for line, _, shown in (part.partition("\n") for part in parts)]


def cut(page: str) -> list[str | Block]:
    """Prose and blocks of a page, in order.

    >>> parts = cut("Look:\\n\\n```python\\nprint(1)\\n```\\n")
    >>> parts[0], parts[1].kind, parts[1].code, parts[1].line
    ('Look:\\n\\n', 'python', 'print(1)\\n', 3)
    """
    parts: list[str | Block] = []
    end = 0
    for match in _BLOCK.finditer(page):
        parts.append(page[end : match.start()])
        line = 1 + page.count("\n", 0, match.start())
        if match["setup"] is not None:
            parts.append(Block("setup", match["setup"], line))
        else:
            parts.append(Block(match["kind"], match["code"], line, match["reason"] or ""))
        end = match.end()
    return [*parts, page[end:]]


def blocks(page: str) -> list[Block]:
    """The blocks alone."""
    return [part for part in cut(page) if isinstance(part, Block)]
