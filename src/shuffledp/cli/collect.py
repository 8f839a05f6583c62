"""privatize, shuffle and estimate: a plan on data, from the first report to the answer."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from .._support import validation as check
from ..errors import ParameterError
from . import options
from .base import answer, distinct, drawn, grid, main, prepared, say, wrote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..estimation.estimate import Estimate
    from ..protocol.collector import Collector
    from ..protocol.plan import Plan
    from ..queries.columns import ValueCounts
    from ..queries.quantiles import Quantiles

_ENGINES, _OUT = "local (this machine) or spark.", "Where to write (.parquet or .batch)."
engine_option = click.option("--engine", "engine_name", default="local", show_default=True, help=_ENGINES)
out_option = click.option("-o", "--out", "out", required=True, metavar="FILE", help=_OUT)
_FIT = "Ranges and marginals: the least-squares fit in which all parts agree."
fit_option = click.option("--fit", is_flag=True, help=_FIT)
accept_option = click.option(
    "--accept", is_flag=True, help="Go on if more than 20 % of the values are missing, unreadable, clipped or unlisted."
)
#: What of an answer is shown.
VIEW = ("fit", "quantiles", "counts", "step", "top")
shown_options = options.together(
    click.option("--quantiles", metavar="SHARES", help="Ranges: these quantiles, such as 0.5,0.95,0.99."),
    click.option("--counts", is_flag=True, help="Numbers of users in place of shares of them."),
    click.option("--round", "step", type=int, metavar="STEP", help="Numbers of users as multiples of STEP."),
    click.option("--top", type=int, metavar="K", help="The K largest entries, largest first."),
)
plot_option = click.option("--plot", metavar="FILE", help="Draw the answer (.pdf, .svg or .png).")
_STATE = "Add to the counts in this file (made if it is not there), and save them."
state_option = click.option("--state", metavar="FILE", help=_STATE)
_REPORT = "Write a page (.html) with the answer, the figure and the statement."
report_option = click.option("--report", metavar="FILE", help=_REPORT)
_TABLE = "Add the answer as rows (.csv, .jsonl or .parquet), once."
table_option = click.option("--table", metavar="FILE", help=_TABLE)


@contextmanager
def rows_per_second(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar with the rows done and how many a second; where there is no terminal, a line at the end if it took long."""
    import time

    from .._support.progress import PATIENCE, on_terminal, progress

    start, rows_done = time.monotonic(), 0
    with progress(what) as advance:

        def rows(done: int, total: int) -> None:
            nonlocal rows_done
            rows_done = done
            speed = done / max(time.monotonic() - start, 1e-9)
            advance(done, total or done, f"{what}, {speed:,.0f} rows/s")

        yield rows
    took = time.monotonic() - start
    if rows_done and took > PATIENCE and not on_terminal():
        say(f"{what}: {rows_done:,} rows in {took:.1f} s, {rows_done / took:,.0f} a second", err=True)


@main.command(short_help="Turn data into private reports, as a plan says.")
@click.argument("plan")
@click.argument("data")
@out_option
@click.option("--overwrite", is_flag=True, help="Draw new reports although there are some: only if nobody saw them.")
@engine_option
@accept_option
@options.as_json
def privatize(plan: str, data: str, out: str, overwrite: bool, engine_name: str, accept: bool, as_json: bool) -> None:
    """Privatize the rows of DATA (.parquet, .csv, .tsv, .arrow) as PLAN says, and write the messages shuffled.

    Every row sends, whatever is in it.  How many values were missing, unreadable, clipped or unlisted is said here and
    not in what is written.  An interrupted run resumes where it stopped if it is started again.
    """
    from ..engines.base import engine
    from ..engines.report_files import check_out
    from ..protocol.plan import Plan

    check_out(out, plan, data)
    known = Plan.load(plan)
    told: list[ValueCounts] = []
    with rows_per_second("privatizing") as advance:
        header = engine(engine_name).privatize(
            known, data, out, overwrite=overwrite, progress=advance, accept=accept, tell=told.append
        )
    say(*str(told[0]).split("\n"), err=True)
    wrote(out)
    least = known.smallest_batch
    if header.users < least:
        say(
            f"note: a batch of this plan must have {least:,} users, got {header.users:,}; before anything is released, "
            "merge it with others by 'shuffledp shuffle'.",
            err=True,
        )
    said = {"out": out, "users": header.users, "messages": header.messages, "batch": header.id, "plan": header.plan}
    size = "1 byte" if header.bytes == 1 else f"{header.bytes} bytes"
    sent = f"{header.users:,} users sent {header.messages:,} messages of {size}, in random order."
    answer(as_json, {**said, "minimum": least, "values": told[0].to_dict()}, sent)


