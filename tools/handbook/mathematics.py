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
#: How many children an element has; with fewer, something is missing from the formula.
_CHILDREN = {"mfrac": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2, "msubsup": 3, "munderover": 3}
_CLOSES = {")": "(", "]": "[", "}": "{", "|": "|"}
_RELATIONS = {"=", "≤", "≥", "<", ">", "∈", "≠", "\u223c", ","}
_THIN, _THICK = "0.167em", "0.278em"
#: A formula in a line with more symbols than this may be broken after a relation, and after a sign if parts are long.
_LONG = 12
#: Spaces inside the dollars, or a digit after them, make them dollars of money or of a shell.  What touches a formula
#: from outside stays on its line.
_INLINE = r"(\(?)(?<![\\$])\$(?!\s|\$)([^$]+?)(?<!\s)\$(?![\d$])((?:-\w+|'s)?[.,;:)!?]*)"
_DISPLAY = r"(?<![\\$])\$\$\s*([^$]+?)\s*\$\$(?!\$)"


def mathml(latex: str, *, display: bool = False) -> str:
    """A formula as MathML.

    >>> mathml("x_0").replace(' xmlns="http://www.w3.org/1998/Math/MathML"', "")
    '<math display="inline"><mrow><msub><mi>x</mi><mn>0</mn></msub></mrow></math>'
    >>> mathml(r"\\nonsense{x}")
    Traceback (most recent call last):
    ValueError: cannot typeset '\\\\nonsense{x}': unknown command '\\\\nonsense'.
    """
    return "<wbr>".join(ET.tostring(part, encoding="unicode") for part in _typeset(latex, display=display))


def _typeset(latex: str, *, display: bool) -> list[ET.Element]:
    """The formula as one element, or, in a line, as the parts between which it may be broken."""
    ET.register_namespace("", _SPACE[1:-1])
    try:
        made = ET.fromstring(convert(latex, display="block" if display else "inline"))
    except Exception as error:  # the converter raises many kinds, and XML that is none is a failure too
        raise ValueError(f"cannot typeset {latex!r}: {type(error).__name__}: {error}") from error
    _bars(made, latex)
    for element in list(made.iter()):
        if "\\" in (element.text or ""):
            raise ValueError(f"cannot typeset {latex!r}: unknown command {(element.text or '').strip()!r}.")
        if len(element) != _CHILDREN.get(_name(element), len(element)):
            raise ValueError(f"cannot typeset {latex!r}: something is missing in {_name(element)!r}.")
        if _name(element) == "mi" and len(element.text or "") > 1 and (element.text or "").isalpha():
            element.tag = f"{_SPACE}mo"  # the name of a function, log or exp
        _group(element)
        _place_limits(element)
    for element in made.iter():
        _space(element)
    return [made] if display else _parts(made)


def _name(element: ET.Element) -> str:
    return element.tag.removeprefix(_SPACE)


def _operator(element: ET.Element) -> str:
    """The operator that an element is, or carries limits or scripts around; nothing for anything else."""
    while _name(element) in {*_BELOW, *_BELOW.values()} and len(element):
        element = element[0]
    return (element.text or "") if _name(element) == "mo" else ""


def _bars(made: ET.Element, latex: str) -> None:
    """Vertical bars open and close in turn; none of them grows with what is around it."""
    bars = [element for element in made.iter(f"{_SPACE}mo") if element.text == "|"]
    if len(bars) % 2:
        raise ValueError(f"cannot typeset {latex!r}: a vertical bar is not closed; a lone one is \\mid.")
    for i, bar in enumerate(bars):
        form = "postfix" if i % 2 else "prefix"
        bar.attrib.update({"form": form, "stretchy": "false", "fence": "true", "lspace": "0", "rspace": "0"})


def _group(element: ET.Element) -> None:
    """A script behind a closing bracket belongs to the whole bracket."""
    children = list(element)
    for child in children:
        closing = child[0] if _name(child) in _BELOW and len(child) else None
        if closing is None or _name(closing) != "mo" or closing.text not in _CLOSES:
            continue
        start = _opening(list(element), list(element).index(child), closing.text or "")
        if start is None:
            continue
        inside = list(element)[start : list(element).index(child)]
        row = ET.Element(f"{_SPACE}mrow")
        for part in inside:
            element.remove(part)
            row.append(part)
        child.remove(closing)
        row.append(closing)
        child.insert(0, row)


