"""Which files the comments, docstrings and pages of the project cite."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from reference.places import ROOT

FOLDERS = ("src", "tests", "docs", "tools", "benchmarks", "examples")
#: Files that are read for what they cite.
READ = (".py", ".md", ".js", ".css", ".html", ".yaml")
#: A file of code or text by its name, anything else with its folder; and a module that is to be run.
_FILE = re.compile(
    r"(?<![\w./<{*$-])((?:[\w-]+/)*[\w-]+\.(?:py|md)|(?:[\w-]+/)+[\w-]+\.(?:json|svg|txt|csv|ya?ml|html))(?![\w(/-])"
)
_FOLDER = re.compile(rf"(?<![\w./<-])((?:{'|'.join(FOLDERS)})/[\w/]*\w)(?![\w.*/<{{-])")
_RUN = re.compile(r"python -m ((?:benchmarks|house|stored|handbook)(?:\.\w+)*)")
#: Cited names that are no files of the project, and what they are.
ELSEWHERE = {
    "unifiedamplification.py": "the program of the paper's authors",
    "path.py": "stands for any file",
    "survey.py": "saved by a block of docs/extending.md",
    "dial.py": "saved by a block of docs/extending.md",
    "security.md": "written by make docs",
}


@cache
def _known() -> frozenset[str]:
    """Every path of the project, and every end of one."""
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    files += [*ROOT.glob("*"), *(ROOT / ".ci").rglob("*")]
    written = re.findall(r"reference/\w+\.md", (ROOT / "mkdocs.yml").read_text("utf-8"))  # by make docs, from the code
    places = [path.relative_to(ROOT).parts for path in files if "__pycache__" not in path.parts]
    return frozenset(["/".join(parts[i:]) for parts in places for i in range(len(parts))] + written)


def exists(cited: str) -> bool:
    """Whether a file or folder of the project has this path, or a path that ends with it.

    >>> exists("numerics/solve.py"), exists("docs"), exists("numerics/no_such_file.py")
    (True, True, False)
    """
    return cited in ELSEWHERE or cited in _known()


def words(path: Path) -> Iterator[str]:
    """What a file says to its readers: comments and docstrings (without examples) of code, all of a page."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py" or not missing(text):  # most files cite nothing that is missing, not even in their code
        yield text
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            lines = (ast.get_docstring(node) or "").split("\n")
            yield "\n".join(line for line in lines if not line.lstrip().startswith((">>>", "...")))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("docs/"):
            yield node.value  # the source of a bound


def missing(text: str) -> list[str]:
    """The files, folders and modules that a text cites and that do not exist.

    >>> len(missing("numerics/solve.py, old_solver.py, tests/nowhere and python -m benchmarks.gone"))
    3
    """
    paths = [*_FILE.findall(text), *_FOLDER.findall(text)]
    modules = [name for name in _RUN.findall(text) if not _module(name)]
    return [path for path in paths if not exists(path)] + modules


def _module(name: str) -> bool:
    path = name.replace(".", "/")
    return exists(f"{path}.py") or exists(f"{path}/__main__.py")
