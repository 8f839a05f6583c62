"""Shares of keys, and means of their values: ratios of two estimates, with Fieller's intervals."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._support import validation as check
from .._support.arrays import FloatArray
from .._support.json_ready import json_object
from .._support.tables import Table, number_column
from ..errors import ParameterError
from ..estimation.answer import Entry, in_words, texts_of
from ..estimation.constraints import Box
from ..estimation.drawing import MOST_ITEMS, Look
from ..estimation.estimate import COVERED, SHARE, Estimate
from .base import known_shares
from .domains import Interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _zeros() -> FloatArray:
    return np.zeros(0)


@dataclass(frozen=True, eq=False, repr=False)
class HolderMeans(Estimate):
    """The mean value of the holders of each key: the ratio B/A of a sum of values and a share of users.

    The ratio is *biased*, by about ``bias`` (to second order); its standard error is that of the delta method.  It is
    NaN where the share is not above 0.  :meth:`interval` is Fieller's, which does not rest on either approximation:
    B - m A is unbiased for 0 at the true mean m, whatever the share is, so the interval holds all m of the range
    that this does not contradict.  Where the share may be 0 it is the whole range.

    Reports do not show how far the values of holders are spread.  At the true mean this spread is all that drawing the
    users from a population adds to B - m A, and it may be 0: one interval is for the users and for the population,
    exact for both where holders agree, else too wide for the users.

    Attributes
    ----------
    bias : of the ratio, in the unit of the values
    share, total : A and B, of values scaled to [-1, 1]
    spread : variances of A and of B and their covariance, in rows, for users drawn from a population
    low, high : the range of the values
    """

    bias: FloatArray = field(default_factory=_zeros)
    share: FloatArray = field(default_factory=_zeros)
    total: FloatArray = field(default_factory=_zeros)
    spread: FloatArray = field(default_factory=_zeros)
    low: float = -1.0
    high: float = 1.0

    def interval(self, level: float = 0.95, *, of: str = "users") -> tuple[FloatArray, FloatArray]:
        """Fieller's interval of every mean, inside the range of the values (Fieller, JRSS B 1954)."""
        level = check.share("level", level)
        check.one_of("kind of coverage", of, COVERED)
        z = statistics.NormalDist().inv_cdf(0.5 + 0.5 * level)
        va, vb, both = self.spread
        # all m with (B - m A)^2 <= z^2 (vb - 2 m both + m^2 va)
        bend = self.share**2 - z * z * va
        slope = self.share * self.total - z * z * both
        rest = self.total**2 - z * z * vb
        root = np.sqrt(np.maximum(slope**2 - bend * rest, 0.0))
        sure = (bend > 0.0) & (self.share > 0.0)
        divide = np.where(sure, bend, 1.0)
        ends = [np.where(sure, np.clip((slope + side * root) / divide, -1.0, 1.0), side) for side in (-1.0, 1.0)]
        middle, half = 0.5 * (self.low + self.high), 0.5 * (self.high - self.low)
        return middle + half * ends[0], middle + half * ends[1]

    def taken(self, places: NDArray[np.intp]) -> HolderMeans:
        """The entries at these places."""
        names = self.labels
        return replace(
            self,
            names=tuple(names[i] for i in places),
            **{key: getattr(self, key)[places] for key in ("value", "stderr", "bias", "share", "total")},
            spread=self.spread[:, places],
        )


