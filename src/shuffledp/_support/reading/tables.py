"""A table of numbers from a CSV or .npy file; sizes are checked before anything is allocated."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError
from .files import TABLE, contained, read_bytes, read_text

#: Numbers in a table, and characters of one number in a CSV file.
MOST_CELLS = 2**22
MOST_CHARACTERS = 400
_MAGIC = b"\x93NUMPY"
#: Version of the format -> bytes that state the length of the header.
_HEADER = {b"\x01\x00": 2, b"\x02\x00": 4}
_MOST_HEADER = 2**12
_ITEM = re.compile(
    r"""\s*(['"])(?P<key>descr|fortran_order|shape)\1\s*:\s*"""
    r"""(?:(['"])(?P<descr>[<>|=]?[fiubc][0-9]{1,2})\3|(?P<order>True|False)|\((?P<shape>[0-9\s,]{0,100})\))\s*(?:,|$)""",
    re.ASCII,
)


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
    data = read_bytes(path, TABLE)
    found = _npy_header(data)
    if found is None:
        raise ParameterError(f"file must hold a plain numeric array, got {shown}; save it with numpy.save.")
    kind, fortran, shape, start = found
    if kind.kind not in "fiub":
        got = "complex numbers" if kind.kind == "c" else "something else"
        raise ParameterError(f"file must hold an array of real numbers, got {got} in {shown}; save the real numbers.")
    cells = math.prod(shape)
    _refuse_many(cells, shown)
    if len(data) - start != cells * kind.itemsize:
        raise ParameterError(
            f"file must hold as many numbers as its header says, {cells:,}, got {len(data) - start:,} bytes of them "
            f"in {shown}; save it again with numpy.save."
        )
    flat = np.frombuffer(data, dtype=kind, count=cells, offset=start)
    with np.errstate(over="ignore", invalid="ignore"):  # long doubles: infinity is refused with its own sentence
        return flat.astype(np.float64).reshape(shape, order="F" if fortran else "C")


def _npy_header(data: bytes) -> tuple[np.dtype[np.generic], bool, tuple[int, ...], int] | None:
    """(type, Fortran order, shape, first byte of the numbers), or None if this is not a plain array."""
    wide = _HEADER.get(data[6:8])
    if not data.startswith(_MAGIC) or wide is None:
        return None
    start = 8 + wide
    size = int.from_bytes(data[8:start], "little")
    if size > _MOST_HEADER or len(data) < start + size:
        return None
    header = data[start : start + size].decode("latin-1").strip()
    if not header.startswith("{") or not header.endswith("}"):
        return None
    fields: dict[str, str] = {}
    rest = header[1:-1].rstrip()
    while rest:
        item = _ITEM.match(rest)
        if item is None or item["key"] in fields:
            return None
        value = item[{"descr": "descr", "fortran_order": "order", "shape": "shape"}[item["key"]]]
        if value is None:
            return None
        fields[item["key"]] = value
        rest = rest[item.end() :]
    if len(fields) != 3 or not re.fullmatch(r"\s*([0-9]+\s*,\s*)*([0-9]+\s*)?", fields["shape"]):
        return None
    try:
        kind = np.dtype(fields["descr"])
    except TypeError:
        return None
    shape = tuple(int(size) for size in fields["shape"].split(",") if size.strip())
    return (kind, fields["fortran_order"] == "True", shape, start + size) if kind.itemsize else None


def _refuse_many(cells: int, shown: str) -> None:
    if cells > MOST_CELLS:
        raise ParameterError(
            f"file must hold at most {MOST_CELLS:,} numbers, got more in {shown}; merge rows or columns."
        )
