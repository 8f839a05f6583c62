"""Oblivious HTTP (RFC 9458): a request sealed to a gateway's key, and the answer sealed to whoever sent it.

One suite: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM.  HPKE is pyhpke's, on the primitives of cryptography:
the answer needs the exporter of the context, which the single-shot HPKE of cryptography does not have.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from .._support.optional import require
from ..errors import ParameterError, ShuffleDPError

KEYS, REQUEST, RESPONSE = "application/ohttp-keys", "message/ohttp-req", "message/ohttp-res"
_KEM, _KDF, _AEAD = 0x0020, 0x0001, 0x0001
_SUITE = _KDF.to_bytes(2) + _AEAD.to_bytes(2)
_NONCE = 16  # max(Nn, Nk) of AES-128-GCM, also the length of the exported secret


class UnknownKeyError(ShuffleDPError):
    """The request is for a key that this gateway does not have, or has no more."""


@dataclass(frozen=True)
class KeyConfig:
    """What a client needs of a gateway: the key's number in one byte, and its public key."""

    id: int
    public: bytes

    def encode(self) -> bytes:
        """One entry of ``application/ohttp-keys``, without its length."""
        return bytes([self.id]) + _KEM.to_bytes(2) + self.public + len(_SUITE).to_bytes(2) + _SUITE


def encode_configs(configs: list[KeyConfig]) -> bytes:
    """The list as ``application/ohttp-keys``: each with its length in two bytes before it.

    Examples
    --------
    >>> decode_configs(encode_configs([KeyConfig(7, bytes(32))]))[0].id
    7
    """
    return b"".join(len(raw := config.encode()).to_bytes(2) + raw for config in configs)


def decode_configs(raw: bytes) -> list[KeyConfig]:
    """Those entries that are for our suite, in their order; the first is to be used."""
    found, at = [], 0
    while at < len(raw):
        size = int.from_bytes(raw[at : at + 2])
        entry = raw[at + 2 : at + 2 + size]
        at += 2 + size
        if at > len(raw) or size < 3:
            _refuse_keys()
        if int.from_bytes(entry[1:3]) != _KEM:
            continue  # another KEM, of another length
        if size < 37 or size != 37 + int.from_bytes(entry[35:37]):
            _refuse_keys()
        if any(entry[i : i + 4] == _SUITE for i in range(37, size, 4)):
            found.append(KeyConfig(entry[0], entry[3:35]))
    if not found:
        _refuse_keys()
    return found


@dataclass(frozen=True)
class Exchange:
    """What both sides of one request share: the context whose exporter makes the keys of the answer."""

    enc: bytes
    _context: Any

    def _cipher(self, nonce: bytes) -> tuple[AESGCM, bytes]:
        secret = self._context.export(b"message/bhttp response", _NONCE)
        key, iv = (HKDF(SHA256(), n, self.enc + nonce, of).derive(secret) for n, of in ((16, b"key"), (12, b"nonce")))
        return AESGCM(key), iv

    def seal_answer(self, answer: bytes, nonce: bytes | None = None) -> bytes:
        """The encapsulated response (section 4.4); the nonce is random except in tests."""
        nonce = os.urandom(_NONCE) if nonce is None else nonce
        cipher, iv = self._cipher(nonce)
        return nonce + cipher.encrypt(iv, answer, b"")

    def open_answer(self, raw: bytes) -> bytes:
        """What :meth:`seal_answer` sealed, on the other side."""
        if len(raw) < _NONCE + 16:
            _refuse_message()
        cipher, iv = self._cipher(raw[:_NONCE])
        try:
            return cipher.decrypt(iv, raw[_NONCE:], b"")
        except InvalidTag:
            _refuse_message()


def encapsulate(
    config: KeyConfig, request: bytes, *, ephemeral: X25519PrivateKey | None = None
) -> tuple[bytes, Exchange]:
    """A request sealed for a gateway (section 4.3), and what opens the answer; ``ephemeral`` is for test vectors.

    Examples
    --------
    >>> from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
    >>> key = X25519PrivateKey.generate()
    >>> sealed, mine = encapsulate(KeyConfig(1, key.public_key().public_bytes_raw()), b"question")
    >>> number, question, yours = decapsulate(sealed, {1: private_key(key)})
    >>> question, mine.open_answer(yours.seal_answer(b"answer"))
    (b'question', b'answer')
    """
    hpke = _hpke()
    header = bytes([config.id]) + _KEM.to_bytes(2) + _SUITE
    public = hpke.KEMKey.from_pyca_cryptography_key(X25519PublicKey.from_public_bytes(config.public))
    own = None
    if ephemeral is not None:
        own = hpke.KEMKeyPair(private_key(ephemeral), hpke.KEMKey.from_pyca_cryptography_key(ephemeral.public_key()))
    enc, context = _suite().create_sender_context(public, _info(header), eks=own)
    return header + enc + context.seal(request), Exchange(enc, context)


def decapsulate(raw: bytes, keys: Mapping[int, Any]) -> tuple[int, bytes, Exchange]:
    """The key's id, the request and what seals the answer, with the private keys by their ids."""
    if len(raw) < 7 + 32 + 16:
        _refuse_message()
    header, enc = raw[:7], raw[7:39]
    key = keys.get(header[0])
    if key is None or header[1:] != _KEM.to_bytes(2) + _SUITE:
        raise UnknownKeyError("the request must be sealed to a current key, got another; fetch /ohttp-keys again.")
    try:
        context = _suite().create_recipient_context(enc, key, _info(header))
        return header[0], context.open(raw[39:]), Exchange(enc, context)
    except Exception:  # whatever pyhpke says of a message that was altered
        _refuse_message()


def private_key(key: X25519PrivateKey) -> Any:
    """A private key in the form that :func:`decapsulate` takes, to be made once."""
    return _hpke().KEMKey.from_pyca_cryptography_key(key)


def _info(header: bytes) -> bytes:
    return b"message/bhttp request\0" + header


def _hpke() -> Any:
    return require("pyhpke", extra="shuffler", purpose="Oblivious HTTP")


@cache
def _suite() -> Any:
    hpke = _hpke()
    return hpke.CipherSuite.new(hpke.KEMId.DHKEM_X25519_HKDF_SHA256, hpke.KDFId.HKDF_SHA256, hpke.AEADId.AES128_GCM)


def _refuse_keys() -> NoReturn:
    raise ParameterError(
        "the gateway's keys must be application/ohttp-keys with X25519, HKDF-SHA256 and AES-128-GCM, got other bytes; "
        "check the address of the gateway."
    )


def _refuse_message() -> NoReturn:
    raise ParameterError(
        "the message must be sealed as Oblivious HTTP (RFC 9458), got other or altered bytes; seal it again."
    )
