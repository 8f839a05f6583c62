"""The outputs that every guarantee has, of one batch or of many rounds: each is asked of what is known of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, TypedDict

from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from .evidence import Evidence
    from .outputs import PrivacyProfile, RenyiCurve, TradeOff


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
        from .outputs import TradeOff

        return TradeOff.of(self._about(), alpha)

    def renyi_curve(self, *, orders: ArrayLike | None = None) -> RenyiCurve:
        """The Renyi divergences of the same users and rounds, as :func:`shuffledp.renyi` gives them.

        orders : real numbers > 1; by default 246 of them up to 1.3e7
        """
        from .outputs import RenyiCurve

        return RenyiCurve.of(self._about(), orders)

    def profile(self, *, epsilon: ArrayLike | None = None) -> PrivacyProfile:
        """A table of (eps, delta) of the same users and rounds, from above and from below.

        epsilon : numbers >= 0; by default 21 from 0 to where delta is about 1e-12
        """
        from .outputs import PrivacyProfile

        return PrivacyProfile.of(self._about(), epsilon)
