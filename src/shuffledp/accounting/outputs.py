"""Every output that a paper needs: trade-off functions, mu, Renyi divergences, rho and tables of (eps, delta).

Each has two sides.  One is a guarantee, for all neighbors: no attack does better.  The other is what an attack reaches,
on one fixed pair of datasets: no analysis can claim more.  docs/outputs.md has the definitions and the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support import validation as check
from .._support.by_name import by_name
from .._support.figures import SQUARE_WIDTH, TEXT_WIDTH
from .._support.json_ready import json_object
from .._support.numbers import round_down, round_up
from .._support.tables import Column, Table, Tabular, number_column
from .._support.text import visible
from ..errors import ParameterError
from ..numerics.composition.conversions import ORDERS
from .crowd import Crowd
from .evidence import Evidence
from .guarantee import absent, count_of
from .resolve import MechanismLike, Resolved, resolve, subject_of
from .with_outputs import About

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .._support.canvas import Labels

FloatArray = NDArray[np.float64]
#: Levels of the table of a trade-off function.
LEVELS = (1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.02, 0.05, *(k / 10.0 for k in range(1, 10)), 0.95, 0.99)
#: eps of the table of a profile, and log delta where it ends.
_ROWS, _END = 21, -27.6
#: A slack is at least this: profiles of many rounds are not followed much further.
_LEAST_SLACK = 1e-100


@dataclass(frozen=True, kw_only=True, eq=False)
class Output(Tabular):
    """What is said of all outputs: of whom, on which terms, and what it is read from."""

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

    def _terms(self) -> dict[str, Any]:
        return {"subject": self.subject, "n": self.n, "neighbors": self.neighbors, "trust": self.trust}


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
            _column("alpha", "alpha", self.alpha, _plain),
            _column("beta", "beta (at least)", self.beta, _down),
            _known("beta_attack", "beta of an attack", self.beta_attack, self.alpha.size, round_up),
        )
        return Table(columns, caption=f"trade-off function of {self.subject}", notes=(str(self),))

    def __repr__(self) -> str:
        """One line."""
        return visible(f"<TradeOff of {self.subject}: beta >= {round_down(self(0.05))} at alpha = 0.05>")

    def __str__(self) -> str:
        """One paragraph that a paper or a reviewer can use."""
        text = f"{_capital(self.subject)}: every test with false-positive rate 0.05 has a false-negative rate of at "
        text += f"least {round_down(self(0.05))}, {self.neighbors}"
        text += f"; mu = {round_up(self.mu)} of Gaussian DP" if math.isfinite(self.mu) else "; no finite mu"
        if self.mu_lower is not None and math.isfinite(self.mu):
            text += f", and no analysis can claim less than {round_down(self.mu_lower)}"
        if self.mu_leading is not None:
            text += f" (to leading order it is {self.mu_leading:.5g})"
        return visible(f"{text}.")

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary; infinity is written as the string "inf"."""
        numbers = ("mu", "mu_lower", "mu_leading", "shuffle_index", "blanket_index")
        found = {name: _listed(getattr(self, name)) for name in ("alpha", "beta", "beta_attack")}
        return json_object({**self._terms(), **found, **{name: getattr(self, name) for name in numbers}})

    def plot(self, *, width: float = SQUARE_WIDTH, ax: Axes | None = None, labels: Labels | None = None) -> Figure:
        """A figure: beta against alpha, guaranteed and of an attack (needs the extra ``plot``).

        ax : matplotlib axes to draw in, in place of a new figure; labels : other words for those of the figure
        """
        from .drawing_outputs import draw_tradeoff

        return draw_tradeoff(self, width=width, ax=ax, labels=labels)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RenyiCurve(Output):
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
        columns = (
            _column("order", "order", self.orders, _plain),
            _column("upper", "Renyi (at most)", self.upper, _up),
            _known("lower", "(at least)", self.lower, self.orders.size, round_down),
        )
        return Table(columns, caption=f"Renyi divergences of {self.subject}", notes=(str(self),))

    def __repr__(self) -> str:
        """One line."""
        return visible(f"<RenyiCurve of {self.subject}: {self.orders.size} orders>")

    def __str__(self) -> str:
        """One sentence."""
        rho = f"rho = {round_up(self.rho)} of zero-concentrated DP" if math.isfinite(self.rho) else "no finite rho"
        text = f"{_capital(self.subject)}: {rho}, {self.neighbors}"
        if self.rho_lower is not None and math.isfinite(self.rho):
            text += f"; no analysis can claim less than {round_down(self.rho_lower)}"
        return visible(f"{text}.")

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary; infinity is written as the string "inf"."""
        found = {name: _listed(getattr(self, name)) for name in ("orders", "upper", "lower")}
        return json_object({**self._terms(), **found, "rho": self.rho, "rho_lower": self.rho_lower})

    def plot(self, *, width: float = TEXT_WIDTH, ax: Axes | None = None, labels: Labels | None = None) -> Figure:
        """A figure: the divergence against its order (needs the extra ``plot``).

        ax : matplotlib axes to draw in, in place of a new figure; labels : other words for those of the figure
        """
        from .drawing_outputs import draw_renyi

        return draw_renyi(self, width=width, ax=ax, labels=labels)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PrivacyProfile(Output):
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
    ([0.024062, 0.001283, 8e-06], [0.02406, 0.001283, 8e-06])
    """

    epsilon: FloatArray
    upper: FloatArray

    @classmethod
    def of(cls, about: About, epsilon: ArrayLike | None) -> Self:
        """At these eps."""
        made = cls(**about, epsilon=np.empty(0), upper=np.empty(0))
        eps = made._likely() if epsilon is None else _numbers("epsilon", epsilon, "numbers >= 0", 0.0, math.inf)
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
        columns = (
            _column("epsilon", "eps", self.epsilon, _plain),
            _column("upper", "delta (at most)", self.upper, _up),
            _known("lower", "(at least)", self.lower, self.epsilon.size, round_down),
        )
        return Table(columns, caption=f"profile of {self.subject}, {self.neighbors}")

    def __repr__(self) -> str:
        """One line."""
        return visible(f"<PrivacyProfile of {self.subject}: {self.epsilon.size} eps>")

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary."""
        found = {name: _listed(getattr(self, name)) for name in ("epsilon", "upper", "lower")}
        return json_object({**self._terms(), **found})

    def plot(self, *, width: float = TEXT_WIDTH, ax: Axes | None = None, labels: Labels | None = None) -> Figure:
        """A figure: delta against eps (needs the extra ``plot``).

        ax : matplotlib axes to draw in, in place of a new figure; labels : other words for those of the figure
        """
        from .drawing_outputs import draw_profile

        return draw_profile(self, width=width, ax=ax, labels=labels)


@by_name
def tradeoff(
    mechanism: MechanismLike,
    *,
    n: int,
    alpha: ArrayLike | None = None,
    bound: str = "auto",
    dropouts: float | str = 0,
    colluding: float | str = 0,
    participation: float | str = 1.0,
    reports_per_user: int = 1,
) -> TradeOff:
    """The trade-off function of f-DP of n users who each send a report of ``mechanism`` through a shuffler, and mu.

    Parameters
    ----------
    mechanism, n, dropouts, colluding, participation, reports_per_user : as in :func:`shuffledp.amplify`
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
    who = {"dropouts": dropouts, "colluding": colluding, "participation": participation}
    crowd = Crowd.of(check.users(n), **who, reports_per_user=reports_per_user)
    return TradeOff.of(about(resolve(subject_of(mechanism), bound, crowd)), alpha)


