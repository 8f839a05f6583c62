"""Signed documents: a JSON text, who signed it (Ed25519), and the signature over what kind of document it is.

The signature is over the bytes of the text as it travels, so that nothing has to be written again in the same way to
verify it, over a *context*, so that a document of one kind is none of another, and over the name of the key, so that
two signers never have one document.  SHA-256 of these bytes is the *digest* of a document, which names it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from hashlib import sha256
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
_KEY = re.compile("[0-9a-f]{16}")


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
    made = {"payload": text, "key": identity(key.public_key()), "signature": ""}
    return made | {"signature": base64url(key.sign(_signed_bytes(context, made)))}


def open_(context: str, envelope: object, trusted: Mapping[str, Ed25519PublicKey]) -> dict[str, Any]:
    """Return the payload of a document of this context that one of the trusted keys signed; refuse anything else."""
    kind, raw = context.split()[1], _signed_bytes(context, envelope)
    signer, signature = envelope["key"], envelope["signature"]  # type: ignore[index]
    key = trusted.get(signer)
    if key is None:
        raise ParameterError(
            f"a {kind} must be signed by a key that is trusted, got one of {signer!r:.40}; add its .pub file "
            "if you know whose it is."
        )
    try:
        key.verify(unbase64url(signature), raw)
    except (InvalidSignature, ValueError):
        raise SignatureError(
            f"a {kind} must have the signature of its text, got one that does not fit; fetch it again."
        ) from None
    return payload_of(context, envelope)


def payload_of(context: str, envelope: object) -> dict[str, Any]:
    """Return the payload of a document whose signature or digest was verified elsewhere."""
    _signed_bytes(context, envelope)
    kind, text = context.split()[1], envelope["payload"]  # type: ignore[index]
    try:
        found = parse_json(text, _PAYLOAD, f"a {kind}")
    except NotJSONError as error:
        raise ParameterError(
            f"the payload of a {kind} must be JSON, got something else ({error}); {_PAYLOAD.advice}."
        ) from None
    if not isinstance(found, dict):
        raise ParameterError(f"the payload of a {kind} must be a mapping, got {type(found).__name__}; fetch it again.")
    return found


def digest(context: str, envelope: object) -> str:
    """Return the SHA-256 of all that is signed, in hexadecimal digits: it names the document."""
    return sha256(_signed_bytes(context, envelope)).hexdigest()


def read(path: str | os.PathLike[str]) -> Any:
    """The envelope in a file, not verified yet."""
    return read_json(path, _FILE)


def save(path: str | os.PathLike[str], envelope: Mapping[str, Any]) -> None:
    """Write the file of an envelope."""
    write_whole(path, json.dumps(envelope, ensure_ascii=False) + "\n", name="document")


def _signed_bytes(context: str, envelope: object) -> bytes:
    if context not in CONTEXTS:
        raise ParameterError(f"context must be one of {', '.join(CONTEXTS)}, got {context!r:.40}; correct it.")
    found: list[Any] = [envelope.get(field) for field in _FIELDS] if isinstance(envelope, Mapping) else [None]
    if not all(isinstance(text, str) for text in found) or not _KEY.fullmatch(found[1]):
        raise ParameterError(
            f"a {context.split()[1]} must be a signed document with {', '.join(_FIELDS)}, got another; fetch it again."
        )
    try:
        raw = f"{context}\n{found[1]}\n{found[0]}".encode()
    except UnicodeEncodeError:
        raise ParameterError(
            "a signed text must be valid Unicode, got half of a surrogate pair; fetch it again."
        ) from None
    if len(raw) > MOST_BYTES:
        raise ParameterError(
            f"a signed document must have at most {MOST_BYTES:,} bytes, got {len(raw):,}; list fewer labels or options."
        )
    return raw
