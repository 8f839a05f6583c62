"""The lower bound of a composition: one fixed pair of datasets for every entry of a ledger."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..bounds import BOUNDS
from ..errors import BoundNotApplicableError
from ..numerics.composition.fixed_pair import PairLosses, most_telling, pair_losses
from ..numerics.composition.profile_curve import ladder_for
from ..numerics.pair import ShuffledPair
from .ledger import LedgerEntry

#: Families with more members than this are not searched for a fixed pair.
_FEW = 64


def fixed_pairs(entries: Iterable[LedgerEntry]) -> tuple[list[PairLosses], list[int]] | None:
    """One pair of datasets for every distinct entry, and how often it is paid; None if one has no known law."""
    alike: dict[str, list[LedgerEntry]] = {}
    for entry in entries:
        if entry.mechanism.local_epsilon > 0.0:
            alike.setdefault(entry.key, []).append(entry)
    pairs, counts = [], []
    for _, same in sorted(alike.items()):
        known = _fixed_pairs_of(same[0])
        if not known:
            return None
        pair = pair_losses(most_telling(known, same[0].n), same[0].n, ladder_for(len(alike)))
        if pair is not None:
            pairs.append(pair)
            counts.append(sum(entry.cost for entry in same))
    return pairs, counts


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
