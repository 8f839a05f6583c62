"""An audit of somebody else's code in a process of its own, with a time limit.

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
from typing import IO, Any, NoReturn

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


def audit_apart(
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
    said: queue.Queue[bytes | None] = queue.Queue(maxsize=64)
    request = json.dumps({"subject": subject, "terms": terms}).encode() + b"\n"
    child = _started()
    talk = threading.Thread(target=_converse, args=(child, request, said), daemon=True)
    try:
        talk.start()
        while (left := deadline - time.monotonic()) > 0.0:
            try:
                line = said.get(timeout=min(left, _TICK))
            except queue.Empty:
                if child.poll() is None:
                    continue
                talk.join(timeout=1.0)  # processes that it started may keep its end of the pipe open
                line = None if said.empty() else said.get()
            if line is None:
                _ended(child)
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
        _drain(child, talk, said)


# -- the process -----------------------------------------------------------------------------------------------


def _started() -> subprocess.Popen[bytes]:
    root = str(Path(__file__).resolve().parents[2])
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-c", _START.format(root=root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,  # Ctrl-C reaches only the parent, and the child's own children end with it
        )
    except (OSError, ValueError) as error:
        raise ParameterError(
            f"--python must be able to start another Python, got {type(error).__name__} from {sys.executable!r}; "
            "call shuffledp.audit in Python instead."
        ) from None


def _converse(child: subprocess.Popen[bytes], request: bytes, said: queue.Queue[bytes | None]) -> None:
    """Write the request, then pass on line by line what comes back; None at its end, or if a line is too long."""
    pipe_in, pipe_out = _pipes(child)
    held = b""
    with contextlib.suppress(OSError, ValueError):  # it may be gone, or its pipes closed
        while request:
            request = request[pipe_in.write(request) :]
        while len(held) <= _LINE and (more := os.read(pipe_out.fileno(), 1 << 16)):
            *lines, held = (held + more).split(b"\n")
            for line in lines:
                said.put(line)
    said.put(None)


def _pipes(child: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    if child.stdin is None or child.stdout is None:
        raise ValueError("started without pipes")
    return child.stdin, child.stdout


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kill the child and all of its process group, and wait for it, so that nothing is left behind."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(child.pid, signal.SIGKILL)
    child.kill()
    child.wait()


def _drain(child: subprocess.Popen[bytes], talk: threading.Thread, said: queue.Queue[bytes | None]) -> None:
    """Wait for the reader to finish, which takes long only if another process holds the pipe, and close the pipes."""
    until = time.monotonic() + 1.0
    while talk.is_alive() and time.monotonic() < until:
        with contextlib.suppress(queue.Empty):
            said.get(timeout=0.02)
    if not talk.is_alive():
        for pipe in _pipes(child):
            pipe.close()


def _ended(child: subprocess.Popen[bytes]) -> NoReturn:
    """The child, or its pipe, is gone and there was no answer."""
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
