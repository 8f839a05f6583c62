"""How three sets of s items may meet, up to permutations of the items."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

#: Sets up to this size are listed: there are about s^4/10 ways.
MOST_HELD = 4

_Items = tuple[int, ...]


def triples(domain: int, s: int) -> Iterator[tuple[_Items, _Items, list[_Items]]]:
    """Two different sets for every number of items that they share, and every third set.

    Examples
    --------
    >>> [(first, second, len(thirds)) for first, second, thirds in triples(domain=5, s=2)]
    [((0, 1), (2, 3), 5), ((0, 1), (1, 2), 7)]
    """
    for shared in range(s):
        if 2 * s - shared > domain:
            continue
        first, second = tuple(range(s)), tuple(range(s - shared, 2 * s - shared))
        alone, both, other = first[: s - shared], first[s - shared :], second[shared:]
        outside = range(2 * s - shared, domain)
        thirds = []
        for i, j, k in itertools.product(range(len(alone) + 1), range(len(both) + 1), range(len(other) + 1)):
            rest = s - i - j - k
            if 0 <= rest <= len(outside):
                thirds.append((*alone[:i], *both[:j], *other[:k], *outside[:rest]))
        yield first, second, thirds
