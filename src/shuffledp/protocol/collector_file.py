"""The file of a collector: JSON with a checksum, everything in it checked against the plan.

It holds the batches with their users, which ones they were made from, and sums over them.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

import numpy as np

from .._support.reading import Kind, contained, mapping, read_json
from ..errors import ParameterError
from ..mechanisms.reports import Tally
from .batch import is_id
from .messages import plain, restored
from .plan import Plan

STATE = Kind("a collector file", 2**30, "restore it from a copy", "path")
_KEYS = ("version", "plan", "batches", "inside", "sums", "program_epsilon", "checksum")
_SUM_KEYS = ("batches", "users", "for_release", "counts")
VERSION = 1
#: Ids of batches, and the sums over these.
Sums = list[tuple[tuple[str, ...], Tally]]


def text_of(plan: Plan, batches: dict[str, int], inside: dict[str, str], sums: Sums, epsilon: float) -> str:
    """The content of the file."""
    items = [
        dict(zip(_SUM_KEYS, (list(ids), tally.users, tally.for_release, plain(tally.counts)), strict=True))
        for ids, tally in sums
    ]
    values = (VERSION, plan.digest, batches, inside, items, epsilon)
    state = dict(zip(_KEYS[:-1], values, strict=True))
    return json.dumps({**state, "checksum": _checksum(state)}) + "\n"


def read(
    path: str | os.PathLike[str], plan: Plan, seen: set[str]
) -> tuple[tuple[dict[str, int], dict[str, str], Sums], float]:
    """Return batches, those inside them and sums, and the eps of what clients ran.

    A damaged file, and one of another plan, is refused.
    """
    shown = repr(os.fspath(path))
    with contained(STATE, str(path)):
        found = read_json(path, STATE, seen=seen)
        state = mapping("collector file", found, needed=_KEYS)
        stated = state.pop("checksum")
        if stated != _checksum(state) or state["version"] != VERSION:
            raise ParameterError(
                f"a collector file must be as it was written, got a damaged one in {shown}; {STATE.advice}."
            )
        if state["plan"] != plan.digest:
            raise ParameterError(
                f"a collector file must be of this plan, got one of another in {shown}; name its own, or a new file."
            )
        batches = state["batches"]
        if not isinstance(batches, dict) or not all(type(n) is int and 0 < n <= 10**15 for n in batches.values()):
            raise _wrong("batches: be ids with their numbers of users", shown)
        inside = state["inside"]
        pairs = inside.items() if isinstance(inside, dict) else [(None, None)]
        if not all(is_id(part) and part not in batches and is_id(whole) and whole in batches for part, whole in pairs):
            raise _wrong("inside: say which batch is a part of which", shown)
        if not isinstance(epsilon := state["program_epsilon"], float) or not epsilon >= 0:
            raise _wrong("program_epsilon: be an eps", shown)
        return (batches, inside, _sums(plan, batches, state["sums"], shown)), epsilon


def _wrong(what: str, shown: str, got: str = "something else") -> ParameterError:
    """The error for a part of the file that is not what it should be."""
    part, _, wanted = what.partition(": ")
    return ParameterError(f"{part} of a collector file must {wanted}, got {got} in {shown}; restore it from a copy.")


def _sums(plan: Plan, batches: dict[str, int], found: object, shown: str) -> Sums:
    """The sums, if every batch is in one of them."""
    if not isinstance(found, list):
        found = [None]
    items = [mapping("sums of a collector file", item, needed=_SUM_KEYS) for item in found]
    ids = [batch for item in items for batch in (item["batches"] if isinstance(item["batches"], list) else [None])]
    if ids != list(batches) or not all(item["batches"] for item in items):
        raise _wrong("sums: be over its batches, each once", shown, "other batches")
    query = plan.query
    like = query.randomizer.privatize_counts(query.inputs([[None]] * len(query.columns))).counts
    return [
        (tuple(item["batches"]), _tally(plan, item, [batches[i] for i in item["batches"]], like, shown))
        for item in items
    ]


def _tally(plan: Plan, state: dict[str, Any], batches: list[int], like: Any, shown: str) -> Tally:
    """The counts, if they are such as this plan makes of batches of these numbers of users."""
    users = sum(batches)
    m, release, counts = plan.query.randomizer, state["for_release"], restored(state["counts"])
    if not _alike(counts, like):
        raise _wrong("counts: be those of the plan", shown, "numbers of another shape")
    if state["users"] != users * plan.reports_per_user or type(state["users"]) is not int:
        raise _wrong("users: be those of its batches", shown, f"{state['users']!r:.40}")
    if release is not None and not isinstance(release, bool):
        raise _wrong("for_release: be true, false or null", shown, f"{release!r:.40}")
    return Tally(counts, m.spec, users * plan.reports_per_user, release, len(batches))


def _alike(found: Any, wanted: Any) -> bool:
    """Whether two tallies can be added: one shape and kind of numbers, entry by entry where they are nested.

    An entry of a query that nobody was asked may be the number 0 in either of them.
    """
    if not isinstance(found, np.ndarray) or not isinstance(wanted, np.ndarray):
        return not (isinstance(found, np.ndarray) and found.dtype == object)
    if found.shape != wanted.shape or (found.dtype == object) != (wanted.dtype == object):
        return False
    if found.dtype == object:
        return all(_alike(a, b) for a, b in zip(found.ravel(), wanted.ravel(), strict=True))
    return bool(found.dtype.kind == "f") is bool(wanted.dtype.kind == "f")


def _checksum(state: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode("utf-8")).hexdigest()
