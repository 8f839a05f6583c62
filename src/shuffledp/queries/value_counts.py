"""Values that are not what they should be, counted by column: for the operator on the spot, never for a report.

A report is sent whatever a value is (domains.py), so that a wrong column would become a plausible answer.  The
operator who has the data is therefore told how many values were missing, unreadable, clipped or unlisted, and gets an
error where there are many.  These are exact counts of the data, without any noise: they are printed where the data is,
and are not part of a plan, a batch or the state of a collector.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..errors import ParameterError
from .columns import Coded, Column

#: What can be wrong with a value, in words, and what to do about it.
KINDS = {
    "missing": ("missing", "check that this is the column"),
    "unreadable": ("unreadable as a number or text", "write numbers such as 2.5, without words, dates or commas"),
    "below": ("clipped below", "check the column and its unit, or plan with another range"),
    "above": ("clipped above", "check the column and its unit, or plan with another range"),
    "unlisted": ("unlisted", "check the column, or plan with other labels"),
}
#: Of the unlisted ones: what would make a label of them.
_NEARLY = {"blanks": "surrounding blanks", "case": "letter case", "type": "their type (text or number)"}
#: More than this share of one kind in a column is an error unless it is accepted.
MOST = 0.2


@dataclass
class ValueCounts:
    """Counts by column; those of several parts of the data add up, in any order.

    Examples
    --------
    >>> one = ValueCounts({"wait": Counter(values=4, missing=1)})
    >>> print(one + ValueCounts({"wait": Counter(values=4, above=2)}))
    values of 'wait': 8, of which 1 missing (12.5 %), 2 clipped above (25 %)
    """

    columns: dict[str, Counter[str]] = field(default_factory=dict)

    def __add__(self, other: ValueCounts) -> ValueCounts:
        names = [*dict.fromkeys([*self.columns, *other.columns])]
        none: Counter[str] = Counter()
        return ValueCounts({name: self.columns.get(name, none) + other.columns.get(name, none) for name in names})

    def __str__(self) -> str:
        """A line for each column."""
        return "\n".join(map(self._line, self.columns))

    def _line(self, name: str) -> str:
        found = self.columns[name]
        words = {kind: word for kind, (word, _) in KINDS.items() if found[kind]}
        said = [f"{found[kind]:,} {word} ({self._share(name, kind)})" for kind, word in words.items()]
        said += [f"{found[key]:,} of these only because of {word}" for key, word in _NEARLY.items() if found[key]]
        what = f"of which {', '.join(said)}" if said else "all as declared"
        return f"values of {name!r}: {found['values']:,}, {what}"

    def _share(self, name: str, kind: str) -> str:
        return f"{100 * self.columns[name][kind] / self.columns[name]['values']:.3g} %"

    def to_dict(self) -> dict[str, dict[str, int]]:
        """Ready for JSON: for each column the number of values, and of those of each kind."""
        return {name: {kind: found[kind] for kind in ("values", *KINDS)} for name, found in self.columns.items()}

    def check(self, *, accept: bool) -> None:
        """Refuse numbers that are absent where the query does not say what they count as, and too many of any kind."""
        for name, found in self.columns.items():
            if found["undeclared"]:
                raise ParameterError(
                    f"missing must be set where a number can be absent, got {found['missing']:,} missing and "
                    f"{found['unreadable']:,} unreadable values in the column {name!r}; say under missing, in the "
                    "query of the plan, what they count as (a number or, in ranges and means, 'option'), or correct "
                    "the column."
                )
        for name, found in () if accept else self.columns.items():
            for kind, (word, cure) in KINDS.items():
                if found[kind] > MOST * found["values"]:
                    raise ParameterError(self._refusal(name, kind, word, cure))

    def _refusal(self, name: str, kind: str, word: str, cure: str) -> str:
        found = self.columns[name]
        if kind == "unlisted":
            close = [(found[key], near) for key, near in _NEARLY.items() if found[key]]
            if close:
                told = (f"{many:,} of them differ from a label by {near} alone" for many, near in close)
                cure = "; ".join(told) + ": correct them"
        return (
            f"at most {100 * MOST:g} % of the values of the column {name!r} may be {word}, got "
            f"{self._share(name, kind)} ({found[kind]:,} of {found['values']:,}); {cure}, or accept this: accept=True "
            "(--accept on the command line)."
        )


def counted(column: Column, kind: Callable[[object], str]) -> Counter[str]:
    """The values of a column by their kind ("": as it should be); of coded ones each is looked at once.

    Examples
    --------
    >>> dict(counted(Coded(np.array([0, 0, -1]), ["a"]), lambda value: "" if value else "missing"))
    {'missing': 1, 'values': 3}
    """
    found: Counter[str] = Counter()
    if isinstance(column, Coded):
        many = np.bincount(column.codes + 1)
        for code in np.flatnonzero(many).tolist():
            found[kind(column.values[code - 1] if code else None)] += int(many[code])
    else:
        found.update(map(kind, column))
    found["values"] = sum(found.values())
    del found[""]
    return found
