"""collect: a period that a shuffler released, from sealed messages to the answer and its signed statement."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from . import collect as shared
from . import options
from .base import distinct, main, prepared, say, was_given, wrote
from .collect import VIEW, collector_of, rows_per_second, show_answer, viewed

if TYPE_CHECKING:
    from ..protocol.collector import Collector
    from ..shuffler.collect import Counts
    from ..shuffler.release import ReleasedBatch


@main.command(short_help="Open, count and answer what a shuffler released.")
@click.argument("released", nargs=-1, required=True)
@click.option("--publication", required=True, metavar="FILE", help="The signed publication that the clients had.")
@click.option("--keys", required=True, metavar="DIR", help="The analyst's keys: sealing.key and signing.key.")
@click.option("--shuffler", required=True, metavar="FILE", help="The shuffler's public key, which signed the release.")
@click.option("--publisher", metavar="FILE", help="The public key of the publisher; the analyst's own unless given.")
@click.option("--statement", metavar="FILE", help="Write the signed statement, for 'shuffledp certify --verify'.")
@click.option("--colluding", default="0", metavar="K", help="In the statement: who may help the adversary, 500 or 5%.")
@shared.state_option
@shared.engine_option
@shared.fit_option
@shared.shown_options
@shared.plot_option
@shared.report_option
@shared.table_option
@options.as_json
def collect(
    released: tuple[str, ...],
    publication: str,
    keys: str,
    shuffler: str,
    publisher: str | None,
    statement: str | None,
    colluding: str,
    state: str | None,
    engine_name: str,
    **shown: Any,
) -> None:
    """Open the periods that a shuffler RELEASED, count each once, and answer the question of their plan.

    Every part must have the bytes that the shuffler signed.  Messages that no client can have sent are refused and
    counted by reason, and the statement is for the contributors who cannot have sent one of these.

    \b
      shuffledp collect outbox/FOLDER --publication fruit.json --keys analyst \\
        --shuffler shuffler.pub --statement statement.json
    """
    from .._support.locking import alone_with
    from ..shuffler import signed
    from ..shuffler.collect import collect as run
    from ..shuffler.keys import sealing, trusted
    from ..shuffler.publication import Publication
    from ..shuffler.release import ReleasedBatch

    prepared(shown["plot"])
    secret = {f"keys {name}": os.path.join(keys, name) for name in ("sealing.key", "signing.key")}
    written = {"state": state, "statement": statement, **{key: shown[key] for key in ("plot", "report", "table")}}
    distinct(written, {"publication": publication, "shuffler": shuffler, "publisher": publisher, **secret})
    if was_given("colluding") and not statement:
        raise click.UsageError("--colluding needs --statement FILE, which states it.")
    if statement and len(released) > 1:
        raise click.UsageError("--statement is for one released period; collect it alone.")
    known = Publication.read(signed.read(publication), trusted([publisher or os.path.join(keys, "signing.pub")]))
    found = [ReleasedBatch.read(folder, known, trusted([shuffler])) for folder in dict.fromkeys(released)]
    told = []
    with alone_with(state, name="state") if state else nullcontext():
        collector = collector_of(state, known.plan)
        before = len(collector.batches)
        for one in found:
            with rows_per_second("opening") as advance:
                key = sealing(os.path.join(keys, "sealing.key"))
                counts, new = run(one, key, collector, engine=engine_name, progress=advance)
            _tell(one, counts, new)
            told.append({"batch": one.manifest["batch"], "period": one.manifest["period"], **vars(counts)})
        answered = collector.estimate()
        if statement:
            _state(statement, keys, found[0], counts, collector, colluding)
        if state and len(collector.batches) > before:
            collector.save(state)
    view = viewed(answered, **{key: shown.pop(key) for key in VIEW})
    first, last = (_moment(when(known.window(one.manifest["period"])[0] for one in found)) for when in (min, max))
    show_answer(view, collector, period=first if first == last else f"{first}/{last}", more={"released": told}, **shown)


def _tell(found: ReleasedBatch, counts: Counts, new: bool) -> None:
    """What was in a released period, on stderr."""
    refused = ", ".join(f"{number:,} {reason}" for reason, number in counts.refused.items()) or "none"
    what = f"{counts.contributors:,} contributors, {counts.real:,} messages, {counts.blank:,} blanks"
    say(f"{found.folder}: {what}, refused: {refused}{'' if new else '; counted before, skipped'}", err=True)


def _state(path: str, keys: str, found: ReleasedBatch, counts: Counts, collector: Collector, colluding: str) -> None:
    from ..accounting.crowd import missing
    from ..shuffler import signed
    from ..shuffler.keys import signing
    from ..shuffler.statement import state

    many = missing("colluding", colluding, counts.honest(collector.plan))
    key = signing(os.path.join(keys, "signing.key"))
    signed.save(path, state(found, counts, key=key, colluding=many))
    wrote(path)


def _moment(seconds: int) -> str:
    """The start of a period, in UTC."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%MZ")
