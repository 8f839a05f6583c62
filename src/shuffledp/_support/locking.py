"""One writer at a time, and no file is replaced by one who has not seen what is in it.

The lock is that of a folder: the files in it are replaced, and a lock on a file would go with the old one.  It ends
with the process that holds it.  Where there are no such locks (not POSIX, some network file systems), writers take
turns by themselves, and a file that changed all the same is still noticed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ..errors import ParameterError
from .files import behind_links, write_whole
from .reading import digest_of

#: Folders that this thread has locked: it does not wait for itself.
_held = threading.local()


@contextmanager
def alone_in(folder: str | os.PathLike[str], *, wait: bool = True) -> Iterator[None]:
    """Hold the lock of a folder; BlockingIOError if another has it and there is no waiting, or it was removed."""
    try:
        import fcntl
    except ImportError:  # not POSIX
        yield
        return
    mine: set[tuple[int, int]] = _held.__dict__.setdefault("folders", set())
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = os.fstat(handle)
        place = (found.st_dev, found.st_ino)
        if wait and place in mine:
            yield
            return
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise
        except OSError:  # a file system without locks
            pass
        if not os.path.exists(folder) or not os.path.samestat(found, os.stat(folder)):
            raise BlockingIOError(f"{os.fspath(folder)!r} was removed meanwhile")
        mine.add(place)
        try:
            yield
        finally:
            mine.discard(place)
    finally:
        os.close(handle)


@contextmanager
def alone_with(path: str | os.PathLike[str], *, name: str = "path") -> Iterator[None]:
    """One writer of a file at a time, from reading it to replacing it: no addition is lost."""
    with ExitStack() as stack:
        try:
            stack.enter_context(alone_in(behind_links(path).parent))
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ParameterError(
                f"{name} must be a file in a directory that exists, got {path!r:.300} ({reason}); choose another path."
            ) from None
        yield


def replace_seen(path: str | os.PathLike[str], content: str | bytes, seen: set[str], *, name: str = "path") -> None:
    """Write a file, in one step, unless there is one whose digest is not among those ``seen``; then the new one is."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    with alone_with(path, name=name):
        if os.path.isfile(path) and not _was_seen(path, seen):
            raise ParameterError(
                f"{name} must be a file that has not changed since it was loaded, got {os.fspath(path)!r}, where "
                "saving would lose what was written meanwhile; load it, add to that and save again, or choose another "
                "path."
            )
        write_whole(path, data, name=name)
    seen.add(digest_of(data))


def _was_seen(path: str | os.PathLike[str], seen: set[str]) -> bool:
    try:
        return digest_of(Path(path).read_bytes()) in seen
    except OSError:  # what cannot be read was not seen
        return False
