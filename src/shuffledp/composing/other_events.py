"""Events of dp-accounting beside shuffled rounds: what an accountant needs to know of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..errors import ParameterError
from ..numerics.composition.sequential import Kind


@dataclass(frozen=True)
class OtherEvent:
    """``count`` repetitions of an event of dp-accounting that is not a shuffled round; accounted for like an entry."""

    leaf: Any
    relation: str
    count: int

    @property
    def cost(self) -> int:
        """Every repetition is paid for."""
        return self.count

    @property
    def key(self) -> str:
        """Events with the same key have the same profile."""
        return f"event {self.leaf!r} {self.relation}"

    def kind(self) -> Kind:
        """The privacy profile of one repetition."""
        from .dp_accounting.export import limit, profile

        return Kind(profile(self.leaf, neighbors=self.relation), limit(self.leaf, neighbors=self.relation))

    @property
    def mu(self) -> float | None:
        """The mu of one repetition for replace-one neighbors, where it is Gaussian noise; None otherwise."""
        from .dp_accounting.export import gaussian_mu

        return gaussian_mu(self.leaf)

    def first(self, count: int) -> OtherEvent:
        """The first ``count`` repetitions."""
        return replace(self, count=count)


def parts_of(event: object, count: int, neighbors: str) -> list[OtherEvent | tuple[Any, int]]:
    """The parts of an event with their repetitions, all known to dp-accounting; shuffled rounds are given as such."""
    from .dp_accounting.export import ShuffledRoundEvent, leaves, supports

    found: list[OtherEvent | tuple[Any, int]] = []
    for leaf, repeats in leaves(event, count):
        if isinstance(leaf, ShuffledRoundEvent):
            found.append((leaf, repeats))
            continue
        reason = supports(leaf, neighbors=neighbors)
        if reason is not None:
            raise ParameterError(
                f"event must be known to dp-accounting for neighbors {neighbors!r}, got {type(leaf).__name__} "
                f"({' '.join(reason.split()).rstrip('.')}); an event for adding or removing a record is converted "
                "with neighbors='add-or-remove-one'."
            )
        found.append(OtherEvent(leaf, neighbors, repeats))
    return found