@by_name
def renyi(
    mechanism: MechanismLike,
    *,
    n: int,
    orders: ArrayLike = ORDERS,
    bound: str = "auto",
    dropouts: float | str = 0,
    colluding: float | str = 0,
    participation: float | str = 1.0,
    reports_per_user: int = 1,
) -> RenyiCurve:
    """Renyi divergences of n users who each send a report of ``mechanism`` through a shuffler, from above and below.

    Parameters
    ----------
    mechanism, n, dropouts, colluding, participation, reports_per_user : as in :func:`shuffledp.amplify`
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
    who = {"dropouts": dropouts, "colluding": colluding, "participation": participation}
    crowd = Crowd.of(check.users(n), **who, reports_per_user=reports_per_user)
    return RenyiCurve.of(about(resolve(subject_of(mechanism), bound, crowd)), orders)


def about(question: Resolved) -> About:
    """What the outputs of one batch are about."""
    question.must_hold("give a trade-off function")
    crowd = question.crowd
    subject = f"{count_of(crowd.n)} of {question.asked.mechanism.spec}"
    subject += f", {crowd.reports_per_user:,} reports each" if crowd.reports_per_user > 1 else ""
    return About(
        subject=subject + absent(crowd.n, crowd.dropouts, crowd.colluding, crowd.participation),
        n=question.n,
        neighbors=question.asked.mechanism.neighbors,
        trust=crowd.terms()["trust"],
        find=partial(_evidence, question),
    )


def _evidence(question: Resolved) -> Evidence:
    return question.evidence


def checked_orders(orders: ArrayLike) -> FloatArray:
    """Orders of Renyi divergences, validated."""
    try:
        a = np.asarray(orders, dtype=np.float64)
    except (TypeError, ValueError):
        a = np.zeros(1)
    if not np.all((a > 1.0) & (a < math.inf)):
        raise ParameterError(f"orders must be finite numbers > 1, got {str(orders)[:60]}; remove the others.")
    return a


def _levels(alpha: ArrayLike) -> FloatArray:
    return _numbers("alpha", alpha, "numbers between 0 and 1", 0.0, 1.0)


def _numbers(name: str, values: ArrayLike, wanted: str, low: float, high: float) -> FloatArray:
    """Finite numbers in a range, of any shape."""
    try:
        found = np.asarray(values)
    except ValueError:
        found = np.empty(0, dtype=object)
    if found.dtype.kind not in "iuf" or not np.all(np.isfinite(found) & (found >= low) & (found <= high)):
        raise ParameterError(f"{name} must hold finite {wanted}, got {check.shown(values, 60)}; remove the others.")
    return found.astype(np.float64)


def _shaped(found: FloatArray) -> Any:
    """A number for a number, an array for an array."""
    return found if found.ndim else float(found)


def _index(n: int | None, spread: float | None) -> float | None:
    """1/sqrt(V), where mu^2 = V/n to leading order."""
    if n is None or spread is None or not spread > 0.0:
        return None
    return 1.0 / math.sqrt(n * spread)


def _known(name: str, head: str, values: FloatArray | None, rows: int, rounded: Callable[[float, int], str]) -> Column:
    """A column that is shown where something is known."""
    if values is None:
        return Column(name=name, values=[None] * rows, kind="Float64")
    flat = values.reshape(-1).tolist()
    return number_column(name, head, flat, [rounded(x, 6) for x in flat])


def _column(name: str, head: str, values: FloatArray, shown: Callable[[float], str]) -> Column:
    flat = values.reshape(-1).tolist()
    return number_column(name, head, flat, [shown(x) for x in flat])


def _plain(x: float) -> str:
    return f"{x:g}"


def _up(x: float) -> str:
    return round_up(x, 6)


def _down(x: float) -> str:
    return round_down(x, 6)


def _listed(values: FloatArray | None) -> Any:
    return None if values is None else values.tolist()


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
