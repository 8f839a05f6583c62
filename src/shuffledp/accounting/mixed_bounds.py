"""One victim among users with other budgets: the common parts of all classes hide it, or their whole laws do.

*Blankets.*  Let w_c(y) = min over inputs x of R_c(x)_y be the blanket of class c, and omega any probability law on the
reports.  If chance_c omega <= w_c pointwise, every report of class c is a draw of omega with probability chance_c,
for any inputs, and telling the adversary all the other reports only makes it stronger.  So a victim of class v hides
among K = sum over c of Bin(n_c - [c = v], chance_c) draws of omega, and

    delta_v(eps) <= E_K[ D_E of the pair (R_v(x0), R_v(x1), t = omega) among K other messages ].

K is a sum of independent coins (Poisson binomial), a ``counts.Count``.  Any omega is sound; the
largest chance for it is chance_c = min_y w_c(y)/omega(y).

*Which omega.*  The normalized blanket of the victim itself: then the pairs that dominate in a batch of one class
dominate here too, for the same reason.  For GRR and k-subsets all blankets are multiples of each other, and nothing is
lost.  Where they are not and the whole laws are small, the blankets of the other classes and the pointwise minimum of
all normalized blankets are tried as well, over all input pairs, and the smallest eps counts.

*The swap bound* uses the victim's class alone, because the adversary may be told what other classes send; where the
whole laws are small, it uses all classes (``numerics/swap/family.py``, ``ClassSet``).
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, is_dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..errors import BoundNotApplicableError, ParameterError
from ..mechanisms.base import Mechanism
from ..mechanisms.codecs import Numbers
from ..mechanisms.composite.parallel_law import unlike
from ..mechanisms.frequency import FrequencyOracle
from ..mechanisms.randomizer import Randomizer
from ..numerics.counts import Count, cuts
from ..numerics.family import Family
from ..numerics.matrix import blanket_pairs
from ..numerics.mixture import Among
from ..numerics.pair import FloatArray, ShuffledPair, mass_slack, with_symbols
from ..numerics.product import product_pair, rounding_slack
from ..numerics.swap.family import Class, ClassSet, Mixed
from ..numerics.swap.pair import SwapPair
from .crowd import Crowd

#: Up to this many distinct reports, shapes other than the victim's blanket are tried.
_FEW_REPORTS = 256
#: Up to this many distinct input pairs the number of draws is mixed exactly; beyond, it is cut in two.
_FEW_PAIRS = 32
#: How many of the known shapes are evaluated.
_SHAPES = 2
#: Relative rounding of masses; and of eps where pairs are only distinguished to 2^-40 (numerics/matrix.py).
_SLACK, _PAIR_SLACK = 2.0**-46, 2.0**-38
#: All classes are used up to this many cells of their laws, and this many ordered pairs of the victim's inputs.
_MOST_CELLS, _MOST_PAIRS = 20_000, 30


@dataclass(frozen=True)
class _Shape:
    """A law omega that the others are known to send: the victim's pairs over it, and chance_c of every class.

    ``family(K, delta)`` lists families with their numbers of users and deltas; the smallest eps counts.  ``spread`` is
    max over pairs of sum (P0-P1)^2/omega: eps is about proportional to sqrt(spread/E[K]).
    """

    family: Callable[[Count, float], list[tuple[Family, int, float]]]
    chances: dict[Mechanism, float]
    spread: float
    slack: float = 0.0


class Candidate(NamedTuple):
    """A bound on one class of victims: the eps of a family among n users at delta, plus the slack."""

    bound: str
    family: Family
    n: int
    delta: float
    slack: float = 0.0


def blanket_candidates(victim: Mechanism, sizes: dict[Mechanism, int], crowd: Crowd, delta: float) -> list[Candidate]:
    """The most promising shapes; any of them is sound."""
    known = [(shape, _draws(victim, sizes, shape.chances, crowd)) for shape in _shapes(victim, list(sizes))]
    known.sort(key=lambda x: x[0].spread / max(x[1].mean, 1e-300))
    return [
        Candidate("blanket", *asked, shape.slack)
        for shape, count in known[:_SHAPES]
        for asked in shape.family(count, delta * (1.0 - shape.slack))
    ]


def _draws(victim: Mechanism, sizes: dict[Mechanism, int], chances: dict[Mechanism, float], crowd: Crowd) -> Count:
    """The law of K.  In the worst case the missing users are those with the largest chance."""
    gone, parts = crowd.n - crowd.honest, []
    for mechanism in sorted(sizes, key=lambda m: -chances[m]):
        others = sizes[mechanism] - (mechanism == victim)
        left = max(others - gone, 0)
        gone -= others - left
        parts.append((left, min(chances[mechanism], 1.0)))
    return Count(0, tuple(parts)).simplified()


def comparable(mechanism: Mechanism) -> bool:
    """Whether the mechanism can be mixed with another budget: it states a ratio of blankets, or its whole law."""
    if not mechanism.single_message:
        return False
    return _lists_its_law(mechanism) or mechanism.law.mixes


def _lists_its_law(mechanism: Mechanism) -> bool:
    """Whether ``probabilities`` are the whole law, with nothing merged."""
    return _is_matrix(mechanism) or isinstance(mechanism, FrequencyOracle)


def _is_matrix(mechanism: Mechanism) -> bool:
    return "matrix" in mechanism.law.identity()


def _shapes(victim: Mechanism, classes: list[Mechanism]) -> list[_Shape]:
    """Every omega that is tried for this victim."""
    if any(_is_matrix(m) for m in classes):
        return _matrix_shapes(victim, classes)
    if len(classes) > 1 and not any(m.law.mixes for m in classes) and len({_reports_of(m) for m in classes}) == 1:
        return _matrix_shapes(victim, classes)
    own, proportional = _own_shape(victim, classes)
    return [own] if proportional else [own, *_few_matrix_shapes(victim, classes)]


def _own_shape(victim: Mechanism, classes: list[Mechanism]) -> tuple[_Shape, bool]:
    """omega = w_v/mass: the pairs of the victim's own blanket bound, and chance_c = mass min_y w_c/w_v.

    Also whether every blanket is a multiple of the victim's: then no other omega is better.
    """
    ratios = {c: c.law.blanket_ratio(victim) for c in classes if c != victim} | {victim: 1.0}  # not rounded
    pairs = _blanket_pairs(victim)
    mass = _mass(pairs)
    chances = {c: ratio * mass for c, ratio in ratios.items()}
    laws = [r.thinned(1.0 / mass) for r in pairs]
    others = {c: _mass(_blanket_pairs(c)) for c in classes}
    proportional = all(chances[c] >= others[c] * (1.0 - 1e-9) for c in classes)
    return _Shape(partial(_mixed, laws), chances, max(r.spread for r in laws)), proportional


def _blanket_pairs(mechanism: Mechanism) -> Sequence[ShuffledPair]:
    pairs = mechanism.law.blanket_pairs(_FEW_PAIRS)
    if not pairs:
        raise BoundNotApplicableError(
            f"a class must have at most {_FEW_PAIRS} distinct input pairs, got {mechanism.spec}, which has more or "
            "lists none; pass its law as FiniteRandomizer."
        )
    return pairs


def _mass(pairs: Sequence[ShuffledPair]) -> float:
    """The mass of the blanket, which all pairs share."""
    return min(float(np.asarray(r.t).sum()) for r in pairs)


# -- matrices -----------------------------------------------------------------------------------------------------


def _few_matrix_shapes(victim: Mechanism, classes: list[Mechanism]) -> list[_Shape]:
    """The same where the whole laws are small; nothing otherwise."""
    try:
        few = _matrix_of(victim).shape[1] <= _FEW_REPORTS
        return _matrix_shapes(victim, classes) if few else []
    except BoundNotApplicableError:
        return []


def _matrix_shapes(victim: Mechanism, classes: list[Mechanism]) -> list[_Shape]:
    """omega = the normalized blanket of each class, and the pointwise minimum of all of them."""
    matrices = {m: _matrix_of(m) for m in classes}
    if len({rows.shape[1] for rows in matrices.values()}) > 1:
        raise BoundNotApplicableError(
            "matrices must have the same outputs in all classes, got "
            f"{', '.join(str(rows.shape[1]) for rows in matrices.values())} columns; add columns of zeros."
        )
    blankets = {m: rows.min(axis=0) for m, rows in matrices.items()}
    shapes = [w / w.sum() for w in blankets.values() if w.sum() > 0.0]
    if len(shapes) > 1:
        shapes.append(np.min(shapes, axis=0))
    distinct = {omega.tobytes(): omega / omega.sum() for omega in shapes if omega.sum() > 0.0}
    nowhere = np.zeros(matrices[victim].shape[1])  # an empty blanket: only the local guarantee holds
    rows = matrices[victim]
    if all(m.law.inputs_alike for m in classes) and len({_reports_of(m) for m in classes}) == 1:
        rows = rows[:2]  # relabeling the options maps all pairs to each other and keeps every omega
    return [_over(rows, omega, blankets) for omega in distinct.values() or [nowhere]]


def _over(rows: FloatArray, omega: FloatArray, blankets: dict[Mechanism, FloatArray]) -> _Shape:
    live = omega > 0.0
    chances = {m: float(np.min(w[live] / omega[live], initial=1.0)) * (1.0 - _SLACK) for m, w in blankets.items()}
    whole = with_symbols(rows)
    blanket = np.append(omega, np.zeros(whole.shape[1] - omega.size))
    every = blanket_pairs(whole, blanket)

    def family(count: Count, delta: float) -> list[tuple[Family, int, float]]:
        few = every.pairs(_FEW_PAIRS)
        if few is not None:
            return _mixed(few, count, delta)
        if not count.parts:
            return [(every, count.fixed + 1, delta)]
        if count.fixed == 0 and len(count.parts) == 1:
            size, chance = count.parts[0]
            return [(blanket_pairs(whole, blanket, chance), size + 1, delta)]
        return [(every, k + 1, left) for k, left in cuts(count, delta)]

    return _Shape(family, chances, _spread(rows[:, live], omega[live]), _PAIR_SLACK)


def _spread(rows: FloatArray, omega: FloatArray) -> float:
    """The largest sum (P0 - P1)^2/omega over all pairs of rows."""
    gram = (rows / omega) @ rows.T
    own = np.diag(gram)
    return float((own[:, None] + own - 2.0 * gram).max(initial=0.0))


def _mixed(pairs: Sequence[ShuffledPair], count: Count, delta: float) -> list[tuple[Family, int, float]]:
    """The pairs among K draws of omega; K does not depend on n any more."""
    return [(Among(pairs, lambda _: count), 1, delta)]


def _reports_of(mechanism: Mechanism) -> Any:
    """How its reports are encoded: equal if two mechanisms send the same reports."""
    codec = mechanism.codec if isinstance(mechanism, Randomizer) else None
    return replace(codec, scratch=0) if is_dataclass(codec) and not isinstance(codec, type) else id(mechanism)


def _matrix_of(mechanism: Mechanism) -> FloatArray:
    """The whole law, where it is finite and small; numbers are listed with their tails merged, so not here.

    Where probabilities do not sum to 1, only what is certain of them counts (numerics/pair.py).
    """
    if _is_matrix(mechanism):
        given = np.asarray(mechanism.law.identity()["matrix"])
        return with_symbols(given)[:, : given.shape[1]]
    if comparable(mechanism) and isinstance(mechanism, Randomizer) and not isinstance(mechanism.codec, Numbers):
        try:
            return mechanism.probabilities()
        except ParameterError as error:
            raise BoundNotApplicableError(str(error)) from None
    raise BoundNotApplicableError(
        f"classes must all be matrices if one is, got {mechanism.spec} beside one; pass its law as FiniteRandomizer."
    )


# -- the swap bound over classes -----------------------------------------------------------------------------------


def swap_candidates(victim: Mechanism, sizes: dict[Mechanism, int], crowd: Crowd, delta: float) -> list[Candidate]:
    """The swap bound among the victim's own class and among all classes, where they apply."""
    found = []
    users = sizes[victim] - (crowd.n - crowd.honest)  # in the worst case all missing users belong to this class
    with contextlib.suppress(BoundNotApplicableError):
        if users >= 1:
            found.append(Candidate("swap", victim.law.swap(), users, delta))
    with contextlib.suppress(BoundNotApplicableError):
        if len(sizes) > 1 and (classes := _all_classes(victim, sizes, crowd)):
            slack = rounding_slack(1)
            found.append(Candidate("swap", classes, crowd.n, delta * (1.0 - slack), slack))
    return found


