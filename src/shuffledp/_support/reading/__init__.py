"""The one way to read a file: what may be read, how much of it, how deep, and which numbers and keys it may hold.

Every file that the library opens for a user goes through here: certificates, ledgers, programmes, query files and
tables (matrices and distances).  Whatever the bytes are, the result is plain data or one error message.
"""

from __future__ import annotations

from .files import (
    CERTIFICATE,
    DEPLOYMENT,
    LABELS,
    LEDGER,
    PROGRAMME,
    QUERIES,
    STORED,
    TABLE,
    Kind,
    contained,
    digest_of,
    opened,
    read_bytes,
    read_text,
)
from .json_text import parse_json, read_json
from .keys import mapping
from .numbers import as_written

__all__ = [
    "CERTIFICATE",
    "DEPLOYMENT",
    "LABELS",
    "LEDGER",
    "PROGRAMME",
    "QUERIES",
    "STORED",
    "TABLE",
    "Kind",
    "as_written",
    "contained",
    "digest_of",
    "mapping",
    "opened",
    "parse_json",
    "read_bytes",
    "read_json",
    "read_text",
]
