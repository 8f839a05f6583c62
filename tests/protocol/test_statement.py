"""The statement for people who sign: odds that are never too small, every part of it, and hostile texts."""

from __future__ import annotations

import json
import math
import pickle
import re
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from markdown_it import MarkdownIt
from mpmath import mp, mpf

import shuffledp as sdp
from reference.commands import refused, run
from shuffledp._support.statement import Statement
from shuffledp.protocol.statement import _true_of_100, right_guesses

HEADINGS = [
    *("What is collected", "What leaves the device", "What an attacker can learn", "If the shuffler fails"),
    *("For how long", "What is not protected", "To fill in and sign", "Formally"),
]
#: Texts that would act on a page, a terminal or a reader if they were not escaped.
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[sign here](https://evil.example)",
    "![x](https://evil.example/x.png)",
    "https://evil.example www.evil.example me@evil.example <https://evil.example>",
    "`code` *bold* _it_ ~~no~~ $x$ | a | b |",
    "\n\n# Approved\n\nby everybody",
    "\x1b[2Kclean",
    "\u202egnp.exe",
    "&lt;b&gt; &amp; \\",
]


def plan_of(mechanism: str = "grr:eps0=2", users: int = 10_000, **more: Any) -> sdp.Plan:
    query = sdp.queries.Histogram(column="fruit", labels=["apple", "pear", "fig"], mechanism=mechanism)
    return sdp.Plan(**{"query": query, "users": users, "delta": 1e-6, **more})


# -- odds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [0.0, 1e-9, 1e-3, 0.1])
def test_odds_are_rounded_up_and_by_no_more_than_a_step(delta: float) -> None:
    """Against the formula in 60 digits."""
    for eps in [0.0, 1e-9, 1e-4, 0.003, 0.1, math.log(3.0), 1.0, 2.0, 5.0, 9.0, 30.0, 800.0]:
        right, of = right_guesses(eps, delta)
        with mp.workdps(60):
            power = mp.exp(mpf(eps))
            true = mpf("0.5") + (power - 1 + 2 * mpf(delta)) / (2 * (power + 1))
            assert true <= mpf(right) / of and mpf(right - 1) / of <= true
        assert of in (100, 1000, 10_000) and of // 2 <= right <= of


def test_odds_are_those_of_the_best_guess() -> None:
    """Randomized response between two values attains them: a guess is right with probability e^eps/(1 + e^eps)."""
    for eps in (0.2, 1.0, 3.0):
        best = math.exp(eps) / (1.0 + math.exp(eps))
        right, of = right_guesses(eps)
        assert 0 <= right / of - best < 1 / of
        values = np.arange(200_000) % 2
        reports = sdp.GRR(eps0=eps, d=2).privatize(values, rng=np.random.default_rng(3)).data
        assert abs(np.mean(reports == values) - best) < 0.006


def test_no_guess_between_two_values_does_better_than_stated() -> None:
    """All tests on the shuffled counts of a small batch, by enumeration: the victim among two others."""
    keep = Fraction(3, 4)
    m = sdp.mechanism(f"randomized-response:eps0={math.log(3.0)!r}")

    def ones(value: int) -> list[Fraction]:
        law = [Fraction(1)]
        for chance in [keep if value else 1 - keep, 1 - keep, 1 - keep]:  # the others hold 0
            law = [
                (law[k] * (1 - chance) if k < len(law) else 0) + (law[k - 1] * chance if k else 0)
                for k in range(len(law) + 1)
            ]
        return law

    best = sum(max(a, b) for a, b in zip(ones(0), ones(1), strict=True)) / 2
    for delta in (1e-6, 0.05, 0.2):
        eps = sdp.amplify(m, n=3, delta=delta).epsilon
        right, of = right_guesses(eps, delta)
        assert best <= Fraction(right, of)


# -- the page ---------------------------------------------------------------------------------------------------------


