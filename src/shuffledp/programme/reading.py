"""Reading a programme or deployment file: YAML or JSON as plain data, in which numbers are the text as written."""

from __future__ import annotations

import os
from typing import Any

from .._support.reading import PROGRAMME, Kind, contained, parse_json, read_text
from .._support.reading.json_text import NotJSONError
from .._support.reading.yaml_text import parse_yaml


def read(path: str | os.PathLike[str], kind: Kind = PROGRAMME) -> Any:
    """The content of a file as plain data; what cannot be read is refused in one sentence."""
    shown = repr(os.fspath(path))
    with contained(kind, os.fspath(path)):
        text = read_text(path, kind)
        if text.lstrip()[:1] == "{":
            # JSON may hold tabs, which YAML does not read; what is not JSON gets its message from the YAML reader
            try:
                return parse_json(text, kind, shown, numbers_as_text=True)
            except NotJSONError:
                pass
        return parse_yaml(text, kind, shown)
