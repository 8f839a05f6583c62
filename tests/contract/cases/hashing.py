from collections.abc import Callable
from typing import Any

import numpy as np

from contract.cases import Case, frequencies
from shuffledp.mechanisms.categorical.hadamard import Hadamard
from shuffledp.mechanisms.categorical.local_hash import LocalHash
from shuffledp.mechanisms.composite.prefix_hash import PrefixHash
from shuffledp.mechanisms.sets.wheel import Wheel


def sets(d: int, s: int) -> Callable[[int], tuple[Any, Any]]:
    """Users holding {i, ..., i+s-1} mod d, i uneven."""

    def data(n: int) -> tuple[Any, Any]:
        first = np.minimum(np.arange(n) % (d + 2), d - 1)
        values = (first[:, None] + np.arange(s)) % d
        return values, np.bincount(values.reshape(-1), minlength=d) / n

    return data


def strings(length: int) -> Callable[[int], tuple[Any, Any]]:
    """Users holding strings of which only a few first bytes are common; the estimate is that of the first bytes."""

    def data(n: int) -> tuple[Any, Any]:
        first = np.array([97, 97, 98, 99, 0, 255])[np.arange(n) % 6]
        values = np.stack([first, *(np.arange(n) % (7 + i) for i in range(length - 1))], axis=1)
        return values, np.bincount(first, minlength=256) / n

    return data


CASES = [
    # over one salt the estimate is unbiased only up to what the stated error counts for a fixed set of functions
    *(
        Case(PrefixHash(eps0=e, length=k, functions=4096, l=l), strings(k), exact_ratio=False, enumerable=False)
        for e, k, l in ((1.0, 1, None), (3.0, 3, 4))
    ),
    *(
        # the printed beta is safe for every hash family, not exact for this one
        Case(LocalHash(eps0=e, d=d, l=l), frequencies(d), exact_ratio=False)
        for e, d, l in ((1.8, 2, 2), (2.0, 3, 2), (2.0, 3, 3), (1.8, 5, None))
    ),
    # one block with and without a third item; one of two blocks populated; two of two; four of four; single items
    *(
        Case(Hadamard(eps0=e, d=d), frequencies(d))
        for e, d in ((0.5, 2), (0.5, 4), (1.3, 3), (1.3, 4), (2.0, 8), (4.0, 3))
    ),
    # larger matrices: FiniteRandomizer keeps only some constant datasets; all are compared in test_hashing.py
    *(Case(Hadamard(eps0=e, d=d), frequencies(d), same_law=False) for e, d in ((1.2, 10), (2.5, 20))),
    # 2^31 - 1 points: the law is checked on small circles in test_hashing.py
    *(
        Case(Wheel(eps0=e, d=d, s=s, w=w), sets(d, s), enumerable=False)
        for e, d, s, w in ((1.0, 4, 1, None), (2.0, 7, 2, None), (1.0, 5, 3, 0.25))
    ),
]
