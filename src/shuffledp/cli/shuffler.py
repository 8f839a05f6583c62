"""shuffler: keys, plans and periods of the service that collects sealed reports and releases shuffled batches."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .._support.sockets import is_loopback
from .._support.tables import Column, Table
from . import options
from .base import answer, main, print_json, say
from .terminal import show_table

if TYPE_CHECKING:
    from ..shuffler.service import Service

_folder = click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))


@main.group()
def shuffler() -> None:
    """Run a shuffler: sealed reports from clients in, anonymous batches out (extra `shuffler`).

    \b
      shuffledp shuffler keygen DIR
      shuffledp shuffler serve DIR
    """


@shuffler.command()
@_folder
@click.option("--store", default="", metavar="ADDRESS", help="postgresql://..., where several front ends share one.")
def keygen(folder: Path, store: str) -> None:
    """Make the directory of a shuffler with its keys; keys that exist stay as they are."""
    from ..shuffler.home import Home

    home = Home.make(folder, store=store)
    say(f"{folder}: keys are ready; put publishers' keys in {home.publishers} and plans in {home.plans_folder}")


@shuffler.command()
@_folder
@click.option("--port", default=8080, show_default=True, help="Where to listen; 0 takes a free port.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Who can reach it: this machine only by default.")
@click.option("--no-release", is_flag=True, help="Only take reports in: another front end releases.")
def serve(folder: Path, port: int, host: str, no_release: bool) -> None:
    """Take reports in, and release every period that is over.  Stop it with Ctrl-C.

    Nothing of a request is logged.  Beyond this machine, put a reverse proxy with TLS in front of it.
    """
    from ..shuffler.service import serve as run

    def ready(address: str) -> None:
        if not is_loopback(host):
            say(f"shuffledp: {host} can be reached from other machines; put TLS in front of it.", err=True)
        say(f"{address} (stop with Ctrl-C)")

    run(_service(folder, releases=not no_release), host=host, port=port, ready=ready)


@shuffler.command()
@_folder
@options.as_json
def status(folder: Path, as_json: bool) -> None:
    """Which keys, plans and periods there are, and how many contributors each period has."""
    from ..shuffler.home import Home
    from ..shuffler.ohttp_keys import Keys

    home = Home(folder)
    store, plans = home.open_store(), home.plans()
    held = store.held()
    store.shut()
    found: dict[str, Any] = {
        "keys": [{"number": key.number, "state": key.state} for key in Keys.load(home.ohttp).keys],
        "plans": [
            {
                "plan": p.digest,
                "name": p.name,
                "serial": p.serial,
                "minimum": p.minimum,
                "withdrawn": d in plans.withdrawn,
            }
            for d, p in plans.found.items()
        ],
        "problems": list(plans.problems),
        "periods": [
            {"plan": h.place[0].hex(), "period": h.place[1], "state": h.state, "contributors": h.contributors}
            | {"refused": h.refused}
            for h in held
        ],
    }
    if as_json:
        return print_json(found)
    for name in ("keys", "plans", "periods"):
        if found[name]:
            heads = [head for head in found[name][0] if head != "refused"]
            show_table(Table(tuple(Column(head=h, values=[str(one[h])[:24] for one in found[name]]) for h in heads)))
    say(*(f"refused {problem}" for problem in plans.problems))


@shuffler.command()
@_folder
@options.as_json
def release(folder: Path, as_json: bool) -> None:
    """Release or discard every period whose time has come, as the service does by itself."""
    service = _service(folder)
    made = [str(path) for path in service.release_due()]
    service.store.shut()
    answer(as_json, {"released": made}, *(made or ["nothing is due"]))


@shuffler.command()
@_folder
@options.as_json
def rotate(folder: Path, as_json: bool) -> None:
    """Move every key for Oblivious HTTP on: pending, active, retired, erased; and make a new pending one.

    Clients that hold the key of before are served until the next rotation.  A running service notices by itself.
    """
    from ..shuffler.home import Home
    from ..shuffler.ohttp_keys import rotate as move

    found = [{"number": key.number, "state": key.state} for key in move(Home(folder).ohttp).keys]
    answer(as_json, {"keys": found}, *(f"key {one['number']}: {one['state']}" for one in found))


def _service(folder: Path, *, releases: bool = True) -> Service:
    from ..shuffler.home import Home
    from ..shuffler.service import Service

    return Service(Home(folder), releases=releases)
