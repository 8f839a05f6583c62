"""Names that are spelled otherwise: in British English, which specs, commands and files may be, or by mistake."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, NoReturn

#: The words of names, commands and keys of files that British English spells otherwise, and what differs.
_BRITISH = re.compile("(privati|randomi|optimi|vectori|memoi)s|(neighbo)u(?=r)", re.IGNORECASE)


def american(name: str) -> str:
    """A name as it is written here, whichever spelling it comes in.

    >>> american("OptimisedUnary"), american("privatise"), american("neighbours"), american("noise")
    ('OptimizedUnary', 'privatize', 'neighbors', 'noise')
    """
    return _BRITISH.sub(lambda found: f"{found[1]}z" if found[1] else found[2], name)


class Renamed:
    """A class some of whose names were others: those raise an AttributeError that gives the present one."""

    #: An attribute behind which names of this class were moved, and its class.
    _moved: ClassVar[tuple[str, type] | None] = None

    if not TYPE_CHECKING:  # a type checker would believe that there is every attribute

        def __getattr__(self, name: str) -> NoReturn:
            present, (behind, other) = american(name), type(self)._moved or ("", object)
            known = {f"{behind}.{word}": word for word in dir(other)} | {word: word for word in dir(self)}
            now = next((place for place, word in known.items() if word == present), f"_{present}")
            hint = f"; it is {now!r} now" if now in known and not name.startswith("_") else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}", name=name, obj=None)


def nearest(word: str, known: Iterable[str], *, cutoff: float = 0.55) -> str | None:
    """The known word that is spelled most like this one; None if none is close.

    >>> nearest("unarry", ["unary", "subset"]), nearest("x", ["unary", "subset"])
    ('unary', None)
    """
    from difflib import get_close_matches  # only mistakes need it

    found = get_close_matches(word[:60], list(known), n=1, cutoff=cutoff)
    return found[0] if found else None
