"""A batch: the messages that were shuffled together, and a header that says of which plan.

The file is a line that names the format, a line of JSON (the header), then the messages, one after the other.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .._support.files import writing_whole
from .._support.reading import Kind, mapping, parse_json
from ..errors import ParameterError
from ..mechanisms.codecs import Codec
from .messages import from_bytes, message_length, to_bytes
from .plan import Plan

BATCH = Kind("a batch", 2**40, "shuffle the reports again", "batch")
MAGIC = b"shuffledp batch 1\n"
_KEYS = ("plan", "id", "users", "messages", "bytes", "for_release")
_MOST_HEADER = 4096
_HEX = re.compile(r"[0-9a-f]{32}")


def new_id() -> str:
    """A fresh name for a batch: 128 random bits."""
    return secrets.token_hex(16)


@dataclass(frozen=True)
class Header:
    """What is said about a batch: never about one of its messages."""

    plan: str
    users: int
    messages: int
    bytes: int
    for_release: bool | None
    id: str = field(default_factory=new_id)

    def text(self) -> str:
        """One line of JSON."""
        return json.dumps({key: getattr(self, key) for key in _KEYS})

    @classmethod
    def parse(cls, text: str, plan: Plan, shown: str) -> Header:
        """A header of this plan; anything else is refused."""
        try:
            found = mapping("header of the batch", parse_json(text, BATCH, shown), needed=_KEYS)
        except ParameterError:
            raise
        except ValueError:
            raise ParameterError(f"a batch must start with its header, got something else in {shown}.") from None
        numbers = [found[key] for key in ("users", "messages", "bytes")]
        known = found["for_release"] is None or isinstance(found["for_release"], bool)
        if not all(type(x) is int and 0 <= x <= 10**15 for x in numbers) or not known:
            raise ParameterError(f"header of the batch must hold whole numbers, got others in {shown}; shuffle again.")
        if not isinstance(found["id"], str) or not _HEX.fullmatch(found["id"]):
            raise ParameterError(f"id of a batch must be 32 hexadecimal digits, got {found['id']!r:.40} in {shown}.")
        if found["plan"] != plan.digest:
            raise ParameterError(
                f"batch must be of this plan ({plan.digest[:12]}...), got one of another "
                f"({str(found['plan'])[:12]}...) in {shown}; use the plan that its clients had."
            )
        size = message_length(plan.query.randomizer.codec)
        if found["bytes"] != size:
            raise ParameterError(f"messages of this plan have {size} bytes, got {found['bytes']} in {shown}.")
        return cls(**found)


@dataclass(frozen=True, eq=False)
class Batch:
    """Messages in a uniformly random order, of so many users.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> fruit = sdp.queries.Histogram(column="fruit", labels=["apple", "pear"], mechanism="grr:eps0=2")
    >>> plan = sdp.Plan(query=fruit, users=4, delta=1e-6)
    >>> shuffler = sdp.Shuffler(plan)
    >>> for value in ("pear", "apple", "pear", None):
    ...     shuffler.add(sdp.Client(plan).report(value))
    >>> batch = shuffler.batch()
    >>> batch.header.users, len(batch.data)
    (4, 4)
    """

    header: Header
    data: NDArray[Any]

    def write(self, path: str | os.PathLike[str], codec: Codec) -> None:
        """Write the file, whole or not at all."""
        write_batch(path, self.header, [to_bytes(codec, self.data).tobytes()])

    @classmethod
    def read(cls, path: str | os.PathLike[str], plan: Plan) -> Batch:
        """Read a file of this plan; one that was cut off is refused."""
        shown = repr(os.fspath(path))
        try:
            with open(path, "rb") as stream:
                header = read_header(stream, plan, shown)
                raw = stream.read(header.messages * header.bytes + 1)
        except OSError as error:
            raise ParameterError(f"batch must be a readable file, got {shown} ({error.strerror}); check it.") from None
        if len(raw) != header.messages * header.bytes:
            raise ParameterError(
                f"batch must hold {header.messages:,} messages of {header.bytes} bytes, got "
                f"{'more' if len(raw) > header.messages * header.bytes else 'fewer'} in {shown}; copy it again."
            )
        return cls(header, from_bytes(plan.query.randomizer.codec, raw))


def read_header(stream: BinaryIO, plan: Plan, shown: str) -> Header:
    """The header at the start of a file."""
    if stream.read(len(MAGIC)) != MAGIC:
        raise ParameterError(f"batch must be a file that a shuffler wrote, got something else in {shown}.")
    line = stream.readline(_MOST_HEADER + 1)
    if not line.endswith(b"\n") or len(line) > _MOST_HEADER:
        raise ParameterError(f"batch must start with its header, got something else in {shown}; copy it again.")
    return Header.parse(line.decode("utf-8", "replace"), plan, shown)


def write_batch(path: str | os.PathLike[str], header: Header, parts: Iterable[bytes]) -> None:
    """Write header and messages, part after part, under a private name first."""
    with writing_whole(path, name="batch") as stream:
        stream.write(MAGIC + header.text().encode("utf-8") + b"\n")
        for part in parts:
            stream.write(part)


def as_tally(plan: Plan, data: NDArray[Any], header: Header) -> Any:
    """The sums over a batch; a message that no client could have sent is refused."""
    reports = header.users * plan.reports_per_user
    if not len(data):
        raise ParameterError("a batch must hold at least one message, got none; collect some first.")
    wanted = wrong_number(plan, len(data), users=header.users)
    if wanted:
        raise ParameterError(
            f"a batch of {header.users:,} users must hold {wanted} messages, got {len(data):,}; shuffle again."
        )
    return plan.query.randomizer.tally(np.asarray(data), users=reports, for_release=header.for_release)


def wrong_number(plan: Plan, messages: int, *, users: int) -> str:
    """Nothing if so many users can have sent so many messages; else how many they send, in words."""
    fewest, most = plan.query.randomizer.message_limits
    reports = users * plan.reports_per_user
    low, high = reports * fewest, None if most is None else reports * most
    if low <= messages and (high is None or messages <= high):
        return ""
    if high is None:
        return f"{low:,} or more"
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
