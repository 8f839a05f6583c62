"""Frozen results: what is claimed, on which terms, and how it reads in a review."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

from .._support.json_ready import json_object
from .._support.numbers import round_down, round_up
from .._support.tables import Table
from .._support.text import visible
from ..errors import ParameterError
from .outputs import About, WithOutputs

if TYPE_CHECKING:
    from .certificate import Certificate
    from .resolve import Resolved

T = TypeVar("T")
SAME = "all users run the same mechanism"
#: What every guarantee of this library rests on.
TRUST = (
    f"the shuffler is honest and uniform; {SAME}, non-adaptively within the round; their randomness is fresh and "
    "independent; the crowd counted in n consists of honest users only"
)

#: What it rests on where dropouts or colluders are stated.
TRUST_BUT = TRUST.replace("honest users only", "honest users, except for those stated to drop out or collude")

#: What composition needs of several reports of one user: otherwise the values of the others are, given what was
#: released, random with a law that depends on the victim's value.
OWN_DATA = (
    "a user's value may depend on its data and on released results, never on its own earlier reports, coins or "
    "unreleased state"
)
#: What several rounds rest on beside what each of them does.
TRUST_ROUNDS = f"; every round draws fresh randomness, and rounds may depend on the results of earlier ones; {OWN_DATA}"


@dataclass(frozen=True, kw_only=True)
class Guarantee(WithOutputs):
    """A shuffled batch is (epsilon, delta)-DP.

    Attributes
    ----------
    epsilon : float
        Never too small: every error of the computation is included.  ``inf`` if no finite value reaches delta.
    lower : float or None
        No analysis on the same terms (see ``lower_scope``) can claim less; None where nothing is known.  It is
        computed by ``find_lower`` when it is first read or printed; equal claims are equal whether it was or not.
    delta, n : what was asked.
    mechanism : the spec of the local randomizer.
    bound : name of the bound that gave epsilon.
    sound : False only for bounds kept to reproduce a paper; their epsilon is not a guarantee.
    kind : "upper" for a guarantee, "lower" if a lower bound was asked for by name.
    certified : True if ball arithmetic proved it; then ``certificate`` holds the proof.
    local_epsilon : what remains if the shuffler fails.
    dropouts, colluding : users of n who may drop out or work with the adversary, at worst.
    reports_per_user : reports that every user sends into the batch; epsilon and local_epsilon are for all of them.
    neighbors, trust : the terms.
    evaluated, members : how many of the input pairs had to be evaluated.
    note : "looser, because ..." where a sound bound was given at once in place of a slow, tighter one; else empty.
    question : what was asked, from which :meth:`tradeoff`, :meth:`renyi_curve` and :meth:`profile` are computed.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> g = sdp.amplify("general:eps0=2", n=1, delta=1e-9)
    >>> g.bound, g.neighbors, g.local_epsilon
    ('swap-general', 'replace-one', 2.0)
    """

    epsilon: float
    delta: float
    n: int
    mechanism: str
    description: str
    bound: str
    local_epsilon: float
    sound: bool = True
    kind: str = "upper"
    lower_scope: str = "this mechanism"
    certified: bool = False
    neighbors: str = "replace-one"
    trust: str = TRUST
    evaluated: int = 1
    members: int = 1
    dropouts: int = 0
    colluding: int = 0
    reports_per_user: int = 1
    note: str = ""
    certificate: Certificate | None = field(default=None, repr=False, compare=False)
    question: Resolved | None = field(default=None, repr=False, compare=False)
    find_lower: Callable[[], float | None] = field(repr=False, compare=False)

    def _about(self) -> About:
        if self.question is None:
            raise ParameterError(
                "a guarantee must come from amplify in this process to give further outputs, got a copy; ask "
                "shuffledp.tradeoff or shuffledp.renyi."
            )
        return self.question._about()

    @cached_property
    def lower(self) -> float | None:
        """The lower bound beside epsilon; None where nothing is known."""
        return self.find_lower()

    def __getstate__(self) -> dict[str, Any]:
        """All numbers, the lower bound included: a copy cannot compute it again."""
        return {**vars(self), "lower": self.lower, "find_lower": partial(told, self.lower), "question": None}

    def __repr__(self) -> str:
        """One line: the claim, on how many users of which mechanism, by which bound."""
        if self.kind == "lower":
            claim = f"eps >= {round_down(self.epsilon)} at delta = {round_down(self.delta, 6)}"
        elif self.sound:
            claim = at_most(self.epsilon, self.delta) + (", certified" if self.certified else "")
        else:
            claim = f"eps = {round_up(self.epsilon)} at delta = {round_up(self.delta, 6)}, not a bound"
        return visible(f"<Guarantee {claim}: {count_of(self.n)} of {self.mechanism} ({self.bound})>")

    def __str__(self) -> str:
        """One paragraph that a privacy reviewer can paste; every number is rounded to the safe side."""
        return visible(self._paragraph())

    def _paragraph(self) -> str:
        delta = round_up(self.delta, 6)
        users = count_of(self.n) + absent(self.n, self.dropouts, self.colluding)
        sent, each, all_ = "", *(("each ", "all ") if self.n > 1 else ("", ""))
        if self.reports_per_user > 1:
            sent = f"{each}sending {self.reports_per_user:,} reports and "
        crowd = f"With n = {users}, {sent}{all_}running {self.description},"
        if self.kind == "lower":
            return (
                f"{crowd} no analysis of {self.lower_scope} can claim less than eps = {round_down(self.epsilon)} at "
                f"delta = {round_down(self.delta, 6)}, {self.neighbors} (bound: {self.bound}); "
                "this is a lower bound, not a guarantee."
            )
        if not self.sound:
            return (
                f"{crowd} the published formula {self.bound!r} gives eps = {round_up(self.epsilon)} at delta = "
                f"{delta}; it is not a proved bound and may be too small, so do not use it as a guarantee."
            )
        if math.isinf(self.epsilon):
            text = (
                f"{crowd} no finite eps reaches delta = {round_down(self.delta, 6)}, {self.neighbors} "
                f"(bound: {self.bound}): "
                "too few others are sure to send what the victim may send, so an output can reveal its sender."
            )
        else:
            proof = ", proved in ball arithmetic" if self.certified else ""
            text = (
                f"{crowd} a shuffled batch is ({round_up(self.epsilon)}, {delta})-DP, {self.neighbors} "
                f"(bound: {self.bound}{proof})"
            )
            if self.lower is not None:
                text += f"; no analysis of {self.lower_scope} can claim less than {not_below(self.lower, self.delta)}"
            text += "."
        if self.note:
            text += f" The bound is {self.note}."
        if math.isinf(self.local_epsilon):
            return f"{text} If the shuffler fails, nothing remains."
        return f"{text} If the shuffler fails, the local guarantee eps0 = {round_up(self.local_epsilon)} remains."

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary; infinity is written as the string "inf"."""
        plain: dict[str, Any] = {"epsilon": self.epsilon, "lower": self.lower}
        plain |= {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("find_lower", "question")}
        plain["certificate"] = self.certificate.to_dict() if self.certificate else None
        return json_object(plain)

    def _repr_html_(self) -> str:
        """A small table for notebooks."""
        known = self.epsilon if self.kind == "lower" else self.lower
        said = "eps (upper)" if self.sound else "eps (as published, not a bound)"
        top = "" if self.kind == "lower" else "none" if math.isinf(self.epsilon) else round_up(self.epsilon)
        side = round_down if self.kind == "lower" else round_up
        rows = [
            (said, top),
            ("eps (lower)", "" if known is None else not_below(known, self.delta)),
            ("delta", side(self.delta, 6)),
            ("n", f"{self.n:,}" + absent(self.n, self.dropouts, self.colluding)),
            ("reports per user", "" if self.reports_per_user == 1 else f"{self.reports_per_user:,}"),
            ("mechanism", self.mechanism),
            ("bound", self.bound + ("" if self.sound else " (not sound)") + (" (certified)" if self.certified else "")),
            ("local eps", "none" if math.isinf(self.local_epsilon) else round_up(self.local_epsilon)),
            ("neighbors", self.neighbors),
            ("note", self.note),
        ]
        return Table.facts(rows, notes=[str(self)]).html()


