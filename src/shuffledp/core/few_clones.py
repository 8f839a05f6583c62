"""The evaluator for few clones: enumerate the counts of the rare telling symbols, bound what the frequent ones add.

With a large eps0 the others send the two symbols that tell most a handful of times, however many users there are, and
S = sum_j h_j X_j lives on a coarse lattice, which a Fourier sum resolves only with very many nodes.  The frequent
symbols (and "nothing") have small values; given the counts h of the rare ones their sum is R = m mu + noise, m = n - |h|
draws of mean mu, variance m sigma^2 and distance at most b from mu.  With x_h = h.X + m mu and s^2 = m sigma^2,

    (x_h)_+  <=  E[(S)_+ | h]  <=  (x_h)_+ + extra(|x_h|, s, b):

the left side is Jensen's inequality, and extra(y) bounds E[(noise - y)_+] on either side by the smaller of

- (sqrt(y^2 + s^2) - y)/2, from two moments (H. Scarf, "A min-max solution of an inventory problem", 1958);
- exp(-psi(y))/psi'(y), psi(y) = y^2/(2 s^2 + 2 b y/3): Bernstein's inequality, integrated from y on; psi is convex.

Each rare symbol is counted up to its own cap; counts beyond are left out of the sum and *added* to the upper bound: by
the size-biasing of round.py they weigh at most sum(P0) Pr[Bin(n-1, t_j) >= cap_j].
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from .binomial import log_multinomial, log_tail_bound
from .contour import LogBracket
from .round import Atoms, FloatArray

#: Largest number of count vectors.
_MOST_ROWS = 200_000
#: The counts of one symbol end where the log-probability of more is below this; single vectors below it are dropped.
_LOG_LEFT_OUT = -75.0
#: The noise of the frequent symbols, in units of the largest rare value, from which nothing tight comes out.
_NOISY = 0.02
#: Rows x eps evaluated in one go.
_CELLS = 1_000_000
#: Atoms are merged if there are at most so many, and if their values are this near, relatively.
_MERGE_UP_TO, _SAME = 40, 2.0**-50
#: Relative rounding of the masses (Loader's form), and of one value in units of the sizes of its terms.
_MASS_ERROR, _VALUE_ERROR = 1e-12, 2.0**-48


@dataclass(frozen=True)
class FewClones:
    """Count vectors of the rare symbols with their probabilities over n, and the other symbols.

    Examples
    --------
    >>> from .round import Round
    >>> p = np.exp(-20.0)
    >>> r = Round(P0=[1 - 2 * p, p, p], P1=[p, 1 - 2 * p, p], t=[p, p, 60 * p])
    >>> found = FewClones.of(r.atoms, n=10**9).log_bracket(np.array([5.0]))
    >>> bool(found.upper[0] - found.lower[0] < 1e-8)
    True
    """

    atoms: Atoms
    n: int
    rare: np.ndarray
    counts: FloatArray
    weight: FloatArray
    left_out: float

    @classmethod
    def of(cls, atoms: Atoms, n: int) -> FewClones | None:
        """The symbols with the largest ratios to what others send, as many as can be enumerated; None if none can."""
        atoms = _merged(atoms)
        order = np.argsort(-np.maximum(atoms.u, atoms.v), kind="stable")
        rows, caps = 1, list[int]()
        for j in order:
            cap = _cap(n, float(atoms.t[j]), _MOST_ROWS // rows)
            if cap is None:
                break
            rows, caps = rows * (cap + 1), [*caps, cap]
        if not caps:
            return None
        rare = order[: len(caps)]
        t = atoms.t[rare]
        if float(t.sum()) >= 1.0:
            return None
        grid = np.indices([cap + 1 for cap in caps]).reshape(len(caps), -1).T
        counts = grid[grid.sum(axis=1) <= n].astype(np.float64)
        with np.errstate(under="ignore"):
            weight = np.exp(log_multinomial(counts, n, t)) / n
        whole = float(atoms.u @ atoms.t)
        most = weight * (counts @ atoms.u[rare]) + weight * (n - counts.sum(axis=1)) * whole / (1.0 - float(t.sum()))
        keep = most > math.exp(_LOG_LEFT_OUT) * whole  # E[(S)_+ | h] <= E[sum of h_j u_j | h]
        tails = sum(math.exp(log_tail_bound(n - 1, x, cap)) for x, cap in zip(t.tolist(), caps, strict=True))
        left_out = (tails * whole + float(most[~keep].sum())) * (1.0 + 1e-9) + 1e-300
        return cls(atoms, n, rare, counts[keep], weight[keep], left_out)

    def usable(self, eps: FloatArray) -> np.ndarray:
        """For which eps the frequent symbols add little noise."""
        values = self.atoms.values(eps)
        share, nothing = self._others
        mean = values @ share
        spread = np.sqrt(self.n * (((values - mean[:, None]) ** 2) @ share + nothing * mean**2))
        return np.asarray(spread <= _NOISY * values[:, self.rare].max(axis=1))

    @property
    def _others(self) -> tuple[FloatArray, float]:
        """What a draw that is no rare symbol is: the law of the other symbols (0 for the rare ones), and of nothing."""
        share = self.atoms.t.copy()
        share[self.rare] = 0.0
        share = share / (1.0 - float(self.atoms.t[self.rare].sum()))
        return share, max(0.0, 1.0 - float(share.sum()))

    def log_bracket(self, eps: FloatArray) -> LogBracket:
        """log upper, log lower and d(upper)/d(eps) of E[(S)_+]/n, for every eps."""
        size = max(1, _CELLS // self.weight.size)
        parts = [self._part(eps[i : i + size]) for i in range(0, eps.size, size)]
        return LogBracket(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def _part(self, eps: FloatArray) -> LogBracket:
        atoms, (share, nothing) = self.atoms, self._others
        values, growth = atoms.values(eps), np.expm1(eps)
        sizes = np.abs(atoms.gap) + growth[:, None] * atoms.v
        left = self.n - self.counts.sum(axis=1)
        mean = values @ share
        variance = ((values - mean[:, None]) ** 2) @ share + nothing * mean**2
        reach = np.maximum(np.abs(np.where(share > 0.0, values - mean[:, None], 0.0)).max(axis=1), np.abs(mean))
        x = values[:, self.rare] @ self.counts.T + mean[:, None] * left
        doubt = _VALUE_ERROR * (sizes[:, self.rare] @ self.counts.T + (sizes @ share)[:, None] * left)
        spread = np.sqrt(variance * self.n * (1.0 + 1e-9))[:, None]  # m <= n
        extra = _extra(np.maximum(np.abs(x) - doubt, 0.0), spread, reach[:, None] * (1.0 + 1e-9))
        sure = 1.0 + _MASS_ERROR + 2.0**-52 * self.weight.size
        upper = (np.maximum(x + doubt, 0.0) + extra) @ self.weight * sure + self.left_out
        lower = np.maximum(x - doubt, 0.0) @ self.weight * (2.0 - sure)
        falls = atoms.v[self.rare] @ self.counts.T + float(atoms.v @ share) * left
        slope = -np.exp(eps) * ((x > 0.0) @ (self.weight * falls))
        with np.errstate(divide="ignore"):
            return LogBracket(np.log(upper), np.log(lower), slope)


def _merged(atoms: Atoms) -> Atoms:
    """Symbols whose values differ by rounding only are one (what that moves is inside _VALUE_ERROR)."""
    if atoms.t.size > _MERGE_UP_TO:
        return atoms
    groups: list[list[int]] = []
    for j in range(atoms.t.size):
        for group in groups:
            i = group[0]
            if all(abs(a[i] - a[j]) <= _SAME * abs(a[i]) for a in (atoms.gap, atoms.v)):
                group.append(j)
                break
        else:
            groups.append([j])
    first = [group[0] for group in groups]
    mass = np.array([atoms.t[group].sum() for group in groups])
    return replace(atoms, u=atoms.u[first], v=atoms.v[first], gap=atoms.gap[first], t=mass)


def _cap(n: int, t: float, most: int) -> int | None:
    """The smallest count that is reached with a log-probability below _LOG_LEFT_OUT; None if it is not below most."""
    low, high = 0, min(most, n)
    if high < n and log_tail_bound(n - 1, t, high) > _LOG_LEFT_OUT:
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if log_tail_bound(n - 1, t, middle) <= _LOG_LEFT_OUT else (middle + 1, high)
    return low if low < most else None


def _extra(y: FloatArray, s: FloatArray, b: FloatArray) -> FloatArray:
    """E[(noise - y)_+] at most, for noise of deviation s whose terms are at most b."""
    two_moments = s * s / (2.0 * (np.hypot(y, s) + y) + 1e-300)
    scale = s * s + b * y / 3.0 + 1e-300
    with np.errstate(all="ignore"):
        tail = np.exp(-0.5 * y * y / scale) * (6.0 * scale * scale / (y * (6.0 * s * s + b * y)))
    return np.asarray(np.fmin(two_moments, tail)) * (1.0 + 1e-9)
