"""The page in a real browser: every input, the link, the files, what is wrong; and no request to anybody else."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from reference.browser import HAND, changes, headline, opened, saved, settled
from shuffledp.cli import main

pytestmark = pytest.mark.web

#: Every input that the first page has, and a value by hand.
TYPED = {"eps0": "1.5", "d": "32", "n": "250000", "delta": "1e-9", "rounds": "4", "dropouts": "7"}


def test_it_loads_with_every_answer(page: Any, server: str) -> None:
    opened(page, server + HAND)
    assert headline(page) == "ε ≤ 0.012504" and "very strong" in page.text_content("#level")
    page.click("#bounds-section > summary")
    page.wait_for_selector("#bounds tbody tr")  # the section asks only after the click was handled
    settled(page)
    for place in ("#curve-n path.upper", "#curve-noise path.upper", "#rounds-chart path.upper", "#scale .needle"):
        assert page.locator(place).count() == 1
    page.wait_for_selector("#ranking tbody tr")
    assert page.locator("#bounds tbody tr").count() > 15 and page.locator("#dropouts-table tbody tr").count() == 7
    assert "guess the right one at most 50.32\u00a0%" in page.text_content("#risk")
    assert page.locator("#warnings li").count() == 0


@pytest.mark.parametrize("name", TYPED)
def test_every_typed_number_changes_the_answer_and_moves_its_slider(page: Any, server: str, name: str) -> None:
    opened(page, server + HAND)
    before, place = headline(page), page.input_value(f"#{name}-slider")
    page.fill(f"#{name}", TYPED[name])
    changes(page, before)
    settled(page)
    if name == "rounds":
        assert "over all 4 rounds of 100,000 users" in page.text_content("#terms")
        assert page.text_content("#once").startswith(f"One round alone: {before}")
    assert page.input_value(f"#{name}-slider") != place
    assert f"{name}={TYPED[name]}" in page.url


@pytest.mark.parametrize("name", TYPED)
def test_every_slider_can_be_moved_by_keyboard_and_writes_its_number(page: Any, server: str, name: str) -> None:
    opened(page, server + HAND)
    before, typed = headline(page), page.input_value(f"#{name}")
    page.focus(f"#{name}-slider")
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    changes(page, before)
    settled(page)
    assert page.input_value(f"#{name}") != typed
    assert page.get_attribute(f"#{name}-slider", "aria-valuetext") == page.input_value(f"#{name}")


def test_percent_may_be_written_with_its_sign(page: Any, server: str) -> None:
    opened(page, server + HAND)
    before = headline(page)
    page.fill("#dropouts", "7")
    seen, place = changes(page, before), page.input_value("#dropouts-slider")
    settled(page)
    page.fill("#dropouts", "0")
    assert changes(page, seen) == before
    for typed in ("7%", "7 %"):
        page.fill("#dropouts", typed)
        assert changes(page, before) == seen and page.input_value("#dropouts-slider") == place
        settled(page)
        assert page.text_content("#dropouts-table tr.here td") == "7 % missing"
        page.fill("#dropouts", "0")
        changes(page, seen)


def test_the_advice_on_percent_is_safe(page: Any, server: str) -> None:
    opened(page, server + HAND)
    page.fill("#dropouts", "100")
    page.wait_for_selector("#problem:not([hidden])")
    said = page.text_content("#problem")
    assert "got '100%'; write five percent as 5%." in said
    page.fill("#dropouts", "5%")
    page.wait_for_selector("#problem", state="hidden")
    settled(page)
    assert "of whom 5,000 may drop out" in page.text_content("#terms")


def test_a_newer_question_leaves_the_older(page: Any, server: str) -> None:
    opened(page, server + HAND)
    held: list[Any] = []
    page.route("**/api/rank*", lambda route: held.append(route) if not held else route.continue_())
    page.fill("#n", "200000")
    page.wait_for_selector("#ranking-section .waiting")
    with page.expect_event("requestfailed", lambda request: "/api/rank" in request.url) as left:
        page.fill("#n", "300000")
    assert "n=200000" in left.value.url and left.value.failure == "net::ERR_ABORTED"
    settled(page)
    assert not page.locator(".waiting").count() and page.locator("#ranking tbody tr").count() > 5
    page.unroute_all()


def test_a_panel_without_an_answer_shows_no_older_one(page: Any, server: str) -> None:
    opened(page, f"{server}#mechanism=grr&eps0=2&d=64&n=100000&delta=1e-7&rounds=4")
    page.click("#bounds-section > summary")
    page.wait_for_selector("#bounds tbody tr")  # the section asks only after the click was handled
    settled(page)
    said = "the answer takes too long."
    for path in ("compose", "compare", "dropouts", "curves"):
        page.route(f"**/api/{path}*", lambda route: route.fulfill(status=503, json={"error": said}))
    page.fill("#n", "200000")
    for place in ("#rounds-chart", "#bounds", "#dropouts-table", "#curve-n", "#curve-noise"):
        page.wait_for_selector(f"{place}:has-text('{said}')")
        assert page.text_content(place) == said
    settled(page)
    assert page.text_content("#rounds-reading") == ""
    page.unroute_all()


def test_a_slider_follows_the_mouse(page: Any, server: str) -> None:
    opened(page, server + HAND)
    page.locator("#eps0-slider").scroll_into_view_if_needed()
    before, box = headline(page), page.locator("#eps0-slider").bounding_box()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + box["height"] / 2, steps=12)
    page.mouse.up()
    changes(page, before)
    settled(page)
    assert float(page.input_value("#eps0")) > 4 and f"eps0={page.input_value('#eps0')}" in page.url


def test_every_mechanism_can_be_chosen(page: Any, server: str) -> None:
    opened(page, server + HAND)
    names = page.eval_on_selector_all("#mechanism option", "all => all.map(one => one.value)")
    assert "grr" in names and not {"laplace", "privset", "finite"} & set(names)  # only those for the task
    for task in ("histogram", "mean", "sets", "vector mean", "heavy hitters"):
        page.select_option("#task", task)
        names = page.eval_on_selector_all("#mechanism option", "all => all.map(one => one.value)")
        for name in names:
            page.select_option("#mechanism", name)
            page.wait_for_function("name => location.hash.includes(`mechanism=${name}&`)", arg=name)
            assert page.is_hidden("#problem"), page.text_content("#problem")


def test_every_task_can_be_chosen(page: Any, server: str) -> None:
    opened(page, server)
    for name in page.eval_on_selector_all("#task option", "all => all.map(one => one.value)"):
        page.select_option("#task", name)
        settled(page)
        assert page.is_hidden("#problem") and page.locator("#ranking tbody tr").count() > 0, name


def test_a_link_opens_the_same_page(page: Any, server: str) -> None:
    opened(page, server + HAND)
    page.select_option("#mechanism", "subset")
    page.fill("#eps0", "1.25")
    page.fill("#n", "2_000_000")
    page.fill("#delta", "0.01/n")
    page.fill("#epsilon", "0.2")
    settled(page)
    seen = headline(page)
    page.click("#copy-link")
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == page.url and link.startswith(server)
    other = page.context.new_page()
    opened(other, link)
    assert headline(other) == seen
    for name, value in {
        "mechanism": "subset",
        "eps0": "1.25",
        "n": "2_000_000",
        "delta": "0.01/n",
        "epsilon": "0.2",
    }.items():
        assert other.input_value(f"#{name}") == value


@pytest.mark.parametrize(
    ("name", "typed", "sentence"),
    [
        ("n", "many", "n must be a number"),
        ("n", "-5", "n must be a whole number of users"),
        ("delta", "0,01", "delta must"),
        ("eps0", "", "eps0 must"),
        ("eps0", "2,d=5", "d must be given once"),
        ("d", "1e30", "d must"),
        ("rounds", "0", "rounds must"),
        ("dropouts", "100", "dropouts must"),
        ("n", "<img src=x onerror=alert(1)>", "n must be a number"),
    ],
)
def test_what_is_wrong_is_said_and_the_last_answer_stays(
    page: Any, server: str, name: str, typed: str, sentence: str
) -> None:
    opened(page, server + HAND)
    before, url = headline(page), page.url
    page.fill(f"#{name}", typed)
    page.wait_for_selector("#problem:not([hidden])")
    said = page.text_content("#problem")
    assert said.startswith(sentence) and "last setting that was valid" in said
    assert headline(page) == before and page.url == url
    if sentence.startswith(name):
        assert page.get_attribute(f"#{name}", "aria-invalid") == "true"
    page.fill(f"#{name}", TYPED[name])
    page.wait_for_selector("#problem", state="hidden")
    assert page.get_attribute(f"#{name}", "aria-invalid") is None


def test_extreme_settings_are_warned_of(page: Any, server: str) -> None:
    opened(page, f"{server}#mechanism=grr&eps0=16&d=4&n=20&delta=0.4")
    said = " ".join(page.locator("#warnings li").all_text_contents())
    for part in ("protects hardly anybody", "above 1/n", "no crowd", "all rests on the shuffler"):
        assert part in said


def test_a_link_with_nonsense_still_opens(page: Any, server: str) -> None:
    opened(page, f"{server}#mechanism=__proto__&task=constructor&n=1e4&x=%3Cscript%3E")
    assert page.input_value("#mechanism") == "grr" and page.input_value("#task") == "histogram"


def test_a_plan_is_saved_and_run(page: Any, server: str, tmp_path: Path) -> None:
    opened(page, f"{server}#mechanism=grr&eps0=2&d=4&n=1000&delta=1e-6")
    plan = saved(page, "#files a[data-file='plan.json']", tmp_path)
    data = tmp_path / "data.csv"
    data.write_text("value\n" + "0\n1\n1\n3\n" * 250, encoding="utf-8")
    result = CliRunner().invoke(main, ["simulate", str(plan), str(data), "--seed", "1", "--json"])
    assert result.exit_code == 0, result.output
    written = CliRunner().invoke(main, ["privatize", str(plan), str(data), "-o", str(tmp_path / "reports.parquet")])
    assert written.exit_code == 0 and "1,000 users sent 1,000 messages" in written.output


def test_a_ranked_setting_can_be_used_and_its_plan_saved(page: Any, server: str, tmp_path: Path) -> None:
    opened(page, f"{server}#mechanism=grr&eps0=2&d=8&n=20000&delta=1e-7&target=0.5")
    page.wait_for_selector("#ranking tbody tr")
    first = page.locator("#ranking tbody tr").first
    word = first.locator("td").first.text_content().split()[0]
    plan = saved(page, "#ranking tbody tr:first-child a[data-file='plan.json']", tmp_path)
    assert json.loads(plan.read_text("utf-8"))["query"]["mechanism"].startswith(word)
    before = headline(page)
    first.locator("button").click()
    shown = changes(page, before)
    assert page.input_value("#mechanism") == word
    assert float(shown.split()[-1]) <= 0.5


def test_the_other_files_are_saved(page: Any, server: str, tmp_path: Path) -> None:
    opened(page, server + HAND)
    proof = saved(page, "#files a[data-file='certificate.json']", tmp_path)
    assert CliRunner().invoke(main, ["certify", "--verify", str(proof)]).exit_code == 0
    with saved(page, "#files a[data-file='curves.csv']", tmp_path).open(encoding="utf-8") as stream:
        assert len(list(csv.DictReader(stream))) > 20
    assert "blanket" in saved(page, "#files a[data-file='bounds.csv']", tmp_path).read_text("utf-8")
    assert "<h1>" in saved(page, "#files a[data-file='report.html']", tmp_path).read_text("utf-8")


def test_a_file_that_cannot_be_made_says_why(page: Any, server: str) -> None:
    opened(page, f"{server}#mechanism=laplace&eps0=2&task=histogram")
    page.click("#files a[data-file='plan.json']")
    page.wait_for_selector("#file-problem:not([hidden])")
    assert "take one of the ranking" in page.text_content("#file-problem")


def test_lines_are_copied(page: Any, server: str) -> None:
    opened(page, server + HAND)
    page.click("[data-copy=shell]")
    assert page.evaluate("navigator.clipboard.readText()").startswith("shuffledp amplify grr:eps0=2,d=64")
    page.wait_for_function("() => document.getElementById('said').textContent !== ''")


@pytest.mark.parametrize("width", [390, 768, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_screen(page: Any, server: str, width: int, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 844})
    opened(page, server)
    page.evaluate("document.querySelectorAll('details.section').forEach((one) => { one.open = true; })")
    settled(page)
    page.wait_for_selector("#ranking tbody tr")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    beyond = "all => all.filter(one => one.getBoundingClientRect().right > innerWidth + 1).map(one => one.outerHTML)"
    assert page.eval_on_selector_all("button, a, input, select, h1, h2, p, #ranking td", beyond) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(page: Any, server: str, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    opened(page, server)
    for selector in (
        "#epsilon",
        "#terms",
        "#level",
        "#risk",
        ".hint",
        ".ends span",
        "th",
        "td small",
        "pre",
        ".quiet",
        "footer p",
    ):
        front, back = page.eval_on_selector(selector, _COLORS)
        assert _contrast(front, back) >= 4.5, (selector, front, back)


_COLORS = """one => {
  let behind = one;
  while (getComputedStyle(behind).backgroundColor.endsWith(", 0)")) behind = behind.parentElement;
  return [getComputedStyle(one).color, getComputedStyle(behind).backgroundColor];
}"""


def _contrast(front: str, back: str) -> float:
    """The ratio of WCAG 2."""

    def light(color: str) -> float:
        parts = [int(x) / 255 for x in re.findall(r"\d+", color)[:3]]
        linear = [x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(front), light(back)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_every_control_has_a_name(page: Any, server: str) -> None:
    opened(page, server)
    nameless = page.eval_on_selector_all(
        "input, select, button",
        "all => all.filter(one => !(one.labels?.length || one.ariaLabel || one.textContent.trim())).map(one => one.id)",
    )
    assert nameless == []


def test_the_keyboard_reaches_everything_and_reads_a_curve(page: Any, server: str) -> None:
    opened(page, server + HAND)
    seen = set()
    for _ in range(140):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.id"))
    assert {"task", "mechanism", "spend", *TYPED, *(f"{name}-slider" for name in TYPED), "epsilon", "curve-n"} <= seen
    page.focus("#curve-n")
    page.keyboard.press("ArrowRight")
    assert page.text_content("#curve-n-reading").startswith("n = 100: eps at most ")


def test_a_server_that_is_gone_is_said(page: Any, server: str) -> None:
    opened(page, server + HAND)
    before = headline(page)
    page.route("**/api/guarantee*", lambda route: route.abort())
    page.fill("#n", "5000")
    page.wait_for_selector("#problem:not([hidden])")
    assert "does not answer" in page.text_content("#problem") and headline(page) == before
    page.unroute_all()
