"""The reference: every public name, bound and command, from docstrings, registries and click."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from typing import Any, NamedTuple

import click

import shuffledp as sdp
from shuffledp.bounds import BOUNDS
from shuffledp.cli import main as program
from shuffledp.mechanisms.registry import find, signatures

from .docstrings import markdown, prose, signature


class Chapter(NamedTuple):
    """A page of the reference: what it is about, and the packages whose public names it has."""

    title: str
    about: str
    packages: tuple[str, ...]


CHAPTERS = {
    "accounting": Chapter("Accounting", "One batch: how private it is.", ("accounting", "numerics", "_support")),
    "budgets": Chapter(
        "Calibrating, composing, auditing",
        "Settings that meet a target, many rounds, and code that runs.",
        ("calibration", "composing", "auditing", "programme", "planning"),
    ),
    "collecting": Chapter(
        "Collecting",
        "Questions, plans, clients, shufflers, collectors and answers.",
        ("protocol", "estimation", "shuffler"),
    ),
    "mechanisms": Chapter("Mechanisms", "What one user runs, one class each.", ("mechanisms",)),
    "extension": Chapter(
        "Mechanisms and bounds of your own",
        "What they derive from, how they are registered, and the rest of `shuffledp.extend`.",
        ("bounds",),
    ),
    "errors": Chapter("Errors", "What the library raises on purpose.", ("errors",)),
}


def pages() -> dict[str, str]:
    """Name of the file -> its text."""
    made = {f"{key}.md": _chapter(chapter) for key, chapter in CHAPTERS.items()}
    queries = [_entry(f"queries.{name}", getattr(sdp.queries, name)) for name in sdp.queries.__all__]
    made["collecting.md"] += "\n\n" + "\n\n".join(queries)
    further = [_entry(f"extend.{name}", getattr(sdp.extend, name)) for name in only_to_extend()]
    made["extension.md"] += "\n\n" + "\n\n".join(further)
    return {"index.md": _index(), **made, "bounds.md": _bounds(), "specs.md": _specs(), "commands.md": _commands()}


def names_of(chapter: Chapter) -> list[str]:
    """The public names that live in the packages of a chapter, functions first."""
    home = {name: _home(name).removeprefix("shuffledp.").partition(".")[0] for name in sdp.__all__}
    found = [name for name in sdp.__all__ if home[name] in chapter.packages]
    return sorted(found, key=lambda name: (inspect.isclass(getattr(sdp, name)), name.lower()))


def only_to_extend() -> list[str]:
    """The names of ``shuffledp.extend`` that the package itself does not have."""
    found = (name for name in vars(sdp.extend) if name.isidentifier() and not name.startswith("_"))
    return [name for name in found if name not in sdp.__all__]


def _home(name: str) -> str:
    return str(getattr(sdp, name).__module__)


def _summary(value: Any) -> str:
    return prose((inspect.getdoc(value) or "").partition("\n\n")[0].replace("\n", " "))


def _index() -> str:
    lines = ["# Reference", "Every public name, as `sdp.NAME`; the contract is these names and their parameters."]
    for key, chapter in CHAPTERS.items():
        lines.append(f"## {chapter.title}\n\n{chapter.about}")
        rows = [f"| [`{n}`]({key}.md#{n.lower()}) | {_summary(getattr(sdp, n))} |" for n in names_of(chapter)]
        if key == "collecting":
            rows += [
                f"| [`queries.{n}`]({key}.md#queries{n.lower()}) | {_summary(getattr(sdp.queries, n))} |"
                for n in sdp.queries.__all__
            ]
        if key == "extension":
            rows += [
                f"| [`extend.{n}`]({key}.md#extend{n.lower()}) | {_summary(getattr(sdp.extend, n))} |"
                for n in only_to_extend()
            ]
        lines.append("\n".join(["| name | what it is |", "|---|---|", *rows]))
    return "\n\n".join(lines) + "\n"


def _chapter(chapter: Chapter) -> str:
    entries = [_entry(name, getattr(sdp, name)) for name in names_of(chapter)]
    return "\n\n".join([f"# {chapter.title}", chapter.about, *entries])


def _entry(name: str, value: Any) -> str:
    parts = [f"## {name}", f"```python\n{signature(value, f'sdp.{name}')}\n```"]
    if inspect.isclass(value):
        bases = [base.__name__ for base in value.__mro__[1:] if base.__name__ in sdp.__all__]
        parts += [f"Derives from {', '.join(f'`{base}`' for base in bases)}."] if bases else []
    parts.append(markdown(inspect.getdoc(value) or ""))
    if inspect.isclass(value) and not _is_cataloged(value):
        parts += [_member(name, key, member) for key, member in _members(value)]
    return "\n\n".join(parts)


def _is_cataloged(cls: type) -> bool:
    """Whether it is one of the many mechanisms, whose members the base classes describe."""
    return issubclass(cls, sdp.Mechanism) and cls not in (sdp.Mechanism, sdp.Randomizer, sdp.FrequencyOracle)


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties with a docstring that the library defines for the class."""
    ours = [base for base in reversed(cls.__mro__) if base.__module__.startswith("shuffledp.")]
    own = {key: member for base in ours if "._support." not in base.__module__ for key, member in vars(base).items()}
    for key, member in own.items():
        value = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if not key.startswith("_") and (callable(value) or hasattr(value, "__get__")) and inspect.getdoc(value):
            yield key, value


