"""What is known of the law of a mechanism, as bounds, accountants, certificates and ledgers ask for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from ..numerics.family import Family
    from .base import Mechanism

_T = TypeVar("_T")


class _Stated(Generic[_T]):
    """A fact or method of a law that its mechanism states."""

    def __init__(self, read: Callable[[Mechanism], _T]) -> None:
        self._read = read

    def __get__(self, law: Law, owner: type) -> _T:
        return self._read(law._of)


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
            from ..numerics.family import Family, PairSet

            stated = getattr(self._of, name)()
            self._families[name] = stated if isinstance(stated, Family) else PairSet(stated)
        return self._families[name]

    # -- families of pairs --------------------------------------------------------------------------------------

    def blanket(self) -> Family:
        """All input pairs over the privacy blanket: an upper bound that needs the whole law."""
        return self._once("_blanket")

    def swap(self) -> Family:
        """All input pairs among others of every type, by the swap bound: it needs the law of each type."""
        return self._once("_swap")

    def binary(self) -> Family:
        """All datasets of binary randomized response: upper and lower bound are nearly the truth."""
        return self._once("_binary")

    def constant_datasets(self) -> Family:
        """Exact divergences of datasets in which all others hold one value: a lower bound."""
        return self._once("_constant_datasets")

    def two_counts(self) -> Family:
        """The paper's Theorem 5.1: the same datasets through two counts."""
        return self._once("_two_counts")

    #: (pairs): these pairs, hidden by the messages of n users of this mechanism.
    among = _Stated(lambda m: m._among)
    #: (most): the input pairs over the blanket; None if there are too many or it is analyzed in another way.
    blanket_pairs = _Stated(lambda m: m._blanket_pairs)
    #: (most): pairs that dominate every ordered input pair in convex order; None: not known.
    dominating_pairs = _Stated(lambda m: m._dominating_pairs)
    #: (most): the victim pairs of :meth:`swap` among all types, where products of them are enough; None: not known.
    swap_members = _Stated(lambda m: m._swap_members)
    #: (most): constant datasets as shuffled pairs; None if there are too many or they are analyzed in another way.
    dataset_pairs = _Stated(lambda m: m._dataset_pairs)

    # -- single numbers and facts -------------------------------------------------------------------------------

    #: log of the largest ratio between two users' reports; in metric privacy more than local_epsilon.
    crowd_epsilon = _Stated(lambda m: m._crowd_epsilon)
    #: log of the largest ratio between any two reports: what bounds from eps0 alone must use.
    pairwise_epsilon = _Stated(lambda m: max(m.local_epsilon, m._crowd_epsilon))
    #: Whether crowd_epsilon bounds the ratio of two users' laws both ways, as a local guarantee does.
    ratios_both_ways = _Stated(lambda m: m._ratios_both_ways)
    #: Probability that its law, as given, leaves out; bounds count it as an outcome that reveals its user.
    left_out = _Stated(lambda m: m._left_out)
    #: What a lower bound refers to, in words.
    lower_scope = _Stated(lambda m: m._lower_scope)
    #: Whether relabeling reports maps any two inputs to any other two.
    inputs_alike = _Stated(lambda m: m._inputs_alike)
    #: Whether the pair of the paper's Theorem 4.7 as printed is its exact law.
    published_law_exact = _Stated(lambda m: m._published_law_exact)

    @property
    def types_unstated(self) -> bool:
        """Whether a statement of what other users may hold would give the swap bound, and nobody has made one."""
        from .base import Mechanism

        kind = type(self._of)
        stated = kind._swap is not Mechanism._swap or kind._types is not Mechanism._types
        return self._of._lists_every_type is None and not stated and self._of._whole_matrix() is None

    # -- users who are missing, send several reports, or run another budget -------------------------------------

    #: (n): messages that certainly hide the victim's among those of n users.
    other_messages = _Stated(lambda m: m._other_messages)
    #: (missing, n=): what the remaining users run if ``missing`` of n users are absent.
    without = _Stated(lambda m: m._without)
    #: (reports, n=): one of the separate shuffles into which several reports per user may be divided.
    bundled = _Stated(lambda m: m._bundled)
    #: (classes, missing): the mechanism with which the users who are left would send the same messages; None: unknown.
    together = _Stated(lambda m: m._together)
    #: (victim): min over reports y of w_self(y)/w_victim(y), w the blanket, rounded down; 0: these users do not help.
    blanket_ratio = _Stated(lambda m: m._blanket_ratio)

    @property
    def mixes(self) -> bool:
        """Whether it says how well it hides users of another budget."""
        from .base import Mechanism

        return type(self._of)._blanket_ratio is not Mechanism._blanket_ratio

    # -- what is written down -----------------------------------------------------------------------------------

    #: (): what a ledger or certificate stores to make the mechanism again: its spec, or its law.
    identity = _Stated(lambda m: m._identity)
    #: (): the files that the mechanism was read from.
    files = _Stated(lambda m: m._files)
