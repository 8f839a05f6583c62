"""The evaluator for few clones: enumerate the counts of rare, revealing symbols and bound what frequent ones add.

With a large eps0 the others send the most revealing symbols a handful of times, however many users there are, and
S = sum_j h_j X_j lives on a coarse lattice, which a Fourier sum resolves only with very many nodes.  The frequent
symbols (and "nothing") have small values.  Given the counts h of the rare ones, the sum of the other m = n - |h| draws
is m mu + noise, with a variance m sigma^2 and every term within b of mu.  With x_h = h.X + m mu and s^2 = m sigma^2,

    (x_h)_+  <=  E[(S)_+ | h]  <=  (x_h)_+ + extra(|x_h|, s, b):

the left side is Jensen's inequality, and extra(y) bounds E[(noise - y)_+] on either side by the smaller of

- (sqrt(y^2 + s^2) - y)/2, from two moments (H. Scarf, "A min-max solution of an inventory problem", 1958);
- exp(-psi(y))/psi'(y), psi(y) = y^2/(2 s^2 + 2 b y/3): Bernstein's inequality, integrated from y on; psi is convex.

Each rare symbol is counted up to its own cap; counts beyond are left out of the sum and *added* to the upper bound: by
the size-biasing of pair.py they weigh at most sum(P0) Pr[Bin(n-1, t_j) >= cap_j].
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property

import numpy as np

from ..binomial import first_rare, log_draws, log_tail_bound, log_term
from ..pair import Atoms, FloatArray
from .contour import LogBracket

#: Largest number of count vectors, roughly, and how many of them cost next to nothing.
MOST_ROWS, QUICK_ROWS = 200_000, 20_000
#: The counts of one symbol end where the log-probability of more is below this; single vectors below it are dropped.
_LOG_LEFT_OUT = -75.0
#: Symbols with ratios below this share of the largest, or sent more often than this, are enumerated only where that
#: costs next to nothing.
_SMALL, RARE = 1e-3, 0.01
#: The noise of the frequent symbols, in units of the largest rare value, from which the bound is no longer tight.
NOISY = 0.02
#: Distance from 0, in units of the noise, from which rows are not evaluated one by one.
_FAR = 40.0
#: A count that reaches this is too large for this evaluator.
FEW = 150
#: Laws with more symbols than this have values of all sizes.
_MOST_SYMBOLS = 40
#: Values that are relatively this close count as one value.
_SAME = 2.0**-50
#: Relative rounding of the masses (Loader's form), and of one value in units of the sizes of its terms.
_MASS_ERROR, _VALUE_ERROR = 1e-12, 2.0**-48


class FewClones:
    """E[(S)_+]/n of a sum of n copies of X, whose rare values are enumerated.

    Examples
    --------
    >>> from shuffledp.numerics.pair import ShuffledPair
    >>> p = np.exp(-20.0)
    >>> r = ShuffledPair(P0=[1 - 2 * p, p, p], P1=[p, 1 - 2 * p, p], t=[p, p, 60 * p])
    >>> found = FewClones.of(r.atoms, n=10**9).log_bracket(np.array([5.0]))
    >>> bool(found.upper[0] - found.lower[0] < 1e-8)
    True
    """

    def __init__(self, atoms: Atoms, n: int, caps: dict[int, int], rows: float) -> None:
        self.atoms, self.n, self._caps = atoms, n, caps
        #: whether an evaluation costs less than one on the contour
        self.quick = rows <= QUICK_ROWS
        self.rare = list(caps)
        share = atoms.t.copy()
        share[self.rare] = 0.0
        #: a draw that is not a rare symbol: the law of the other symbols, and the probability of nothing
        self._share = share / (1.0 - float(atoms.t[self.rare].sum()))
        self._nothing = max(0.0, 1.0 - float(self._share.sum()))

    @classmethod
    def of(cls, atoms: Atoms, n: int) -> FewClones | None:
        """The symbols with the largest ratios to what others send, as many as can be enumerated; None if none can."""
        if atoms.t.size > _MOST_SYMBOLS:
            return None
        atoms = _merged(atoms)
        rows, total, size = 1.0, 0.0, np.maximum(atoms.u, atoms.v)
        caps: dict[int, int] = {}
        for j in np.argsort(-size, kind="stable").tolist():
            t = float(atoms.t[j])
            most = MOST_ROWS if size[j] >= _SMALL * size.max() and t <= RARE else QUICK_ROWS
            kept = 0.5 if caps else 1.0  # about half of a box is dropped
            cap = _cap(n, t, min(math.ceil(most / (rows * kept)), FEW))
            if cap is None or total + t >= 0.9:
                break
            rows, total = rows * (cap + 1) * kept, total + t
            caps[j] = cap
        return cls(atoms, n, caps, rows) if caps else None

    @cached_property
    def _table(self) -> tuple[FloatArray, FloatArray, float]:
        """Count vectors of the rare symbols, their probabilities over n, and what is left out."""
        atoms, n, whole = self.atoms, self.n, float(self.atoms.u @ self.atoms.t)
        counts, log_mass, left_out = np.zeros((1, 0), dtype=np.int64), np.full(1, log_draws(n) - math.log(n)), 1e-300
        for taken, (j, cap) in enumerate(self._caps.items(), start=1):
            left_out += math.exp(log_tail_bound(n - 1, float(atoms.t[j]), cap)) * whole
            own = np.arange(cap + 1)
            log_mass = np.subtract.outer(log_mass, log_term(own.astype(np.float64), n * float(atoms.t[j]))).reshape(-1)
            counts = np.column_stack([np.repeat(counts, cap + 1, axis=0), np.tile(own, len(counts))])
            total = counts.sum(axis=1)
            rare = self.rare[:taken]
            others = 1.0 - float(atoms.t[rare].sum())
            rest = log_term(n - np.arange(min(int(total.max()), n) + 1.0), n * others)
            with np.errstate(under="ignore"):
                weight = np.where(total <= n, np.exp(log_mass - rest[np.minimum(total, n)]), 0.0)
            # E[(S)_+ | h] <= E[sum_j h_j u_j | h]; what is dropped is dropped with all counts of the symbols to come
            most = weight * (counts @ atoms.u[rare] + (n - total) * (whole / others))
            keep = most >= math.exp(_LOG_LEFT_OUT) * whole
            left_out += float(most[~keep].sum())
            counts, log_mass, weight = counts[keep], log_mass[keep], weight[keep]
        return counts.astype(np.float64), weight, left_out * (1.0 + 1e-9)

    def usable(self, eps: FloatArray) -> np.ndarray:
        """For which eps the frequent symbols add little noise."""
        values = self.atoms.values(eps)
        mean = values @ self._share
        spread = np.sqrt(self.n * (((values - mean[:, None]) ** 2) @ self._share + self._nothing * mean**2))
        return np.asarray(spread <= NOISY * values[:, self.rare].max(axis=1))

    def log_bracket(self, eps: FloatArray) -> LogBracket:
        """log upper, log lower and d(upper)/d(eps) of E[(S)_+]/n, for every eps."""
        parts = [self._at(eps[i : i + 1]) for i in range(eps.size)]  # one by one: a value does not depend on the others
        return LogBracket(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def _at(self, eps: FloatArray) -> LogBracket:
        atoms, share, (counts, weight, left_out) = self.atoms, self._share, self._table
        values, growth = atoms.values(eps), np.expm1(eps)
        sizes = np.abs(atoms.gap) + growth[:, None] * atoms.v
        left = self.n - counts.sum(axis=1)
        mean = values @ share
        variance = ((values - mean[:, None]) ** 2) @ share + self._nothing * mean**2
        reach = np.maximum(np.abs(np.where(share > 0.0, values - mean[:, None], 0.0)).max(axis=1), np.abs(mean))
        x = values[:, self.rare] @ counts.T + mean[:, None] * left
        doubt = _VALUE_ERROR * (sizes[:, self.rare] @ counts.T + (sizes @ share)[:, None] * left)
        spread, reach = np.sqrt(variance * self.n * (1.0 + 1e-9))[:, None], reach * (1.0 + 1e-9)  # m <= n
        sure = 1.0 + _MASS_ERROR + 2.0**-52 * weight.size
        sums = np.maximum(x + doubt, 0.0) @ weight + self._noise(np.abs(x) - doubt, spread, reach[:, None], weight)
        upper = sums * sure + left_out
        lower = np.maximum(x - doubt, 0.0) @ weight * (2.0 - sure)
        falls = counts @ atoms.v[self.rare] + float(atoms.v @ share) * left
        slope = -np.exp(eps) * ((x > 0.0) @ (weight * falls))
        with np.errstate(divide="ignore"):
            return LogBracket(np.log(upper), np.log(lower), slope)

    @staticmethod
    def _noise(y: FloatArray, s: FloatArray, b: FloatArray, weight: FloatArray) -> FloatArray:
        """The sum of weight * extra(y) over all rows; extra falls with y, so that one value covers the far ones."""
        far = _FAR * s
        out = _extra(far, s, b)[:, 0] * float(weight.sum())
        near = np.nonzero(y < far)
        if near[0].size:
            at = near[0]
            value = _extra(np.maximum(y[near], 0.0), s[at, 0], b[at, 0]) * weight[near[1]]
            out = out + np.bincount(at, weights=value, minlength=out.size)
        return np.asarray(out)


def _merged(atoms: Atoms) -> Atoms:
    """Merge symbols whose values differ by rounding only (_VALUE_ERROR covers the difference)."""
    alike = np.ones((atoms.t.size, atoms.t.size), dtype=bool)  # [i, j]: j may join a group that i leads
    for a in (atoms.gap, atoms.v):
        alike &= np.abs(a[:, None] - a) <= _SAME * np.abs(a)[:, None]
    if int(alike.sum()) == atoms.t.size:  # each is like itself only
        return atoms
    groups: list[list[int]] = []
    for j in range(atoms.t.size):
        for group in groups:
            if alike[group[0], j]:
                group.append(j)
                break
        else:
            groups.append([j])
    first = [group[0] for group in groups]
    mass = np.array([atoms.t[group].sum() for group in groups])
    return replace(atoms, u=atoms.u[first], v=atoms.v[first], gap=atoms.gap[first], t=mass)


def _cap(n: int, t: float, most: int) -> int | None:
    """The smallest count that is reached with a log-probability below _LOG_LEFT_OUT; None if it is not below most."""
    found = first_rare(n - 1, t, _LOG_LEFT_OUT, low=0, high=min(most, n))
    return found if found is not None and found < most else None


def _extra(y: FloatArray, s: FloatArray, b: FloatArray) -> FloatArray:
    """E[(noise - y)_+] at most, for noise of deviation s whose terms are at most b."""
    two_moments = s * s / (2.0 * (np.hypot(y, s) + y) + 1e-300)
    scale = s * s + b * y / 3.0 + 1e-300
    with np.errstate(all="ignore"):
        tail = np.exp(-0.5 * y * y / scale) * (6.0 * scale * scale / (y * (6.0 * s * s + b * y)))
    return np.asarray(np.fmin(two_moments, tail)) * (1.0 + 1e-9)
