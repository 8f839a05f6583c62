"""shuffler: keys, plans and periods of the service that collects sealed reports and releases shuffled batches."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .._support.tables import Column, Table
from ..errors import ParameterError
from . import options
from .base import answer, main, print_json, ready, say, show_table, unused, wrote

if TYPE_CHECKING:
    from ..shuffler.service import Service

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
#: What tells the folder of a shuffler from that of an analyst (True).
_FILES = {False: ("config.json", "keys"), True: ("signing.key", "sealing.key")}
_keys = click.option(
    "--keys", required=True, type=click.Path(path_type=Path), metavar="DIR", help="Folder of the publisher's keys."
)
_folder = click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))


@main.group(short_help="Run the service that shuffles the reports of clients.")
def shuffler() -> None:
    """Run a shuffler: sealed reports from clients in, anonymous batches out (extra `shuffler`).

    \b
      shuffledp shuffler keygen --analyst analyst
      shuffledp shuffler publish plan.json --keys analyst -o fruit.json
      shuffledp shuffler keygen DIR
      cp analyst/signing.pub DIR/publishers; cp fruit.json DIR/plans
      shuffledp shuffler serve DIR
    """


@shuffler.command(short_help="Make the keys of a shuffler or of an analyst.")
@_folder
@click.option(
    "--analyst", is_flag=True, help="Make an analyst's keys, to publish plans and open batches, not a shuffler's."
)
@click.option("--store", default="", metavar="ADDRESS", help="postgresql://..., where several front ends share one.")
def keygen(folder: Path, analyst: bool, store: str) -> None:
    """Make the directory of a shuffler, or of an analyst, with its keys; keys that exist stay as they are."""
    from ..shuffler import keys
    from ..shuffler.folder import ShufflerFolder

    # whoever has both kinds of keys can see who sent what
    taken = next((name for name in _FILES[not analyst] if (folder / name).exists()), None)
    if taken:
        raise ParameterError(
            f"DIR must not hold keys of the other role, got {str(folder)!r} with {taken}; choose another folder."
        )
    if not analyst:
        home = ShufflerFolder.make(folder, store=store)
        say(f"{folder}: keys are ready; put publishers' keys in {home.publishers} and plans in {home.plans_folder}")
        return
    for name in ("signing", "sealing"):
        if not (folder / f"{name}.key").exists():
            keys.generate(folder, name)
    say(f"{folder}: keys are ready; hand out signing.pub and sealing.pub, and nothing else")


@shuffler.command(short_help="Sign a plan for clients and shuffler.")
@click.argument("plan", type=click.Path(dir_okay=False))
@_keys
@click.option(
    "--analyst", type=click.Path(path_type=Path), metavar="FILE", help="Analyst's sealing.pub.  [default: in --keys]"
)
@click.option("--length", default="1d", show_default=True, metavar="TIME", help="Of a period: 90s, 30m, 6h, 1d or 4w.")
@click.option("--lasts", default="52w", show_default=True, metavar="TIME", help="How long clients answer.")
@click.option("--grace", default="1h", show_default=True, metavar="TIME", help="How late its reports may come.")
@click.option("--dispose", metavar="TIME", help="When a period with too few reports is discarded.  [default: 1w]")
@click.option("--starts", metavar="SECONDS", type=int, help="Start of period 0, in seconds since 1970.  [default: now]")
@click.option("--serial", metavar="K", type=int, help="Greater than any before.  [default: seconds since 1970]")
@click.option("--minimum", metavar="K", type=int, help="Fewest contributors of a batch.  [default: the plan's]")
@click.option("--name", default="", metavar="TEXT", help="Name of the question.  [default: the plan's]")
@click.option("-o", "--out", required=True, metavar="FILE", help="Where to write; put it in the plans of a shuffler.")
def publish(plan: str, keys: Path, analyst: Path | None, out: str, **given: Any) -> None:
    """Sign PLAN for clients and shuffler: its law in whole numbers, its periods, and who may open reports."""
    import time

    from ..protocol.plan import plan_of
    from ..shuffler import keys as files
    from ..shuffler import publication, signed

    unused("out", out)
    now = int(time.time())
    starts = now if given["starts"] is None else given["starts"]
    expires = starts + _seconds("lasts", given["lasts"])
    if expires <= now:
        raise ParameterError(
            f"--lasts must reach beyond now, {now} seconds since 1970, got a publication that expires at {expires}; "
            "give a later --starts."
        )
    envelope = publication.publish(
        plan_of(plan),
        files.signing(keys / "signing.key"),
        files.public(analyst or keys / "sealing.pub", "x25519"),
        serial=now if given["serial"] is None else given["serial"],
        starts=starts,
        length=_seconds("length", given["length"]),
        expires=expires,
        grace=_seconds("grace", given["grace"]),
        dispose=given["dispose"] and _seconds("dispose", given["dispose"]),
        minimum=given["minimum"],
        name=given["name"],
    )
    signed.save(out, envelope)
    wrote(out)
    found = publication.Publication.with_digest(envelope, signed.digest(publication.CONTEXT, envelope))
    say(f"digest: {found.digest}", f"program digest, for pages that pin it: {found.program_digest}")


@shuffler.command(short_help="Withdraw a publication.")
@click.argument("published", metavar="FILE", type=click.Path(dir_okay=False))
@_keys
@click.option("--reason", default="", metavar="TEXT", help="Why, for those who read it.")
@click.option("-o", "--out", required=True, metavar="FILE", help="Where to write; put it in the plans of a shuffler.")
def withdraw(published: str, keys: Path, reason: str, out: str) -> None:
    """Withdraw a publication: clients stop, and what the shuffler holds of it does not leave.

    Its reports are kept until they would have been discarded; `shuffledp shuffler release --discard` discards them now.
    """
    from ..shuffler import keys as files
    from ..shuffler import publication, signed

    unused("out", out)
    key = files.signing(keys / "signing.key")
    found = publication.Publication.read(signed.read(published), files.trusted([key.public_key()]))
    signed.save(out, publication.withdraw(found, key, reason=reason))
    wrote(out)


def _seconds(name: str, text: str) -> int:
    number, unit = text[:-1], _UNITS.get(text[-1:])
    if unit is None or not re.fullmatch("[0-9]{1,12}", number):
        raise ParameterError(f"--{name} must be a time such as 90s, 30m, 6h, 1d or 4w, got {text!r}; write it so.")
    return int(number) * unit


@shuffler.command()
@_folder
@options.listening(8080)
@click.option("--no-release", is_flag=True, help="Only take reports in: another front end releases.")
def serve(folder: Path, port: int, host: str, no_release: bool) -> None:
    """Take reports in, and release every period that is over.  Stop it with Ctrl-C.

    Nothing of a request is logged.  Beyond this machine, put a reverse proxy with TLS in front of it.
    """
    from ..shuffler.service import serve as run

    told = ready(host, "put TLS in front of it.")
    run(_service(folder, releases=not no_release), host=host, port=port, ready=told)


@shuffler.command(short_help="Show keys, plans and periods.")
@_folder
@options.as_json
def status(folder: Path, as_json: bool) -> None:
    """Which keys, plans and periods there are, and how many contributors each period has."""
    import time

    from ..shuffler.folder import ShufflerFolder
    from ..shuffler.oblivious_http import GatewayKeys

    home = ShufflerFolder(folder)
    store = home.open_store()
    plans = home.publications(store, time.time(), keep=False)
    held = store.periods()
    store.shut()
    found: dict[str, Any] = {
        "keys": [{"number": key.number, "state": key.state} for key in GatewayKeys.load(home.ohttp).keys],
        "plans": [
            {"publication": p.digest, "name": p.name, "serial": p.serial, "minimum": p.minimum}
            | {"withdrawn": d in plans.withdrawals}
            for d, p in plans.found.items()
        ],
        "problems": list(plans.problems),
        "periods": [
            {"publication": h.place[0].hex(), "period": h.place[1], "state": h.state}
            | ({} if h.finished else {"contributors": h.contributors, "refused": h.refused})
            for h in held
        ],
    }
    if as_json:
        return print_json(found)
    for name in ("keys", "plans", "periods"):
        if found[name]:
            heads = [head for head in dict.fromkeys(h for one in found[name] for h in one) if head != "refused"]
            rows = {head: [str(one.get(head, "")) for one in found[name]] for head in heads}
            show_table(Table(tuple(Column(head=head, values=values) for head, values in rows.items())))
    say(*(f"refused {problem}" for problem in plans.problems))


@shuffler.command(short_help="Release or discard every period whose time has come.")
@_folder
@click.option("--discard", is_flag=True, help="Discard now what withdrawn publications have collected.")
@options.as_json
def release(folder: Path, discard: bool, as_json: bool) -> None:
    """Release or discard every period whose time has come, as the service does by itself."""
    service = _service(folder)
    made = [str(path) for path in service.release_due(discard=discard)]
    service.store.shut()
    answer(as_json, {"released": made}, *(made or ["nothing is due"]))


@shuffler.command(short_help="Move on to the next keys for Oblivious HTTP.")
@_folder
@options.as_json
def rotate(folder: Path, as_json: bool) -> None:
    """Move every key for Oblivious HTTP on: pending, active, retired, erased; and make a new pending one.

    Clients that hold the key of before are served until the next rotation.  A running service notices by itself.
    """
    from ..shuffler.folder import ShufflerFolder
    from ..shuffler.oblivious_http import rotate as move

    found = [{"number": key.number, "state": key.state} for key in move(ShufflerFolder(folder).ohttp).keys]
    answer(as_json, {"keys": found}, *(f"key {one['number']}: {one['state']}" for one in found))


def _service(folder: Path, *, releases: bool = True) -> Service:
    from ..shuffler.folder import ShufflerFolder
    from ..shuffler.service import Service

    return Service(ShufflerFolder(folder), releases=releases)