def _all_classes(victim: Mechanism, sizes: dict[Mechanism, int], crowd: Crowd) -> ClassSet | None:
    """Where the laws are small and nobody is missing: a missing user could be of any class, which is not covered."""
    if not crowd.complete or crowd.n < 2:
        return None
    if not all(map(_lists_its_law, sizes)) or len(set(map(_reports_of, sizes))) > 1:
        return None
    matrices = {m: _matrix_of(m) for m in sizes}
    own = matrices[victim]
    pairs = [(0, 1)] if all(m.law.inputs_alike for m in sizes) else list(itertools.permutations(range(len(own)), 2))
    if len(pairs) > _MOST_PAIRS or sum(map(np.size, matrices.values())) > _MOST_CELLS:
        return None
    every = np.concatenate(list(matrices.values()))
    common = float(every.min(axis=0).sum()) * (1.0 - mass_slack(every.shape[1]))
    members = []
    for a, b in pairs:
        classes = []
        for m, rows in matrices.items():
            types = unlike(product_pair([ShuffledPair(P0=own[a], P1=own[b], t=row)]) for row in rows)
            share = (sizes[m] - (m == victim)) / (crowd.n - 1)
            classes.append(Class(share, SwapPair(tuple(types), common)))
        members.append(Mixed(tuple(classes), common))
    return ClassSet(members)
