"""A small matrix among few users without a reduction: the maximum over all crowds, and over all victim pairs.

Let g be the law of the histogram of the reports of n - 1 others who hold given rows (a crowd: only how many hold each
row matters).  With the victim's report, whose law is a or b, the histogram h of all n reports has

    D_E(a || b) = sum_h (sum_j (a_j - E b_j) g(h - e_j))_+ .

The truth is the maximum over ordered pairs of rows and over crowds.  A crowd of m + 1 users is one of m users and one
more, whose row is not above those of the others.  Sorted by its last row, the list of crowds of m + 1 users is a
sequence of pieces, each a beginning of the list for m users.  Histograms are sorted in the same way.
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache

import numpy as np

from ..errors import BoundNotApplicableError
from . import tuning
from .family import Answer, OneByOne
from .ledger import charge
from .pair import ENTRY, FloatArray, IntArray, Side
from .symmetry import distinct_rows, exact, merged_columns, representatives

#: Laws have this total instead of 1, so that no entry that matters underflows.
_TOTAL = 2.0**900
#: What entries that underflow may add to any delta; and the largest eps that is evaluated.
_UNDERFLOW, _LARGEST_EPS = 2.0**-1000, 600.0
#: Crowds whose delta is within this relative distance of the worst one are not evaluated; the first step in eps.
_ROOM, _STEP = 1e-11, 2.0**-46
#: Eps that are evaluated at once.
_AT_ONCE = 256


def response(eps0: float) -> FloatArray:
    """The matrix of binary randomized response, every entry right to a few roundings."""
    keep = 1.0 / (1.0 + math.exp(-eps0))
    flip = math.exp(-eps0) * keep
    return np.array([[keep, flip], [flip, keep]])


def multisets(m: int, kinds: int) -> int:
    """The number of multisets of m things of these kinds.

    Examples
    --------
    >>> multisets(2, 3)
    6
    """
    return math.comb(m + kinds - 1, m)


@lru_cache(maxsize=512)
def _one_more(k: int, m: int) -> tuple[IntArray, ...]:
    """For every output j: the places of the histograms of m reports after one more report of j."""
    if m == 0:
        return tuple(np.array([j]) for j in range(k))
    start, fewer = [0, *(multisets(m + 1, t) for t in range(1, k))], _one_more(k, m - 1)
    return tuple(
        np.concatenate(
            [start[j] + np.arange(multisets(m, j + 1))]
            + [start[t] + fewer[j][: multisets(m - 1, t + 1)] for t in range(j + 1, k)]
        )
        for j in range(k)
    )


def _without(k: int, m: int) -> IntArray:
    """For every output j: the places of h - e_j, for all h of m + 1 reports; the last place if h has no j."""
    out = np.full((k, multisets(m + 1, k)), multisets(m, k))
    for row, places in zip(out, _one_more(k, m), strict=True):
        row[places] = np.arange(places.size)
    return out


@charge("rounding in the sums over all crowds", "crowds.py")
def weights(a: FloatArray, b: FloatArray, eps: FloatArray, error: float, side: Side) -> FloatArray:
    """a_j - E b_j for every eps, with a larger and b smaller by ``error``, relatively (lower side: the other way).

    If computed g are right to a relative u and sums of k terms to (k + 2) 2^-53 of the sum of their absolute values,

        sum_j (a_j - E b_j) g_j  <=  sum_j (a_j (1 + error) - E b_j (1 - error)) g_j  as computed

    for error >= u + (k + 8) 2^-53 and second orders, with two roundings each of E, of E b_j and of the differences;
    u is n - 1 times what an entry and a step of the sums may be off (``EveryCrowd._error``).
    """
    E, sign = np.exp(eps)[:, None], 1.0 if side == "upper" else -1.0
    return np.asarray(a * (1.0 + sign * error) - E * b * (1.0 - sign * error))


@charge("rounding and underflow of a sum over histograms", "crowds.py")
def terms_summed(terms: FloatArray, side: Side) -> FloatArray:
    """delta from the terms >= 0 of all histograms, in units of _TOTAL, summed over the second axis.

    A sum of H terms is right to H 2^-53 relatively.  What is below 2^-1074 is lost, 2^-1974 in delta: with weights up
    to E <= e^600 and fewer than 2^60 operations that is less than 2^-1000.
    """
    total, error = terms.sum(axis=1) / _TOTAL, terms.shape[1] * 2.0**-52
    if side == "upper":
        return np.asarray(total * (1.0 + error) + _UNDERFLOW)
    return np.asarray(np.maximum(total * (1.0 - error) - _UNDERFLOW, 0.0))


@charge("crowds that are discarded by their chords", "crowds.py")
def chords(left: FloatArray, right: FloatArray, eps: FloatArray) -> FloatArray:
    """Bounds on D_E at the inner eps, from its values at the first and last one: D_E falls and is convex in E, so

        D_E  <=  s D_first + (1 - s) D_last,  s = (E_last - E)/(E_last - E_first).

    E is right to 2^-52, hence s to 2^-50 E_last/(E_last - E_first); the values are upper ones, or lower ones of a lower
    bound, for which any crowd may be discarded.
    """
    E = np.exp(eps)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.minimum((E[-1] - E[1:-1] + 2.0**-50 * E[-1]) / (E[-1] - E[0]), 1.0)[:, None]
    return np.asarray(share * left + (1.0 - share) * right)


class EveryCrowd(OneByOne):
    """All crowds of a matrix, as long as they are few: the truth to rounding; beyond, no claim.

    Examples
    --------
    >>> three = EveryCrowd(np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]))
    >>> [round(three.epsilon(n=10, delta=0.01, tol=1e-4, side=s).epsilon, 6) for s in ("lower", "upper")]
    [0.298041, 0.298041]
    >>> three.epsilon(n=10**6, delta=0.01, tol=1e-4, side="upper").epsilon
    inf
    """

    def __init__(self, matrix: FloatArray, *, rounded_up: bool = False) -> None:
        """``rounded_up``: the matrix may reveal more than the mechanism does, and gives no lower bound for it."""
        self.rounded_up = rounded_up
        self._columns = matrix.shape[1]
        small = matrix.size <= tuning.MOST_CROWD_CELLS
        self.rows = merged_columns(distinct_rows(matrix)) if small else matrix[:1]
        every = len(self.rows) * (len(self.rows) - 1)
        if not (every and (self._little(2, every) or self.covers(2))):  # pairs are compared only where that decides
            raise BoundNotApplicableError(
                "bound 'exact' goes through all datasets, which takes a matrix with few different rows and columns, "
                f"got {matrix.shape[0]} x {matrix.shape[1]}; use bound='auto'."
            )

    quick = True  # there are few crowds, and most are discarded for many eps at once

    @cached_property
    def _pairs(self) -> list[tuple[int, int]]:
        """Victim pairs that stand for all."""
        return [divmod(int(place), len(self.rows)) for place in representatives(self.rows)]

    @cached_property
    def _alike(self) -> float:
        """By how much pairs that count as alike may differ."""
        all_listed = len(self._pairs) == len(self.rows) * (len(self.rows) - 1)
        return 0.0 if all_listed or exact(self.rows) else 2.0**-41

    def covers(self, n: int) -> bool:
        """Whether building the laws of all crowds of n - 1 users, and summing all pairs over them, is little work."""
        return self._little(n, 1) and self._little(n, len(self._pairs))

    def _little(self, n: int, pairs: int) -> bool:
        """The same for a number of pairs."""
        d, k = self.rows.shape
        if n > tuning.EVERY_K:
            return False
        cells = multisets(n - 1, d) * multisets(n - 1, k)
        return bool(k * k * cells * (n / (d + k - 1) + pairs) <= tuning.MOST_CROWD_WORK)

    def _error(self, n: int) -> float:
        """Twice what :func:`weights` needs, where each of K columns adds to the roundings of every user.

        These are one for a sum of k <= K terms, one for merging proportional columns, and two for the sampler.
        """
        return 2.0 * n * float(ENTRY + self._alike + (4.0 * self._columns + 8.0) * 2.0**-53)

    @np.errstate(over="ignore", under="ignore")
    def _deltas(self, n: int, columns: IntArray, eps: FloatArray, side: Side, *, slopes: bool = False) -> FloatArray:
        """D_E of all columns (pair x crowds + crowd) at every eps, or how fast it falls with E."""
        laws, error = _crowd_laws(self, n), self._error(n)
        out, size = np.zeros((eps.size, columns.size)), laws.shape[2]
        for number, (x0, x1) in enumerate(self._pairs):
            mine = np.flatnonzero(columns // size == number)
            if not mine.size:
                continue
            g = laws if mine.size == size else laws[:, :, columns[mine] % size]
            w = weights(self.rows[x0], self.rows[x1], eps, error, side)
            terms = np.einsum("ej,jhc->ehc", w, g)
            np.maximum(terms, 0.0, out=terms)
            if slopes:
                terms = np.where(terms > 0.0, np.einsum("j,jhc->hc", self.rows[x1], g), 0.0)
            possible = (w > 0.0).any(axis=1, keepdims=True)
            out[:, mine] = terms_summed(terms, side) * possible
        return out

    def epsilon(self, *, n: int, delta: float, tol: float, side: Side) -> Answer:
        """The first eps at which no crowd has more than delta (lower: the last one at which some crowd has more).

        Newton steps from the left never pass a zero of a convex function, and D_E falls: a crowd that has at most delta
        at one eps is done.  Constant crowds come first.
        """
        if not self.covers(n):
            return Answer(math.inf if side == "upper" else 0.0, 0, 0)
        d, pairs, crowds = len(self.rows), len(self._pairs), multisets(n - 1, len(self.rows))
        constant = np.array([multisets(n - 1, t + 1) - 1 for t in range(d)])
        eps = last = 0.0
        for columns in ((np.arange(pairs)[:, None] * crowds + constant).reshape(-1), np.arange(pairs * crowds)):
            eps, step = eps if side == "upper" else last, _STEP
            while eps < _LARGEST_EPS:
                value = self._deltas(n, columns, np.array([eps]), side)[0]
                more = value > delta
                if more.any():
                    columns, last = columns[more], eps
                    fall = self._deltas(n, columns, np.array([eps]), side, slopes=True)[0]
                    ahead = float(((value[more] - delta) / np.maximum(fall, _UNDERFLOW)).max())
                    eps = min(max(math.log1p(math.expm1(eps) + ahead), eps + step), _LARGEST_EPS)
                elif side == "lower" and eps - step > last:  # a step went too far, by rounding
                    eps -= step
                else:
                    break
                step *= 2.0
        found = last if side == "lower" else eps if eps < _LARGEST_EPS else math.inf
        return Answer(found, pairs * crowds, pairs * crowds)

    def log_delta(self, eps: FloatArray, *, n: int, tol: float, side: Side) -> FloatArray:
        """log delta of the worst crowd at every eps; most crowds are discarded by their chords."""
        if not self.covers(n):
            return np.full(eps.shape, 0.0 if side == "upper" else -np.inf)
        points, place = np.unique(np.minimum(eps, _LARGEST_EPS), return_inverse=True)
        parts = [self._largest(n, points[i : i + _AT_ONCE], side) for i in range(0, points.size, _AT_ONCE)]
        found = np.concatenate([np.zeros(0), *parts])[place].reshape(eps.shape)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(found if side == "upper" else np.where(eps > _LARGEST_EPS, 0.0, found)))

    def _largest(self, n: int, eps: FloatArray, side: Side) -> FloatArray:
        """D_E of the worst column at rising eps."""
        every = np.arange(len(self._pairs) * multisets(n - 1, len(self.rows)))
        ends = self._deltas(n, every, eps[[0, -1]], side)
        best = self._deltas(n, ends.argmax(axis=1), eps, side).max(axis=1)
        parts = [(0, eps.size - 1, every, *ends)]
        while parts:
            i, j, columns, left, right = parts.pop()
            near = (chords(left, right, eps[i : j + 1]) > best[i + 1 : j, None] * (1.0 + _ROOM)).any(axis=0)
            if near.any():
                columns, left, right, middle = columns[near], left[near], right[near], (i + j) // 2
                value = self._deltas(n, columns, eps[[middle]], side)[0]
                best = np.maximum(best, self._deltas(n, columns[[value.argmax()]], eps, side)[:, 0])
                parts += [(i, middle, columns, left, value), (middle, j, columns, value, right)]
        return np.asarray(best * (1.0 + 2.0 * _ROOM)) if side == "upper" else best


@lru_cache(maxsize=2)
def _crowd_laws(family: EveryCrowd, n: int) -> FloatArray:
    """g(h - e_j) of all crowds of n - 1 users, by j, h and crowd, times _TOTAL."""
    rows = family.rows
    d, k = rows.shape
    g = np.array([[_TOTAL], [0.0]])
    for m in range(n - 1):
        shifted, start = g[_without(k, m)], 0
        g = np.zeros((multisets(m + 1, k) + 1, multisets(m + 1, d)))
        for t, row in enumerate(rows):
            size = multisets(m, t + 1)
            np.einsum("j,jhc->hc", row, shifted[:, :, :size], out=g[:-1, start : start + size])
            start += size
    return np.asarray(g[_without(k, n - 1)])
