"""The shuffler's keys for Oblivious HTTP, in one file that only its owner reads and that is replaced in one step.

A key goes through four states, one step at every rotation, so that each has an interval of overlap on both sides:

- pending: made and accepted, not yet handed out, so that all front ends have it before a client uses it;
- active: handed out by ``/ohttp-keys``;
- retired: accepted from clients that fetched it before, no longer handed out;
- erased: its private half is gone, so that what was recorded on the network stays closed; only its number is kept.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from .._support.files import write_whole
from .._support.locking import alone_with
from ..errors import ParameterError
from .keys import base64url, unbase64url
from .ohttp import KeyConfig, encode_configs, private_key

_STATES = ("pending", "active", "retired", "erased")
#: Erased keys that stay in the list, so that ``status`` shows them; their numbers are never used again.
_REMEMBERED = 16


@dataclass(frozen=True)
class Key:
    """One key: its number counts up for ever, and a client sees it modulo 256."""

    number: int
    state: str
    private: bytes = b""

    @cached_property
    def public(self) -> bytes:
        """The public half."""
        return X25519PrivateKey.from_private_bytes(self.private).public_key().public_bytes_raw()

    @property
    def id(self) -> int:
        """What stands in a request."""
        return self.number % 256


@dataclass(frozen=True)
class Keys:
    """The keys of a shuffler at one time.

    Examples
    --------
    >>> keys = Keys.fresh()
    >>> [(key.number, key.state) for key in keys.rotated().keys]
    [(1, 'retired'), (2, 'active'), (3, 'pending')]
    """

    keys: tuple[Key, ...]

    @classmethod
    def fresh(cls) -> Keys:
        """An active key and the one that follows it."""
        return cls((_made(1, "active"), _made(2, "pending")))

    @classmethod
    def load(cls, path: Path) -> Keys:
        """The keys of a file."""
        try:
            listed = json.loads(path.read_text("utf-8"))["ohttp"]
            keys = tuple(Key(int(k["number"]), k["state"], unbase64url(k.get("private", ""))) for k in listed)
        except (OSError, ValueError, KeyError, TypeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is damaged"
            raise ParameterError(
                f"the file of keys must be one that keygen wrote, got {str(path)!r} ({reason}); run keygen or restore."
            ) from None
        good = all(k.state in _STATES and len(k.private) == (0 if k.state == "erased" else 32) for k in keys)
        if not good or sum(k.state == "active" for k in keys) != 1:
            raise ParameterError(
                f"the file of keys must hold one active key, got another content in {str(path)!r}; restore it."
            )
        return cls(keys)

    def save(self, path: Path) -> None:
        """Write the file in one step, readable by its owner only."""
        listed = [
            {"number": k.number, "state": k.state, **({"private": base64url(k.private)} if k.private else {})}
            for k in self.keys
        ]
        if not path.exists():  # a replaced file keeps its mode
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        write_whole(path, json.dumps({"ohttp": listed}, indent=1) + "\n")

    def rotated(self) -> Keys:
        """Every key one state further, and a new pending one."""
        moved = [
            Key(k.number, state, b"" if state == "erased" else k.private)
            for k in self.keys
            for state in [_STATES[min(_STATES.index(k.state) + 1, 3)]]
        ]
        erased = [k for k in moved if k.state == "erased"]
        kept = [k for k in moved if k not in erased[:-_REMEMBERED]]
        return Keys((*kept, _made(max(k.number for k in moved) + 1, "pending")))

    @cached_property
    def accepted(self) -> Mapping[int, Key]:
        """By id: all that are not erased."""
        return {k.id: k for k in self.keys if k.private}

    @cached_property
    def opening(self) -> Mapping[int, Any]:
        """What :func:`~shuffledp.shuffler.ohttp.decapsulate` takes."""
        return {id: private_key(X25519PrivateKey.from_private_bytes(k.private)) for id, k in self.accepted.items()}

    @cached_property
    def handed_out(self) -> bytes:
        """``application/ohttp-keys``: the active key."""
        return encode_configs([KeyConfig(k.id, k.public) for k in self.keys if k.state == "active"])


def rotate(path: Path) -> Keys:
    """Rotate the keys in a file; two who do so at once rotate twice, one after the other."""
    Keys.load(path)  # which says it if there are none
    with alone_with(path):
        new = Keys.load(path).rotated()
        new.save(path)
    return new


def _made(number: int, state: str) -> Key:
    return Key(number, state, X25519PrivateKey.generate().private_bytes_raw())
