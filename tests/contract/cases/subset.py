from collections.abc import Callable
from typing import Any

import numpy as np

from contract.cases import Case, frequencies
from shuffledp.mechanisms.categorical.subset import Subset
from shuffledp.mechanisms.sets.privset import PrivSet


def sets(d: int, s: int) -> Callable[[int], tuple[Any, Any]]:
    """A quarter of the users hold s items, the others fewer, down to none."""

    def data(n: int) -> tuple[Any, Any]:
        rows = (np.arange(n)[:, None] * 7 // 5 + np.arange(s)) % d
        rows[np.arange(n)[:, None] % 4 > np.arange(s) + 1] = -1
        return rows, np.array([(rows == v).any(axis=1).mean() for v in range(d)])

    return data


#: Among more than 8 inputs FiniteRandomizer looks at fewer datasets, so its lower bound is below ours.
PRUNED = "the matrix keeps fewer datasets; compared in tests/mechanisms/test_subset.py"

CASES = [
    *(
        Case(Subset(eps0=e, d=d, k=k), frequencies(d))
        for e, d, k in ((1.0, 2, 1), (1.0, 3, 2), (2.5, 4, 2), (0.5, 5, None), (1.5, 8, 4), (4.0, 6, 5))
    ),
    Case(Subset(eps0=2.0, d=40, k=2), frequencies(40), same_law=False, note=PRUNED),
    *(
        Case(PrivSet(eps0=e, d=d, s=s, k=k), sets(d, s))
        for e, d, s, k in ((1.0, 2, 1, None), (1.0, 3, 1, 2), (1.0, 4, 2, 2), (3.0, 2, 2, 2))
    ),
    Case(PrivSet(eps0=2.0, d=5, s=2), sets(5, 2), same_law=False, note=PRUNED),
    Case(PrivSet(eps0=3.0, d=100, s=3, k=2), sets(100, 3), enumerable=False, same_law=False),
]
