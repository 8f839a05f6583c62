"""Looks for what the site could not do from a folder: ``python -m handbook.offline SITE``.

A link that a reader may follow is fine; a script, style sheet, font, picture or frame from another place is not.  The
search must come with its index as a script, since pages that are read from a folder may not fetch files.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

#: Elements that make a browser load something, and the attributes that name it.
_LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href", "object": "data"}
#: Links that name something and load nothing.
_NAMES = {"canonical", "next", "prev", "edit", "alternate"}
_STYLE = re.compile(r"""(?:url\(|@import)\s*["']?(?:https?:)?//[^"')\s]+""")


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        address = given.get(_LOADS.get(tag, "")) or ""
        if tag == "link" and (given.get("rel") or "") in _NAMES:
            return
        if re.match(r"(?:https?:)?//", address):
            self.found.append(address)
        self.found += _STYLE.findall(given.get("style") or "")


def loads(text: str) -> list[str]:
    """Addresses elsewhere that a page of HTML loads.

    >>> loads('<a href="https://x.org">x</a><img src="a.svg"><script src="https://cdn.org/x.js"></script>')
    ['https://cdn.org/x.js']
    """
    page = _Page()
    page.feed(text)
    return page.found


def problems(site: Path) -> list[str]:
    """Every file of the site that would load something from elsewhere, and what; and a search that needs a server."""
    needs = (site / "search").is_dir() and not (site / "search" / "search_index.js").is_file()
    found = ["search: the index is not a script"] if needs else []
    for file in sorted(site.rglob("*")):
        if file.suffix in {".html", ".svg"}:
            bad = loads(file.read_text("utf-8"))
        elif file.suffix == ".css":
            bad = _STYLE.findall(file.read_text("utf-8"))
        else:
            continue
        found += [f"{file.relative_to(site)}: {address}" for address in bad]
    return found


if __name__ == "__main__":
    if bad := problems(Path(sys.argv[1])):
        sys.exit("the site cannot be read from a folder alone:\n" + "\n".join(bad))
