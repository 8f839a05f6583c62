"""One exception family; every message is one sentence in the user's words.

The messages follow one pattern: which parameter, what was expected, what was given, what to do.
The command line prints them as they are and exits with ``exit_code``.
"""

from __future__ import annotations


class ShuffleDPError(Exception):
    """Base of every error that shuffledp raises on purpose."""

    exit_code = 2


class ParameterError(ShuffleDPError, ValueError):
    """A parameter is outside its range, of the wrong kind, unknown or missing."""


class BoundNotApplicableError(ShuffleDPError, ValueError):
    """A bound was asked for by name where it is not proved, or where what it needs is not known."""


class ImpossibleError(ShuffleDPError, ValueError):
    """No setting in its range, no number of users or no delta reaches the target that was asked for."""

    exit_code = 1


class CertificationError(ShuffleDPError, RuntimeError):
    """Ball arithmetic could not prove the claim (this says nothing about the claim being false)."""

    exit_code = 3


class VerificationError(ShuffleDPError, RuntimeError):
    """A certificate file does not prove what it states."""

    exit_code = 3


class ExtensionError(ShuffleDPError, TypeError):
    """A class that is to be a mechanism or a bound leaves out something that it must state."""


class NotSentError(ShuffleDPError, ConnectionError):
    """The shuffler does not have a report yet: it is kept, and to be sent again later, as it is."""
