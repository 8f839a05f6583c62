"""The JavaScript client in headless Chromium: vectors, tabs, lost answers, and the page of the quickstart."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shuffledp as sdp
from reference.browser import launched
from reference.deployed import Deployed
from reference.places import ROOT
from reference.site import Site, Tab

pytestmark = pytest.mark.shuffler
LABELS = ["apple", "banana", "pear"]


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with launched() as browser:
        yield browser


@pytest.fixture
def deployed(tmp_path: Path, site: Site) -> Iterator[Deployed]:
    query = sdp.queries.Histogram(column="fruit", labels=LABELS, mechanism="grr:eps0=3")
    with Deployed(tmp_path, sdp.Plan(query=query, users=10, delta=1e-6, name="Fruit of the day")) as made:
        site.files["settings.json"] = {
            "service": made.address,
            "publishers": [made.publisher],
            "name": made.publication.name,
        }
        yield made


def test_vectors(chromium: Any, site: Site) -> None:
    """Every law and the appendix of RFC 9180, in this engine as in Node."""
    tab = Tab(chromium.new_context(), site)
    names = sorted(path.name for path in (ROOT / "clients" / "vectors").glob("*.json"))
    code = """
        const { drawRows } = await at("law");
        const { fromHex, toHex } = await at("bytes");
        let count = 0;
        for (const name of given.names) {
          const { portable, vectors } = await (await fetch("/clients/vectors/" + name)).json();
          for (const { value, rows, random, report } of vectors) {
            const bytes = fromHex(random);
            let used = 0;
            const take = (many) => bytes.slice(used, (used += many));
            const found = drawRows(portable, rows ?? [value], take).map(toHex);
            if (String(found) !== String(report) || used !== bytes.length) return `${name}: ${found}`;
            count++;
          }
        }
        return count;
    """
    assert tab.run(code, names=names) > 500
    code = """
        const { fromHex, toHex, concat } = await at("bytes");
        const { setup } = await at("hpke");
        const secret = "52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736";
        const open = "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431";
        const pkcs8 = concat(fromHex("302e020100300506032b656e04220420"), fromHex(secret));
        const pair = {
          privateKey: await crypto.subtle.importKey("pkcs8", pkcs8, "X25519", false, ["deriveBits"]),
          publicKey: await crypto.subtle.importKey("raw", fromHex(open), "X25519", true, []),
        };
        const other = fromHex("3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d");
        const made = await setup(other, new TextEncoder().encode("Ode on a Grecian Urn"), pair);
        return [made.key, made.nonce, made.exporter].map(toHex);
    """
    assert tab.run(code) == [
        "4531685d41d65f03dc48f6b8302c05b0",
        "56d890e5accaaf011cff4b7d",
        "45ff1c2e220db587171952c0592d5f5ebe103f1561a2614e38f2ffd47e99e3f8",
    ]


def test_20_browsers(chromium: Any, site: Site, deployed: Deployed) -> None:
    """Each reports once, and asks nobody but the site and the service."""
    for i in range(20):
        context = chromium.new_context()
        tab = Tab(context, site)
        assert tab.report(LABELS[i % 3]) == "sent"
        if i < 2:
            assert tab.report("apple") == "already sent"
            tab.page.reload()
            assert tab.report("apple") == "already sent"
        assert tab.posts == [f"{deployed.address}/ohttp"]
        assert all(url.startswith((site.address, deployed.address)) for _, url in tab.asked)
        context.close()
    assert len(deployed.released()) == 20


def test_tabs_and_lost_answers(chromium: Any, site: Site, deployed: Deployed) -> None:
    """Tabs of one browser at once, a service that is down, an answer that is lost: one report."""
    context = chromium.new_context()
    tabs = [Tab(context, site) for _ in range(2)]
    deployed.stop(signal.SIGKILL)
    assert tabs[0].report("pear") == "The service could not be reached; try again later."
    deployed.start()
    context.route("**/ohttp", lambda route: (route.fetch(), route.abort()))  # it arrives, and nobody hears of it
    assert tabs[0].report("pear") == "The service could not be reached; try again later."
    context.unroute("**/ohttp")
    start = """
        const { Client, BrowserStorage } = await at("index");
        window.done = Promise.all([1, 2, 3].map(() =>
          new Client({ ...given.settings, storage: new BrowserStorage() }).report(given.settings.name, given.value)));
    """
    for tab, value in zip(tabs, ("apple", "banana"), strict=True):
        tab.run(start, settings=site.files["settings.json"], value=value)
    said = [one["status"] for tab in tabs for one in tab.page.evaluate("window.done")]
    assert "sent" in said and len(said) == 6
    others = [chromium.new_context() for _ in range(9)]
    assert [Tab(other, site).report("apple") for other in others] == ["sent"] * 9
    assert len(deployed.released()) == 10  # the smallest batch: one of them more or less would show


def test_tabs_draw_once(chromium: Any, site: Site, deployed: Deployed) -> None:
    """A race from the start: nothing is kept yet, and many draw; all send the bytes that were kept first."""
    context = chromium.new_context()
    tabs = [Tab(context, site) for _ in range(3)]
    bodies: list[bytes] = []
    context.route("**/reports", lambda route: (bodies.append(route.request.post_data_buffer), route.continue_()))
    start = """
        const { Client, BrowserStorage } = await at("index");
        window.done = Promise.all([1, 2, 3, 4].map(() => {
          const client = new Client({ ...given.settings, plain: true, storage: new BrowserStorage() });
          return client.report(given.settings.name, "pear");
        }));
    """
    for tab in tabs:
        tab.run(start, settings=site.files["settings.json"])
    for tab in tabs:
        tab.page.evaluate("window.done")
    assert bodies and len(set(bodies)) == 1


def test_the_browser_is_asked_to_keep_what_is_stored(chromium: Any, site: Site, deployed: Deployed) -> None:
    """Whether it says yes, no, or nothing, the report is sent."""
    asked = "window.asked = 0; navigator.storage.persist = () => { window.asked++; return ANSWER; };"
    for answer in ("Promise.resolve(true)", "Promise.reject(new Error('no'))", "new Promise(() => undefined)"):
        tab = Tab(chromium.new_context(), site)
        tab.page.evaluate(f"() => {{ {asked.replace('ANSWER', answer)} }}")
        assert tab.report("pear") == "sent"
        assert tab.page.evaluate("window.asked") == 1


def test_nothing_is_sent_without_storage(chromium: Any, site: Site, deployed: Deployed) -> None:
    tab = Tab(chromium.new_context(), site)
    tab.page.evaluate(
        "() => { IDBFactory.prototype.open = () => { throw new DOMException('denied', 'SecurityError'); }; }"
    )
    assert tab.report("pear") == "The storage does not keep what is written; nothing is sent."
    tab.page.reload()
    full = "() => { IDBObjectStore.prototype.put = () => { throw new DOMException('full', 'QuotaExceededError'); }; }"
    tab.page.evaluate(full)
    assert tab.report("pear") == "The storage does not keep what is written; nothing is sent."
    assert tab.posts == []


def test_page(chromium: Any, site: Site, deployed: Deployed, tmp_path: Path) -> None:
    """The page of the quickstart: a verified plan, one answer, a crowd, and what was collected."""
    context = chromium.new_context(viewport={"width": 800, "height": 820})
    tab = Tab(context, site, "/examples/shuffler/")
    page = tab.page
    page.wait_for_selector("#form:not([hidden])")
    assert page.text_content("#title") == "Fruit of the day"
    assert "The plan is verified." in page.text_content("#terms") and "at least 10 people" in page.text_content(
        "#terms"
    )
    assert deployed.publication.digest in page.text_content("#terms")
    page.click("text=pear")
    page.click("text=Send my answer")
    page.wait_for_function("document.getElementById('said').textContent === 'Your answer was sent.'")
    page.click("text=Send my answer")
    page.wait_for_function("document.getElementById('said').textContent.includes('was sent before; it counts once')")
    page.click("#crowd")
    page.wait_for_function("document.getElementById('said').textContent === '200 made-up answers were sent.'")
    messages = deployed.released()
    assert len(messages) == 201
    collected = {"items": LABELS, "value": [0.5, 0.3, -0.01], "low": [0.4, 0.2, -0.1], "high": [0.6, 0.4, 0.1]}
    site.files["answer.json"] = collected | {"users": 201}
    page.wait_for_selector("#answer:not([hidden])")
    assert page.text_content("#bars tr:first-child td:last-child") == "50.0 %"
    page.screenshot(path=str(tmp_path / "page.png"))
    del site.files["answer.json"]
    page.reload()
    page.wait_for_selector("#said.bad")  # the service is gone
    assert page.text_content("#said") == "The service could not be reached; try again later."
    assert all(url.startswith((site.address, deployed.address, "data:")) for _, url in tab.asked)
