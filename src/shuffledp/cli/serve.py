"""serve: the page that answers while sliders move."""

from __future__ import annotations

import click

from . import options
from .base import main, ready


@main.command(short_help="Open a page in the browser that computes on this machine.")
@options.listening(8000)
@click.option(
    "--allow-host", "allowed", multiple=True, metavar="NAME", help="A further name of this server; may be repeated."
)
def serve(port: int, host: str, allowed: tuple[str, ...]) -> None:
    """A page in the browser: guarantee, curves, ranking, composition and files, on this machine (extra `web`).

    Nothing is sent elsewhere, and what is asked is not logged.  Stop it with Ctrl-C.
    """
    from ..web.server import serve as run

    mind = "the page has no password and no encryption, so use it in a network that you trust."
    run(host=host, port=port, allowed=allowed, ready=ready(host, mind))
