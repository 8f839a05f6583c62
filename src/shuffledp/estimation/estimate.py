"""Unbiased estimates with error bars, and the named steps that trade bias for consistency."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._support import validation as check
from .._support.arrays import FloatArray
from .._support.figures import TEXT_WIDTH
from .._support.json_ready import json_object
from .._support.numbers import round_up
from .._support.tables import Column, Table, number_column
from .._support.text import shortened
from .._support.units import error_in, figures, percent, users_of
from ..errors import ParameterError
from .answer import Answer, Entry, Provenance, in_words, texts_of
from .constraints import Box, Constraint, Limit, Simplex, norm_sub
from .drawing import MOST_ITEMS, Look, draw_estimate
from .moments import Moments
from .variance import Variance, range_sampling, share_sampling, upper_end

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .._support.canvas import Labels

#: What is estimated, where it is how many users hold something: as a share, and as a number.
SHARE, COUNT = "share of users", "number of users"

STEPS = ("nearest", "simplex", "norm-sub")
#: What an interval may cover: the truth of these users, or of the population that they were drawn from.
COVERED = ("users", "population")

#: Users below which intervals of sums over many kinds of reports allow for half a report on either side.
FEW = 100
#: Reports from which on no such allowance is made: below, it grows to the whole one within a quarter.
_SETTLED = 1.75


@dataclass(frozen=True, eq=False)
class Estimate(Answer):
    """What the reports say about the data.

    Attributes
    ----------
    value : array of estimates (unbiased unless ``step`` names a consistency step)
    stderr : array of standard errors of the privacy noise, one per item, estimated from the same reports; infinite for
        an item that no report tells of: it is not estimated, and its interval is all that it can be
    n : number of users
    covariance : full covariance matrix where items are correlated and it is small enough to keep, else None
    step : "" or the consistency step that was applied (the standard errors are those before it)
    for_release : False if the reports came from a seeded generator, None if that is not known (bare arrays)
    constraint : what is known about the truth, which :meth:`consistent` enforces; None: nothing was declared
    noise : variance of the privacy noise as a function of the truth (None: ``stderr`` squared, whatever the truth is)
    sampling : what drawing the users from a population adds to it (None: not known)
    grain : how much one report more or less changes the value; 0 where reports are not counted
    names : what the entries are called, one text each; empty: by their index
    unit, quantity : of the entries, in words, such as "min" and "mean"
    influence : the most that an entry changes if one report (one message, where users send several) is replaced by any
        other that would be accepted; inf: without limit; None: not known
    note : what became of values outside the domain, in words, such as "clipped to [0, 60 min]"
    moments : what the errors of weighted sums of the entries follow from; None: entries are taken to be uncorrelated
    provenance : the question, plan and guarantee behind the reports; None where they did not come from a plan
    rest : the name of the entry that holds all that is not listed; empty if there is none
    half_step : how far rounding can have moved the values; 0 where they are as estimated
    ordered : whether the entries have an order of their own, as bins do, in which figures show them

    Examples
    --------
    >>> e = Estimate(value=np.array([0.7, -0.1, 0.4]), stderr=np.array([0.1, 0.1, 0.1]), n=100, constraint=Simplex())
    >>> e.consistent("nearest").value.round(3).tolist()
    [0.65, 0.0, 0.35]
    >>> low, high = e.interval(0.95)
    >>> low.round(2).tolist()
    [0.5, -0.3, 0.2]
    >>> e.origin
    'unknown: pass the Reports object, or say for_release=True or False'
    """

    value: FloatArray
    stderr: FloatArray
    n: int
    covariance: FloatArray | None = None
    step: str = ""
    for_release: bool | None = None
    constraint: Constraint | None = None
    noise: Variance | None = None
    sampling: Variance | None = None
    grain: Limit = 0.0
    names: tuple[str, ...] = ()
    unit: str = ""
    quantity: str = ""
    influence: Limit | None = None
    note: str = ""
    moments: Moments | None = None
    provenance: Provenance | None = None
    rest: str = ""
    ordered: bool = False
    half_step: float = 0.0

    @property
    def is_share(self) -> bool:
        """Whether the entries are users: shares or numbers of them."""
        return self.quantity in (SHARE, COUNT)

    @property
    def origin(self) -> str:
        """Whether the reports may be released, in words."""
        if self.for_release is None:
            return "unknown: pass the Reports object, or say for_release=True or False"
        return "secure randomness" if self.for_release else "a seeded generator: not for release"

    @property
    def labels(self) -> list[str]:
        """The names of the entries; where they have none, their index, or their indices."""
        if self.names:
            return list(self.names)
        return [",".join(map(str, index)) for index in np.ndindex(self.value.shape)] if self.value.ndim else [""]

    def entries(self) -> Iterator[Entry]:
        """Every number; after a consistency step they have no interval, as the error is not known."""
        yield from self._own_entries()

    def _own_entries(self) -> Iterator[Entry]:
        values = [self.value.ravel().tolist(), self.stderr.ravel().tolist()]
        ends = [[None] * self.value.size] * 2 if self.step else [end.ravel().tolist() for end in self.interval()]
        unit = {SHARE: SHARE, COUNT: "users"}.get(self.quantity, self.unit)
        for item, value, stderr, low, high in zip(self.labels, *values, *ends, strict=True):
            known = math.isfinite(stderr)
            yield Entry(item, value if known else None, stderr if known else None, low, high, unit)

    def table(self) -> Table:
        """One row per item: the estimate, its standard error, and its 95% interval for these users where it has one.

        Values and intervals are shown in the figures that the interval supports, its ends rounded outward.
        """
        rows = list(self._own_entries())
        shown = [texts_of(row) for row in rows]
        errors = ["" if row.stderr is None else figures(row.stderr, 2, up=True) for row in rows]

        def column(name: str, head: str, texts: list[str]) -> Column:
            return number_column(name, head, [getattr(row, name) for row in rows], texts)

        columns = [
            Column(name="item", head="item", values=self.labels, texts=[*map(shortened, self.labels)], right=True),
            column("value", self._head, [text[0] for text in shown]),
            column("stderr", "standard error", errors),
        ]
        if not self.step:
            columns.append(column("low", "95% from", [text[1] for text in shown]))
            columns.append(column("high", "to", [text[2] for text in shown]))
        return Table(tuple(columns), caption=self._title)

    def words(self) -> list[str]:
        """The largest standard error in people's units; before it every entry, unless there are several shares.

        At the end the number of entries that are not estimated, if there are any.

        Examples
        --------
        >>> e = Estimate(value=np.array([12.52]), stderr=np.array([0.022]), n=100, names=("wait",), unit="min")
        >>> e.words()
        ['wait: 12.52 min, 95 % from 12.47 to 12.57', 'The standard error is 0.022 min.']
        >>> Estimate(value=np.array([0.5]), stderr=np.array([5.27e-5]), n=1_200_000, quantity=SHARE).words()
        ['The standard error is 64 of 1,200,000 users (0.0053 %).']
        """
        if not self.value.size:
            return []
        rows = () if self.is_share and not (self.names and self.value.size == 1) else self._own_entries()
        each = [in_words(_in_percent(row) if self.quantity == SHARE else row) for row in rows][:MOST_ITEMS]
        errors, size = self.stderr[np.isfinite(self.stderr)], self.value.size
        if errors.size:
            many = "standard error is" if size == 1 else "largest standard error of those estimated is"
            many = many if errors.size < size or size == 1 else "largest standard error is"
            after = f", before the step {self.step!r}" if self.step else ""
            each.append(f"The {many} {self.error_in_words(float(errors.max()))}{after}.")
        if missing := size - errors.size:
            each.append(f"Not estimated, as no report tells of them: {missing:,} of {size:,}.")
        return each

    def error_in_words(self, error: float) -> str:
        """An error of an entry in people's units, rounded up: of a share, the number of users that it is."""
        if not self.is_share:
            return error_in(error, self.unit)
        share = error if self.quantity == SHARE else error / self.n
        return f"{users_of(share * self.n, self.n)} ({percent(share, 2, up=True)})"

    def counts(self) -> Estimate:
        """Numbers of users in place of shares of them, with their standard errors and intervals.

        Examples
        --------
        >>> e = Estimate(value=np.array([0.25]), stderr=np.array([0.01]), n=2000, names=("pear",), quantity=SHARE)
        >>> e.counts().value.tolist(), e.counts().stderr.tolist()
        ([500.0], [20.0])
        """
        if self.quantity != SHARE:
            raise ParameterError(
                f"counts must be asked of shares of users, got {self.quantity or 'an estimate of something else'}; "
                "leave counts out."
            )
        plain = Estimate(**{key: getattr(self, key) for key in Estimate.__dataclass_fields__})
        made = rescaled(plain, scale=float(self.n), shift=0.0)
        return replace(made, quantity=COUNT, provenance=self.narrowed("in users"))

    def rounded(self, step: int) -> Estimate:
        """Numbers of users as multiples of ``step``; most changes of one report then change nothing that is published.

        Errors and intervals follow from the multiples alone, and allow for half a step on either side: an interval
        holds that of the estimate before.

        Examples
        --------
        >>> e = Estimate(value=np.array([0.249]), stderr=np.array([0.01]), n=2000, names=("pear",), quantity=SHARE)
        >>> e.rounded(50).value.tolist(), e.rounded(50).stderr.round(1).tolist()
        ([500.0], [55.9])
        """
        step = check.whole("step", step, low=1, high=2**53, hint="it is a number of users")
        if not self.is_share or step > max(self.n, 1):
            raise ParameterError(
                f"step (--round) must be at most the {self.n:,} users, and is for answers of shares or numbers of "
                f"users alone, got {step:,} with {self.quantity or 'another estimate'}; lower it or leave it out."
            )
        plain = self if self.quantity == COUNT else self.counts()
        value = step * np.round(plain.value / step) + 0.0  # no -0, which says on which side of 0 the estimate was
        noise = plain.noise or Variance((step * np.ceil(plain.stderr / step)) ** 2)  # it may be that of these reports
        return replace(
            plain,
            value=value,
            stderr=np.sqrt(noise.at(value) + 0.25 * step * step),
            covariance=None,
            noise=noise,
            influence=None if plain.influence is None else step * np.ceil(plain.influence / step),
            moments=None,
            half_step=0.5 * step,
            provenance=plain.narrowed(f"to multiples of {step:,}"),
        )

    def poisoned(self, reports: int) -> FloatArray:
        """The most that this many false reports (or messages) can add to or take from each entry.

        Privacy noise hides true reports, and false ones too: a client that lies is not noticed, but one report moves
        an estimate by more than one user's share (Cheu, Smith, Ullman, S&P 2021).

        Examples
        --------
        >>> import shuffledp as sdp
        >>> m = sdp.GRR(eps0=1.0, d=4)
        >>> m.estimate(m.privatize([0] * 1000)).poisoned(10).round(3).tolist()
        [0.033, 0.033, 0.033, 0.033]
        """
        reports = check.whole("reports", reports, low=0, hint="it is how many reports are false")
        if self.influence is None:
            raise ParameterError(
                "influence of a report must be known, got an estimate after a fit or a step; ask the one before it."
            )
        most = np.broadcast_to(np.asarray(self.influence, dtype=np.float64), self.value.shape)
        return np.asarray(reports * most) if reports else np.zeros(self.value.shape)

    def lies(self, what: str = "report") -> str:
        """What false reports can do at worst, in a sentence; empty where it is not known.

        Examples
        --------
        >>> Estimate(value=np.array([0.5]), stderr=np.array([0.1]), n=100, influence=0.02).lies()
        'One false report moves an entry by at most 0.02; m of them by at most m times that.'
        """
        if self.influence is None or not self.value.size:
            return ""
        most = float(np.max(self.influence))
        if not math.isfinite(most):
            return f"One false {what} can move an entry without limit."
        size = round_up(most, 3) + (f" {self.unit}" if self.unit else "")
        return f"One false {what} moves an entry by at most {size}; m of them by at most m times that."

    @property
    def _head(self) -> str:
        """What the entries are, above their column."""
        return (self.quantity or "estimate") + (f" ({self.unit})" if self.unit else "")

    def named(self, *, names: Sequence[str], unit: str = "", quantity: str = "") -> Estimate:
        """The same estimate with names for its entries, and what they are.

        Examples
        --------
        >>> e = Estimate(value=np.array([12.5]), stderr=np.array([0.5]), n=100)
        >>> e.named(names=["delay"], unit="min", quantity="mean").labels
        ['delay']
        """
        if len(names) != self.value.size:
            raise ParameterError(
                f"names must be one for each of {self.value.size:,} entries, got {len(names):,}; name every entry."
            )
        return replace(self, names=tuple(names), unit=unit, quantity=quantity)

    def top(self, k: int) -> Estimate:
        """The k largest entries, largest first; those that are not estimated come last.

        Examples
        --------
        >>> e = Estimate(value=np.array([0.2, 0.5, 0.3]), stderr=np.full(3, 0.01), n=100, names=("a", "b", "c"))
        >>> e.top(2).labels
        ['b', 'c']
        """
        k = check.whole("k", k, low=1, high=2**53, hint="it is how many entries to keep")
        known = np.where(np.isfinite(self.stderr), self.value, -np.inf)
        found = self.taken(np.argsort(-known.ravel(), kind="stable")[:k])
        return replace(found, provenance=self.narrowed(f"the {k:,} largest"))

    def taken(self, places: NDArray[np.intp]) -> Estimate:
        """The entries at these places, on their own: what held for all of them together is not kept."""

        def some(entries: Limit) -> Limit:
            return np.broadcast_to(entries, self.value.shape).ravel()[places]

        labels = self.labels
        limits = None if self.constraint is None else self.constraint.limits
        return replace(
            self,
            value=self.value.ravel()[places],
            stderr=self.stderr.ravel()[places],
            covariance=None,
            constraint=None if limits is None else Box(some(limits[0]), some(limits[1])),
            noise=None if self.noise is None else self.noise.mapped(some),
            sampling=None if self.sampling is None else self.sampling.mapped(some),
            grain=some(self.grain),
            influence=None if self.influence is None else some(self.influence),
            moments=None,
            names=tuple(labels[i] for i in places),
        )

    def to_dict(self) -> dict[str, Any]:
        """The entries, each list in their order, ready for JSON."""
        rows = list(self._own_entries())
        numbers = {key: [getattr(row, key) for row in rows] for key in ("value", "stderr", "low", "high")}
        influence = None if self.influence is None else self.poisoned(1).ravel().tolist()
        return json_object({"unit": self.unit, "items": self.labels, **numbers, "influence": influence})

    @property
    def _title(self) -> str:
        many = "1 item" if self.value.size == 1 else f"{self.value.size:,} items"
        step = f", after the step {self.step!r}" if self.step else ""
        note = f"; {self.note}" if self.note else ""
        users = f"{self.n:,} user{'' if self.n == 1 else 's'}"
        return f"{many} from {users}{step}, {self.origin.partition(': pass')[0]}{note}"

    def __repr__(self) -> str:
        """One line: how many items, from how many users, with which standard errors."""
        if self.value.size == 1:
            return f"<{type(self).__name__} {self.value.item():.5g} +- {self.stderr.item():.2g}: {self._title}>"
        errors = f"{self.stderr.min(initial=np.inf):.2g} to {self.stderr.max(initial=0.0):.2g}"
        return f"<{type(self).__name__} of {self._title}, standard errors {errors}>"

    def plot(
        self,
        *,
        level: float = 0.95,
        of: str = "users",
        most: int = MOST_ITEMS,
        width: float = TEXT_WIDTH,
        truth: Estimate | None = None,
        ax: Axes | None = None,
        labels: Labels | None = None,
    ) -> Figure:
        """A figure: a bar per item with its interval, at most ``most`` items, the largest (needs the extra ``plot``).

        Means are points on the scale of their range, ranges a distribution function with quantiles (all bins), places
        a map with a cross where the interval holds 0, keys their shares beside their means, two-way marginals shaded
        tables unless there is a truth.

        level, of : as in :meth:`interval`
        truth : what the items really are, where that is known; it is marked beside them
        ax : matplotlib axes to draw in; by default a new figure of this ``width``, in inches
        labels : other words for what is drawn, such as {"other": "all others"}
        """
        return self._draw(Look(level, of, most, width, truth, ax, labels))

    def _draw(self, look: Look) -> Figure:
        return draw_estimate(self, look)

    def interval(self, level: float = 0.95, *, of: str = "users") -> tuple[FloatArray, FloatArray]:
        """A two-sided confidence interval for every item on its own.

        ``of="users"`` covers the truth of the users who reported: the only error is the privacy noise.
        ``of="population"`` covers that of the population from which they were drawn independently, and is wider.

        The ends are those f which the estimate does not contradict: |value - f| <= z sqrt(variance at f) + c grain
        (a score interval, Wilson 1927, with the variance of the law instead of one estimated).  Counts are whole
        numbers, and skewed where few reports are expected: c = max(1/2, (z^2 - 1)/6) makes up for both (half a
        count; the Cornish-Fisher term of a sum of indicators, whose third cumulant is at most their variance).  So
        coverage is about nominal or higher; the excess is the weight of a count or two.  Ends may lie outside the
        range of the truth, which is the interval of an item that is not estimated.
        """
        level = check.share("level", level)
        check.one_of("kind of coverage", of, COVERED)
        if self.step:
            raise ParameterError(
                f"interval must be asked of the unbiased estimate, got one after the step {self.step!r}, whose error "
                "is not known; call interval before consistent."
            )
        variance = Variance(self.stderr**2) if self.noise is None else self.noise
        if of == "population":
            if self.sampling is None:
                raise ParameterError(
                    "of must be 'users' for an estimate that does not declare its sampling variance, got "
                    "'population'; pass sampling= when you make the estimate."
                )
            variance = variance.plus(self.sampling)
        from statistics import NormalDist

        z = NormalDist().inv_cdf(0.5 + 0.5 * level)
        room = max(0.5, (z * z - 1.0) / 6.0) * self.grain + self.half_step
        low, high = (self.value, self.value) if self.constraint is None else self.constraint.limits
        flipped, missing = variance.mirrored(), np.isinf(self.stderr) & (self.constraint is not None)
        bottom = -upper_end(-self.value + room, z, flipped, -high, -low)
        top = upper_end(self.value + room, z, variance, low, high)
        return np.where(missing, low, bottom), np.where(missing, high, top)

    def consistent(self, step: str = "nearest") -> Estimate:
        """The estimate after a named consistency step (biased), which uses what is known about the truth.

        "nearest": the nearest point that satisfies the estimate's own :attr:`constraint` (least squares).
        For frequencies that sum to 1 there are also "simplex", the same, and "norm-sub": negative entries to 0,
        then a common shift of the positive ones, until the sum is 1 (Wang et al., NDSS 2020).
        """
        check.one_of("consistency step", step, STEPS)
        if self.step:
            raise ParameterError(
                f"step must be applied once, got an estimate that has {self.step!r}; start from the raw one."
            )
        if not np.all(np.isfinite(self.stderr)) and not isinstance(self.constraint, Box):
            raise ParameterError(
                "every item needs a report to be made consistent with others, got items without any; collect more."
            )
        constraint = self.constraint
        if constraint is None:
            if step == "nearest":
                raise ParameterError(
                    "step must be 'simplex' or 'norm-sub' for an estimate that declares no constraint, got 'nearest'; "
                    "name one of them if the values sum to 1, else pass constraint= when you make the estimate."
                )
            constraint = Simplex()
        if step not in constraint.steps:
            raise ParameterError(
                f"step must be 'nearest' for an estimate of {constraint.words}, got {step!r}, which is for frequencies "
                "of one item per user; call consistent('nearest')."
            )
        project = norm_sub if step == "norm-sub" else constraint.nearest
        known = self.narrowed(f"after the step {step!r}")
        return replace(self, value=project(self.value), step=step, influence=None, provenance=known)


