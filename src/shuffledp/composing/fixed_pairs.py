"""The lower bound of a composition: one fixed pair of datasets for every entry of a ledger."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..bounds import BOUNDS
from ..errors import BoundNotApplicableError
from ..numerics.composition.fixed_pair import PairLosses, most_telling, pair_losses
from ..numerics.pair import ShuffledPair
from .ledger import LedgerEntry

#: Families with more members than this are not searched for a fixed pair.
_FEW = 64


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
            family = entry.resolved.left.family(BOUNDS[name])
            known = family.thinned(entry.participation).pairs(_FEW)
        except BoundNotApplicableError:
            continue
        if known:
            return known
    return None
