"""One random level of a tree of bins, and the node there by a frequency mechanism: what range queries run.

With randomized response on every level and equal shares this is the paper's hierarchical mechanism, whose reports are
single numbers; any other choice is a parallel composition, one query per level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from ...errors import ParameterError
from ...estimation.estimate import Estimate
from ...numerics.pair import IntArray
from ..categorical.grr import GRR
from ..frequency import FrequencyOracle
from ..randomizer import Randomizer
from ..registry import mechanism
from ..reports import Tally
from .hierarchical_grr import HierarchicalGRR, level_sizes
from .parallel import Parallel


@dataclass(frozen=True)
class TreeLevels:
    """A tree over bins, and the frequency mechanism of its leaves, which every other level uses with fewer options.

    Without any level above the leaves, the mechanism may be any other one for options, of several messages too.

    Examples
    --------
    >>> tree = TreeLevels(GRR(eps0=2.0, d=8), branching=2)
    >>> tree.sizes, tree.randomizer.spec
    ((8, 4, 2), 'hierarchical-grr:eps0=2,d=8,branching=2')
    """

    leaves: Randomizer
    branching: int
    shares: tuple[Fraction, ...] | None = None

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Nodes of every level, leaves first."""
        return level_sizes(int(self.leaves.d), self.branching)  # type: ignore[attr-defined]

    @cached_property
    def oracles(self) -> tuple[Randomizer, ...]:
        """The mechanism of every level: settings of the leaves, such as a size of sets, are chosen per level."""
        made: list[Randomizer] = [self.leaves]
        if len(self.sizes) > 1 and not self.pure:
            raise ParameterError(
                f"mechanism must be a frequency mechanism of one message such as 'grr:eps0=2' for several levels, got "
                f"{self.leaves.spec}; set branching to the number of bins to have one level only."
            )
        for size in self.sizes[1:]:
            other = mechanism(f"{self.leaves.name}:eps0={getattr(self.leaves, 'eps0', None)!r},d={size}")
            if not isinstance(other, FrequencyOracle):
                raise ParameterError(f"mechanism must be a frequency mechanism, got {other.spec}; name another.")
            made.append(other)
        return tuple(made)

    @property
    def pure(self) -> bool:
        """Whether the mechanism can stand on several levels."""
        return isinstance(self.leaves, FrequencyOracle) and self.leaves.single_message

    @cached_property
    def randomizer(self) -> Randomizer:
        """What a client runs."""
        if not self.pure and len(self.oracles) == 1:
            return self.leaves
        if isinstance(self.leaves, GRR) and self.shares is None:
            return HierarchicalGRR(eps0=self.leaves.eps0, d=self.leaves.d, branching=self.branching)
        even = (Fraction(1, len(self.sizes)),) * len(self.sizes)
        return Parallel(list(zip(self.shares or even, self.oracles, strict=True)))

    def inputs(self, bins: IntArray) -> Any:
        """The inputs of the randomizer for users in these bins."""
        if isinstance(self.randomizer, Parallel):
            return [bins // self.branching**h for h in range(len(self.sizes))]
        return bins

    def estimates(self, tally: Tally) -> Sequence[Estimate]:
        """The estimate of every level, leaves first."""
        return self.randomizer.estimates(tally)
