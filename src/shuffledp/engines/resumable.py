"""Privatizing a file group by group, so that an interrupted run resumes where it stopped.

Messages are scattered over the files of a private folder beside the result, as a shuffler does (protocol/shuffler.py).
After every group the lengths of these files are written down; a run that starts again cuts them back to that and goes
on with the next group.  What a cut-off group had written is thrown away and drawn anew: no report is used twice.
Data in memory have no name by which to know them again, so a run on them always starts over.

The id of the batch is written down before the first message is drawn, so that a run that is killed after its result has
its name, and before the folder is gone, knows the result as its own.  Then the folder says that the run is done, and
this mark is the last that is removed: whenever a run is killed, the next one writes the same messages under the same id
or says that they were written.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any, BinaryIO

from numpy.typing import NDArray

from .._support.files import not_writable, write_whole
from .._support.locking import alone_in
from .._support.reading import STORED, mapping, read_json
from ..errors import ParameterError, ShuffleDPError
from ..protocol.batch import Header, is_id, new_id
from ..protocol.messages import message_length, to_bytes
from ..protocol.plan import Plan
from ..protocol.scattered import divided, permuted
from ..queries.columns import length
from ..randomness.sampling import Source as RandomSource
from ..randomness.sampling import source as random_source
from .base import Run
from .local import encoded_parts
from .reading import Source
from .report_files import check_out, header_of, refuse_existing, write_reports

_FILES = 64
#: The mark of data that have no file.
_IN_MEMORY = "in memory"
_KEYS = ("plan", "data", "id", "done", "groups", "users", "messages", "for_release", "lengths")
_ANEW = "or pass overwrite=True (--overwrite on the command line), which draws a new report of everybody"


def privatize(plan: Plan, data: Source, out: str | os.PathLike[str], overwrite: bool, run: Run) -> Header:
    """The header of the batch that was written to ``out``, by this run or by one that was killed after that."""
    path = check_out(out, data.path)
    try:
        with closing(Work(plan, data, path, overwrite=overwrite)) as work:
            header = work.result or _privatized(plan, data, path, work, run)
            work.finish()
            return header
    except OSError as error:
        raise ParameterError(
            f"out must be in a folder that takes the messages of a run, got {str(path)!r} ({error.strerror}); make "
            "room there and start again: what is done is kept."
        ) from None


def _privatized(plan: Plan, data: Source, out: Path, work: Work, run: Run) -> Header:
    query, codec, rng = plan.query, plan.query.randomizer.codec, run.rng
    src = random_source(rng)
    for group in _groups(plan, data)[work.groups :]:
        try:
            for columns in encoded_parts(plan, data, rng=rng, group=group):
                m = query.randomizer._further if work.users else query.randomizer
                made = m.privatize(query.inputs(columns, rng=rng), rng=rng)
                raw = to_bytes(codec, made.data)
                work.scatter(raw, src, users=length(columns[0]), for_release=made.for_release)
                run.progress(work.users, data.rows)
        except ShuffleDPError:  # these data will never be finished, and may not stand in the way of others
            work.discard()
            raise
        work.finish_group()
    if not work.messages:
        work.discard()
        raise ParameterError(f"data must have at least one row, got none in {data.name}; collect some first.")
    users = work.users // plan.reports_per_user
    # a seeded order is not for release either, even if an earlier run drew all messages
    release = work.for_release and src.for_release
    header = Header(plan.digest, users, work.messages, message_length(codec), release, id=work.id)
    write_reports(out, header, permuted(work.contents(), header.bytes, src))
    return header


def _groups(plan: Plan, data: Source) -> list[int | None]:
    """What is read, and written down, at once: everything where users have several rows."""
    return [None] if plan.user_column else list(range(data.groups))


class Work:
    """The folder of a run that may be interrupted; one run at a time, by a lock that ends with its process.

    Attributes
    ----------
    id : of the batch
    groups, users, messages : what is done
    result : the header of the batch, if an earlier run wrote it to ``out``
    """

    def __init__(self, plan: Plan, data: Source, out: Path, *, overwrite: bool = False) -> None:
        self._plan, self._out, self._overwrite = plan, out, overwrite
        self._folder = out.with_name(out.name + ".parts")
        self._state = self._folder / "state.json"
        self._mark = {"plan": plan.digest, "data": _fingerprint(data)}
        self._size = message_length(plan.query.randomizer.codec)
        self._most_groups = len(_groups(plan, data))
        self._lock = ExitStack()
        self.result: Header | None = None
        self._worth_keeping = True
        self._forget()
        try:
            with suppress(FileExistsError):
                self._folder.mkdir(mode=0o700)
            self._refuse_others()
            self._lock.enter_context(alone_in(self._folder, wait=False))
            try:
                self._begin()
            except BaseException:
                self.close()
                raise
        except BlockingIOError:
            raise ParameterError(
                f"out must be written by one run at a time, got another at work in {str(self._folder)!r}; wait for it, "
                "or choose another path."
            ) from None
        except OSError as error:
            raise not_writable("out", out, error) from None

    def _forget(self) -> None:
        """Nothing is drawn yet."""
        self.id, self.done = new_id(), False
        self.groups = self.users = self.messages = 0
        self.for_release: bool | None = True
        self._lengths = [0] * _FILES

    def _refuse_others(self) -> None:
        """Messages are not yet shuffled as a whole: nobody else may read or replace the files they wait in."""
        found = self._folder.lstat()
        owner = getattr(os, "getuid", lambda: found.st_uid)()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != owner or (os.name == "posix" and found.st_mode & 0o077):
            raise ParameterError(
                f"the folder of a run must be yours alone (mode 700, not a link), got {str(self._folder)!r}, which is "
                "not; remove it or choose another path."
            )

    def _begin(self) -> None:
        """Take over what an interrupted run wrote down, or start anew, unless that would be a second draw."""
        self._worth_keeping = os.path.lexists(self._state)
        if self._worth_keeping:
            self._take_over()
        found = header_of(self._out, self._plan)
        if found and found.id == self.id:
            self.result = found
            return
        if self.done and not self._overwrite:
            raise ParameterError(
                f"out must be privatized once, got {str(self._out)!r}, to which batch {self.id} was written and where "
                f"it is no more; look where it was moved to, {_ANEW}."
            )
        refuse_existing(self._out, self._plan, overwrite=self._overwrite)
        if self.done:
            self._forget()
        self._worth_keeping = self.groups > 0
        self._write_down()  # first: the files hold what it says, and more; others see that this run is at work
        self._refuse_second_name()
        self._cut(self._lengths)

    def _take_over(self) -> None:
        try:
            found = self._found()
        except ParameterError:
            if self._overwrite:
                return
            raise
        self._worth_keeping = bool(found["groups"] or found["done"])
        same = {key: found[key] for key in self._mark} == self._mark
        if not same and found["groups"] and not found["done"] and not self._overwrite:
            raise ParameterError(
                f"an interrupted run must resume with the same plan and data, got different ones from those of "
                f"{str(self._folder)!r}; finish that run with its own, choose another path, {_ANEW}."
            )
        if not same or self._mark["data"] == _IN_MEMORY:  # nothing says that these are the same rows
            return
        self.id, self.done = found["id"], found["done"]
        self.groups, self.users, self.messages = found["groups"], found["users"], found["messages"]
        self.for_release, self._lengths = found["for_release"], list(found["lengths"])

    def _refuse_second_name(self) -> None:
        """Reports of the same rows, for the same plan, may be waiting, or be drawn just now, beside another result."""
        if self._overwrite or self._mark["data"] == _IN_MEMORY:
            return
        for state in {*self._folder.parent.glob("*.parts/state.json")} - {self._state}:
            with suppress(ParameterError):
                found = read_json(state, STORED)
                same = isinstance(found, dict) and {key: found.get(key) for key in self._mark} == self._mark
                if same and (found.get("groups") or found.get("done") or _at_work(state.parent)):
                    break
        else:
            return
        other = state.parent.name.removesuffix(".parts")
        raise ParameterError(
            f"data must be privatized once for a plan, got data of which a run that was interrupted, or is at work, "
            f"drew reports for {str(state.parent.with_name(other))!r}; resume that one by the same out, {_ANEW}."
        )

    def _found(self) -> dict[str, Any]:
        """What an interrupted run wrote down; anything that it cannot have written is refused."""
        try:
            found = mapping("state", read_json(self._state, STORED), needed=_KEYS)
        except ParameterError:
            raise self._damaged("something else") from None
        lengths, release = found["lengths"], found["for_release"]
        numbers = [found[key] for key in ("groups", "users", "messages")]
        if (
            not isinstance(lengths, list)
            or len(lengths) != _FILES
            or not all(type(x) is int and 0 <= x <= 2**60 for x in [*numbers, *lengths])
            or any(x % self._size for x in lengths)
            or sum(lengths) != found["messages"] * self._size
            or found["groups"] > self._most_groups
            or not (release is None or isinstance(release, bool))
            or not isinstance(found["done"], bool)
            or not is_id(found["id"])
        ):
            raise self._damaged("numbers that do not agree")
        return found

    def _damaged(self, what: str) -> ParameterError:
        return ParameterError(
            f"the state of an interrupted run must be as it was written, got {what} in {str(self._folder)!r}; restore "
            f"that folder from a copy, {_ANEW}."
        )

    def _cut(self, lengths: list[int]) -> None:
        """Cut the files back to these lengths; a shorter one has lost messages, and none are made up."""
        there = [path.lstat().st_size if os.path.lexists(path) else 0 for path in self._paths]
        if any(size < wanted for size, wanted in zip(there, lengths, strict=True)):
            raise self._damaged("a file that is too short")
        for path, size, wanted in zip(self._paths, there, lengths, strict=True):
            if size > wanted:
                with _private(path) as stream:
                    stream.truncate(wanted)

    @property
    def _paths(self) -> list[Path]:
        return [self._folder / f"{i:02d}" for i in range(_FILES)]

    def scatter(self, raw: NDArray[Any], src: RandomSource, *, users: int, for_release: bool | None) -> None:
        """Append every message to a random file."""
        for i, some in divided(raw, _FILES, src):
            with _private(self._paths[i]) as stream:
                stream.write(some)
            self._lengths[i] += len(some)
        self.users += users
        self.messages += len(raw)
        self.for_release = self.for_release and for_release

    def finish_group(self) -> None:
        """Write down what is done, once the messages are on the disk."""
        for path in self._paths:
            if path.exists():
                with _private(path) as stream:
                    os.fsync(stream.fileno())
        self.groups += 1
        self._worth_keeping = True
        self._write_down()

    def _write_down(self) -> None:
        state = {key: getattr(self, key) for key in ("id", "done", "groups", "users", "messages", "for_release")}
        write_whole(self._state, json.dumps({**self._mark, **state, "lengths": self._lengths}), name="out")
        self._state.chmod(0o600)

    def contents(self) -> Iterator[bytearray]:
        """Every file as it was written."""
        for path in self._paths:
            if path.exists():
                yield bytearray(path.read_bytes())

    def finish(self) -> None:
        """The result has its name: say so, and leave nothing behind."""
        self.done = True
        self._write_down()
        self._remove()

    def _remove(self) -> None:
        """The state goes last: until then it says that the run is done, whatever else is missing."""
        with suppress(OSError):
            for path in self._folder.iterdir():
                if path != self._state:
                    path.unlink()
            self._state.unlink(missing_ok=True)
            self._folder.rmdir()

    def discard(self) -> None:
        """Nothing that was drawn is to be kept: the folder is removed when it is closed."""
        self._forget()
        self._write_down()
        self._worth_keeping = False

    def close(self) -> None:
        """Let another run have the folder, if there is anything in it to resume."""
        if not self._worth_keeping:
            self._remove()
        self._lock.close()


def _at_work(folder: Path) -> bool:
    """Whether a run holds the folder, or has just removed it."""
    try:
        with alone_in(folder, wait=False):
            return False
    except OSError:
        return True


def _private(path: Path) -> BinaryIO:
    """A file to append to, which only its owner can read; a link is not followed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    flags |= sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"))
    return open(os.open(path, flags, 0o600), "ab")


def _fingerprint(data: Source) -> str:
    """Which file it is, by its name, size and date."""
    if data.path is None:
        return _IN_MEMORY
    found = data.path.stat()
    text = f"{data.path.resolve()}|{data.rows}|{data.groups}|{found.st_size}|{found.st_mtime_ns}"
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
