"""The most likely shares of the inputs, by expectation maximization: consistent by itself, and biased.

Reports with column counts c come from sum_x f_x R_x, R_x the rows of a finite law.  Their log-likelihood is concave in
f, and every step

    f_x <- f_x sum_y (c_y/n) R_x(y) / sum_z f_z R_z(y)

raises it (Dempster, Laird, Rubin, JRSS B 39, 1977), keeps f >= 0 and its sum 1.  For ordered bins each step may be
followed by a moving average with the weights (1, 2, 1)/4, which stands for "neighboring bins are alike" (EMS: Li, Wang,
Lopuhaa-Zwakenberg, Li, Skoric, SIGMOD 2020, Algorithm 1): less noise, more bias.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support import validation as check
from .._support.arrays import FloatArray
from ..errors import ParameterError
from .constraints import Simplex
from .estimate import SHARE, Estimate

METHODS = ("unbiased", "em")
#: Steps after which a fit stops, if its likelihood has not settled before.
_MOST_STEPS = 2_000
#: A fit has settled if a step adds less than this to the log-likelihood of all reports, as in the paper of EMS.
_SETTLED = 1e-3
#: Fitted again on this many sets of reports drawn from the fit.
REPETITIONS = 100
#: Numbers of a law times repetitions that are held at once.
_CELLS = 2**24


@dataclass(frozen=True, eq=False, repr=False)
class FittedEstimate(Estimate):
    """Shares that were fitted by maximum likelihood, with the spread of a bootstrap.

    ``stderr`` is the standard deviation of fits to reports that users with the fitted shares would send (a parametric
    bootstrap of the privacy noise).  It does not see the bias of the fit, so no interval here has a known coverage.

    Attributes
    ----------
    replicates : the fits of the bootstrap, one row each
    smoothed : whether neighboring bins were taken to be alike

    Examples
    --------
    >>> import shuffledp as sdp
    >>> m = sdp.GRR(eps0=2.0, d=4)
    >>> reports = m.privatize([0] * 600 + [1] * 400, rng=np.random.default_rng(0))
    >>> fitted = m.estimate(reports, method="em")
    >>> float(fitted.value.sum().round(9)), bool((fitted.value >= 0).all())
    (1.0, True)
    >>> low, high = fitted.bootstrap(0.9)
    >>> bool(np.all(low <= high))
    True
    """

    replicates: FloatArray = field(default_factory=lambda: np.zeros((2, 0)))
    smoothed: bool = False

    def bootstrap(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Percentiles of the fits to reports that were drawn from the fit: where it could have landed by chance.

        They are no confidence intervals: a fit is biased where shares are near 0 or smoothed, and they move with it.
        Intervals that cover the truth are those of the unbiased estimate.
        """
        level = check.share("level", level)
        ends = np.quantile(self.replicates, [0.5 - 0.5 * level, 0.5 + 0.5 * level], axis=0)
        return ends[0], ends[1]

    def interval(self, level: float = 0.95, *, of: str = "users") -> tuple[FloatArray, FloatArray]:
        """Refused: a fit has no interval that is known to cover the truth."""
        raise ParameterError(
            "interval must be asked of the unbiased estimate, got a fit by maximum likelihood, which is biased; call "
            "estimate without method, or bootstrap() for the spread of the fit."
        )

    def words(self) -> list[str]:
        """What the errors are, in people's units."""
        how = "maximum likelihood" + (", with neighbors taken to be alike" if self.smoothed else "")
        return [
            f"Fitted by {how}, which is biased; a bootstrap spreads by a standard error of at most "
            f"{self.error_in_words(float(self.stderr.max()))}, without that bias."
        ]


def fitted(
    counts: NDArray[Any], law: FloatArray, *, smooth: bool, repetitions: int, names: tuple[str, ...] = ()
) -> FittedEstimate:
    """The shares of the inputs (rows of ``law``) that make the counts of its columns most likely.

    The bootstrap draws from a generator with a fixed seed, so that the same reports give the same answer.

    Examples
    --------
    >>> coin = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> fitted(np.array([60, 40]), coin, smooth=False, repetitions=20).value.round(2).tolist()
    [0.7, 0.3]
    """
    if np.any((counts > 0) & ~(law > 0.0).any(axis=0)):
        raise ParameterError(
            "reports must be possible under the law of the mechanism, got some that are not; check who sent them."
        )
    users = int(counts.sum())
    value = _fit(counts[None, :], law, smooth)[0]
    drawn = _drawn(value, users, law, repetitions)
    together = max(1, _CELLS // law.size)
    parts = [_fit(drawn[i : i + together], law, smooth) for i in range(0, repetitions, together)]
    replicates = np.concatenate(parts)
    return FittedEstimate(
        value=value,
        stderr=replicates.std(axis=0, ddof=1),
        n=users,
        step="ems" if smooth else "em",
        constraint=Simplex(),
        quantity=SHARE,
        names=names,
        ordered=bool(names),
        replicates=replicates,
        smoothed=smooth,
    )


def _drawn(shares: FloatArray, users: int, law: FloatArray, repetitions: int) -> NDArray[np.int64]:
    """Counts of reports of users with these shares, who are the same in every repetition: only the noise is drawn."""
    held = np.floor(users * shares).astype(np.int64)
    most = np.argsort(held - users * shares, kind="stable")[: users - int(held.sum())]
    held[most] += 1
    rng = np.random.default_rng(0)
    total = np.zeros((repetitions, law.shape[1]), dtype=np.int64)
    for count, row in zip(held.tolist(), law, strict=True):
        if count:
            total += rng.multinomial(count, row / row.sum(), size=repetitions)
    return total


def _fit(counts: NDArray[Any], law: FloatArray, smooth: bool) -> FloatArray:
    """The fit to each row of counts; a row that has settled is left as it is."""
    shares = counts / counts.sum(axis=1, keepdims=True)
    found = np.full((len(counts), len(law)), 1.0 / len(law))
    before, active = np.full(len(counts), -np.inf), np.arange(len(counts))
    for _ in range(_MOST_STEPS):
        likely = found[active] @ law
        with np.errstate(divide="ignore", invalid="ignore"):
            now = np.where(counts[active] > 0, counts[active] * np.log(likely), 0.0).sum(axis=1)
            ratio = np.where(shares[active] > 0.0, shares[active] / likely, 0.0)
        moving = now - before[active] >= _SETTLED
        before[active] = now
        active, ratio = active[moving], ratio[moving]
        if not active.size:
            break
        step = found[active] * (ratio @ law.T)
        found[active] = _averaged(step) if smooth else step
        found[active] /= found[active].sum(axis=1, keepdims=True)
    return found


def _averaged(shares: FloatArray) -> FloatArray:
    """A moving average with the weights (1, 2, 1)/4; at either end (2, 1)/3."""
    if shares.shape[1] < 2:
        return shares
    wide = np.pad(shares, ((0, 0), (1, 1)))
    total = wide[:, :-2] + 2.0 * wide[:, 1:-1] + wide[:, 2:]
    weight = np.full(shares.shape[1], 4.0)
    weight[[0, -1]] = 3.0
    return np.asarray(total / weight)
