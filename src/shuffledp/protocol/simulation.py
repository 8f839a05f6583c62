"""An answer beside the truth: how large the error is, and how large it was predicted to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from .._support.arrays import FloatArray
from .._support.figures import TEXT_WIDTH
from .._support.json_ready import json_object
from .._support.tables import Column, Table, Tabular, number_column
from .._support.units import Amount, error_in, figures, with_unit
from ..errors import ParameterError
from ..estimation.answer import Entry, in_words
from ..estimation.estimate import COUNT, SHARE, Estimate
from ..queries.quantiles import Quantiles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .._support.canvas import Labels

#: The last sentence of every simulation.
_NOT_PRIVATE = "The truth is shown: this output is not private."
#: Entries of an answer that are told one by one.
_FEW = 3


@dataclass(frozen=True, eq=False)
class SimulatedQuantiles(Tabular):
    """Quantiles beside the true ones."""

    answer: Quantiles
    truth: Quantiles

    @property
    def covered(self) -> float:
        """The share of quantiles whose interval holds the truth."""
        found = self.answer
        return float(np.mean((found.low <= self.truth.value) & (self.truth.value <= found.high)))

    @property
    def error(self) -> FloatArray:
        """How far every quantile is off, in its unit."""
        return np.abs(self.answer.value - self.truth.value)

    @property
    def predicted(self) -> FloatArray:
        """The standard errors that the intervals stand for: their half width in multiples of that of a normal law."""
        z = NormalDist().inv_cdf(0.5 + 0.5 * self.answer.level)
        return np.asarray((self.answer.high - self.answer.low) / (2.0 * z))

    def table(self) -> Table:
        """One row per quantile."""
        item, *rest = self.answer.table().columns
        known = self.truth.value.tolist()
        true = number_column("truth", "truth", known, [figures(x, 5) for x in known])
        errors = [
            number_column(name, name, values.tolist(), [figures(x, 2, up=True) for x in values.tolist()])
            for name, values in (("error", self.error), ("predicted", self.predicted))
        ]
        return Table((item, true, *rest, *errors), caption="estimate beside the truth; not private")

    def words(self) -> list[str]:
        """Every quantile with its interval, the truth, and the error that was found and predicted, in the unit."""
        lines = []
        for row, *numbers in zip(self.answer.entries(), self.truth.value, self.error, self.predicted, strict=True):
            true, found, predicted = map(float, numbers)
            off = f"error {error_in(found, row.unit)}, predicted {error_in(predicted, row.unit)}"
            lines.append(f"{_beside(row, true, self.answer.level)}: {off}.")
        return lines

    def __str__(self) -> str:
        """How far they are off."""
        worst = int(np.argmax(self.error))
        found, predicted = (error_in(float(x[worst]), self.answer.unit) for x in (self.error, self.predicted))
        return (
            f"The largest error is {found}, at {self.answer.labels[worst]}, where {predicted} was predicted; "
            f"{100 * self.covered:.0f}% of the intervals hold the truth. {_NOT_PRIVATE}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        errors = {"error": self.error.tolist(), "predicted": self.predicted.tolist()}
        true = {"truth": self.truth.value.tolist(), **errors, "covered": self.covered, "users": self.answer.n}
        return json_object({**self.answer.to_dict(), **true, "words": self.words()})

    def plot(self, *, width: float = TEXT_WIDTH, ax: Axes | None = None, labels: Labels | None = None) -> Figure:
        """The figure of the quantiles with the true distribution; ax, labels : as in :meth:`Estimate.plot`."""
        return self.answer.plot(truth=self.truth.answer, width=width, ax=ax, labels=labels)


@dataclass(frozen=True, eq=False)
class Simulation(Tabular):
    """An estimate, the truth, and their difference in standard errors.

    Attributes
    ----------
    answer, truth : entry by entry the same items
    """

    answer: Estimate
    truth: Estimate

    @property
    def _known(self) -> NDArray[np.bool_]:
        """Which items are estimated."""
        return np.isfinite(self.answer.stderr)

    def _listed(self, numbers: FloatArray) -> list[float | None]:
        """One number per item, None for those that are not estimated."""
        return [x if known else None for x, known in zip(numbers.ravel().tolist(), self._known.ravel(), strict=True)]

    @property
    def rmse(self) -> float:
        """Root of the mean squared error over the items that are estimated."""
        return _root_mean_square((self.answer.value - self.truth.value)[self._known])

    @property
    def predicted(self) -> float:
        """Root of the mean squared standard error of these."""
        return _root_mean_square(self.answer.stderr[self._known])

    @property
    def covered(self) -> float:
        """The share of items whose 95% interval holds the truth."""
        low, high = self.answer.interval()
        held = (low <= self.truth.value) & (self.truth.value <= high)
        return float(np.mean(held)) if held.size else 1.0

    def table(self) -> Table:
        """One row per item; shares are shown in percent."""
        truth, value, error = self.truth.value, self.answer.value, self.answer.stderr
        with np.errstate(divide="ignore", invalid="ignore"):
            off = np.nan_to_num((value - truth) / error, nan=0.0)
        scale, unit = {SHARE: (100.0, "%"), COUNT: (1.0, "users")}.get(self.answer.quantity, (1.0, self.answer.unit))
        within = f" ({unit})" if unit else ""

        def amounts(name: str, head: str, values: Sequence[float | None]) -> Column:
            texts = ["not estimated" if x is None else figures(scale * x, 5) for x in values]
            return number_column(name, head, values, texts)

        errors = ["" if x is None else figures(scale * x, 2, up=True) for x in self._listed(error)]
        multiples = ["" if x is None else f"{x:+.1f}" for x in self._listed(off)]
        return Table(
            (
                Column(name="item", head="item", values=self.answer.labels, right=True),
                amounts("truth", f"truth{within}", truth.ravel().tolist()),
                amounts("value", f"estimate{within}", self._listed(value)),
                number_column("stderr", "standard error", self._listed(error), errors),
                number_column("off", "off by (standard errors)", self._listed(off), multiples),
            ),
            caption="estimate beside the truth; not private",
        )

    def words(self) -> list[str]:
        """The largest entries in people's units, each beside the truth; then the errors, found and predicted.

        Examples
        --------
        >>> found = Estimate(value=np.array([0.3125]), stderr=np.array([0.02]), n=2000, names=("pear",), quantity=SHARE)
        >>> print(*simulated(found, replace(found, value=np.array([0.296875]))).words(), sep="\\n")
        pear: 620 users, 95 % from 540 to 710; the truth is 590 users.
        Error 32 of 2,000 users (1.6 %), predicted 40 of 2,000 users (2 %); the interval holds the truth.
        """
        if not self.answer.value.size:
            return ["No item was found."]
        shares = self.answer.quantity == SHARE
        shown, scale = (self.answer.counts(), self.answer.n) if shares else (self.answer, 1)
        value = np.nan_to_num(shown.value.ravel(), nan=-np.inf)
        places = np.argsort(-value, kind="stable")[:_FEW] if shown.is_share else np.arange(min(value.size, _FEW))
        every = zip(shown.taken(places)._own_entries(), self.truth.value.ravel()[places], strict=True)
        return [*(f"{_beside(row, scale * float(true))}." for row, true in every), self.summary]

    @property
    def summary(self) -> str:
        """The error in people's units, found and predicted, and how many intervals hold the truth."""
        found, predicted = map(self.answer.error_in_words, (self.rmse, self.predicted))
        if self.answer.value.size == 1:
            held = "the interval holds the truth." if self.covered else "the truth is outside the interval."
            return f"Error {found}, predicted {predicted}; {held}"
        share = f"{100 * self.covered:.0f}% of the 95% intervals hold the truth."
        return f"Error {found} per item (root mean square), predicted {predicted}; {share}"

    def __str__(self) -> str:
        """The errors in a sentence."""
        return f"{self.summary} {_NOT_PRIVATE}"

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return json_object(
            {
                "items": self.answer.labels,
                "truth": self.truth.value.tolist(),
                "value": self._listed(self.answer.value),
                "stderr": self._listed(self.answer.stderr),
                **{key: getattr(self, key) for key in ("rmse", "predicted", "covered")},
                "unit": self.answer.unit,
                "users": self.answer.n,
                "words": self.words(),
            }
        )

    def plot(self, *, width: float = TEXT_WIDTH, ax: Axes | None = None, labels: Labels | None = None) -> Figure:
        """The figure of the answer with the truth marked; ax, labels : as in :meth:`Estimate.plot`."""
        return self.answer.plot(truth=self.truth, width=width, ax=ax, labels=labels)