@main.command(short_help="Merge files of reports into one batch in random order.")
@click.argument("plan")
@click.argument("reports", nargs=-1, required=True)
@out_option
@click.option("--overwrite", is_flag=True, help="Write although there is a file: what is in it is lost.")
@click.option("--early", is_flag=True, help="Write a batch below the plan's minimum; it cannot be released.")
@options.as_json
def shuffle(plan: str, reports: tuple[str, ...], out: str, overwrite: bool, early: bool, as_json: bool) -> None:
    """Merge files of REPORTS into one batch, in one uniformly random order."""
    from ..engines.report_files import check_out, read_reports, refuse_existing, write_reports
    from ..protocol.plan import Plan
    from ..protocol.shuffler import Shuffler

    path = check_out(out, plan, *reports)
    known = Plan.load(plan)
    refuse_existing(path, known, overwrite=overwrite, new_reports=False)
    shuffler = Shuffler(known)
    for given in reports:
        with about(given):
            shuffler.add_batch(read_reports(given, known))
    with shuffler.release(early=early) as (header, parts):
        write_reports(out, header, parts)
    wrote(out)
    data = {"out": out, "users": header.users, "messages": header.messages, "batch": header.id}
    answer(as_json, data, f"one batch of {header.users:,} users, {header.messages:,} messages.")


@main.command(short_help="Answer the question of a plan from reports.")
@click.argument("plan")
@click.argument("reports", nargs=-1)
@state_option
@click.option(
    "--drop", "dropped", multiple=True, metavar="ID", help="Take a batch out of the state first; may be repeated."
)
@click.option("--release-early", is_flag=True, help="Answer below the plan's minimum, with the eps of those who came.")
@fit_option
@shown_options
@plot_option
@report_option
@table_option
@click.option("--period", default="", metavar="TEXT", help="What the answer is of, such as 2026-W14, in its rows.")
@options.as_json
def estimate(
    plan: str, reports: tuple[str, ...], state: str | None, dropped: tuple[str, ...], release_early: bool, **shown: Any
) -> None:
    """Answer the question of PLAN from batches of REPORTS, with standard errors and the privacy statement.

    With --state nothing is saved of batches that are refused; runs at the same time wait for each other.  An answer
    that --table holds is not added again, and other numbers for the same plan, question and period are refused.
    """
    from contextlib import nullcontext

    from .._support.locking import alone_with
    from ..engines.report_files import read_reports
    from ..protocol.plan import Plan

    if dropped and not state:
        raise click.UsageError("--drop needs --state FILE, from which batches are dropped.")
    prepared(shown["plot"])
    distinct({"state": state, **{key: shown[key] for key in ("plot", "report", "table")}})
    if shown["table"]:
        from .._support.row_files import check_format

        check_format(shown["table"])
    known = Plan.load(plan)
    with alone_with(state, name="state") if state else nullcontext():
        collector = collector_of(state, known, dropped)
        before = len(collector.batches)
        for path in dict.fromkeys(reports):
            with about(path):
                batch = read_reports(path, known)
                new = batch.header.id not in dropped and collector.ingest(batch)
            if not new:
                say(f"{path}: {'dropped' if batch.header.id in dropped else 'counted before'}, skipped", err=True)
        if dropped and not collector.batches:
            answer(shown["as_json"], {"users": 0, "batches": {}}, "No batch is left.")
            return
        answered = collector.estimate(release_early=release_early)
        found = viewed(answered, **{key: shown.pop(key) for key in VIEW})
        if state and len(collector.batches) > before:  # to look at a state, one need not be allowed to write it
            collector.save(state)
    show_answer(found, collector, **shown)


