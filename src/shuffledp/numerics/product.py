"""Products of shuffled pairs: several independent answers of one user that travel as one tuple.

The law of a tuple is the product of the laws of its answers, P0 = P0^1 x P0^2 x ..., and every other tuple contains
t = t^1 x t^2 x ....  With u = P0/t and v = P1/t, a symbol of the product has the product of the u, the product of the v
and the product of the masses.

*Which pairs of the answers are enough.*  Given the other answers, X = u - E v of a tuple is a u^1 - b v^1 with numbers
a, b >= 0 that the other answers fix.  So if, for every a, b >= 0, the law of a u^1 - b v^1 under t^1 is dominated in
convex order by that of another pair, then so is the law of X: condition on the other answers, then average.  A pair
does this if it is a mean-preserving spread of (u^1, v^1), if the answer is post-processing of it, or, where it is
its own swap, if it dominates u - E v of both directions at every E >= 1: the rest is a sign, b (v - (a/b) u).

*An answer that does not change* (x0 = x1 in one place) has u = v there.  b = 0 above shows that u itself is dominated,
so the pair (P0, P0, t) of a dominating pair stands for it.  It need not be listed where u falls as v rises: of all
couplings with the same laws of u and of v the antitone one has the largest a u - b v in convex order (u and -v are then
comonotone; Rueschendorf, Mathematical Risk Analysis, 2013, Theorem 3.5), and if v has the law of u, it covers u = v.

*Size.*  Symbols with equal (u, v) are merged as they arise.  Where more are left than allowed, the upper bound moves
each to the four corners of a cell of a grid in (u, v), with weights that keep both means (a spread, hence sound); the
lower bound merges the symbols of a cell (post-processing).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .ledger import charge
from .pair import TINY, FloatArray, IntArray, ShuffledPair, Side

#: A product of more symbols is moved to a grid.
MOST_SYMBOLS = 5000
#: Pairs of symbols that may be multiplied; if there are more, the factors are first reduced to this many symbols each.
_AT_ONCE, _LEFT, _RIGHT = 600_000, 1200, 500
#: Values of u and of v on the grids to try, the finest first.
_GRIDS = (512, 256, 128, 64, 32, 16, 8, 4, 2)
#: Ratios that agree to this many bits count as equal; rounding makes them differ.
_EQUAL_BITS = 47
_EQUAL = 2.0 ** (1 - _EQUAL_BITS)


@charge("rounding of the laws of a product", "docs/proofs.md, Lemma 5")
def rounding_slack(factors: int) -> float:
    """How far rounding and the merging of nearly equal ratios can move eps, and log delta, of a product.

    Every factor adds a few roundings of 2^-53 to P0 and to P1 and one merging of ratios that agree to 2^-46.  If
    P0 <= (1 + a) P0' and P1 >= (1 - a) P1', then D_E(P) <= (1 + a) D_E'(P') with E' = E (1 - a)/(1 + a).

    Examples
    --------
    >>> rounding_slack(2) < 1e-12
    True
    """
    return factors * 2.0**-44


def unchanged(pair: ShuffledPair) -> list[ShuffledPair]:
    """Two pairs in which the victim's answer does not change: it has the law P0 in the first and P1 in the second.

    Examples
    --------
    >>> [p.max_ratio for p in unchanged(ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25]))]
    [1.0, 1.0]
    """
    return [ShuffledPair(P0=law, P1=law, t=pair.t) for law in (pair.P0, pair.P1)]


def tells_most(pair: ShuffledPair) -> bool:
    """Whether u falls as v rises and both have the same law; such a pair covers an answer that does not change.

    Examples
    --------
    >>> tells_most(ShuffledPair(P0=[0.6, 0.2, 0.2], P1=[0.2, 0.6, 0.2], t=[0.2, 0.2, 0.2]))
    True
    >>> tells_most(ShuffledPair(P0=[0.5, 0.1, 0.4], P1=[0.1, 0.5, 0.4], t=[0.1, 0.1, 0.05]))
    False
    """
    atoms = pair.atoms
    if atoms.zero0.size:
        return False
    order = np.lexsort((-_rounded(atoms.v), _rounded(atoms.u)))
    u, v, t = atoms.u[order], atoms.v[order], atoms.t[order]
    falls = bool(np.all(np.diff(v) <= _EQUAL * v[1:]))
    return falls and all(np.allclose(x, y[::-1], rtol=_EQUAL, atol=0.0) for x, y in ((u, v), (t, t)))


def product_pair(pairs: Sequence[ShuffledPair], *, side: Side = "upper", most: int = MOST_SYMBOLS) -> ShuffledPair:
    """The pair of independent answers that travel together; a large one is reduced on the safe side.

    Examples
    --------
    >>> coin = ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.25])
    >>> both = product_pair([coin, coin])
    >>> both.t.tolist(), both.max_ratio
    ([0.0625, 0.125, 0.0625], 9.0)
    """
    law, *rest = (_merged(_law(pair)) for pair in pairs)
    for factor in rest:
        if law.shape[1] * factor.shape[1] > _AT_ONCE:
            law, factor = _smaller(law, side, _LEFT), _smaller(factor, side, _RIGHT)
        # a symbol that nobody else sends keeps t = 0; t below TINY counts as 0 everywhere, which is sound
        law = _smaller(_merged(np.einsum("ki,kj->kij", law, factor).reshape(3, -1)), side, most)
    return ShuffledPair(*law)


def moments(pair: ShuffledPair) -> FloatArray:
    """The sums of P0 P0/t, P0 P1/t and P1 P1/t: those of a product are the products of those of its factors.

    Examples
    --------
    >>> moments(ShuffledPair(P0=[0.75, 0.25], P1=[0.25, 0.75], t=[0.25, 0.75])).round(4).tolist()
    [2.3333, 1.0, 1.0]
    """
    p0, p1, t = _law(pair)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        terms = [np.where((a > 0) & (b > 0), a * (b / t), 0.0) for a, b in ((p0, p0), (p0, p1), (p1, p1))]
    return np.array([term.sum() for term in terms])


def _law(pair: ShuffledPair) -> FloatArray:
    """P0, P1 and t as rows, without symbols that the victim never sends: X is 0 there, as it is for "nothing"."""
    law = np.array([pair.P0, pair.P1, pair.t])
    return law[:, (law[0] > 0) | (law[1] > 0)]


def _merged(law: FloatArray) -> FloatArray:
    """Merge symbols with the same (u, v), up to rounding; those that nobody else sends, by their ratio P0 : P1."""
    hidden = law[2] > TINY
    scale = np.where(hidden, law[2], law[0] + law[1])
    scale = np.where(scale > 0.0, scale, 1.0)  # both laws underflowed
    keys = np.stack([_rounded(law[0] / scale), _rounded(law[1] / scale), hidden.astype(np.float64)])
    order = np.lexsort(keys)
    new = np.any(np.diff(keys[:, order], axis=1) != 0.0, axis=0)
    label = np.empty(order.size, dtype=np.int64)
    label[order] = np.concatenate([[0], np.cumsum(new)])
    return _gathered(law, label)


def _rounded(values: FloatArray) -> FloatArray:
    """To _EQUAL_BITS binary digits."""
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.round(np.ldexp(mantissa, _EQUAL_BITS)), exponent - _EQUAL_BITS))


def _gathered(law: FloatArray, label: IntArray) -> FloatArray:
    """The sums over the symbols with the same label."""
    count = int(label.max(initial=-1)) + 1
    return np.stack([np.bincount(label, weights=row, minlength=count) for row in law])


def _smaller(law: FloatArray, side: Side, most: int) -> FloatArray:
    """The law on the finest grid that leaves at most ``most`` symbols, or unchanged if it has no more than that."""
    if law.shape[1] <= most:
        return law
    for grid in _GRIDS:
        made = _on_grid(law, side, grid)
        if made.shape[1] <= most:
            break
    return made


@charge("symbols of a product on a grid", "product.py: a spread that keeps both means, or a merging of symbols")
def _on_grid(law: FloatArray, side: Side, grid: int) -> FloatArray:
    """A grid in (u, v) for symbols that others send, and one in the share of P0 for those that nobody else sends."""
    hidden = law[2] > TINY
    own, alone = law[:, hidden], law[:, ~hidden]
    total = alone[0] + alone[1]
    alone, total = alone[:, total > 0.0], total[total > 0.0]
    places = [_places(row / own[2], grid) for row in own[:2]] if own.size else []
    share = [_places(row / total, grid) for row in alone[:2]] if alone.size else []
    if side == "lower":
        return np.concatenate([_gathered(x, _cells(g)) for x, g in ((own, places), (alone, share)) if x.size], axis=1)
    made = []
    if own.size:
        corners = _corners(own[2], places)
        made.append(np.stack([corners[2] * corners[0], corners[2] * corners[1], corners[2]]))
    if alone.size:
        # (P0 - E P1)_+ is sublinear: splitting a symbol into two with the same sums cannot lower it
        nodes, at, weight = share[0]
        parts = np.concatenate([total * (1.0 - weight), total * weight])
        mass = np.bincount(np.concatenate([at, at + 1]), weights=parts, minlength=nodes.size)
        made.append(np.stack([mass * nodes, mass * (1.0 - nodes), np.zeros(nodes.size)]))
    return np.concatenate(made, axis=1)


Places = tuple[FloatArray, IntArray, FloatArray]


def _places(values: FloatArray, grid: int) -> Places:
    """Nodes around the values; for every value the node below it and its weight on the node above."""
    distinct = np.unique(values)
    if distinct.size <= grid:
        nodes = distinct
    else:
        low = distinct[distinct > 0.0][0]
        nodes = np.geomspace(low, distinct[-1], grid)
        nodes[-1] = distinct[-1]
        nodes = np.unique(np.concatenate([distinct[:1], nodes]))
    if nodes.size == 1:
        nodes = np.append(nodes, nodes + 1.0)
    at = np.clip(np.searchsorted(nodes, values, side="right") - 1, 0, nodes.size - 2)
    weight = (values - nodes[at]) / (nodes[at + 1] - nodes[at])
    return nodes, at, np.clip(weight, 0.0, 1.0)


def _cells(grid: Sequence[Places]) -> IntArray:
    """The cell of every symbol, numbered without gaps."""
    (_, i, _), (nodes, j, _) = grid
    label: IntArray = np.unique(i * nodes.size + j, return_inverse=True)[1].reshape(-1)
    return label


def _corners(mass: FloatArray, grid: Sequence[Places]) -> FloatArray:
    """(u, v, mass) of the corners that receive any mass: bilinear weights keep the mass and the means of u and v."""
    (first, i, a), (second, j, b) = grid
    size = second.size
    total = np.zeros(first.size * size)
    for di, wi in ((0, 1.0 - a), (1, a)):
        for dj, wj in ((0, 1.0 - b), (1, b)):
            total += np.bincount((i + di) * size + j + dj, weights=mass * wi * wj, minlength=total.size)
    used = np.flatnonzero(total)
    return np.stack([first[used // size], second[used % size], total[used]])


def tuples_up_to_order(sizes: Sequence[tuple[int, int]]) -> int:
    """How many tuples there are if only the multiset of ``count`` places with ``choices`` each matters.

    Examples
    --------
    >>> tuples_up_to_order([(3, 2), (4, 1)])
    24
    """
    return math.prod(math.comb(choices + count - 1, count) for choices, count in sizes)
