"""Finished work on disk: one JSON file per unit, written in one piece, taken again only if it is what was asked for."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from .. import __version__
from .._support import files as _files
from .._support.reading import STORED, read_json
from .plan import Unit

#: Raise it when what a unit computes changes within a version.
FORMAT = 2


def key_of(unit: Unit) -> dict[str, Any]:
    """What a stored part must agree with to be used: version, format, unit and settings.

    Examples
    --------
    >>> from .plan import units
    >>> key_of(units(["table5"])[0])["unit"]
    'table5'
    """
    key = {"version": __version__, "format": FORMAT, "unit": unit.name, "settings": unit.settings}
    plain: dict[str, Any] = json.loads(json.dumps(key))
    return plain


def load(folder: Path, unit: Unit) -> dict[str, Any] | None:
    """The stored data of a unit; None if there is none, it is damaged, or it was made with other settings."""
    try:
        stored = read_json(folder / f"{unit.name}.json", STORED)
        if stored["key"] != key_of(unit) or stored["sha256"] != _digest(stored["data"]):
            return None
        data: dict[str, Any] = stored["data"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return data


def store(folder: Path, unit: Unit, data: dict[str, Any]) -> dict[str, Any]:
    """Write the data of a unit and return it as it will be read again."""
    plain: dict[str, Any] = json.loads(json.dumps(data, allow_nan=False))
    stored = {"key": key_of(unit), "sha256": _digest(plain), "data": plain}
    _files.write_whole(folder / f"{unit.name}.json", json.dumps(stored, indent=1), name="every file of out")
    return plain


def _digest(data: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
