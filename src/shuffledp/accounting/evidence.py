"""What is known of a batch, or of many rounds, beyond one eps: profiles from above and from below.

Trade-off functions, mu, Renyi divergences and tables of (eps, delta) are all read from an :class:`Evidence`.  From
above it is profiles that dominate every round (``Kind``) and how often each is paid; from below it is one fixed pair of
datasets per kind of round, which no analysis can go below.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..bounds import BOUNDS
from ..errors import BoundNotApplicableError, ShuffleDPError
from ..numerics.composition import conversions, gaussian, sequential, whole
from ..numerics.composition.fixed_pair import most_telling
from ..numerics.composition.profile_curve import MEDIUM, Curve
from ..numerics.composition.sequential import Kind
from ..numerics.composition.whole import Below, Fixed
from ..numerics.pair import FloatArray, ShuffledPair
from .crowd import Crowd
from .resolve import Resolved, resolve
from .rounds import kind_of

#: Families with more members than this are not searched for a fixed pair, or for the largest V.
_FEW, _MANY = 64, 4096
#: log delta down to which a trade-off function is drawn; beyond, alpha and beta are below 1e-12.
_VISIBLE = -30.0
#: Nodes at which a lower bound on mu is looked for.
_TRIES = 24
#: Accuracy of lower values.
_TOL = 1e-4


@dataclass(frozen=True)
class Part:
    """Rounds of one kind: their profile, how often it is paid, and where it is known without that, their mu.

    Nothing else is known of them here; :class:`Round` knows more.
    """

    kind: Kind
    count: int
    mu: float | None = None

    def fixed(self) -> Fixed | None:
        """The fixed pair of datasets, which is used ``count`` times; None where none is known."""
        return None

    def lower_at(self, eps: FloatArray) -> FloatArray | None:
        """Lower values of log delta of one use, by any dataset; None where they come from the fixed pair."""
        return None

    def spread(self) -> float | None:
        """V/n of one use, the square of its mu to leading order; None where it is not known."""
        return None

    def blanket(self) -> float | None:
        """The same number of the privacy blanket."""
        return None


@dataclass(frozen=True, kw_only=True)
class Round(Part):
    """Shuffled rounds of one kind, by the question about one of them."""

    question: Resolved

    def fixed(self) -> Fixed | None:
        """The most telling of the known datasets."""
        pairs = dataset_pairs(self.question, _FEW)
        return Fixed(most_telling(pairs, self.question.n), self.question.n, self.count) if pairs else None

    def lower_at(self, eps: FloatArray) -> FloatArray | None:
        """By the datasets of the lower bound."""
        try:
            datasets = self.question.datasets
        except BoundNotApplicableError:
            return None
        return datasets.log_delta(eps, n=self.question.n, tol=_TOL, side="lower")

    def spread(self) -> float | None:
        """Of the datasets."""
        return _per_user(dataset_pairs(self.question, _MANY), self.question.n)

    def blanket(self) -> float | None:
        """Of the blanket."""
        try:
            return _per_user(self.question.mechanism.law.blanket_pairs(_MANY), self.question.n)
        except ShuffleDPError:
            return None


@dataclass(frozen=True)
class Evidence:
    """All parts together, ready to be asked for every output."""

    parts: Sequence[Part]

    @cached_property
    def _kinds(self) -> list[Kind]:
        return [part.kind for part in self.parts]

    @cached_property
    def _counts(self) -> list[int]:
        return [part.count for part in self.parts]

    @property
    def limit(self) -> float:
        """The eps from which delta is 0: the sum of the local guarantees."""
        return sequential.pure_epsilon(self._kinds, self._counts)

    # -- from above ---------------------------------------------------------------------------------------------

    @cached_property
    def curve(self) -> Curve:
        """Upper values of log delta where a trade-off function is visible."""
        return whole.upper_curve(self._kinds, self._counts, _VISIBLE)

    def upper_at(self, eps: FloatArray) -> FloatArray:
        """Upper values of log delta."""
        if self.limit == 0.0:
            return np.full(eps.shape, -np.inf)
        return whole.upper_values(self._kinds, self._counts, -100.0)(eps)

    def guaranteed(self, alpha: FloatArray) -> FloatArray:
        """The trade-off function from below: a beta that no test has less than."""
        return conversions.guaranteed(self.curve, alpha)

    @cached_property
    def mu(self) -> float:
        """A mu such that every trade-off function is at least G_mu; inf if there is none."""
        squares = math.fsum(part.count * self._mu_of(part) ** 2 for part in self.parts)
        return math.sqrt(squares) * (1.0 + 1e-14)

    def mu_with(self, slack: float) -> float:
        """A mu such that every trade-off function is at least G_mu - slack; inf if there is none."""
        if self.limit == 0.0:
            return 0.0
        lowest = math.log(slack)
        ask = whole.upper_values(self._kinds, self._counts, lowest)
        found = gaussian.smallest_mu(whole.upper_curve(self._kinds, self._counts, lowest), ask, slack)
        return min(found, self.mu)  # what holds without a slack holds with one

    @staticmethod
    def _mu_of(part: Part) -> float:
        """Of one round: mu-GDP composes, and the squares of mu add up (Dong, Roth, Su 2022, Corollary 2)."""
        if part.mu is not None:
            return part.mu
        if not part.count or part.kind.limit == 0.0:
            return 0.0
        if math.isinf(part.kind.limit):
            return math.inf
        curve = whole.upper_curve([part.kind], [1], -math.inf)
        return gaussian.smallest_mu(curve, whole.upper_values([part.kind], [1], -math.inf))

    def renyi(self, orders: FloatArray) -> FloatArray:
        """Upper values of the Renyi divergence of every order."""
        if math.isinf(self.limit):
            return np.full(orders.shape, np.inf)
        found = sequential.renyi_curve(self._kinds, self._counts, orders, MEDIUM)
        return np.minimum(found, self.limit)

    def rho(self) -> float:
        """A rho of zero-concentrated DP: by the Renyi curve, by the pure eps (rho = eps^2/2) and by mu (rho = mu^2/2).

        The second is Bun and Steinke, TCC 2016, Proposition 1.4, the third docs/outputs.md, Proposition 2: a mu-GDP
        release is a function of one draw of N(mu, 1) or N(0, 1), whose Renyi divergences are a mu^2/2.
        """
        if math.isinf(self.limit):
            return 0.5 * self.mu**2 * (1.0 + 1e-14)
        orders = 1.0 + np.geomspace(1e-3, 1e7, 400)
        by_renyi = conversions.concentration(orders, self.renyi(orders), self.limit)
        return min(by_renyi, 0.5 * min(self.limit, self.mu) ** 2 * (1.0 + 1e-14))

    # -- from below ---------------------------------------------------------------------------------------------

    @cached_property
    def fixed(self) -> list[Fixed] | None:
        """One pair of datasets per part; None if one of them has none that is known."""
        found = []
        for part in self.parts:
            if not part.count or part.kind.limit == 0.0:
                continue
            one = part.fixed()
            if one is None:
                return None
            found.append(one)
        return found

    @cached_property
    def _below(self) -> list[Below] | None:
        """The fixed pairs in one direction and in the other."""
        if self.fixed is None:
            return None
        symmetric = all(one.pair.symmetric for one in self.fixed)
        ways = [self.fixed] if symmetric else [self.fixed, [one.swapped() for one in self.fixed]]
        return [Below(way) for way in ways]

    def lower_at(self, eps: FloatArray) -> FloatArray | None:
        """Lower values of log delta; None where nothing is known."""
        known = self.parts[0].lower_at(eps) if [part.count for part in self.parts] == [1] else None
        if known is not None:
            return np.minimum(known, 0.0)
        if self._below is None:
            return None
        return np.asarray(np.max([way.log_deltas(eps) for way in self._below], axis=0))

    def reached(self, alpha: FloatArray) -> FloatArray | None:
        """The trade-off function from above: a beta that a test of one fixed pair reaches; None if none is known."""
        if self._below is None:
            return None
        return np.asarray(np.min([conversions.reached(*way.points(), alpha) for way in self._below], axis=0))

    def mu_lower(self) -> float | None:
        """A mu that no analysis can go below: at any eps, delta is at least its lower value."""
        eps = self.curve.eps[:-1]
        if not eps.size:
            return 0.0
        likely = gaussian.mus(eps, self.curve.log_delta[:-1], "upper")
        tried = np.sort(np.argsort(likely)[-_TRIES:])
        lower = self.lower_at(eps[tried])
        return None if lower is None else gaussian.largest_mu(eps[tried], lower)

    def renyi_lower(self, orders: FloatArray) -> FloatArray | None:
        """Lower values of the Renyi divergence: those of independent rounds add up; None where nothing is known."""
        if self.fixed is None:
            return None
        total = np.zeros((2, *orders.shape))
        for one in self.fixed:
            ways = [whole.lower_lines(way) for way in ([one] if one.pair.symmetric else [one, one.swapped()])]
            there, back = ways[0], ways[-1]
            total += one.times * np.array(
                [conversions.lower_from_lines(*w, orders) for w in ((there, back), (back, there))]
            )
        return np.asarray(total.max(axis=0))

    def spread(self, *, blanket: bool = False) -> float | None:
        """The square of mu to leading order, of the datasets or of the blanket; None where it is not known."""
        found = [part.blanket() if blanket else part.spread() for part in self.parts]
        known = [part.count * value for part, value in zip(self.parts, found, strict=True) if value is not None]
        return math.fsum(known) if len(known) == len(found) else None


def evidence_of(question: Resolved) -> Evidence:
    """Of one batch; several reports of every user are as many rounds (numerics/composition/sequential.py).

    Examples
    --------
    >>> from .crowd import Crowd
    >>> found = evidence_of(resolve("grr:eps0=2,d=16", "auto", Crowd(1000)))
    >>> found.guaranteed(np.array([0.05])).round(3).item(), round(found.mu_with(1e-9), 3)
    (0.943, 0.06)
    """
    question.must_hold("give a trade-off function")
    reports = question.crowd.reports_per_user
    if reports == 1:
        return Evidence([Round(kind_of(question), 1, question=question)])
    one = resolve(question.left, question.bound.name, Crowd(question.n))
    return Evidence([Part(kind_of(one), reports)])


def dataset_pairs(question: Resolved, most: int) -> Sequence[ShuffledPair] | None:
    """Exact laws of datasets of this mechanism, if it has some, and not more than ``most``."""
    for name in ("constant-dataset-lower", "variation-ratio-lower"):
        try:
            known = question.left.family(BOUNDS[name]).pairs(most)
        except BoundNotApplicableError:
            continue
        if known:
            return known
    return None


def _per_user(pairs: Sequence[ShuffledPair] | None, n: int) -> float | None:
    """The largest sum of (P0 - P1)^2/t over n; None where no pairs are listed."""
    return max(pair.spread for pair in pairs) / n if pairs else None
