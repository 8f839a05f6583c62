"""Whatever a randomizer returns, as arrays: numbers, bit rows, rows of numbers, or labels; the rest is refused."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..mechanisms.codecs import Members, PackedBits
from ..mechanisms.randomizer import Randomizer
from ..mechanisms.reports import Reports
from ..mechanisms.values import as_array
from .foreign import kind, short

#: Reports of one input: an array, or a list of what a Python function returned.
Raw = NDArray[Any] | list[Any]
#: Items of set-valued reports that are distinguished; rarer ones are ignored (which is sound).
MOST_ITEMS = 1024
_NUMBERS, _ROWS = "biuf", 1 << 14


@dataclass(frozen=True, eq=False)
class Bits:
    """Rows of two-valued entries, packed eight to a byte; one array per input."""

    packed: list[NDArray[np.uint8]]
    names: Callable[[int, int], str]  # (entry, 0 or 1) -> words
    width: int


@dataclass(frozen=True, eq=False)
class Observed:
    """The reports of every input, in the forms that events are made of.

    ``keys`` are equal where reports are equal (unlike reports share one with probability 2^-64, which would only hide
    something); ``numbers``, ``bits`` and ``rows`` are there where reports are of that kind.
    """

    raw: list[Raw]
    keys: list[NDArray[Any]]
    numbers: list[NDArray[np.float64]] | None = None
    bits: Bits | None = None
    rows: list[NDArray[np.float64]] | None = None

    def show(self, which: int, row: int) -> str:
        """One report, in a few characters."""
        return short(self.raw[which][row])


def read(raw: list[Raw], source: Randomizer | None = None) -> Observed:
    """Reports of every input; ``source`` is the library mechanism that made them, whose packing is known."""
    if all(isinstance(part, np.ndarray) and part.dtype.kind not in "OUSMmc" for part in raw):
        return _arrays(raw, source)
    return _objects([list(part) for part in raw])


# -- arrays ----------------------------------------------------------------------------------------------------


def _arrays(raw: list[Any], source: Randomizer | None) -> Observed:
    if len({part.shape[1:] for part in raw}) > 1 or len({part.dtype.names for part in raw}) > 1:
        shapes = " and ".join(sorted({str(part.shape[1:]) for part in raw}))
        raise ParameterError(
            f"randomizer must return reports of one shape, got {shapes} on different inputs; pad them to one length."
        )
    if raw[0].dtype.kind == "V":
        if raw[0].dtype.names is None:
            raise _junk("an array of raw bytes")
        flat = [np.concatenate([part[f].reshape(len(part), -1) for f in part.dtype.names], axis=1) for part in raw]
        return _rows(raw, flat)
    for part in raw:
        _finite(part)
    if raw[0].ndim == 1:
        numbers = [part.astype(np.float64) for part in raw]
        return Observed(raw, [part.view(np.int64) for part in numbers], numbers=numbers)
    flat = [part.reshape(len(part), -1) for part in raw]
    codec = None if source is None else source.codec
    if isinstance(codec, Members):
        items, codes = np.unique(np.concatenate(flat), return_inverse=True)
        owners = [np.repeat(np.arange(len(part)), part.shape[1]) for part in flat]
        ends = np.cumsum([part.size for part in flat])[:-1]
        return _membership(raw, owners, np.split(codes.reshape(-1), ends), items.tolist())
    if isinstance(codec, PackedBits):
        return Observed(raw, _hashed(flat), bits=Bits(flat, lambda j, v: f"bit {j} is {v}", 8 * flat[0].shape[1]))
    return _rows(raw, flat)


def _rows(raw: list[Raw], flat: list[NDArray[Any]]) -> Observed:
    """Rows of numbers; of bits if only two values ever occur."""
    if flat[0].shape[1] == 0:
        raise _junk("empty rows")
    low, high = min(part.min() for part in flat), max(part.max() for part in flat)
    if all(bool(np.all((part == low) | (part == high))) for part in flat):
        # bits are 0 and 1 even if only one of them ever occurs
        one = high if high > low else max(high, type(high)(1))
        packed = [np.packbits(part == one, axis=1) for part in flat]
        zero = low if high > low else 0
        bits = Bits(packed, lambda j, v: f"entry {j} is {short(one if v else zero)}", flat[0].shape[1])
        return Observed(raw, _hashed(packed), bits=bits)
    common = np.result_type(*flat)
    numbers = [part.astype(np.float64) for part in flat]
    return Observed(raw, _hashed([part.astype(common, copy=False) for part in flat]), rows=numbers)


def _hashed(rows: list[NDArray[Any]]) -> list[NDArray[np.uint64]]:
    """A 64-bit key per row: a sum of its words times fixed odd numbers, stirred in between."""
    out = []
    for part in rows:
        plain = np.ascontiguousarray(part).view(np.uint8).reshape(len(part), -1)
        words = np.pad(plain, ((0, 0), (0, -plain.shape[1] % 8))).view(np.uint64)
        odd = np.random.SeedSequence(1).generate_state(words.shape[1], np.uint64) | np.uint64(1)
        key = np.zeros(len(part), dtype=np.uint64)
        for column, factor in zip(words.T, odd, strict=True):
            key = (key ^ column) * factor
            key ^= key >> np.uint64(29)
        out.append(key)
    return out


def _finite(part: NDArray[Any]) -> None:
    if part.dtype.kind == "f" and not np.isfinite(part).all():
        raise _junk("NaN" if np.isnan(part).any() else "an infinite number")


# -- Python objects --------------------------------------------------------------------------------------------


def _objects(raw: list[list[Any]]) -> Observed:
    kinds = Counter(_kind(report) for part in raw for report in part)
    if set(kinds) == {"set"}:
        return _sets(raw)
    if set(kinds) <= {"number", "tuple", "list"} and len(kinds) == 1:
        try:
            arrays: list[Any] = [np.asarray(part) for part in raw]
        except ValueError:
            arrays = []
        except OverflowError:  # a whole number among floats
            raise _too_long() from None
        if arrays and all(part.dtype.kind in _NUMBERS for part in arrays):
            found = _arrays(arrays, None)
            return Observed([*raw], found.keys, found.numbers, found.bits, found.rows)
        if not arrays and "list" in kinds:
            raise _junk("ragged ones", "pad them to one length, or return sets or tuples")
    if "list" in kinds and len(kinds) > 1:
        raise _junk(f"{' and '.join(sorted(kinds))} reports mixed", "return one kind of report")
    codes: dict[Any, int] = {}
    try:
        labels = [np.array([codes.setdefault(label(r), len(codes)) for r in part], dtype=np.int64) for part in raw]
    except TypeError:
        raise _junk("something unhashable", "return numbers, text, tuples, sets or arrays") from None
    return Observed([*raw], [*labels])


def _kind(report: Any) -> str:
    """number, list, set, tuple or label; what cannot be compared is refused."""
    if report is None:
        raise _junk("None", "let it end with a return statement")
    if isinstance(report, bool | int | float | np.number | np.bool_):
        if isinstance(report, float | np.floating) and not math.isfinite(report):
            raise _junk("NaN" if math.isnan(report) else "an infinite number")
        _no_giant(report)
        return "number"
    if isinstance(report, list | np.ndarray):
        return "list"
    if isinstance(report, set | frozenset):
        return "set"
    if isinstance(report, tuple):
        return "tuple"
    if getattr(type(report), "__hash__", None) in (None, object.__hash__):  # compared by identity, or not at all
        raise _junk(
            f"a {kind(report)}, which cannot be compared by its contents",
            "return numbers, text, tuples, sets or arrays",
        )
    return "label"


def label(report: Any) -> Any:
    """A hashable stand-in that is equal where reports are equal."""
    if isinstance(report, np.ndarray | np.generic):
        report = report.tolist()
    if isinstance(report, list | tuple):
        return tuple(label(entry) for entry in report)
    if isinstance(report, set | frozenset):
        return frozenset(label(entry) for entry in report)
    if isinstance(report, float) and math.isnan(report):
        raise _junk("NaN")
    if report is None:
        raise _junk("None inside a report", "return a value of your own that stands for nothing")
    _no_giant(report)
    return report


def _no_giant(report: Any) -> None:
    """Whole numbers beyond every float are refused: what compares and prints numbers stops at some length."""
    if isinstance(report, int) and int.bit_length(report) > 1023:
        raise _too_long()


def _too_long() -> ParameterError:
    return _junk("a whole number of more than 307 digits", "return it as text or bytes")


def _sets(raw: list[list[Any]]) -> Observed:
    """Reports that are sets of anything hashable."""
    known: dict[Any, int] = {}
    codes = [np.array([known.setdefault(item, len(known)) for r in part for item in r], dtype=np.int64) for part in raw]
    owners = [np.repeat(np.arange(len(part)), [len(r) for r in part]) for part in raw]
    return _membership([*raw], owners, codes, list(known))


def _membership(raw: list[Raw], owners: list[Any], codes: list[Any], items: list[Any]) -> Observed:
    """Membership bits of the items seen most often; ``owners`` (rising) are the rows that hold the items ``codes``."""
    often = np.bincount(np.concatenate(codes), minlength=len(items))
    top = np.argsort(-often, kind="stable")[:MOST_ITEMS]
    place = np.full(len(items), len(top))  # the rarer ones fall into a last column, which is dropped
    place[top] = np.arange(len(top))
    packed = []
    for part, owner, code in zip(raw, owners, codes, strict=True):
        out = np.empty((len(part), (len(top) + 7) // 8), dtype=np.uint8)
        for start in range(0, len(part), _ROWS):
            low, high = np.searchsorted(owner, [start, start + _ROWS])
            bits = np.zeros((min(_ROWS, len(part) - start), len(top) + 1), dtype=np.bool_)
            bits[owner[low:high] - start, place[code[low:high]]] = True
            out[start : start + _ROWS] = np.packbits(bits[:, :-1], axis=1)
        packed.append(out)
    bits_ = Bits(packed, lambda j, v: f"the report {'holds' if v else 'lacks'} {short(items[top[j]])}", len(top))
    return Observed(raw, _hashed(packed), bits=bits_ if len(top) else None)


def _junk(got: str, advice: str = "check the function") -> ParameterError:
    return ParameterError(f"randomizer must return reports that can be compared, got {got}; {advice}.")


def vector_of(reports: Any, size: int) -> NDArray[Any]:
    """What a vectorized function returned for ``size`` values."""
    try:
        array = as_array("reports", reports)
    except ParameterError as error:
        raise _junk("a masked array" if "masked" in str(error) else "ragged ones", "return one row per value") from None
    except OverflowError:
        raise _too_long() from None
    if array.ndim == 0 or len(array) != size:
        got = f"{len(array):,}" if array.ndim else f"one {kind(reports)}"
        raise ParameterError(
            f"randomizer must return one report per value when vectorized, got {got} for {size:,} values; "
            "leave out vectorized=True if it takes one value at a time."
        )
    return array


def single(report: Any) -> Any:
    """One report, copied so that the function cannot change it later; array-like objects become arrays."""
    if isinstance(report, Reports):  # of one user, so one report
        return report.data[0] if len(report.data) == 1 else report.data
    if isinstance(report, list | set | np.ndarray):
        return report.copy()
    return np.asarray(report) if hasattr(report, "__array__") and not isinstance(report, np.generic) else report


def joined(parts: list[Raw]) -> Raw:
    """The chunks of one input as one."""
    if all(isinstance(part, np.ndarray) for part in parts):
        try:
            return np.concatenate(parts)
        except (TypeError, ValueError):
            raise _junk("reports of different shapes", "pad them to one length") from None
    return [report for part in parts for report in part]
