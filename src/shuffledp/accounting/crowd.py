"""Who can be counted on: users who drop out, collude or take part by chance; and how many reports each sends.

*Dropouts and colluders* are a worst case.  The victim hides only among honest users who do take part; what a
colluder sent is known to the adversary and is subtracted, whatever it was.  delta falls with the number of users, so if
at most k of n are missing, the guarantee of n - k holds (which k may be chosen by the adversary, but not by looking at
the values).  Missing users take their blanket messages with them.

*Participation* is chance: every other user takes part with probability pi, independently of all values.  Let M take
part; M says nothing about the victim, so before the batch is seen delta = E_M[delta(M)], which for a shuffled pair is
t multiplied by pi.  This says nothing about the batch actually reached: once its size is known or published, use
that n with participation = 1 (see :func:`shuffledp.batch_table`).  The victim itself is taken to be present: if not,
its value is not there to be protected.

*Several reports* of every user in one batch are k rounds over the same users (numerics/families/bundle.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import TypedDict

from .._support import validation as check
from ..errors import ParameterError
from .guarantee import TRUST, TRUST_BUT, TRUST_COINS

#: Most reports of one user in a batch.
MOST_REPORTS = 10**6


class Terms(TypedDict):
    """The fields of a Guarantee that say who can be counted on."""

    dropouts: int
    colluding: int
    participation: float
    trust: str


@dataclass(frozen=True)
class Crowd:
    """n users of whom some drop out or collude; each other honest one takes part with some probability.

    Every user sends ``reports_per_user`` reports.

    Examples
    --------
    >>> Crowd.of(1000, dropouts=0.05, colluding=20).honest
    930
    """

    n: int
    dropouts: int = 0
    colluding: int = 0
    participation: float = 1.0
    reports_per_user: int = 1

    @classmethod
    def of(
        cls,
        n: int,
        *,
        dropouts: float = 0,
        colluding: float = 0,
        participation: float = 1.0,
        reports_per_user: int = 1,
    ) -> Crowd:
        """Validated: counts, or fractions of n below 1, which are rounded up to whole users."""
        away, against = missing("dropouts", dropouts, n), missing("colluding", colluding, n)
        if away + against >= n:
            raise ParameterError(
                f"dropouts + colluding must leave at least one honest user of n = {n:,}, got {away:,} + {against:,}; "
                "lower them or raise n."
            )
        hint = "it is a probability; state users who never take part as dropouts"
        share = check.in_range("participation", participation, low=0.0, high=1.0, low_open=True, hint=hint)
        usual = type(reports_per_user) is int and reports_per_user == 1
        return cls(n, away, against, share, 1 if usual else reports(reports_per_user))

    @property
    def honest(self) -> int:
        """Users who can be counted on, the victim included."""
        return self.n - self.dropouts - self.colluding

    @property
    def complete(self) -> bool:
        """Whether all n users take part and are honest."""
        return self.honest == self.n and self.participation == 1.0

    def terms(self) -> Terms:
        """What a Guarantee says of it."""
        trust = TRUST if self.honest == self.n else TRUST_BUT
        trust += TRUST_COINS if self.participation < 1.0 else ""
        return Terms(dropouts=self.dropouts, colluding=self.colluding, participation=self.participation, trust=trust)


def reports(value: object) -> int:
    """A checked number of reports that every user sends into one batch."""
    hint = "it is how many reports every user sends into one batch"
    return check.whole("reports_per_user", value, low=1, high=MOST_REPORTS, hint=hint)


def missing(name: str, value: object, n: int) -> int:
    """A whole number of users, or a fraction of n in [0, 1) rounded up to users."""
    if type(value) is int and value == 0:  # the usual case, at once
        return 0
    number = check.real(name, value)
    if isinstance(value, Integral):
        if not 0 <= number <= 10**15:
            raise ParameterError(
                f"{name} must be a number of users >= 0, got {value!r}; pass how many users may be missing."
            )
        return int(value)
    if not 0.0 <= number < 1.0:
        raise ParameterError(
            f"{name} must be a whole number of users (an int) or a fraction of them in [0, 1), got {value!r}; "
            f"write for example {name}=100 or {name}=0.05."
        )
    return math.ceil(Fraction(repr(number)) * n)  # 0.1 of 30 users are 3 of them, whatever the binary digits of 0.1
