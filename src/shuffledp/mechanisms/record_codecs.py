"""Reports that hold answers of other mechanisms: one of several, or all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from .codecs import Codec


@dataclass(frozen=True)
class _Answers:
    """Answers of several mechanisms in one record; ``parts`` are the codecs of the answers."""

    parts: tuple[Codec, ...]
    shape: ClassVar[tuple[int, ...]] = ()
    #: what reports are called in errors
    _word: ClassVar[str]

    def tally(self, data: NDArray[Any]) -> NDArray[Any]:
        """Only a mechanism knows how its answers are summed."""
        raise ParameterError(f"reports that are {self._word} have no sums of their own; ask the mechanism.")

    def columns(self, data: NDArray[Any]) -> NDArray[np.int64]:
        """Only a mechanism knows the columns of its answers."""
        raise ParameterError(f"reports that are {self._word} have no columns of their own; ask the mechanism.")


@dataclass(frozen=True)
class Records(_Answers):
    """The number of one of several queries, and its answer, in a field that queries of the same kind share.

    ``parts`` are the codecs of the answers; the field of queries 0 and 2 is called "q0+q2".
    """

    _word: ClassVar[str] = "records"

    @property
    def scratch(self) -> int:
        """That of the largest answer, and some for the record."""
        return 64 + max(part.scratch for part in self.parts)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The number of the query, and one field for each kind of answers."""
        fields: dict[tuple[np.dtype[Any], tuple[int, ...]], list[str]] = {}
        for k, part in enumerate(self.parts):
            fields.setdefault((part.dtype, part.shape), []).append(f"q{k}")
        query = ("query", np.min_scalar_type(len(self.parts) - 1))
        return np.dtype([query, *(("+".join(names), *kind) for kind, names in fields.items())])

    @staticmethod
    def fields(dtype: np.dtype[Any]) -> list[str]:
        """The name of the field of every query."""
        home = {part: name for name in (dtype.names or ())[1:] for part in name.split("+")}
        return [home[f"q{k}"] for k in range(len(home))]

    def readable(self, data: NDArray[Any]) -> bool:
        """Records that start with the query."""
        names = data.dtype.names
        if names is None or names[0] != "query":
            raise ParameterError(
                f"reports must be records of a query and its answer, got an array of {data.dtype}; "
                "pass what privatize returned."
            )
        return data.ndim == 1

    def proper(self, data: NDArray[Any]) -> NDArray[np.bool_]:
        """A query that exists, a proper answer to it, and zeros in all other fields."""
        found, homes = np.zeros(len(data), dtype=bool), self.fields(data.dtype)
        empty = {name: np.asarray(~_bytes(data[name]).any(axis=1)) for name in set(homes)}
        for k, (answers, at) in enumerate(self.answers(data)):
            others = [empty[name][at] for name in empty if name != homes[k]]
            found[at] = np.logical_and.reduce([self.parts[k].proper(answers), *others])
        return found

    def answers(self, data: NDArray[Any]) -> list[tuple[NDArray[Any], NDArray[np.bool_]]]:
        """Per query: its answers, and which reports those are."""
        self.readable(data)
        chosen = [data["query"] == k for k in range(len(self.parts))]
        return [(data[field][at], at) for field, at in zip(self.fields(data.dtype), chosen, strict=True)]


@dataclass(frozen=True)
class Tuples(_Answers):
    """Several answers in one report, one field each: "q0", "q1", ...

    ``parts`` are the codecs of the answers.
    """

    _word: ClassVar[str] = "tuples"

    @property
    def scratch(self) -> int:
        """That of all answers, and some for the record."""
        return 64 + sum(part.scratch for part in self.parts)

    @property
    def dtype(self) -> np.dtype[Any]:
        """One field for each answer."""
        return np.dtype([(f"q{k}", part.dtype, part.shape) for k, part in enumerate(self.parts)])

    @staticmethod
    def packed(answers: list[NDArray[Any]]) -> NDArray[Any]:
        """One record per user of the answers to every question."""
        out = np.empty(len(answers[0]), dtype=[(f"q{k}", a.dtype, a.shape[1:]) for k, a in enumerate(answers)])
        for k, answer in enumerate(answers):
            out[f"q{k}"] = answer
        return out

    def readable(self, data: NDArray[Any]) -> bool:
        """Records with one field for each answer."""
        wanted = tuple(f"q{k}" for k in range(len(self.parts)))
        if data.dtype.names != wanted:
            raise ParameterError(
                f"reports must be records with the fields {', '.join(wanted)}, got an array of {data.dtype}; "
                "pass what privatize returned."
            )
        return data.ndim == 1 and all(
            part.readable(answers) for part, answers in zip(self.parts, self.answers(data), strict=True)
        )

    def proper(self, data: NDArray[Any]) -> NDArray[np.bool_]:
        """Proper answers to all questions."""
        both = zip(self.parts, self.answers(data), strict=True)
        return np.asarray(np.logical_and.reduce([part.proper(answers) for part, answers in both]))

    def answers(self, data: NDArray[Any]) -> list[NDArray[Any]]:
        """The answers to every question, one entry per report."""
        return [data[f"q{k}"] for k in range(len(self.parts))]


def _bytes(data: NDArray[Any]) -> NDArray[np.uint8]:
    """Every report as the row of its bytes."""
    return np.ascontiguousarray(data).view(np.uint8).reshape(len(data), -1)
