"""Trade-off functions of f-DP, and mu of Gaussian DP: the errors of every attack, and of one that is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from .._support import validation as check
from .._support.numbers import round_down, round_up
from .._support.tables import Table
from .._support.text import visible
from .arrays import finite
from .crowd import Crowd
from .outputs import About, FloatArray, Output, as_given, column
from .resolve import MechanismLike, resolve

if TYPE_CHECKING:
    from .._support.canvas import Figure, Placing

#: Levels of the table of a trade-off function.
LEVELS = (1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.02, 0.05, *(k / 10.0 for k in range(1, 10)), 0.95, 0.99)
#: A slack is at least this: profiles of many rounds are not followed much further.
_LEAST_SLACK = 1e-100


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TradeOff(Output):
    """The errors of every attack: whoever tests which of two neighboring datasets was collected.

    A test with false-positive rate alpha has a false-negative rate beta of at least ``tradeoff(alpha)``: the batch is
    f-DP for this f (Dong, Roth, Su, JRSS B 84, 2022).  ``attack(alpha)`` is a beta that a test of one fixed pair of
    datasets reaches, so no analysis can claim more.

    Attributes
    ----------
    alpha : levels of the table
    beta : ``tradeoff(alpha)``, never too large
    beta_attack : ``attack(alpha)``, or None where no dataset has a known law
    mu : the batch is mu-GDP; never too small, and inf where delta(eps) never reaches 0.  Of several rounds it is the
        root of the sum of their squares
    mu_lower : no analysis can claim a smaller mu; None where nothing is known
    mu_leading : sqrt(V*/n), what mu is to leading order (many users, small eps): an orientation, not a bound
    shuffle_index, blanket_index : chi = sqrt(1/V*), and the same number of the privacy blanket; None of several rounds
    subject, n, neighbors, trust : of whom, and the terms

    Examples
    --------
    >>> import shuffledp as sdp
    >>> t = sdp.tradeoff("grr:eps0=2,d=16", n=1000)
    >>> round(t(0.05), 4), round(t.attack(0.05), 4)
    (0.9435, 0.9435)
    >>> round(t.mu_lower, 4), round(t.mu, 4), round(t.mu_leading, 4), round(t.shuffle_index, 3)
    (0.0604, 0.0605, 0.0604, 0.524)
    """

    _found = ("alpha", "beta", "beta_attack", "mu", "mu_lower", "mu_leading", "shuffle_index", "blanket_index")

    alpha: FloatArray
    beta: FloatArray

    @classmethod
    def of(cls, about: About, alpha: ArrayLike | None) -> Self:
        """At these levels."""
        levels = _levels(LEVELS if alpha is None else alpha)
        made = cls(**about, alpha=levels, beta=np.empty(0))
        vars(made)["beta"] = made._evidence.guaranteed(levels)
        return made

    @overload
    def __call__(self, alpha: float) -> float: ...
    @overload
    def __call__(self, alpha: ArrayLike) -> Any: ...
    def __call__(self, alpha: ArrayLike) -> Any:
        """The least false-negative rate of a test with false-positive rate alpha: one number, or an array of them."""
        return _shaped(self._evidence.guaranteed(_levels(alpha)))

    def attack(self, alpha: ArrayLike) -> Any:
        """A false-negative rate that some test with false-positive rate alpha has; None where no law is known."""
        found = self._evidence.reached(_levels(alpha))
        return None if found is None else _shaped(found)

    @cached_property
    def beta_attack(self) -> FloatArray | None:
        """``attack(alpha)`` at the levels of the table."""
        return self._evidence.reached(self.alpha)

    @cached_property
    def mu(self) -> float:
        """The batch is mu-GDP."""
        return self._evidence.mu

    @cached_property
    def mu_lower(self) -> float | None:
        """No analysis can claim a smaller mu."""
        return self._evidence.mu_lower()

    def mu_with(self, *, slack: float) -> float:
        """A mu such that every test has beta >= G_mu(alpha) - slack; equivalently delta(eps) <= delta_mu(eps) + slack.

        The smallest mu itself is decided by events that never happen: far out, delta(eps) of a shuffled batch may fall
        more slowly than that of any Gaussian release with a mu near ``mu_leading``.  A slack of 1e-12 ignores them.

        Examples
        --------
        >>> import shuffledp as sdp
        >>> t = sdp.tradeoff("grr:eps0=4,d=16", n=1_000_000)
        >>> round(t.mu / t.mu_leading, 2), round(t.mu_with(slack=1e-12) / t.mu_leading, 2)
        (1.15, 1.0)
        """
        hint = "it is a probability that is left out"
        return self._evidence.mu_with(check.in_range("slack", slack, low=_LEAST_SLACK, high=0.5, hint=hint))

    @cached_property
    def mu_leading(self) -> float | None:
        """What mu is to leading order."""
        found = self._evidence.spread()
        return None if found is None else math.sqrt(found)

    @cached_property
    def shuffle_index(self) -> float | None:
        """sqrt(1/V*): n mu^2 is V* to leading order."""
        return _index(self.n, self._evidence.spread())

    @cached_property
    def blanket_index(self) -> float | None:
        """The same number of the privacy blanket, at most the shuffle index."""
        return _index(self.n, self._evidence.spread(blanket=True))

    def table(self) -> Table:
        """One row per level."""
        columns = (
            column("alpha", "alpha", self.alpha, self.alpha, as_given),
            column("beta", "beta (at least)", self.beta, self.alpha, round_down),
            column("beta_attack", "beta of an attack", self.beta_attack, self.alpha, round_up),
        )
        return Table(columns, caption=f"trade-off function of {self.subject}", notes=(str(self),))

    def __repr__(self) -> str:
        """One line."""
        return visible(f"<TradeOff of {self.subject}: beta >= {round_down(self(0.05))} at alpha = 0.05>")

    def __str__(self) -> str:
        """One paragraph that a paper or a reviewer can use."""
        text = f"{self._subject}: every test with false-positive rate 0.05 has a false-negative rate of at "
        text += f"least {round_down(self(0.05))}, {self.neighbors}"
        text += f"; mu = {round_up(self.mu)} of Gaussian DP" if math.isfinite(self.mu) else "; no finite mu"
        if self.mu_lower is not None and math.isfinite(self.mu):
            text += f", and no analysis can claim less than {round_down(self.mu_lower)}"
        if self.mu_leading is not None:
            text += f" (to leading order it is {self.mu_leading:.5g})"
        return visible(f"{text}.")

    def plot(self, **where: Unpack[Placing]) -> Figure:
        """A figure: beta against alpha, guaranteed and of an attack (needs the extra ``plot``).

        width : inches; ax : matplotlib axes to draw in, in place of a new figure; labels : other words for those of
        the figure
        """
        from .drawing import draw_tradeoff

        return draw_tradeoff(self, **where)


def tradeoff(
    mechanism: MechanismLike,
    *,
    n: int,
    alpha: ArrayLike | None = None,
    bound: str = "auto",
    dropouts: float | str = 0,
    colluding: float | str = 0,
    reports_per_user: int = 1,
) -> TradeOff:
    """The trade-off function of f-DP of n users who each send a report of ``mechanism`` through a shuffler, and mu.

    Parameters
    ----------
    mechanism, n, dropouts, colluding, reports_per_user : as in :func:`shuffledp.amplify`
    alpha : levels in [0, 1] of the table; by default some from 1e-6 to 0.99
    bound : as in :func:`shuffledp.amplify`; it must be a proved upper bound

    Returns
    -------
    TradeOff
        ``tradeoff(alpha)`` is at most the false-negative rate of every test with false-positive rate alpha, for all
        neighboring inputs: the largest of 1 - delta(eps) - e^eps alpha and e^-eps (1 - delta(eps) - alpha) over some
        eps, with upper values of delta.

    Examples
    --------
    >>> t = tradeoff("grr:eps0=2,d=16", n=10_000)
    >>> t([0.01, 0.05, 0.5]).round(4).tolist()
    [0.9895, 0.948, 0.4924]
    >>> print(t)
    10,000 users of grr:eps0=2,d=16: every test with false-positive rate 0.05 has a false-negative rate of at least \
0.94799, replace-one; mu = 0.019135 of Gaussian DP, and no analysis can claim less than 0.019094 (to leading order it \
is 0.019096).
    """
    crowd = Crowd.of(check.users(n), dropouts, colluding, reports_per_user)
    return resolve(mechanism, bound, crowd).tradeoff(alpha=alpha)


def _levels(alpha: ArrayLike) -> FloatArray:
    return finite("alpha", alpha, "numbers between 0 and 1", high=1.0)


def _shaped(found: FloatArray) -> Any:
    """A number for a number, an array for an array."""
    return found if found.ndim else float(found)


def _index(n: int | None, spread: float | None) -> float | None:
    """1/sqrt(V), where mu^2 = V/n to leading order."""
    if n is None or spread is None or not spread > 0.0:
        return None
    return 1.0 / math.sqrt(n * spread)
