"""One independent source per piece of work, so that the pieces may be done in any order, on any number of threads."""

from __future__ import annotations

import numpy as np

from .sampling import Keystream, Source, source

#: Numbers of streams from here on are for the order of reports, those below for the reports themselves.
ORDER = 1 << 63


class Streams:
    """Sources numbered 0, 1, ... below 2^64: keystreams, each under a fresh key from the operating system.

    With a numpy Generator they are under one key of 32 bytes drawn from it, each with a counter range of its own: the
    same state of the generator gives the same streams, and the streams are not for release.

    Examples
    --------
    >>> one, two = (Streams(np.random.default_rng(7)) for _ in range(2))
    >>> bool((one.source(3).raw(16) == two.source(3).raw(16)).all()), one.for_release
    (True, False)
    >>> bool((one.source(3).raw(16) == one.source(4).raw(16)).all())
    False
    """

    def __init__(self, rng: np.random.Generator | None = None) -> None:
        self.for_release = rng is None
        self._key = None if rng is None else source(rng).raw(32).tobytes()

    def source(self, number: int) -> Source:
        """The stream of this number, from its beginning; to be asked for once, since a secure one never repeats."""
        return Keystream(self._key, number)
