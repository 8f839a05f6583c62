"""What a mechanism is to the accounting side: a name, its parameters, and what is known of its law."""

from __future__ import annotations

import dataclasses
import inspect
import math
from typing import TYPE_CHECKING, ClassVar, Self

from .._support.by_name import refuse_positional
from ..errors import BoundNotApplicableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..numerics.families.base import Family
    from ..numerics.pair import ShuffledPair
    from .known.general import VariationRatio


class _InitSignature:
    """The parameters of __init__, for help(): before Python 3.13 inspect would show those of __new__."""

    def __get__(self, instance: object, owner: type) -> inspect.Signature:
        whole = inspect.signature(owner.__init__)  # type: ignore[misc]
        return whole.replace(parameters=list(whole.parameters.values())[1:])


class Mechanism:
    """Base of every local randomizer; subclasses are frozen keyword-only dataclasses.

    ``name`` is the word of the spec string; the dataclass fields are its parameters, in order.
    """

    name: ClassVar[str]

    def __new__(cls, *args: object, **given: object) -> Self:
        """Refuse numbers without a name, which a keyword-only dataclass would do with a bare TypeError."""
        if args:
            refuse_positional(cls, args, given)
        return super().__new__(cls)

    __signature__: ClassVar[object] = _InitSignature()

    @property
    def local_epsilon(self) -> float:
        """The eps of one report on its own: the parameter eps0 unless a mechanism says otherwise (it may be inf)."""
        eps0: float | None = getattr(self, "eps0", None)
        if eps0 is None:
            raise BoundNotApplicableError(f"{self.name} does not state its local guarantee; use another bound.")
        return eps0

    @property
    def crowd_epsilon(self) -> float:
        """log of the largest ratio between two users' reports; in metric privacy more than local_epsilon."""
        return self.local_epsilon

    @property
    def pairwise_epsilon(self) -> float:
        """log of the largest ratio between any two reports: what bounds from eps0 alone must use."""
        return max(self.local_epsilon, self.crowd_epsilon)

    @property
    def neighbours(self) -> str:
        """Which change of one user's value the guarantee covers."""
        return "replace-one"

    @property
    def description(self) -> str:
        """The mechanism in words, to stand after "each running"."""
        return self.spec

    #: What a lower bound of this object speaks of, in words.
    lower_scope: ClassVar[str] = "this mechanism"

    @property
    def spec(self) -> str:
        """The spec string that makes this mechanism again."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return f"{self.name}:" + ",".join(f"{f.name}={plain(getattr(self, f.name))}" for f in fields)

    def variation_ratio(self) -> VariationRatio:
        """The parameters (p, beta, q) of the paper's Definition (properties I and II)."""
        raise BoundNotApplicableError(f"{self.name} has no (p, beta, q) parameters; choose another bound.")

    def among(self, pairs: Sequence[ShuffledPair]) -> Family:
        """These rounds among the messages that n users of this mechanism send: one each, unless it says otherwise."""
        from ..numerics.families.base import PairSet

        return PairSet(pairs)

    def other_messages(self, n: int) -> int:
        """Messages that are sure to hide the victim's: one of each other user, unless a mechanism says otherwise."""
        return n - 1

    #: The pair of the paper's Theorem 4.7 as printed is the exact law of this mechanism (mixDUMP), hence a bound.
    published_law_exact: ClassVar[bool] = False

    def blanket_pairs(self, most: int) -> Sequence[ShuffledPair] | None:
        """The input pairs over the blanket as rounds among n messages; None if that is not how it is analysed."""
        return self.blanket().pairs(most)

    def blanket(self) -> Family:
        """All input pairs over the privacy blanket: an upper bound that needs the whole law."""
        raise BoundNotApplicableError(
            f"bound 'blanket' needs the whole law of the mechanism and {self.name} does not state one; "
            "use bound='variation-ratio'."
        )

    def constant_datasets(self) -> Family:
        """Exact divergences of datasets in which all others hold one value: a lower bound."""
        raise BoundNotApplicableError(f"no dataset is known for {self.name}, so there is no lower bound of it.")

    def two_counts(self) -> Family:
        """The paper's Theorem 5.1: the same datasets through two counts."""
        raise BoundNotApplicableError(
            f"bound 'variation-ratio-lower' needs the whole law of the mechanism and {self.name} does not state one; "
            "use a mechanism with a known law, such as finite."
        )


def plain(value: object) -> str:
    """A number in the shortest form that reads back to itself."""
    if isinstance(value, float):
        if math.isinf(value):
            return "inf"
        return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
    return str(value)
