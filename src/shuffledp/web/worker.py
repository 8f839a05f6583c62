"""A process that computes answers, one at a time, and can be stopped at any moment: both of its ends.

A question goes in as one line of JSON, its answer comes out as one line "KIND SIZE" and SIZE bytes; nothing that
is read on either end can name code.  The process ends when its input does, so it does not outlive the server.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from queue import SimpleQueue

from ..errors import ParameterError, ShuffleDPError

#: One question uses one core: threads of a BLAS spend more time waiting for each other than they save on such sums.
_ONE_CORE = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class EndedError(Exception):
    """The process ended before it answered."""


class Worker:
    """The server's end; one thread asks, any thread may stop it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> subprocess.Popen[bytes]:
        """The process that runs, begun if there is none; what it imports takes it about a second."""
        if self._process is not None and self._process.poll() is not None:
            self.close()
        if self._process is None:
            found = os.pathsep.join(part for part in sys.path if part)
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, **_ONE_CORE, "PYTHONPATH": found},
                start_new_session=True,  # Ctrl-C is for the server
            )
        return self._process

    def ask(self, path: str, given: Mapping[str, str]) -> bytes:
        """The body of the answer; if the process ends instead, the next question begins another one."""
        process = self.start()
        try:
            kind, body = _exchange(process, json.dumps([path, dict(given)]).encode("ascii") + b"\n")
        except (OSError, ValueError):  # a pipe that is broken, closed or empty
            self.stop()
            raise EndedError(f"the process ended with {process.poll()}") from None
        if kind == b"answer":
            return body
        said = body.decode("utf-8")
        raise ParameterError(said) if kind == b"refused" else RuntimeError(said)

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        process = self._process
        if process is not None:
            process.kill()
            process.wait()

    def close(self) -> None:
        """End it for good."""
        self.stop()
        process, self._process = self._process, None
        if process is not None:
            process.communicate()  # closes the pipes


def _exchange(process: subprocess.Popen[bytes], question: bytes) -> tuple[bytes, bytes]:
    if process.stdin is None or process.stdout is None:
        raise ValueError("no pipes")
    process.stdin.write(question)
    process.stdin.flush()
    kind, _, size = process.stdout.readline().partition(b" ")
    body = process.stdout.read(int(size))
    if len(body) < int(size):
        raise ValueError("half an answer")
    return kind, body


def _main() -> None:
    """The other end: answer what comes in until nothing comes any more."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anybody prints is no answer
    questions: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_reads, args=(questions,), daemon=True).start()
    from .work import computed  # the server itself does without all that this imports

    while True:
        kind, body = _answered(computed, questions.get())
        output.write(b"%s %d\n%s" % (kind, len(body), body))
        output.flush()


def _reads(questions: SimpleQueue[bytes]) -> None:
    """Hand every line on; at the end of them the process ends, whatever is being computed."""
    for line in sys.stdin.buffer:
        questions.put(line)
    os._exit(0)


def _answered(computed: Callable[..., bytes], question: bytes) -> tuple[bytes, bytes]:
    try:
        return b"answer", computed(*json.loads(question))
    except ShuffleDPError as error:
        return b"refused", str(error).encode("utf-8", "replace")
    except MemoryError:
        return b"refused", b"the answer needs more memory than there is; ask for fewer options or users."
    except Exception:
        return b"failed", traceback.format_exc().encode("utf-8", "replace")


if __name__ == "__main__":
    _main()
