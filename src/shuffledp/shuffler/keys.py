"""Key files: private keys as PKCS8 PEM that only their owner can read, public ones as a line ``ed25519 <base64url>``.

Ed25519 keys sign (publishers, shufflers and analysts), X25519 keys open what was sealed to an analyst.  The shuffler's
keys for Oblivious HTTP, which rotate, are in oblivious_http.py.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from .._support.files import not_writable, write_new, write_whole
from .._support.reading import Kind, read_text
from ..errors import ParameterError

Private = Ed25519PrivateKey | X25519PrivateKey
Public = Ed25519PublicKey | X25519PublicKey

_PUBLIC = Kind("a public key", 2**12, "copy the .pub file again", "key")
_PRIVATE = Kind("a private key", 2**14, "restore it, or make a new one", "key")
#: What a key is for -> its kind.
_KINDS: dict[str, Any] = {"signing": Ed25519PrivateKey, "sealing": X25519PrivateKey}
_WORDS: dict[str, Any] = {"ed25519": Ed25519PublicKey, "x25519": X25519PublicKey}


def base64url(raw: bytes) -> str:
    """Without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def unbase64url(text: object) -> bytes:
    """The bytes of a text that :func:`base64url` wrote; ValueError for any other spelling of them.

    >>> unbase64url(base64url(b"any bytes"))
    b'any bytes'
    """
    if not isinstance(text, str):
        raise ValueError("not a text")
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
    if base64url(raw) != text:
        raise ValueError("another spelling of the same bytes")
    return raw


def identity(key: Public) -> str:
    """The first 16 hexadecimal digits of SHA-256 of the public key: how documents name who signed them."""
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()[:16]


def line(key: Public) -> str:
    """The content of a .pub file.

    Examples
    --------
    >>> line(Ed25519PublicKey.from_public_bytes(bytes(32))).split()[0]
    'ed25519'
    """
    word = "ed25519" if isinstance(key, Ed25519PublicKey) else "x25519"
    return f"{word} {base64url(key.public_bytes_raw())}\n"


def generate(folder: str | os.PathLike[str], name: str) -> Path:
    """Make a key pair ("signing" or "sealing"): name.key (0600) and name.pub; one that exists is not replaced."""
    if name not in _KINDS:
        raise ParameterError(f"name must be signing or sealing, got {name!r:.40}; choose one of them.")
    made: Private = _KINDS[name].generate()
    path = Path(folder) / f"{name}.key"
    public_path = path.with_suffix(".pub")
    if path.exists() and not public_path.exists():  # an earlier call was interrupted
        made = _private(path, name)
    else:
        raw = made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_new(path, raw)
        except OSError as error:
            if isinstance(error, FileExistsError) and os.path.lexists(path):
                raise ParameterError(f"key must be a new file, got {str(path)!r}; move that one away first.") from None
            raise not_writable("key", path, error) from None
    write_whole(public_path, line(made.public_key()), name="key")
    return path


def _private(path: str | os.PathLike[str], name: str) -> Any:
    text = read_text(path, _PRIVATE)
    if os.name == "posix" and os.stat(path).st_mode & 0o077:
        raise ParameterError(f"key must be readable by its owner alone, got {os.fspath(path)!r}; chmod 600 it.")
    try:
        found = load_pem_private_key(text.encode(), password=None)
    except (ValueError, TypeError):
        found = None
    if not isinstance(found, _KINDS[name]):
        raise ParameterError(f"key must be a private key for {name}, got another file in {os.fspath(path)!r}; name it.")
    return found


def signing(path: str | os.PathLike[str]) -> Ed25519PrivateKey:
    """The private key of a file signing.key."""
    key: Ed25519PrivateKey = _private(path, "signing")
    return key


def sealing(path: str | os.PathLike[str]) -> X25519PrivateKey:
    """The private key of a file sealing.key."""
    key: X25519PrivateKey = _private(path, "sealing")
    return key


def public(path: str | os.PathLike[str], word: str) -> Any:
    """The public key of a .pub file that must be of the kind ``word``: "ed25519" or "x25519"."""
    return of_line(read_text(path, _PUBLIC), word, f" in {os.fspath(path)!r}")


def of_line(text: str, word: str, where: str = "") -> Any:
    """The public key that a line holds."""
    kind, _, coded = text.strip().partition(" ")
    try:
        if kind != word:
            raise ValueError("another kind")
        return _WORDS[word].from_public_bytes(unbase64url(coded.strip()))
    except ValueError:
        raise ParameterError(
            f"a public key must be a line '{word} <base64url>', got {text[:40]!r}{where}; copy the .pub file again."
        ) from None


def trusted(
    keys: str | os.PathLike[str] | Iterable[str | os.PathLike[str] | Ed25519PublicKey],
) -> Mapping[str, Ed25519PublicKey]:
    """Ed25519 keys by their ids: of all .pub files of a folder, or of a list of such files, lines or keys."""
    if isinstance(keys, str | os.PathLike):
        folder = Path(keys)
        keys = sorted(folder.glob("*.pub")) if folder.is_dir() else [folder]
    found = {}
    for entry in keys:
        if isinstance(entry, str) and entry.startswith("ed25519 "):
            entry = of_line(entry, "ed25519")
        key = entry if isinstance(entry, Ed25519PublicKey) else public(entry, "ed25519")
        found[identity(key)] = key
    return found
