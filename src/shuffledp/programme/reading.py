"""Reading a programme or deployment file: YAML or JSON as plain data, in which numbers are the text as written."""

from __future__ import annotations

import os
from typing import Any

from .._support.reading import PROGRAMME, Kind
from .._support.reading.yaml_text import read_plain


def read(path: str | os.PathLike[str], kind: Kind = PROGRAMME) -> Any:
    """The content of a file as plain data; what cannot be read is refused in one sentence."""
    return read_plain(path, kind)
