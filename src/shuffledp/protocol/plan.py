"""A plan: what client, shuffler and collector agree on before the first report is sent.

It freezes the query, the mechanism with its parameters, the domain, who takes part, how large a batch must be and what
is guaranteed.  Its digest stands in the header of every batch, and a batch of another plan is refused.
"""

from __future__ import annotations

import json
import os
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from .._support import validation as check
from .._support.files import write_whole
from .._support.json_ready import json_object
from .._support.numbers import round_up
from .._support.reading import Kind, contained, mapping, read_json
from ..errors import ParameterError
from ..mechanisms.base import Mechanism
from ..mechanisms.registry import split
from ..queries.base import Query, query_from

if TYPE_CHECKING:
    from .._support.statement import Statement

VERSION = 1
PLAN = Kind("plan", 2**26, "write it again with Plan.save", "plan")
_KEYS = ("version", "name", "query", "users", "minimum_batch", "delta", "reports_per_user", "user_column", "guarantee")
_GUARANTEE = ("epsilon", "delta", "bound", "local_epsilon")
#: The smallest tolerance of a profile.
_TIGHTEST = 1e-7
#: More than the last digits of a local eps, in which versions and machines differ, and of a delta.
_ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A frozen collection.

    Parameters
    ----------
    query : Query
        What is asked, by which mechanism.
    users : int
        Users who are asked; every one of them sends a report, whatever its value is.
    delta : float
        Of the guarantee.
    minimum_batch : int
        Users whose reports a batch must hold before anything of it may be released; the guarantee is for that many.
        All of ``users`` unless stated, so that a single dropout makes the batch too small.  Set it to the number that
        will surely come, such as 0.8 times the users: eps is then larger, but holds for every batch that is released.
    reports_per_user : int
        Rows that a user contributes.  1: one of its rows, drawn uniformly by its own client.  k: k of them without
        replacement, filled up with missing ones where it has fewer; the guarantee is for all k together.
    user_column : str
        The column of the data that says whose row it is, where users have several; empty: every row is a user.
    name : str
        For people.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> fruit = sdp.queries.Histogram(column="fruit", labels=["apple", "pear"], mechanism="grr:eps0=2")
    >>> plan = sdp.Plan(query=fruit, users=10_000, delta=1e-6)
    >>> round(plan.epsilon, 3), len(plan.digest)
    (0.108, 64)
    >>> Plan.from_dict(plan.to_dict()).digest == plan.digest
    True
    """

    query: Query
    users: int
    delta: float
    minimum_batch: int | None = None
    reports_per_user: int = 1
    user_column: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.query, Query):
            raise ParameterError(
                f"query must be a query, such as sdp.queries.Histogram(...), got {self.query!r:.60}; make one."
            )
        users = check.users(self.users, "users")
        minimum = users if self.minimum_batch is None else check.users(self.minimum_batch, "minimum_batch")
        if minimum > users:
            raise ParameterError(
                f"minimum_batch must be at most the {users:,} users, got {minimum:,}; a batch has no more reports."
            )
        for key in ("name", "user_column"):
            if not isinstance(getattr(self, key), str) or len(getattr(self, key)) > 200:
                raise ParameterError(f"{key} must be a short text, got {getattr(self, key)!r:.60}; shorten it.")
        if not self.name.isprintable():
            raise ParameterError(f"name must be a line of readable text, got {self.name!r:.60}; remove the rest.")
        _refuse_files(self.query)
        if len(set(self.query.columns)) != len(self.query.columns):
            raise ParameterError(f"columns must be different, got {self.query.columns!r:.60}; name each once.")
        if not self.query.randomizer._runs_alone:
            raise ParameterError(
                f"mechanism must be one that a user can run alone, got {self.query.randomizer.spec}, whose messages "
                "are divided among all users; give messages or poisson (per user) instead."
            )
        vars(self).update(
            users=users,
            minimum_batch=minimum,
            delta=check.probability_delta(self.delta),
            reports_per_user=check.whole("reports_per_user", self.reports_per_user, low=1, high=1000),
        )
        if self.reports_per_user > 1:
            nothing = self.query.value_counts([[None]] * len(self.query.columns))
            if any(found["undeclared"] for found in nothing.columns.values()):
                raise ParameterError(
                    f"missing of the query must be declared if users with fewer than {self.reports_per_user} "
                    "rows report missing values, got none; declare missing= a number."
                )

    # -- the guarantee ----------------------------------------------------------------------------------------------

    @cached_property
    def guarantee(self) -> Any:
        """The :class:`Guarantee` of a batch of ``minimum_batch`` users; larger ones are at least as private."""
        from ..accounting.amplification import amplify

        n, reports = self.smallest_batch, self.reports_per_user
        return amplify(self.query.randomizer, n=n, delta=self.delta, reports_per_user=reports)

    def _of_batch(self, users: int) -> Plan:
        """Return the plan whose guarantee is that of a batch of ``users``: this one, unless they are too few.

        Examples
        --------
        >>> import shuffledp as sdp
        >>> fruit = sdp.queries.Histogram(column="fruit", labels=["apple", "pear"], mechanism="grr:eps0=2")
        >>> plan = sdp.Plan(query=fruit, users=10_000, delta=1e-6)
        >>> plan._of_batch(20_000) is plan, round(plan._of_batch(9_000).epsilon, 3)
        (True, 0.114)
        """
        if users >= self.smallest_batch:
            return self
        known: dict[int, Plan] = vars(self).setdefault("_smaller", {})
        if users not in known:
            known[users] = replace(self, minimum_batch=users)
        return known[users]

    def _at_least(self, epsilon: float) -> Plan:
        """Return a copy that states this eps, which is more than that of its guarantee."""
        held = copy(self)
        vars(held)["guarantee"] = replace(self.guarantee, epsilon=epsilon)
        return held

    def _proves(self, epsilon: float, *, spent: float = 0.0) -> bool:
        """Return True if delta at this eps is proved to be at most what is left of the plan's, however tight eps is.

        spent : of the plan's delta, on something else
        """
        from ..accounting.amplification import profile

        if not epsilon >= 0.0:
            return False
        if epsilon >= self.guarantee.epsilon and not spent:
            return True
        n, reports = self.smallest_batch, self.reports_per_user
        delta = profile(self.query.randomizer, n=n, epsilon=epsilon, reports_per_user=reports, tol=_TIGHTEST)
        return float(delta) + spent <= self.delta * (1.0 - _ROUNDING)

    @property
    def smallest_batch(self) -> int:
        """minimum_batch, filled in."""
        return self.users if self.minimum_batch is None else self.minimum_batch

    @property
    def epsilon(self) -> float:
        """Of the guarantee: what is computed, or what the file stated if that is more."""
        stated: float = vars(self).get("_stated", 0.0)
        return max(float(self.guarantee.epsilon), stated)

    def statement(self, *, rounds: int = 1, kept: str = "") -> Statement:
        """The guarantee in a paragraph that can be published; its ``html()`` and ``markdown()`` are for those who sign.

        rounds : how often the same users are asked; odds are then for all rounds together
        kept : how long reports are kept, in words, such as "90 days"

        Examples
        --------
        >>> import shuffledp as sdp
        >>> fruit = sdp.queries.Histogram(column="fruit", labels=["apple", "pear"], mechanism="grr:eps0=2")
        >>> page = sdp.Plan(query=fruit, users=10_000, delta=1e-6).statement(kept="90 days").markdown()
        >>> "is right at most 53 times out of 100." in page, "kept for 90 days." in page
        (True, True)
        """
        from .statement import statement_of

        return statement_of(self, rounds=rounds, kept=kept)

    def formal_paragraph(self) -> str:
        """The guarantee and its terms."""
        return " ".join(self._formally())

    def _formally(self, *, released: bool = False) -> list[str]:
        """The guarantee, its terms, and what clipping does, in short paragraphs.

        released : whether it is of an answer, whose batch had the size that it had
        """
        sent = "one of its rows" if self.reports_per_user == 1 else f"{self.reports_per_user} of its rows"
        least = f"; a batch of fewer than {self.smallest_batch:,} users is not released"
        said = [
            str(self.guarantee),
            f"Every user of the population sends a report on {sent}, whatever its value is{'' if released else least}.",
        ]
        return [*said, f"In the answer, {self.query.clipping}."] if self.query.clipping else said

    def count_sql(self, dialect: str, *, table: str = "reports", column: str = "message") -> str:
        """SQL that counts a table of reports, one message in each row; its rows are for Collector.ingest_counts.

        dialect : "duckdb", "spark", or "standard" (GoogleSQL; "bigquery" is the same)
        table : what follows FROM, inserted as it is written: a name, or in DuckDB 'reports.parquet' in quotes
        column : that of the messages

        Refused where counting is not a GROUP BY, a sum of bits or numbers, or an unnest, such as with local hashing.

        Examples
        --------
        >>> import shuffledp as sdp
        >>> fruit = sdp.queries.Histogram(column="fruit", labels=["apple", "pear"], mechanism="grr:eps0=2")
        >>> plan = sdp.Plan(query=fruit, users=10_000, delta=1e-6)
        >>> print(plan.count_sql("standard", table="lake.fruit").split("\\n")[2])
          SELECT message AS message FROM lake.fruit
        """
        from .sql import count_sql

        return count_sql(self, dialect, table=table, column=column)

    @property
    def message_word(self) -> str:
        """What a client sends: a report, or messages where a report has several."""
        return "report" if self.query.randomizer.single_message else "message"

    # -- the file ---------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """All that the file holds, in its order; of a plan that was read, exactly what was read."""
        kept: str | None = vars(self).get("_file")
        if kept is not None:
            return dict(json.loads(kept))
        found = self.guarantee
        eps = float(round_up(found.epsilon))
        stated = json_object(dict(zip(_GUARANTEE, (eps, self.delta, found.bound, found.local_epsilon), strict=True)))
        held = {"version": VERSION, "query": self.query.to_dict(), "guarantee": stated}
        return {key: held[key] if key in held else getattr(self, key) for key in _KEYS}

    @classmethod
    def from_dict(cls, data: object, *, verify: bool = True) -> Self:
        """The plan that a file holds; ``verify`` computes its guarantee again and refuses one that claims less."""
        given = mapping("plan", data, needed=_KEYS)
        version = given["version"]
        if isinstance(version, bool) or version != VERSION:
            raise ParameterError(f"version of the plan must be {VERSION}, got {version!r:.40}; update shuffledp.")
        stated = mapping("guarantee", given["guarantee"], needed=_GUARANTEE)
        _refuse_named_files(given["query"])
        made = cls(
            query=query_from(given["query"]),
            **{key: given[key] for key in _KEYS if key not in ("version", "query", "guarantee")},
        )
        if _number(stated, "delta") != made.delta:
            raise ParameterError(
                f"the guarantee must be that of the plan, got delta = {stated['delta']!r:.40} where the plan has "
                f"{made.delta!r}; write the plan again."
            )
        claimed, local = (_number(stated, key) for key in ("epsilon", "local_epsilon"))
        if verify:
            made._verify(claimed, local, stated["bound"])
        vars(made)["_file"] = json.dumps(data, ensure_ascii=False)
        vars(made)["_stated"] = claimed
        return made

    def _verify(self, epsilon: float, local: float, bound: object) -> None:
        """Refuse a stated guarantee that is not proved here.

        An earlier version may have found a smaller eps, within the tolerance of the search: it is accepted if delta at
        that very eps is small enough, and not because it is near.
        """
        from ..bounds.registry import names

        found = self.guarantee
        if bound not in (found.bound, *names()):
            raise ParameterError(
                f"bound of the guarantee must be one that is known, got {bound!r:.60}; write the plan again."
            )
        for word, given, true, proved in (
            ("eps", epsilon, found.epsilon, self._proves(epsilon)),
            ("local eps", local, found.local_epsilon, local >= found.local_epsilon * (1.0 - _ROUNDING)),
        ):
            if not proved:
                raise ParameterError(
                    f"the guarantee must be that of the plan, got {word} = {given:.12g} where the plan gives "
                    f"{round_up(true)}; write the plan again."
                )

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content of the file, without its spaces and the order of its keys."""
        return content_digest(self.to_dict())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file: JSON for people and programs."""
        write_whole(path, json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n", name="plan")

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, verify: bool = True) -> Self:
        """Read a file; a client, which only sends, may leave the guarantee unverified."""
        with contained(PLAN, str(path)):
            return cls.from_dict(read_json(path, PLAN), verify=verify)


def content_digest(data: object) -> str:
    """SHA-256 of the content of a file, without its spaces and the order of its keys."""
    import hashlib

    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _number(stated: dict[str, Any], key: str) -> float:
    value = stated[key]
    return float("inf") if value == "inf" else check.real(f"{key} of the guarantee", value)


def _refuse_named_files(query: object) -> None:
    """A plan file must not make anyone open another file: refused by the word of the spec, before anything is read."""
    spec = query.get("mechanism") if isinstance(query, dict) else None
    if isinstance(spec, str):
        _refuse_kind(split(spec, imports=False)[0])


def _refuse_files(query: Query) -> None:
    """The digest of a plan covers the spec of its mechanism, so that the spec must say the whole law."""
    named = getattr(query, "mechanism", None)
    for mechanism in (named, query.randomizer):
        if isinstance(mechanism, Mechanism) and any(mechanism.law.files()):
            _refuse_kind(type(mechanism), always=True)
    if isinstance(named, Mechanism):
        _refuse_kind(type(named))


def _refuse_kind(cls: type[Mechanism], *, always: bool = False) -> None:
    if always or cls._file_parameters is not None:
        raise ParameterError(
            f"mechanism of a plan must be one whose spec says all of it, got {cls.name}, whose law stands in a file or "
            "in memory and could change after the plan was agreed; use another, such as 'grr:eps0=2'."
        )


def plan_of(subject: Plan | str | os.PathLike[str], *, verify: bool = True) -> Plan:
    """A plan, or the file of one."""
    if isinstance(subject, Plan):
        return subject
    if not isinstance(subject, str | os.PathLike):
        raise ParameterError(f"plan must be a Plan or the path of its file, got {type(subject).__name__}; save one.")
    return Plan.load(subject, verify=verify)
