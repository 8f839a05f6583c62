"""SQL that counts a table of reports, and the tally that its result is.

A report is a row with a message of fixed length, as Parquet files of reports have it (engines/report_files.py).  Where
the codec of the plan counts categories, members of sets, bits or whole numbers, a database can do the same:

1. cut every message into the numbers that it holds, and count how often each number stands at each place;
2. decode the different numbers (few), little-endian;
3. count by number (categories, members), by place and bit (bits), or sum by place (numbers).

The result has three columns: ``part`` (the question that was answered, where a report answers one of several; else 0),
``code`` (what was counted) and ``n`` (how often).  Code -1 counts the messages of a part, and part -1 those that do not
have the length of a message of the plan.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..mechanisms.codecs import Category, Codec, Members, Numbers, PackedBits
from ..mechanisms.record_codecs import Records
from .messages import message_length

if TYPE_CHECKING:
    from .plan import Plan

#: Different numbers that a code may be: the counts are held in memory.
_MOST_CODES = 2**26


class Dialect(NamedTuple):
    """How a database writes what databases write differently."""

    #: Rows of a relation once for each place 0, ..., count - 1, in the column ``place``.
    places: str
    #: ``length`` bytes of a message from byte ``start`` on, which counts from 1.
    cut: str
    #: One byte of some bytes as a number: ``i`` counts from 0, ``at`` from 1.
    byte: str
    #: The number of bytes.
    length: str


DIALECTS = {
    "duckdb": Dialect(
        places="{relation} CROSS JOIN (SELECT UNNEST(RANGE({count})) AS place)",
        cut="ARRAY_SLICE({x}, {start}, {end})",
        byte="CAST('0x' || HEX(ARRAY_SLICE({x}, {at}, {at})) AS BIGINT)",
        length="OCTET_LENGTH({x})",
    ),
    "standard": Dialect(
        places="{relation} CROSS JOIN UNNEST(GENERATE_ARRAY(0, {count} - 1)) AS place",
        cut="SUBSTR({x}, {start}, {length})",
        byte="TO_CODE_POINTS({x})[OFFSET({i})]",
        length="BYTE_LENGTH({x})",
    ),
    "spark": Dialect(
        places="{relation} LATERAL VIEW EXPLODE(SEQUENCE(0, {count} - 1)) places AS place",
        cut="SUBSTRING({x}, {start}, {length})",
        byte="CAST(CONV(HEX(SUBSTRING({x}, {at}, 1)), 16, 10) AS BIGINT)",
        length="OCTET_LENGTH({x})",
    ),
}
DIALECTS["bigquery"] = DIALECTS["standard"]


@dataclass(frozen=True)
class Counted:
    """How the answers of one codec are counted: what stands where in a message, and what is true of the counts."""

    kind: str  # "codes", "bits" or "sums"
    offset: int
    places: int
    dtype: np.dtype[Any]
    codes: int
    #: Codes that every message adds, where they are always as many.
    each: int | None = None
    shape: tuple[int, ...] = ()

    @property
    def span(self) -> tuple[int, int]:
        """The least and the most that a message can add to a count."""
        if self.kind != "sums":
            return 0, 1
        limits = np.iinfo(self.dtype)
        return int(limits.min), int(limits.max)


def _counted(codec: Codec, offset: int = 0) -> Counted | None:
    """How a codec is counted; None where that is not counting."""
    dtype, places = codec.dtype, math.prod(codec.shape)
    if isinstance(codec, Category):
        return Counted("codes", offset, 1, dtype, codec.size, each=1)
    if isinstance(codec, Members):
        return Counted("codes", offset, places, dtype, codec.limit, each=codec.count)
    if isinstance(codec, PackedBits):
        return Counted("bits", offset, places, dtype, codec.width, each=codec.ones)
    if isinstance(codec, Numbers) and dtype.kind in "iu":
        return Counted("sums", offset, places, dtype, places, shape=codec.shape or (1,))
    return None


def _layout(plan: Plan) -> tuple[Counted, ...]:
    """One entry for every question that a report may answer; refused where counting is not a matter of SQL."""
    m = plan.query.randomizer
    codec = m.codec
    if isinstance(codec, Records):
        places: Mapping[str, Any] = codec.dtype.fields or {}
        homes = [places[home][1] for home in codec.fields(codec.dtype)]
        found = [_counted(part, offset) for part, offset in zip(codec.parts, homes, strict=True)]
    else:
        found = [_counted(codec)]
    known = [part for part in found if part is not None]
    few = len(known) == len(found) and sum(part.codes for part in known) <= _MOST_CODES
    if not few or m._tally_of_sums([(np.zeros(part.codes, dtype=np.int64), 0) for part in known]) is None:
        raise ParameterError(
            f"mechanism of the plan must be one whose reports GROUP BY, unnest or sums can count, got {m.spec}; count "
            "its reports by Collector.ingest or Collector.ingest_frame."
        )
    return tuple(known)


# -- the text -----------------------------------------------------------------------------------------------------


def count_sql(plan: Plan, dialect: str, *, table: str = "reports", column: str = "message") -> str:
    """The SQL text (:meth:`Plan.count_sql`)."""
    if dialect not in DIALECTS:
        raise ParameterError(f"dialect must be one of {', '.join(DIALECTS)}, got {dialect!r:.40}; choose one of them.")
    if not isinstance(table, str) or not table.strip() or not table.isprintable() or ";" in table or "--" in table:
        raise ParameterError(f"table must be what may follow FROM in one line, got {table!r:.60}; name the table.")
    if not isinstance(column, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z_0-9]*", column):
        raise ParameterError(f"column must be a plain name such as message, got {column!r:.60}; rename it in a view.")
    says, parts = DIALECTS[dialect], _layout(plan)
    codec = plan.query.randomizer.codec
    size, length = message_length(codec), says.length.format(x="message")
    head, part = "", "0"
    if isinstance(codec, Records):
        query = codec.dtype["query"]
        head, part = _cut(says, 1, query.itemsize), _decoded(says, "head", query)
    steps = [
        f"sdp_reports AS (\n  SELECT {column} AS message FROM {table}\n)",
        f"sdp_messages AS (\n  SELECT message FROM sdp_reports WHERE {length} = {size}\n)",
    ]
    heads = f"(SELECT {head} AS head, COUNT(*) AS n FROM sdp_messages GROUP BY 1) heads"
    selects = [
        f"SELECT -1 AS part, -1 AS code, COUNT(*) AS n FROM sdp_reports WHERE message IS NULL OR {length} <> {size}",
        f"SELECT {part} AS part, -1 AS code, n FROM {heads}"
        if head
        else "SELECT 0 AS part, -1 AS code, COUNT(*) AS n FROM sdp_messages",
    ]
    fields: dict[tuple[str, int], list[int]] = {}
    for k, found in enumerate(parts):
        fields.setdefault((found.kind, found.offset), []).append(k)
    for i, ((kind, _), members) in enumerate(fields.items()):
        steps += _numbers(says, i, parts[members[0]], head, part)
        among = f"part IN ({', '.join(map(str, members))})"
        selects.append(_ENDINGS[kind].format(numbers=f"sdp_numbers_{i}", among=among))
    return (
        f"-- counts the reports of plan {plan.digest[:16]}; give the rows to Collector.ingest_counts\n"
        f"WITH {', '.join(steps)}\n" + "\nUNION ALL ".join(selects) + "\n"
    )


_BITS = "(" + " UNION ALL ".join(f"SELECT {i} AS bit, {128 >> i} AS mask" for i in range(8)) + ") bits"
#: What is counted, from the different numbers and how often each stands at a place.
_ENDINGS = {
    "codes": "SELECT part, value AS code, CAST(SUM(n) AS BIGINT) AS n\n  FROM {numbers} WHERE {among} GROUP BY 1, 2",
    "bits": (
        "SELECT part, 8 * place + bit AS code, CAST(SUM(n) AS BIGINT) AS n\n"
        f"  FROM {{numbers}} CROSS JOIN {_BITS}\n  WHERE {{among}} AND (value & mask) <> 0 GROUP BY 1, 2"
    ),
    "sums": (
        "SELECT part, place AS code, CAST(SUM(n * value) AS BIGINT) AS n\n  FROM {numbers} WHERE {among} GROUP BY 1, 2"
    ),
}


def _numbers(says: Dialect, i: int, found: Counted, head: str, part: str) -> list[str]:
    """The numbers at every place, first as bytes, then decoded."""
    size, several = found.dtype.itemsize, found.places > 1
    keys = [f"{_cut(says, found.offset + 1, size, several)} AS piece"]
    if head:
        keys.append(f"{head} AS head")
    if several:
        keys.append("place")
    source = says.places.format(relation="sdp_messages", count=found.places) if several else "sdp_messages"
    place, value = "place" if several else "0 AS place", _decoded(says, "piece", found.dtype)
    return [
        f"sdp_bytes_{i} AS (\n  SELECT {', '.join(keys)}, COUNT(*) AS n\n  FROM {source}\n"
        f"  GROUP BY {', '.join(str(k + 1) for k in range(len(keys)))}\n)",
        f"sdp_numbers_{i} AS (\n  SELECT {part} AS part, {place}, {value} AS value, n\n  FROM sdp_bytes_{i}\n)",
    ]


def _cut(says: Dialect, start: int, size: int, several: bool = False) -> str:
    """The bytes of a number, those at every place where there are several."""
    first, last = (f"{at} + {size} * place" if several else str(at) for at in (start, start + size - 1))
    return says.cut.format(x="message", start=first, end=last, length=size)


def _decoded(says: Dialect, x: str, dtype: np.dtype[Any]) -> str:
    """Little-endian bytes as a number; the highest byte of a signed one counts from -128 to 127."""
    terms = [says.byte.format(x=x, i=i, at=i + 1) for i in range(dtype.itemsize)]
    if dtype.kind == "i":
        terms[-1] = f"(CASE WHEN {terms[-1]} >= 128 THEN {terms[-1]} - 256 ELSE {terms[-1]} END)"
    return " + ".join(term if not i else f"{256**i} * {term}" for i, term in enumerate(terms))


# -- the result ---------------------------------------------------------------------------------------------------


def counts_of(plan: Plan, rows: NDArray[np.int64]) -> tuple[Any, int]:
    """The tally of the rows (part, code, n) that the query gave, and the number of messages; refused if not such."""
    parts = _layout(plan)
    where, code, n = rows.T
    if len(np.unique(rows[:, :2], axis=0)) < len(rows):
        raise _wrong("name every part and code once", "one of them twice", "pass the rows of one query")
    malformed = n[where == -1]
    if malformed.any():
        size = message_length(plan.query.randomizer.codec)
        raise _wrong(f"be of messages of {size} bytes", f"{int(malformed[0]):,} others", "find out who sent them")
    if (where >= len(parts)).any() or (where < -1).any():
        raise _wrong(f"have parts from 0 to {len(parts) - 1}", "others", "count reports of this plan only")
    sums = [_sums(found, code[where == k], n[where == k]) for k, found in enumerate(parts)]
    return plan.query.randomizer._tally_of_sums(sums), sum(messages for _, messages in sums)


def _sums(found: Counted, code: NDArray[np.int64], n: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """The sums of a codec and the number of messages, if that many messages can have given them."""
    messages = int(n[code == -1].sum())
    here, counted = code[code != -1], n[code != -1]
    if ((here < 0) | (here >= found.codes)).any():
        odd = int(here[(here < 0) | (here >= found.codes)][0])
        raise _wrong(f"have codes from 0 to {found.codes - 1:,}", f"{odd:,}", "count reports of this plan only")
    low, high = (messages * end for end in found.span)
    if messages < 0 or ((counted < low) | (counted > high)).any():
        odd = int(counted[(counted < low) | (counted > high)][0]) if messages >= 0 else messages
        raise _wrong(f"be from {low:,} to {high:,} each", f"{odd:,}", "pass the rows as the query gave them")
    got, wanted = _total(counted), (found.each or 0) * messages
    if found.each is not None and got != wanted:
        raise _wrong(f"add up to {wanted:,} for {messages:,} messages", f"{got:,}", "pass all rows of the query")
    out = np.zeros(found.codes, dtype=np.int64)
    out[here] = counted
    return (out.reshape(found.shape) if found.shape else out), messages


def _total(entries: NDArray[np.int64]) -> int:
    """The sum, however large the entries are: their halves cannot overflow."""
    return (int((entries >> 32).sum()) << 32) + int((entries & 0xFFFFFFFF).sum())


def _wrong(wanted: str, got: str, advice: str) -> ParameterError:
    return ParameterError(f"counts must {wanted}, got {got}; {advice}.")


def as_rows(counts: object) -> NDArray[np.int64]:
    """The rows (part, code, n) as an array: of a frame or an Arrow table with these columns, or of a list of rows."""
    from .frames import whole_numbers

    names = ("part", "code", "n")
    if hasattr(counts, "__arrow_c_stream__"):
        return np.stack(whole_numbers(counts, names), axis=1)
    if not isinstance(counts, Sequence) or isinstance(counts, str | bytes):
        raise _wrong("be a Tally, a frame with part, code and n, or a list of such rows", type(counts).__name__, _PASS)
    rows = [tuple(row) if isinstance(row, Sequence) and not isinstance(row, str) else () for row in counts]
    if not all(len(row) == 3 and all(_is_whole(x) for x in row) for row in rows):
        raise _wrong("be rows of three whole numbers: part, code, n", "something else", _PASS)
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


_PASS = "pass what the query returned"


def _is_whole(x: object) -> bool:
    return isinstance(x, int | np.integer) and not isinstance(x, bool) and -(2**63) <= int(x) < 2**63
