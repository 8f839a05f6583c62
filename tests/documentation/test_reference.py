"""The reference has every public name, bound, mechanism and command with all its options."""

from __future__ import annotations

import re

import click
import pytest

import shuffledp as sdp
from handbook import docstrings, reference
from shuffledp.bounds import BOUNDS
from shuffledp.cli import main
from shuffledp.mechanisms.registry import signatures

PAGES = reference.pages()


def headings(name: str) -> list[str]:
    return re.findall(r"^## (.+)$", PAGES[name], re.MULTILINE)


def test_every_public_name_has_an_entry_and_a_line_in_the_overview() -> None:
    found = [name for page in (f"{key}.md" for key in reference.CHAPTERS) for name in headings(page)]
    further = [f"queries.{name}" for name in sdp.queries.__all__] + [
        f"extend.{name}" for name in reference.only_to_extend()
    ]
    assert "extend.PairSet" in further and sorted(found) == sorted([*sdp.__all__, *further])
    assert all(f"[`{name}`]" in PAGES["index.md"] for name in found)


def test_every_bound_and_mechanism_is_listed() -> None:
    assert set(BOUNDS) == set(re.findall(r"^\| `([\w-]+)` \|", PAGES["bounds.md"], re.MULTILINE))
    assert {name for name, _ in signatures()} == set(re.findall(r"^\| `([\w-]+):", PAGES["specs.md"], re.MULTILINE))


def test_what_is_not_sound_is_marked() -> None:
    for bound in BOUNDS.values():
        (line,) = (line for line in PAGES["bounds.md"].splitlines() if line.startswith(f"| `{bound.name}` |"))
        assert ("**not a bound**" in line) == (not bound.sound)


@pytest.mark.parametrize("name", sorted(main.commands))
def test_every_command_has_all_its_options(name: str) -> None:
    command = main.commands[name]
    assert name in headings("commands.md")
    part = PAGES["commands.md"].partition(f"## {name}\n")[2].partition("\n## ")[0]
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            assert parameter.opts[-1] in part


def test_every_page_has_a_place_in_the_navigation() -> None:
    import yaml

    from reference.places import ROOT

    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    nav = str(yaml.safe_load(text)["nav"])
    assert all(f"reference/{name}" in nav for name in PAGES)


def test_docstrings_become_markdown() -> None:
    text = docstrings.markdown(
        """Of ``n_users`` and x_1 * y <z>.

        Parameters
        ----------
        low, high : float
            The range,
            in a unit.
        rest

        Examples
        --------
        >>> 1 + 1
        2
        """
    )
    assert text.startswith("Of `n_users` and x\\_1 \\* y &lt;z>.")
    assert "- `low, high`: float. The range, in a unit.\n- `rest`:" in text
    assert "```pycon\n>>> 1 + 1\n2\n```" in text


def test_signatures_have_no_quotes_around_types_and_no_addresses() -> None:
    for page in PAGES.values():
        for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
            assert " at 0x" not in block and not re.search(r": '[\w\[\]| .]+'", block), block
