"""An accountant that dp-accounting's own tools can drive: shuffled rounds next to Gaussian and Laplace events.

Importing this module needs the extra ``accounting``.
"""

from __future__ import annotations

from typing import Any

from ...errors import ParameterError, ShuffleDPError
from ..accountant import Accountant
from ..ledger import make_entry
from .export import ShuffledRoundEvent, leaves, supports

from dp_accounting.privacy_accountant import NeighboringRelation, PrivacyAccountant  # isort: skip  (pld checks for it)

__all__ = ["ShuffleAccountant", "ShuffledRoundEvent"]


class ShuffleAccountant(PrivacyAccountant):  # type: ignore[misc]
    """A ``dp_accounting.PrivacyAccountant`` for replace-one neighbors that also understands ShuffledRoundEvent.

    Usable wherever dp-accounting takes an accountant, for example in ``calibrate_dp_mechanism``.

    Examples
    --------
    >>> from dp_accounting import GaussianDpEvent
    >>> acc = ShuffleAccountant().compose(ShuffledRoundEvent("grr:eps0=1,d=4", 10_000), 10)
    >>> alone = acc.get_epsilon(1e-6)
    >>> alone < acc.compose(GaussianDpEvent(50.0)).get_epsilon(1e-6)
    True
    """

    def __init__(self, neighboring_relation: Any = NeighboringRelation.REPLACE_ONE) -> None:
        if neighboring_relation is not NeighboringRelation.REPLACE_ONE:
            raise ParameterError(
                f"neighboring_relation must be REPLACE_ONE, got {neighboring_relation}; shuffled rounds hide a value "
                "among n others; they do not cover adding or removing a user."
            )
        super().__init__(neighboring_relation)
        self._accountant = Accountant()

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:
        for leaf, _ in leaves(event):
            problem = _problem(leaf)
            if problem is not None:
                return self.CompositionErrorDetails(invalid_event=leaf, error_message=problem)
        if do_compose:
            self._accountant.compose_event(event, count=max(count, 1))
        return None

    def get_epsilon(self, target_delta: float) -> float:
        """The eps of all composed events at target_delta, never too small."""
        return self._accountant.epsilon(delta=target_delta)

    def get_delta(self, target_epsilon: float) -> float:
        """The delta of all composed events at target_epsilon, never too small."""
        return self._accountant.delta(epsilon=target_epsilon)


def _problem(leaf: Any) -> str | None:
    if not isinstance(leaf, ShuffledRoundEvent):
        return supports(leaf, neighbors="replace-one")
    try:
        found = make_entry(leaf.mechanism, n=leaf.n, bound=leaf.bound).mechanism.neighbors
    except ShuffleDPError as error:
        return str(error)
    return None if found == "replace-one" else f"neighbors must be 'replace-one', got {found!r}"
