"""Prefixes of long strings by public hash functions: counts that fit in memory, whatever the strings are."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError
from ...estimation.constraints import Simplex
from ...estimation.estimate import Estimate, pure
from ...estimation.variance import Variance
from ...numerics.family import Family
from ...randomness.sampling import Array, Source, below
from ..categorical.grr import GRR
from ..codecs import Category
from ..known.variation_ratio import VariationRatio
from ..parameters import budget, whole
from ..randomizer import Randomizer
from ..samples import sampled, without_reports

#: Hash values are computed in this prime field.
PRIME = 2**31 - 1
#: Cells of (strings x functions) that are hashed at once.
_CELLS = 4_000_000


@dataclass(frozen=True, kw_only=True)
class PrefixHash(Randomizer):
    """One of H levels and one of K public hash functions, uniformly, and randomized response on the hashed prefix.

    Level h < H-1 has the first (h+1) step bytes of the string; the last level has the whole string once more, so that
    its users take no part in a search through the others (heavy hitters).  The report is (level, function, bucket).

    Parameters
    ----------
    eps0 : float > 0
        Local budget.
    length : int in [1, 256]
        Bytes of a string; shorter ones are padded with zeros.  Values are arrays (users, length) of bytes.
    step : 1 or 2
        Bytes by which the prefix of a level is longer than that of the one before.
    functions : int
        K, the hash functions of a level.
    l : a power of two in [2, 256], optional
        Buckets; by default the one nearest to e^eps0 + 1, where local hashing has its smallest variance.
    salt : int
        Which functions: public, and part of the plan.

    Notes
    -----
    *Privacy.*  (level, function) says nothing of the string, so that this is a parallel composition of H K
    randomized responses on l buckets, each of a function of one value (:class:`Parallel`; paper, Theorem 6.1).  Two
    strings that agree under a function give the same answer there, which is never worse (ibid., Notes): the bounds are
    those of ``grr`` with d = l, for all n users.

    *The functions.*  A prefix becomes two elements x1, x2 of GF(2^31 - 1) by BLAKE2b, then the bucket is that of
    a0 + a1 x1 + a2 x2 with coefficients from SHAKE-128 of the salt: over the salt, different strings fall into one
    bucket with probability 1/l (to 2^-30), independently for three strings that are not collinear in (x1, x2).

    *Estimator.*  As for local hashing with keep = e/(e+l-1) and stray 1/l: unbiased over the draw of the functions.  As
    there are K of them and not one per user, a string u that is held by a share f_u adds f_u^2/((l-1)K) to the
    variance of every other one: for the same functions this is a fixed error.  It is counted in the standard errors,
    with the sum of f_u^2 that is seen.

    The estimate of the mechanism is that of all prefixes of level 0; :meth:`shares` gives those of any prefixes.

    Examples
    --------
    >>> m = PrefixHash(eps0=3.0, length=2)
    >>> m.levels, m.l
    (3, 16)
    >>> data = np.array([[97, 98], [97, 0], [99, 0], [99, 0]] * 5000)
    >>> tally = m.tally(m.privatize(data, rng=np.random.default_rng(0)))
    >>> found = m.shares(tally.counts, tally.users, 2, [b"ab", b"c"])
    >>> bool(np.all(abs(found.value - [0.25, 0.5]) < 4 * found.stderr))
    True
    """

    name = "prefix-hash"
    _in_words = (
        "randomized response on a prefix of {length} bytes or fewer, hashed to {l} buckets by one of "
        "{functions:,} public functions, with eps0 = {eps0}"
    )
    _lists_every_type = False
    _takes = "bytes"
    serves = ("byte strings",)

    eps0: float = budget()
    length: int = whole(low=1, high=256, hint="length counts the bytes of a string")
    step: int = whole(low=1, high=2, hint="a level has one or two more bytes than the one before", default=1)
    functions: int = whole(low=1, high=2**16, hint="functions counts the hash functions of a level", default=1024)
    l: int = whole(
        low=2,
        high=256,
        hint="l counts the buckets, a power of two",
        choose=lambda m: 2 ** min(max(round(math.log2(math.exp(min(m.eps0, 10.0)) + 1.0)), 1), 8),
    )
    salt: int = whole(low=0, hint="salt says which hash functions", default=0)

    def _check_together(self) -> None:
        if self.l & (self.l - 1):
            raise ParameterError(f"l must be a power of two, got {self.l}; leave it out for the best one.")

    @property
    def levels(self) -> int:
        """H: one for every longer prefix, and the last one."""
        return -(-self.length // self.step) + 1

    def _prefix(self, level: int) -> int:
        """The bytes of a prefix of this level."""
        return min((level + 1) * self.step, self.length)

    @property
    def _response(self) -> GRR:
        return GRR(eps0=self.eps0, d=self.l)

    @property
    def _truth(self) -> tuple[float, str]:
        return self._response.keep, "fit a beginning of the true text, alone or among others"

    def variation_ratio(self) -> VariationRatio:
        """That of randomized response on the buckets."""
        return self._response.variation_ratio()

    def _blanket(self) -> Family:
        """Two strings that no function maps to one bucket: randomized response on the buckets."""
        return self._response.law.blanket()

    def _dominating_pairs(self, most: int) -> None:
        """None: where two strings agree under a function, each E has its own covering pair (see Parallel)."""
        return None

    def _swap_members(self, most: int) -> None:
        """None, for the same reason."""
        return None

    # -- the functions ------------------------------------------------------------------------------------------

    @property
    def _coefficients(self) -> NDArray[np.uint64]:
        """a0, a1, a2 of every function of every level."""
        size = self.levels * self.functions * 3
        raw = hashlib.shake_128(b"shuffledp prefix-hash %d" % self.salt).digest(4 * size)
        field = (np.frombuffer(raw, dtype="<u4").astype(np.uint64) & np.uint64(PRIME)) % np.uint64(PRIME)
        return field.reshape(self.levels, self.functions, 3)

    def _points(self, level: int, prefixes: Sequence[bytes]) -> NDArray[np.uint64]:
        """x1 and x2 of prefixes (without their padding), one row each."""
        person = b"level%d" % level
        raw = b"".join(
            hashlib.blake2b(text, digest_size=8, key=b"%d" % self.salt, person=person).digest() for text in prefixes
        )
        return (np.frombuffer(raw, dtype="<u4").astype(np.uint64) % np.uint64(PRIME)).reshape(-1, 2)

    def _buckets(self, a: NDArray[np.uint64], x: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The bucket of a0 + a1 x1 + a2 x2; the sum is below 2^63 + 2^31."""
        field = (a[..., 0] + a[..., 1] * x[..., 0] + a[..., 2] * x[..., 1]) % np.uint64(PRIME)
        return np.asarray((field * np.uint64(self.l)) >> np.uint64(31), dtype=np.int64)

    # -- running it -----------------------------------------------------------------------------------------------

    @property
    def codec(self) -> Category:
        """(level, function, bucket) as one number."""
        return Category(self.levels * self.functions * self.l, scratch=160 + 2 * self.length)

    def _check(self, values: Array) -> Array:
        if values.dtype.kind not in "iu" or values.ndim != 2 or values.shape[1] != self.length:
            raise ParameterError(
                f"values must be bytes of shape (users, {self.length}), got {values.dtype} of shape {values.shape}; "
                "pad strings with zeros."
            )
        if values.min() < 0 or values.max() > 255:
            raise ParameterError("values must be bytes in [0, 255], got values outside; encode strings as UTF-8 first.")
        return values.astype(np.uint8, copy=False)

    def _randomize(self, values: Array, src: Source) -> Array:
        n = len(values)
        level = below(src, self.levels, n).astype(np.int64)
        function = below(src, self.functions, n).astype(np.int64)
        bucket = np.empty(n, dtype=np.int64)
        for h in range(self.levels):
            at = np.flatnonzero(level == h)
            if not at.size:
                continue
            texts = np.ascontiguousarray(values[at, : self._prefix(h)]).view(f"S{self._prefix(h)}").ravel()
            each, back = np.unique(texts, return_inverse=True)  # numpy leaves trailing zeros out
            x = self._points(h, each.tolist())[back]
            bucket[at] = self._buckets(self._coefficients[h, function[at]], x)
        sent = self._response._randomize(bucket.astype(np.min_scalar_type(self.l - 1)), src)
        return np.asarray((level * self.functions + function) * self.l + sent, dtype=self.codec.dtype)

    def shares(self, counts: Array, users: int, level: int, prefixes: Sequence[bytes]) -> Estimate:
        """The share of users with each of these prefixes (without padding) of a level."""
        here = int(self.table(counts, level).sum())
        return self._shares(self.hits(counts, level, prefixes), here, users)

    def _share_variance(self, n: int, share: float, others: float) -> float:
        """Variance of an estimated share among n users; ``others`` is the sum of f_u^2 over the other strings.

        Noise of the n/H users of a level, which users drew it, and strings in one bucket (see the notes).
        """
        a, b = self._response.keep, 1.0 / self.l
        noise = (share * a * (1.0 - a) + (1.0 - share) * b * (1.0 - b)) / (a - b) ** 2
        drawn = (self.levels - 1) * share * (1.0 - share)
        return (self.levels * noise + drawn) / n + others / ((self.l - 1) * self.functions)

    def table(self, counts: Array, level: int) -> Array:
        """The reports of a level, one row per function and one column per bucket."""
        return np.asarray(counts.reshape(self.levels, self.functions, self.l)[level])

    def hits(self, counts: Array, level: int, prefixes: Sequence[bytes]) -> Array:
        """The reports of a level that support each of these prefixes (without padding)."""
        table = self.table(counts, level).ravel()
        step = max(1, _CELLS // self.functions)
        parts = [prefixes[start : start + step] for start in range(0, len(prefixes), step)]
        hits = [table[self._places(level, part)].sum(axis=1) for part in parts]
        return np.concatenate(hits) if hits else np.zeros(0)

    def _places(self, level: int, prefixes: Sequence[bytes]) -> NDArray[np.int64]:
        """Where the counts that support each prefix are, one column per function."""
        x = self._points(level, prefixes)
        return np.arange(self.functions) * self.l + self._buckets(self._coefficients[level], x[:, None, :])

    def _shares(self, hits: Array, here: int, users: int) -> Estimate:
        """The estimate from ``here`` reports of a level."""
        if not here:
            return without_reports(len(hits), Simplex())
        found = pure(hits, here, self._response.keep, 1.0 / self.l, Simplex())
        fixed = self._others(found) / ((self.l - 1) * self.functions)
        noise = Variance(fixed) if found.noise is None else found.noise.plus(Variance(fixed))
        return sampled(replace(found, stderr=np.sqrt(found.stderr**2 + fixed), noise=noise), users)

    @staticmethod
    def _others(found: Estimate) -> NDArray[np.float64]:
        """For every string the sum of f_u^2 of the others that stand out, at most 1."""
        square = np.where(found.value > 2.0 * found.stderr, found.value**2, 0.0)
        return np.asarray(np.minimum(square.sum() - square, 1.0))

    def _infer(self, counts: Array, users: int) -> Estimate:
        """All prefixes of level 0, in the order of their bytes."""
        table = counts.reshape(self.levels, -1)[0]
        return self._shares(table[self._first].sum(axis=1), int(table.sum()), users)

    @property
    def _first(self) -> NDArray[np.int64]:
        return self._places(0, self.extensions([b""], 0))

    def extensions(self, prefixes: Sequence[bytes], level: int) -> list[bytes]:
        """All prefixes of a level that start with one of the level before; a string that has ended stays as it is."""
        before = self._prefix(level - 1) if level else 0
        more = self._prefix(level) - before
        tails = [bytes(tail) for tail in np.ndindex(*([256] * more))]
        found = [(text + tail).rstrip(b"\0") for text in prefixes for tail in (tails if len(text) == before else [b""])]
        return list(dict.fromkeys(found))
