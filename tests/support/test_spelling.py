"""American spelling in every text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
BRITISH = re.compile(
    r"(?:privat|random|optim|vector|memo|general|normal|minim|maxim|recogn|real|organ|summar|initial|serial|categor|"
    r"character|special|synchron|visual|author)is(?:e|ing|ation)|(?:neighb|col|fav|behavi|hon|lab|rum)our|"
    r"centre|metres|\bgrey|catalogue|label(?:led(?!by)|ling)|modell|signall|travell|licence|analys(?:ed|ing)|artefact|"
    r"\b(?:mis)?spelt\b|\bper cent\b|\b(?:after|out|to)wards\b|judgement|fulfil\b|skilful|whilst|learnt",
    re.IGNORECASE,
)
#: Names of others, and words that only look British.
EXCEPT = re.compile(r"aria-labelledby|memoi\[sz\]ed")


def written() -> list[Path]:
    """Every text of the repository, except this test."""
    folders = ("src", "tests", "docs", "examples", "benchmarks", "tools", ".ci")
    kinds = {".py", ".md", ".js", ".css", ".html", ".json", ".yaml", ".txt", ".svg"}
    found = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in kinds]
    apart = {"numerics", "data", "__pycache__"}
    return [*ROOT.glob("*.md"), *(p for p in found if p.name != "test_spelling.py" and not apart & {*p.parts})]


@pytest.mark.heavy
def test_prose_and_names_are_american() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {word[0]}"
        for path in written()
        for word in BRITISH.finditer(EXCEPT.sub("", path.read_text(encoding="utf-8")))
    ]
    assert not found, found[:20]
