"""An answer beside the truth: how large the error is, and how large it was predicted to be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from .._support.figures import TEXT_WIDTH
from .._support.json_ready import json_object
from .._support.tables import Column, Table, Tabular, number_column
from .._support.units import error_in, figures
from ..errors import ParameterError
from ..estimation.estimate import Estimate
from ..queries.quantiles import Quantiles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .._support.canvas import Labels


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

    def table(self) -> Table:
        """One row per quantile."""
        item, *rest = self.answer.table().columns
        known = self.truth.value.tolist()
        true = number_column("truth", "truth", known, [figures(x, 5) for x in known])
        return Table((item, true, *rest), caption="estimate beside the truth; not private")

    def __str__(self) -> str:
        """How far they are off."""
        off = float(np.max(np.abs(self.answer.value - self.truth.value)))
        return (
            f"The largest error is {error_in(off, self.answer.unit)}; {100 * self.covered:.0f}% of the intervals hold "
            "the truth. The truth is shown: this output is not private."
        )

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        true = {"truth": self.truth.value.tolist(), "covered": self.covered, "users": self.answer.n}
        return json_object({**self.answer.to_dict(), **true})

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
    def rmse(self) -> float:
        """Root of the mean squared error over the items."""
        return float(np.sqrt(np.mean((self.answer.value - self.truth.value) ** 2)))

    @property
    def predicted(self) -> float:
        """Root of the mean squared standard error."""
        return float(np.sqrt(np.mean(self.answer.stderr**2)))

    @property
    def covered(self) -> float:
        """The share of items whose 95% interval holds the truth."""
        low, high = self.answer.interval()
        return float(np.mean((low <= self.truth.value) & (self.truth.value <= high)))

    def table(self) -> Table:
        """One row per item."""
        truth, value = self.truth.value.ravel(), self.answer.value.ravel()
        error = self.answer.stderr.ravel()
        with np.errstate(divide="ignore", invalid="ignore"):
            off = np.nan_to_num((value - truth) / error, nan=0.0)
        return Table(
            (
                Column(name="item", head="item", values=self.answer.labels, right=True),
                number_column("truth", "truth", truth.tolist(), [f"{x:.5g}" for x in truth]),
                number_column("value", "estimate", value.tolist(), [f"{x:.5g}" for x in value]),
                number_column("stderr", "standard error", error.tolist(), [f"{x:.2g}" for x in error]),
                number_column("off", "off by (standard errors)", off.tolist(), [f"{x:+.1f}" for x in off]),
            ),
            caption="estimate beside the truth; not private",
        )

    def __str__(self) -> str:
        """The errors in a sentence."""
        return (
            f"Error {self.rmse:.3g} per item (root mean square), predicted {self.predicted:.3g}; "
            f"{100 * self.covered:.0f}% of the 95% intervals hold the truth. "
            "The truth is shown: this output is not private."
        )

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return json_object(
            {
                "items": self.answer.labels,
                "truth": self.truth.value.tolist(),
                "value": self.answer.value.tolist(),
                "stderr": self.answer.stderr.tolist(),
                **{key: getattr(self, key) for key in ("rmse", "predicted", "covered")},
                "users": self.answer.n,
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
        raise ParameterError("answer and truth must be the same quantiles, got others; ask both for the same.")
    if answer.names != truth.names and truth.names and truth.value.ndim == 1 and len(answer.names) == answer.value.size:
        known = dict(zip(truth.names, truth.value.tolist(), strict=True))
        value = np.array([known.get(name, 0.0) for name in answer.names])
        truth = replace(truth, value=value, stderr=np.zeros(value.size), names=answer.names)
    if answer.value.shape != truth.value.shape:
        raise ParameterError("answer and truth must be of the same items, got different shapes; use one query.")
    return Simulation(answer, truth)