def test_every_part_is_there_and_the_formal_line_last() -> None:
    plan = plan_of(name="Fruit", minimum_batch=9000)
    said = plan.statement(kept="90 days.")
    assert [section.heading for section in said.sections] == HEADINGS
    assert " ".join(said.sections[-1].texts) == str(said) and max(map(len, said.sections[-1].texts)) < 400
    assert said == plan.formal_paragraph() and said.startswith("With n = 9,000 users")
    text = said.markdown()
    right, of = right_guesses(plan.epsilon, plan.delta)
    local, all_ = right_guesses(2.0)
    for words in (
        "# Privacy statement: Fruit",
        "10,000 users are asked, to learn the share of users who hold each of 4 options of 'fruit'.",
        "The options are apple, pear, fig, and other for all the rest.",
        "A device sends one message of 1 byte: generalized randomized response on 4 options",
        "the messages of at least 9,000 users",
        f"their guess is right at most {right} times out of {of}.",
        f"a guess between two values is right at most {local} times out of {all_}. With the shuffler, it is right at "
        f"most {right} times out of {of}.",
        "About 72 of 100 messages are the true value; chance decides on the device which ones.",
        "The numbers are for one collection.",
        "Reports are kept for 90 days.",
        "- That somebody belongs to the 10,000 users who are asked.",
        "- Population: 10,000 users, namely: ....",
        *(f"- {line}: ...." for line in ("Share of them who opted in", "Date", "Signature")),
        "- Owner of the data, with an address for questions: ....",
    ):
        assert words in text, words
    assert (right, of) == (53, 100) and (local, all_) == (89, 100)
    page = said.html()
    assert page.startswith("<!DOCTYPE html>") and "<h1>Privacy statement: Fruit</h1>" in page
    assert all(f"<h2>{heading}</h2>" in page for heading in HEADINGS) and "<script" not in page


@pytest.mark.parametrize(
    "spec",
    [
        *("grr:eps0=2,d=4", "randomized-response:eps0=3", "unary:eps0=2,d=3", "optimized-unary:eps0=2,d=3"),
        *("subset:eps0=1,d=5,k=2", "local-hash:eps0=1,d=4,l=2", "hadamard:eps0=2,d=5", "privset:eps0=1,d=4,s=2,k=1"),
        *("hierarchical-grr:eps0=2,d=8", "grr:eps0=0.3,d=500", "grr:eps0=9,d=4", "pckv-grr:eps0=2,d=3,l=2"),
    ],
)
def test_the_share_of_true_messages_is_that_of_the_device(spec: str) -> None:
    """Against 200,000 reports: what a user holds, found among what the reports stand for."""
    m: Any = sdp.mechanism(spec)
    users, rng = 200_000, np.random.default_rng(8)
    share, said = m._truth
    held: Any = {"privset": [0, 2], "pckv-grr": [[0, 1.0], [2, 0.5]]}.get(m.name, m.d - 1)
    reports = m.privatize(np.array([held] * users), rng=rng)
    counts = m.tally(reports).counts
    if m.name in ("grr", "randomized-response"):
        found = counts[held] / users
    elif m.name == "hierarchical-grr":
        found = sum(counts[m.level(h)][-1] for h in range(len(m.levels))) / users
    elif m.name == "hadamard":
        same = m.probabilities()[held] > 2.0 * m.probabilities()[held].min()
        found = float(np.mean(same[m._columns(reports.data)]))
    elif m.name == "pckv-grr":
        found = counts[[0, 1]].sum() / users
    else:
        found = counts[0 if m.name == "privset" else held] / users
    assert abs(found - share) < 5 * (share * (1 - share) / users) ** 0.5
    text = _true_of_100(m)
    assert said in text
    number = re.match(r"About (\d+) of 100", text)
    if number:
        assert 0 <= int(number[1]) - 100 * share < 1
    else:
        assert text.startswith("More than 99" if share > 0.99 else "Fewer than 2")


def test_marginals_have_the_share_of_all_their_questions() -> None:
    query = sdp.queries.Marginals(labels={"a": [0, 1], "b": [0, 1, 2]}, ways=1, mechanism="grr:eps0=2")
    keep = [sdp.GRR(eps0=2.0, d=m.d).keep for m in query.randomizer._mechanisms]
    assert query.randomizer._truth == (pytest.approx(sum(keep) / len(keep)), "are the true value")
    mean = sdp.queries.Mean(column="x", low=0, high=1, mechanism="window:eps0=1")
    said = sdp.Plan(query=mean, users=1000, delta=1e-6).statement().markdown()
    assert "the true value decides how likely each message is" in said and "of 100 messages" not in said


@pytest.mark.parametrize(
    ("labels", "other", "said"),
    [
        (["a", "b"], "neither", "a, b, and neither for all the rest."),
        (["a", "b"], "b", "a, b."),
        ([1, 2], "1", "1, 2, and '1' for all the rest."),
        (range(14), "none", "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2 more, and none for all the rest."),
    ],
)
def test_the_option_for_all_the_rest_is_named(labels: Any, other: Any, said: str) -> None:
    query = sdp.queries.Histogram(column="x", labels=list(labels), other=other, mechanism="grr:eps0=2")
    statement = sdp.Plan(query=query, users=10_000, delta=1e-6).statement()
    assert f"The options are {said}" in statement.sections[0].texts


@pytest.mark.parametrize(("other", "said"), [(None, "a, b, c."), ("else", "a, b, c, and else for all the rest.")])
def test_sets_have_such_an_option_only_if_they_name_it(other: Any, said: str) -> None:
    labels = ["a", "b", "c"]
    query = sdp.queries.SetFrequency(column="x", labels=labels, size=1, other=other, mechanism="privset:eps0=2")
    statement = sdp.Plan(query=query, users=10_000, delta=1e-6).statement()
    assert f"The options are {said}" in statement.sections[0].texts


