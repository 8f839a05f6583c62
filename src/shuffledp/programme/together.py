"""The rounds of one period together: eps as a function of delta, by the way that suits them."""

from __future__ import annotations

from functools import cached_property

from ..composing.accountant import Accountant
from ..numerics.composition.sequential import LEAST_DELTA
from .spec import Period, Programme
from .values import place

#: Relative accuracy of the eps of one round, as in amplify.
ACCURACY = 1e-4


class Together:
    """What the rounds of a period cost together; profiles are shared with ``shop``, an accountant.

    Attributes
    ----------
    method : "amplify" (one round), "pld" or "renyi"
    """

    def __init__(self, programme: Programme, period: Period, shop: Accountant) -> None:
        self._programme, self._period, self._shop = programme, period, shop
        counts = zip(programme.rounds, period.counts, strict=True)
        self._entries = [(i, planned.entry.first(count)) for i, (planned, count) in enumerate(counts) if count]
        small = 0.5 * programme.delta < LEAST_DELTA
        one = sum(entry.cost for _, entry in self._entries) == 1
        self.method = "amplify" if one else "renyi" if small else "pld"

    @cached_property
    def accountant(self) -> Accountant:
        """The accountant of these rounds."""
        made = self._shop.first(0)
        for number, entry in self._entries:
            with place(f"rounds[{number}]"):
                made.add(entry)
        return made

    def epsilon(self, delta: float) -> float:
        """eps of these rounds at delta."""
        accountant = self.accountant  # refuses rounds that cannot be composed
        if self.method == "amplify":
            number = self._entries[0][0]
            return self._programme.rounds[number].entry.resolved.epsilon(delta=delta, tol=ACCURACY).epsilon
        return accountant.epsilon(delta=delta, method=self.method)

    def lower(self, delta: float) -> float | None:
        """An eps that no analysis of these rounds can go below; None where nothing is known."""
        if self.method == "amplify":
            return self._entries[0][1].resolved.lower(delta=delta, tol=ACCURACY)
        return None if self.method == "renyi" else self.accountant.lower_epsilon(delta=delta)
