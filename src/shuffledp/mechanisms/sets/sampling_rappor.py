"""Sampling RAPPOR: a user with a set of items samples one of them and sends it as randomized bits."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..._support.exponentials import exp, tanh
from ...errors import BoundNotApplicableError
from ...numerics.family import Family
from ...numerics.pair import FloatArray, ShuffledPair, both_directions
from ...numerics.swap.pair import common_mass
from ...randomness.bits import flip_bits, noise_rows
from ...randomness.sampling import Array, Source, below
from ...randomness.thresholds import threshold
from ..codecs import PackedBits
from ..frequency import FixedSets
from ..laws import independent
from .coin_counts import Classes, binomials, count, grouped_ones, meetings, merged, swap_set
from .overlaps import MOST_HELD, MOST_LISTED, by_shared, parts

#: A law is stated class by class up to this many classes; beyond, classes are grouped on the safe side.
MAX_CLASSES = 1000
#: Binomial laws are exact integers up to this many coins; larger sets use (p, beta, q) only.
MAX_SET = 256


@dataclass(frozen=True, kw_only=True)
class SamplingRappor(FixedSets):
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
    of the items, and the pair with the least overlap is symmetric in S0 and S1.

    Classes are (ones in S0, ones in S1, ones in the s-subset with the fewest).  If there are more than 1000 the
    last is taken as 0 (a smaller t is sound); for s > 30 the numbers of ones are spread over a grid that keeps mass
    and mean, which also is sound because R is affine in them (about 0.5 % in eps).  For s > 256, or d < 2s with
    more than 1000 classes, the blanket is that of (p, beta, q).

    Swap bound: up to s = 4 all classes (ones in S0, in S1, in the set of another user) of all pairs are listed; up to
    s = 30 those of the one pair, some of them spread (coin_counts.py; docs/proofs.md, Lemma 17).

    Examples
    --------
    >>> import numpy as np
    >>> m = SamplingRappor(eps0=4.0, d=6, s=2)
    >>> est = m.estimate(m.privatize(np.array([[0, 1], [0, 5]] * 2000), rng=np.random.default_rng(0)))
    >>> bool(abs(est.value[5] - 0.5) < 5 * est.stderr[5])
    True
    """

    name = "sampling-rappor"
    _in_words = "sampling RAPPOR on sets of {s:,} out of {d:,} items with eps0 = {eps0}"

    @property
    def local_epsilon(self) -> float:
        """log(1 + min(s, d-s)(e^eps0 - 1)/s), rounded up: eps0 unless two sets must overlap."""
        if self.d >= 2 * self.s:
            return self.eps0
        ratio = math.log(self._apart / self.s)  # log-sum-exp: no overflow at large eps0
        exact = self.eps0 + ratio + math.log1p((self.s / self._apart - 1.0) * exp(-self.eps0))
        return min(self.eps0, exact * (1.0 + 2.0**-50) + 2.0**-50)

    @property
    def stray(self) -> float:
        """f; the sampler flips with exactly this double and the law is that of this double."""
        t = exp(-0.5 * self.eps0)
        return t / (1.0 + t)

    @property
    def keep(self) -> float:
        """Probability of a one at an item that is held: f + (1-2f)/s."""
        return self.stray + tanh(0.25 * self.eps0) / self.s

    @property
    def beta(self) -> float:
        """The exact one (see Notes; the printed one is too small)."""
        most = tanh(0.25 * self.eps0)
        return min(most / self.s * meetings(self._apart, self.stray), most)

    @property
    def codec(self) -> PackedBits:
        """The bits, eight to a byte."""
        return PackedBits(self.d, scratch=64 + 4 * ((self.d + 7) // 8) + 16 * self.s)

    @property
    def _apart(self) -> int:
        """Largest number of items of S0 that are not in S1."""
        return min(self.s, self.d - self.s)

    # -- the law ------------------------------------------------------------------------------------------------

    @property
    def _odds(self) -> tuple[int, int]:
        """Integers F, G with f = F/(F+G) exactly."""
        f = Fraction(self.stray)
        return f.numerator, f.denominator - f.numerator

    def _likelihood(self, ones: int) -> Fraction:
        """R(S)_y over the law of d plain coins, for a report with this many ones inside S."""
        F, G = self._odds
        return Fraction(self.s * F * F + ones * (G * G - F * F), self.s * F * G)

    def _pair(self, classes: Classes, bits: int) -> ShuffledPair:
        """Classes (ones in S0, in S1, in the set behind t), counted in units of (F+G)^-bits; every entry exact."""
        unit = sum(self._odds) ** bits
        factor = [(self._likelihood(ones) / unit).as_integer_ratio() for ones in range(self.s + 1)]
        each = ([(weight, *factor[key[i]]) for key, weight in classes.items()] for i in range(3))
        return ShuffledPair(*([weight * over / under for weight, over, under in law] for law in each))

    def _blanket(self) -> list[ShuffledPair]:
        """The pair with the least overlap, over the s-subset with the fewest ones."""
        k, shared, outside = self._apart, self.s - self._apart, self.d - self.s - self._apart
        if (k + 1) ** 2 * (shared + 1) <= MAX_CLASSES and outside <= 4 * self.s + 16:
            inside = count([((1, 0, 1), k), ((0, 1, 1), k), ((1, 1, 1), shared)], *self._odds)
            classes = self._with_fewest(outside, inside)
            if len(classes) <= MAX_CLASSES or shared:
                return [self._pair(classes, self.d)]
        if shared or self.s > MAX_SET:
            return [self.variation_ratio().pair()]
        ones, held = grouped_ones(self.s, *self._odds, self._likelihood, spread=True)
        t = float(self._likelihood(0)) * independent(ones, ones)
        return [ShuffledPair(independent(held, ones), independent(ones, held), t)]

    def _with_fewest(self, outside: int, classes: Classes) -> Classes:
        """Classes (ones in S0, in S1, in both together): the last replaced by those in the s-subset with the fewest.

        A report with w ones in all has w - (d - s) there, or none.
        """
        weights = binomials(outside, *self._odds)
        up_to, found = list(itertools.accumulate(weights)), Classes()
        for (i, j, ones), weight in classes.items():
            free = self.d - self.s - ones  # this many more ones leave a set without any
            for more in range(max(free, 0), outside + 1):
                chance = up_to[more] if more == free else weights[more]
                key = (i, j, more - free)
                found[key] = found.get(key, 0) + weight * chance
            if free > outside:
                found[i, j, 0] = found.get((i, j, 0), 0) + weight * up_to[-1]
        return found

    def _swap(self) -> Family:
        """Small sets are listed; larger ones as coin_counts.py says, where one pair is enough (see Notes)."""
        if self.s <= MOST_HELD:
            return super()._swap()
        if self.s > MOST_LISTED:
            raise BoundNotApplicableError(
                f"bound 'swap' lists what another user may hold, for sets of at most {MOST_LISTED} items, "
                f"got {self.s}; use bound='auto'."
            )
        return swap_set(self.d, self.s, self._odds, min(map(common_mass, self.law.blanket().pairs(1) or ())))

    def _types(self) -> list[list[ShuffledPair]]:
        """Every two sets among every third one, up to permutations of the items; for small sets."""
        listed = [[parts(overlap, self.s) for overlap in overlaps] for overlaps in by_shared(self.d, self.s)]
        return [[self._pair(count(x.items(), *self._odds), sum(x.values())) for x in groups] for groups in listed]

    def _constant_datasets(self) -> list[ShuffledPair]:
        """Others hold S0, or what S0 and S1 share and as many items outside both as there are.

        For large s only S0, with the numbers of ones merged into intervals (merging is sound for a lower bound).
        """
        k, shared, outside = self._apart, self.s - self._apart, self.d - self.s - self._apart
        pairs: list[ShuffledPair] = []
        if (k + 1) ** 3 * (shared + 1) <= 10 * MAX_CLASSES:
            for own in sorted({k, k - min(k, outside)}):  # this many items of S0 alone, the rest from outside
                groups = [((1, 0, 1), own), ((1, 0, 0), k - own), ((0, 1, 0), k), ((1, 1, 1), shared)]
                groups.append(((0, 0, 1), k - own))
                classes = count(groups, *self._odds)
                found = self._pair(classes, sum(size for _, size in groups))
                pairs += both_directions(found if len(classes) <= MAX_CLASSES else merged(found, classes))
        elif shared or self.s > MAX_SET:
            raise BoundNotApplicableError(f"no dataset is evaluated for {self.spec}, so it has no lower bound.")
        else:
            ones, held = grouped_ones(self.s, *self._odds, self._likelihood, spread=False)
            p0 = independent(held, ones)
            pairs = both_directions(ShuffledPair(p0, independent(ones, held), p0))
        return pairs

    # -- running it ---------------------------------------------------------------------------------------------

    def _portable_law(self) -> dict[str, Any]:
        bits = {
            "kind": "bits",
            "size": self.d,
            "one": threshold(1 - Fraction(self.stray)),
            "zero": threshold(self.stray),
        }
        return {"kind": "pick", "law": bits}

    def _randomize(self, values: Array, src: Source) -> Array:
        out = noise_rows(src, self.stray, len(values), self.d)
        flip_bits(out, values[np.arange(len(values)), below(src, self.s, len(values))])
        return out

    def probabilities(self) -> FloatArray:
        """Outputs are the numbers whose binary digits (item 0 first) are the bits."""
        self._few_cells(math.comb(self.d, self.s) << self.d if self.d <= 20 else math.inf)
        sets = self.inputs()
        bits = np.unpackbits(np.arange(1 << self.d, dtype=">u4").view(np.uint8).reshape(-1, 4), axis=1)[:, -self.d :]
        F, G = self._odds
        base = np.array([float(Fraction(F**w * G ** (self.d - w), (F + G) ** self.d)) for w in range(self.d + 1)])
        own = np.array([float(self._likelihood(ones)) for ones in range(self.s + 1)])
        return np.asarray(base[bits.sum(axis=1)] * np.array([own[bits[:, s].sum(axis=1)] for s in sets]))
