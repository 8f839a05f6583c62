"""What a mechanism may be called: short names of the literature, any case and any hyphens.

This module holds words only, so that the package can use them without loading anything else.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache

#: Other names of the same mechanism -> the word of its spec.
ALIASES = {
    "krr": "grr",
    "oue": "optimized-unary",
    "sue": "unary",
    "rappor": "unary",
    "olh": "local-hash",
    "hr": "hadamard",
    "ss": "subset",
    "pm": "piecewise",
    "hm": "hybrid",
}


@lru_cache(maxsize=4096)
def plain(name: str) -> str:
    """Small letters and digits alone: Local_Hash, local hash, LocalHash and local-hash are one name.

    Examples
    --------
    >>> plain("Local_Hash"), plain("kRR")
    ('localhash', 'krr')
    """
    return "".join(c for c in name.lower() if c.isalnum())


def resolve(name: str, known: Iterable[str]) -> str | None:
    """The one of the known names that is meant, by another case, other hyphens or an alias; else None.

    Examples
    --------
    >>> resolve("OUE", ["grr", "optimized-unary"]), resolve("Grr", ["grr"]), resolve("gr", ["grr"])
    ('optimized-unary', 'grr', None)
    """
    by_word = {plain(word): word for word in known}
    found = plain(name)
    return by_word.get(found) or by_word.get(_ALIASES.get(found, ""))


_ALIASES = {plain(alias): plain(word) for alias, word in ALIASES.items()}


def near(name: str, known: Iterable[str]) -> str | None:
    """The known name that is spelled most like this one, aliases included; None if none is."""
    by_word = {plain(word): word for word in known}
    spelled = get_close_matches(plain(name), [*by_word, *_ALIASES], n=1)
    return by_word.get(_ALIASES.get(spelled[0], spelled[0])) if spelled else None
