"""The words of the report (words.yaml): of the paper, of its claims and of errata."""

from __future__ import annotations

from importlib.resources import files

from .._support.reading import STORED
from .._support.reading.yaml_text import parse_yaml

_SAID = parse_yaml(files(__package__).joinpath("words.yaml").read_text("utf-8"), STORED, "'words.yaml'")
CITATION: str = _SAID["citation"]
PARTS: dict[str, str] = _SAID["parts"]
CAPTIONS: dict[str, str] = _SAID["captions"]
ASSUMPTIONS: list[str] = _SAID["assumptions"]
CLAIMS: dict[str, dict[str, str]] = _SAID["claims"]
ERRATA: dict[str, dict[str, str]] = _SAID["errata"]
