"""Key-value collection: how many users hold each key, and the sum of the values they hold."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._support.exponentials import exp, expm1
from ...estimation.constraints import KeyValues, SumAtMost
from ...estimation.estimate import Estimate, modeled, pure
from ...estimation.variance import Variance
from ...numerics.pair import FloatArray, IntArray, ShuffledPair, both_directions
from ...randomness.sampling import Array, Source, below, bernoulli, words
from ...randomness.thresholds import chance_of, exact_chance
from ..codecs import Category
from ..frequency import FrequencyOracle
from ..parameters import whole
from ..two_level import law, vertices
from ..values import key_values, paired


@dataclass(frozen=True, kw_only=True)
class PCKVGRR(FrequencyOracle):
    """PCKV-GRR: padding-and-sampling, then randomized response on (key, sign) (Gu et al., USENIX Security 2020).

    A user holds some of d keys, each with a value in [-1, 1].  It samples one of its c pairs, or with probability
    (1 - c/l)_+ one of l dummy keys (of value 0), and rounds the value to a sign, + with probability (1+v)/2.
    With e = e^eps0 and Omega = l(e-1) + 2(d+l) the sampled (key, sign) is sent with probability l(e-1)/Omega, else
    a uniform one of all 2(d+l).  This is the authors' protocol at its optimal split of the budget: the key is
    kept with a = (l(e-1)+2)/Omega, the sign of a kept key with P = (l(e-1)+1)/(l(e-1)+2), any other report is 1/Omega.

    Parameters
    ----------
    eps0 : float > 0
        Local budget.
    d : int >= 1
        Number of keys, numbered from 0.
    l : int in [1, d]
        Padding length; estimates are unbiased if nobody holds more than l keys.

    Notes
    -----
    Values are an array of shape (users, m, 2) of (key, value) rows, key -1 for "none", or a tuple (keys, values) of
    two arrays of shape (users, m).  A report is 2 key + (1 if the sign is +); keys d, ..., d+l-1 are dummies.

    The estimate has shape (2, d): row 0 the share of users who hold each key, row 1 the sum of its values over
    the number of users.  Both are unbiased; their ratio (:meth:`means`) is not.

    p = q = e, beta = l(e-1)/Omega.  R(x)_y = (1 + l(e-1) pi_x(y))/Omega, where pi_x is the law of the sampled symbol,
    and the blanket is 1/Omega on every symbol.  *One pair suffices*: the divergence is convex in each pi and does not
    change under permutations of the symbols; every pi_x is a mixture of uniform laws on l symbols (permuted); and
    with the argument of :class:`SamplingRappor` the worst two such sets are disjoint.  l keys with signs + against
    the same keys with signs - are such a pair, which is symmetric in its two inputs.

    Examples
    --------
    >>> import numpy as np
    >>> m = PCKVGRR(eps0=4.0, d=3, l=2)
    >>> values = np.array([[[0, 1.0], [2, -0.5]], [[0, 0.5], [-1, 0.0]]] * 5000)
    >>> est = m.estimate(m.privatize(values, rng=np.random.default_rng(0)))
    >>> bool(np.all(abs(est.value - [[1.0, 0.0, 0.5], [0.75, 0.0, -0.25]]) < 5 * est.stderr))
    True
    """

    name = "pckv-grr"
    _in_words = "PCKV-GRR on {d:,} keys with padding length {l:,} and eps0 = {eps0}"
    _takes = "key-values"
    serves = ("key-values",)
    _holds = (0, "l")

    d: int = whole(low=1, high=2**30, hint="d counts the keys")
    l: int = whole(low=1, high=lambda m: m.d, hint="l is how many keys a user may hold, at most d")

    @property
    def _symbols(self) -> int:
        return 2 * (self.d + self.l)

    @property
    def _total(self) -> float:
        """Omega/e."""
        return self.l * -expm1(-self.eps0) + self._symbols * exp(-self.eps0)

    @property
    def _unit(self) -> float:
        """1/Omega: the probability of a symbol that could not have been sampled."""
        return exp(-self.eps0) / self._total

    @property
    def _gain(self) -> float:
        """(e-1)/Omega: what holding a key adds to the probability of reporting it."""
        return -expm1(-self.eps0) / self._total

    @property
    def keep(self) -> float:
        """(e+1)/Omega: the report names a key that is held, among at most l."""
        return self.stray + self._gain

    @property
    def stray(self) -> float:
        """2/Omega: it names another key."""
        return 2 * self._unit

    @property
    def beta(self) -> float:
        """l(e-1)/Omega."""
        return self.l * self._gain

    @property
    def _constraint(self) -> KeyValues:
        """At most l keys each, and sums of values no larger than shares."""
        return KeyValues(self.l)

    @property
    def codec(self) -> Category:
        """2 key + (1 if the sign is +)."""
        return Category(self._symbols, scratch=128 + 48 * self.l)

    def _pair(self, *blocks: tuple[float, float, float, float]) -> ShuffledPair:
        """Blocks (symbols, and the excess of P0, P1 and t over 1/Omega per symbol, in units of (e-1)/Omega)."""
        b, g = self._unit, self._gain
        return ShuffledPair(*([block[0] * (b + block[i] * g) for block in blocks] for i in (1, 2, 3)))

    def _blanket(self) -> list[ShuffledPair]:
        """l symbols against l others, the remaining 2d alike."""
        l = self.l
        return [self._pair((l, 1, 0, 0), (l, 0, 1, 0), (2 * self.d, 0, 0, 0))]

    def _types(self) -> list[list[ShuffledPair]]:
        """Three sets of l symbols each, of all 2(d+l): every law is a mixture of uniform ones on such sets."""
        b, size = self._unit, self._symbols
        return [[law(share, size * b, size * (b + self._gain)) for share in vertices(Fraction(self.l, size))]]

    def _constant_datasets(self) -> list[ShuffledPair]:
        """Others hold up to l further keys (dummies for the rest), nothing, or what the victim may hold."""
        l, spare = self.l, 2 * self.d
        pairs = both_directions(self._pair((l, 1, 0, 1), (l, 0, 1, 0), (spare, 0, 0, 0)))
        for more in sorted({min(l, 2 * (self.d - l)), 0}):  # symbols of x* that are not of x0 or x1
            dummy = (l - more) / (2.0 * l)
            others = [(more, 0, 0, 1), (2 * l, 0, 0, dummy), (spare - more - 2 * l, 0, 0, 0)]
            pairs.append(self._pair((l, 1, 0, 0), (l, 0, 1, 0), *others))
        return pairs

    # -- running it ---------------------------------------------------------------------------------------------

    def _inputs(self, values: ArrayLike) -> Any:
        return super()._inputs(paired(values))

    def _check(self, values: Array) -> Array:
        return key_values(values, self.d)

    def _portable_law(self) -> dict[str, Any]:
        return {"kind": "keep", "size": self._symbols, "keep": chance_of(self.beta, self._symbols * self._unit)}

    def _randomize(self, values: Array, src: Source) -> Array:
        size = len(values)
        report = np.where(
            bernoulli(src, exact_chance(self._symbols * self._unit, self.beta), size),
            below(src, self._symbols, size),
            self._sample(values, src),
        )
        return report.astype(self.codec.dtype)

    def _sample(self, values: Array, src: Source) -> IntArray:
        """Padding-and-sampling: a pair of the user or a dummy, with its value rounded to a sign."""
        size = len(values)
        held = values[:, :, 0] >= 0
        count = held.sum(axis=1)
        slots = np.maximum(count, self.l)
        slot = np.empty(size, dtype=np.int64)
        for bound in np.unique(slots):
            at = np.flatnonzero(slots == bound)
            slot[at] = below(src, int(bound), at.size)
        place = np.argmax(np.cumsum(held, axis=1) > slot[:, None], axis=1)  # 0 if there is none: a dummy, below
        chosen = values[np.arange(size), place]
        real = slot < count
        key = np.where(real, chosen[:, 0], self.d + below(src, self.l, size).astype(np.int64)).astype(np.int64)
        value = np.where(real, chosen[:, 1], 0.0)
        plus = (words(src, size, 64) >> np.uint64(1)) < ((value + 1.0) * 2.0**62).astype(np.uint64)
        return 2 * key + plus

    def _infer(self, counts: Array, users: int) -> Estimate:
        minus, plus = (counts[sign : 2 * self.d : 2].astype(np.float64) for sign in (0, 1))
        held = pure(minus + plus, users, self.keep, self.stray, SumAtMost(self.l))
        value = np.stack([held.value, (plus - minus) / (users * self._gain)])
        # A report adds +-1/gain to a sum of values if it names the key, and the mean square of what users hold is at
        # least the square of the sum.  For a population that is the variance: nothing is added.
        rate = self.stray + self._gain * np.clip(held.value, 0.0, 1.0)
        own, other = (x * (1.0 - x) for x in (self.keep, self.stray))
        unit = 1.0 / (users * self._gain**2)
        noise = Variance(
            np.stack([np.full(self.d, other), rate]) * unit,
            np.array([[own - other], [0.0]]) * unit,
            np.array([[0.0], [-1.0]]) / users,
        )
        share = np.array([[1.0], [0.0]]) / users
        sampling = Variance(0.0, share, -share)
        influence = np.array([[1.0], [2.0]]) * held.grain  # a sign may become the other one
        return modeled(value, users, self._constraint, noise, sampling, grain=held.grain, influence=influence)

    @staticmethod
    def means(estimate: Estimate) -> FloatArray:
        """Mean value of each key among its holders: a ratio of estimates, hence *biased*; NaN where none hold it."""
        share, total = estimate.value
        return np.asarray(np.divide(total, share, out=np.full(share.shape, np.nan), where=share > 0))

    def inputs(self) -> list[list[tuple[int, float]]]:
        """Every set of keys with values -1 or 1 (all others are mixtures), padded to d rows."""
        self._few_cells(3**self.d * self._symbols if self.d <= 12 else math.inf)
        signs = itertools.product((0, 1, -1), repeat=self.d)
        return [[(key, float(v)) if v else (-1, 0.0) for key, v in enumerate(sign)] for sign in signs]

    def probabilities(self) -> FloatArray:
        """(1 + l(e-1) pi_x)/Omega."""
        inputs = self.inputs()
        out = np.full((len(inputs), self._symbols), self._unit)
        for row, pairs in zip(out, inputs, strict=True):
            held = [(key, v) for key, v in pairs if key >= 0]
            for key, v in held:
                row[2 * key + (v > 0)] += self._gain * self.l / max(len(held), self.l)
            row[2 * self.d :] += self._gain * max(self.l - len(held), 0) / (2 * self.l)
        return out