def collector_of(state: str | None, plan: Plan, dropped: tuple[str, ...] = ()) -> Collector:
    """What the file holds, if there is one, without these batches; they are gone from it whatever is refused later."""
    import os

    from ..protocol.collector import Collector

    collector = Collector.load(state, plan) if state and os.path.exists(state) else Collector(plan)
    users = {batch: collector.drop(batch) for batch in dict.fromkeys(dropped)}
    if state and users:
        collector.save(state)
    say(*(f"{state}: dropped {batch} of {number:,} users" for batch, number in users.items()), err=True)
    return collector


@contextmanager
def about(path: str) -> Iterator[None]:
    """Say which file an error is about."""
    try:
        yield
    except ParameterError as error:
        text = str(error)
        raise ParameterError(text if path in text else f"{path}: {text}") from None


def viewed(
    found: Estimate, *, fit: bool, quantiles: str | None, counts: bool, step: int | None, top: int | None
) -> Estimate | Quantiles:
    """What of the answer is shown: of a question about quantiles these, unless its bins are asked for."""
    from ..queries.marginals import MarginalsAnswer
    from ..queries.range_answer import RangeAnswer

    if fit:
        if not isinstance(found, MarginalsAnswer | RangeAnswer):
            raise ParameterError(
                "fit must be left out unless the plan asks for ranges or marginals, got it with another query; "
                "run without it."
            )
        found = found.fitted()
    bins = counts or step is not None or top is not None
    if quantiles is None and isinstance(found, RangeAnswer) and found.declared and not bins:
        return found.quantiles()
    if quantiles is not None:
        if bins:
            raise ParameterError(
                "quantiles must be asked alone, got --counts, --round or --top as well; leave them out."
            )
        if not isinstance(found, RangeAnswer):
            raise ParameterError(
                "quantiles must be left out unless the plan asks for ranges, got them with another query; plan with "
                "queries.RangeQuery."
            )
        return found.quantiles(grid("quantiles", quantiles, example="0.5,0.95,0.99"))
    found = found.counts() if counts and step is None else found
    found = found if step is None else found.rounded(step)
    if top is None:
        return found
    return found.top(check.whole("top", top, low=1, high=10**9, hint="it is how many entries are shown"))


def show_answer(
    found: Estimate | Quantiles,
    collector: Collector,
    *,
    plot: str | None,
    report: str | None,
    table: str | None,
    period: str,
    as_json: bool,
    more: dict[str, Any] | None = None,
) -> None:
    """Print an answer and write what was asked for of it; ``more`` is added to its JSON."""
    from ..engines.page import answer_page

    added = found.append_to(table, period=period) if table else False
    drawn(found, plot)
    if report:
        from .._support.files import write_whole

        write_whole(report, answer_page(found, collector), name="report")
    wrote(plot, report, table if added else None)
    if table and not added:
        say(f"{table}: holds this answer, nothing was added", err=True)
    lies = found.lies(collector.plan.message_word)
    text = [*found.table().text().split("\n"), "", *found.words()]
    data = {**_as_json(found, collector, period), **(more or {})}
    answer(as_json, data, *text, *filter(None, ["", lies]), "", collector.statement())


def _as_json(found: Estimate | Quantiles, collector: Collector, period: str) -> dict[str, Any]:
    from .._support.json_ready import json_object
    from ..estimation.answer import Provenance

    plan, holds = collector.plan, found.provenance or Provenance(question="")
    return json_object(
        {
            "question": holds.asked,
            **({"period": period} if period else {}),
            "users": collector.users,
            "batches": collector.batches,
            **found.to_dict(),
            "words": found.words(),
            "for_release": found.for_release,
            "plan": plan.digest,
            "epsilon": holds.epsilon,
            "delta": holds.delta,
            "statement": collector.statement(),
        }
    )
