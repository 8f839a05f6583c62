"""Nothing outside mechanisms/ knows a concrete mechanism: no class is imported, tested for, or told by its name."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import shuffledp as sdp
from shuffledp.mechanisms import registry
from shuffledp.mechanisms.base import Mechanism

ROOT = Path(sdp.__file__).parent
#: Claims of one protocol, the paper's experiments, the two front doors, and words in which mechanisms are looked for.
EXCEPT = {"bounds/protocol_claims.py", "__init__.py", "extend.py", "_support/names.py"}
FILES = [
    path
    for path in sorted(ROOT.rglob("*.py"))
    if (name := path.relative_to(ROOT).as_posix()) not in EXCEPT and not name.startswith(("mechanisms/", "paper/"))
]
#: What everybody may know: the bases, and the parameters (p, beta, q), which are numbers.
KNOWN = {"Mechanism", "Randomizer", "FrequencyOracle", "LocalBudget", "VariationRatio"}


def concrete() -> set[str]:
    """Every mechanism class of the library but the bases above."""
    package = importlib.import_module("shuffledp.mechanisms")
    for module in pkgutil.walk_packages(package.__path__, "shuffledp.mechanisms."):
        importlib.import_module(module.name)
    found, todo = set(), [Mechanism]
    while todo:
        todo += todo.pop().__subclasses__()
        found |= {cls.__name__ for cls in todo if cls.__module__.startswith("shuffledp.mechanisms.")}
    return found - KNOWN


CLASSES = concrete()
WORDS = {*registry.CATALOG, *(f"{word}:" for word in registry.CATALOG)}


def named(node: ast.AST) -> set[str]:
    """Names that stand in an expression."""
    return {
        n.id if isinstance(n, ast.Name) else n.attr for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute)
    }


def words(node: ast.AST) -> set[str]:
    """Texts that stand in an expression."""
    return {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def faults(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 1 and not (node.module or "mech").startswith("mech"):
            continue  # of a neighbor, which is no mechanism
        if isinstance(node, ast.ImportFrom | ast.Import):
            found = {alias.name.rpartition(".")[2] for alias in node.names} & CLASSES
        elif isinstance(node, ast.Call) and named(node.func) & {"isinstance", "issubclass"}:
            found = named(node) & CLASSES
        elif isinstance(node, ast.Call) and named(node.func) & {"startswith", "removeprefix"}:
            found = words(node) & WORDS
        elif isinstance(node, ast.Compare):
            found = named(node) & CLASSES | (words(node) & WORDS if "name" in named(node) else set())
        elif isinstance(node, ast.Match):
            found = named(node) & CLASSES
        else:
            continue
        if found:
            yield f"line {node.lineno}: {', '.join(sorted(found))}"


@pytest.mark.heavy
def test_no_concrete_mechanism_is_known() -> None:
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert [f"{path}: {fault}" for fault in faults(tree)] == []


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(m, GRR)",
        "isinstance(m, Unary | OneHot)",
        "issubclass(c, sdp.FiniteRandomizer)",
        "type(m) is Laplace",
        "cls.name == 'hadamard'",
        "m.name in ('subset', 'privset')",
        "spec.startswith('finite:')",
        "from ..mechanisms.categorical.grr import GRR",
    ],
)
def test_the_test_sees_what_it_should(code: str) -> None:
    assert list(faults(ast.parse(code)))


def test_the_test_lets_bases_and_codecs_pass() -> None:
    assert {"GRR", "OneHot", "FiniteRandomizer", "MultiMessage", "Parallel"} <= CLASSES
    code = "isinstance(m, Randomizer) and isinstance(m.codec, PackedBits) and bound.name != 'local'"
    assert list(faults(ast.parse(code))) == []
