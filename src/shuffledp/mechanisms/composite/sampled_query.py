"""One of several queries, drawn by the client: how questions with several parts are asked."""

from __future__ import annotations

from collections.abc import Sequence

from ..randomizer import Randomizer
from .parallel import Parallel


def one_drawn(parts: Sequence[Randomizer]) -> Randomizer:
    """Each user answers one of them, drawn uniformly; the only one itself if there is one.

    Examples
    --------
    >>> from shuffledp.mechanisms.categorical.grr import GRR
    >>> one_drawn([GRR(eps0=1.0, d=2), GRR(eps0=1.0, d=3)]).spec
    'parallel:<0.5 of grr:eps0=1,d=2; 0.5 of grr:eps0=1,d=3>'
    """
    return parts[0] if len(parts) == 1 else Parallel([(1.0 / len(parts), part) for part in parts])
