"""To and from dp-accounting (Google's library): privacy loss distributions and events, all with replace-one neighbors.

Importing this module needs the extra ``accounting``.  No other module of shuffledp needs it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..._support import validation as check
from ...errors import ParameterError
from ...numerics.composition.loss_grid import Sum
from ...numerics.pair import FloatArray

try:
    import attr
    from dp_accounting import dp_event
    from dp_accounting.pld import pld_pmf
    from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
    from dp_accounting.pld.privacy_loss_distribution import (
        PrivacyLossDistribution,
        from_gaussian_mechanism,
        from_laplace_mechanism,
    )
    from dp_accounting.privacy_accountant import NeighboringRelation
except ImportError:
    raise ParameterError(
        "this needs the package dp-accounting, which is not installed; pip install '.[accounting]' in a "
        "checkout of shuffledp."
    ) from None

#: Relative slack on deltas that dp-accounting computed (its masses are second differences in double precision).
_SLACK = 1e-8
#: How replace-one is split into two add/remove steps: parts of eps given to the first step.
_SPLITS = np.linspace(0.0, 1.0, 17)


@attr.s(frozen=True, slots=True, auto_attribs=True)
class ShuffledRoundEvent(dp_event.DpEvent):  # type: ignore[misc]
    """One shuffled round, as an event of dp-accounting; its neighbors are replace-one.

    Understood by :meth:`shuffledp.Accountant.compose_event` and by ``ShuffleAccountant`` of the module ``events``, also
    inside ``ComposedDpEvent`` and ``SelfComposedDpEvent``.

    Examples
    --------
    >>> ShuffledRoundEvent("grr:eps0=1,d=4", 1000).n
    1000
    """

    mechanism: str
    n: int
    bound: str = "auto"


def export(whole: Sum) -> Any:
    """The composed loss as a pessimistic ``PrivacyLossDistribution``, symmetric in its two directions.

    The transform here is not tilted, so its round-off is absolute: it is added to the infinite loss, together with the
    tail beyond the window.  Deltas below that mass, some 1e-12 to 1e-9, cannot be read from the export.
    """
    window = whole.window(0.0)
    slip = math.sqrt(window.law.size) * window.error
    with np.errstate(under="ignore"):
        mass = np.maximum(window.law, 0.0) * math.exp(window.log_z + window.doubt)
    infinite = (whole.infinite + slip + window.beyond) * math.exp(max(whole.log_mass, 0.0) + window.doubt)
    # left of the window: at most what Chernoff allows wrapped around, which only moves it up
    pmf = pld_pmf.DensePLDPmf(whole.step, window.first, mass, min(infinite, 1.0), True)
    return PrivacyLossDistribution(pmf)


def leaves(event: object, count: int = 1) -> Iterator[tuple[Any, int]]:
    """The events inside compositions, each with its number of repetitions."""
    if not isinstance(event, dp_event.DpEvent):
        raise ParameterError(
            f"event must be a DpEvent of dp-accounting, got {type(event).__name__}; see dp_accounting.GaussianDpEvent."
        )
    if isinstance(event, dp_event.SelfComposedDpEvent):
        yield from leaves(event.event, count * check.whole("count", event.count, low=1, hint="it counts repetitions"))
    elif isinstance(event, dp_event.ComposedDpEvent):
        for part in event.events:
            yield from leaves(part, count)
    elif not isinstance(event, dp_event.NoOpDpEvent):
        noise = getattr(event, "noise_multiplier", None)
        if noise is not None:
            check.in_range("noise_multiplier", noise, low=0.2, high=1e6, hint="less noise hides almost nothing")
        yield event, count


def supports(event: Any, *, neighbors: str) -> str | None:
    """None if dp-accounting can account for this leaf under these neighbors, else its reason."""
    accountant = PLDAccountant(_RELATIONS[neighbors])
    problem = accountant._maybe_compose(event, 1, False)
    return None if problem is None else str(problem.error_message)


def profile(event: Any, *, neighbors: str) -> Callable[[FloatArray, float], FloatArray]:
    """log delta(eps) of one event for replace-one neighbors, from the pessimistic distribution of dp-accounting.

    With add-or-remove neighbors a replacement is two steps, one removal and one addition, and for E = E1 E2
    D_E(P||Q) <= D_E1(P||R) + E1 D_E2(R||Q); the best of several splits is taken.
    """
    # an interval of a fiftieth of the deviation of the loss, which is about delta(0)/0.4
    coarse = float(_distribution(event, neighbors, 1e-3)[0](0.0))
    once, slip = _distribution(event, neighbors, min(max(0.05 * coarse, 1e-6), 1e-3))

    def log_delta(eps: FloatArray, tol: float) -> FloatArray:
        if neighbors == "replace-one":
            value = np.array([once(float(x)) for x in eps])
        else:
            value = np.array([min(once(a * x) + math.exp(a * x) * once(x - a * x) for a in _SPLITS) for x in eps])
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.clip(value * (1.0 + _SLACK) + slip, 0.0, 1.0)))

    return log_delta


def limit(event: Any, *, neighbors: str) -> float:
    """An eps at which delta is 0: Laplace noise has one (twice, for a removal and an addition), the others get inf."""
    if isinstance(event, dp_event.LaplaceDpEvent) and event.noise_multiplier > 0 and neighbors != "replace-one":
        return 2.0 / float(event.noise_multiplier) * (1.0 + 2.0**-50)
    return math.inf


def gaussian_mu(event: Any) -> float | None:
    """The mu of Gaussian noise for replace-one neighbors; None for other events.

    The noise multiplier is the deviation over the sensitivity to adding or removing a record, and a replacement moves
    the sum by up to twice that.
    """
    if isinstance(event, dp_event.GaussianDpEvent) and event.noise_multiplier > 0:
        return 2.0 / float(event.noise_multiplier) * (1.0 + 2.0**-50)
    return None


def _distribution(event: Any, neighbors: str, interval: float) -> tuple[Callable[[float], float], float]:
    """delta(eps) of dp-accounting for one event, and by how much rounding may have lowered it.

    Gaussian and Laplace noise are built without a transform.  Others pass through PLDAccountant, which convolves
    with the identity by FFT: an absolute round-off, bounded like that of numerics/composition/loss_grid.py, is added.
    """
    pld = None
    if isinstance(event, dp_event.GaussianDpEvent) and event.noise_multiplier > 0:
        pld = from_gaussian_mechanism(
            event.noise_multiplier,
            value_discretization_interval=interval,
            neighboring_relation=_RELATIONS[neighbors],
        )
    elif isinstance(event, dp_event.LaplaceDpEvent) and event.noise_multiplier > 0:  # add-or-remove only
        pld = from_laplace_mechanism(event.noise_multiplier, value_discretization_interval=interval)
    if pld is not None:
        return lambda eps: float(pld.get_delta_for_epsilon(eps)), 1e-25
    accountant = PLDAccountant(_RELATIONS[neighbors], interval).compose(event)
    return lambda eps: float(accountant.get_delta(eps)), 1e-12


#: The words of shuffledp for the neighboring relations of dp-accounting.
_RELATIONS = {
    "replace-one": NeighboringRelation.REPLACE_ONE,
    "add-or-remove-one": NeighboringRelation.ADD_OR_REMOVE_ONE,
}
