"""collect: a period that a shuffler released, from sealed messages to the answer and its signed statement."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from . import options
from .base import distinct, main, prepared, say, wrote
from .collect import (
    engine_option,
    fit_option,
    plot_option,
    report_option,
    rows_per_second,
    show_answer,
    shown_options,
    state_option,
    table_option,
    viewed,
)

if TYPE_CHECKING:
    from ..protocol.collector import Collector
    from ..protocol.plan import Plan


@main.command()
@click.argument("released")
@click.option("--publication", required=True, metavar="FILE", help="The signed publication that the clients had.")
@click.option("--keys", required=True, metavar="DIR", help="The analyst's keys: sealing.key and signing.key.")
@click.option("--shuffler", required=True, metavar="FILE", help="The shuffler's public key, which signed the release.")
@click.option("--publisher", metavar="FILE", help="The public key of the publisher; the analyst's own unless given.")
@click.option("--statement", metavar="FILE", help="Write the signed statement, for 'shuffledp certify --verify'.")
@click.option(
    "--colluding", default="0", metavar="K", help="In the statement: users who may help the adversary, 500 or 5%."
)
@state_option
@engine_option
@fit_option
@shown_options
@plot_option
@report_option
@table_option
@options.as_json
def collect(
    released: str, publication: str, keys: str, shuffler: str, publisher: str | None, colluding: str, **shown: Any
) -> None:
    """Open the period that a shuffler RELEASED, count it once, and answer the question of its plan.

    Every part must have the bytes that the shuffler signed.  Messages that no client can have sent are refused and
    counted by reason, and the guarantee is for the contributors who cannot have sent one of these.
    """
    from contextlib import nullcontext

    from .._support.json_ready import json_object
    from .._support.locking import alone_with
    from ..shuffler import signed
    from ..shuffler.collect import collect as run
    from ..shuffler.keys import sealing, trusted
    from ..shuffler.publication import Publication
    from ..shuffler.released import Released

    statement, state = shown.pop("statement"), shown.pop("state")
    prepared(shown["plot"])
    distinct({"state": state, "statement": statement, **{key: shown[key] for key in ("plot", "report", "table")}})
    known = Publication.read(signed.read(publication), trusted([publisher or os.path.join(keys, "signing.pub")]))
    known.verify()
    found = Released.read(released, known, trusted([shuffler]))
    plan = known.plan
    with alone_with(state, name="state") if state else nullcontext():
        collector = _collector(state, plan)
        with rows_per_second("opening") as advance:
            counts, new = run(
                found,
                known,
                sealing(os.path.join(keys, "sealing.key")),
                collector,
                engine=shown.pop("engine_name"),
                progress=advance,
            )
        answered = collector.estimate()
        if statement:
            _state(statement, keys, plan, found, counts, colluding)
        if state and new:
            collector.save(state)
    if not new:
        say(f"{released}: counted before, skipped", err=True)
    refused = ", ".join(f"{number:,} {reason}" for reason, number in counts.refused.items()) or "none"
    say(
        f"{counts.contributors:,} contributors: {counts.real:,} messages, {counts.blank:,} blanks, refused: {refused}",
        err=True,
    )
    view = viewed(answered, *(shown.pop(key) for key in ("fit", "quantiles", "counts", "top")))
    period = _moment(found.manifest["starts"])
    show_answer(view, collector, period=period, more={"release": json_object(vars(counts))}, **shown)


def _collector(state: str | None, plan: Plan) -> Collector:
    from ..protocol.collector import Collector

    return Collector.load(state, plan) if state and os.path.exists(state) else Collector(plan)


def _state(path: str, keys: str, plan: Plan, found: Any, counts: Any, colluding: str) -> None:
    from ..accounting.crowd import missing
    from ..shuffler import signed
    from ..shuffler.keys import signing
    from ..shuffler.statement import state

    many = missing("colluding", colluding, counts.honest(plan))
    key = signing(os.path.join(keys, "signing.key"))
    signed.save(path, state(plan, found, counts, key=key, colluding=many))
    wrote(path)


def _moment(seconds: int) -> str:
    """The start of a period, in UTC."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%MZ")
