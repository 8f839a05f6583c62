"""An audit of foreign code in a process of its own, with a time limit.

The code may end its process, hang, crash or close its files: each becomes one error message here.  Nothing that comes
back is unpickled or trusted to be well formed; it is JSON of limited size, and every field of the answer is checked.
This protects from faults, not from malice: the code runs with your rights, and malicious code can look harmless.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from .._support import validation as check
from ..errors import ParameterError
from .foreign import printable
from .result import Audit

#: Seconds that an audit may take: by default, and at most.
TIME_LIMIT, LONGEST = 600.0, 1e6
#: Bytes of one message of the child, and of a text in it.
_LINE, _TEXT = 1 << 20, 4000
#: Seconds between two checks that the child still runs.
_TICK = 0.2
#: The library is found where this process found it; the current directory (-P) and the code come later.
_START = "import sys; sys.path.append({root!r}); from shuffledp.auditing.child import main; main()"

Progress = Callable[[int, int], object]


def audit_isolated(
    subject: str, *, terms: dict[str, Any], time_limit: float = TIME_LIMIT, progress: Progress | None = None
) -> Audit:
    """Audit the function module:function of the current directory in a child process.

    ``terms`` are keywords of :func:`~shuffledp.auditing.run.audit` that JSON can hold.  Whatever goes wrong in the
    child is a ParameterError; when this returns or raises, the child and its process group are gone.
    """
    limit = check.in_range(
        "time-limit", time_limit, low=0.0, high=LONGEST, low_open=True, hint="it is a number of seconds"
    )
    deadline = time.monotonic() + limit
    said: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    request = json.dumps({"subject": subject, "terms": terms}).encode() + b"\n"
    child = _started()
    try:
        threading.Thread(target=_converse, args=(child, request, said), daemon=True).start()
        while (left := deadline - time.monotonic()) > 0.0:
            has_ended = child.poll() is not None
            try:
                line = said.get(timeout=1.0 if has_ended else min(left, _TICK))
            except queue.Empty:
                if not has_ended:
                    continue
                line = None  # processes that it started keep its end of the pipe open
            if line is None:
                _no_answer(child)
            answer = _message(line)
            if "progress" in answer:
                if progress is not None:
                    progress(*answer["progress"])
            elif "refused" in answer:
                raise ParameterError(printable(answer["refused"])[:_TEXT])
            else:
                return _found(answer["found"], terms)
        raise ParameterError(
            f"randomizer must be audited within {limit:g} seconds, got no answer by then; "
            "pass a longer --time-limit or fewer --samples, or make it faster (see --vectorized)."
        )
    finally:
        _end(child)


# -- the process -----------------------------------------------------------------------------------------------


def _started() -> subprocess.Popen[bytes]:
    root = str(Path(__file__).resolve().parents[2])
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-c", _START.format(root=root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C reaches only the parent, and the child's own children end with it
        )
    except (OSError, ValueError) as error:
        raise ParameterError(
            f"--python must be able to start another Python, got {type(error).__name__} from {sys.executable!r}; "
            "call shuffledp.audit in Python instead."
        ) from None


def _converse(child: subprocess.Popen[bytes], request: bytes, said: queue.SimpleQueue[bytes | None]) -> None:
    """Write the request, then pass on line by line what comes back; None at its end."""
    if child.stdin is not None and child.stdout is not None:
        with contextlib.suppress(OSError), child.stdout:  # the child may be gone, or its pipes closed
            child.stdin.write(request)
            child.stdin.flush()
            while line := child.stdout.readline(_LINE):
                said.put(line)
    said.put(None)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kill the child and all of its process group, and wait for it, so that nothing is left behind."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(child.pid, signal.SIGKILL)
    child.kill()
    child.wait()
    if child.stdin is not None:  # open until here: its end tells the child that this process is gone
        with contextlib.suppress(OSError):
            child.stdin.close()


def _no_answer(child: subprocess.Popen[bytes]) -> NoReturn:
    """Say how the child, or its pipe, ended without an answer."""
    try:
        code = child.wait(timeout=1.0)
    except subprocess.TimeoutExpired:
        how = "a closed pipe"
    else:
        how = f"the end of its process (exit code {code})"
        if code < 0:
            with contextlib.suppress(ValueError):
                how = f"a crash of its process ({signal.Signals(-code).name})"
    raise ParameterError(
        f"randomizer must return a report for every input, got {how} instead; run it by itself to see why."
    )


# -- what it said ----------------------------------------------------------------------------------------------


def _garbled() -> ParameterError:
    return ParameterError(
        "randomizer must leave the files of its process alone, got an answer that cannot be read; "
        "do not write to files that it did not open."
    )


def _message(line: bytes) -> dict[str, Any]:
    """One message, with one key of three."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        raise _garbled() from None
    if type(message) is not dict or len(message) != 1:
        raise _garbled()
    key, value = next(iter(message.items()))
    if not (
        (key == "progress" and _whole_numbers(value, 2) and value[0] <= value[1])
        or (key == "refused" and type(value) is str and value)
        or (key == "found" and type(value) is dict)
    ):
        raise _garbled()
    return message


def _found(data: dict[str, Any], terms: dict[str, Any]) -> Audit:
    """The answer, field by field: of the right kind, within its range, and to the question that was asked."""
    texts, names = ("event", "law_words", "randomizer"), {*Audit.__dataclass_fields__, "violated"}
    if set(data) != names:
        raise _garbled()
    claimed, law, hits, inputs = (data[key] for key in ("claimed", "law", "hits", "inputs"))
    claimed = math.inf if claimed == "inf" else claimed
    asked = terms.get("inputs")
    good = (
        _number(data["lower"])
        and _number(data["confidence"])
        and data["confidence"] == terms["confidence"]
        and all(type(data[key]) is str for key in texts)
        and type(inputs) is list
        and 2 <= len(inputs) <= 32
        and (asked is None or inputs == asked)
        and type(data["pair"]) is list
        and len(data["pair"]) == 2
        and all(x in inputs for x in data["pair"])
        and _whole_numbers([data["listed"], data["proved_on"], data["samples"]], 3)
        and data["samples"] == terms["samples"]
        and len(inputs) <= data["listed"]
        and 0 < data["proved_on"] <= terms["samples"]
        and _whole_numbers(hits, 2)
        and max(hits) <= data["proved_on"]
        and (claimed is None or claimed == math.inf or _number(claimed))
        and (terms.get("eps0") is None or claimed == terms["eps0"])
        and (law is None or (_number(law) and law <= 1.0))
    )
    if not good:
        raise _garbled()
    found = Audit(
        **{
            **{key: data[key] for key in names - {"violated"}},
            **{key: printable(data[key])[:_TEXT] for key in texts},
            "claimed": claimed,
            "pair": tuple(data["pair"]),
            "hits": tuple(hits),
            "inputs": tuple(inputs),
        }
    )
    if data["violated"] is not found.violated:
        raise _garbled()
    return found


def _number(value: Any) -> bool:
    return type(value) in (int, float) and 0.0 <= value < math.inf


def _whole_numbers(values: Any, count: int) -> bool:
    return type(values) is list and len(values) == count and all(type(v) is int and v >= 0 for v in values)
