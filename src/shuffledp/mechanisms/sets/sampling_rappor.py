"""Sampling RAPPOR: a user with a set of items samples one of them and sends it as randomized bits."""

from __future__ import annotations

import bisect
import functools
import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..._support import validation as check
from ..._support.numbers import round_down
from ...errors import BoundNotApplicableError, ParameterError
from ...estimation.constraints import FixedSum
from ...estimation.estimate import Estimate, pure
from ...numerics.families.base import PairSet, both_directions
from ...numerics.pair import ShuffledPair
from ...randomness.sampling import Source, below, bernoulli
from ..codecs import PackedBits
from ..known.variation_ratio import VariationRatio
from ..parameters import budget
from ..randomizer import Randomizer
from ..values import categories

#: A law is stated class by class up to this many classes; beyond, classes are grouped on the safe side.
MAX_CLASSES = 1000
#: Binomial laws are exact integers up to this many bits; sets larger than this use (p, beta, q) only.
MAX_SET = 256
#: beta is summed exactly up to this many terms; beyond, by the Cauchy-Schwarz bound.
_MAX_TERMS = 100_000
_CELLS = 10**6
#: Grid of the grouped laws, in standard deviations from the mean: fine where the mass is.
_GRID = [0.25 * i for i in range(11)] + [3.0, 3.5, 4.25, 5.0, 6.0, 8.0]

