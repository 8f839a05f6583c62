"""A statement on one page, for people who sign: sections in plain words, and the formal paragraphs last."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import ParameterError
from .files import write_whole
from .tables import as_page
from .text import visible

_STYLE = (
    "body{max-width:46em;line-height:1.4;overflow-wrap:anywhere}h1{font-size:1.5em}"
    "h2{font-size:1.12em;margin:1em 0 .2em}p,ul{margin:.25em 0}"
    "@media print{body{font-size:10pt}}"
)
#: What Markdown, or a renderer that adds links and formulas to it, would act on.
_ACTIVE = re.compile(r"[\\`*_{}\[\]<>|~&$@#]|:(?=//)|(?<=www)\.", re.IGNORECASE)


class Section(NamedTuple):
    """A heading and its sentences, which are a list where ``listed`` says so."""

    heading: str
    texts: tuple[str, ...]
    listed: bool = False


class Statement(str):
    """The formal paragraphs, as one text; and the page around them, as Markdown and HTML.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> fruit = sdp.queries.Histogram(column="fruit", labels=["apple", "pear"], mechanism="grr:eps0=2")
    >>> said = sdp.Plan(query=fruit, users=10_000, delta=1e-6).statement()
    >>> said.startswith("With n = 10,000 users"), said.markdown().startswith("# Privacy statement")
    (True, True)
    """

    heading: str
    sections: tuple[Section, ...]

    def __new__(cls, paragraphs: Sequence[str], heading: str, sections: tuple[Section, ...]) -> Statement:
        """All of it; the paragraphs become the last section."""
        shown = tuple(map(visible, paragraphs))
        made = super().__new__(cls, " ".join(shown))
        made.heading, made.sections = heading, (*sections, Section("Formally", shown))
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.sections[-1].texts, self.heading, self.sections[:-1]

    def markdown(self) -> str:
        """The page as Markdown; text from outside is shown, not obeyed."""
        lines = [f"# {_markdown(self.heading)}"]
        for section in self.sections:
            mark, between = ("- ", "\n") if section.listed else ("", "\n\n")
            lines += [f"## {section.heading}", between.join(mark + _markdown(text) for text in section.texts)]
        return "\n\n".join(lines) + "\n"

    def body(self) -> str:
        """The sections as a part of a page."""
        lines = []
        for section in self.sections:
            tag = "li" if section.listed else "p"
            texts = "\n".join(f"<{tag}>{html.escape(visible(text))}</{tag}>" for text in section.texts)
            lines += [f"<h2>{section.heading}</h2>", f"<ul>\n{texts}\n</ul>" if section.listed else texts]
        return "\n".join(lines)

    def html(self) -> str:
        """The page as HTML that stands alone; text from outside is escaped."""
        heading = f"<h1>{html.escape(visible(self.heading))}</h1>"
        return as_page(self.heading, f"{heading}\n{self.body()}", style=_STYLE)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page, as HTML or Markdown by the ending of the path (.html or .md)."""
        kinds = {".html": self.html, ".htm": self.html, ".md": self.markdown}
        made = kinds.get(Path(path).suffix.lower())
        if made is None:
            raise ParameterError(
                f"out must end in .html or .md, got {os.fspath(path)!r}: a statement is a page; choose one of these."
            )
        write_whole(path, made(), name="out")

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON: heading, sections (heading, texts), and the formal paragraph as statement."""
        sections = [{"heading": section.heading, "texts": list(section.texts)} for section in self.sections]
        return {"heading": self.heading, "sections": sections, "statement": str(self)}

    def _repr_html_(self) -> str:
        """The sections, for notebooks."""
        return self.body()


def _markdown(text: str) -> str:
    """Text that Markdown shows as it is.

    >>> print(_markdown("a *b* [c](http://d) <e>"))
    a \\*b\\* \\[c\\](http\\://d) \\<e\\>
    """
    return _ACTIVE.sub(lambda found: "\\" + found[0], visible(text).strip())
