"""A table of numbers from a CSV or .npy file; sizes are checked before anything is allocated."""

from __future__ import annotations

import io
import math
from pathlib import Path

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from ...errors import ParameterError
from .files import TABLE, contained, read_bytes, read_text

#: Numbers in a table, and characters of one number in a CSV file.
MOST_CELLS = 2**22
MOST_CHARACTERS = 400
#: Bytes of the header of a .npy file.
_MOST_HEADER = 2**12
#: Version of the format -> how its header is read.
_HEADERS = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}


def read_table(path: str | Path) -> NDArray[np.float64]:
    """The numbers of a CSV file (comma or blank separated, # comments) or of a .npy file (read without pickle).

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "coin.csv").write_text("0.75, 0.25\\n0.25, 0.75  # the other side")
    ...     read_table(Path(folder) / "coin.csv").tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    with contained(TABLE, str(path)):
        return _npy(path) if str(path).endswith(".npy") else _csv(path)


def _csv(path: str | Path) -> NDArray[np.float64]:
    shown = repr(str(path))
    rows: list[list[float]] = []
    cells_seen = 0
    for number, line in enumerate(read_text(path, TABLE).splitlines(), start=1):
        content = line.split("#", 1)[0].strip()
        if not content:
            continue
        cells = content.removesuffix(",").split(",") if "," in content else content.split()
        try:
            # float() also reads the digits of other scripts, which a CSV file should not hold
            if not content.isascii() or max(map(len, cells)) > MOST_CHARACTERS:
                raise ValueError(content)
            rows.append([_cell(cell) for cell in cells])
        except ValueError:
            raise ParameterError(
                f"file must hold numbers only, got {content[:60]!r} in line {number} of {shown}; "
                "remove headers and fill gaps."
            ) from None
        if len(rows[-1]) != len(rows[0]):
            raise ParameterError(
                f"a table must have rows of equal length, got ragged rows (line {number}) in {shown}; fill the gaps."
            )
        cells_seen += len(cells)
        _refuse_many(cells_seen, shown)
    return np.array(rows, dtype=np.float64)


def _cell(text: str) -> float:
    """The number in a cell; one that only underflows to 0, and figures grouped by underscores, are refused."""
    value = float(text)
    written = text.lower().partition("e")[0]
    if "_" in text or (value == 0.0 and any(figure in written for figure in "123456789")):
        raise ValueError(text)
    return value


def _npy(path: str | Path) -> NDArray[np.float64]:
    shown = repr(str(path))
    stream = io.BytesIO(read_bytes(path, TABLE))
    try:
        version = npy_format.read_magic(stream)
        shape, fortran, kind = _HEADERS[version](stream, max_header_size=_MOST_HEADER)
        keys = [stream.getvalue()[: stream.tell()].count(key) for key in (b"descr", b"fortran_order", b"shape")]
        if min(shape, default=0) < 0 or kind.kind not in "fiubc" or keys != [1, 1, 1]:  # no key says two things
            raise ValueError("not a plain array")
    except Exception:  # a hostile header makes the parser of Python raise many kinds
        raise ParameterError(f"file must hold a plain numeric array, got {shown}; save it with numpy.save.") from None
    data = stream.read()
    if kind.kind == "c":
        raise ParameterError(
            f"file must hold an array of real numbers, got complex numbers in {shown}; save the real numbers."
        )
    cells = math.prod(shape)
    _refuse_many(cells, shown)
    if len(data) != cells * kind.itemsize:
        raise ParameterError(
            f"file must hold as many numbers as its header says, {cells:,}, got {len(data):,} bytes of them "
            f"in {shown}; save it again with numpy.save."
        )
    flat = np.frombuffer(data, dtype=kind, count=cells)
    with np.errstate(over="ignore", invalid="ignore"):  # long doubles: infinity is refused with its own sentence
        return flat.astype(np.float64).reshape(shape, order="F" if fortran else "C")


def _refuse_many(cells: int, shown: str) -> None:
    if cells > MOST_CELLS:
        raise ParameterError(
            f"file must hold at most {MOST_CELLS:,} numbers, got more in {shown}; merge rows or columns."
        )
