"""Privatising a file group by group, so that an interrupted run goes on where it was.

Messages are scattered over the files of a private folder beside the result, as a shuffler does (protocol/shuffler.py).
After every group the lengths of these files are written down; a run that starts again cuts them back to that and goes
on with the next group.  What a cut-off group had written is thrown away and drawn anew: no report is used twice.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .._support.files import write_whole
from .._support.reading import STORED, mapping, read_json
from ..errors import ParameterError
from ..protocol.batch import Header
from ..protocol.messages import message_length, to_bytes
from ..protocol.plan import Plan
from ..queries.columns import length
from ..randomness.permutation import permute
from ..randomness.sampling import below
from ..randomness.sampling import source as random_source
from .base import Advance
from .local import encoded_parts
from .reading import Source
from .report_files import write_reports

_FILES = 64
_KEYS = ("plan", "data", "groups", "users", "messages", "lengths", "for_release")


def privatise(
    plan: Plan, data: Source, out: str | os.PathLike[str], *, rng: np.random.Generator | None, progress: Advance
) -> Header:
    """The header of the batch that was written to ``out``."""
    work = Work(plan, data, Path(out))
    query, codec = plan.query, plan.query.randomizer.codec
    src = random_source(rng)
    groups = [None] if plan.user_column else list(range(data.groups))
    for group in groups[work.groups :]:
        for columns in encoded_parts(plan, data, rng=rng, group=group):
            made = query.randomizer.privatise(query.inputs(columns, rng=rng), rng=rng)
            raw = to_bytes(codec, made.data)
            work.scatter(raw, below(src, _FILES, len(raw)), users=length(columns[0]), for_release=made.for_release)
            progress(work.users, data.rows)
        work.finish_group()
    if not work.messages:
        work.remove()
        raise ParameterError(f"data must have a row at least, got none in {data.name}; collect some first.")
    users = work.users // plan.reports_per_user
    header = Header(plan.digest, users, work.messages, message_length(codec), work.for_release)

    def parts() -> Iterator[bytes]:
        for raw in work.contents():
            messages = np.frombuffer(raw, dtype=f"V{header.bytes}")
            messages.flags.writeable = True
            permute(src, messages)
            yield bytes(raw)

    write_reports(out, header, parts())
    work.remove()
    return header


class Work:
    """The folder of a run that may be interrupted."""

    def __init__(self, plan: Plan, data: Source, out: Path) -> None:
        self._folder = out.with_name(out.name + ".parts")
        self._state = self._folder / "state.json"
        self._mark = {"plan": plan.digest, "data": _fingerprint(data)}
        self.groups = self.users = self.messages = 0
        self.for_release: bool | None = True
        self._lengths = [0] * _FILES
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise ParameterError(
                f"out must be a file that can be written, got {str(out)!r} ({error.strerror}); choose another path."
            ) from None
        if self._state.exists():
            self._go_on()
        else:
            self.finish_group(first=True)

    def _go_on(self) -> None:
        found: dict[str, Any] = mapping("state of the run", read_json(self._state, STORED), needed=_KEYS)
        if {key: found[key] for key in self._mark} != self._mark:
            raise ParameterError(
                f"an interrupted run must go on with the same plan and data, got others than in {str(self._folder)!r}; "
                "remove that folder to start again."
            )
        self.groups, self.users, self.messages = found["groups"], found["users"], found["messages"]
        self.for_release, self._lengths = found["for_release"], list(found["lengths"])
        for path, wanted in zip(self._paths, self._lengths, strict=True):
            if path.exists():
                os.truncate(path, wanted)

    @property
    def _paths(self) -> list[Path]:
        return [self._folder / f"{i:02d}" for i in range(_FILES)]

    def scatter(self, raw: np.ndarray, where: np.ndarray, *, users: int, for_release: bool | None) -> None:
        """Append every message to its file."""
        order = np.argsort(where, kind="stable")
        ends = np.searchsorted(where[order], np.arange(_FILES + 1))
        for i, path in enumerate(self._paths):
            some = raw[order[ends[i] : ends[i + 1]]]
            if len(some):
                with path.open("ab") as stream:
                    stream.write(some.tobytes())
                self._lengths[i] += len(some) * raw.dtype.itemsize
        self.users += users
        self.messages += len(raw)
        self.for_release = for_release if for_release is not True else self.for_release

    def finish_group(self, *, first: bool = False) -> None:
        """Write down what is done."""
        self.groups += not first
        state = {"groups": self.groups, "users": self.users, "messages": self.messages, "lengths": self._lengths}
        write_whole(self._state, json.dumps({**self._mark, **state, "for_release": self.for_release}), name="out")

    def contents(self) -> Iterator[bytearray]:
        """Every file as it was written."""
        for path in self._paths:
            if path.exists():
                yield bytearray(path.read_bytes())

    def remove(self) -> None:
        """Nothing is left behind."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _fingerprint(data: Source) -> str:
    """Which data it is: its name, size and date where it is a file."""
    text = f"{data.name}|{data.rows}|{data.groups}"
    path = Path(data.name.strip("'\""))
    if path.is_file():
        found = path.stat()
        text += f"|{found.st_size}|{found.st_mtime_ns}"
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
