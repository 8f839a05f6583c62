"""Writing a file atomically and durably: a reader never sees half of it, and once it is written, a crash keeps it.

Until it is whole, only its owner can read it. Then it has the mode of the file it replaces, so that what was private
stays private, or else the mode of any new file: readable by whom the umask allows.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO

from ..errors import ParameterError

if TYPE_CHECKING:
    from pathlib import Path

#: Why a folder cannot be asked to be durable although all is well: it may be written but not read, or its kind of
#: file system knows no such request.
_NO_FOLDER_SYNC = (errno.EACCES, errno.EPERM, errno.EINVAL, errno.ENOTSUP, errno.EBADF)


def write_whole(path: str | os.PathLike[str], content: str | bytes, *, name: str = "path") -> None:
    """Write ``content`` under a private name beside ``path``, then rename; text is UTF-8, links stay links."""
    with writing_whole(path, name=name) as stream:
        stream.write(content.encode("utf-8") if isinstance(content, str) else content)


def behind_links(path: str | os.PathLike[str]) -> Path:
    """Where the file is; links that lead to each other are an error, of which Python 3.13 says nothing any more."""
    from pathlib import Path  # here, because a client writes no file

    found = Path(path).resolve()
    if found.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return found


@contextmanager
def writing_whole(path: str | os.PathLike[str], *, name: str = "path") -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of ``path`` once the block ends and its content is on disk.

    If the block or the writing fails, nothing is left behind and ``path`` is as before; only where an existing file
    was replaced and the disk then fails to confirm the new name, the new content stays.
    """
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise ParameterError(f"{name} must be the path of a file, got {path!r}; name a file.")
    import secrets  # here, because a client writes no file

    try:
        target = behind_links(path)
    except (OSError, ValueError, RuntimeError) as error:  # links that lead to each other, or no path at all
        raise not_writable(name, path, error) from None
    part = target.with_name(f".{secrets.token_hex(8)}.part")
    left: Path | None = part
    try:
        if target.exists() and not target.is_file():  # a device or a pipe is written to, not replaced
            with target.open("wb") as stream:
                yield stream
            return
        mode = _mode_of_a_new_file(part)
        with open(part, "xb", opener=_private) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        replaces = target.exists()
        mode = target.stat().st_mode & 0o777 if replaces else mode
        os.replace(part, target)
        left = None if replaces else target
        target.chmod(mode)  # now, so that a part that a crash leaves behind is never readable by others
        sync_folder(target.parent)
        left = None
    except ParameterError:
        raise
    except (OSError, ValueError) as error:
        raise not_writable(name, path, error) from None
    finally:
        if left:
            with suppress(OSError):  # such as on a read-only file system: why it failed is said already
                left.unlink()


def write_new(path: Path, content: bytes) -> None:
    """Write a whole file that only its owner reads, or none; FileExistsError if the name is taken, by whomever."""
    import secrets

    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with open(part, "xb", opener=_private) as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        try:
            os.link(part, path)  # unlike a renaming, refused if the name is taken
        finally:
            sync_folder(path.parent)  # also what another process has just linked
    finally:
        part.unlink(missing_ok=True)


def not_writable(name: str, path: str | os.PathLike[str], error: Exception) -> ParameterError:
    """The error for a file that cannot be written."""
    reason = getattr(error, "strerror", None) or str(error)
    return ParameterError(
        f"{name} must be a file that can be written, got {os.fspath(path)!r} ({reason}); choose another path."
    )


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Return once the names in the folder are on disk, where the system can tell."""
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _mode_of_a_new_file(path: Path) -> int:
    """What umask and folder make of a new file; asking the umask itself would change it for all threads."""
    try:
        with path.open("xb") as stream:
            return os.fstat(stream.fileno()).st_mode & 0o777
    finally:
        path.unlink(missing_ok=True)
