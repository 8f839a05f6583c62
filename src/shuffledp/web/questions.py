"""What a request asks, read from its query: every number checked, and none that would keep the server busy.

Nothing here opens a file or imports code that a request names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .._support import delta_rules as _rules
from .._support import validation as check
from ..accounting.crowd import Crowd
from ..errors import ParameterError
from ..mechanisms.base import Mechanism
from ..mechanisms.registry import made, split

#: The longest text of a parameter; a spec of the catalog has some 60 characters.
LONGEST = 300
#: More options or dimensions, and more rounds, than these are left to the library and the command line.
MOST_OPTIONS, MOST_ROUNDS = 10**6, 10**4
#: A larger share of missing users leaves the page nothing to say.
MOST_MISSING = 0.95
#: Parameters of mechanisms that say how large their domain is.
SIZES = ("d", "dim")
_NAMES = ("spec", "n", "delta", "rounds", "dropouts")


@dataclass(frozen=True)
class Question:
    """A collection: who runs what, how often, and how many may be missing.

    Attributes
    ----------
    mechanism : what every user runs
    n : users of a batch
    delta : a number, or a rule such as "0.01/n"
    rounds : how often the same users are asked
    dropouts : share of the users who may drop out

    Examples
    --------
    >>> q = Question.read({"spec": "krr:eps0=2,d=64", "n": "1e6", "delta": "0.01/n", "dropouts": "0.05"})
    >>> q.spec, q.n, q.crowd.honest, q.rounds
    ('grr:eps0=2,d=64', 1000000, 950000, 1)
    """

    mechanism: Mechanism
    n: int
    delta: float | str
    rounds: int = 1
    dropouts: float = 0.0

    @classmethod
    def read(cls, given: Mapping[str, str], *, more: tuple[str, ...] = ()) -> Question:
        """From the texts of a query; names that are neither here nor in ``more`` are refused."""
        for name in given:
            check.one_of("parameter", name, (*_NAMES, *more))
        needed = [name for name in ("spec", "n", "delta") if not given.get(name)]
        if needed:
            raise ParameterError(f"{needed[0]} must be given, got nothing; add it to the request.")
        asked = cls(
            mechanism=mechanism_of(given["spec"]),
            n=check.parse_users(given["n"]),
            delta=_rules.parse(given["delta"]),
            rounds=whole("rounds", given.get("rounds", "1"), low=1, high=MOST_ROUNDS),
            dropouts=share("dropouts", given.get("dropouts", "0")),
        )
        asked.at  # noqa: B018 - a rule must give a delta in (0, 1) for this n
        return asked

    @property
    def spec(self) -> str:
        """The mechanism in one line."""
        return self.mechanism.spec

    @property
    def at(self) -> float:
        """delta as a number."""
        return _rules.delta_at(self.delta, self.n)

    @property
    def crowd(self) -> Crowd:
        """Who can be counted on."""
        return Crowd.of(self.n, dropouts=self.dropouts)

    def remaining(self) -> tuple[Mechanism, int]:
        """What the users who can be counted on run, and how many they are."""
        crowd = self.crowd
        if crowd.complete:
            return self.mechanism, self.n
        return self.mechanism.law.without(crowd.n - crowd.honest, n=crowd.n), crowd.honest


def mechanism_of(spec: str) -> Mechanism:
    """The mechanism of a spec from a stranger: no file is opened, no code imported, and its domain is not huge.

    Examples
    --------
    >>> mechanism_of("finite:/etc/passwd")
    Traceback (most recent call last):
    shuffledp.errors.ParameterError: spec must say all of the mechanism, got 'finite', which is read from a file; \
use the command line for it.
    """
    if len(spec) > LONGEST:
        raise ParameterError(f"spec must have at most {LONGEST} characters, got {len(spec):,}; shorten it.")
    cls, text = split(spec, imports=False)
    if cls._file_parameters is not None:
        raise ParameterError(
            f"spec must say all of the mechanism, got {cls.name!r}, which is read from a file; use the command line "
            "for it."
        )
    mechanism = made(cls, text)
    for name in SIZES:
        size = getattr(mechanism, name, None)
        if size is not None and size > MOST_OPTIONS:
            raise ParameterError(
                f"{name} must be at most {MOST_OPTIONS:,} on this page, got {size:,}; use the command line for more."
            )
    return mechanism


def whole(name: str, text: str, *, low: int, high: int) -> int:
    """A whole number in a range, from its text."""
    return check.whole(name, check.parse_number(name, text), low=low, high=high)


def share(name: str, text: str, *, high: float = MOST_MISSING) -> float:
    """A share of the users, written 0.05 or 5%.

    Examples
    --------
    >>> share("dropouts", "5%"), share("dropouts", "0.051"), share("dropouts", "5.1 %")
    (0.05, 0.051, 0.051)
    """
    percent = check.percent(text)
    value = check.parse_number(name, text) if percent is None else float(percent)
    if not 0.0 <= value <= high:
        raise ParameterError(
            f"{name} must lie between 0% and {high:.0%} of the users, got {check.shown(text)}; write five percent as "
            "5%."
        )
    return value
