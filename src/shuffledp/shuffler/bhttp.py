"""Binary HTTP (RFC 9292): one request or response as bytes; both framings are read, the known-length one is written."""

from __future__ import annotations

from typing import NamedTuple, NoReturn

from ..errors import ParameterError

#: Field lines, interim responses and pieces of a message; one with many is an attempt to make us work.
_MOST_FIELDS, _MOST_PIECES = 64, 4096
Fields = tuple[tuple[bytes, bytes], ...]


class Request(NamedTuple):
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
        >>> Request(method="GET", authority="example.com", path="/").encode().hex()
        '00034745540568747470730b6578616d706c652e636f6d012f'
        """
        control = (part.encode("latin-1") for part in (self.method, self.scheme, self.authority, self.path))
        return b"\0" + b"".join(map(_sized, control)) + _tail(self.fields, self.content, self.trailers)


class Response(NamedTuple):
    """A final response; interim ones are skipped when a message is read."""

    status: int
    fields: Fields = ()
    content: bytes = b""
    trailers: Fields = ()

    def encode(self) -> bytes:
        """The response with known lengths.

        Examples
        --------
        >>> Response(status=200).encode().hex()
        '0140c8'
        """
        return b"\1" + varint(self.status) + _tail(self.fields, self.content, self.trailers)


def decode(raw: bytes) -> Request | Response:
    """The message that these bytes are, or an error: nothing about an invalid one is guessed (RFC 9292, section 4).

    Examples
    --------
    >>> decode(bytes.fromhex("0140c8")).status
    200
    """
    reader = _Reader(raw)
    framing = reader.number()
    if framing > 3:
        _refuse()
    known = framing < 2
    if framing in (0, 2):
        method, scheme, authority, path = (_text(reader.sized()) for _ in range(4))
        return Request(method, path, scheme, authority, *reader.rest(known))
    for _ in range(_MOST_FIELDS):
        status = reader.number()
        if not 100 <= status <= 599:
            _refuse()
        if status >= 200:
            return Response(status, *reader.rest(known))
        reader.fields(known)
    _refuse()


class _Reader:
    def __init__(self, raw: bytes) -> None:
        self._raw, self._at, self._lines = raw, 0, 0

    @property
    def ended(self) -> bool:
        return self._at == len(self._raw)

    def take(self, size: int) -> bytes:
        if size > len(self._raw) - self._at:
            _refuse()
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
                    _refuse()
                break
            if len(found) == _MOST_FIELDS or name != name.lower() or name.startswith(b":"):
                _refuse()
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
                _refuse()
        return b"".join(chunks)

    def rest(self, known: bool) -> tuple[Fields, bytes, Fields]:
        """Header fields, content and trailers; what follows must be padding."""
        parts = self.fields(known), self.content(known), self.fields(known)
        if self._raw.count(0, self._at) != len(self._raw) - self._at:
            _refuse()
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
        _refuse()
    return raw.decode("ascii")


def _refuse() -> NoReturn:
    raise ParameterError("the message must be binary HTTP (RFC 9292), got other bytes; encode it again.")