@dataclass(frozen=True, eq=False, repr=False)
class KeyValueAnswer(Estimate):
    """The shares of users who hold each key; ``means`` are those of the values that they hold there."""

    means: HolderMeans = field(default_factory=lambda: HolderMeans(value=_zeros(), stderr=_zeros(), n=0))

    def taken(self, places: NDArray[np.intp]) -> KeyValueAnswer:
        """The keys at these places."""
        found = super().taken(places)
        return replace(self, **{**vars(found), "means": self.means.taken(places)})

    def counts(self) -> KeyValueAnswer:
        """Numbers of users who hold the keys; the means stay as they are."""
        return replace(self, **vars(super().counts()))

    def rounded(self, step: int) -> Estimate:
        """Refused: the means beside the shares would say more than multiples."""
        raise ParameterError(
            f"step (--round) must be left out where means are answered beside shares, got {step}; leave it out."
        )

    def entries(self) -> Iterator[Entry]:
        """The shares of all keys, then their means."""
        yield from self._own_entries()
        yield from (row._replace(item=f"mean of {row.item}") for row in self.means.entries())

    def words(self) -> list[str]:
        """The means, and the largest standard error of a share."""
        means = [in_words(row._replace(item=f"mean of {row.item}")) for row in self.means.entries()]
        return [*means[:MOST_ITEMS], *super().words()]

    def table(self) -> Table:
        """One row per key: its share of users and the mean of its values, each with a 95% interval."""
        shares, means = super().table(), self.means
        rows, bias = list(means.entries()), means.bias.tolist()
        shown = zip(*map(texts_of, rows), strict=True) if rows else [[], [], []]
        heads = (f"mean value{f' ({means.unit})' if means.unit else ''}", "95% from", "to")
        values = [[getattr(row, key) for row in rows] for key in ("value", "low", "high")]
        every = zip(("mean", "mean_low", "mean_high"), heads, values, map(list, shown), strict=True)
        more = (
            *(number_column(*column) for column in every),
            number_column("mean_bias", "bias of the mean", bias, [f"{x:+.1g}" for x in bias]),
        )
        return replace(shares, columns=(*shares.columns, *more))

    def to_dict(self) -> dict[str, Any]:
        """The shares, and the means with their bias."""
        rows = list(self.means.entries())
        means = {key: [getattr(row, key) for row in rows] for key in ("value", "stderr", "low", "high")}
        return {**super().to_dict(), "means": json_object({**means, "bias": self.means.bias.tolist()})}

    def _draw(self, look: Look) -> Figure:
        """Two panels: the shares of the keys, and the means of their values (needs the extra ``plot``)."""
        from .drawing import draw_key_values

        return draw_key_values(self, look)


def _answer(
    shares: Estimate, values: Interval, mean: FloatArray, stderr: FloatArray, bias: FloatArray, **known: Any
) -> KeyValueAnswer:
    """The shares with the means, which are of values in [-1, 1], in the unit of the query."""
    half, middle = 0.5 * values.width, 0.5 * (values.low + values.high)
    means = HolderMeans(
        value=middle + half * mean,
        stderr=half * stderr,
        n=shares.n,
        for_release=shares.for_release,
        names=shares.names,
        unit=values.unit,
        quantity="mean value of the holders",
        bias=half * bias,
        low=values.low,
        high=values.high,
        **known,
    )
    kept = {key: entry for key, entry in vars(shares).items() if key in Estimate.__dataclass_fields__}
    return KeyValueAnswer(**kept, means=means)


def key_value_answer(found: Estimate, keep: float, names: tuple[str, ...], values: Interval) -> KeyValueAnswer:
    """The answer from estimates of shares A (row 0) and sums B of values in [-1, 1] (row 1).

    A report that names a key adds 1/gain to n A, and its sign over gain to n B.  Only holders have a sign that
    depends on them, and they name the key with probability ``keep``: the covariance is B (1 - keep)/(n gain).
    """
    size, n = len(names), found.n
    shares = replace(found.taken(np.arange(size)), names=names, quantity=SHARE)
    (share, total), error = found.value, found.stderr
    gain = 1.0 / (n * float(np.max(found.grain)))
    away = 1.0 - np.clip(share, 0.0, 1.0)
    own, drawn = error[0] ** 2, (1.0 - away) * away / n
    # drawing users adds share (1 - share)/n and B (1 - share)/n; the variance of B has it already (pckv-grr)
    spread = np.stack([own + drawn, error[1] ** 2, total * ((1.0 - keep) / gain + away) / n])
    known = share > 0.0
    divide = np.where(known, share, np.nan)
    mean = total / divide
    bias = (mean * spread[0] - spread[2]) / divide**2
    stderr = np.sqrt(np.maximum(spread[1] - 2.0 * mean * spread[2] + mean**2 * spread[0], 0.0)) / divide
    return _answer(shares, values, mean, stderr, bias, share=share, total=total, spread=spread)


def known_answer(shares: FloatArray, sums: FloatArray, n: int, names: tuple[str, ...], values: Interval) -> Estimate:
    """The answer of known users, without noise; sums are of values in [-1, 1]."""
    none, spread = np.zeros(shares.size), np.zeros((3, shares.size))
    mean = np.divide(sums, shares, out=np.full(shares.size, np.nan), where=shares > 0.0)
    held = known_shares(shares, n, Box(0.0, 1.0), names)
    return _answer(held, values, mean, none, none, share=shares, total=sums, spread=spread)