def test_without_a_local_guarantee_it_says_so() -> None:
    text = plan_of("pure-dump:messages=2").statement().markdown()
    assert "Nothing remains. If the shuffler is broken into" in text and "rests on the shuffler alone" in text
    assert "A device sends 3 messages, of 1 byte each" in text and "A single message can show the true value" in text
    assert "1.01 messages on average, of 1 byte each" in plan_of("pure-dump:messages=0.01").statement().markdown()


@pytest.mark.heavy
def test_rounds_are_composed() -> None:
    plan = plan_of()
    total = sdp.Accountant().compose(plan.query.randomizer, n=10_000, count=13).epsilon(delta=plan.delta)
    said = plan.statement(rounds=13)
    right, of = right_guesses(total, plan.delta)
    text = said.markdown()
    assert f"is right at most {right} times out of {of} in all 13 collections together." in text
    assert "can be right almost every time in all 13" in text  # 13 times eps0 = 2
    assert "A further one, beyond these 13, is not covered." in text
    assert re.search(r"Over 13 such batches of the same users, it is \(0\.\d+, 1e-06\)-DP in all; a user's", said)
    assert right > right_guesses(plan.epsilon, plan.delta)[0]


@pytest.mark.heavy
def test_two_values_that_are_near_where_the_guarantee_is_for_these() -> None:
    sides = {"west": 0, "east": 10, "south": 0, "north": 10, "across": 4, "up": 4}
    query = sdp.queries.Location(column=["x", "y"], eps=0.2, near=0.5, **sides)
    said = sdp.Plan(query=query, users=1000, delta=1e-6).statement().markdown()
    assert said.count("This is for two values that the guarantee covers (replace-one") == 2
    assert "This is for two values" not in plan_of().statement().markdown()


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_shown_and_not_obeyed(text: str) -> None:
    query = sdp.queries.Histogram(column=text, labels=["a", text], mechanism="grr:eps0=2")
    plan = sdp.Plan(query=query, users=1000, delta=1e-6, name=text if text.isprintable() else "")
    said = plan.statement(kept=text if text.isprintable() else "")
    assert [section.heading for section in said.sections] == HEADINGS

    class Tags(HTMLParser):
        found: ClassVar[set[str]] = set()

        def handle_starttag(self, tag: str, attrs: Any) -> None:
            self.found.add(tag)
            assert not attrs or tag in ("html", "meta")

    parser = Tags()
    parser.feed(said.html())
    assert parser.found <= {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "ul", "li"}
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(said.markdown())
    kinds = {child.type for token in tokens for child in [token, *(token.children or [])]}
    assert kinds <= {
        *(
            f"{kind}_{end}"
            for kind in ("heading", "paragraph", "bullet_list", "list_item")
            for end in ("open", "close")
        ),
        *("inline", "text", "text_special"),
    }, kinds
    headings = [tokens[i + 1].content for i, token in enumerate(tokens) if token.type == "heading_open"]
    assert headings[1:] == HEADINGS
    assert "://" not in said.markdown().replace("\\://", "") and not re.search(r"www\.|(?<!\\)@", said.markdown())
    assert said.markdown().replace("\n", "").isprintable() and said.isprintable()


def test_it_is_a_text_that_can_be_kept(tmp_path: Path) -> None:
    said = plan_of().statement()
    again = pickle.loads(pickle.dumps(said))
    assert isinstance(again, Statement) and again == said and again.markdown() == said.markdown()
    said.save(tmp_path / "s.html")
    said.save(tmp_path / "s.MD")
    assert (
        (tmp_path / "s.html").read_text("utf-8")
        == said.html()
        == said._repr_html_().join(said.html().split(said._repr_html_()))
    )
    assert (tmp_path / "s.MD").read_text("utf-8") == said.markdown()
    assert json.loads(json.dumps(said.to_dict()))["statement"] == said
    with pytest.raises(sdp.ParameterError, match=r"out must end in \.html or \.md, got '.*s\.pdf'"):
        said.save(tmp_path / "s.pdf")
    with pytest.raises(sdp.ParameterError, match=r"rounds must lie in \[1, 1e\+06\], got 0"):
        plan_of().statement(rounds=0)
    for kept in ("a\nb", "x" * 201, 90):
        with pytest.raises(sdp.ParameterError, match="kept must be a short text such as '90 days'"):
            plan_of().statement(kept=kept)  # type: ignore[arg-type]


# -- answers ----------------------------------------------------------------------------------------------------------


