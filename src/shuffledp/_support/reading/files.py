"""Bytes and text of a file: regular files only, no more bytes than its kind may have, strict UTF-8."""

from __future__ import annotations

import codecs
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import BinaryIO

from ...errors import ParameterError


@dataclass(frozen=True)
class Kind:
    """What sort of file is read.

    Attributes
    ----------
    subject : how sentences about its content begin
    most_bytes : larger files are not read
    advice : what to do about a file that is refused
    parameter : how sentences about its path begin; the subject, if empty
    """

    subject: str
    most_bytes: int
    advice: str
    parameter: str = ""

    @property
    def named(self) -> str:
        """The parameter that names the file."""
        return self.parameter or self.subject


CERTIFICATE = Kind("certificate", 2**26, "certify again")
LEDGER = Kind("ledger", 2**24, "restore it from a copy")
PROGRAMME = Kind("programme", 2**20, "correct it")
DEPLOYMENT = Kind("deployment", 2**20, "correct it")
LABELS = Kind("a file of labels", 2**26, "write one label per line", "labels")
SAMPLE = Kind("a file of numbers", 2**30, "write one number per line", "shape")
QUERIES = Kind("file", 2**20, "correct it")
TABLE = Kind("file", 2**27, "save the table again")
#: Files that the library wrote for its own use.
STORED = Kind("a stored part", 2**28, "compute it again")

#: O_NONBLOCK: opening does not block if a pipe replaces the file after it was checked.
_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"))
_CHUNK = 2**20
_NAMES = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}


def opened(path: str | os.PathLike[str], kind: Kind) -> BinaryIO:
    """A regular file (or a link to one) to read from; anything else is refused at once, without opening it.

    Examples
    --------
    >>> opened(os.devnull, LEDGER)
    Traceback (most recent call last):
        ...
    shuffledp.errors.ParameterError: ledger must be a readable file, got '/dev/null' (a device, not a regular file); \
check the path.
    """
    try:
        if not os.fspath(path):
            raise ValueError("no path")
        _refuse_irregular(os.stat(path))  # before it is opened: opening a device may do something, a pipe waits
        stream = os.fdopen(os.open(path, _FLAGS), "rb")
    except (OSError, ValueError, TypeError) as error:
        raise _unreadable(path, kind, error) from None
    try:
        _refuse_irregular(os.fstat(stream.fileno()))
    except OSError as error:
        stream.close()
        raise _unreadable(path, kind, error) from None
    return stream


def _unreadable(path: object, kind: Kind, error: Exception) -> ParameterError:
    shown = repr(os.fspath(path)) if isinstance(path, str | os.PathLike) else repr(path)
    reason = getattr(error, "strerror", None) or str(error)
    return ParameterError(f"{kind.named} must be a readable file, got {shown[:300]} ({reason}); check the path.")


def read_bytes(path: str | os.PathLike[str], kind: Kind) -> bytes:
    """The bytes of a regular file; one that is too large is refused before it is read."""
    with opened(path, kind) as stream:
        try:
            size = os.fstat(stream.fileno()).st_size
            # the size that a file system states may be wrong (it is 0 in /proc)
            parts = islice(iter(partial(stream.read, _CHUNK), b""), kind.most_bytes // _CHUNK + 1)
            data = b"" if size > kind.most_bytes else b"".join(parts)
        except OSError as error:
            raise _unreadable(path, kind, error) from None
    if max(size, len(data)) > kind.most_bytes:
        raise ParameterError(
            f"{kind.subject} must be a file of at most {kind.most_bytes:,} bytes, got a larger one in "
            f"{os.fspath(path)!r}; {kind.advice}."
        )
    return data


def _refuse_irregular(found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode):
        name = _NAMES.get(stat.S_IFMT(found.st_mode), "something special")
        raise OSError(errno.EINVAL, f"{name}, not a regular file")


def read_text(path: str | os.PathLike[str], kind: Kind) -> str:
    """The text of a file in UTF-8, with or without a byte order mark."""
    data = read_bytes(path, kind)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ParameterError(
            f"{kind.subject} must be a text file in UTF-8, got other bytes in {os.fspath(path)!r}; {kind.advice}."
        ) from None


def digest_of(data: bytes) -> str:
    """Return the SHA-256 of the content of a text file, the same with or without a byte order mark."""
    return hashlib.sha256(data.removeprefix(codecs.BOM_UTF8)).hexdigest()


@contextmanager
def contained(kind: Kind, path: object) -> Iterator[None]:
    """Running out of memory or recursion depth while reading a file becomes one error message.

    Examples
    --------
    >>> with contained(PROGRAMME, "p.yaml"):
    ...     raise RecursionError
    Traceback (most recent call last):
        ...
    shuffledp.errors.ParameterError: programme must be of moderate size, got too much to read or compute with (nested \
too deeply) in 'p.yaml'; correct it.
    """
    try:
        yield
    except (RecursionError, MemoryError, OverflowError) as error:
        what = {RecursionError: "nested too deeply", MemoryError: "not enough memory"}.get(type(error), "overflow")
        raise ParameterError(
            f"{kind.subject} must be of moderate size, got too much to read or compute with ({what}) in {path!r:.300}; "
            f"{kind.advice}."
        ) from None
