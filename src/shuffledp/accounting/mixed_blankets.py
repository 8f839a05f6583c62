"""One victim among users with other budgets: a law that all of them send, and how often each class does.

*Formula.*  Let w_c(y) = min over inputs x of R_c(x)_y be the blanket of class c, and omega any probability law on the
reports.  If chance_c omega <= w_c pointwise, every report of class c is a draw of omega with probability chance_c,
for any inputs, and an adversary told all the other reports is only stronger.  So a victim of class v hides among
K = sum over c of Bin(n_c - [c = v], chance_c) draws of omega, and

    delta_v(eps) <= E_K[ D_E of the round (R_v(x0), R_v(x1), t = omega) among K other messages ].

K is a sum of independent coins (Poisson binomial), a ``message_counts.Count``.  Any omega is sound; the
largest chance for it is chance_c = min_y w_c(y)/omega(y).

*Which omega.*  The normalised blanket of the victim itself: then the pairs that dominate in a batch of one class
dominate here too, for the same reason.  For GRR and k-subsets all classes have the same shape, and nothing is lost.
For given matrices the blankets of the other classes and the pointwise minimum of all normalised blankets are tried
as well, over all input pairs, and the smallest eps counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import BoundNotApplicableError
from ..mechanisms.base import Mechanism
from ..mechanisms.categorical.grr import GRR
from ..mechanisms.categorical.optimised_unary import OptimisedUnary
from ..mechanisms.categorical.randomized_response import RandomizedResponse
from ..mechanisms.categorical.unary import Unary
from ..mechanisms.known.finite import FiniteRandomizer
from ..mechanisms.numeric.laplace import Laplace
from ..mechanisms.sets.reported_sets import SetRandomizer
from ..numerics.evaluators.choose import spread
from ..numerics.families.base import Family
from ..numerics.families.matrix_pairs import BlanketPairs
from ..numerics.families.message_counts import Count
from ..numerics.families.mixture import among
from ..numerics.families.participation import Split
from ..numerics.pair import FloatArray, ShuffledPair
from .crowd import Crowd

#: Bits of a unary report up to which other shapes than the victim's blanket are tried.
_FEW_BITS = 8
#: Distinct input pairs up to which the number of draws is mixed exactly; beyond, it is split in two.
_FEW_PAIRS = 32
#: Shapes that are evaluated, of all that are known.
_SHAPES = 2
#: Rounding of masses, relative; and in eps where pairs are told apart to 2^-40 only (matrix_pairs.py).
_SLACK, _PAIR_SLACK = 2.0**-46, 2.0**-38


@dataclass(frozen=True)
class _Shape:
    """A law omega that the others are known to send: the victim's pairs over it, and chance_c of every class.

    ``spread`` is max over pairs of sum (P0-P1)^2/omega: eps is about proportional to sqrt(spread/E[K]).
    """

    family: Callable[[Count], tuple[Family, int]]
    chances: dict[Mechanism, float]
    spread: float
    slack: float = 0.0


def victim_epsilon(victim: Mechanism, sizes: dict[Mechanism, int], crowd: Crowd, delta: float, tol: float) -> float:
    """The smallest eps over the most promising shapes (any one is sound), at most the local one."""
    best = victim.local_epsilon
    tried = [(shape, _draws(victim, sizes, shape.chances, crowd)) for shape in _shapes(victim, list(sizes))]
    tried.sort(key=lambda x: x[0].spread / max(x[1].mean, 1e-300))
    for shape, count in tried[:_SHAPES]:
        family, n = shape.family(count)
        found = family.epsilon(n=n, delta=delta, tol=tol, side="upper").epsilon
        best = min(best, found + shape.slack if found > 0.0 else found)
    return best


def _draws(victim: Mechanism, sizes: dict[Mechanism, int], chances: dict[Mechanism, float], crowd: Crowd) -> Count:
    """K.  A coin of larger probability is stochastically larger, so at worst the missing have the largest."""
    gone, parts = crowd.n - crowd.honest, []
    for mechanism in sorted(sizes, key=lambda m: -chances[m]):
        others = sizes[mechanism] - (mechanism == victim)
        left = max(others - gone, 0)
        gone -= others - left
        parts.append((left, min(chances[mechanism], 1.0) * crowd.participation))
    return Count(0, tuple(parts)).simplified()


def _shapes(victim: Mechanism, classes: list[Mechanism]) -> list[_Shape]:
    """Every omega that is tried for this victim."""
    if any(isinstance(m, FiniteRandomizer) for m in classes):
        return _matrix_shapes(victim, classes)
    own = _own_shape(victim, classes)
    small = all(isinstance(m, Unary | OptimisedUnary) and m.d <= _FEW_BITS for m in classes)
    return [own, *_matrix_shapes(victim, classes)] if small and len(classes) > 1 else [own]


def _own_shape(victim: Mechanism, classes: list[Mechanism]) -> _Shape:
    """omega = w_v/mass: the rounds of the victim's own blanket bound, and chance_c = mass min_y w_c/w_v."""
    ratios = {c: blanket_ratio(c, victim) for c in classes}
    ratios[victim] = 1.0  # not rounded
    pairs = victim.blanket_pairs(_FEW_PAIRS) or ()
    mass = min(float(np.asarray(r.t).sum()) for r in pairs)  # of all families there is one round
    chances = {c: ratio * mass for c, ratio in ratios.items()}
    laws = [r.thinned(1.0 / mass) for r in pairs]
    return _Shape(lambda count: _mixed(laws, count), chances, max(spread(r) for r in laws))


