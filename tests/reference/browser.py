"""Looking at the page as a person does: open it, wait until it has settled, read it, save a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_CHROMIUM = "/usr/bin/chromium"
_FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
#: A setting by hand: nothing follows the budget.
HAND = "#mechanism=grr&eps0=2&d=64&n=100000&delta=1e-7"


@contextmanager
def launched() -> Iterator[Any]:
    """Debian's Chromium without a screen, for as long as the block runs."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=_CHROMIUM, args=_FLAGS)
        yield browser
        browser.close()


def opened(page: Any, address: str) -> Any:
    """The page at an address, with its answers."""
    page.goto(address)
    page.wait_for_selector("#level:not([hidden])")
    settled(page)
    return page


def settled(page: Any) -> None:
    """Wait until every answer has arrived."""
    page.wait_for_selector("#views[aria-busy=false]")


def headline(page: Any) -> str:
    """The total, as it is shown."""
    return str(page.text_content("#epsilon-total"))


def changes(page: Any, before: str) -> str:
    """Wait for another total."""
    page.wait_for_function("before => document.getElementById('epsilon-total').textContent !== before", arg=before)
    return headline(page)


def saved(page: Any, selector: str, folder: Path) -> Path:
    """The file behind a link."""
    with page.expect_download() as waiting:
        page.click(selector)
    file = folder / waiting.value.suggested_filename
    waiting.value.save_as(file)
    return file
