"""The command line: parse, call the public API, print.  Nothing heavy is imported before a command runs.

Every module here adds its commands to ``main`` when it is imported; name a new one in the line below.
"""

from . import account, audit, budget, check, collect, compare, plan, reproduce, serve, shuffler, simulate, statement  # noqa: F401
from .base import main

__all__ = ["main"]