def _in_percent(row: Entry) -> Entry:
    """A share as people say it."""
    value, low, high = (None if x is None else 100.0 * x for x in (row.value, row.low, row.high))
    return row._replace(value=value, low=low, high=high, unit="% of users")


def modeled(
    value: FloatArray,
    n: int,
    constraint: Constraint,
    noise: Variance,
    sampling: Variance,
    *,
    influence: Limit | None,
    grain: Limit = 0.0,
    moments: Moments | None = None,
) -> Estimate:
    """The estimate whose standard error is that of its noise at the value, clipped to the range of the truth."""
    stderr = np.sqrt(noise.at(np.clip(value, *constraint.limits)))
    return Estimate(
        value=value,
        stderr=np.broadcast_to(stderr, value.shape).copy(),
        n=n,
        constraint=constraint,
        noise=noise,
        sampling=sampling,
        grain=grain,
        influence=influence,
        moments=moments,
    )


def mean_in_range(
    value: FloatArray, n: int, low: float, high: float, variance: float, *, influence: float, grain: float = 0.0
) -> Estimate:
    """The mean of numbers in [low, high] with noise of this variance, whatever the numbers are.

    Reports do not show the spread of the users' numbers: for a population the largest possible one is added.
    """
    noise, sampling = Variance(variance), range_sampling(n, low, high)
    return modeled(np.atleast_1d(value), n, Box(low, high), noise, sampling, influence=influence, grain=grain)


