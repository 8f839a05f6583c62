"""The ledger: which rounds were run, entry by entry (ledger_file.py writes and reads them)."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._support import validation as check
from .._support.reading import TABLE, read_bytes
from ..accounting.resolve import MechanismLike, as_mechanism
from ..bounds import Bound, find
from ..errors import ParameterError, ShuffleDPError
from ..mechanisms.base import Mechanism
from ..mechanisms.composite.parallel import Parallel
from ..mechanisms.known.finite import FiniteRandomizer

#: Most rounds of one entry, and most reports of one user in a round.
MOST_ROUNDS, MOST_REPORTS = 10**9, 10**6


@dataclass(frozen=True, kw_only=True)
class LedgerEntry:
    """So many shuffled rounds of one mechanism.

    Attributes
    ----------
    mechanism : the local randomizer
    n : users in each round (the victim included), each of whom sends ``reports_per_user`` reports
    count : number of rounds
    bound : which bound the accounting uses
    name : what the rounds are called, or None
    participation_limit : no user takes part in more than so many of the ``count`` rounds; None if there is no limit
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

    @property
    def cost(self) -> int:
        """How many times one user's value is put at stake.

        A user who takes part in at most k of the rounds pays for k of them, also if it depends on earlier results
        which ones (but not on the value itself).  r reports in one batch of n users cost r rounds of n reports:
        shuffling the first reports, the second ones, ... apart from each other tells more than shuffling all together.
        """
        most = self.count if self.participation_limit is None else min(self.count, self.participation_limit)
        return most * self.reports_per_user

    @property
    def chosen_bound(self) -> Bound:
        """The bound behind the name."""
        return find(self.bound, self.mechanism)

    @cached_property
    def law(self) -> dict[str, Any]:
        """The mechanism as JSON: a spec with the hashes of its files, or the numbers where there is no spec."""
        if isinstance(self.mechanism, FiniteRandomizer):
            return {"matrix": np.asarray(self.mechanism.matrix).tolist()}
        if self.mechanism.name == "round":
            members = self.mechanism.blanket().pairs(2) or ()
            return {"round": {key: np.asarray(getattr(members[0], key)).tolist() for key in ("P0", "P1", "t")}}
        files = {path: sha256_of(path) for path in _sources(self.mechanism)}
        return {"spec": self.mechanism.spec, "files": files} if files else {"spec": self.mechanism.spec}

    @cached_property
    def reproducible(self) -> bool:
        """Whether ``law`` makes the mechanism again; asked when the rounds are composed, for files may change later."""
        if "spec" not in self.law:
            return True
        try:
            again = as_mechanism(self.mechanism.spec)
        except ShuffleDPError:
            return False
        return again.spec == self.mechanism.spec and ("files" not in self.law or again == self.mechanism)

    @cached_property
    def key(self) -> str:
        """Equal for rounds that cost the same: law, n and bound."""
        identity = "" if self.reproducible else f"#{id(self.mechanism)}"
        return json.dumps([self.law, self.n, self.bound]) + identity

    def sharing_law(self, other: LedgerEntry) -> LedgerEntry:
        """``other``, of the same mechanism, with the law of this entry: no file is read a second time."""
        other.__dict__["law"] = self.law
        return other

    def first(self, count: int) -> LedgerEntry:
        """The first ``count`` rounds of this entry; they cost the same each, and no file is read a second time."""
        made = replace(self, count=count)
        made.__dict__.update({"law": self.law, "key": self.key})
        return made

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; refused if the mechanism cannot be written down."""
        if not self.reproducible:
            raise ParameterError(
                f"a ledger file needs mechanisms that a spec can name, got {self.mechanism.spec!r}; "
                "make it from a file that does not change, as in 'parallel:queries.yaml'."
            )
        local = self.mechanism.local_epsilon
        return {
            "name": self.name,
            "mechanism": self.law,
            "local_epsilon": "inf" if math.isinf(local) else local,
            "n": self.n,
            "count": self.count,
            "bound": self.bound,
            "participation_limit": self.participation_limit,
            "reports_per_user": self.reports_per_user,
        }


def make_entry(
    mechanism: MechanismLike,
    *,
    n: object,
    count: object = 1,
    bound: str = "auto",
    name: object = None,
    participation_limit: object = None,
    reports_per_user: object = 1,
) -> LedgerEntry:
    """A checked entry; the bound must be one that holds.

    Examples
    --------
    >>> make_entry("grr:eps0=1,d=4", n=1e4, count=3).n
    10000
    """
    subject = as_mechanism(mechanism)
    chosen = find(bound, subject)
    if not (chosen.side == "upper" and chosen.sound):
        raise ParameterError(
            f"bound must be one that holds from above, got {bound!r}; composing it would be no guarantee, take 'auto'."
        )
    if name is not None and not (isinstance(name, str) and 0 < len(name) <= 200):
        raise ParameterError(f"name must be a short text or None, got {check.shown(name)}; use up to 200 characters.")
    limit = participation_limit
    if limit is not None:
        hint = "it is the most rounds that one user takes part in"
        limit = check.whole("participation_limit", limit, low=1, high=MOST_ROUNDS, hint=hint)
    reports = check.whole("reports_per_user", reports_per_user, low=1, high=MOST_REPORTS)
    if reports > 1 and type(subject).among is not Mechanism.among:
        raise ParameterError(
            f"reports_per_user must be 1 for {subject.name}, got {reports}: its blanket messages are counted per user "
            "or in all, not per report; run the reports as rounds of their own (count)."
        )
    return LedgerEntry(
        mechanism=subject,
        n=check.users(n),
        count=check.whole("count", count, low=1, high=MOST_ROUNDS, hint="it is the number of rounds"),
        bound=bound,
        name=name,
        participation_limit=limit,
        reports_per_user=reports,
    )


def _sources(mechanism: Mechanism) -> Iterator[str]:
    """The files that a mechanism was read from, also those that the queries of a parallel one name."""
    source = getattr(mechanism, "source", "")
    if source:
        yield source
    if isinstance(mechanism, Parallel):
        for _, query in mechanism.queries:
            yield from _sources(as_mechanism(query))


def sha256_of(path: str) -> str | None:
    """Of the bytes of a file; None if there is no such file, or none that would be read."""
    try:
        return hashlib.sha256(read_bytes(path, TABLE)).hexdigest()
    except ParameterError:
        return None
