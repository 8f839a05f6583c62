"""Oblivious HTTP (RFC 9458): a request sealed to a gateway's key, and the answer sealed to whoever sent it.

One suite: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM.  HPKE is pyhpke's, on the primitives of cryptography:
the answer needs the exporter of the context, which the single-shot HPKE of cryptography does not have.  Requests and
answers are binary HTTP (RFC 9292); both framings are read, the known-length one is written.

The gateway's keys are in one file that only its owner reads and that is replaced in one step.  A key goes through four
states, one step at every rotation, so that each has an interval of overlap on both sides:

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
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from .._support.files import write_whole
from .._support.locking import alone_with
from .._support.optional import require
from ..errors import ParameterError, ShuffleDPError
from .keys import base64url, unbase64url

KEYS, REQUEST, RESPONSE = "application/ohttp-keys", "message/ohttp-req", "message/ohttp-res"
_KEM, _KDF, _AEAD = 0x0020, 0x0001, 0x0001
_SUITE = _KDF.to_bytes(2) + _AEAD.to_bytes(2)
_NONCE = 16  # max(Nn, Nk) of AES-128-GCM, also the length of the exported secret


class UnknownKeyError(ShuffleDPError):
    """The request is for a key that this gateway does not have, or has no more."""


@dataclass(frozen=True)
class KeyConfig:
    """A public key of the gateway, and its number in one byte."""

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
    """Return the entries of our suite, in their order; the first is to be used."""
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
    """The HPKE context of one request, from which both sides derive the key of the answer."""

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
        """Open what :meth:`seal_answer` sealed."""
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


# -- binary HTTP -------------------------------------------------------------------------------------------------------


#: Field lines, interim responses and pieces of a message; one with many is an attempt to make us work.
_MOST_FIELDS, _MOST_PIECES = 64, 4096
Fields = tuple[tuple[bytes, bytes], ...]


class BinaryRequest(NamedTuple):
    """A request: control data, header fields in lower case, content."""

    method: str
    path: str
    scheme: str = "https"
    authority: str = ""
    fields: Fields = ()
    content: bytes = b""
    trailers: Fields = ()

    def encode(self) -> bytes:
        """The request with known lengths; parts that are empty at the end are left out.

        Examples
        --------
        >>> BinaryRequest(method="GET", authority="example.com", path="/").encode().hex()
        '00034745540568747470730b6578616d706c652e636f6d012f'
        """
        control = (part.encode("latin-1") for part in (self.method, self.scheme, self.authority, self.path))
        return b"\0" + b"".join(map(_sized, control)) + _tail(self.fields, self.content, self.trailers)


class BinaryResponse(NamedTuple):
    """A final response; interim ones are skipped when a message is read."""

    status: int
    fields: Fields = ()
    content: bytes = b""
    trailers: Fields = ()

    def encode(self) -> bytes:
        """The response with known lengths.

        Examples
        --------
        >>> BinaryResponse(status=200).encode().hex()
        '0140c8'
        """
        return b"\1" + varint(self.status) + _tail(self.fields, self.content, self.trailers)


def decode_message(raw: bytes) -> BinaryRequest | BinaryResponse:
    """The message that these bytes are, or an error: nothing about an invalid one is guessed (RFC 9292, section 4).

    Examples
    --------
    >>> decode_message(bytes.fromhex("0140c8")).status
    200
    """
    reader = _Reader(raw)
    framing = reader.number()
    if framing > 3:
        _refuse_binary()
    known = framing < 2
    if framing in (0, 2):
        method, scheme, authority, path = (_text(reader.sized()) for _ in range(4))
        return BinaryRequest(method, path, scheme, authority, *reader.rest(known))
    for _ in range(_MOST_FIELDS):
        status = reader.number()
        if not 100 <= status <= 599:
            _refuse_binary()
        if status >= 200:
            return BinaryResponse(status, *reader.rest(known))
        reader.fields(known)
    _refuse_binary()


class _Reader:
    def __init__(self, raw: bytes) -> None:
        self._raw, self._at, self._lines = raw, 0, 0

    @property
    def ended(self) -> bool:
        return self._at == len(self._raw)

    def take(self, size: int) -> bytes:
        if size > len(self._raw) - self._at:
            _refuse_binary()
        self._at += size
        return self._raw[self._at - size : self._at]

    def number(self) -> int:
        """An integer of variable length (RFC 9000, section 16)."""
        first = self.take(1)
        if (size := 1 << (first[0] >> 6)) == 1:
            return first[0]
        return int.from_bytes(first + self.take(size - 1)) & ((1 << (8 * size - 2)) - 1)

    def sized(self) -> bytes:
        at = self._at + 1
        size = self._raw[at - 1] if at <= len(self._raw) else 0
        if not 0 < size < 64 or at + size > len(self._raw):  # rare: one of many bytes, empty, or cut off
            return self.take(self.number())
        self._at = at + size
        return self._raw[at : at + size]

    def fields(self, known: bool) -> Fields:
        """A field section; one that is cut off at its beginning is empty (section 3.8)."""
        if self.ended:
            return ()
        inner = _Reader(self.sized()) if known else self
        found: list[tuple[bytes, bytes]] = []
        while not (known and inner.ended):
            name = inner.sized()
            if not name:
                if known:
                    _refuse_binary()
                break
            if len(found) == _MOST_FIELDS or name != name.lower() or name.startswith(b":"):
                _refuse_binary()
            found.append((name, inner.sized()))
        return tuple(found)

    def content(self, known: bool) -> bytes:
        if self.ended:
            return b""
        if known:
            return self.sized()
        chunks = []
        while chunk := self.sized():
            chunks.append(chunk)
            if len(chunks) > _MOST_PIECES:
                _refuse_binary()
        return b"".join(chunks)

    def rest(self, known: bool) -> tuple[Fields, bytes, Fields]:
        """Header fields, content and trailers; what follows must be padding."""
        parts = self.fields(known), self.content(known), self.fields(known)
        if self._raw.count(0, self._at) != len(self._raw) - self._at:
            _refuse_binary()
        return parts


def varint(number: int) -> bytes:
    """An integer below 2^62 in one, two, four or eight bytes (RFC 9000, section 16).

    Examples
    --------
    >>> varint(37).hex(), varint(15293).hex()
    ('25', '7bbd')
    """
    for power in range(4):
        size = 1 << power
        if number < 1 << (8 * size - 2):
            return (number | power << (8 * size - 2)).to_bytes(size)
    raise ParameterError(f"an integer of variable length must be below 2^62, got {number}; split the message.")


def _sized(raw: bytes) -> bytes:
    return varint(len(raw)) + raw


def _tail(fields: Fields, content: bytes, trailers: Fields) -> bytes:
    parts = [b"".join(_sized(name) + _sized(value) for name, value in some) for some in (fields, trailers)]
    whole = [parts[0], content, parts[1]]
    while whole and not whole[-1]:
        whole.pop()
    return b"".join(map(_sized, whole))


def _text(raw: bytes) -> str:
    if not raw.isascii():
        _refuse_binary()
    return raw.decode("ascii")


def _refuse_binary() -> NoReturn:
    raise ParameterError("the message must be binary HTTP (RFC 9292), got other bytes; encode it again.")


# -- the keys of the gateway -------------------------------------------------------------------------------------------


_STATES = ("pending", "active", "retired", "erased")
#: Erased keys that stay in the list, so that ``status`` shows them; their numbers are never used again.
_REMEMBERED = 16


@dataclass(frozen=True)
class GatewayKey:
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
        """The number in a request: one byte."""
        return self.number % 256


@dataclass(frozen=True)
class GatewayKeys:
    """The keys of a shuffler at one time.

    Examples
    --------
    >>> keys = GatewayKeys.fresh()
    >>> [(key.number, key.state) for key in keys.rotated().keys]
    [(1, 'retired'), (2, 'active'), (3, 'pending')]
    """

    keys: tuple[GatewayKey, ...]

    @classmethod
    def fresh(cls) -> GatewayKeys:
        """An active key and the one that follows it."""
        return cls((_made(1, "active"), _made(2, "pending")))

    @classmethod
    def load(cls, path: Path) -> GatewayKeys:
        """The keys of a file."""
        try:
            listed = json.loads(path.read_text("utf-8"))["ohttp"]
            keys = tuple(GatewayKey(int(k["number"]), k["state"], unbase64url(k.get("private", ""))) for k in listed)
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

    def rotated(self) -> GatewayKeys:
        """Every key one state further, and a new pending one."""
        moved = [
            GatewayKey(k.number, state, b"" if state == "erased" else k.private)
            for k in self.keys
            for state in [_STATES[min(_STATES.index(k.state) + 1, 3)]]
        ]
        erased = [k for k in moved if k.state == "erased"]
        kept = [k for k in moved if k not in erased[:-_REMEMBERED]]
        return GatewayKeys((*kept, _made(max(k.number for k in moved) + 1, "pending")))

    @cached_property
    def accepted(self) -> Mapping[int, GatewayKey]:
        """All keys that are not erased, by id."""
        return {k.id: k for k in self.keys if k.private}

    @cached_property
    def opening(self) -> Mapping[int, Any]:
        """Private keys in the form that :func:`decapsulate` takes."""
        return {id: private_key(X25519PrivateKey.from_private_bytes(k.private)) for id, k in self.accepted.items()}

    @cached_property
    def handed_out(self) -> bytes:
        """``application/ohttp-keys``: the active key."""
        return encode_configs([KeyConfig(k.id, k.public) for k in self.keys if k.state == "active"])


def rotate(path: Path) -> GatewayKeys:
    """Rotate the keys in a file; two who do so at once rotate twice, one after the other."""
    GatewayKeys.load(path)  # which says it if there are none
    with alone_with(path):
        new = GatewayKeys.load(path).rotated()
        new.save(path)
    return new


def _made(number: int, state: str) -> GatewayKey:
    return GatewayKey(number, state, X25519PrivateKey.generate().private_bytes_raw())
