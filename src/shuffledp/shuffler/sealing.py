"""The inner layer: every message sealed on its own to the analyst, and the body that carries the reports of clients.

A sealed message is HPKE in base mode (RFC 9180; DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM) under the info
``publication digest | period``: what was sealed for one publication and period opens for no other.  The plaintext is
one byte, 1 for a message and 0 for a blank, and as many bytes as every message of the plan has, so that all look alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import NamedTuple, NoReturn

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from ..errors import ParameterError

MEDIA_TYPE = "application/vnd.shuffledp.reports"
#: What a sealed message is longer than its message: encapsulated key, the byte that tells blanks, tag.
OVERHEAD = 32 + 1 + 16
ID_BYTES = 16
MOST_BYTES = 1 << 20
_MAGIC = b"SDR1"
HEADER_BYTES = len(_MAGIC) + 32 + 8 + 2


@cache
def _suite() -> Suite:
    return Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)


def seal(message: bytes | None, *, size: int, public: X25519PublicKey, digest: bytes, period: int) -> bytes:
    """A message of ``size`` bytes, or a blank (None), sealed for one plan and period: ``size + 49`` bytes.

    Examples
    --------
    >>> from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
    >>> analyst, plan = X25519PrivateKey.generate(), bytes(32)
    >>> sealed = [seal(m, size=2, public=analyst.public_key(), digest=plan, period=3) for m in (b"hi", None)]
    >>> [len(one) for one in sealed], [unseal(one, private=analyst, digest=plan, period=3) for one in sealed]
    ([51, 51], [b'hi', None])
    """
    if message is not None and len(message) != size:
        raise ParameterError(f"a message of this plan must have {size} bytes, got {len(message)}; check the plan.")
    plain = b"\0" + bytes(size) if message is None else b"\1" + message
    return _suite().encrypt(plain, public, info=_info(digest, period))


def unseal(sealed: bytes, *, private: X25519PrivateKey, digest: bytes, period: int) -> bytes | None:
    """The message, or None for a blank; an error for what was altered or sealed to another key, plan or period."""
    try:
        plain = _suite().decrypt(sealed, private, info=_info(digest, period))
    except (InvalidTag, ValueError):
        plain = b""
    if plain[:1] == b"\1":
        return plain[1:]
    if plain[:1] != b"\0" or plain.count(0) != len(plain):
        raise ParameterError(
            "a sealed message must open with the analyst's key for this plan and period, got one that does not; it was "
            "altered or is for another."
        )
    return None


def _info(digest: bytes, period: int) -> bytes:
    return digest + period.to_bytes(8)


class Report(NamedTuple):
    """The report of one client: an id that stays the same when it is sent again, and all its sealed slots."""

    id: bytes
    sealed: bytes


def pack(digest: bytes, period: int, reports: Sequence[Report]) -> bytes:
    """Reports of one plan and period as a request body.

    Examples
    --------
    >>> body = pack(bytes(32), 3, [Report(bytes(16), bytes(50))])
    >>> read_header(body)[1:], unpack(body, report_bytes=50)[0].id == bytes(16)
    ((3, 1), True)
    """
    return b"".join([_MAGIC, digest, period.to_bytes(8), len(reports).to_bytes(2), *chain(*reports)])


def read_header(raw: bytes) -> tuple[bytes, int, int]:
    """Return digest of the publication, period and number of reports of a body."""
    if len(raw) < HEADER_BYTES or raw[:4] != _MAGIC:
        _refuse()
    return raw[4:36], int.from_bytes(raw[36:44]), int.from_bytes(raw[44:46])


def unpack(raw: bytes, *, report_bytes: int) -> list[Report]:
    """The reports of a body, where those of the plan have ``report_bytes`` bytes beside their id."""
    step = ID_BYTES + report_bytes
    count = read_header(raw)[2]
    if not count or len(raw) != HEADER_BYTES + count * step:
        _refuse()
    return [
        Report(raw[at : at + ID_BYTES], raw[at + ID_BYTES : at + step]) for at in range(HEADER_BYTES, len(raw), step)
    ]


def _refuse() -> NoReturn:
    raise ParameterError(
        f"the body must be {MEDIA_TYPE} of the size that the plan states, got another; check the plan."
    )
