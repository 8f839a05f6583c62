"""The keys of a mapping that was read: none unknown, none missing."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from typing import Any

from ...errors import ParameterError
from ..validation import shown


def mapping(
    where: str, value: object, *, needed: Collection[str] = (), optional: Collection[str] = (), advice: str = ""
) -> dict[str, Any]:
    """``value``, if it is a mapping that has all needed keys and no other than these and the optional ones.

    Examples
    --------
    >>> mapping("round 0", {"n": 10, "cuont": 1}, needed=["n", "count"])
    Traceback (most recent call last):
        ...
    shuffledp.errors.ParameterError: unknown key in round 0 'cuont'; did you mean 'count'?
    """
    known = sorted({*needed, *optional})
    if not isinstance(value, dict):
        got = "a list" if isinstance(value, list) else "nothing" if value is None else shown(value, 40)
        raise _no_mapping(where, known, got, advice or "write key: value")
    if "format" not in known and isinstance(stated := value.get("format"), str):  # a ledger, a certificate
        raise _no_mapping(where, known, f"a file of format {shown(stated, 40)}", "check the path")
    for key in value:
        if not isinstance(key, str):
            raise ParameterError(f"key in {where} must be a name, got {key!r:.40}; it takes {', '.join(known)}.")
        if key not in known:
            close = get_close_matches(key[:40], known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"it takes {', '.join(known)}."
            raise ParameterError(f"unknown key in {where} {key[:40]!r}; {hint}")
    missing = [key for key in needed if key not in value]
    if missing:
        raise ParameterError(
            f"{where} must have the keys {', '.join(sorted(needed))}, got none named {missing[0]!r}; "
            f"{advice or 'add it'}."
        )
    return dict(value)


def _no_mapping(where: str, known: list[str], got: str, then: str) -> ParameterError:
    return ParameterError(f"{where} must be a mapping with keys of {', '.join(known)}, got {got}; {then}.")
