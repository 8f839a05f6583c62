"""The result of a composition: what all rounds together guarantee."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from .._support.json_ready import json_object
from .._support.numbers import round_down, round_up
from .._support.tables import Table
from ..accounting.guarantee import OWN_DATA, TRUST, TRUST_ROUNDS, at_most, not_below


def trust_text(*, crowd: str = TRUST, many: bool = True, limited: bool = False) -> str:
    """What a composition rests on: ``crowd`` for one round, more for several or limited participation.

    Examples
    --------
    >>> trust_text(many=False) == TRUST
    True
    """
    text = crowd
    if many:
        text += TRUST_ROUNDS
    if limited:
        text += "; limits on taking part are enforced, and who takes part does not depend on the values"
    return text


def rounds_in_words(count: int) -> str:
    """A number of rounds.

    >>> rounds_in_words(1), rounds_in_words(1000)
    ('1 round', '1,000 rounds')
    """
    return "1 round" if count == 1 else f"{count:,} rounds"


@dataclass(frozen=True)
class ComposedGuarantee:
    """All rounds together are (epsilon, delta)-DP for one user.

    Attributes
    ----------
    epsilon : never too small; inf if no finite value reaches delta
    lower : no analysis of the same rounds can claim less; None where nothing is known
    delta : what was asked
    rounds : how many rounds were run
    cost : the most rounds in which one user's value was at stake
    pure_epsilon : the sum of the local guarantees, which holds with delta = 0 even if the shuffler fails
    neighbors, trust : the terms

    Examples
    --------
    >>> import shuffledp as sdp
    >>> acc = sdp.Accountant().compose("grr:eps0=2,d=16", n=10_000, count=10)
    >>> g = acc.guarantee(delta=1e-6)
    >>> round(g.epsilon, 3), g.rounds, g.neighbors
    (0.231, 10, 'replace-one')
    """

    epsilon: float
    lower: float | None
    delta: float
    rounds: int
    cost: int
    pure_epsilon: float
    neighbors: str = "replace-one"
    trust: str = trust_text()

    def __repr__(self) -> str:
        """One line: the claim for all rounds."""
        return f"<ComposedGuarantee {at_most(self.epsilon, self.delta)}: {rounds_in_words(self.rounds)}>"

    def _repr_html_(self) -> str:
        """A small table for notebooks."""
        pure = "none" if math.isinf(self.pure_epsilon) else round_up(self.pure_epsilon)
        facts = [
            ("eps (upper)", "none" if math.isinf(self.epsilon) else round_up(self.epsilon)),
            ("eps (lower)", "" if self.lower is None else not_below(self.lower, self.delta)),
            ("delta", round_up(self.delta, 6)),
            ("rounds", f"{self.rounds:,}"),
            ("rounds of one user, at most", f"{self.cost:,}"),
            ("local eps of all rounds", pure),
            ("neighbors", self.neighbors),
            ("trusted", self.trust),
        ]
        return Table.facts(facts, notes=[str(self)]).html()

    def __str__(self) -> str:
        """One paragraph that a privacy reviewer can paste."""
        delta, runs = round_up(self.delta, 6), "1 round is" if self.rounds == 1 else f"{self.rounds:,} rounds are"
        if math.isinf(self.epsilon):
            least = round_down(self.delta, 6)
            return f"{runs} not private at delta = {least}, {self.neighbors}: no finite eps reaches it."
        text = f"{runs} together ({round_up(self.epsilon)}, {delta})-DP, {self.neighbors}"
        if self.cost < self.rounds:
            text += f", for users who take part at most {self.cost:,} times"
        if self.lower is not None:
            text += f"; no analysis can claim less than {not_below(self.lower, self.delta)}"
        if max(self.rounds, self.cost) > 1:
            text += f". {OWN_DATA[:1].upper()}{OWN_DATA[1:]}"
        return f"{text}."

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary; infinity is written as the string "inf"."""
        return json_object(asdict(self))
