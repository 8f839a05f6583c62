"""The only place with numerics; it knows no mechanism.  Start reading at round.py."""

from .evaluate import Divergence
from .round import Round

__all__ = ["Divergence", "Round"]
