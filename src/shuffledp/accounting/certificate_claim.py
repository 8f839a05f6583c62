"""What a certificate claims, as its file states it, all of it checked: which law is proved, and on which terms.

A label such as ``finite:matrix.csv`` is text that anyone can write.  What is proved is the law that the certificate
carries, so the claim names that law by its hash, and a label that names a file is compared with the file.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support import validation as check
from .._support.numbers import exact
from .._support.reading import CERTIFICATE, mapping, read_json
from ..bounds import BOUNDS, Bound
from ..bounds.base import Numerical
from ..errors import ParameterError, ShuffleDPError, VerificationError
from ..mechanisms.base import Mechanism
from ..mechanisms.registry import BY_MATRIX, RESERVED, made_again
from ..numerics.pair import ShuffledPair
from ..numerics.swap.pair import SwapPair
from .certificate_steps import MAX_PAIRS, decimal, double, law_written, listed, step_of
from .guarantee import TRUST, Guarantee

if TYPE_CHECKING:
    from ..numerics.family import Law
    from .certificate import Certificate

#: The sentence that every certificate proves.
STATEMENT = "max over the pairs of delta(epsilon) <= delta"
FORMAT = "shuffledp-certificate/3"
_TEXTS = ("mechanism", "bound", "law_sha256", "neighbors", "trust")
_KEYS = ("format", "claim", *_TEXTS, "n", "epsilon", "delta", "pairs")
#: The label of a matrix that was given in memory.
_IN_MEMORY = re.compile(rf"{BY_MATRIX}:<[^<>]* matrix>")


def read_claim(path: Path) -> dict[str, Any]:
    """The fields of a certificate as a file states them."""
    return claim_in(read_json(path, CERTIFICATE), repr(str(path)))


def _other_file(data: object, stated: object) -> tuple[str, str]:
    """What was found in place of a certificate, and what to do."""
    if isinstance(stated, str) and re.fullmatch(r"shuffledp-certificate/[1-9][0-9]{0,8}", stated):
        return repr(stated), "verify it with another version"
    if isinstance(data, dict) and "signature" in data:
        return "a signed document", "name who signed it"
    return "another file", "certify again"


def claim_in(data: object, shown: str) -> dict[str, Any]:
    """The fields of a certificate; anything missing, unknown or malformed is refused.  ``shown`` says where it was."""
    stated = data.get("format") if isinstance(data, dict) else None
    if stated != FORMAT:
        got, then = _other_file(data, stated)
        raise ParameterError(f"certificate must have format {FORMAT!r}, got {got} in {shown}; {then}.")
    try:
        whole = mapping("certificate", data, needed=_KEYS, optional=("matrix",))
        if whole["claim"] != STATEMENT:
            raise VerificationError(f"claim must be {STATEMENT!r}, got {str(whole['claim'])[:200]!r}; certify again.")
        steps = [step_of(item) for item in listed(whole["pairs"], "pairs")]
        if not isinstance(whole["mechanism"], str) or not isinstance(whole["bound"], str):
            raise ValueError("mechanism or bound")
        return {
            **{key: whole[key] for key in _TEXTS},
            "n": check.users(check.real("n", whole["n"])),
            "epsilon": decimal(whole["epsilon"], low=0, high=1000),
            "delta": decimal(whole["delta"], low=0, high=1),
            "steps": tuple(steps),
            "matrix": tuple(tuple(double(x) for x in listed(row, "row")) for row in whole.get("matrix", ())),
        }
    except (TypeError, ValueError, ArithmeticError) as error:
        if isinstance(error, ShuffleDPError) and str(error).startswith("certificate must "):
            raise
        reason = str(error).rstrip(".?")
        raise ParameterError(
            f"certificate must be a complete {FORMAT} file, got a malformed entry ({reason:.200}) in {shown}; "
            "certify again."
        ) from None


def law_hash(matrix: tuple[tuple[float, ...], ...], pairs: Iterable[Law]) -> str:
    """SHA-256 of the law: of the matrix where there is one, else of the pairs.

    It is taken over the JSON text ``[[row], ...]``, or ``[[P0, P1, t], ...]`` sorted and without repetition, in which
    every number is a string with its exact decimal and there is no white space.  A victim pair with several types is
    ``[[P0, P1, t], ..., common_mass]``, its types in their order.

    Examples
    --------
    >>> law_hash(((0.75, 0.25), (0.25, 0.75)), ())[:16]
    '2b9b2c6cf36645bb'
    """
    written = [_text([exact(Fraction(x)) for x in row]) for row in matrix] or sorted(
        {_text(_numbers(r)) for r in pairs}
    )
    return hashlib.sha256(f"[{','.join(written)}]".encode("ascii")).hexdigest()


def _text(numbers: list[Any]) -> str:
    return json.dumps(numbers, separators=(",", ":"))


def _numbers(law: Law) -> list[Any]:
    """The exact decimals of a law, without the names that they have in the file."""
    if isinstance(law, SwapPair):
        return [*map(_numbers, law.types), exact(Fraction(law.common_mass))]
    return list(law_written(law).values())


def provable(bound: Bound) -> bool:
    """Whether this is a sound upper bound that is computed from shuffled pairs."""
    return isinstance(bound, Numerical) and bound.side == "upper" and bound.sound and bound.name != "local"


def derived(claim: Certificate) -> Certificate:
    """Derive pairs and terms again from the mechanism's spec or matrix; a bare shuffled pair is its own law.

    Returns the claim with its notes.
    """
    bound = BOUNDS.get(claim.bound)
    if bound is None or not provable(bound):
        raise VerificationError(
            f"the certificate names {claim.bound!r:.100}, which is not a bound that proves anything."
        )
    if claim.mechanism.startswith(f"{BY_MATRIX}:") != bool(claim.matrix):
        raise VerificationError(
            "a certificate carries a matrix if and only if it is of a finite randomizer, "
            f"and this one is of {claim.mechanism!r:.200}."
        )
    if claim.mechanism == RESERVED:
        stated = {step.pair for step in claim.steps if isinstance(step.pair, ShuffledPair)}
        if not stated or {r.swapped() for r in stated} != {step.pair for step in claim.steps}:
            raise VerificationError("a certificate of a shuffled pair must state it in both directions; certify again.")
        return _on_terms(claim, Guarantee.neighbors, "the pairs stand for themselves")
    try:
        subject = made_again({"matrix": claim.matrix} if claim.matrix else {"spec": claim.mechanism})
        family = bound.family(subject)
    except ShuffleDPError as error:
        raise VerificationError(f"the certificate names a mechanism that cannot be made: {error}") from None
    pairs = family.laws(MAX_PAIRS)
    own = {_symbols(pair): pair for pair in pairs or ()}
    if pairs is None or own.keys() != {_symbols(step.pair) for step in claim.steps}:
        raise VerificationError(
            f"the stated pairs are not those of {claim.mechanism!r:.200} under {claim.bound!r:.100}; "
            "the certificate proves another law."
        )
    # what is proved is what the mechanism says, its common mass above all
    claim = replace(claim, steps=tuple(replace(step, pair=own[_symbols(step.pair)]) for step in claim.steps))
    if claim.matrix:
        if not np.array_equal(np.asarray(subject.law.identity()["matrix"]), np.asarray(claim.matrix)):
            raise VerificationError("the matrix of a certificate must have rows that sum to 1; certify again.")
        return _on_terms(claim, subject.neighbors, _compare_label(claim.mechanism, subject))
    return _on_terms(claim, subject.neighbors, "the label gives the same pairs")


def _symbols(law: Law) -> tuple[object, ...]:
    """What a law says, whatever the order of its symbols; those that nobody sends are left out."""
    if isinstance(law, SwapPair):
        return tuple(map(_symbols, law.types)), law.common_mass
    rows = zip(*(np.asarray(part).tolist() for part in (law.P0, law.P1, law.t)), strict=True)
    return tuple(sorted(row for row in rows if any(row)))


def _on_terms(claim: Certificate, neighbors: str, label: str) -> Certificate:
    """The claim with its terms checked, and a note on its law."""
    found = _check_terms(claim, neighbors=neighbors)
    law = "matrix" if claim.matrix else "pairs"
    return replace(claim, notes=(f"Proved for the {law} with SHA-256 {found}; {label}.",))


def _check_terms(claim: Certificate, *, neighbors: str) -> str:
    """Compare the stated hash, neighbors and trust with those of the mechanism; returns the hash."""
    found = law_hash(claim.matrix, (step.pair for step in claim.steps))
    stated = {
        "law_sha256": (claim.law_sha256, found, "the certificate proves another law"),
        "neighbors": (claim.neighbors, neighbors, "the mechanism has no guarantee for others"),
        "trust": (claim.trust, TRUST, "every certificate rests on that"),
    }
    for name, (given, wanted, why) in stated.items():
        if given != wanted:
            raise VerificationError(f"{name} must be {wanted!r}, got {str(given)[:200]!r}; {why}, so certify again.")
    return found


def _compare_label(label: str, law: Mechanism) -> str:
    """What is known of the label of a matrix, in words; refused if the file that it names holds another matrix."""
    if _IN_MEMORY.fullmatch(label):
        if label != law.spec:
            raise VerificationError(
                f"the label must be {law.spec!r} for this matrix, got {label[:200]!r}; "
                "the certificate proves another law, so certify again."
            )
        return "the label names no file to compare it with"
    name = label.removeprefix(f"{law.name}:")
    if name != name.strip():  # a spec may have blanks there, so the label would seem to name another file
        raise VerificationError(
            f"the label must name its file without blanks around it, got {label[:200]!r}; certify the file again."
        )
    path = Path(name)
    try:
        there = path.exists()
    except (OSError, ValueError):  # too long, or not a path at all
        there = False
    if not there:
        return f"{name!r}: file not found, so the label was not compared"
    try:  # what the file holds is not repeated: a label may name any file
        same = type(law).from_file(path) == law  # type: ignore[attr-defined]
    except (ShuffleDPError, OSError, ValueError):
        raise VerificationError(
            f"the label names {name!r}, which is not a readable file with a probability matrix; "
            "verify in the directory of the certified file, or in one without a file of that name."
        ) from None
    if not same:
        raise VerificationError(
            f"the label names {name!r}, which holds another matrix than the one that is proved; "
            "the certificate says nothing about that file, so certify it."
        )
    return f"{name!r} holds this matrix"