def moments_of(estimate: Estimate) -> Moments:
    """Those that it states, else those of entries with uncorrelated noise."""
    noise = Variance(estimate.stderr**2) if estimate.noise is None else estimate.noise
    return estimate.moments or Moments.unrelated(estimate.n, noise, estimate.grain)


def weighted_sums(value: FloatArray, n: int, constraint: Constraint, noise: Variance, step: Limit) -> Estimate:
    """The estimate of weighted sums of shares, which change by at most ``step`` with a report.

    Their steps are many and small, and the normal law holds soon: from FEW users on, an interval reaches half a step
    further only where the variance is that of fewer than two reports, each of which matters by a whole step.  Without
    it, a count with expectation x is covered at 91 % or less for some x below 1, and at 93 % or more from 1.5 on.
    """
    made = modeled(value, n, constraint, noise, share_sampling(n), influence=None)
    with np.errstate(divide="ignore", invalid="ignore"):
        reports = np.nan_to_num((made.stderr / step) ** 2, nan=np.inf)
    rare = 1.0 if n < FEW else np.clip(4.0 * (_SETTLED - reports), 0.0, 1.0)
    return replace(made, grain=np.asarray(rare * step))


def rescaled(estimate: Estimate, *, scale: float, shift: float) -> Estimate:
    """The estimate of scale f + shift, scale > 0, for numbers in a range: from the units of a mechanism to others.

    Examples
    --------
    >>> e = Estimate(value=np.array([0.25]), stderr=np.array([0.1]), n=100, noise=Variance(0.01))
    >>> celsius = rescaled(e, scale=40.0, shift=-10.0)
    >>> celsius.value.tolist(), celsius.stderr.tolist()
    ([0.0], [4.0])
    """

    def stretched(known: Variance | None) -> Variance | None:
        if known is None:
            return None
        # variance of scale f + shift as a function of g = scale f + shift
        bend, slope = known.bend, scale * known.slope - 2.0 * shift * known.bend
        return Variance(scale * scale * known.base - shift * scale * known.slope + shift * shift * bend, slope, bend)

    known = estimate.constraint
    limits = None if known is None else tuple(scale * end + shift for end in known.limits)
    return replace(
        estimate,
        value=scale * estimate.value + shift,
        stderr=scale * estimate.stderr,
        covariance=None if estimate.covariance is None else scale * scale * estimate.covariance,
        constraint=None if limits is None else Box(*limits),
        noise=stretched(estimate.noise),
        sampling=stretched(estimate.sampling),
        grain=scale * estimate.grain,
        moments=None,
        influence=None if estimate.influence is None else scale * estimate.influence,
    )


def pure(
    hits: FloatArray, n: int, keep: float, stray: float, constraint: Constraint, both: tuple[float, float] | None = None
) -> Estimate:
    """Estimate of frequencies from support counts of a pure protocol (Wang et al., USENIX Security 2017).

    A report supports an item held with probability ``keep`` and any other with probability ``stray``:
    f = (hits/n - stray)/(keep - stray), variance [f keep(1-keep) + (1-f) stray(1-stray)]/(n (keep-stray)^2).
    The standard error plugs the estimate into it (clipped to [0, 1]).  ``both`` is that of :class:`Moments`.
    """
    gain = keep - stray
    held, other = (rate * (1.0 - rate) / (n * gain * gain) for rate in (keep, stray))
    return modeled(
        (np.asarray(hits, dtype=np.float64) / n - stray) / gain,
        n,
        constraint,
        Variance(other, held - other),
        share_sampling(n),
        grain=1.0 / (n * gain),
        influence=1.0 / (n * gain),
        moments=Moments.of_support(n, keep, stray, both),
    )
