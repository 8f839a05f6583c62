"""Parallel composition: every user answers one of several queries, drawn at random, by the mechanism of that query."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ..._support import validation as check
from ...errors import BoundNotApplicableError, ParameterError
from ...estimation.estimate import Estimate
from ...numerics.pair import FloatArray, IntArray, ShuffledPair, sure
from ...numerics.product import tuples_up_to_order
from ...numerics.swap.family import SwapSet
from ...numerics.swap.pair import SwapPair
from ...randomness.lookup import categorical
from ...randomness.sampling import Array, Source
from ...randomness.thresholds import cuts
from ..base import Mechanism
from ..known.variation_ratio import VariationRatio
from ..randomizer import Randomizer, portable_law
from ..record_codecs import Records
from ..samples import sampled
from . import parallel_law as laws
from .parts import PARALLEL, Composite, Query, checked, read_queries

#: Combinations of datasets tried for the lower bound.
_DATASETS = 64
#: Options of a query up to which the probability matrix is written down.
_OPTIONS = 1000


@dataclass(frozen=True)
class Parallel(Composite):
    """Parallel local randomizer: query k with probability w_k, answered by M_k (paper, Algorithm 2 and Theorem 6.1).

    Parameters
    ----------
    queries : sequence of (weight, mechanism or spec)
        Weights sum to 1; every mechanism sends one report per user.  What weights leave out beyond rounding, up to
        1e-9, is accounted for as a query whose answer reveals its user; more is refused.
    source : str
        The file it was read from, for the spec; optional.

    Notes
    -----
    (p, beta, q) = (max p_k, sum w_k beta_k, max q_k).  The law is the disjoint union of the laws of M_k scaled by
    w_k, and so is the blanket: X is the w-mixture of the X_k.  The blanket bound takes the maximum over all
    combinations of ordered input pairs, one per query.  Combinations in which the victim gives the *same answer* x
    to query k under both hypotheses need not be listed: with W = P0 - E P1 the divergence is convex in W, and the W
    of (x, x) lies on the segment between those of (x', x) and (x, x'), because W(x', x) - W(x, x) = v and
    W(x, x') - W(x, x) = -E v for v = R(x') - R(x).  So it is at most the larger of the two, at every E and n.  What
    dominates a pair of M_k in convex order dominates it in the mixture too; where M_k states no law, or there are
    more than 1024 combinations, the shuffled pair of its (p, beta, q) stands for all its pairs.

    Values: a list with one array per query, or (scalar queries) one array of shape (users, queries).  Inputs of the
    queries are unrelated; if they are functions of one value the upper bound still holds, but the lower bound
    need not.  A report is a record of the query's number and its answer, in the field of that query.
    The estimate is that of every query, one after the other (:meth:`estimates` keeps them separate), from the users
    who answered it: a random sample, whose error is included.

    Examples
    --------
    >>> from shuffledp.mechanisms.categorical.grr import GRR
    >>> both = Parallel([(0.5, GRR(eps0=1.0, d=2)), (0.5, GRR(eps0=1.0, d=64))])
    >>> round(both.variation_ratio().beta, 4)
    0.2441
    >>> values = [np.array([0, 1] * 4000), np.array([5, 6] * 4000)]
    >>> first, second = both.estimates(both.privatize(values, rng=np.random.default_rng(0)))
    >>> bool(abs(first.value[0] - 0.5) < 5 * first.stderr[0])
    True
    """

    name = PARALLEL
    _part = _asked = "query"
    _file_parameters = ()

    queries: Sequence[tuple[float | Fraction, Mechanism | str]]
    source: str = field(default="", kw_only=True, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "queries", checked(self.queries))
        super().__post_init__()

    @classmethod
    def from_file(cls, path: str | Path) -> Parallel:
        """Read a list of entries with keys weight and spec from a JSON or YAML file."""
        return cls(read_queries(Path(path)), source=str(path))

    @property
    def _queries(self) -> tuple[Query, ...]:
        return self.queries  # type: ignore[return-value]  # checked in __post_init__

    @property
    def _mechanisms(self) -> list[Mechanism]:
        return [m for _, m in self._queries]

    @property
    def _shares(self) -> list[Fraction]:
        """The weights as written in decimals, summing to 1 exactly."""
        written = [Fraction(repr(weight)) for weight, _ in self._queries]
        return [w / sum(written) for w in written]

    @property
    def _sure_shares(self) -> list[Fraction]:
        """At least the weights, whatever they leave out: what they miss of 1 is charged by :func:`union`."""
        given = np.array([float(weight) for weight, _ in self._queries])
        least, missing = sure(given)
        return [Fraction(w) for w in least.tolist()] if missing else self._shares

    @property
    def _left_out(self) -> float:
        """By the weights, and by the laws of the queries."""
        own = float(1 - sum(self._sure_shares))
        return own + max(m.law.left_out for m in self._mechanisms)

    @property
    def spec(self) -> str:
        """parallel:FILE, or the queries if they were given in memory."""
        return f"parallel:{self.source}" if self.source else f"parallel:<{self._words}>"

    @property
    def _words(self) -> str:
        return "; ".join(f"{weight:g} of {m.spec}" for weight, m in self._queries)

    @property
    def description(self) -> str:
        """In words."""
        return f"one of {len(self._queries)} queries drawn at random ({self._words})"

    @property
    def local_epsilon(self) -> float:
        """The largest of the queries."""
        return math.inf if self._left_out else max(m.local_epsilon for m in self._mechanisms)

    @property
    def _crowd_epsilon(self) -> float:
        """The largest of the queries: in metric privacy another user may hold a value further away."""
        return max(m.law.crowd_epsilon for m in self._mechanisms)

    # -- accounting ---------------------------------------------------------------------------------------------

    @property
    def _truth(self) -> tuple[float, str]:
        """What all queries have in common, if they do: a message answers one of them."""
        shares, said = zip(*(m._truth for m in self._runnable), strict=True)
        if len(set(said)) > 1:
            return super()._truth
        weighted = (float(w) * share for w, share in zip(self._sure_shares, shares, strict=True))
        return math.fsum(weighted) + self._left_out, said[0]

    def variation_ratio(self) -> VariationRatio:
        """(max p_k, sum w_k beta_k, max q_k): Theorem 6.1, with p and q of each query its own."""
        listed = zip(self._sure_shares, self._mechanisms, strict=True)
        telling = [(w, m.variation_ratio()) for w, m in listed if laws.tells(m)]
        if self._left_out:
            telling.append((Fraction(1 - sum(self._sure_shares)), VariationRatio(p=math.inf, beta=1.0, q=math.inf)))
        if not telling:
            raise ParameterError("a query must depend on its input for (p, beta, q) to exist, got none; eps is 0.")
        beta = math.fsum(float(w) * v.beta for w, v in telling)
        return VariationRatio(p=max(v.p for _, v in telling), beta=beta, q=max(v.q for _, v in telling))

    def _blanket(self) -> list[ShuffledPair]:
        """All combinations of one ordered pair per query."""
        # equal queries are interchangeable: of c of them only the multiset of their pairs matters
        alike = Counter(zip(self._sure_shares, self._mechanisms, strict=True))
        listed = {query: laws.dominating_pairs(query[1]) for query in alike}
        while tuples_up_to_order([(len(listed[q]), c) for q, c in alike.items()]) > laws.MAX_PAIRS:
            largest = max(alike, key=lambda q: tuples_up_to_order([(len(listed[q]), alike[q])]))
            listed[largest] = [largest[1].variation_ratio().pair()]
        chosen = laws.multisets(([(q[0], pair) for pair in listed[q]], count) for q, count in alike.items())
        return [laws.union(parts) for parts in chosen]

    def _swap(self) -> SwapSet:
        """All combinations of one victim pair per query, among all combinations of types.

        X of a combination is the mixture of the X of its queries, and the common part of all laws is the union of
        those of the queries, scaled by their weights.  Victims who give the same answer to a query under both
        hypotheses need not be listed (see Notes): that argument holds for every dataset.
        """
        listed = [laws.swap_pairs(m) for m in self._mechanisms]
        combinations = math.prod(sum(len(member.types) for member in members) for members in listed)
        if combinations > laws.MOST_TYPES:
            raise BoundNotApplicableError(
                f"bound 'swap' lists at most {laws.MOST_TYPES:,} combinations of what another user may hold, got "
                f"{combinations:,}; use bound='auto'."
            )
        # equal queries are interchangeable here as in the blanket: their symbols can be renamed
        alike = Counter(zip(self._sure_shares, self._mechanisms, strict=True))
        known = dict(zip(zip(self._sure_shares, self._mechanisms, strict=True), listed, strict=True))
        members = []
        for choice in laws.multisets(([(q, i) for i in range(len(known[q]))], c) for q, c in alike.items()):
            types = laws.multisets(([(q[0], t) for t in known[q][i].types], c) for (q, i), c in Counter(choice).items())
            mass = math.fsum(float(q[0]) * known[q][i].common_mass for q, i in choice)
            members.append(SwapPair(tuple(laws.union(some) for some in types), mass * (1.0 - 2.0**-48)))
        return SwapSet(members)

    def _dominating_pairs(self, most: int) -> None:
        """None: where the answer to a query stays the same, each E has its own covering pair (see Notes)."""
        return None

    def _swap_members(self, most: int) -> None:
        """None, for the same reason."""
        return None

    def _constant_datasets(self) -> list[ShuffledPair]:
        """The datasets of each query that are easiest to distinguish, in all combinations."""
        keep = max(1, int(_DATASETS ** (1.0 / len(self._queries)) + 1e-9))
        listed = []
        for m in self._mechanisms:
            known = laws.dataset_pairs(m)
            listed.append(sorted(known, key=lambda pair: pair.spread, reverse=True)[:keep])
        pairs = [laws.union(list(zip(self._shares, choice, strict=True))) for choice in itertools.product(*listed)]
        return laws.both_unlike(pairs)

    def _remade(self, parts: list[Any]) -> Parallel:
        """With the same weights, but not of the same file."""
        return Parallel([(weight, part) for (weight, _), part in zip(self._queries, parts, strict=True)])

    def groups(self, *, n: int) -> list[tuple[int, Mechanism]]:
        """(users, mechanism) of every query if fixed groups of floor(n w_k) users answered it instead.

        Amplified one by one, the smallest and the largest eps are the paper's "separate, best" and "separate,
        worst" (figure 5): ``[amplify(m, n=k, delta=delta) for k, m in parallel.groups(n=n)]``.
        """
        n = check.users(n)
        sizes = [math.floor(n * share) for share in self._shares]
        if not all(sizes):
            raise ParameterError(
                f"n must be at least 1/weight of every query, got {n} for weights down to {min(self._shares)}; raise n."
            )
        return list(zip(sizes, self._mechanisms, strict=True))

    # -- running it ---------------------------------------------------------------------------------------------

    @property
    def codec(self) -> Records:
        """The number of the query, and its answer."""
        return Records(tuple(m.codec for m in self._runnable))

    def _portable_law(self) -> dict[str, Any]:
        return {"kind": "one-of", "cuts": cuts(self._shares), "laws": [portable_law(m) for m in self._runnable]}

    def _randomize(self, values: Array, src: Source) -> Array:
        unit = math.lcm(*(share.denominator for share in self._shares))
        query = categorical(src, [int(share * unit) for share in self._shares], len(values))
        rows = [np.flatnonzero(query == k) for k in range(len(self._queries))]
        # a query that nobody drew is run once and its answer dropped: seeded reports depend on these draws
        answers = [
            m._randomize(values[f"q{k}"][at if at.size else [0]], src)[: at.size]
            for k, (m, at) in enumerate(zip(self._runnable, rows, strict=True))
        ]
        out = np.zeros(len(values), dtype=self.codec.dtype)
        out["query"] = query
        for field_, at, answer in zip(Records.fields(out.dtype), rows, answers, strict=True):
            out[field_][at] = answer
        return out

    def _tally(self, data: Array) -> Array:
        """Row 0: reports of each query; row 1: their tallies (arrays, or 0 where there is no report)."""
        out = np.zeros((2, len(self._queries)), dtype=object)
        found = zip(self._runnable, self.codec.answers(data), strict=True)
        for k, (m, (answers, _)) in enumerate(found):
            out[0, k] = len(answers)
            if len(answers):
                out[1, k] = m._tally(answers)
        return out

    def _tally_of_sums(self, parts: Sequence[tuple[Array, int]]) -> Array | None:
        """Rows as above; None if one of the queries has no tally of sums."""
        out = np.zeros((2, len(self._queries)), dtype=object)
        for k, (m, (sums, messages)) in enumerate(zip(self._runnable, parts, strict=True)):
            tally = m._tally_of_sums([(sums, messages)])
            if tally is None:
                return None
            out[:, k] = messages, tally if messages else 0
        return out

    def _each(self, counts: Array, users: int) -> list[Estimate]:
        if not all(counts[0]):
            raise ParameterError("every query needs a report for its estimate, got none for some; collect more.")
        return [
            sampled(m._infer(tally, int(here)), users) for m, here, tally in zip(self._runnable, *counts, strict=True)
        ]

    def inputs(self) -> list[Any]:
        """Every combination of inputs, one per query."""
        self._few_cells(math.inf if max(getattr(m, "d", 0) for m in self._runnable) > _OPTIONS else 0.0)
        parts = [m.inputs() for m in self._runnable]
        self._few_cells(math.prod(map(len, parts)) * sum(m.probabilities().shape[1] for m in self._runnable))
        return list(itertools.product(*parts))

    def probabilities(self) -> FloatArray:
        """The scaled rows of the queries side by side, for every combination of inputs."""
        self.inputs()
        scaled = [float(w) * m.probabilities() for w, m in zip(self._shares, self._runnable, strict=True)]
        return np.array([np.concatenate(rows) for rows in itertools.product(*scaled)])

    def _columns(self, data: Array) -> IntArray:
        """Columns of the queries, one after the other."""
        out, start = np.zeros(len(data), dtype=np.int64), 0
        for m, (answers, at) in zip(self._runnable, self.codec.answers(data), strict=True):
            out[at] = start + m._columns(answers)
            start += m.probabilities().shape[1]
        return out


def one_drawn(parts: Sequence[Randomizer]) -> Randomizer:
    """Each user answers one of them, drawn uniformly; the only one itself if there is one.

    Examples
    --------
    >>> from shuffledp.mechanisms.categorical.grr import GRR
    >>> one_drawn([GRR(eps0=1.0, d=2), GRR(eps0=1.0, d=3)]).spec
    'parallel:<0.5 of grr:eps0=1,d=2; 0.5 of grr:eps0=1,d=3>'
    """
    return parts[0] if len(parts) == 1 else Parallel([(1.0 / len(parts), part) for part in parts])
