"""What a client keeps: that it has answered, and the report until the shuffler has it.

One private file for each plan and period.  It is made in one step, by linking a finished file to its name, so that of
two processes only one can make it; the other one finds that report and sends no report of its own.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .._support.files import write_new, write_whole
from .._support.locking import alone_with
from .._support.reading import Kind, mapping, read_json
from ..errors import ParameterError, ShuffleDPError

_RECORD = Kind("a kept report", 2**22, "do not answer again in this period", "folder")
_SEEN = Kind("the list of seen plans", 2**24, "install the client again with an empty folder", "folder")
_KEYS = ("version", "digest", "period", "until", "state", "body")
_STATES = ("kept", "sent", "missed")
#: What is known of a name that was never seen.
_NONE = {"serial": 0, "digest": "", "withdrawn": -1}


@dataclass(frozen=True)
class Record:
    """A report of one plan and period.

    Attributes
    ----------
    until : time from which the shuffler takes it no more
    state : "kept" until the shuffler has it, then "sent"; "missed" if it came too late
    body : what is sent, the same bytes every time; erased once it is sent or missed
    """

    digest: str
    period: int
    until: float
    state: str
    body: bytes

    def text(self) -> str:
        """The file."""
        body = base64.b64encode(self.body).decode("ascii")
        return json.dumps({"version": 1, **vars(self), "body": body}) + "\n"


class Kept:
    """The folder of a client's reports.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kept = Kept(folder)
    ...     first, again = (kept.create(Record(64 * "a", 3, 1e9, "kept", body)) for body in (b"one", b"two"))
    >>> first.body, again.body  # the second one is not kept
    (b'one', b'one')
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise _no_state(self.folder, error) from None

    def _path(self, digest: str, period: int) -> Path:
        return self.folder / f"{digest[:32]}-{period}.json"

    def find(self, digest: str, period: int) -> Record | None:
        """The report of this plan and period, if there is one; a damaged file is refused, and nothing is sent."""
        path = self._path(digest, period)
        return _read(path, digest) if os.path.lexists(path) else None

    def unsent(self) -> Iterator[Record]:
        """All reports that the shuffler does not have yet."""
        for path in sorted(self.folder.glob("*-*.json")):
            found = _read(path)
            if found.state == "kept":
                yield found

    def create(self, record: Record) -> Record:
        """Keep a report durably, unless there is one of this plan and period; the one that is kept."""
        path = self._path(record.digest, record.period)
        try:
            with suppress(FileExistsError):
                write_new(path, record.text().encode("ascii"))
        except OSError as error:
            raise _no_state(self.folder, error) from None
        return _read(path, record.digest)

    def settle(self, record: Record, state: str) -> None:
        """Note that a report was sent, or came too late, and erase its body."""
        done = replace(record, state=state, body=b"")
        write_whole(self._path(record.digest, record.period), done.text(), name="folder")

    # -- publications -----------------------------------------------------------------------------------------------

    def claim(self, name: str, digest: str, period: int, *, now: float, until: float) -> None:
        """Before a report is kept: until its period is over, no other plan or period of the name is answered."""
        mine = {"digest": digest, "period": period, "until": until}
        with self.known(name) as known:
            last = mapping("what was answered", known.get("answered", mine), needed=mine)
            if (last["digest"], last["period"]) != (digest, period) and now < last["until"]:
                raise ParameterError(
                    f"publication {name!r:.60} must be the one that this period was answered with, got another; "
                    "answer in the next period."
                )
            known["answered"] = mine

    @contextmanager
    def known(self, name: str) -> Iterator[dict[str, Any]]:
        """The greatest serial of a name that was seen, its digest, and the greatest that was withdrawn, to be changed.

        What is changed is written down before anything is done with it; after an error nothing is.
        """
        path = self.folder / "publications.json"
        with alone_with(path, name="folder"):
            seen = read_json(path, _SEEN) if path.exists() else {}
            before = json.dumps(seen)
            found: Any = seen.setdefault(name, dict(_NONE)) if isinstance(seen, dict) else None
            mapping("a seen plan", found, needed=_NONE, optional=["answered"])
            yield found
            if json.dumps(seen) != before:
                write_whole(path, json.dumps(seen) + "\n", name="folder")


def _read(path: Path, digest: str | None = None) -> Record:
    found = mapping("a kept report", read_json(path, _RECORD), needed=_KEYS)
    try:
        body = base64.b64decode(found["body"], validate=True)
        made = Record(found["digest"], int(found["period"]), float(found["until"]), found["state"], body)
        whole = found["version"] == 1 and made.state in _STATES and digest in (None, made.digest)
    except (TypeError, ValueError):
        whole = False
    if not whole:
        raise ParameterError(
            f"a kept report must be one that this client wrote, got something else in {str(path)!r}; nothing is sent "
            "in its period."
        )
    return made


def _no_state(folder: Path, error: OSError) -> ShuffleDPError:
    return ShuffleDPError(
        f"a client must remember what it sent, got a folder where it cannot ({str(folder)!r}: "
        f"{error.strerror or error}); nothing is sent: choose a folder on a disk with links that it may write to."
    )
