"""Answers that are kept for the next one who asks: the most recently used ones, from any thread."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class Kept(Generic[T]):
    """At most ``most`` values by key; the one that was not used for longest goes first.

    Examples
    --------
    >>> kept = Kept[int](2)
    >>> for k in "aba": kept.put(k, ord(k))
    >>> kept.put("c", 99)
    >>> kept.get("a"), kept.get("b"), len(kept)
    (97, None, 2)
    """

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._values: OrderedDict[Hashable, T] = OrderedDict()

    def get(self, key: Hashable) -> T | None:
        """The value, or None."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Hashable, value: T) -> None:
        """Keep a value; the oldest makes room."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._most:
                self._values.popitem(last=False)

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._values)
