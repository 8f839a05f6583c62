"""Many rounds over the same users: what they cost together, what still fits, and the ledger of what was run."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support import validation as check
from .._support.delta_rules import read
from .._support.tables import Table, Tabular
from ..accounting.evidence import Evidence, Part, Round
from ..accounting.guarantee import TRUST
from ..accounting.outputs import About, WithOutputs
from ..accounting.resolve import MechanismLike
from ..accounting.rounds import MOST_ROUNDS
from ..accounting.two_sides import checked_orders
from ..errors import ParameterError
from ..numerics.composition import conversions, fixed_pair, sequential
from ..numerics.composition.sequential import Kind
from . import ledger_file
from .composed_guarantee import ComposedGuarantee, rounds_in_words, trust_text
from .fixed_pairs import Kept, fixed_pairs
from .ledger import LedgerEntry, columns_of, make_entry
from .other_events import OtherEvent, parts_of
from .remaining import most_rounds

if TYPE_CHECKING:
    from .._support.canvas import Figure, Placing

#: Parameters of compose() that have a default.
_CROWD = ("dropouts", "colluding")
_TERMS = ("count", "bound", "name", "participation_limit", "reports_per_user", *_CROWD, "memoized")


class Accountant(WithOutputs, Tabular):
    """Adaptive sequential composition of shuffled rounds over the same users.

    Every round is replaced by a pair of laws that dominates it for *all* neighboring datasets: the pair whose
    privacy profile is the largest delta(eps) over input pairs and datasets, at every eps separately.  Such a pointwise
    maximum is itself a profile (a supremum of convex functions is convex), and dominating pairs compose, also if a
    round is chosen by the results of earlier ones (Zhu, Dong, Wang, AISTATS 2022, Proposition 9 and Theorem 10).
    Values may depend on released results in the same way, never on a user's own earlier reports, coins or unreleased
    state: then delta can be larger than what is computed here (docs/limitations.md).
    The losses of the pairs are spread onto a grid, upwards only, and added by a tilted Fourier transform with its
    round-off included (numerics/composition/profile_curve.py, numerics/composition/loss_grid.py).

    Asking the same users the same question again costs again, even if their values have not changed: the rounds
    compose.  A *memoized* answer (drawn once and sent in every round) is not a fresh round and is refused, because the
    shuffler does not hide a report that comes back the same: batches can be linked.

    Examples
    --------
    >>> acc = Accountant()
    >>> acc = acc.compose("grr:eps0=2,d=16", n=10_000, count=100)
    >>> round(acc.epsilon(delta=1e-6), 3)
    0.794
    >>> acc.remaining(epsilon=1.0, delta=1e-6, mechanism="grr:eps0=2,d=16", n=10_000) > 40
    True
    """

    def __init__(self) -> None:
        self._composed: list[LedgerEntry | OtherEvent] = []
        self._kinds: dict[str, Kind] = {}
        self._pairs: Kept = {}
        self._seen: set[str] = set()  # digests of ledger files that hold no rounds but these

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the sampled profiles, which a copy computes again when it needs them."""
        return {**vars(self), "_composed": list(self._composed), "_kinds": {}, "_pairs": {}}

    # -- what was run ---------------------------------------------------------------------------------------------

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """The rounds, in the order in which they were composed."""
        return tuple(item for item in self._composed if isinstance(item, LedgerEntry))

    @property
    def _events(self) -> list[OtherEvent]:
        return [item for item in self._composed if isinstance(item, OtherEvent)]

    def table(self) -> Table:
        """One row per entry, in the order in which they were composed; events of dp-accounting are counted below."""
        events = sum(event.count for event in self._events)
        beside = (f"Events of dp-accounting composed beside these rounds: {events:,}.",) if events else ()
        return Table(
            columns_of(self.entries), caption=f"{rounds_in_words(self.rounds)}, {self.neighbors}", notes=beside
        )

    @property
    def rounds(self) -> int:
        """How many rounds and events were composed."""
        return sum(item.count for item in self._composed)

    def __repr__(self) -> str:
        """One line: how much was composed."""
        entries = f"{len(self.entries):,} entr{'y' if len(self.entries) == 1 else 'ies'}"
        return f"<Accountant of {rounds_in_words(self.rounds)} in {entries}, {self.neighbors}>"

    def plot(self, *, delta: float | str, epsilon: float | None = None, **where: Unpack[Placing]) -> Figure:
        """A figure: eps at delta after every round so far, and the budget if it is given (needs the extra ``plot``).

        width : inches; ax : matplotlib axes to draw in, in place of a new figure; labels : other words for those of
        the figure
        """
        from .drawing import draw_accountant

        return draw_accountant(self, delta=delta, epsilon=epsilon, **where)

    def compose(
        self,
        mechanism: MechanismLike,
        *,
        n: int,
        count: int = 1,
        bound: str = "auto",
        name: str | None = None,
        participation_limit: int | None = None,
        reports_per_user: int = 1,
        dropouts: float | str = 0,
        colluding: float | str = 0,
        memoized: bool = False,
    ) -> Accountant:
        """Add ``count`` rounds of n users each; returns the accountant.

        Parameters
        ----------
        mechanism, n, bound : as in :func:`shuffledp.amplify`; the bound must be a proved upper bound
        count : number of rounds
        name : for the ledger
        participation_limit : if no user takes part in more than k of these rounds, each pays for the worst k of them.
            Which rounds they are may depend on earlier results, not on the user's value; all others still number n.
            A k above ``count`` limits nothing: every user pays for all of these rounds.
        reports_per_user : reports that each of the n users sends into one batch, on values of its own choice, which may
            be equal; k reports cost k rounds of n reports, each with a share of the blanket messages
        dropouts, colluding : as in :func:`shuffledp.amplify`, in every round; the entry holds the others, without the
            blanket messages of the missing
        memoized : refused if True
        """
        if memoized is not False:
            raise ParameterError(
                "memoized must be False, got "
                f"{memoized!r}; a permanent response repeats the same report, so batches can be linked and shuffling "
                "hides nothing after the first: draw fresh randomness in every round and compose it."
            )
        crowd = (dropouts, colluding, reports_per_user)
        entry = make_entry(
            mechanism, n, *crowd, count=count, bound=bound, name=name, participation_limit=participation_limit
        )
        self.add(entry)
        return self

    def add(self, entry: LedgerEntry) -> None:
        """Add the rounds of an entry that was checked before."""
        mine, theirs = self.neighbors, entry.mechanism.neighbors
        if self._composed and mine != theirs:
            raise ParameterError(
                f"mechanism must have neighbors {mine!r} like the rounds before it, got {theirs!r}; "
                "keep one accountant for each kind of neighbors."
            )
        self._kind(entry)  # refused before it is added
        self._composed.append(entry)

    def compose_event(self, event: Any, *, count: int = 1, neighbors: str = "replace-one") -> Accountant:
        """Add an event of dp-accounting (Gaussian, Laplace, composed, or a ShuffledRoundEvent); returns the accountant.

        Parameters
        ----------
        event : ``dp_accounting.DpEvent``
        count : number of repetitions
        neighbors : "replace-one", or "add-or-remove-one" for an event whose noise is calibrated to adding or removing
            one record and is unknown to dp-accounting for replacements (Laplace): then replacing is counted as a group
            of two changes
        """
        check.one_of("neighbors", neighbors, ("replace-one", "add-or-remove-one"))
        times = check.whole("count", count, low=1, high=MOST_ROUNDS, hint="it is the number of repetitions")
        found = parts_of(event, times, neighbors)
        more = self._copy()  # all parts or none: a failure leaves this accountant unchanged
        for part in found:
            if isinstance(part, OtherEvent):
                self._kind(part)
                more._composed.append(part)
            else:
                round_, repeats = part
                more.compose(round_.mechanism, n=round_.n, bound=round_.bound, count=repeats)
        if found and more.neighbors != "replace-one":
            raise ParameterError(
                f"event must have neighbors 'replace-one', like all rounds beside it, got {more.neighbors!r}; "
                "keep one accountant for each kind of neighbors."
            )
        self._composed = more._composed
        return self

    @property
    def neighbors(self) -> str:
        """Which change of one user's value the guarantee covers."""
        return next((entry.mechanism.neighbors for entry in self.entries), "replace-one")

    def _kind(self, item: LedgerEntry | OtherEvent) -> Kind:
        """Its profile, which is shared by all that cost the same."""
        if item.key not in self._kinds:
            self._kinds[item.key] = item.kind()
        return self._kinds[item.key]

    def _alike(self) -> list[tuple[LedgerEntry | OtherEvent, int]]:
        """One of all that cost the same, and how often it is paid; sorted, so that the order does not matter."""
        first, totals = {item.key: item for item in reversed(self._composed)}, Counter[str]()
        for item in self._composed:
            totals[item.key] += item.cost
        return [(first[key], totals[key]) for key in sorted(first)]

    def _costs(self) -> tuple[list[Kind], list[int]]:
        """Distinct profiles and how often each is paid."""
        paid = [(self._kind(item), cost) for item, cost in self._alike()]
        known = [(kind, cost) for kind, cost in paid if kind.limit > 0.0]
        return [kind for kind, _ in known], [cost for _, cost in known]

    def _delta(self, delta: object, *further: int) -> float:
        """delta as a number; a rule takes the largest n of these rounds and of further ones."""
        return read(delta).at_largest([*(entry.n for entry in self.entries), *further])

    # -- what it costs --------------------------------------------------------------------------------------------

    def epsilon(self, *, delta: float | str, method: str = "pld") -> float:
        """The eps of all rounds together at delta: never too small, inf if no finite value reaches delta.

        delta may be a rule such as "0.01/n"; it is applied to the largest n, so it is met for the n of every round.
        method "pld" (privacy loss distributions, tight) or "renyi" (looser, and inf without a local guarantee).
        """
        delta = self._delta(delta)
        kinds, counts = self._costs()
        if check.one_of("method", method, ("pld", "renyi")) == "renyi":
            values = self.renyi(conversions.ORDERS)
            return min(
                conversions.to_epsilon(conversions.ORDERS, values, delta), sequential.pure_epsilon(kinds, counts)
            )
        sequential.refuse_tiny(delta, instead="method='renyi' or a larger delta")
        return sequential.epsilon(kinds, counts, delta)

    def delta(self, *, epsilon: float, method: str = "pld") -> float:
        """The delta of all rounds together at eps: never too small."""
        eps = check.in_range("epsilon", epsilon, low=0.0, high=math.inf, high_open=True)
        kinds, counts = self._costs()
        if check.one_of("method", method, ("pld", "renyi")) == "renyi":
            if eps >= sequential.pure_epsilon(kinds, counts):
                return 0.0
            return conversions.to_delta(conversions.ORDERS, self.renyi(conversions.ORDERS), eps)
        return sequential.delta(kinds, counts, eps)

    def lower_epsilon(self, *, delta: float | str) -> float | None:
        """An eps that no analysis of these rounds can go below: one fixed pair of datasets in every round.

        None if a round has no dataset whose exact law is known, if users send several reports into one batch, or if
        events of dp-accounting were composed.
        """
        delta = self._delta(delta)
        rounds = [(item, cost) for item, cost in self._alike() if isinstance(item, LedgerEntry)]
        if self._events or any(entry.reports_per_user > 1 for entry, _ in rounds):
            return None
        found = fixed_pairs(rounds, self._pairs)
        if found is None:
            return None
        upper = self.epsilon(delta=delta)
        if math.isinf(upper):  # any finite eps can serve as a start
            upper = max((float(np.abs(p.loss).max()) * c for p, c in zip(*found, strict=True)), default=0.0)
        return fixed_pair.lower_epsilon(*found, delta, upper)

    def guarantee(self, *, delta: float | str) -> ComposedGuarantee:
        """Upper and lower eps at delta with the terms they hold on."""
        delta = self._delta(delta)
        kinds, counts = self._costs()
        upper, lower = self.epsilon(delta=delta), self.lower_epsilon(delta=delta)
        return ComposedGuarantee(
            epsilon=upper,
            lower=None if lower is None else min(lower, upper),
            delta=delta,
            rounds=self.rounds,
            cost=sum(item.cost for item in self._composed),
            pure_epsilon=sequential.pure_epsilon(kinds, counts),
            neighbors=self.neighbors,
            trust=self._trust,
        )

    @property
    def _trust(self) -> str:
        """What all rounds together rest on."""
        return trust_text(
            crowd=TRUST + "".join(dict.fromkeys(entry.mechanism._trust for entry in self.entries)),
            many=max(self.rounds, sum(item.cost for item in self._composed)) > 1,
            limited=any(entry.participation_limit is not None for entry in self.entries),
        )

    def renyi(self, orders: ArrayLike = conversions.ORDERS) -> NDArray[np.float64]:
        """Upper values of the Renyi divergence of all rounds together, one per order > 1.

        :meth:`renyi_curve` has lower values too.

        The two arrays are what ``dp_accounting.rdp.compute_epsilon(orders, values, delta)`` takes.  Without a finite
        local guarantee (local_epsilon = inf, or an event with unbounded loss) every value is inf: some output may be
        impossible for one of two neighboring inputs, or nothing is known that excludes it.
        """
        a = checked_orders(orders)
        kinds, counts = self._costs()
        if any(math.isinf(kind.limit) for kind in kinds):
            return np.full(a.shape, np.inf)
        return sequential.renyi_curve(kinds, counts, a)

    def _about(self) -> About:
        """All rounds so far; rounds that are added later do not change it."""
        now = self._copy()
        return About(
            subject=f"{rounds_in_words(self.rounds)} over the same users",
            n=None,
            neighbors=self.neighbors,
            trust=self._trust,
            find=now._evidence,
        )

    def _evidence(self) -> Evidence:
        """What is known of all rounds, kind by kind."""
        return Evidence([self._part(item, cost) for item, cost in self._alike()])

    def _part(self, item: LedgerEntry | OtherEvent, cost: int) -> Part:
        if isinstance(item, OtherEvent):
            return Part(self._kind(item), cost, mu=item.mu)
        if item.reports_per_user > 1:  # no lower bound is known
            return Part(self._kind(item), cost)
        return Round(self._kind(item), cost, question=item.resolved)

    def to_pld(self, *, step: float | None = None) -> Any:
        """All rounds together as a ``dp_accounting`` PrivacyLossDistribution, pessimistic, for replace-one neighbors.

        It must be composed with distributions of replace-one neighbors only, and of the same interval: ``step`` (by
        default chosen here; 1e-4 is the default of dp-accounting).  Deltas below some 1e-10 cannot be read from it.
        """
        from .dp_accounting.export import export

        if step is not None:
            step = check.in_range("step", step, low=1e-9, high=1.0, hint="1e-4 is the default of dp-accounting")
        kinds, counts = self._costs()
        return export(sequential.build(kinds, counts, math.log(1e-14), step))

    # -- what still fits ------------------------------------------------------------------------------------------

    def would_exceed(
        self, *, epsilon: float, delta: float | str, mechanism: MechanismLike, n: int, **round_: Any
    ) -> bool:
        """Whether these further rounds (parameters as in :meth:`compose`) would cost more than epsilon at delta."""
        target = _budget(epsilon, round_)
        return self._copy().compose(mechanism, n=n, **round_).epsilon(delta=delta) > target

    def remaining(self, *, epsilon: float, delta: float | str, mechanism: MechanismLike, n: int, **round_: Any) -> int:
        """How many more such rounds fit into (epsilon, delta); at most 10^6.

        The returned number was checked to fit, and one more was checked not to.
        """
        target = _budget(epsilon, round_)
        for name in round_.keys() & {"count", "participation_limit"}:
            raise ParameterError(
                f"{name} must be left out, got {round_[name]!r}; remaining() finds how many rounds fit."
            )

        at = self._delta(delta, check.users(n))  # one delta, also for the rounds so far alone

        @cache
        def spent(count: int) -> float:
            more = self._copy().compose(mechanism, n=n, count=count, **round_) if count else self
            return more.epsilon(delta=at)

        return most_rounds(spent, target)

    def first(self, rounds: int) -> Accountant:
        """An accountant of the first ``rounds`` rounds and events."""
        made, left = self._copy(), rounds
        made._composed = []
        for item in self._composed:
            if left > 0:
                made._composed.append(item.first(min(left, item.count)))
            left -= item.count
        return made

    def _copy(self) -> Accountant:
        """Rounds added to the copy do not change this accountant; sampled profiles are shared."""
        copy = Accountant()
        copy._composed, copy._kinds, copy._pairs = list(self._composed), self._kinds, self._pairs
        return copy

    # -- the ledger file ------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the ledger; an older file is replaced in one step, never half written.

        A file that this accountant has neither loaded nor saved as it is now is refused, because rounds that were run
        would be lost: load it, add to that and save again.
        """
        if self._events:
            raise ParameterError(
                f"a ledger holds shuffled rounds only, got {len(self._events)} event(s) of dp-accounting as well; "
                "keep them in its own ledger."
            )
        ledger_file.save(self.entries, path, self._seen)

    @classmethod
    def load(cls, path: str | Path) -> Accountant:
        """The accountant of a ledger file; every key and the chain of hashes are checked."""
        found = ledger_file.load(path)
        made = cls()
        for entry in found.entries:
            made.add(entry)
        made._seen = found.seen
        return made


def _budget(epsilon: object, round_: dict[str, Any]) -> float:
    """The checked eps of a question about further rounds; their parameters must be parameters of compose()."""
    for name in round_:
        check.one_of("parameter", name, _TERMS)
    return check.inside("epsilon", epsilon, hint="it is the eps that all rounds together may cost")
