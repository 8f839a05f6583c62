"""Figures and tables of papers computed again, with a verdict on what they say of them.

The first, and the one with most parts, is Wang et al., "Privacy Amplification via Shuffling: Unified, Simplified, and
Tightened", PVLDB 17(8), 2024 (doi 10.14778/3659437.3659444); the others are in :mod:`shuffledp.paper.papers`.  Start at
:func:`shuffledp.paper.run.reproduce`.
"""

from .run import reproduce

__all__ = ["reproduce"]
