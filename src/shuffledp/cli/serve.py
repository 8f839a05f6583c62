"""serve: the page that answers while sliders move."""

from __future__ import annotations

import click

from .base import main, say


@main.command()
@click.option("--port", default=8000, show_default=True, help="Where to listen; 0 takes a free port.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Who can reach it: this machine only by default.")
@click.option(
    "--allow-host", "allowed", multiple=True, metavar="NAME", help="A further name of this server; may be repeated."
)
def serve(port: int, host: str, allowed: tuple[str, ...]) -> None:
    """A page in the browser: guarantee, curves, ranking, composition and files, on this machine (extra `web`).

    Nothing is sent elsewhere, and what is asked is not logged.  Stop it with Ctrl-C.
    """
    from .._support.sockets import is_loopback
    from ..web.server import serve as run

    def ready(address: str) -> None:
        if not is_loopback(host):
            say(
                f"shuffledp: {host} can be reached from other machines; the page has no password and no encryption, "
                "so use it in a network that you trust.",
                err=True,
            )
        say(f"{address} (stop with Ctrl-C)")

    run(host=host, port=port, allowed=allowed, ready=ready)
