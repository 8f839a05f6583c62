"""What a page would load from elsewhere is found; what a reader may follow is not counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from handbook.offline import loads, problems


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.org/x.js"></script>',
        '<link rel="stylesheet" href="//fonts.org/x.css">',
        '<img src="http://x.org/y.png"/>',
        '<p style="background: url(https://x.org/y.png)">',
    ],
)
def test_found(text: str) -> None:
    assert len(loads(text)) == 1


@pytest.mark.parametrize(
    "text", ['<a href="https://x.org">x</a>', '<link rel="canonical" href="https://x.org">', '<img src="a/b.svg">']
)
def test_left_alone(text: str) -> None:
    assert loads(text) == []


def test_a_site(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<img src="x.png">', "utf-8")
    (tmp_path / "b.css").write_text("@import 'https://fonts.org/x.css'; a { background: url(y.png) }", "utf-8")
    assert problems(tmp_path) == ["b.css: @import 'https://fonts.org/x.css"]


def test_a_search_that_needs_a_server(tmp_path: Path) -> None:
    (tmp_path / "search").mkdir()
    assert problems(tmp_path) == ["search: the index is not a script"]
    (tmp_path / "search" / "search_index.js").write_text("var __index = {}", "utf-8")
    assert problems(tmp_path) == []
