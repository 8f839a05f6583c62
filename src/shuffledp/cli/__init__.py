"""The command line: parse, call the public API, print.  Nothing heavy is imported before a command runs.

Every module here adds its commands to ``main`` when it is imported; name a new one in the list below.
"""

from . import (  # noqa: F401
    account,
    audit,
    budget,
    check,
    collect,
    compare,
    plan,
    released,
    reproduce,
    serve,
    shuffler,
    simulate,
)
from .base import main

__all__ = ["main"]