def _opening(children: list[ET.Element], end: int, closing: str) -> int | None:
    """Where the bracket was opened that is closed by the child number ``end``."""
    depth = 1
    for i in range(end - 1, -1, -1):
        child = children[i]
        text = child.text if _name(child) == "mo" else child[0].text if _name(child) in _BELOW and len(child) else ""
        is_open = text == _CLOSES[closing] and (closing != "|" or child.get("form") == "prefix")
        depth += (text == closing and not is_open) - is_open
        if depth == 0:
            return i
    return None


def _place_limits(element: ET.Element) -> None:
    name = _name(element)
    if name in _BELOW and len(element) and _name(element[0]) == "mo" and element[0].text in _WITH_LIMITS:
        element.tag = _SPACE + _BELOW[name]
        element[0].set("movablelimits", "true")


def _space(element: ET.Element) -> None:
    """The spaces of TeX: none around a slash, thin ones around the names of functions, none before a bracket."""
    children = list(element)
    for i, child in enumerate(children):
        operator = _operator(child)
        if operator == "/":
            child.attrib.update({"lspace": "0", "rspace": "0"})
        elif len(operator) > 1 and operator.isalpha():
            before = _operator(children[i - 1]) if i else "("
            bracket = i + 1 < len(children) and _operator(children[i + 1]) in {"(", "["}
            while _name(child) != "mo":
                child = child[0]
            child.set("lspace", _THIN if not before or before in _CLOSES else "0")
            child.set("rspace", "0" if bracket else _THIN)


def _parts(made: ET.Element) -> list[ET.Element]:
    """A long formula of a line in parts, each ending in a relation or a sign; browsers break only between them."""
    row = made[0] if len(made) == 1 else made
    if _size(row) <= _LONG:
        return [made]
    parts = [piece for part in _cut(list(row), _RELATIONS) for piece in _cut(part, {"+", "\u2212"}, _LONG)]
    if len(parts) == 1:
        return [made]
    found = []
    for part in parts:
        math = ET.Element(made.tag, made.attrib)
        ET.SubElement(math, f"{_SPACE}mrow").extend(part)
        found.append(math)
    return found


def _size(element: ET.Element) -> int:
    return sum(1 for part in element.iter() if not len(part))


def _cut(children: list[ET.Element], signs: set[str], most: int = 0) -> list[list[ET.Element]]:
    """Cut behind these operators, where they stand outside of brackets and between two things."""
    if sum(map(_size, children)) <= most:
        return [children]
    found: list[list[ET.Element]] = [[]]
    depth = 0
    for i, child in enumerate(children):
        text = (child.text or "") if _name(child) == "mo" else ""
        depth += (text in set("([{")) - (text in set(")]}"))
        found[-1].append(child)
        if text in signs and not depth and 0 < i < len(children) - 1 and _operator(children[i - 1]) not in _RELATIONS:
            if text != ",":
                child.attrib.update({"form": "infix", "lspace": _THICK, "rspace": _THICK})
            found.append([])
    return found


class _Formula(InlineProcessor):
    """Puts the MathML aside, so that no other rule of Markdown reads into it."""

    def __init__(self, pattern: str, md: Markdown, *, display: bool) -> None:
        super().__init__(pattern, md)
        self.display = display

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[str, int, int]:  # type: ignore[override]  # noqa: N802
        if self.display:  # a box of its own, which scrolls where the screen is narrow
            made = f'<span class="formula" tabindex="0">{mathml(m[1], display=True)}</span>'
        else:
            made = _joined(m[1], mathml(m[2]), m[3])
        return self.md.htmlStash.store(made), m.start(0), m.end(0)


def _joined(before: str, made: str, after: str) -> str:
    """Punctuation stays on the line of the formula that it touches."""
    if not before and not after:
        return made
    first, middle, last = made, "", ""
    if "<wbr>" in made:
        first, _, rest = made.partition("<wbr>")
        middle, _, last = rest.rpartition("<wbr>")
        middle = f"<wbr>{middle}<wbr>" if middle else "<wbr>"
    if not last:
        return f'<span class="line">{before}{first}{after}</span>'
    head = f'<span class="line">{before}{first}</span>' if before else first
    tail = f'<span class="line">{last}{after}</span>' if after else last
    return head + middle + tail


class Mathematics(Extension):
    """The extension of Markdown, named in mkdocs.yml."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Register both kinds of formulas: after code spans, before everything else."""
        md.inlinePatterns.register(_Formula(_DISPLAY, md, display=True), "display formula", 188)
        md.inlinePatterns.register(_Formula(_INLINE, md, display=False), "formula", 187)


def makeExtension(**settings: Any) -> Mathematics:  # noqa: N802
    """What Markdown calls."""
    return Mathematics(**settings)
