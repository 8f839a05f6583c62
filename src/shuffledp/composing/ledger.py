"""The ledger: which rounds were run, entry by entry (ledger_file.py writes and reads them)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from .._support import validation as check
from .._support.json_ready import json_ready
from .._support.reading import TABLE, read_bytes
from .._support.tables import Column, count_column
from ..accounting.crowd import Crowd
from ..accounting.resolve import MechanismLike, Resolved, Subject, resolve, subject_of
from ..accounting.rounds import MOST_ROUNDS, count_of, kind_of
from ..bounds import called
from ..errors import ParameterError, ShuffleDPError
from ..mechanisms.base import Mechanism
from ..mechanisms.registry import mechanism_in_file
from ..numerics.composition.sequential import Kind


@dataclass(frozen=True, kw_only=True)
class LedgerEntry:
    """``count`` shuffled rounds of one mechanism.

    Attributes
    ----------
    mechanism : the local randomizer
    n : users in each round (the victim included), each of whom sends ``reports_per_user`` reports
    count : number of rounds
    bound : which bound the accounting uses
    name : what the rounds are called, or None
    participation_limit : the most of the ``count`` rounds that one user takes part in; None if there is no limit
    reports_per_user : reports of one user in one round

    Examples
    --------
    >>> from shuffledp.mechanisms.known.general import General
    >>> entry = LedgerEntry(mechanism=General(eps0=1.0), n=1000, count=30, participation_limit=7)
    >>> entry.cost
    7
    """

    mechanism: Mechanism
    n: int
    count: int = 1
    bound: str = "auto"
    name: str | None = None
    participation_limit: int | None = None
    reports_per_user: int = 1

    def __getstate__(self) -> dict[str, Any]:
        """The fields; what follows from them is computed again."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @property
    def cost(self) -> int:
        """How many times one user's value is put at stake.

        A user who takes part in at most k of the rounds pays for k of them, even if earlier results (but
        not the value itself) decide which ones.  r reports in one batch of n users cost r rounds of n reports:
        shuffling the first reports, the second ones, ... separately reveals more than shuffling all together, and
        each of these shuffles has its share of the blanket messages (numerics/composition/sequential.py).
        """
        most = self.count if self.participation_limit is None else min(self.count, self.participation_limit)
        return most * self.reports_per_user

    @cached_property
    def resolved(self) -> Resolved:
        """What is paid ``cost`` times, ready to be asked for eps or delta.

        One of these rounds; where users send several reports, one of the parts into which a round may be divided.
        """
        return resolve(self._part, self.bound, Crowd(self.n))

    def kind(self) -> Kind:
        """The privacy profile of what is paid ``cost`` times."""
        return kind_of(self.resolved)

    @property
    def _part(self) -> Mechanism:
        return self.mechanism.law.bundled(self.reports_per_user, n=self.n)

    @cached_property
    def law(self) -> dict[str, Any]:
        """The mechanism as JSON: a spec with the hashes of its files, or the numbers where there is no spec."""
        identity = self.mechanism.law.identity()
        if "spec" not in identity:
            return identity
        files = {path: sha256_of(path) for path in self.mechanism.law.files()}
        return {**identity, "files": files} if files else identity

    @cached_property
    def reproducible(self) -> bool:
        """Whether ``law`` gives the mechanism back; checked when the rounds are composed: files may change later."""
        if "spec" not in self.law:
            return True
        try:
            again = mechanism_in_file(self.law["spec"])
        except ShuffleDPError:
            return False
        return again.spec == self.mechanism.spec and ("files" not in self.law or again == self.mechanism)

    @cached_property
    def key(self) -> str:
        """Equal for rounds that cost the same: law, n and bound, and the reports that share blanket messages."""
        identity = "" if self.reproducible else f"#{id(self.mechanism)}"
        shared = [] if self._part is self.mechanism else [self.reports_per_user]
        return json.dumps([self.law, self.n, self.bound, *shared]) + identity

    def sharing_law(self, other: LedgerEntry) -> LedgerEntry:
        """``other``, of the same mechanism, with the law of this entry: no file is read a second time."""
        vars(other)["law"] = self.law
        return other

    def first(self, count: int) -> LedgerEntry:
        """The first ``count`` rounds of this entry; each costs the same, and no file is read a second time."""
        made = replace(self, count=count)
        vars(made).update({"key": self.key, **vars(self), "count": count})  # the rest is of one round
        return made

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; refused if the mechanism cannot be written down."""
        if not self.reproducible:
            raise ParameterError(
                f"a ledger file needs mechanisms that a spec can name, got {self.mechanism.spec!r}; "
                "make it from a file that does not change, as in 'parallel:queries.yaml'."
            )
        return {
            "name": self.name,
            "mechanism": self.law,
            "local_epsilon": json_ready(self.mechanism.local_epsilon),
            "n": self.n,
            "count": self.count,
            "bound": self.bound,
            "participation_limit": self.participation_limit,
            "reports_per_user": self.reports_per_user,
        }


def make_entry(
    mechanism: MechanismLike | Subject,
    n: object,
    dropouts: float | str = 0,
    colluding: float | str = 0,
    reports_per_user: int = 1,
    *,
    count: object = 1,
    bound: str = "auto",
    name: object = None,
    participation_limit: object = None,
) -> LedgerEntry:
    """A checked entry of those of n users who can be counted on; the bound must be a proved upper bound.

    Examples
    --------
    >>> make_entry("grr:eps0=1,d=4", n=1e4, count=3, dropouts=0.05).n
    9500
    """
    crowd = Crowd.of(check.users(n), dropouts, colluding, reports_per_user)
    left = subject_of(mechanism).left_of(replace(crowd, reports_per_user=1))
    resolved = resolve(left, bound, Crowd(crowd.honest)).must_hold("be composed")
    if name is not None and not (isinstance(name, str) and 0 < len(name) <= 200):
        raise ParameterError(f"name must be a short text or None, got {check.shown(name)}; use up to 200 characters.")
    limit, hint = participation_limit, "it is the most rounds that one user takes part in"
    if limit is not None:
        limit = check.whole("participation_limit", limit, low=1, high=MOST_ROUNDS, hint=hint)
    entry = LedgerEntry(
        mechanism=left.mechanism,
        n=crowd.honest,
        count=count_of(count),
        bound=called(bound),
        name=name,
        participation_limit=limit,
        reports_per_user=crowd.reports_per_user,
    )
    if entry._part is left.mechanism:
        vars(entry)["resolved"] = resolved  # the families are built once
    return entry


def columns_of(rows: Sequence[LedgerEntry]) -> tuple[Column, ...]:
    """A table of entries; what none of them has is not shown."""
    limited = any(e.participation_limit is not None for e in rows)
    several = any(e.reports_per_user > 1 for e in rows)
    return (
        Column(name="name", head="name" if any(e.name for e in rows) else None, values=[e.name for e in rows]),
        Column(name="mechanism", head="mechanism", values=[e.mechanism.spec for e in rows]),
        count_column("n", "n", [e.n for e in rows]),
        count_column("count", "rounds", [e.count for e in rows]),
        count_column("participation_limit", "limit" if limited else None, [e.participation_limit for e in rows]),
        count_column("reports_per_user", "reports" if several else None, [e.reports_per_user for e in rows]),
        count_column("cost", "cost" if limited or several else None, [e.cost for e in rows]),
        Column(name="bound", head="bound", values=[e.bound for e in rows]),
    )


def sha256_of(path: str) -> str | None:
    """The hash of the bytes of a file; None if there is no such file, or if it would not be read."""
    try:
        return hashlib.sha256(read_bytes(path, TABLE)).hexdigest()
    except ParameterError:
        return None
