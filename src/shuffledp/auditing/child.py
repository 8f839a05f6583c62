"""The process that runs foreign code: it imports the function, audits it and writes down what it found.

Its standard input holds one line of JSON, what to audit, and stays open as long as the parent lives; its standard
output takes lines of JSON: {"progress": [done, total]}, and at last {"found": {...}} or {"refused": sentence}.  Both
are moved to descriptors of their own before foreign code is imported, so that what it prints goes to stderr and what
it reads is empty.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from ..errors import ParameterError, ShuffleDPError
from .foreign import kind, told

#: Seconds between two reports of progress.
_PAUSE = 0.1


def main() -> None:
    """Answer the one question on the standard input, then end."""
    asked, answers = _moved()
    with os.fdopen(asked, "rb", buffering=0, closefd=False) as line:
        request = json.loads(line.readline())
    threading.Thread(target=_end_with_the_parent, args=(asked,), daemon=True).start()
    last, answer = time.monotonic(), dict[str, Any]()

    def progress(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last > _PAUSE:
            last = time.monotonic()
            _write(answers, {"progress": [int(done), int(total)]})

    try:
        answer = {"found": _audit(request["subject"], request["terms"], progress)}
    except ShuffleDPError as error:
        answer = {"refused": str(error)}
    except BaseException as error:  # there is no Ctrl-C here: the parent gets it
        answer = {"refused": f"randomizer must return a report for every input, got {told(error)}; try it by itself."}
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BaseException):  # the code may have replaced them
            stream.flush()
    _write(answers, answer)
    os._exit(0)  # nothing that the code left behind runs after the answer


def _audit(subject: str, terms: dict[str, Any], progress: Callable[[int, int], None]) -> dict[str, Any]:
    from .run import audit  # before the current directory may hide a package

    sys.path.insert(0, os.getcwd())
    return audit(load(subject), **terms, progress=progress).to_dict()


def load(text: str) -> Callable[[Any], Any]:
    """The function named module:function, imported from the current directory or the installed packages."""
    module, colon, name = text.partition(":")
    if not colon or not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
        raise ParameterError(f"SPEC must be module:function with --python, got {text!r}; write telemetry:encode.")
    try:
        found: Any = importlib.import_module(module)
    except BaseException as error:
        raise ParameterError(
            f"module {module!r} must be one that can be imported, got {told(error)}; "
            "run this from the module's directory."
        ) from None
    try:
        for part in name.split("."):
            found = getattr(found, part, None)
    except BaseException as error:
        raise ParameterError(f"{text!r} must name a function, got {told(error)}; check the module.") from None
    if found is None:
        raise ParameterError(f"{text!r} must name a function, got none of that name in the module; check it.")
    if not callable(found):
        raise ParameterError(f"{text!r} must name a function, got a value of type {kind(found)}; check it.")
    function: Callable[[Any], Any] = found
    return function


def _moved() -> tuple[int, int]:
    """The standard input and output, where print and input cannot reach them."""
    asked, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # stderr is closed
        os.dup2(nothing, 1)
    os.close(nothing)
    return asked, answers


def _write(answers: int, message: dict[str, Any]) -> None:
    line = json.dumps(message, allow_nan=False).encode() + b"\n"
    with contextlib.suppress(OSError):  # the code has closed our pipe: the parent will notice
        while line:
            line = line[os.write(answers, line) :]


def _end_with_the_parent(asked: int) -> None:
    """The parent never writes again, so the end of its pipe means that the parent has ended, for whatever reason."""
    with contextlib.suppress(OSError):
        while os.read(asked, 1):
            pass
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)
