"""Figures and tables of a paper computed again, with a verdict on what it says of them.

The paper is Wang et al., "Privacy Amplification via Shuffling: Unified, Simplified, and Tightened", PVLDB 17(8), 2024
(doi 10.14778/3659437.3659444).  Start at :func:`shuffledp.paper.run.reproduce`.
"""

from .run import reproduce

__all__ = ["reproduce"]
