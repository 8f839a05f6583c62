"""LaTeX from values: tables in the style of the note, and commands for single numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_SPECIAL = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$"}


def escape(text: str) -> str:
    r"""Plain text as LaTeX.

    >>> escape("50 % of a_b")
    '50 \\% of a\\_b'
    """
    return re.sub(r"[&%_#$]", lambda found: _SPECIAL[found[0]], text)


def tabular(columns: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with a rule above, below the heads and below all; cells are LaTeX already."""
    head, *body = (" & ".join(cells) + r" \\" for cells in (heads, *rows))
    begin = rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}"
    return "\n".join([begin, r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}", ""])


def commands(values: Mapping[str, str]) -> str:
    r"""One command for each number.

    >>> commands({"Truth": "5/128"})
    '\\newcommand{\\Truth}{5/128}\n'
    """
    return "".join(rf"\newcommand{{\{name}}}{{{value}}}" + "\n" for name, value in values.items())


def number(n: int) -> str:
    r"""A whole number with thin spaces, a power of ten as one.

    >>> number(7680), number(10**6)
    ('7\\,680', '$10^{6}$')
    """
    power = len(str(n)) - 1
    return f"$10^{{{power}}}$" if power >= 4 and n == 10**power else f"{n:,}".replace(",", r"\,")