def told(known: T) -> T:
    """A value that is known already, in place of one that has to be computed."""
    return known


def absent(n: int, dropouts: int, colluding: int) -> str:
    """The users of n who cannot be counted on, in words to stand after their number; nothing if all can be.

    >>> absent(1_000_000, 5, 0)
    ', of whom up to 5 users (0.0005 %) may drop out'
    """
    counts = ((dropouts, "drop out"), (colluding, "collude"))
    said = [f"up to {count_of(k)} ({round_down(Fraction(100 * k, n), 3)} %) may {what}" for k, what in counts if k]
    return f", of whom {' and '.join(said)}" if said else ""


def at_most(epsilon: float, delta: float) -> str:
    """An upper claim in one phrase, rounded to the side on which it stays true.

    >>> at_most(0.0799301, 1e-8), at_most(math.inf, 1e-8)
    ('eps <= 0.079931 at delta = 1e-08', 'no finite eps at delta = 1e-08')
    """
    if math.isinf(epsilon):
        return f"no finite eps at delta = {round_down(delta, 6)}"
    return f"eps <= {round_up(epsilon)} at delta = {round_up(delta, 6)}"


def count_of(n: int) -> str:
    """A number of users in words."""
    return "1 user" if n == 1 else f"{n:,} users"


def not_below(lower: float, delta: float) -> str:
    """A lower bound on eps, rounded down; with its delta where the guarantee beside it shows delta rounded up.

    A lower bound falls as delta grows, so it need not hold at a larger delta than its own.
    """
    least, most = round_down(delta, 6), round_up(delta, 6)
    return round_down(lower) + ("" if least == most else f" at delta = {least}")
