"""A batch: the messages that were shuffled together, and a header that says of which plan.

The file is a line that names the format and its version, a line of JSON (the header), the messages, one after the
other, and the SHA-256 of all these bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .._support import validation as check
from .._support.files import writing_whole
from .._support.reading import Kind, NotJSONError, contained, mapping, opened, parse_json
from ..errors import ParameterError
from ..mechanisms.codecs import Codec
from .messages import from_bytes, message_length, to_bytes
from .plan import Plan

BATCH = Kind("a batch", 2**40, "shuffle the reports again", "batch")
#: The first line of a file.
MAGIC = b"shuffledp batch 3\n"
#: Where the metadata of an Arrow table, or of a Parquet file, hold the header.
METADATA = MAGIC.strip()
_KEYS = ("plan", "id", "users", "messages", "bytes", "for_release", "made_from")
#: Batches that one may be made from, and bytes of the header that names them: a hostile file can ask for no more.
MOST_MADE_FROM = 100_000
_MOST_HEADER = 4096 + 36 * MOST_MADE_FROM
#: The fewest and the most messages of a report; None: any number.
Limits = tuple[int, int | None]
_HEX = re.compile(r"[0-9a-f]{32}")


def new_id() -> str:
    """A fresh name for a batch: 128 random bits."""
    return secrets.token_hex(16)


def is_id(found: object) -> bool:
    """Whether this can be the name of a batch."""
    return isinstance(found, str) and _HEX.fullmatch(found) is not None


def refuse_twice(ids: Iterable[str], known: Container[str], verb: str) -> None:
    """Refuse a batch (its id, and those it was made from) that has users in common with those that are known."""
    first, *inside = ids
    if first in known:
        got = f"{first} again, perhaps as a copy or as a part of another"
    else:
        twice = next((name for name in inside if name in known), None)
        if twice is None:
            return
        got = f"{first}, which was made from {twice}, and users of that are in another"
    raise ParameterError(
        f"a batch must be {verb} once, got {got}; its users would count twice, so leave one of them out."
    )


def refuse_other_plan(plan: Plan, digest: object, where: str = "") -> None:
    """Raise if a batch is not of this plan."""
    if digest != plan.digest:
        raise ParameterError(
            f"batch must be of this plan ({plan.digest[:12]}...), got one of another ({str(digest)[:12]}...){where}; "
            "use the plan that its clients had."
        )


def _wrong(must: str, shown: str, got: object = "something else", do: str = "shuffle again") -> ParameterError:
    """The error for a file whose content is not what it must be."""
    return ParameterError(f"{must}, got {got} in {shown}; {do}.")


@dataclass(frozen=True)
class Header:
    """What is said about a batch: never about one of its messages.

    ``made_from`` are the ids of all batches that were merged into this one, and of those that they were made from, in
    order.  Two batches with an id in common have users in common.
    """

    plan: str
    users: int
    messages: int
    bytes: int
    for_release: bool | None
    id: str = field(default_factory=new_id)
    made_from: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """Every batch whose users are in this one, itself first."""
        return (self.id, *self.made_from)

    def text(self) -> str:
        """One line of JSON."""
        return json.dumps({key: getattr(self, key) for key in _KEYS})

    @classmethod
    def among(cls, entries: Mapping[Any, Any], plan: Plan, shown: str) -> Header | None:
        """The header in the metadata of an Arrow table or of a Parquet file; None if there is none."""
        text = entries.get(METADATA)
        return None if text is None else cls.parse(text.decode("utf-8", "replace"), plan, shown)

    @classmethod
    def parse(cls, text: str, plan: Plan, shown: str) -> Header:
        """A header of this plan; anything else is refused."""
        if len(text) > _MOST_HEADER:
            raise _wrong(f"header of the batch must have {_MOST_HEADER:,} bytes at most", shown, "more")
        try:
            found = mapping("header of the batch", parse_json(text, BATCH, shown), needed=_KEYS)
        except NotJSONError:
            raise _wrong("a batch must start with its header", shown, do="copy it again") from None
        numbers = [found[key] for key in ("users", "messages", "bytes")]
        known = found["for_release"] is None or isinstance(found["for_release"], bool)
        if not all(type(x) is int and 0 <= x <= 10**15 for x in numbers) or not known:
            raise _wrong("header of the batch must hold whole numbers", shown)
        if not is_id(found["id"]):
            raise _wrong("id of a batch must be 32 hexadecimal digits", shown, f"{found['id']!r:.40}")
        inside = found["made_from"]
        if not isinstance(inside, list) or not all(map(is_id, inside)) or inside != sorted({*inside} - {found["id"]}):
            raise _wrong("made_from of a batch must be the ids of other batches in order", shown)
        found["made_from"] = tuple(inside)
        refuse_other_plan(plan, found["plan"], f" in {shown}")
        size = message_length(plan.query.randomizer.codec)
        if found["bytes"] != size:
            raise _wrong(f"messages of this plan have {size} bytes", shown, found["bytes"], "use the clients' plan")
        return cls(**found)


@dataclass(frozen=True, eq=False)
class Batch:
    """Messages in a uniformly random order, and the header that says of how many users.

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
        """Read a file of this plan; one that was cut off or changed is refused."""
        shown = repr(os.fspath(path))
        with opened(path, BATCH) as stream, contained(BATCH, os.fspath(path)):
            header = read_header(stream, plan, shown)
            start, wanted = stream.tell(), header.messages * header.bytes
            stream.seek(0)
            said = stream.read(start)
            checksum = hashlib.sha256(said)
            size = checksum.digest_size
            there = os.fstat(stream.fileno()).st_size - start - size
            raw = stream.read(wanted) if there == wanted else b""  # a header can claim any number of bytes
            stated = stream.read(size)
        if not there == wanted == len(raw):
            claim, got = f"{header.messages:,} messages of {header.bytes} bytes", "more" if there > wanted else "fewer"
            raise _wrong(f"batch must hold {claim}", shown, got, "copy it again")
        checksum.update(raw)
        if stated != checksum.digest():
            raise _wrong(
                "batch must be as it was written", shown, "other bytes than its checksum says", "copy it again"
            )
        return cls(header, from_bytes(plan.query.randomizer.codec, raw))


