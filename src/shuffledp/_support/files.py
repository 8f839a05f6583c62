"""Writing a file atomically: a reader never sees half of it, even after a crash."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from ..errors import ParameterError


def write_whole(path: str | os.PathLike[str], content: str | bytes, *, name: str = "path") -> None:
    """Write ``content`` under a private name beside ``path``, then rename; text is UTF-8, links stay links."""
    with writing_whole(path, name=name) as stream:
        stream.write(content.encode("utf-8") if isinstance(content, str) else content)


@contextmanager
def writing_whole(path: str | os.PathLike[str], *, name: str = "path") -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of ``path`` once the block ends, and is removed if it fails."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise ParameterError(f"{name} must be the path of a file, got {path!r}; name a file.")
    import secrets  # here, because a client writes no file
    from pathlib import Path

    target = Path(path).resolve()
    part = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        if target.exists() and not target.is_file():  # a device or a pipe is written to, not replaced
            with target.open("wb") as stream:
                yield stream
            return
        with part.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():  # what was private stays private
            part.chmod(target.stat().st_mode & 0o777)
        os.replace(part, target)
    except ParameterError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ParameterError(
            f"{name} must be a file that can be written, got {os.fspath(path)!r} ({reason}); choose another path."
        ) from None
    finally:
        part.unlink(missing_ok=True)
