"""Which strings do many users hold, where nobody can list them in advance?"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._support import validation as check
from ..estimation.chance_hits import chance_limit
from ..estimation.constraints import Box
from ..estimation.estimate import SHARE, Estimate
from ..mechanisms.randomizer import Randomizer
from ..mechanisms.reports import Tally
from .base import Query, known_shares, must_take, runnable
from .columns import Column, ValueCounts, Weights, absent, counted, each, shares_of

#: Random bits of a salt.
_SALT_BITS = 50


@dataclass(frozen=True, kw_only=True)
class HeavyHitters(Query):
    """The strings that many users hold, found byte by byte, with their shares.

    Every user draws a level and reports the prefix of that length by a public hash function: a single batch, so that
    the guarantee is for all n users.  Only the decoding is adaptive: it keeps the prefixes of a level that stand out,
    tries every continuation on the next, and takes the shares of what is left from a last group of users, who had
    no part in the search.

    Parameters
    ----------
    column : str
        Where the strings are; whole numbers count as their digits.
    length : int
        Bytes of a string (UTF-8); longer ones are cut, and the answer is about what is left of them.
    mechanism : mechanism or spec
        prefix-hash; ``length`` may be left out, and ``salt``, which is then drawn.
    false_positives : float in (0, 1)
        The probability, at most, that a string which nobody holds is in the answer.
    most : int
        Prefixes that are kept on a level, those with the largest shares.

    Notes
    -----
    A prefix stands out if one that nobody holds would have as many hits with probability at most ``false_positives``
    divided by the number of levels and by that of the prefixes that are tried on the level (Bonferroni).  This
    probability is over the hash functions, given the reports, so that collisions with what is held are in it
    (:func:`~shuffledp.estimation.chance_hits.chance_limit`).  The shares of the answer are unbiased, since the last
    group was not used for the choice.  A string is missed if it, or a prefix of it, does not stand out: with n/levels
    users each, shares below about four or five standard errors are missed.

    A value that is missing, or not a text or whole number, counts as the empty string.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> tail = sdp.queries.HeavyHitters(column="tail", length=3, mechanism="prefix-hash:eps0=4,salt=1")
    >>> m, values = tail.randomizer, tail.encode([["N10", "N10", "N11", None] * 10_000])
    >>> answer = tail.answer(m.tally(m.privatize(values, rng=np.random.default_rng(0))))
    >>> answer.labels, bool(np.all(abs(answer.value - [0.5, 0.25, 0.25]) < 4 * answer.stderr))
    (['N10', '', 'N11'], True)
    """

    kind: ClassVar[str] = "heavy-hitters"

    column: str
    length: int
    false_positives: float = 0.05
    most: int = 200
    mechanism: Randomizer | str = "prefix-hash:eps0=1"

    def __post_init__(self) -> None:
        must_take(self.mechanism, ["bytes"], what="strings", choose="prefix-hash")
        length = check.whole("length", self.length, low=1, high=256, hint="it counts the bytes of a string")
        level = check.inside("false_positives", self.false_positives, 0.0, 1.0)
        given = self.mechanism
        if isinstance(given, str) and "salt=" not in given.replace(" ", ""):
            given = f"{given}{',' if ':' in given else ':'}salt={secrets.randbits(_SALT_BITS)}"
        vars(self).update(
            length=length,
            false_positives=level,
            most=check.whole("most", self.most, low=1, high=10_000, hint="it is how many prefixes are kept"),
            mechanism=runnable(given, length=length),
        )

    @property
    def question(self) -> str:
        """In words."""
        return f"the strings of up to {self.length} bytes in {self.column!r} that many users hold, and their shares"

    # -- a client -------------------------------------------------------------------------------------------------

    def _text(self, value: object) -> bytes:
        """At most ``length`` bytes; those after a zero are left out."""
        return (_written(value) or b"")[: self.length].partition(b"\0")[0]

    def encode(self, columns: Sequence[Column]) -> NDArray[Any]:
        """The bytes of every row, padded with zeros."""
        raw = b"".join(text.ljust(self.length, b"\0") for text in each(columns[0], self._text))
        return np.frombuffer(raw, dtype=np.uint8).reshape(-1, self.length)

    def value_counts(self, columns: Sequence[Column]) -> ValueCounts:
        """Missing values, and those that are neither texts nor whole numbers."""

        def kind(value: object) -> str:
            return "missing" if absent(value) else "unreadable" if _written(value) is None else ""

        return ValueCounts({self.column: counted(columns[0], kind)})

    # -- the answer -----------------------------------------------------------------------------------------------

    def answer(self, tally: Tally) -> Estimate:
        """The strings found, those with the largest shares first."""
        m: Any = self.randomizer
        counts, users = np.asarray(tally.counts), tally.users
        kept: list[bytes] = [b""]
        searched = m.levels - 1
        for level in range(searched):
            kept = self._kept(m, counts, level, m.extensions(kept, level), self.false_positives / searched)
        found: Estimate = m.shares(counts, users, m.levels - 1, kept)
        # shares of some strings of many: nothing holds for them together
        found = replace(found, constraint=Box(0.0, 1.0), names=tuple(map(_shown, kept)), quantity=SHARE)
        return replace(found.top(max(len(kept), 1)), n=users, for_release=tally.for_release)

    def _kept(self, m: Any, counts: NDArray[Any], level: int, tried: list[bytes], chance: float) -> list[bytes]:
        """The prefixes that stand out, at most ``most``; one that nobody holds is among them with this chance."""
        if not tried:
            return []
        hits = m.hits(counts, level, tried)
        out = np.flatnonzero(hits >= chance_limit(m.table(counts, level), chance / len(tried)))
        order = out[np.argsort(-hits[out], kind="stable")][: self.most]
        return [tried[i] for i in order]

    def exact(self, columns: Sequence[Column], *, weights: Weights = None) -> Estimate:
        """The shares of all strings of these rows."""
        texts, place = np.unique(np.array(each(columns[0], self._text), dtype=object), return_inverse=True)
        shares = shares_of(place, len(texts), weights)
        order = np.argsort(-shares, kind="stable")
        return known_shares(shares[order], len(place), Box(0.0, 1.0), [_shown(texts[i]) for i in order])


def _written(value: object) -> bytes | None:
    """The bytes of a text or a whole number; None for anything else."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    if isinstance(value, bytes):
        return value
    return str(value).encode() if isinstance(value, int) and abs(value) < 10**300 else None


def _shown(text: bytes) -> str:
    """Bytes as text; those that are not UTF-8 as escapes, so that different ones are not alike.

    >>> _shown(b"caf\\xc3\\xa9"), _shown(b"\\xff")
    ('café', '\\\\xff')
    """
    return text.decode("utf-8", "backslashreplace")
