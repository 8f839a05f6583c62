"""What somebody who misspelt a name may have meant."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str], *, cutoff: float = 0.4) -> str | None:
    """The known word that is spelt most like this one; None if none is close.

    >>> nearest("unarry", ["unary", "subset"]), nearest("x", ["unary", "subset"])
    ('unary', None)
    """
    from difflib import get_close_matches  # only mistakes need it

    found = get_close_matches(word[:60], list(known), n=1, cutoff=cutoff)
    return found[0] if found else None
