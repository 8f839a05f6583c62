"""What is known of the law of a mechanism, as bounds, accountants, certificates and ledgers ask for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..numerics.family import Family
    from ..numerics.pair import ShuffledPair
    from ..numerics.swap.pair import SwapPair
    from .base import Mechanism


class Law:
    """The accounting side of a mechanism, ``mechanism.law``.

    A mechanism fills in the member of the same name with an underscore, and :class:`Mechanism` says there what each
    must be.  Families of pairs are made once and kept with the mechanism.
    """

    __slots__ = ("_families", "_of")

    def __init__(self, mechanism: Mechanism) -> None:
        self._of = mechanism
        self._families: dict[str, Family] = {}

    def _once(self, name: str) -> Family:
        if name not in self._families:
            self._families[name] = getattr(self._of, name)()
        return self._families[name]

    # -- families of pairs --------------------------------------------------------------------------------------

    def blanket(self) -> Family:
        """All input pairs over the privacy blanket: an upper bound that needs the whole law."""
        return self._once("_blanket")

    def swap(self) -> Family:
        """All input pairs among others of every type, by the swap bound: it needs the law of each type."""
        return self._once("_swap")

    def exact(self) -> Family:
        """All datasets, gone through one by one: upper and lower bound are the truth, for few users."""
        return self._once("_exact")

    def constant_datasets(self) -> Family:
        """Exact divergences of datasets in which all others hold one value: a lower bound."""
        return self._once("_constant_datasets")

    def two_counts(self) -> Family:
        """The paper's Theorem 5.1: the same datasets through two counts."""
        return self._once("_two_counts")

    def among(self, pairs: Sequence[ShuffledPair]) -> Family:
        """These pairs, hidden by the messages of n users of this mechanism."""
        return self._of._among(pairs)

    def blanket_pairs(self, most: int) -> Sequence[ShuffledPair] | None:
        """The input pairs over the blanket; None if there are too many or the mechanism is analyzed otherwise."""
        return self._of._blanket_pairs(most)

    def dominating_pairs(self, most: int) -> Sequence[ShuffledPair] | None:
        """Pairs that dominate every ordered input pair in convex order; None: not known."""
        return self._of._dominating_pairs(most)

    def swap_members(self, most: int) -> Sequence[SwapPair] | None:
        """The victim pairs of :meth:`swap` among all types, where products of them are enough; None: not known."""
        return self._of._swap_members(most)

    def dataset_pairs(self, most: int) -> Sequence[ShuffledPair] | None:
        """Constant datasets as shuffled pairs; None if there are too many or they are analyzed otherwise."""
        return self._of._dataset_pairs(most)

    # -- single numbers and facts -------------------------------------------------------------------------------

    @property
    def crowd_epsilon(self) -> float:
        """log of the largest ratio between two users' reports; in metric privacy more than local_epsilon."""
        return self._of._crowd_epsilon

    @property
    def pairwise_epsilon(self) -> float:
        """log of the largest ratio between any two reports: what bounds from eps0 alone must use."""
        return max(self._of.local_epsilon, self._of._crowd_epsilon)

    @property
    def ratios_both_ways(self) -> bool:
        """Whether crowd_epsilon bounds the ratio of two users' laws both ways, as a local guarantee does."""
        return self._of._ratios_both_ways

    @property
    def left_out(self) -> float:
        """Probability that its law, as given, leaves out; bounds count it as an outcome that reveals its user."""
        return self._of._left_out

    @property
    def lower_scope(self) -> str:
        """What a lower bound refers to, in words."""
        return self._of._lower_scope

    @property
    def inputs_alike(self) -> bool:
        """Whether relabeling reports maps any two inputs to any other two."""
        return self._of._inputs_alike

    @property
    def published_law_exact(self) -> bool:
        """Whether the pair of the paper's Theorem 4.7 as printed is its exact law."""
        return self._of._published_law_exact

    @property
    def types_unstated(self) -> bool:
        """Whether a statement of what other users may hold would give the swap bound, and nobody has made one."""
        from .base import Mechanism

        kind = type(self._of)
        stated = kind._swap is not Mechanism._swap or kind._types is not Mechanism._types
        return self._of._lists_every_type is None and not stated and self._of._whole_matrix() is None

    # -- users who are missing, send several reports, or run another budget -------------------------------------

    def other_messages(self, n: int) -> int:
        """Messages that certainly hide the victim's among those of n users."""
        return self._of._other_messages(n)

    def without(self, missing: int, *, n: int, participation: float) -> Mechanism:
        """The mechanism that the remaining users run if ``missing`` of n users, and their messages, are absent."""
        return self._of._without(missing, n=n, participation=participation)

    def bundled(self, reports: int, *, n: int, participation: float) -> Mechanism:
        """One of the ``reports`` separate shuffles into which a batch may be divided where users send several."""
        return self._of._bundled(reports, n=n, participation=participation)

    @property
    def mixes(self) -> bool:
        """Whether it says how well it hides users of another budget."""
        from .base import Mechanism

        return type(self._of)._blanket_ratio is not Mechanism._blanket_ratio

    def blanket_ratio(self, victim: Mechanism) -> float:
        """min over reports y of w_self(y)/w_victim(y), w the blanket, rounded down; 0 where these users do not help."""
        return self._of._blanket_ratio(victim)

    # -- what is written down -----------------------------------------------------------------------------------

    def identity(self) -> dict[str, Any]:
        """What a ledger or certificate stores to make the mechanism again: its spec, or its law."""
        return self._of._identity()

    def files(self) -> Iterator[str]:
        """The files that the mechanism was read from."""
        return self._of._files()
