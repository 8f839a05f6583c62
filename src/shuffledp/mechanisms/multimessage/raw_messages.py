"""What holds wherever a user sends several messages: an array of messages does not say how many users sent them."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from ...errors import ParameterError
from ..randomizer import Randomizer
from ..reports import Reports, Tally


@dataclass(frozen=True, kw_only=True)
class RawMessages(Randomizer):
    """Users who send several messages each, which come in one uniformly random order."""

    single_message = False
    _shuffles = True

    @property
    def _message_limits(self) -> tuple[int, int | None]:
        """Any number, unless a mechanism knows better."""
        return 0, None

    def tally(
        self,
        reports: Reports | ArrayLike,
        *,
        users: int | None = None,
        for_release: bool | None = None,
        threads: int | None = None,
    ) -> Tally:
        """Sum reports; raw arrays need ``users``, since a user sends several messages."""
        if not isinstance(reports, Reports) and users is None:
            raise ParameterError(f"users must be given with raw messages of {self.name}, got None; pass users=n.")
        return super().tally(reports, users=users, for_release=for_release, threads=threads)
