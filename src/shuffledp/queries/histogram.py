"""How many users hold each of the named options?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..estimation.constraints import Box, Simplex
from ..estimation.estimate import SHARE, Estimate
from ..mechanisms.randomizer import Randomizer
from ..mechanisms.reports import Tally
from .base import Query, known_shares, runnable
from .columns import Column, Weights, shares_of
from .domains import Label, Labels


@dataclass(frozen=True, kw_only=True)
class Histogram(Query):
    """The share of users who hold each option.

    Parameters
    ----------
    column : str
        Where the values are.
    labels : sequence of texts, whole numbers or truth values
        The options; every other value, and a missing one, counts as ``other``.
    other : label
        An option of its own, or one of ``labels``.
    mechanism : mechanism or spec
        Any frequency mechanism, of one or several messages; its ``d`` is the number of options and may be left out.
        With a mechanism for bits there are two labels, and the answer is the share of the second.

    Examples
    --------
    >>> import numpy as np
    >>> import shuffledp as sdp
    >>> fruit = sdp.queries.Histogram(column="fruit", labels=["apple", "pear"], mechanism="grr:eps0=2")
    >>> fruit.randomizer.spec
    'grr:eps0=2,d=3'
    >>> m, values = fruit.randomizer, fruit.encode([["pear"] * 600 + ["kiwi"] * 400])
    >>> answer = fruit.answer(m.tally(m.privatize(values, rng=np.random.default_rng(0))))
    >>> answer.labels, bool(abs(answer.value[1] - 0.6) < 4 * answer.stderr[1])
    (['apple', 'pear', 'other'], True)
    """

    kind: ClassVar[str] = "histogram"

    column: str
    labels: tuple[Label, ...]
    other: Label = "other"
    mechanism: Randomizer | str

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", self.domain.labels)
        object.__setattr__(self, "mechanism", runnable(self.mechanism, d=self.domain.size))
        if not _counts(self.randomizer, self.domain.size):
            raise ParameterError(
                f"mechanism must be one that counts {self.domain.size:,} options, such as 'grr:eps0=2', got "
                f"{self.randomizer.spec}; name another."
            )
        if self._first and self.domain.size != 2:
            raise ParameterError(
                f"mechanism must be for {self.domain.size:,} options, got {self.randomizer.spec}, which is for bits; "
                "choose grr or pure-dump."
            )

    @cached_property
    def domain(self) -> Labels:
        """The options."""
        return Labels(self.labels, self.other)

    @property
    def question(self) -> str:
        """In words."""
        return f"the share of users who hold each of {self.domain.size:,} options of {self.column!r}"

    @property
    def clipping(self) -> str:
        """Which label holds more than its own values."""
        return f"of values of {self.column!r}, {self.domain.takes_in}" if self.domain.takes_in else ""

    def encode(self, columns: Sequence[Column]) -> NDArray[Any]:
        """The option of every row."""
        return self.domain.places(columns[0])

    def _portable_input(self) -> dict[str, Any]:
        return self.domain.portable(0)

    def answer(self, tally: Tally) -> Estimate:
        """Shares, with the labels."""
        found = self.randomizer.estimate(tally)
        named = replace(found, names=self.domain.names[self._first :], rest=self.domain.rest)
        return replace(named, quantity=SHARE, note=self.clipping)

    @property
    def _first(self) -> int:
        """The first option whose share is estimated: of two, a mechanism for bits counts the second."""
        return int(self.randomizer._takes == "bits")

    def exact(self, columns: Sequence[Column], *, weights: Weights = None) -> Estimate:
        """The shares of these rows."""
        places = self.encode(columns)
        shares = shares_of(places, self.domain.size, weights)[self._first :]
        constraint = Box(0.0, 1.0) if self._first else Simplex()
        return known_shares(shares, len(places), constraint, self.domain.names[self._first :])


def _counts(mechanism: Randomizer, options: int) -> bool:
    """Whether it takes just these options: a mechanism for numbers would refuse some of the users, by their values."""
    if mechanism._takes == "bits":  # which has a sentence of its own
        return True
    return _accepts(mechanism, options - 1) and not _accepts(mechanism, options)


def _accepts(mechanism: Randomizer, option: int) -> bool:
    """Whether a user may hold this option, and it stays a whole number."""
    try:
        return not np.issubdtype(np.asarray(mechanism._check(np.array([0, option]))).dtype, np.floating)
    except ParameterError:
        return False
