"""Runs the blocks of one page: ``python -m handbook.execute PAGE OUT`` writes what each of them shows, as JSON.

A page has a process, a folder and a namespace of its own, so that pages cannot depend on each other; as many run at
once as there are cores, each on one.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from . import store
from .blocks import Block, blocks

ROOT = Path(__file__).parents[2]
#: Kinds of blocks that are run; others are shown only.
RUN = ("python", "console", "setup")
#: One thread for each page: as many pages as cores run at once, and threads of BLAS would only wait for each other.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def runs(page: Path) -> bool:
    """Whether there is anything to run on a page."""
    return any(block.kind in RUN for block in blocks(page.read_text("utf-8")))


def run_all(pages: Iterable[Path], folder: Path) -> tuple[dict[Path, list[dict[str, str]]], list[str]]:
    """What the blocks of all these pages show, and what is wrong with them.

    A page is run only if ``folder`` has no result of the very same page, library and packages; a page that fails is
    never kept.  Tutorials (in a folder of that name) get their results from here; other pages state them, and differing
    from them is wrong.
    """

    def shown(page: Path) -> list[dict[str, str]] | RuntimeError:
        file = store.place(page, folder)
        found = store.kept(file)
        try:
            found = run(page) if found is None else found
        except RuntimeError as error:
            return error
        store.keep(file, found)
        return found

    every = list(pages)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = dict(zip(every, pool.map(shown, every), strict=True))
    good = {page: result for page, result in results.items() if not isinstance(result, RuntimeError)}
    wrong = [str(result) for result in results.values() if isinstance(result, RuntimeError)]
    for page, result in good.items():
        if page.parent.name != "tutorials":
            wrong += [f"{page.name}: {words}" for words in compare(page.read_text("utf-8"), result)]
    return good, wrong


def run(page: Path) -> list[dict[str, str]]:
    """What every block of a page shows, in a process and an empty folder of its own; an exception is an error here."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        room = Path(folder) / "room"
        room.mkdir()
        (room / "examples").symlink_to(ROOT / "examples")  # pages are read in a clone
        done = subprocess.run(
            [sys.executable, "-m", "handbook.execute", str(page.resolve()), str(out)],
            cwd=room,
            capture_output=True,
            text=True,
            check=False,
            env={
                **os.environ,
                **_ONE_THREAD,
                "MPLBACKEND": "Agg",
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            },
        )
        if done.returncode:
            raise RuntimeError(f"{page.name} does not run:\n{done.stderr[-3000:]}")
        shown: list[dict[str, str]] = json.loads(out.read_text("utf-8"))
        return shown


def run_blocks(page: str, name: str) -> list[dict[str, str]]:
    """Run the page here, in the current folder; one result per block, empty for what is not run."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    for block in blocks(page):
        if block.file:
            Path(block.file).write_text(block.code, "utf-8")
        if block.file or block.reason or block.kind not in RUN:
            shown.append({})
        elif block.kind == "console":
            shown.append({"text": "".join(_command(line, expected) for line, expected in block.commands)})
        else:
            shown.append(_python(block, f"{name}, block at line {block.line}", namespace))
    return shown


def _command(line: str, expected: str) -> str:
    """A command line with what it prints; a failure is one unless the page shows it."""
    from click.testing import CliRunner

    from shuffledp.cli import main

    program, *args = shlex.split(line, comments=True)
    if program != "shuffledp":
        raise ValueError(f"only shuffledp is run in console blocks, got {line!r}; say <!-- not run: why -->.")
    result = CliRunner().invoke(main, args)
    if result.exit_code and not expected:
        raise RuntimeError(f"{line!r} ended with exit code {result.exit_code}: {result.output}")
    return f"$ {line}\n{result.output}"


def _python(block: Block, where: str, namespace: dict[str, Any]) -> dict[str, str]:
    """What the code prints, and the value of its last line as a notebook would show it."""
    if block.code.startswith(">>>"):
        test = doctest.DocTestParser().get_doctest(block.code, namespace, where, None, 0)
        doctest.DebugRunner().run(test, clear_globs=False)
        namespace.update(test.globs)
        return {}
    tree = ast.parse(block.code, where)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    out, value = io.StringIO(), None
    with contextlib.redirect_stdout(out):
        exec(compile(tree, where, "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), where, "eval"), namespace)
    return {key: text for key, text in {"text": out.getvalue(), **_display(value)}.items() if text}


def _display(value: Any) -> dict[str, str]:
    """A figure as SVG with a text in its place, anything else but None as the words of its repr."""
    if value is None:
        return {}
    if not hasattr(value, "savefig"):
        return {"value": repr(value)}
    import matplotlib

    file = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "path", "svg.hashsalt": "shuffledp", "savefig.facecolor": "white"}):
        value.savefig(file, format="svg", metadata={"Date": None})
    axes = value.axes[0]
    title = (value._suptitle.get_text() if value._suptitle else "") or axes.get_title()
    words = title or f"{axes.get_ylabel()} against {axes.get_xlabel()}"
    return {"svg": file.getvalue(), "alt": " ".join(words.split())}


def compare(page: str, shown: list[dict[str, str]]) -> list[str]:
    """Where a page shows something else than its code prints: in a text block below it, or below a command.

    Below a command that prints much, a text block may hold a part of it.
    """
    found, every = [], blocks(page)
    for block, below, result in zip(every, [*every, None][1:], shown, strict=True):
        ran, part = _lines(result.get("text", "")), False
        if block.reason or block.kind not in RUN:
            continue
        if below and below.kind == "text":
            expected, part = _lines(below.code), block.kind == "console"
        elif any(words for _, words in block.commands):
            expected = _lines("\n".join(f"$ {line}\n{words}".strip() for line, words in block.commands))
        else:
            continue
        if expected != ran and not (part and expected in ran):
            found.append(f"line {block.line} prints {ran!r}, not {expected!r}")
    return found


def _lines(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))


if __name__ == "__main__":
    source = Path(sys.argv[1])
    Path(sys.argv[2]).write_text(json.dumps(run_blocks(source.read_text("utf-8"), source.name)), "utf-8")
