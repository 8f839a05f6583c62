"""The lower bound of a composition: one fixed pair of datasets for every entry of a ledger."""

from __future__ import annotations

from collections.abc import Iterable

from ..accounting.evidence import dataset_pairs
from ..numerics.composition.fixed_pair import PairLosses, most_telling, pair_losses
from ..numerics.composition.profile_curve import Ladder, ladder_for
from .ledger import LedgerEntry

#: Families with more members than this are not searched for a fixed pair.
_FEW = 64


#: What was found for an entry sampled on a ladder: None if its laws are unknown, empty if they reveal nothing.
Kept = dict[tuple[str, Ladder], tuple[PairLosses, ...] | None]


def fixed_pairs(rounds: Iterable[tuple[LedgerEntry, int]], kept: Kept) -> tuple[list[PairLosses], list[int]] | None:
    """One pair of datasets for every distinct entry, and how often it is paid; None if one has no known law.

    ``kept`` holds what was found before, and afterward more of it.
    """
    telling = [(entry, cost) for entry, cost in rounds if entry.mechanism.local_epsilon > 0.0]
    pairs: list[PairLosses] = []
    counts: list[int] = []
    ladder = ladder_for(len(telling))
    for entry, cost in telling:
        if (entry.key, ladder) not in kept:
            kept[entry.key, ladder] = _most_telling(entry, ladder)
        found = kept[entry.key, ladder]
        if found is None:
            return None
        pairs += found
        counts += [cost] * len(found)
    return pairs, counts


def _most_telling(entry: LedgerEntry, ladder: Ladder) -> tuple[PairLosses, ...] | None:
    known = dataset_pairs(entry.resolved, _FEW)
    if not known:
        return None
    pair = pair_losses(most_telling(known, entry.n), entry.n, ladder)
    return () if pair is None else (pair,)