Key = tuple[int, int, int]
Classes = dict[Key, int]
Piece = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class SamplingRappor(Randomizer):
    """Sampling RAPPOR for sets of exactly s out of d items (Qin et al., CCS 2016; RAPPOR: Erlingsson et al., CCS 2014).

    The user draws one of its s items uniformly, writes it as a one-hot vector of d bits, and flips every bit
    with probability f = 1/(e^{eps0/2} + 1).  With e = ((1-f)/f)^2, w ones in the report y and m of them inside S,

        R(S)_y = f^w (1-f)^{d-w} (s + m (e-1)) / (s sqrt(e)).

    Parameters
    ----------
    eps0 : float > 0
        Local budget.
    d : int >= 2
        Number of items, numbered from 0.
    s : int in [1, d-1]
        Items that every user holds; values have shape (users, s).

    Notes
    -----
    p = q = e is safe (exact p: 1 + min(s, d-s)(e-1)/s, which is the local guarantee).  The printed beta is too
    small; exact is beta = (1-2f)/(2 s f(1-f)) E|N-N'| with N, N' ~ Bin(k, f), k = min(s, d-s), which by Tanaka's
    formula is (1-2f)/s sum_{i<k} Pr[N_i = N'_i], the probabilities being Legendre polynomials.

    Blanket: the s-subset with the fewest ones holds max(0, w - (d-s)) of them.  *One pair suffices*: with
    W = R(S0) - E R(S1) the divergence is convex in W, and for c in S0 and S1 and o in neither, W lies on the segment
    between the W of (S0, S1-c+o) and of (S0-c+o, S1), because R(S) is a mean over the items of S.  So pairs with
    a smaller overlap are at least as bad, at every E and n; pairs of equal overlap are alike under permutations
    of the items, and the pair with the least overlap is its own swap.

    Classes are (ones in S0, ones in S1, ones in the s-subset with the fewest).  If there are more than 1000 the
    last is taken as 0 (a smaller t is sound); for s > 30 the numbers of ones are spread over a grid that keeps mass
    and mean, which also is sound because R is affine in them (about 0.5 % in eps).  For s > 256, or d < 2s with
    more than 1000 classes, the blanket is that of (p, beta, q).

    Examples
    --------
    >>> import numpy as np
    >>> m = SamplingRappor(eps0=4.0, d=6, s=2)
    >>> est = m.estimate(m.privatise(np.array([[0, 1], [0, 5]] * 2000), rng=np.random.default_rng(0)))
    >>> bool(abs(est.value[5] - 0.5) < 5 * est.stderr[5])
    True
    """

    name: ClassVar[str] = "sampling-rappor"

    eps0: float = budget()
    d: int
    s: int

    def __post_init__(self) -> None:
        eps0 = check.local_budget(self.eps0)
        d = check.whole("d", self.d, low=2, high=2**32, hint="d counts the items")
        s = check.whole("s", self.s, low=1, high=d - 1, hint="s of the d items are held by every user")
        for name, value in (("eps0", eps0), ("d", d), ("s", s)):
            object.__setattr__(self, name, value)

    @property
    def local_epsilon(self) -> float:
        """log(1 + min(s, d-s)(e^eps0 - 1)/s), rounded up: eps0 unless two sets must overlap."""
        if self.d >= 2 * self.s:
            return self.eps0
        ratio = math.log(self._apart / self.s)  # log-sum-exp: no overflow at large eps0
        exact = self.eps0 + ratio + math.log1p((self.s / self._apart - 1.0) * math.exp(-self.eps0))
        return min(self.eps0, exact * (1.0 + 2.0**-50) + 2.0**-50)

    @property
    def description(self) -> str:
        """In words."""
        return f"sampling RAPPOR on sets of {self.s:,} out of {self.d:,} items with eps0 = {round_down(self.eps0, 6)}"

    @property
    def _flip(self) -> float:
        """f; the sampler flips with exactly this double and the law is that of this double."""
        t = math.exp(-0.5 * self.eps0)
        return t / (1.0 + t)

    @property
    def _apart(self) -> int:
        """Largest number of items of S0 that are not in S1."""
        return min(self.s, self.d - self.s)

    def variation_ratio(self) -> VariationRatio:
        """p = q = e^eps0 and the exact beta (see Notes; the printed one is too small)."""
        p = math.exp(self.eps0)
        beta = math.tanh(0.25 * self.eps0) / self.s * _meetings(self._apart, self._flip)
        return VariationRatio(p=p, beta=min(beta, math.tanh(0.25 * self.eps0)), q=p)

    # -- the law ------------------------------------------------------------------------------------------------

    @functools.cached_property
    def _odds(self) -> tuple[int, int]:
        """Integers F, G with f = F/(F+G) exactly."""
        f = Fraction(self._flip)
        return f.numerator, f.denominator - f.numerator

    def _likelihood(self, ones: int) -> Fraction:
        """R(S)_y over the law of d plain coins, for a report with this many ones inside S."""
        F, G = self._odds
        return Fraction(self.s * F * F + ones * (G * G - F * F), self.s * F * G)

    def _pair(self, classes: Classes, bits: int) -> ShuffledPair:
        """Classes (ones in S0, in S1, in the set behind t), counted in units of (F+G)^-bits; every entry exact."""
        unit = Fraction(1, sum(self._odds) ** bits)
        factor = {ones: self._likelihood(ones) * unit for ones in range(self.s + 1)}
        laws = [[_times(count, factor[key[i]]) for key, count in classes.items()] for i in range(3)]
        return ShuffledPair(*laws)

    def blanket(self) -> PairSet:
        """The pair with the least overlap, over the s-subset with the fewest ones."""
        return self._blanket

    @functools.cached_property
    def _blanket(self) -> PairSet:
        k, shared, outside = self._apart, self.s - self._apart, self.d - self.s - self._apart
        if (k + 1) ** 2 * (shared + 1) <= MAX_CLASSES and outside <= 4 * self.s + 16:
            # third coordinate: all ones w of the report; the set with the fewest holds w - (d - s) of them
            groups = [((1, 0, 1), k), ((0, 1, 1), k), ((1, 1, 1), shared), ((0, 0, 1), outside)]
            classes: Classes = {}
            for (i, j, w), count in _count(groups, *self._odds).items():
                key = (i, j, max(0, w - self.d + self.s))
                classes[key] = classes.get(key, 0) + count
            if len(classes) <= MAX_CLASSES or shared:
                return PairSet([self._pair(classes, self.d)])
        if shared or self.s > MAX_SET:
            return PairSet([self.variation_ratio().pair()])
        ones = self._spread_ones()
        least = float(self._likelihood(0))
        return PairSet([_product(ones, lambda own, other: own[0] * other[0] * least)])

    def constant_datasets(self) -> PairSet:
        """Others hold S0, or what S0 and S1 share and as many items outside both as there are.

        For large s only S0, with the numbers of ones merged into intervals (merging is sound for a lower bound).
        """
        return self._constant

    @functools.cached_property
    def _constant(self) -> PairSet:
        k, shared, outside = self._apart, self.s - self._apart, self.d - self.s - self._apart
        pairs: list[ShuffledPair] = []
        if (k + 1) ** 3 * (shared + 1) <= 10 * MAX_CLASSES:
            for own in sorted({k, k - min(k, outside)}):  # so many items of S0 alone, the others from outside
                groups = [((1, 0, 1), own), ((1, 0, 0), k - own), ((0, 1, 0), k), ((1, 1, 1), shared)]
                groups.append(((0, 0, 1), k - own))
                classes = _count(groups, *self._odds)
                found = self._pair(classes, sum(size for _, size in groups))
                pairs += both_directions(found if len(classes) <= MAX_CLASSES else _merged(found, classes))
        elif shared or self.s > MAX_SET:
            raise BoundNotApplicableError(f"no dataset is evaluated for {self.spec}, so there is no lower bound of it.")
        else:
            pairs = both_directions(_product(self._merged_ones(), lambda own, other: own[1] * other[0]))
        return PairSet(pairs)

    # -- the number of ones among s coins, on a grid; pairs (mass, mass times likelihood) --------------------------

    @property
    def _binomial(self) -> list[Fraction]:
        F, G = self._odds
        return [Fraction(math.comb(self.s, i) * F**i * G ** (self.s - i), (F + G) ** self.s) for i in range(self.s + 1)]

    @property
    def _grid(self) -> list[int]:
        """Every number of ones for s <= 30, else some: 0, s, and more of them near the mean."""
        if self.s <= 30:
            return list(range(self.s + 1))
        f = self._flip
        points = [self.s * f + sign * z * math.sqrt(self.s * f * (1.0 - f)) for z in _GRID for sign in (1, -1)]
        return sorted({0, self.s} | {round(x) for x in points if 0 < x < self.s})

    def _spread_ones(self) -> list[Piece]:
        """Each number of ones moved to its two neighbours on the grid, keeping mass and mean."""
        grid = self._grid
        mass = dict.fromkeys(grid, Fraction(0))
        for ones, chance in enumerate(self._binomial):
            at = bisect.bisect_left(grid, ones)
            low, high = grid[max(at - 1, 0)], grid[at]
            share = Fraction(ones - low, high - low) if high > low else Fraction(1)
            mass[low] += chance * (1 - share)
            mass[high] += chance * share
        return [(float(m), float(m * self._likelihood(ones))) for ones, m in mass.items()]

    def _merged_ones(self) -> list[Piece]:
        """Each number of ones counted with the grid point at or above it."""
        grid = self._grid
        sums = [[Fraction(0), Fraction(0)] for _ in grid]
        for ones, chance in enumerate(self._binomial):
            at = bisect.bisect_left(grid, ones)
            sums[at][0] += chance
            sums[at][1] += chance * self._likelihood(ones)
        return [(float(plain), float(tilted)) for plain, tilted in sums]

    # -- running it ---------------------------------------------------------------------------------------------

    @property
    def codec(self) -> PackedBits:
        """d bits."""
        return PackedBits(self.d, scratch=self._bytes_per_user)

    @property
    def _bytes_per_user(self) -> int:
        return 3 * self.d + 16 * self.s

    def _check(self, values: NDArray[Any]) -> NDArray[Any]:
        if values.dtype.kind not in "iu" or values.ndim != 2 or values.shape[1] != self.s:
            raise ParameterError(
                f"values must be whole numbers of shape (users, {self.s}), got {values.dtype} of shape {values.shape}; "
                "give the items of each user in one row."
            )
        flat = categories(values.reshape(-1), self.d).reshape(values.shape)
        ordered = np.sort(flat, axis=1)
        if np.any(ordered[:, 1:] == ordered[:, :-1]):
            raise ParameterError(f"values must hold {self.s} different items per user, got one twice; remove repeats.")
        return flat

    def _randomise(self, values: NDArray[Any], src: Source) -> NDArray[Any]:
        users = np.arange(len(values))
        item = values[users, below(src, self.s, len(values))]
        bits = bernoulli(src, self._flip, len(values) * self.d).reshape(len(values), self.d)
        bits[users, item] ^= True
        return np.packbits(bits, axis=1)

    def _tally(self, data: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(np.unpackbits(data, axis=1, count=self.d).sum(axis=0, dtype=np.int64))

    def _infer(self, counts: NDArray[Any], users: int) -> Estimate:
        return pure(counts, users, self._kept, self._flip, FixedSum(self.s))

    @property
    def _kept(self) -> float:
        """Probability of a one at an item held: f + (1-2f)/s."""
        return self._flip + math.tanh(0.25 * self.eps0) / self.s

    def variance(self, n: int, frequency: float = 0.0) -> float:
        """Variance of one estimated frequency: s^2 [F pi(1-pi) + (1-F) f(1-f)]/(n (1-2f)^2), pi = f + (1-2f)/s."""
        a, b = self._kept, self._flip
        return (frequency * a * (1 - a) + (1 - frequency) * b * (1 - b)) / (n * (a - b) ** 2)

    def inputs(self) -> list[tuple[int, ...]]:
        """Every set of s items."""
        if self.d > 20 or math.comb(self.d, self.s) << self.d > _CELLS:
            raise ParameterError(f"{self.spec} has more than {_CELLS:,} cells; use a smaller d to enumerate it.")
        return list(itertools.combinations(range(self.d), self.s))

    def probabilities(self) -> NDArray[np.float64]:
        """Outputs are the numbers whose binary digits (item 0 first) are the bits."""
        sets = self.inputs()
        bits = np.unpackbits(np.arange(1 << self.d, dtype=">u4").view(np.uint8).reshape(-1, 4), axis=1)[:, -self.d :]
        F, G = self._odds
        base = np.array([float(Fraction(F**w * G ** (self.d - w), (F + G) ** self.d)) for w in range(self.d + 1)])
        own = np.array([float(self._likelihood(ones)) for ones in range(self.s + 1)])
        return np.asarray(base[bits.sum(axis=1)] * np.array([own[bits[:, s].sum(axis=1)] for s in sets]))

    def columns(self, data: NDArray[Any]) -> NDArray[np.int64]:
        """The bits read as a binary number."""
        bits = np.unpackbits(data, axis=1, count=self.d).astype(np.int64)
        return np.asarray(bits @ (1 << np.arange(self.d - 1, -1, -1)))


@functools.lru_cache(maxsize=64)
def _meetings(k: int, f: float) -> float:
    """sum_{i<k} Pr[N_i = N'_i] for N_i, N'_i ~ Bin(i, f), rounded up; (i+1) u_{i+1} = (2i+1) A u_i - i B u_{i-1}."""
    g = f * (1.0 - f)
    if k > _MAX_TERMS:  # E|N-N'| <= sqrt(2 k g)
        return min(float(k), math.sqrt(k / (2.0 * g)) * (1.0 + 1e-12))
    A, B = 1.0 - 2.0 * g, (1.0 - 2.0 * f) ** 2
    last, now, total = 0.0, 1.0, 0.0
    for i in range(k):
        total += now
        last, now = now, ((2 * i + 1) * A * now - i * B * last) / (i + 1)
    return min(float(k), total * (1.0 + k * 2.0**-51))


def _count(groups: Iterable[tuple[Key, int]], F: int, G: int) -> Classes:
    """Coins with odds F : G in groups; a one adds the vector of its group: the weight of every total."""
    classes: Classes = {(0, 0, 0): 1}
    for step, size in groups:
        weight = [math.comb(size, i) * F**i * G ** (size - i) for i in range(size + 1)]
        grown: Classes = {}
        for key, count in classes.items():
            for i, w in enumerate(weight):
                at = (key[0] + i * step[0], key[1] + i * step[1], key[2] + i * step[2])
                grown[at] = grown.get(at, 0) + count * w
        classes = grown
    return classes


def _times(count: int, factor: Fraction) -> float:
    """Correctly rounded, whatever the size of the integers."""
    return count * factor.numerator / factor.denominator


def _product(ones: list[Piece], blanket: Callable[[Piece, Piece], float]) -> ShuffledPair:
    """Numbers of ones in S0 and in S1 are independent under plain coins; t as a function of the two."""
    pairs = list(itertools.product(ones, ones))
    return ShuffledPair(
        P0=[own[1] * other[0] for own, other in pairs],
        P1=[own[0] * other[1] for own, other in pairs],
        t=[blanket(own, other) for own, other in pairs],
    )


def _merged(pair: ShuffledPair, classes: Classes) -> ShuffledPair:
    """Classes with equal (ones in S0 - ones in S1, ones in S*) as one: (R0 - R1)/R* is the same in all of them."""
    _, label = np.unique([(i - j, m) for i, j, m in classes], axis=0, return_inverse=True)
    laws = (np.bincount(label.reshape(-1), weights=np.asarray(x)) for x in (pair.P0, pair.P1, pair.t))
    return ShuffledPair(*laws)
