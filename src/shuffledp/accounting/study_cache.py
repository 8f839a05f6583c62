"""Answers on disk: a file of JSON lines that only grows, from which a sweep takes what it has computed before.

The first line says what the file is.  Every other line is one answer under the digest of its whole question: the code
that computed it, the versions of numpy and scipy, the mechanism, n, delta, bound and tol.  So an answer of other code
is never found, and every line carries a digest of itself, so that one that was cut off or changed is never used.
Lines are added in one step, alone with the file (locking.py): of two sweeps at the same time none loses an answer, and
one that is killed leaves whole lines and at most one that is cut off, which the next line does not continue.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Collection, Iterable
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from .. import __version__
from .._support.files import not_writable, write_new
from .._support.json_ready import json_object
from .._support.locking import alone_with
from .._support.reading import Kind, read_bytes
from ..errors import BoundNotApplicableError, ParameterError, ShuffleDPError
from ..numerics.family import Answer

_FILE = Kind("a cache of answers", 2**31, "name a new file", "cache")
_HEAD = b'{"shuffledp": "cache of answers", "format": 1}\n'
#: What decides an answer: everything up to this layer.
_PACKAGES = ("_support", "numerics", "mechanisms", "bounds", "accounting")
#: How a refusal is written down.
_REFUSALS: dict[str, type[ShuffleDPError]] = {"bound": BoundNotApplicableError, "parameter": ParameterError}


@cache
def code() -> str:
    """The digest of the code that decides an answer: of this library, and the versions of those it computes with.

    A version number would not do: the numbers of a checkout change while it stays.

    Examples
    --------
    >>> len(code())
    64
    """
    from importlib import metadata

    found = hashlib.sha256(f"{__version__} {metadata.version('numpy')} {metadata.version('scipy')}".encode())
    root = resources.files(__package__.partition(".")[0])
    for package in _PACKAGES:
        for name, data in sorted(_sources(root / package)):
            found.update(f"\0{package}/{name}\0{len(data)}\0".encode() + data)
    return found.hexdigest()


def _sources(folder: Any) -> Iterable[tuple[str, bytes]]:
    for item in folder.iterdir():
        if item.is_dir():
            yield from ((f"{item.name}/{name}", data) for name, data in _sources(item))
        elif item.name.endswith(".py"):
            yield item.name, item.read_bytes()


def key_of(identity: str, n: int, delta: float, bound: str, tol: float) -> str:
    """The digest of a question about the mechanism with this identity (JSON)."""
    asked = json.dumps([code(), identity, n, delta.hex(), bound, tol.hex()])
    return hashlib.sha256(asked.encode()).hexdigest()


class Cache:
    """The file of a sweep.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = Cache(f"{folder}/answers.jsonl")
    ...     key = key_of('{"spec": "general:eps0=1"}', 100, 1e-6, "local", 1e-4)
    ...     cache.add(key, Answer(1.0, 0, 0))
    ...     cache.known([key])[key].epsilon
    1.0
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if not isinstance(path, str | os.PathLike) or not os.fspath(path):
            raise ParameterError(f"cache must be the path of a file, got {path!r:.200}; name a .jsonl file.")
        self._path = path
        try:
            if not os.path.lexists(path):
                write_new(Path(path), _HEAD)  # only its owner may read it
        except FileExistsError:  # another sweep has just made it
            pass
        except (OSError, ValueError) as error:
            raise not_writable("cache", path, error) from None

    def known(self, keys: Collection[str]) -> dict[str, Answer | ShuffleDPError]:
        """The answers that the file has to these questions; what is no answer is left out, with a warning."""
        with alone_with(self._path, name="cache"):  # not while another sweep writes a line
            data = read_bytes(self._path, _FILE)
        if not data.startswith(_HEAD):
            raise ParameterError(
                f"cache must be a file that a sweep has made, got another in {os.fspath(self._path)!r}, which is left "
                "as it is; name a new file."
            )
        wanted, found, bad = set(keys), dict[str, Answer | ShuffleDPError](), 0
        for line in filter(None, data[len(_HEAD) :].split(b"\n")):
            entry = _read(line)
            if entry is None:
                bad += 1
            elif entry[0] in wanted:
                found[entry[0]] = entry[1]
        if bad:
            warnings.warn(
                f"cache must hold whole answers, got {bad:,} line{'s' if bad > 1 else ''} in "
                f"{os.fspath(self._path)!r} that are cut off or changed; they are not used, and what they answered is "
                "computed again.",
                stacklevel=4,
            )
        return found

    def add(self, key: str, answer: Answer | ShuffleDPError) -> None:
        """Write an answer to the end of the file, in one step."""
        line = _written(key, answer)
        with alone_with(self._path, name="cache"):
            try:
                with open(self._path, "rb") as stream:
                    stream.seek(-1, os.SEEK_END)
                    left = memoryview(line if stream.read(1) == b"\n" else b"\n" + line)  # one cut off is left alone
                with open(self._path, "ab", buffering=0, opener=_existing) as end:
                    while left:
                        left = left[end.write(left) :]
            except OSError as error:
                raise not_writable("cache", self._path, error) from None


def _existing(path: str, flags: int) -> int:
    """Opens a file that is there: without its first line a new one would be no cache."""
    return os.open(path, flags & ~os.O_CREAT)


def _sum(entry: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()[:16]


def _written(key: str, answer: Answer | ShuffleDPError) -> bytes:
    if isinstance(answer, Answer):
        entry: dict[str, Any] = {"key": key, **json_object(answer._asdict())}
    else:
        kind = next(name for name, error in _REFUSALS.items() if isinstance(answer, error))
        entry = {"key": key, "refused": kind, "reason": str(answer)}
    return json.dumps({**entry, "sum": _sum(entry)}, allow_nan=False).encode() + b"\n"


def _read(line: bytes) -> tuple[str, Answer | ShuffleDPError] | None:
    """The key and the answer of a line, or None if it is not as it was written."""
    try:
        entry = json.loads(line)
        if entry.pop("sum") != _sum(entry):
            return None
        if "refused" in entry:
            return entry["key"], _REFUSALS[entry["refused"]](entry["reason"])
        fields = {name: entry[name] for name in Answer._fields}
        epsilon = float(fields["epsilon"])
        return (entry["key"], Answer(**{**fields, "epsilon": epsilon})) if epsilon >= 0.0 else None  # NaN is not
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