def _member(owner: str, key: str, member: Any) -> str:
    head = signature(member, key) if inspect.isfunction(member) else key
    return f"### {owner}.{key}\n\n```python\n{head}\n```\n\n{markdown(inspect.getdoc(member) or '')}"


def _bounds() -> str:
    rows = []
    for bound in BOUNDS.values():
        kind = "lower" if bound.side == "lower" else "upper" if bound.sound else "**not a bound**"
        cells = (f"`{bound.name}`", bound.title, bound.needs, kind, bound.validity or "always", bound.citation)
        rows.append("| " + " | ".join(prose(cell) if cell[0] not in "`*" else cell for cell in cells) + " |")
    text = """---
hide: [toc]
---

# Bounds

What `bound=` and `--bound` take, beside `auto`, which takes the smallest sound one that is worth evaluating. An upper
bound is never too small, a lower bound never too large; what is marked as not a bound is kept to reproduce a paper and
is never chosen. `shuffledp bounds` prints the same list."""
    head = "| name | what it is | it uses | kind | holds for | source |\n|---|---|---|---|---|---|"
    return "\n\n".join([text, "\n".join([head, *rows])]) + "\n"


def _specs() -> str:
    rows = [f"| `{name}:{needs}` | {_summary(find(name))} | `{find(name).__name__}` |" for name, needs in signatures()]
    text = """---
hide: [toc]
---

# Specs

A spec names a mechanism in one line: `NAME:KEY=VALUE,KEY=VALUE`, the same in Python (`sdp.mechanism`), on the command
line, in programme and plan files. Optional parameters stand in brackets."""
    return "\n\n".join([text, "\n".join(["| spec | what it is | class |", "|---|---|---|", *rows])]) + "\n"


def _commands() -> str:
    text = """# Commands

Exit codes: 0 done, 1 the target is not met, 2 bad input (one sentence on stderr), 3 could not be certified, 70 an
internal error. With `--json` every command prints one JSON object on stdout, and messages go to stderr."""
    with click.Context(program, info_name="shuffledp") as context:
        every = [_command(program.get_command(context, name), context) for name in program.list_commands(context)]
    return "\n\n".join([text, *every]) + "\n"


def _command(command: click.Command | None, parent: click.Context) -> str:
    if command is None:
        raise ValueError("a command that is listed cannot be found.")
    with click.Context(command, info_name=command.name, parent=parent) as context:
        usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
        words = [_help(paragraph) for paragraph in inspect.cleandoc(command.help or "").split("\n\n")]
        records = [p.get_help_record(context) for p in command.params if isinstance(p, click.Option)]
    rows = [f"| `{option}` | {prose(words)} |" for option, words in filter(None, records)]
    table = "\n".join(["| option | what it does |", "|---|---|", *rows])
    return "\n\n".join([f"## {command.name}", f"```text\n{usage}\n```", *words, table])


def _help(paragraph: str) -> str:
    """A paragraph of a help text; click keeps the lines of one that starts with a backspace, and so do we."""
    if paragraph.startswith("\b\n"):
        return f"```text\n{textwrap.dedent(paragraph[2:])}\n```"
    return prose(paragraph)
