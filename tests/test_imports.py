"""The house rules that a reader relies on: imports go down, the front door is light, names stay what they are."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import shuffledp as sdp
from house import stubs
from house.layers import LEVEL, may_import

ROOT = Path(sdp.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))


def package_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path) -> list[str]:
    """Top-level packages of shuffledp that a file imports at run time, anywhere in it (TYPE_CHECKING blocks exempt)."""
    found = []
    parts = path.relative_to(ROOT).with_suffix("").parts

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.orelse:
                visit(child)
            return
        if isinstance(node, ast.ImportFrom):
            module = (node.module or "").split(".") if node.module else []
            if node.level:
                base = list(parts[: len(parts) - node.level])
                full = base + module
                found.extend([full[0]] if full else [alias.name for alias in node.names])
            elif module and module[0] == "shuffledp":
                found.extend([module[1]] if len(module) > 1 else [alias.name for alias in node.names])
        if isinstance(node, ast.Import):
            found.extend(a.name.split(".")[1] for a in node.names if a.name.startswith("shuffledp."))
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(path.read_text(encoding="utf-8")))
    return [name for name in found if name != "__version__"]


def test_imports_go_down() -> None:
    for path in FILES:
        own = package_of(path)
        if own == "__init__":
            assert imports(path) == ["mechanisms"]  # the catalog, which is a table of names and imports nothing
            assert imports(ROOT / "mechanisms" / "catalog.py") == imports(ROOT / "mechanisms" / "__init__.py") == []
            continue
        assert own in LEVEL, f"{own} has no layer: name it in tests/house/layers.py"
        for name in imports(path):
            assert name in LEVEL, f"{path} imports {name}, which has no layer"
            assert may_import(own, name), f"{path}: {own} must not import {name}"


def test_no_assert() -> None:
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert not [f"{path}:{n.lineno}" for n in ast.walk(tree) if isinstance(n, ast.Assert)]


def fresh(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_front_door_is_light() -> None:
    heavy = fresh(
        "import sys, shuffledp; dir(shuffledp)\n"
        "print(sorted({'numpy','scipy','click','rich','flint','matplotlib'} & set(sys.modules)))"
    )
    assert heavy == "[]"


def test_the_command_line_starts_light() -> None:
    heavy = fresh("import sys, shuffledp.cli; print(sorted({'numpy','scipy','rich','flint'} & set(sys.modules)))")
    assert heavy == "[]"


def test_privunit_loads_no_optimizer() -> None:
    code = (
        "import sys, shuffledp as s; s.amplify('privunit:eps0=2,dim=100', n=1000, delta=1e-6)\n"
        "print('scipy.optimize' in sys.modules, 'scipy.special' in sys.modules)"
    )
    assert fresh(code) == "False True"


def test_a_first_answer_loads_no_scipy() -> None:
    code = "import sys, shuffledp as s; s.amplify('general:eps0=1', n=10**6, delta=1e-8); print('scipy' in sys.modules)"
    assert fresh(code) == "False"


@pytest.mark.slow
def test_names_stay_what_they_are_after_all_submodules_were_imported() -> None:
    code = (
        "import importlib, pkgutil, types, shuffledp as s\n"
        "for m in pkgutil.walk_packages(s.__path__, 'shuffledp.'):\n"
        "    if not m.name.endswith('__main__'): importlib.import_module(m.name)\n"
        "print([n for n in s.__all__ if isinstance(getattr(s, n), types.ModuleType) or not callable(getattr(s, n))])"
    )
    assert fresh(code) == "[]"


def test_all_resolves_and_nothing_else_does() -> None:
    assert len(sdp.__all__) == len(set(sdp.__all__))
    for name in sdp.__all__:
        assert getattr(sdp, name).__name__ == name
        assert name in dir(sdp)
    with pytest.raises(AttributeError, match="no attribute 'amplfy'"):
        _ = sdp.amplfy  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", stubs.stubs(), ids=lambda path: path.parent.name)
def test_type_checkers_see_the_same_names(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == stubs.stubs()[path], "run make tables"


@pytest.mark.parametrize("name", sdp.__all__)
def test_public_names_are_documented_with_an_example(name: str) -> None:
    thing = getattr(sdp, name)
    assert inspect.getdoc(thing)
    if not (inspect.isclass(thing) and issubclass(thing, Exception)):
        assert ">>>" in (thing.__doc__ or ""), f"{name} has no example"


def test_every_public_function_has_a_docstring() -> None:
    missing = []
    for info in pkgutil.walk_packages([str(ROOT)], "shuffledp."):
        if info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        for name, thing in vars(module).items():
            public = not name.startswith("_") and getattr(thing, "__module__", None) == info.name
            if public and (inspect.isfunction(thing) or inspect.isclass(thing)) and not thing.__doc__:
                missing.append(f"{info.name}.{name}")
    assert missing == []
