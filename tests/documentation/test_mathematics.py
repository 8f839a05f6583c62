"""Formulas of the pages become MathML, and nothing else becomes a formula."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import markdown
import pytest

from handbook.mathematics import mathml
from reference.places import ROOT

PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]
MATH = "{http://www.w3.org/1998/Math/MathML}"


def html(page: str) -> str:
    return markdown.markdown(page, extensions=["handbook.mathematics", "tables", "fenced_code"])


def parsed(latex: str, *, display: bool = False) -> ET.Element:
    return ET.fromstring(mathml(latex, display=display))


def operators(latex: str) -> list[tuple[str | None, dict[str, str]]]:
    return [(element.text, element.attrib) for element in parsed(latex).iter(f"{MATH}mo")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_formula_of_every_page_can_be_typeset(page: Path) -> None:
    text = page.read_text("utf-8")
    words = re.sub(r"^```.*?^```|`[^`]*`|<!--.*?-->", "", text, flags=re.DOTALL | re.MULTILINE)
    made = html(text)
    assert ("<math" in made) == ("$" in words)
    assert "$" not in re.sub(r"<(code|pre)\b.*?</\1>|<!--.*?-->", "", made, flags=re.DOTALL), "a dollar is left over"


def test_in_a_line_and_on_lines_of_its_own() -> None:
    made = html("a $x_0$ b\n\n$$\n\\sum_{k=0}^n a_k\n$$\n")
    assert made.count("<math") == 2 and 'class="formula"' in made
    assert "<munderover>" in made and 'display="block"' in made


@pytest.mark.parametrize(
    "page", ["`$x$`", "```sh\n$ ls $HOME\n```", "costs 5$ or $ 6", r"a \$x\$ b", "$5 and 6$7"], ids=repr
)
def test_left_alone(page: str) -> None:
    assert "<math" not in html(page)


def test_signs_of_markdown_inside_are_not_read() -> None:
    made = html("$a_b * c_d * e_f < g$ and *this*")
    assert "<em>this</em>" in made and made.count("<em>") == 1 and "<mo>&lt;</mo>" in made


def test_in_a_table() -> None:
    made = html("| a | b |\n|---|---|\n| $\\lvert x\\rvert$ | $y$ |\n")
    assert made.count("<td><math") == 2


def test_punctuation_stays_with_its_formula() -> None:
    assert re.search(r'<span class="line">\(<math.*?</math>\),</span> so', html("it is ($x$), so"))
    assert re.search(r'<span class="line"><math.*?</math>-LDP</span>', html("an $x$-LDP one"))


def test_a_script_belongs_to_the_whole_bracket() -> None:
    script = parsed(r"2 (x + (y))_{+}").find(f".//{MATH}msub")
    assert script is not None and "".join(script[0].itertext()) == "(x+(y))"
    power = parsed(r"\lvert M \rvert^2").find(f".//{MATH}msup")
    assert power is not None and "".join(power[0].itertext()) == "|M|"


def test_bars_open_and_close() -> None:
    assert [given["form"] for text, given in operators(r"\lvert a \rvert \lvert b \rvert")] == [
        *("prefix", "postfix", "prefix", "postfix")
    ]


def test_names_of_functions_are_spaced_as_in_tex() -> None:
    (text, given), *_ = operators(r"a \log b")
    assert (text, given["lspace"], given["rspace"]) == ("log", "0.167em", "0.167em")
    (text, given), *_ = operators(r"\exp(b)")
    assert (text, given["lspace"], given["rspace"]) == ("exp", "0", "0")


def test_long_ones_may_be_broken_after_relations_outside_of_brackets() -> None:
    parts = mathml(r"f(a = b) + c + d + e + g + h + i \le j + k = l").split("<wbr>")
    ends = ["".join(ET.fromstring(part).itertext())[-1] for part in parts]
    assert len(parts) > 2 and ends[-1] == "l" and set(ends[:-1]) <= {"≤", "=", "+"} and "≤" in ends
    assert "<wbr>" not in mathml("a = b") and "<wbr>" not in mathml(
        r"a + b + c + d + e + f + g \le j + k", display=True
    )


@pytest.mark.parametrize(
    "latex", [r"\nonsense{x}", r"\frac{a}", "a & b", r"\lvert x", r"\begin{aligned} a \end{aligned} &"]
)
def test_what_cannot_be_typeset_is_an_error(latex: str) -> None:
    with pytest.raises(ValueError, match="cannot typeset"):
        mathml(latex)