def blanket_ratio(other: Mechanism, victim: Mechanism) -> float:
    """min over reports y of w_other(y)/w_victim(y), rounded down; 0 where users of ``other`` do not help.

    - GRR on d options: w = 1/(e+d-1) on every option.
    - k-subsets: w = t/(C(D,k) Omega) on every subset.
    - unary encodings of d bits, a = Pr[own bit is 1], b = Pr[another is 1]: a report with s < d ones has
      w = (1-a) b^s (1-b)^(d-1-s), whose logarithm is linear in s, so s = 0 or d-1 is the minimum of a ratio; all ones
      have w = a b^(d-1).
    - Laplace of rate r = eps0/N on the grid 0..N: w = tanh(r/2) e^(-r m), m = max(y, N-y) >= N/2; a ratio is smallest
      at m = N/2 if the other's rate is not larger, and has no positive lower bound if it is.

    Examples
    --------
    >>> round(blanket_ratio(GRR(eps0=3.0, d=8), GRR(eps0=1.0, d=8)), 4)
    0.3588
    """
    if isinstance(other, Laplace) and isinstance(victim, Laplace) and other.BITS == victim.BITS:
        gap = victim.eps0 - other.eps0
        level = math.log(math.tanh(0.5 * other._rate) / math.tanh(0.5 * victim._rate))
        return _down(level + 0.5 * gap, 1.0) if gap >= 0.0 else 0.0
    return other.blanket_ratio(victim)


def _down(log: float, terms: float) -> float:
    """e^log (at most e^700), rounded down for an exponent made of this many terms of size up to 500."""
    return math.exp(min(log - terms * 1000.0 * 2.0**-52, 700.0)) * (1.0 - _SLACK)


# -- matrices -----------------------------------------------------------------------------------------------------


def _matrix_shapes(victim: Mechanism, classes: list[Mechanism]) -> list[_Shape]:
    """omega = the normalised blanket of each class, and the pointwise minimum of all of them."""
    matrices = {m: _matrix(m) for m in classes}
    if len({rows.shape[1] for rows in matrices.values()}) > 1:
        raise BoundNotApplicableError(
            "matrices must have the same outputs in all classes, got "
            f"{', '.join(str(rows.shape[1]) for rows in matrices.values())} columns; add columns of zeros."
        )
    blankets = {m: rows.min(axis=0) for m, rows in matrices.items()}
    shapes = [w / w.sum() for w in blankets.values() if w.sum() > 0.0]
    if len(shapes) > 1:
        shapes.append(np.min(shapes, axis=0))
    unlike = {omega.tobytes(): omega / omega.sum() for omega in shapes if omega.sum() > 0.0}
    nowhere = np.zeros(matrices[victim].shape[1])  # a blanket of nothing: the local guarantee
    rows = matrices[victim]
    if all(isinstance(m, Unary | OptimisedUnary) for m in classes):  # permutations of the bits make all pairs alike
        rows = rows[:2]
    return [_over(rows, omega, blankets) for omega in unlike.values() or [nowhere]]


def _over(rows: FloatArray, omega: FloatArray, blankets: dict[Mechanism, FloatArray]) -> _Shape:
    live = omega > 0.0
    chances = {m: float(np.min(w[live] / omega[live], initial=1.0)) * (1.0 - _SLACK) for m, w in blankets.items()}
    every = BlanketPairs(rows, omega)

    def family(count: Count) -> tuple[Family, int]:
        few = every.pairs(_FEW_PAIRS)
        if few is not None or not count.parts:
            return _mixed(few, count) if few is not None else (every, count.fixed + 1)
        if count.fixed == 0 and len(count.parts) == 1:
            return every.thinned(count.parts[0][1]), count.parts[0][0] + 1
        return Split(every, lambda _: count), 1

    return _Shape(family, chances, float(every.spreads().max(initial=0.0)), _PAIR_SLACK)


def _mixed(pairs: Sequence[ShuffledPair], count: Count) -> tuple[Family, int]:
    """The rounds among K draws of omega; K does not depend on n any more."""
    return among(pairs, lambda _: count), 1


def _matrix(mechanism: Mechanism) -> FloatArray:
    """The whole law, where it is finite and small."""
    if isinstance(mechanism, FiniteRandomizer):
        return np.asarray(mechanism.matrix)
    if isinstance(mechanism, GRR | RandomizedResponse | SetRandomizer | Unary | OptimisedUnary):
        return mechanism.probabilities()
    raise BoundNotApplicableError(
        f"classes must all be matrices if one is, got {mechanism.spec} beside one; pass its law as FiniteRandomizer."
    )
