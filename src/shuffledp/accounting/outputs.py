"""Every output that a paper needs beyond one (eps, delta): what all of them share, and who has them.

Each has two sides.  One is a guarantee, for all neighbors: no attack does better.  The other is what an attack reaches,
on one fixed pair of datasets: no analysis can claim more.  docs/outputs.md has the definitions and the proofs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support.json_ready import json_object
from .._support.tables import Column, Tabular, number_column

if TYPE_CHECKING:
    from .evidence import Evidence
    from .tradeoffs import TradeOff
    from .two_sides import PrivacyProfile, RenyiCurve

FloatArray = NDArray[np.float64]


class About(TypedDict):
    """What outputs are about: of whom, on which terms, and how the evidence is found."""

    subject: str
    n: int | None
    neighbors: str
    trust: str
    find: Callable[[], Evidence]


class WithOutputs(ABC):
    """Something that is private, with the whole of what is known of it behind it."""

    @abstractmethod
    def _about(self) -> About:
        """What outputs are about."""

    def tradeoff(self, *, alpha: ArrayLike | None = None) -> TradeOff:
        """The trade-off function of f-DP, and mu, of the same users and rounds, as :func:`shuffledp.tradeoff` gives it.

        alpha : levels in [0, 1] of its table; by default some from 1e-6 to 0.99
        """
        from .tradeoffs import TradeOff

        return TradeOff.of(self._about(), alpha)

    def renyi_curve(self, *, orders: ArrayLike | None = None) -> RenyiCurve:
        """The Renyi divergences of the same users and rounds, as :func:`shuffledp.renyi` gives them.

        orders : real numbers > 1; by default 246 of them up to 1.3e7
        """
        from .two_sides import RenyiCurve

        return RenyiCurve.of(self._about(), orders)

    def profile(self, *, epsilon: ArrayLike | None = None) -> PrivacyProfile:
        """A table of (eps, delta) of the same users and rounds, from above and from below.

        epsilon : numbers >= 0; by default 21 from 0 to where delta is about 1e-12
        """
        from .two_sides import PrivacyProfile

        return PrivacyProfile.of(self._about(), epsilon)


@dataclass(frozen=True, kw_only=True, eq=False)
class Output(Tabular):
    """What is said of all outputs: of whom, on which terms, and what it is read from."""

    #: The names of what was found, as :meth:`to_dict` gives it.
    _found: ClassVar[tuple[str, ...]]

    subject: str
    neighbors: str
    trust: str
    n: int | None = None
    find: Callable[[], Evidence] = field(repr=False)

    @cached_property
    def _evidence(self) -> Evidence:
        return self.find()

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the sampled profiles, which a copy computes again when it needs them."""
        return {key: value for key, value in vars(self).items() if key != "_evidence"}

    @property
    def _subject(self) -> str:
        """Of whom, at the beginning of a sentence."""
        return self.subject[:1].upper() + self.subject[1:]

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary; infinity is written as the string "inf"."""
        names = ("subject", "n", "neighbors", "trust", *self._found)
        return json_object({name: getattr(self, name) for name in names})


def as_given(x: float, digits: int) -> str:
    """A number that was asked for, in so many figures."""
    return f"{x:.{digits}g}"


def column(
    name: str, head: str, values: FloatArray | None, like: FloatArray, rounded: Callable[[float, int], str]
) -> Column:
    """Numbers in six figures; a column of which nothing is known is not shown, and as long as those ``like`` it."""
    if values is None:
        return Column(name=name, values=[None] * like.size, kind="Float64")
    flat = values.reshape(-1).tolist()
    return number_column(name, head, flat, [rounded(x, 6) for x in flat])
