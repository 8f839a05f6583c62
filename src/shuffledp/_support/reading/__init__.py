"""The one way to read a file: what may be read, how much of it, how deep, and which numbers and keys it may hold.

Every file that the library opens for a user goes through here: certificates, ledgers, programmes, query files and
tables (matrices and distances).  Whatever the bytes are, the result is plain data or one error message.
"""

from __future__ import annotations

from .files import CERTIFICATE as CERTIFICATE
from .files import DEPLOYMENT as DEPLOYMENT
from .files import LABELS as LABELS
from .files import LEDGER as LEDGER
from .files import PROGRAMME as PROGRAMME
from .files import QUERIES as QUERIES
from .files import SAMPLE as SAMPLE
from .files import STORED as STORED
from .files import TABLE as TABLE
from .files import Kind as Kind
from .files import contained as contained
from .files import digest_of as digest_of
from .files import opened as opened
from .files import read_bytes as read_bytes
from .files import read_text as read_text
from .json_text import NotJSONError as NotJSONError
from .json_text import parse_json as parse_json
from .json_text import read_json as read_json
from .json_text import refuse_constant as refuse_constant
from .keys import mapping as mapping
from .numbers import as_written as as_written
