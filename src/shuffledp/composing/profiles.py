"""From the entries of a ledger to the laws that are composed: a profile from above, one fixed pair from below."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ..accounting.resolve import Resolved
from ..bounds import BOUNDS
from ..errors import BoundNotApplicableError
from ..numerics.composition.fixed_pair import PairLosses, most_telling, pair_losses
from ..numerics.composition.sequential import Kind
from ..numerics.families import bundle, pool
from ..numerics.pair import FloatArray, ShuffledPair
from .ledger import LedgerEntry

#: Relative accuracy of the eps of a single round.
_ACCURACY = 1e-4
#: Families with more members than this are not searched for a fixed pair.
_FEW = 64


def kind_of(entry: LedgerEntry) -> Kind:
    """The privacy profile of one round of this entry, by its bound."""
    resolved = entry.resolved

    def once(delta: float) -> float:
        return resolved.epsilon(delta=delta, tol=_ACCURACY).epsilon

    def log_delta(eps: FloatArray, tol: float) -> FloatArray:
        return resolved.log_delta(eps, tol=tol)

    made = bundle.kind_of(resolved.family, log_delta, n=entry.n, limit=resolved.left.cap, once=once)
    if resolved.by_family and entry.reports_per_user == 1:
        made.source, made.together = resolved, _together
    return made


def _together(asked: Sequence[Resolved], eps: Sequence[FloatArray], tol: float) -> list[FloatArray]:
    """log delta of every question at its own eps, in one call."""
    sizes = [at.size for at in eps]
    families = [question.family for question, size in zip(asked, sizes, strict=True) for _ in range(size)]
    users = np.repeat(np.array([float(question.n) for question in asked]), sizes)
    values = pool.log_deltas(families, np.concatenate(eps), n=users, tol=tol, side="upper")
    parts = np.split(values, np.cumsum(sizes)[:-1])
    return [question.capped_log_delta(part, at) for question, part, at in zip(asked, parts, eps, strict=True)]


def fixed_pairs(entries: Iterable[LedgerEntry]) -> tuple[list[PairLosses], list[int]] | None:
    """One pair of datasets for every distinct entry, and how often it is paid; None if one has no known law."""
    pairs: dict[str, PairLosses | None] = {}
    counts: dict[str, int] = {}
    for entry in sorted(entries, key=lambda e: e.key):
        if entry.mechanism.local_epsilon == 0.0:
            continue
        if entry.key not in pairs:
            known = _fixed_pairs_of(entry)
            if not known:
                return None
            pairs[entry.key] = pair_losses(most_telling(known, entry.n), entry.n)
        counts[entry.key] = counts.get(entry.key, 0) + entry.cost
    live = {key: pair for key, pair in pairs.items() if pair is not None}
    return list(live.values()), [counts[key] for key in live]


def _fixed_pairs_of(entry: LedgerEntry) -> Sequence[ShuffledPair] | None:
    """Exact laws of datasets of this mechanism, if it has some."""
    for name in ("constant-dataset-lower", "variation-ratio-lower"):
        try:
            known = entry.resolved.left.family(BOUNDS[name]).pairs(_FEW)
        except BoundNotApplicableError:
            continue
        if known:
            return known
    return None
