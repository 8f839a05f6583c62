"""Formulas: LaTeX between dollar signs becomes MathML when the site is built, so that no script is needed to read it.

``$x$`` stands in a line and ``$$x$$`` on lines of its own; code spans are left alone.  A formula that cannot be
typeset is an error of the build, never a formula with a hole in it.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any

from latex2mathml.converter import convert
from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor

_SPACE = "{http://www.w3.org/1998/Math/MathML}"
#: Operators whose limits stand below and above them where there is room: in formulas on lines of their own.
_WITH_LIMITS = {"∑", "∏", "max", "min", "mean", "sup", "inf", "lim"}
_BELOW = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}
#: Spaces inside the dollars, or a digit after them, make them dollars of money or of a shell.
_INLINE = r"(?<![\\$])\$(?!\s|\$)([^$]+?)(?<!\s)\$(?![\d$])"
_DISPLAY = r"(?<![\\$])\$\$\s*([^$]+?)\s*\$\$(?!\$)"


def mathml(latex: str, *, display: bool = False) -> str:
    """A formula as MathML.

    >>> mathml("x_0").replace(' xmlns="http://www.w3.org/1998/Math/MathML"', "")
    '<math display="inline"><mrow><msub><mi>x</mi><mn>0</mn></msub></mrow></math>'
    >>> mathml(r"\\nonsense{x}")
    Traceback (most recent call last):
    ValueError: cannot typeset '\\\\nonsense{x}': unknown command '\\\\nonsense'.
    """
    ET.register_namespace("", _SPACE[1:-1])
    try:
        made = ET.fromstring(convert(latex, display="block" if display else "inline"))
    except Exception as error:  # the converter raises many kinds, and XML that is none is a failure too
        raise ValueError(f"cannot typeset {latex!r}: {type(error).__name__}: {error}") from error
    for element in made.iter():
        if "\\" in (element.text or ""):
            raise ValueError(f"cannot typeset {latex!r}: unknown command {(element.text or '').strip()!r}.")
        _place_limits(element)
    return ET.tostring(made, encoding="unicode")


def _place_limits(element: ET.Element) -> None:
    name = element.tag.removeprefix(_SPACE)
    if name in _BELOW and len(element) and element[0].tag == f"{_SPACE}mo" and element[0].text in _WITH_LIMITS:
        element.tag = _SPACE + _BELOW[name]
        element[0].set("movablelimits", "true")


class _Formula(InlineProcessor):
    """Puts the MathML aside, so that no other rule of Markdown reads into it."""

    def __init__(self, pattern: str, md: Markdown, *, display: bool) -> None:
        super().__init__(pattern, md)
        self.display = display

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[str, int, int]:  # type: ignore[override]  # noqa: N802
        made = mathml(m[1], display=self.display)
        if self.display:  # a box of its own, which scrolls where the screen is narrow
            made = f'<span class="formula" tabindex="0">{made}</span>'
        return self.md.htmlStash.store(made), m.start(0), m.end(0)


class Mathematics(Extension):
    """The extension of Markdown, named in mkdocs.yml."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Register both kinds of formulas: after code spans, before everything else."""
        md.inlinePatterns.register(_Formula(_DISPLAY, md, display=True), "display formula", 188)
        md.inlinePatterns.register(_Formula(_INLINE, md, display=False), "formula", 187)


def makeExtension(**settings: Any) -> Mathematics:  # noqa: N802
    """What Markdown calls."""
    return Mathematics(**settings)