def read_header(stream: BinaryIO, plan: Plan, shown: str) -> Header:
    """The header at the start of a file."""
    first = stream.read(len(MAGIC))
    if first != MAGIC:
        if first.startswith(MAGIC[:-2]):
            known = "batch must be a file of the version that is known here"
            raise _wrong(known, shown, "another one", "upgrade shuffledp")
        raise _wrong("batch must be a file that a shuffler wrote", shown, do="name a file of reports")
    line = stream.readline(_MOST_HEADER + 1)
    if not line.endswith(b"\n") or len(line) > _MOST_HEADER:
        raise _wrong("batch must start with its header", shown, do="copy it again")
    return Header.parse(line.decode("utf-8", "replace"), plan, shown)


def write_batch(path: str | os.PathLike[str], header: Header, parts: Iterable[bytes | bytearray]) -> None:
    """Write header and messages, part after part, under a private name first; the name says no other format."""
    if isinstance(path, str | os.PathLike) and os.path.splitext(os.fspath(path))[1].lower() not in ("", ".batch"):
        raise ParameterError(
            f"batch must be written to a file that ends in .batch, got {os.fspath(path)!r}; choose that ending."
        )
    checksum = hashlib.sha256()
    with writing_whole(path, name="batch") as stream:
        for part in chain([MAGIC + header.text().encode("utf-8") + b"\n"], parts):
            checksum.update(part)
            stream.write(part)
        stream.write(checksum.digest())


def as_tally(plan: Plan, data: NDArray[Any], header: Header, *, limits: Limits | None = None) -> Any:
    """The sums over a batch; a message that no client could have sent is refused; limits : as in wrong_number."""
    reports = header.users * plan.reports_per_user
    refuse_number(plan, len(data), users=header.users, limits=limits)
    return plan.query.randomizer.tally(np.asarray(data), users=reports, for_release=header.for_release)


def refuse_number(plan: Plan, messages: int, *, users: int, limits: Limits | None = None) -> None:
    """Raise if these users cannot have sent this number of messages."""
    if not users:
        raise ParameterError("a batch must be of at least one user, got none; collect some first.")
    wanted = wrong_number(plan, messages, users=users, limits=limits)
    if wanted:
        raise ParameterError(
            f"a batch of {users:,} users must hold {wanted} messages, got {messages:,}; shuffle again."
        )


def stated(
    found: Header | None,
    plan: Plan,
    batch: str | None,
    users: int | None,
    made_from: tuple[str, ...] = (),
    for_release: bool | None = None,
) -> Header:
    """The header of a batch that comes without its file: what was found with it, or what the caller states.

    Where both are there they must agree.  How many messages there are is counted, not stated.
    """
    if found is None:
        if not is_id(batch) or not all(map(is_id, made_from)):
            raise ParameterError(
                f"batch must be the id in the header of the batch, 32 hexadecimal digits, got {batch!r:.60}; state it, "
                "always the same for the same batch, so that it is counted once."
            )
        size = message_length(plan.query.randomizer.codec)
        many, inside = check.users(users, "users"), tuple(sorted({*made_from} - {str(batch)}))
        return Header(plan.digest, many, 0, size, for_release, str(batch), inside)
    for name, given, known in (("batch", batch, found.id), ("users", users, found.users)):
        if given is not None and given != known:
            raise ParameterError(f"{name} must be what the header says, {known}, got {given!r:.60}; leave it out.")
    return found


def wrong_number(plan: Plan, messages: int, *, users: int, limits: Limits | None = None) -> str:
    """An empty text if a batch of these users can have this number of messages; else how many it has, in words.

    limits : of one report; those in a batch unless given
    """
    fewest, most = limits or plan.query.randomizer._message_limits
    reports = users * plan.reports_per_user
    low, high = reports * fewest, None if most is None else reports * most
    if low <= messages and (high is None or messages <= high):
        return ""
    if high is None:
        return f"{low:,} or more"
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
