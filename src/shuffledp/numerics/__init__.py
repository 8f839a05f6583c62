"""The only place with numerics; it knows no mechanism.  Start reading at round.py."""

from .evaluators.choose import Divergence
from .pair import ShuffledPair

__all__ = ["Divergence", "Round"]
