"""Which users can be counted on, as some drop out or collude; and how many reports each sends.

*Dropouts and colluders* are a worst case.  The victim hides only among honest users who do take part; what a
colluder sent is known to the adversary and is subtracted, whatever it was.  delta falls with the number of users, so if
at most k of n are missing, the guarantee of n - k holds (which k may be chosen by the adversary, but not by looking at
the values).  Missing users take their blanket messages with them.

If every user sends k reports into one batch, that counts as k rounds over the same users
(numerics/composition/sequential.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any

from .._support import validation as check
from .._support.reading.numbers import as_written
from ..errors import ParameterError
from .guarantee import OWN_DATA, TRUST, TRUST_BUT

#: The most reports of one user in a batch.
MOST_REPORTS = 10**6


@dataclass(frozen=True)
class Crowd:
    """n users of whom some drop out or collude; every user sends ``reports_per_user`` reports.

    Examples
    --------
    >>> Crowd.of(1000, dropouts=0.05, colluding=20).honest
    930
    """

    n: int
    dropouts: int = 0
    colluding: int = 0
    reports_per_user: int = 1

    @classmethod
    def of(
        cls,
        n: int,
        dropouts: float | str = 0,
        colluding: float | str = 0,
        reports_per_user: int = 1,
    ) -> Crowd:
        """Validated: counts, or shares of n (0.05, "5%"), which are rounded up to whole users."""
        away = against = 0
        if not (type(dropouts) is type(colluding) is int and dropouts == colluding == 0):  # the usual case, at once
            away, against = missing("dropouts", dropouts, n), missing("colluding", colluding, n)
        if away + against >= n:
            raise ParameterError(
                f"dropouts + colluding must leave at least one honest user of n = {n:,}, got {away:,} + {against:,}; "
                "lower them or raise n."
            )
        usual = type(reports_per_user) is int and reports_per_user == 1
        return cls(n, away, against, 1 if usual else reports(reports_per_user))

    @property
    def honest(self) -> int:
        """Users who can be counted on, the victim included."""
        return self.n - self.dropouts - self.colluding

    @property
    def complete(self) -> bool:
        """Whether all n users take part and are honest."""
        return self.honest == self.n

    def terms(self) -> dict[str, Any]:
        """The fields of a Guarantee that say who can be counted on: dropouts, colluding and trust."""
        trust = TRUST if self.complete else TRUST_BUT
        trust += f"; {OWN_DATA}" if self.reports_per_user > 1 else ""
        return {"dropouts": self.dropouts, "colluding": self.colluding, "trust": trust}


def reports(value: object) -> int:
    """The number of reports that every user sends into one batch, validated."""
    hint = "it is how many reports every user sends into one batch"
    return check.whole("reports_per_user", value, low=1, high=MOST_REPORTS, hint=hint)


def missing(name: str, value: object, n: int) -> int:
    """How many users cannot be counted on: a whole number, or a share of n below 1, rounded up to users.

    Text is read as it is written: "100" or "1e2" are users; "0.05", "1/20" and "5%" are shares.

    Examples
    --------
    >>> missing("dropouts", 100, 3000), missing("dropouts", 0.1, 30), missing("dropouts", "5%", 30)
    (100, 3, 2)
    """
    number, counted = amount(name, value)
    if counted and 0 <= number <= 10**15:
        return int(number)
    if counted:
        raise ParameterError(
            f"{name} must be a number of users >= 0, got {check.shown(value)}; pass how many there may be."
        )
    return math.ceil(number * n)


def amount(name: str, value: object) -> tuple[Fraction, bool]:
    """Users who are not counted on: the exact number, and whether it counts users (else it is a share in [0, 1))."""
    number, counted, percent = None, False, check.percent(value) if isinstance(value, str) else None
    if percent is not None:
        number = percent
    elif isinstance(value, str):
        number = as_written(value.strip())
        counted = number is not None and number.denominator == 1 and not {".", "/"} & set(value)
    elif isinstance(value, Integral) and not isinstance(value, bool):
        number, counted = Fraction(int(value)), True
    elif math.isfinite(given := check.real(name, value)):
        number = Fraction(repr(given))  # 0.1 of 30 users are 3 of them, whatever the binary digits of 0.1
    if number is None or not (counted or 0 <= number < 1):
        bare = number is not None and percent is None and 1 <= number <= 100
        write = f'a whole number of users, or "{value}%" for a share' if bare else '100 for users, or "5%" for a share'
        raise ParameterError(
            f"{name} must be a whole number of users, or a share of them below 1, got {check.shown(value)}; "
            f"write {write}."
        )
    return number, counted
