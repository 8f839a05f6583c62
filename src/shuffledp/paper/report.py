"""report.html: one file that loads nothing, the paper's words beside the numbers, figures inline."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from typing import Any

from .._support.numbers import round_down, round_up
from .._support.tables import Column, Table

_CLASS = {"holds": "holds", "partly": "partly", "does not hold": "fails"}


def page(found: dict[str, Any], pictures: dict[str, str], captions: dict[str, str]) -> str:
    """The whole report from results.json's contents, the figures as SVG text and what to say below each."""
    results = found["results"]
    body = [
        "<h1>What the paper says, and what is true</h1>",
        f'<p class="soft">{escape(found["paper"])}. Computed again by shuffledp {escape(found["version"])}, '
        f"{found['points']} points per curve.</p>",
        _summary(found["claims"]),
    ]
    if found["claims"]:
        body += ["<h2>Claim by claim</h2>", *(_claim(i, c) for i, c in enumerate(found["claims"], 1))]
    if pictures:
        body.append("<h2>Figures</h2>")
        body += [_figure(part, found["titles"][part], svg, captions[part]) for part, svg in pictures.items()]
    if "table5" in results:
        body += ["<h2>Table 5</h2>", _speed(results["table5"]["table5"])]
    if "tightness" in results:
        body += ["<h2>Exactly tight?</h2>", _tightness(results["tightness"]["tightness"])]
    if "errata" in results:
        body += ["<h2>Errata</h2>", _errata(results["errata"]["errata"]["data"]["entries"])]
    body += ["<h2>What was assumed</h2>", "<ul>", *(f"<li>{escape(x)}</li>" for x in found["assumptions"]), "</ul>"]
    body.append(
        "<h2>Again</h2><p><code>shuffledp reproduce</code> writes this page, <code>results.json</code>"
        " with every number on it, and the figures as PDF, SVG and PNG.</p>"
    )
    style = files(__package__).joinpath("report.css").read_text(encoding="utf-8")
    head = (
        '<meta charset="utf-8"/><meta name="viewport" content="width=device-width, initial-scale=1"/>'
        f"<title>What the paper says, and what is true</title><style>\n{style}</style>"
    )
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>\n' + "\n".join(body) + "\n</body></html>\n"


def _badge(verdict: str) -> str:
    return f'<span class="v {_CLASS[verdict]}">{escape(verdict)}</span>'


def _summary(claims: list[dict[str, Any]]) -> str:
    if not claims:
        return '<p class="soft">No claim could be judged from the parts that are there.</p>'
    marks = [f"v {_CLASS[claim['verdict']]}" for claim in claims]
    heads = {"says": "The paper says", "place": "Where", "verdict": "Verdict"}
    return _scrolled(
        Column(head=head, values=[claim[key] for claim in claims], marks=marks if key == "verdict" else None)
        for key, head in heads.items()
    )


def _claim(number: int, claim: dict[str, Any]) -> str:
    measured = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in claim["measured"].items())
    return (
        f'<section class="claim"><header><h3>{number}. {escape(claim["place"])}</h3>{_badge(claim["verdict"])}</header>'
        f'<div class="sides"><div><h4>The paper says</h4><p>{escape(claim["says"])}</p></div>'
        f"<div><h4>We measure</h4><dl>{measured}</dl></div></div><p>{escape(claim['comment'])}</p></section>"
    )


def _figure(part: str, title: str, svg: str, caption: str) -> str:
    number = part.removeprefix("figure")
    name = f"Figure {number}: {title}" if number.isdigit() else title
    return (
        f'<figure role="group" aria-label="{escape(name)}">{inline(svg, part)}'
        f"<figcaption><b>{escape(name)}.</b> {escape(caption)}</figcaption></figure>"
    )


def inline(svg: str, prefix: str) -> str:
    """An SVG file as part of a page: no prolog, no metadata, identifiers of its own, and a font everybody has.

    Examples
    --------
    >>> inline('<?xml version="1.0"?><svg><metadata>x</metadata><g id="a"/><use xlink:href="#a"/></svg>', "f")
    '<svg><g id="f-a"/><use xlink:href="#f-a"/></svg>'
    """
    text = svg[svg.index("<svg") :].strip()
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"'DejaVu Sans'(?!,)", "'DejaVu Sans', sans-serif", text)
    return re.sub(r'(id="|href="#|url\(#)', lambda found: f"{found[1]}{prefix}-", text)


def _scrolled(columns: Iterable[Column], caption: str = "") -> str:
    return f'<div class="scroll">{Table(tuple(columns), caption=caption).html()}</div>'


def _speed(part: dict[str, Any]) -> str:
    head = ("eps0", "n", "eps here", "eps, T = 20", "above", "time", "eps, T = 10", "above", "time")
    rows = []
    for row in part["data"]["rows"]:
        cells = [f"{row['eps0']:g}", f"{row['n']:,}", round_up(row["epsilon"], 7)]
        for printed in (row["T20"], row["T10"]):
            cells += [printed["epsilon"], f"{100 * printed['above']:+.2f} %", f"{printed['seconds']:g} s"]
        rows.append(cells)
    caption = (
        "Any eps0-LDP randomizer that all users run, delta = 0.01/n. Here: relative error at most 1e-6, upwards. "
        "T = 20 and T = 10: as printed, with times of the authors' machine."
    )
    columns = zip(head, zip(*rows, strict=True), strict=True)
    return _scrolled((Column(head=h, values=cells, right=True) for h, cells in columns), caption)


def _tightness(part: dict[str, Any]) -> str:
    rows = part["data"]["rows"]
    sides = {
        "two-counts": ("two counts", round_down),
        "dataset": ("best dataset", round_down),
        "published": ("as printed", round_up),
        "blanket": ("exact blanket", round_up),
        "repaired": ("repaired", round_up),
    }
    columns = [
        Column(head="Row", values=[r["claim"] for r in rows]),
        *(
            Column(head=head, values=[side(r["epsilon"][key], 6) for r in rows], right=True)
            for key, (head, side) in sides.items()
        ),
        Column(head="own test", values=["met" if r["own_test"] else "not met" for r in rows], right=True),
        Column(head="verdict", values=[r["verdict"] for r in rows], right=True),
    ]
    s = part["settings"]
    caption = (
        f"eps at n = {s['n']:,}, delta = {s['delta']!r}, eps0 = {s['eps0']!r} where it applies. The first two are "
        'lower bounds. "not a bound": a dataset is worse than the printed value; "not tight": the exact blanket is '
        'smaller; "own test": the printed value equals the two-count lower bound, as the paper asks; '
        '"open": no known dataset reaches the printed value.'
    )
    return _scrolled(columns, caption)


def _errata(entries: list[dict[str, Any]]) -> str:
    heads = {"place": "Where", "wrong": "What is wrong", "case": "A case", "printed": "printed", "truth": "true"}
    columns = (Column(head=h, values=[e[key] for e in entries]) for key, h in (heads | {"repair": "Instead"}).items())
    return _scrolled(columns, "Fractions are exact; the true ones are enumerated case by case.")
