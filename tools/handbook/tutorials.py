"""A tutorial: its page with what the code really shows, and the same as a Jupyter notebook."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from .blocks import Block, cut

#: Lines of a table are no longer than this.
_WIDE = 100
_NOTEBOOK = {
    "nbformat": 4,
    "nbformat_minor": 5,
    "metadata": {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
    },
}


def write(source: Path, shown: list[dict[str, str]], out: Path) -> None:
    """Write the page of a tutorial with what its blocks have shown, its pictures and its notebook into ``out``."""
    page, name = source.read_text("utf-8"), source.stem
    for number, result in enumerate(shown):
        if "svg" in result:
            (out / f"{name}-{number}.svg").write_text(result["svg"], "utf-8")
    (out / f"{name}.md").write_text(executed(page, shown, name), "utf-8")
    (out / f"{name}.ipynb").write_text(notebook(page, shown), "utf-8")


def executed(page: str, shown: list[dict[str, str]], name: str) -> str:
    """The page with the results below the blocks, and a link to the notebook below the title."""
    results, made = iter(enumerate(shown)), []
    for part in cut(page):
        if isinstance(part, str):
            made.append(part)
            continue
        number, result = next(results)
        made.append(_result(part, result, f"{name}-{number}.svg"))
    title, rest = "".join(made).split("\n", 1)
    return f"{title}\n\n[Download as a notebook]({name}.ipynb){{ .notebook download }}\n{rest}"


def _result(block: Block, result: dict[str, str], picture: str) -> str:
    if block.kind == "setup":
        return ""
    if block.kind == "console" and result:
        return f"```{{ .console{_words(result['text'])} }}\n{result['text'].strip()}\n```"
    text = "".join(result.get(key, "").rstrip("\n") + "\n" for key in ("text", "value") if key in result)
    title = f' title="{block.file}"' if block.file else ""
    parts = [f"```{block.kind}{title}\n{block.code}```"]
    parts += [f"```{{ .text .output{_words(text)} }}\n{text}```"] if text else []
    parts += [f"![{result['alt']}]({picture})"] if "svg" in result else []
    return "\n\n".join(parts)


def _words(text: str) -> str:
    """A class for what is a sentence rather than a table: its lines may be broken."""
    return " .words" if max(map(len, text.split("\n"))) > _WIDE else ""


def notebook(page: str, shown: list[dict[str, str]]) -> str:
    """The page as the JSON of a notebook, with the same results in it; links to other pages become words."""
    results, cells = iter(shown), []
    for part in cut(page):
        if isinstance(part, str):
            words = re.sub(r"\[([^\]]*)\]\((?!https?:)[^)]*\)", r"\1", part).strip()
            cells += [{"cell_type": "markdown", "metadata": {}, "source": words}] if words else []
        elif result := next(results):
            cells.append(_cell(_runnable(part), result))
        elif part.file:
            cells.append(_cell(_runnable(part), {}))
        elif part.kind != "setup":
            fence = f"```{part.kind}\n{part.code}```"
            cells.append(
                {"cell_type": "markdown", "metadata": {}, "source": fence}
                if part.reason or part.kind != "python"
                else _cell(part.code, {})
            )
    numbered = [{"id": f"cell-{i}", **cell} for i, cell in enumerate(cells)]
    return json.dumps({**_NOTEBOOK, "cells": numbered}, indent=1, ensure_ascii=False) + "\n"


def _runnable(block: Block) -> str:
    """The code of a block as a notebook runs it."""
    if block.file:
        return f"%%writefile {block.file}\n{block.code}"
    if block.kind == "console":
        return "\n".join(f"!{line}" for line, _ in block.commands)
    return block.code


def _cell(code: str, result: dict[str, str]) -> dict[str, Any]:
    text = result.get("text", "").removeprefix("$ ")
    outputs: list[dict[str, Any]] = [{"output_type": "stream", "name": "stdout", "text": text}] if text else []
    data = {"image/svg+xml": result["svg"]} if "svg" in result else {}
    if data or "value" in result:
        data["text/plain"] = result.get("value", result.get("alt", ""))
        outputs.append({"output_type": "display_data", "metadata": {}, "data": data})
    return {"cell_type": "code", "metadata": {}, "execution_count": None, "source": code.rstrip(), "outputs": outputs}
