"""The second edition in a browser: the budget leads, nothing stale is shown, a phone loses nothing, and programmes."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from click.testing import CliRunner

from reference.browser import HAND, changes, headline, opened, saved, settled
from shuffledp.cli import main

pytestmark = pytest.mark.web

#: Two short questions, so that a calibration takes a moment only.
QUESTIONS = [
    {"name": "Fruit", "task": "histogram", "d": "8", "count": "4", "weight": "1"},
    {"name": "Wait", "task": "mean", "low": "0", "high": "60", "unit": "min", "weight": "1"},
]
PROGRAMME = (
    f"#view=programme&epsilon=1&n=50000&delta=1e-7&opt_in=100&dropouts=0&questions={quote(json.dumps(QUESTIONS))}"
)
PHONE = {"width": 390, "height": 844}


def errors(page: Any, number: int) -> str:
    return str(page.text_content(f"#q{number}-answer"))


def programme(page: Any, address: str) -> Any:
    page.goto(address)
    page.wait_for_selector("#q0-answer b")
    settled(page)
    return page


# -- the statement --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("screen", [{"width": 1280, "height": 900}, PHONE], ids=["desktop", "phone"])
def test_the_statement_is_shown_copied_and_saved(page: Any, server: str, screen: Any, tmp_path: Path) -> None:
    """It is folded until it is wanted, follows the settings, and fits the screen."""
    page.set_viewport_size(screen)
    opened(page, f"{server}{HAND}&rounds=13&task=histogram")
    assert not page.is_visible("#statement") and not page.text_content("#statement")
    page.click("#statement-head")
    page.wait_for_selector("#statement h3")
    settled(page)
    said = page.inner_text("#statement")
    assert "right at most 513 times out of 1,000 in all 13 collections together" in said
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.click("[data-copy=statement]")
    assert "\nWhat an attacker can learn\n" in page.evaluate("navigator.clipboard.readText()")
    before = headline(page)
    page.fill("#rounds", "1")
    changes(page, before)
    settled(page)
    assert "collections together" not in page.inner_text("#statement")
    if not page.is_visible("#files"):
        page.click("#take-head")
    file = saved(page, "#files a[data-file='statement.html']", tmp_path).read_text("utf-8")
    assert "<h2>If the shuffler fails</h2>" in file and "collections together" not in file


def test_a_task_of_several_parts_has_the_statement_and_the_plan_of_its_best(page: Any, server: str) -> None:
    page.goto(f"{server}#task=marginals&mechanism=grr&spend=yes&epsilon=1&d=4&n=100000&delta=1e-7")
    page.wait_for_selector("#ranking tbody tr")
    settled(page)
    page.click("#statement-head")
    page.wait_for_selector("#statement h3")
    assert "3 marginals" in page.inner_text("#statement .signed")
    files = page.eval_on_selector_all("#files a", "all => all.map(one => one.dataset.file)")
    assert files == ["plan.json", "report.html", "statement.html"]


def test_what_fits_no_plan_says_so_in_place_of_a_statement(page: Any, server: str) -> None:
    opened(page, f"{server}#mechanism=laplace&eps0=2&task=histogram")
    page.click("#statement-head")
    page.wait_for_selector("#statement .muted")
    assert "take one of the ranking" in page.inner_text("#statement")


def test_one_statement_for_a_programme(page: Any, server: str, tmp_path: Path) -> None:
    programme(page, server + PROGRAMME)
    file = saved(page, "#programme-files a[data-file='programme-statement.html']", tmp_path).read_text("utf-8")
    assert "in all 5 collections together" in file and "/tmp" not in file


# -- one question ---------------------------------------------------------------------------------------------------


def test_the_budget_and_the_users_come_first(page: Any, server: str) -> None:
    opened(page, server)
    names = page.eval_on_selector_all("#controls input[type=text]", "all => all.map(one => one.id)")
    assert names[:2] == ["epsilon", "n"]
    assert page.is_checked("#spend") and page.text_content("#verdict") == "within the budget of 1"
    assert 0.99 < float(headline(page).split()[-1]) <= 1.0
    assert page.text_content("#expected").endswith("each of 64 options: 11 of 100,000 users")


def test_the_setting_follows_the_budget_until_it_is_set_by_hand(page: Any, server: str) -> None:
    opened(page, server)
    before, eps0 = headline(page), float(page.input_value("#eps0"))
    page.fill("#epsilon", "0.5")
    changes(page, before)
    settled(page)
    assert 0.49 < float(headline(page).split()[-1]) <= 0.5 and float(page.input_value("#eps0")) < eps0
    before = headline(page)
    page.fill("#eps0", "9")
    changes(page, before)
    settled(page)
    assert not page.is_checked("#spend") and page.text_content("#verdict") == "above the budget of 0.5"
    before = headline(page)
    page.check("#spend")
    changes(page, before)
    assert page.text_content("#verdict") == "within the budget of 0.5"


def test_the_headline_is_the_total_over_all_rounds(page: Any, server: str) -> None:
    opened(page, f"{server}{HAND}&rounds=13")
    total = float(headline(page).split()[-1])
    assert "over all 13 rounds of 100,000 users" in page.text_content("#terms")
    assert page.text_content("#once").startswith("One round alone: ε ≤ 0.012504;")
    assert 0.0126 < total < 13 * 0.0126


def test_errors_are_in_the_unit_that_was_typed(page: Any, server: str) -> None:
    opened(page, server)
    page.select_option("#task", "mean")
    settled(page)
    page.fill("#of_high", "120")
    page.fill("#unit", "min")
    page.wait_for_selector("#ranking th:has-text('error, min')")
    settled(page)
    said = re.search(r"mean: ([\d.]+) min", page.text_content("#expected"))
    assert said and 0.001 < float(said[1]) < 1.0
    assert parse_qs(urlsplit(page.url).fragment)["unit"] == ["min"]
    page.fill("#of_high", "-1")
    page.wait_for_selector("#problem:not([hidden])")
    assert page.get_attribute("#of_high", "aria-invalid") == "true" or "high" in page.text_content("#problem")


def test_what_is_out_of_date_disappears_until_the_answer_is_there(page: Any, server: str) -> None:
    opened(page, server + HAND)
    held: list[Any] = []
    page.route("**/api/guarantee*", lambda route: held.append(route))
    page.fill("#n", "200000")
    page.wait_for_selector("#answer.waiting")
    page.wait_for_function(
        "() => getComputedStyle(document.querySelector('#answer > .content')).visibility === 'hidden'"
    )
    held[0].continue_()
    page.wait_for_selector("#answer:not(.waiting)")
    page.unroute_all()
    settled(page)
    assert not page.locator(".waiting").count() and "200,000 users" in page.text_content("#terms")
    assert page.evaluate("getComputedStyle(document.querySelector('#answer > .content')).visibility") == "visible"


def test_an_older_ranking_is_left_and_the_newest_budget_is_shown(page: Any, server: str) -> None:
    opened(page, server)
    held: list[Any] = []
    page.route("**/api/rank*", lambda route: held.append(route) if not held else route.continue_())
    page.fill("#epsilon", "0.7")
    page.wait_for_function("() => document.querySelector('#ranking-section .waiting') !== null")
    with page.expect_event("requestfailed", lambda request: "/api/rank" in request.url) as left:
        page.fill("#epsilon", "0.3")
    assert "epsilon=0.7" in left.value.url
    page.wait_for_selector("#verdict:has-text('within the budget of 0.3')")
    settled(page)
    assert page.text_content("#ranking-note").startswith("Every mechanism calibrated to eps = 0.3 (the budget)")
    page.unroute_all()


def test_budgets_from_a_table(page: Any, server: str) -> None:
    opened(page, server + HAND)
    page.click("#mixed-section > summary")
    page.wait_for_selector("#mixed-table tbody tr")
    assert page.locator("#mixed-table tbody tr").count() == 2
    before = page.text_content("#mixed-note")
    page.evaluate("navigator.clipboard.writeText('10000\\t1\\n20000\\t2\\n30000\\t4')")
    page.click("#mixed-paste")
    page.wait_for_function("before => document.getElementById('mixed-note').textContent !== before", arg=before)
    settled(page)
    assert page.locator("#mixed-table tbody tr").count() == 3 and "60,000 users" in page.text_content("#mixed-note")
    page.fill("#mixed-rows tr:first-child [data-mixed=budget]", "many")
    page.wait_for_selector("#mixed-note:has-text('budgets must')")
    assert not page.locator("#mixed-table tbody tr").count()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_every_column_and_at_most_four_screens(page: Any, server: str, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size(PHONE)
    opened(page, server)
    assert page.evaluate("document.documentElement.scrollHeight") <= 4 * PHONE["height"]
    assert not page.locator("details.section[open]").count()
    words = page.eval_on_selector_all("#scale text", "all => all.filter(one => one.getBoundingClientRect().width > 20)")
    assert len(words) == 5
    page.click("#ranking-section > summary")
    cells = page.locator("#ranking tbody tr:first-child td")
    labels = [cells.nth(k).get_attribute("data-label") for k in range(cells.count())]
    assert labels == ["mechanism", "error, users", None, "bits", "messages", "local eps", None]
    assert all(cells.nth(k).is_visible() for k in range(cells.count()))
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


# -- several questions ----------------------------------------------------------------------------------------------


def test_a_programme_is_calibrated_in_the_units_of_its_questions(page: Any, server: str) -> None:
    programme(page, server + PROGRAMME)
    assert page.text_content("#programme-verdict") == "within the budget of 1"
    assert "of 50,000 users" in errors(page, 0) and "min mean" in errors(page, 1)
    assert page.locator(".asked-share").count() == 2 and "% of the budget" in page.text_content("#q0-share").replace(
        "\xa0", " "
    )


def test_errors_move_while_a_weight_is_dragged(page: Any, server: str) -> None:
    programme(page, server + PROGRAMME)
    before = [errors(page, 0), errors(page, 1)]
    first = [float(re.search(r"[\d.]+", text)[0]) for text in before]
    held: list[Any] = []
    free: list[bool] = []
    page.route("**/api/programme*", lambda route: route.continue_() if free else held.append(route))
    page.focus("#q0-weight-slider")
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.getElementById('q0-answer').textContent.startsWith('≈')")
    about = [float(re.search(r"[\d.]+", errors(page, k))[0]) for k in (0, 1)]
    assert about[0] < first[0] and about[1] > first[1]
    page.wait_for_function("() => document.querySelectorAll('.asked-answer.estimated').length === 2")
    assert page.evaluate("getComputedStyle(document.getElementById('q0-answer')).visibility") == "visible"
    while not held:
        page.wait_for_timeout(50)
    free.append(True)
    page.keyboard.press("ArrowRight")  # a newer question, which leaves the older
    page.wait_for_function("() => !document.getElementById('q0-answer').textContent.startsWith('≈')")
    settled(page)
    page.unroute_all()
    found = [float(re.search(r"[\d.]+", errors(page, k))[0]) for k in (0, 1)]
    assert found[0] <= about[0] + 1 and found[1] == pytest.approx(about[1], rel=0.3)  # to leading order


def test_a_programme_and_its_plans_are_saved_and_checked(page: Any, server: str, tmp_path: Path) -> None:
    programme(page, server + PROGRAMME)
    text = saved(page, "#programme-files a[data-file='programme.yaml']", tmp_path).read_text("utf-8")
    assert text == page.text_content("#programme-yaml") and "task: mean" in text
    archive = saved(page, "#programme-files a[data-file='plans.zip']", tmp_path)
    with zipfile.ZipFile(archive) as held:
        held.extractall(tmp_path)
    assert (tmp_path / "programme.yaml").read_text("utf-8") == text
    result = CliRunner().invoke(main, ["check", str(tmp_path / "plans")])
    assert result.exit_code == 0, result.output
    plan = tmp_path / "plans" / "wait.json"
    plan.write_text(plan.read_text("utf-8").replace("60", "61"), encoding="utf-8")
    result = CliRunner().invoke(main, ["check", str(tmp_path / "plans")])
    assert result.exit_code != 0 and "wait.json" in result.output


def test_questions_are_added_removed_and_kept_in_the_link(page: Any, server: str) -> None:
    programme(page, server + PROGRAMME)
    page.click("#add-question")
    page.fill("#q2-name", "Color")
    page.fill("#q2-d", "4")
    page.wait_for_selector("#q2-answer b")
    settled(page)
    page.click("[aria-label='Remove Fruit']")
    page.wait_for_function("() => document.querySelectorAll('.asked').length === 2")
    settled(page)
    other = page.context.new_page()
    programme(other, page.url)
    assert [other.input_value(f"#q{k}-name") for k in (0, 1)] == ["Wait", "Color"]
    assert errors(other, 1) == errors(page, 1)


def test_a_wanted_error_takes_the_place_of_a_weight(page: Any, server: str) -> None:
    programme(page, server + PROGRAMME)
    page.click(".asked[data-question='1'] summary")
    page.fill("#q1-error", "0.1 min")
    page.wait_for_function("() => !document.querySelector('#q1-weight')")
    settled(page)
    assert float(re.search(r"[\d.]+", errors(page, 1))[0]) == pytest.approx(0.1, rel=0.05)
    page.fill("#q1-error", "0.00001 min")
    page.wait_for_selector("#programme-problem:not([hidden])")
    assert "Wait" in page.text_content("#programme-problem") or "budget" in page.text_content("#programme-problem")


def test_a_wrong_question_is_named_and_nothing_old_is_shown(page: Any, server: str) -> None:
    programme(page, server + PROGRAMME)
    page.fill("#q0-d", "many")
    page.wait_for_selector("#programme-problem:not([hidden])")
    assert page.text_content("#programme-problem").startswith("Fruit.d must be a number")
    assert errors(page, 1) == "" and page.text_content("#programme-total") == "no plan"
    assert page.locator(".asked.guilty").get_attribute("data-question") == "0"
    page.fill("#q0-d", "8")
    page.wait_for_selector("#programme-problem", state="hidden")


def test_opt_in_and_dropouts_are_in_percent(page: Any, server: str) -> None:
    programme(page, server + PROGRAMME)
    page.fill("#programme-opt_in", "60 %")
    page.fill("#programme-dropouts", "5%")
    page.wait_for_selector("#programme-terms:has-text('1,500 may drop out')")
    assert "30,000 users" in page.text_content("#programme-terms")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_programme_fits_a_phone(page: Any, server: str, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size(PHONE)
    programme(page, f"{server}#view=programme")  # the four questions that it starts with
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.evaluate("document.documentElement.scrollHeight") <= 4 * PHONE["height"]


def test_a_link_with_nonsense_opens_the_programme(page: Any, server: str) -> None:
    nonsense = quote('[{"task": "constructor"}, 3, null]')
    page.goto(f"{server}#view=programme&questions={nonsense}&n=%3Cb%3E")
    page.wait_for_selector("#programme-problem:not([hidden])")
    assert page.text_content("#programme-problem").startswith("n must be a number")
    assert page.locator(".asked").count() == 4
