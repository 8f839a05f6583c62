"""Curves from above and from below: Renyi divergences by their order with rho of zCDP, and tables of (eps, delta)."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike

from .._support import validation as check
from .._support.numbers import round_down, round_up
from .._support.tables import Column, Table
from .._support.text import visible
from ..numerics.composition.conversions import ORDERS
from .arrays import finite
from .crowd import Crowd
from .outputs import About, FloatArray, Output, as_given, column
from .resolve import MechanismLike, resolve

if TYPE_CHECKING:
    from .._support.canvas import Figure, Placing

#: eps of the table of a profile, and log delta where it ends.
_ROWS, _END = 21, -27.6


class Words(NamedTuple):
    """What table and figure of a curve say: what it is along, what it is, the title and the axes."""

    along: str
    name: str
    head: str
    said: str
    title: str
    x: str
    y: str


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TwoSided(Output):
    """A curve that is known from above and, where a dataset has a known law, from below."""

    _words: ClassVar[Words]

    @property
    def _curve(self) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        """Where it is known, and its two sides there."""
        held = vars(self)
        return held[self._words.along], held["upper"], self.lower

    @property
    @abstractmethod
    def lower(self) -> FloatArray | None:
        """No analysis can claim less."""

    def _columns(self) -> tuple[Column, ...]:
        """One row for every place of the curve."""
        words, (at, upper, lower) = self._words, self._curve
        return (
            column(words.name, words.head, at, at, as_given),
            column("upper", f"{words.said} (at most)", upper, at, round_up),
            column("lower", "(at least)", lower, at, round_down),
        )

    def plot(self, **where: Unpack[Placing]) -> Figure:
        """A figure of both sides (needs the extra ``plot``).

        width : inches; ax : matplotlib axes to draw in, in place of a new figure; labels : other words for those of
        the figure
        """
        from .drawing import draw_two_sides

        return draw_two_sides(self, **where)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RenyiCurve(TwoSided):
    """Renyi divergences of the worst pair of neighbors, order by order.

    Attributes
    ----------
    orders, upper : real numbers > 1, and a divergence that is never too small; inf without a local guarantee
    lower : those of one fixed pair of datasets: no analysis can claim less; None where no law is known
    rho : the batch is rho-zCDP (Bun, Steinke, TCC 2016): R(a) <= rho a for every a > 1; inf if that is not known
    rho_lower : no analysis can claim a smaller rho; None where nothing is known
    subject, n, neighbors, trust : of whom, and the terms

    Examples
    --------
    >>> import shuffledp as sdp
    >>> r = sdp.renyi("grr:eps0=2,d=16", n=1000, orders=[2.0, 8.0])
    >>> r.upper.round(5).tolist(), r.lower.round(5).tolist()
    ([0.00364, 0.01458], [0.00361, 0.01443])
    >>> round(r.rho_lower, 5), round(r.rho, 5)
    (0.0018, 0.00183)
    """

    _found = ("orders", "upper", "lower", "rho", "rho_lower")
    _words = Words(
        along="orders", name="order", head="order", said="Renyi", title="Renyi divergences", x="order", y="divergence"
    )

    orders: FloatArray
    upper: FloatArray

    @classmethod
    def of(cls, about: About, orders: ArrayLike | None) -> Self:
        """At these orders."""
        made = cls(**about, orders=checked_orders(ORDERS if orders is None else orders), upper=np.empty(0))
        vars(made)["upper"] = made._evidence.renyi(made.orders)
        return made

    @cached_property
    def lower(self) -> FloatArray | None:
        """Divergences of one fixed pair of datasets."""
        found = self._evidence.renyi_lower(self.orders)
        return None if found is None else np.minimum(found, self.upper)

    @cached_property
    def rho(self) -> float:
        """The batch is rho-zCDP."""
        return self._evidence.rho()

    @cached_property
    def rho_lower(self) -> float | None:
        """No analysis can claim a smaller rho."""
        if self.lower is None:
            return None
        return min(float((self.lower / self.orders).max(initial=0.0)) * (1.0 - 1e-15), self.rho)

    def table(self) -> Table:
        """One row per order."""
        return Table(self._columns(), caption=f"Renyi divergences of {self.subject}", notes=(str(self),))

    def __repr__(self) -> str:
        """One line."""
        return visible(f"<RenyiCurve of {self.subject}: {self.orders.size} orders>")

    def __str__(self) -> str:
        """One sentence."""
        rho = f"rho = {round_up(self.rho)} of zero-concentrated DP" if math.isfinite(self.rho) else "no finite rho"
        text = f"{self._subject}: {rho}, {self.neighbors}"
        if self.rho_lower is not None and math.isfinite(self.rho):
            text += f"; no analysis can claim less than {round_down(self.rho_lower)}"
        return visible(f"{text}.")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PrivacyProfile(TwoSided):
    """delta(eps) at some eps.

    Attributes
    ----------
    epsilon, upper : the batch is (epsilon, upper)-DP; upper is 0 only where delta is exactly 0
    lower : no analysis can claim less; None where nothing is known
    subject, n, neighbors, trust : of whom, and the terms

    Examples
    --------
    >>> import shuffledp as sdp
    >>> p = sdp.amplify("grr:eps0=2,d=16", n=1000, delta=1e-6).profile(epsilon=[0.0, 0.1, 0.2])
    >>> p.upper.round(6).tolist(), p.lower.round(6).tolist()
    ([0.024061, 0.001283, 8e-06], [0.02406, 0.001283, 8e-06])
    """

    _found = ("epsilon", "upper", "lower")
    _words = Words(along="epsilon", name="epsilon", head="eps", said="delta", title="Privacy profile", x="ε", y="δ")

    epsilon: FloatArray
    upper: FloatArray

    @classmethod
    def of(cls, about: About, epsilon: ArrayLike | None) -> Self:
        """At these eps."""
        made = cls(**about, epsilon=np.empty(0), upper=np.empty(0))
        eps = made._likely() if epsilon is None else finite("epsilon", epsilon, "numbers >= 0")
        log = made._evidence.upper_at(eps.reshape(-1)).reshape(eps.shape)
        with np.errstate(under="ignore"):
            value = np.exp(np.minimum(log, 0.0))
        value = np.where((log > -np.inf) & (value < 2.0**-1022), 2.0**-1022, value)  # it may underflow, but upward
        vars(made).update(epsilon=eps, upper=value)
        return made

    def _likely(self) -> FloatArray:
        """eps from 0 to where delta is small."""
        curve = self._evidence.curve
        last = int(np.argmax(curve.log_delta <= _END)) if (curve.log_delta <= _END).any() else curve.eps.size - 1
        # short numbers, so that the table shows what was asked
        step = float(round_up(float(curve.eps[last]) / (_ROWS - 1), 2))
        return np.array([float(f"{k * step:.6g}") for k in range(_ROWS if step else 1)])

    @cached_property
    def lower(self) -> FloatArray | None:
        """No analysis can claim less."""
        found = self._evidence.lower_at(self.epsilon.reshape(-1))
        if found is None:
            return None
        with np.errstate(under="ignore"):
            return np.minimum(np.exp(found.reshape(self.epsilon.shape)), self.upper)

    def table(self) -> Table:
        """One row per eps."""
        return Table(self._columns(), caption=f"profile of {self.subject}, {self.neighbors}")

    def __repr__(self) -> str:
        """One line."""
        return visible(f"<PrivacyProfile of {self.subject}: {self.epsilon.size} eps>")


def renyi(
    mechanism: MechanismLike,
    *,
    n: int,
    orders: ArrayLike = ORDERS,
    bound: str = "auto",
    dropouts: float | str = 0,
    colluding: float | str = 0,
    reports_per_user: int = 1,
) -> RenyiCurve:
    """Renyi divergences of n users who each send a report of ``mechanism`` through a shuffler, from above and below.

    Parameters
    ----------
    mechanism, n, dropouts, colluding, reports_per_user : as in :func:`shuffledp.amplify`
    orders : real numbers > 1
    bound : as in :func:`shuffledp.amplify`; it must be a proved upper bound

    Returns
    -------
    RenyiCurve
        ``upper[i]`` is at least the Renyi divergence of order ``orders[i]`` of every pair of neighboring inputs;
        ``lower[i]`` is at most that of one of them.

    Examples
    --------
    >>> r = renyi("general:eps0=1", n=10_000, orders=[2.0, 16.0])
    >>> r.upper.round(6).tolist()
    [0.000126, 0.00101]
    """
    crowd = Crowd.of(check.users(n), dropouts, colluding, reports_per_user)
    return resolve(mechanism, bound, crowd).renyi_curve(orders=orders)


def checked_orders(orders: ArrayLike) -> FloatArray:
    """Orders of Renyi divergences, validated."""
    return finite("orders", orders, "numbers in (1, 1e15]", low=math.nextafter(1.0, 2.0), high=1e15)
