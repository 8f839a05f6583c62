"""Signed documents: a JSON text, who signed it (Ed25519), and the signature over what kind of document it is.

The signature is over the bytes of the text as it travels, so that nothing has to be written again in the same way to
verify it, and over a *context*, so that a document of one kind is none of another.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from .._support.files import write_whole
from .._support.reading import Kind, NotJSONError, parse_json, read_json
from ..errors import ParameterError
from .keys import base64url, identity, unbase64url

#: Bytes of a document, at most.
MOST_BYTES = 2**23
#: What may be signed.
CONTEXTS = tuple(f"shuffledp {kind} 1" for kind in ("publication", "withdrawal", "manifest", "statement"))

_FILE = Kind("a signed document", 2 * MOST_BYTES, "fetch it again", "publication")
_PAYLOAD = Kind("the payload", MOST_BYTES, "fetch the document again")
_FIELDS = ("payload", "key", "signature")


class SignatureError(ParameterError):
    """The signature is not that of the text: somebody changed one of them."""


def sign(context: str, payload: Mapping[str, Any], key: Ed25519PrivateKey) -> dict[str, Any]:
    """The envelope of a document.

    context : one of ``CONTEXTS``, such as "shuffledp publication 1"

    Examples
    --------
    >>> key = Ed25519PrivateKey.generate()
    >>> made = sign("shuffledp withdrawal 1", {"name": "fruit"}, key)
    >>> open_("shuffledp withdrawal 1", made, {identity(key.public_key()): key.public_key()})
    {'name': 'fruit'}
    """
    text = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    raw = _bytes(context, text)
    return {"payload": text, "key": identity(key.public_key()), "signature": base64url(key.sign(raw))}


def open_(context: str, envelope: object, trusted: Mapping[str, Ed25519PublicKey]) -> dict[str, Any]:
    """The payload of a document of this context that one of the trusted keys signed; anything else is refused."""
    kind = context.split()[1] if context in CONTEXTS else context
    if not isinstance(envelope, Mapping) or not all(isinstance(envelope.get(field), str) for field in _FIELDS):
        raise ParameterError(
            f"a {kind} must be a signed document with {', '.join(_FIELDS)}, got another; fetch it again."
        )
    key = trusted.get(envelope["key"])
    if key is None:
        raise ParameterError(
            f"a {kind} must be signed by a key that is trusted, got one of {envelope['key']!r:.40}; add its .pub file "
            "if you know whose it is."
        )
    raw = _bytes(context, envelope["payload"])
    try:
        key.verify(unbase64url(envelope["signature"]), raw)
    except (InvalidSignature, ValueError):
        raise SignatureError(
            f"a {kind} must have the signature of its text, got one that does not fit; fetch it again."
        ) from None
    try:
        found = parse_json(envelope["payload"], _PAYLOAD, f"a {kind}")
    except NotJSONError as error:
        raise ParameterError(
            f"the payload of a {kind} must be JSON, got something else ({error}); {_PAYLOAD.advice}."
        ) from None
    if not isinstance(found, dict):
        raise ParameterError(f"the payload of a {kind} must be a mapping, got {type(found).__name__}; fetch it again.")
    return found


def read(path: str | os.PathLike[str]) -> Any:
    """The envelope in a file, not verified yet."""
    return read_json(path, _FILE)


def save(path: str | os.PathLike[str], envelope: Mapping[str, Any]) -> None:
    """Write the file of an envelope."""
    write_whole(path, json.dumps(envelope, ensure_ascii=False) + "\n", name="document")


def _bytes(context: str, text: str) -> bytes:
    if context not in CONTEXTS:
        raise ParameterError(f"context must be one of {', '.join(CONTEXTS)}, got {context!r:.40}; correct it.")
    try:
        raw = text.encode("utf-8")
    except UnicodeEncodeError:
        raise ParameterError(
            "a signed text must be valid Unicode, got half of a surrogate pair; fetch it again."
        ) from None
    if len(raw) > MOST_BYTES:
        raise ParameterError(
            f"a signed document must have at most {MOST_BYTES:,} bytes, got {len(raw):,}; list fewer labels or options."
        )
    return context.encode("ascii") + b"\n" + raw