def collected(users: int, *, minimum: int, rng: np.random.Generator | None = None) -> sdp.Collector:
    plan = plan_of(users=users, minimum_batch=minimum)
    m, collector = plan.query.randomizer, sdp.Collector(plan)
    collector.ingest_counts("0" * 32, 50, m.tally(m.privatize([0, 1] * 25, rng=rng)))
    return collector


@pytest.mark.heavy
def test_an_answer_states_what_was_counted() -> None:
    collector = collected(50, minimum=50)
    answer = collector.estimate()
    said = answer.statement(rounds=2)
    assert said == collector.statement(rounds=2) and said.sections[0].heading == "This answer"
    assert "The answer is from the reports of 50 users in one batch." in said.markdown()
    assert answer.top(2).statement() == collector.statement() == answer.consistent().statement()
    assert [section.heading for section in said.sections[1:]] == HEADINGS


@pytest.mark.heavy
@pytest.mark.parametrize("rounds", [1, 3])
def test_a_batch_that_is_too_small_has_the_guarantee_of_those_who_came(rounds: int) -> None:
    m = sdp.GRR(eps0=3.0, d=4)
    query = sdp.queries.Histogram(column="x", labels=[0, 1, 2], mechanism=m)
    plan, few = (sdp.Plan(query=query, users=n, delta=1e-6) for n in (60_000, 54_000))
    early, whole = sdp.Collector(plan), sdp.Collector(few)
    for collector in (early, whole):
        collector.ingest_counts("0" * 32, 54_000, m.tally(m.privatize([0, 1] * 27_000)))
    answer = early.estimate(release_early=True)
    assert answer.provenance.epsilon == few.epsilon < 0.1 and answer.provenance.delta == 1e-6
    assert answer.provenance.plan == plan.digest and early.plan is plan and plan.smallest_batch == 60_000
    said, wanted = answer.statement(rounds=rounds), whole.statement(rounds=rounds)
    warning = (
        "RELEASED EARLY: a batch had 54,000 users, below the 60,000 of the plan; the guarantee below is that of 54,000 "
        "users. What else rests on the plan's minimum, such as a guarantee over several collections, does not hold."
    )
    assert said == f"{warning} {wanted}"
    learned, better = ([s for s in one.sections if s.heading.startswith("What an")] for one in (said, wanted))
    assert learned == better
    early.ingest_counts("1" * 32, 100, m.tally(m.privatize([0] * 100)))
    smallest = early.estimate(release_early=True).provenance.epsilon
    assert smallest == plan._of_batch(100).epsilon > 5 * few.epsilon
    assert smallest < m.eps0


@pytest.mark.heavy
def test_what_does_not_hold_is_not_claimed() -> None:
    early = collected(60, minimum=60)
    said = early.statement()  # also before it is released
    assert said.startswith(
        "RELEASED EARLY: a batch had 50 users, below the 60 of the plan; the guarantee below is that of"
    )
    answer = early.estimate(release_early=True)
    assert answer.statement() == said and said.sections[0].texts[0].startswith("RELEASED EARLY")
    twice = collected(40, minimum=40)
    assert "This is for a user who sent in one batch only." in twice.estimate().statement().markdown()
    assert "in one batch only" not in collected(50, minimum=50).estimate().statement().markdown()
    seeded = collected(50, minimum=50, rng=np.random.default_rng(1)).estimate().statement()
    assert seeded.startswith("NOT FOR RELEASE") and "Nothing limits what is learned" in seeded.markdown()
    assert "Nothing remains: see the warnings." in seeded.markdown() and "times out of" not in seeded.markdown()
    m = sdp.GRR(eps0=2.0, d=4)
    with pytest.raises(sdp.ParameterError, match="answer must come from a plan to have a statement"):
        m.estimate(m.privatize([0, 1])).statement()


# -- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_the_command(tmp_path: Path) -> None:
    plan = plan_of(name="Fruit")
    path = tmp_path / "plan.json"
    plan.save(path)
    assert run("statement", str(path)).stdout == plan.statement().markdown()
    out = tmp_path / "s.html"
    done = run("statement", str(path), "-o", str(out), "--rounds", "4", "--kept", "90 days")
    assert done.stdout == "" and f"wrote {out}" in done.stderr
    assert out.read_text("utf-8") == plan.statement(rounds=4, kept="90 days").html()
    assert json.loads(run("statement", str(path), "--json").stdout) == plan.statement().to_dict()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--rounds", "x"), "rounds must be a number"),
        (("--rounds", "1.5"), "rounds must be a whole number"),
        (("-o", "s.pdf"), "out must end in .html or .md"),
        (("--kept", "x" * 300), "kept must be a short text"),
    ],
)
def test_what_the_command_refuses(more: tuple[str, ...], words: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    plan_of().save(path)
    assert words in refused(run("statement", str(path), *more))
