"""Ranges, the distribution function and quantiles of a number, in the users' own units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from .._support import validation as check
from ..errors import ParameterError
from ..estimation.estimate import Estimate
from ..mechanisms.composite.tree_levels import TreeLevels
from ..mechanisms.frequency import FrequencyOracle
from ..mechanisms.randomizer import Randomizer
from ..mechanisms.reports import Tally
from .base import NumberQuery, runnable
from .columns import Column, Weights, as_numbers, shares_of
from .range_answer import RangeAnswer, different_shares, range_answer

#: Bins of one query, at most.
MOST_BINS = 2**20
#: Weights of the levels are written as shares of this many.
_SHARES = 1000


@dataclass(frozen=True, kw_only=True)
class RangeQuery(NumberQuery):
    """The share of users in any range of a number: each reports its node on one random level of a tree of bins.

    Parameters
    ----------
    column : str
        Where the numbers are.
    low, high : float
        The range, declared in advance; numbers outside count in the first or last bin.
    bins : int >= 2
        Bins of equal width; the ends of the ranges that can be asked for are those of bins.
    branching : int >= 2
        Nodes of one level in a node of the next one.
    mechanism : frequency mechanism or spec
        The oracle of every level, without its ``d``: "grr:eps0=2" is the paper's hierarchical randomized response.
        With ``branching`` no less than ``bins`` there is one level, and any mechanism for options can be
        used, also one of several messages.
    weights : "uniform" or "ranges"
        How the users are divided among the levels: evenly, or so that the mean variance of a range is smallest.
    missing : float or "option"
        What a missing number counts as: a number of the range, or an option of its own beside the bins, whose share is
        ``answer.missing`` (ranges are then shares of all users, quantiles those of the users who have a number).
        Data with missing numbers need it; a client on its own that has none takes the middle of the range.  A text is
        a number if it is a decimal in ASCII such as -2.5e3; any other one is missing.
    unit : str
        For example "min".
    quantiles : shares strictly between 0 and 1
        What the question is about, such as (0.5, 0.95, 0.99): ``answer.quantiles()`` gives these, and the commands and
        figures show them in place of all bins.  They change nothing that is sent, and any other quantile or range can
        still be asked for.

    Notes
    -----
    A range is a sum of at most 2 (branching - 1) nodes per level (Cormode, Kulkarni, Srivastava, PVLDB 2019).  With
    weight w_h, level h has variance v_h/w_h a node; if c_h nodes of it are used on average, the sum of
    c_h v_h/w_h is smallest at w_h proportional to sqrt(c_h v_h).

    Examples
    --------
    >>> import shuffledp as sdp
    >>> delay = sdp.queries.RangeQuery(column="delay", low=0, high=64, bins=64, mechanism="grr:eps0=3", unit="min")
    >>> m, values = delay.randomizer, delay.encode([np.arange(100_000) % 64])
    >>> answer = delay.answer(m.tally(m.privatize(values, rng=np.random.default_rng(0))))
    >>> half = answer.range(0, 32)
    >>> bool(abs(half.value[0] - 0.5) < 4 * half.stderr[0])
    True
    """

    kind: ClassVar[str] = "range"

    column: str
    low: float
    high: float
    bins: int
    mechanism: str | Randomizer
    branching: int = 2
    weights: Literal["uniform", "ranges"] = "uniform"
    missing: float | Literal["option"] | None = None
    unit: str = ""
    quantiles: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        self._settle_range()
        if isinstance(self.quantiles, str) or not isinstance(self.quantiles, Sequence | np.ndarray):
            raise ParameterError(f"quantiles must be a list of shares, got {self.quantiles!r:.60}; write [0.5, 0.99].")
        vars(self).update(quantiles=different_shares(self.quantiles) if len(self.quantiles) else ())
        vars(self).update(
            bins=check.whole("bins", self.bins, low=2, high=MOST_BINS, hint="bins divide the range"),
            branching=check.whole("branching", self.branching, low=2, high=MOST_BINS, hint="a node has two or more"),
        )
        check.one_of("weights", self.weights, ("uniform", "ranges"))
        oracle = runnable(self.mechanism, d=self.bins + self._option)
        single = isinstance(oracle, FrequencyOracle) and oracle.single_message
        if not single and "options" not in oracle.serves:
            raise ParameterError(
                f"mechanism must be a frequency mechanism such as 'grr:eps0=2', got {oracle.spec}; choose one."
            )
        object.__setattr__(self, "mechanism", oracle)
        _ = self.tree.oracles  # refuses a mechanism that cannot be used on several levels

    @property
    def question(self) -> str:
        """In words."""
        width = self.domain.words(self.domain.width / self.bins)
        return f"the share of users in any range of {self.column!r}, in steps of {width}"

    @cached_property
    def tree(self) -> TreeLevels:
        """The levels, and the frequency mechanism of each."""
        even = TreeLevels(self.mechanism, self.branching)  # type: ignore[arg-type]  # checked in __post_init__
        return even if self.weights == "uniform" else replace(even, shares=_best_shares(even))

    @property
    def randomizer(self) -> Randomizer:
        """One random level, and its oracle: the paper's mechanism where that is randomized response on even levels."""
        return self.tree.randomizer

    def encode(self, columns: Sequence[Column]) -> Any:
        """The bin of every row; for several oracles its node on every level."""
        return self.tree.inputs(self._leaves(columns[0]))

    def _portable(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Several oracles are given the node of a bin on their level."""
        read, law = super()._portable()
        return read, {**law, "divide": self.branching} if law["kind"] == "one-of" else law

    def _portable_input(self) -> dict[str, Any]:
        return self.domain.portable("bins", 0, bins=self.bins, option=self._option)

    def _leaves(self, column: Column) -> NDArray[np.int64]:
        bins = self.domain.bins(column, self.bins)
        return np.where(np.isnan(as_numbers(column)), self.bins, bins) if self._option else bins

    @property
    def clipping(self) -> str:
        """In words."""
        own = "are an option of their own" if self._option else ""
        return f"values of {self.column!r} {self.domain.clipping(own)}"

    def answer(self, tally: Tally) -> RangeAnswer:
        """The estimates of all nodes, ready to be asked."""
        return self._answer(self.tree.estimates(tally))

    def _answer(self, parts: Sequence[Estimate]) -> RangeAnswer:
        found = range_answer(self.domain, self.branching, parts, self._option)
        return replace(found, note=self.clipping, column=self.column, declared=self.quantiles)

    def exact(self, columns: Sequence[Column], *, weights: Weights = None) -> RangeAnswer:
        """The answer of these rows, without noise."""
        bins = self._leaves(columns[0])
        n = max(len(bins), 1)
        levels = [shares_of(bins // self.branching**h, k, weights) for h, k in enumerate(self.tree.sizes)]
        parts = [Estimate(value=level, stderr=np.zeros(level.size), n=n) for level in levels]
        return self._answer(parts)


def _best_shares(tree: TreeLevels) -> tuple[Fraction, ...]:
    """Proportional to sqrt(c_h v_h) (see the notes of RangeQuery), in whole thousandths."""
    used = [min(2.0 * (tree.branching - 1), 0.5 * size) for size in tree.sizes]
    wanted = [math.sqrt(c * float(oracle.variance(1))) for c, oracle in zip(used, tree.oracles, strict=True)]  # type: ignore[attr-defined]
    parts = [max(1, round(_SHARES * x / math.fsum(wanted))) for x in wanted]
    return tuple(Fraction(part, sum(parts)) for part in parts)
