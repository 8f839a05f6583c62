"""Hadamard response: report a point of the half of your block on which your Hadamard row is +1."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._support import validation as check
from ..._support.exponentials import LOG2, exp, expm1
from ...estimation.constraints import Simplex
from ...estimation.estimate import Estimate, modeled
from ...estimation.variance import Variance, share_sampling
from ...numerics.pair import FloatArray, ShuffledPair, both_directions
from ...randomness.sampling import Array, Source, bernoulli, pick, words
from ...randomness.thresholds import chance_of, exact_chance
from ..accuracy import Accuracy
from ..codecs import Category
from ..free_setting import FreeSetting
from ..frequency import Options
from ..parameters import whole
from ..two_level import pair

#: How many outputs, and whether (0 or 1) they lie in the sets of x0, of x1 and of what the others send.
_Class = tuple[int, int, int, int]


@dataclass(frozen=True, kw_only=True)
class Hadamard(Options):
    """Hadamard response (Acharya, Sun, Zhang, AISTATS 2019), with the blocks of the authors' code.

    With e = e^eps0: B = 2^(ceil(log2 min(e, 2d)) - 1) blocks of b = 2^ceil(log2(d/B + 1)) outputs, K = B b, s = b/2.
    Item x owns row r = 1 + x mod (b-1) of the Hadamard matrix of block x div (b-1), and the set C_x of the s outputs
    of that block at which the row is +1 (z with <r, z> even).  With Omega = s e + K - s the report is

        y with probability e/Omega if y in C_x, else 1/Omega.

    Parameters
    ----------
    eps0, d : local budget and number of options (values are 0, ..., d-1)

    Notes
    -----
    U = ceil(d/(b-1)) blocks are populated.  Two items of one block share s/2 outputs, items of different blocks none:
    p = q = e, beta = (s/2)(e-1)/Omega if U = 1, else s(e-1)/Omega (paper, Table 2, with U for B).

    *Blanket*: 1/Omega, except at output 0 of the only populated block (U = 1), which lies in every C_x: the rows 1, 2,
    4, ..., b/2 are all used, so no other output does.  For a pair, all that matters about an output is whether it
    lies in C_x0 and in C_x1.  Two different nonzero rows are independent over GF(2), so each of the four cases has b/4
    outputs of a common block: all pairs within a block are alike, and so are all pairs across blocks.  One pair of each
    kind is listed, symmetric in x0 and x1.  (With U > 1 a pair across blocks is hidden no better: it moves the mass s/2
    from the ratios (e, e) and (1, 1) to (e, 1) and (1, e), which keeps the mean of X and spreads it.)

    *Lower bound*: x* may be x0, or share the block with both (its row the sum of theirs, or independent of them),
    with one of them, or with none; where these exist.

    *Estimator*: f_v = Omega/(s(e-1)) avg(+-1 of row v at y, 0 outside the block), one fast Walsh-Hadamard transform
    of the counts per block.  The protocol is not pure: how often y lies in C_v depends on the block of the item held.

    Examples
    --------
    >>> Hadamard(eps0=1.0, d=4).variation_ratio().beta.__round__(4)
    0.3005
    """

    name = "hadamard"
    _in_words = "Hadamard response on {d:,} options with eps0 = {eps0}"

    d: int = whole(low=2, high=2**28, hint="d counts the options")

    # -- the construction, in powers of two --------------------------------------------------------------------

    @property
    def blocks(self) -> int:
        """B, populated or not."""
        levels = min(math.ceil(self.eps0 / LOG2), (2 * self.d - 1).bit_length())
        return 1 << (max(levels, 1) - 1)

    @property
    def block(self) -> int:
        """b, the outputs of one block: the least power of two above ceil(d/B)."""
        return 1 << (-(-self.d // self.blocks)).bit_length()

    @property
    def outputs(self) -> int:
        """K = B b."""
        return self.blocks * self.block

    @property
    def populated(self) -> int:
        """U, the blocks that hold an item."""
        return -(-self.d // (self.block - 1))

    @property
    def _own(self) -> float:
        """e/Omega, the probability of an output in C_x."""
        s = self.block // 2
        return 1.0 / (s + (self.outputs - s) * exp(-self.eps0))

    @property
    def _truth(self) -> tuple[float, str]:
        return self._own * (self.block // 2), "fit the true value, alone or among others"

    @property
    def _other(self) -> float:
        """1/Omega, that of any other output."""
        return exp(-self.eps0) * self._own

    @property
    def _gain(self) -> float:
        """Omega/(s(e-1)), what turns the average sign into a frequency."""
        return -1.0 / (expm1(-self.eps0) * self._own * (self.block // 2))

    @property
    def _in_block(self) -> tuple[float, float]:
        """Pr[the report lies in a block] for users who hold an item of the block, and for others."""
        s = self.block // 2
        return s * (self._own + self._other), 2 * s * self._other

    @classmethod
    def _free_setting(cls, given: dict[str, Any]) -> FreeSetting:
        """L, where 2^(L-1) blocks are used for eps0 in ((L-1) log 2, L log 2], up to about 2d blocks."""
        example = cls(**{**given, "eps0": 1.0})
        most = (2 * example.d - 1).bit_length()

        def made(eps0: float) -> Hadamard:
            return cls(**{**given, "eps0": eps0})

        def last(level: int) -> float:
            """The largest eps0 with this many levels, as the mechanism itself counts them."""
            if level == most:
                return check.MAX_EPS0
            eps0 = math.nextafter(level * LOG2, math.inf)
            while made(eps0).blocks > 1 << (level - 1):
                eps0 = math.nextafter(eps0, 0.0)
            return eps0

        def budgets(level: float) -> tuple[float, float]:
            low = check.MIN_EPS0 if level == 1 else math.nextafter(last(int(level) - 1), math.inf)
            return low, last(int(level))

        return FreeSetting(
            low=1,
            high=most,
            whole=True,
            ratio=1.0 + 1.0 / most,
            near=most,
            start=lambda eps0: made(eps0).blocks.bit_length(),
            make=lambda level, eps0: made(eps0),
            frequency=1.0 / example.d,
            budgets=budgets,
        )

    # -- accounting -------------------------------------------------------------------------------------------

    @property
    def beta(self) -> float:
        """s(e-1)/Omega, halved if all items share a block."""
        return 1.0 / self._gain if self.populated > 1 else 0.5 / self._gain

    def _pair(self, *classes: _Class) -> ShuffledPair:
        """The classes, and all other outputs as the last one."""
        rest = self.outputs - sum(size for size, *_ in classes)
        return pair([*classes, (rest, 0, 0, 0)], self._other, self._own)

    def _blanket(self) -> list[ShuffledPair]:
        """A pair within a block and a pair across blocks (see Notes)."""
        s, quarter = self.block // 2, self.block // 4
        pairs = []
        if self.block > 2:
            common = int(self.populated == 1)
            pairs.append(
                self._pair((common, 1, 1, 1), (quarter - common, 1, 1, 0), (quarter, 1, 0, 0), (quarter, 0, 1, 0))
            )
        if self.populated > 1:
            pairs.append(self._pair((s, 1, 0, 0), (s, 0, 1, 0)))
        return pairs

    def _within(self) -> list[ShuffledPair]:
        """Two items of one block; the others hold one of them, or share its block or not: every kind that exists."""
        s, quarter = self.block // 2, self.block // 4
        items = min(self.d, self.block - 1)  # of the fullest block
        both, one, other = (quarter, 1, 1), (quarter, 1, 0), (quarter, 0, 1)
        pairs = []
        if items >= 2:
            pairs += both_directions(self._pair((*both, 1), (*one, 1), (*other, 0)))
        if items >= 3:
            pairs.append(self._pair((*both, 1), (*one, 0), (*other, 0), (quarter, 0, 0, 1)))
        if items >= 4:
            pairs.append(self._pair(*((quarter // 2, i, j, k) for i, j, k in itertools.product((0, 1), repeat=3))))
        if items >= 2 and self.populated >= 2:
            pairs.append(self._pair((*both, 0), (*one, 0), (*other, 0), (s, 0, 0, 1)))
        return pairs

    def _across(self) -> list[ShuffledPair]:
        """Two items of different blocks; the others hold one of them, share its block, or are elsewhere."""
        s, quarter = self.block // 2, self.block // 4
        one = (quarter, 1, 0)
        pairs = []
        if self.populated >= 2:
            pairs += both_directions(self._pair((s, 1, 0, 1), (s, 0, 1, 0)))
        if self.populated >= 2 and min(self.d, self.block - 1) >= 2:
            pairs += both_directions(self._pair((*one, 1), (*one, 0), (quarter, 0, 0, 1), (s, 0, 1, 0)))
        if self.populated >= 3:
            pairs.append(self._pair((s, 1, 0, 0), (s, 0, 1, 0), (s, 0, 0, 1)))
        return pairs

    def _constant_datasets(self) -> list[ShuffledPair]:
        """Every kind of (x0, x1, x*) that exists."""
        return [*self._within(), *self._across()]

    def _types(self) -> list[list[ShuffledPair]]:
        """Pairs within a block and pairs across blocks, each among every kind of others."""
        return [types for types in (self._within(), self._across()) if types]

    # -- running it -------------------------------------------------------------------------------------------

    @property
    def codec(self) -> Category:
        """The output."""
        return Category(self.outputs)

    def _portable_law(self) -> dict[str, Any]:
        own = chance_of(1.0 / self._gain, self.outputs * self._other)
        return {"kind": "hadamard", "outputs": self.outputs, "block": self.block, "keep": own}

    def _randomize(self, values: Array, src: Source) -> Array:
        """A uniform output with probability K/Omega, else a uniform element of C_x, from the same random word."""
        dtype = self.codec.dtype
        kind, x = dtype.type, values.astype(dtype, copy=False)
        any_ = words(src, len(x), 8 * dtype.itemsize) & kind(self.outputs - 1)
        block = x // kind(self.block - 1)
        start = block * kind(self.block)
        row = x - start + block + kind(1)
        inside = any_ & kind(self.block - 1)
        odd = (np.bitwise_count(inside & row) & 1).astype(dtype, copy=False)
        own = start + (inside ^ (odd * (row & -row)))  # flipping a bit of the row makes an odd product even
        lie = bernoulli(src, exact_chance(self.outputs * self._other, 1.0 / self._gain), len(x))
        return pick(lie, any_, own)

    def _infer(self, counts: Array, users: int) -> Estimate:
        """Variance of one frequency: (gain^2 Pr[y in its block] - f)/n, the square of a sign being 1.

        Pr[y in its block] is that of the law, with f and the share of the other items of the block, of which there may
        be none; the share of the reports that were seen there may be 0, and its error is that of the estimate.
        """
        sums = _walsh_hadamard(counts.reshape(self.blocks, self.block)[: self.populated])
        value = self._gain * sums[:, 1:].reshape(-1)[: self.d] / users
        inside, outside = self._in_block
        block = (sums[:, 0] / users - outside) / (inside - outside)
        items = np.minimum(self.block - 1, self.d - np.arange(self.populated) * (self.block - 1))
        rest = np.clip(np.repeat(block, items) - np.clip(value, 0.0, 1.0), 0.0, 1.0)
        rest[np.repeat(items == 1, items)] = 0.0
        square = self._gain**2 / users
        noise = Variance(square * (outside + rest * (inside - outside)), square * (inside - outside) - 1.0 / users)
        grain = self._gain / users  # a sign may become the other one
        return modeled(value, users, Simplex(), noise, share_sampling(users), grain=grain, influence=2.0 * grain)

    def variance(self, n: int, frequency: float = 0.0, block: float | None = None) -> float:
        """Variance of one estimated frequency: (gain^2 [F s(e+1) + (1-F) 2s]/Omega - f)/n.

        ``block`` is F, the share of users with an item of the same block (by default that of even data).
        """
        share = max(frequency, 1.0 / self.populated) if block is None else block
        inside, outside = self._in_block
        return (self._gain**2 * (share * inside + (1 - share) * outside) - frequency) / n

    def accuracy(self, n: int, *, items: int | None = None) -> Accuracy:
        """The mean over the items is largest if everybody is in a full block, of whose b-1 items each has F = 1."""
        even, full = 1.0 / self.d, min(1.0, (self.block - 1) / self.d)
        worst, typical = self.variance(n, even, full), self.variance(n, even)
        entry = max(self.variance(n, 0.0, 1.0), self.variance(n, 1.0, 1.0))
        return Accuracy(math.sqrt(max(worst, typical)), math.sqrt(typical), math.sqrt(entry))

    # -- the law in full --------------------------------------------------------------------------------------

    def probabilities(self) -> FloatArray:
        """e/Omega on C_x, 1/Omega elsewhere."""
        self._few_cells(self.d * self.outputs)
        x, y = np.arange(self.d)[:, None], np.arange(self.outputs)
        row = 1 + x % (self.block - 1)
        member = (y // self.block == x // (self.block - 1)) & (np.bitwise_count(row & y % self.block) % 2 == 0)
        return np.where(member, self._own, self._other)


def _walsh_hadamard(rows: Array) -> FloatArray:
    """The transform of every row: out[r] = sum over z of (-1)^<r, z> row[z]."""
    out = rows.astype(np.float64)
    width = 1
    while width < rows.shape[1]:
        pairs = out.reshape(len(rows), -1, 2, width)
        out = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2).reshape(rows.shape)
        width *= 2
    return out
