"""The words of reports (words.yaml): of papers, of their claims and of errata."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from .._support.reading import STORED
from .._support.reading.yaml_text import parse_yaml

_SAID = parse_yaml(files(__package__).joinpath("words.yaml").read_text("utf-8"), STORED, "'words.yaml'")
PAPERS: dict[str, dict[str, Any]] = _SAID["papers"]
CLAIMS: dict[str, dict[str, str]] = _SAID["claims"]
ERRATA: dict[str, dict[str, str]] = _SAID["errata"]