@overload
def simulated(answer: Estimate, truth: Estimate) -> Simulation: ...


@overload
def simulated(answer: Estimate | Quantiles, truth: Estimate | Quantiles) -> Simulation | SimulatedQuantiles: ...


def simulated(answer: Estimate | Quantiles, truth: Estimate | Quantiles) -> Simulation | SimulatedQuantiles:
    """Both of the same items; where an answer names only some (heavy hitters), the truth of those, 0 for any other."""
    if isinstance(answer, Quantiles) and isinstance(truth, Quantiles) and answer.shares == truth.shares:
        return SimulatedQuantiles(answer, truth)
    if isinstance(answer, Quantiles) or isinstance(truth, Quantiles):
        raise ParameterError("answer and truth must be the same quantiles, got different ones; ask both for the same.")
    if answer.names != truth.names and truth.names and truth.value.ndim == 1 and len(answer.names) == answer.value.size:
        known = dict(zip(truth.names, truth.value.tolist(), strict=True))
        value = np.array([known.get(name, 0.0) for name in answer.names])
        truth = replace(truth, value=value, stderr=np.zeros(value.size), names=answer.names)
    if answer.value.shape != truth.value.shape:
        raise ParameterError("answer and truth must be of the same items, got different shapes; use one query.")
    return Simulation(answer, truth)


def _root_mean_square(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0


def _beside(row: Entry, truth: float, level: float = 0.95) -> str:
    """A number with its interval, and the truth in as many figures."""
    low, high = (row.value or 0.0 if end is None else end for end in (row.low, row.high))
    return f"{in_words(row, level)}; the truth is {with_unit(Amount(truth, low, high).texts[0], row.unit)}"
