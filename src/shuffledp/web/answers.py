"""The answers of the API, as JSON-ready dictionaries; each takes a question and nothing else from outside.

Numbers come twice: in full precision, and under ``shown`` as texts rounded to the side on which they stay true.
"""

from __future__ import annotations

import math
import shlex
from typing import Any

from .._support.json_ready import json_object
from .._support.numbers import round_down, round_up
from ..accounting.amplification import amplify
from ..accounting.comparison import compare as compare_bounds
from ..accounting.guarantee import TRUST_ROUNDS, Guarantee
from ..composing.accountant import Accountant
from ..mechanisms.base import plain
from . import words
from .questions import MOST_ROUNDS, Question

#: Shares of missing users beside the one that was asked.
_MISSING = (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5)
#: Numbers of rounds beside the one that was asked.
_ROUNDS = (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)
#: What is told of a guarantee beside what was asked.
_FACTS = ("dropouts", "epsilon", "lower", "bound", "local_epsilon", "neighbors", "trust")


def guarantee_of(asked: Question) -> Guarantee:
    """The guarantee of one round."""
    return amplify(asked.mechanism, n=asked.n, delta=asked.delta, dropouts=asked.dropouts)


def total_of(asked: Question) -> float:
    """What all rounds cost together."""
    mechanism, n = asked.remaining()
    return Accountant().compose(mechanism, n=n, count=asked.rounds).epsilon(delta=asked.at)


def total(asked: Question) -> dict[str, Any]:
    """The guarantee of one round, and that of all rounds together under ``total``.

    Examples
    --------
    >>> found = total(Question.read({"spec": "grr:eps0=2,d=64", "n": "1e5", "delta": "1e-7", "rounds": "4"}))
    >>> found["epsilon"] < found["total"]["epsilon"] < 4 * found["epsilon"], found["total"]["level"]
    (True, 'very strong')
    """
    found = guarantee(asked)
    if asked.rounds == 1:
        return found
    return {**found, "trust": found["trust"] + TRUST_ROUNDS, "total": in_all(total_of(asked), asked)}


def in_all(epsilon: float, asked: Question) -> dict[str, Any]:
    """An eps of all rounds together, and what it means."""
    behind = words.guess(epsilon, asked.at)
    return json_object(
        {
            "rounds": asked.rounds,
            "epsilon": epsilon,
            "shown": round_up(epsilon),
            "level": words.level(epsilon),
            "guess": words.percent(behind),
            "words": words.odds(behind, "all batches" if asked.rounds > 1 else "the whole batch"),
        }
    )


def guarantee(asked: Question) -> dict[str, Any]:
    """One round: the bracket, the paragraph, the risk in words, warnings, and the lines that give the same.

    Examples
    --------
    >>> q = Question.read({"spec": "grr:eps0=2,d=64", "n": "1e5", "delta": "1e-7"})
    >>> found = guarantee(q)
    >>> found["shown"]["epsilon"], found["bound"], found["risk"]["level"]
    ('0.012504', 'blanket', 'very strong')
    """
    found = guarantee_of(asked)
    return json_object(
        {
            "spec": found.mechanism,
            **{key: getattr(found, key) for key in ("description", "n", "delta")},
            "rounds": asked.rounds,
            **{key: getattr(found, key) for key in _FACTS},
            "shown": {
                "epsilon": round_up(found.epsilon),
                "lower": None if found.lower is None else round_down(found.lower),
                "delta": round_up(found.delta, 3),
                "local_epsilon": round_up(found.local_epsilon),
            },
            "text": str(found),
            "risk": words.risk(found),
            "total": in_all(found.epsilon, asked) if asked.rounds == 1 else None,
            "warnings": words.warnings(found),
            "code": {"python": python_code(asked), "shell": shell_code(asked)},
        }
    )


def compare(asked: Question) -> dict[str, Any]:
    """Every bound, smallest eps first, and why the others give no answer."""
    mechanism, n = asked.remaining()
    found = compare_bounds(mechanism, n=n, delta=asked.at)
    keys = ("bound", "title", "epsilon", "shown", "kind", "citation")
    rows = [{key: getattr(row, key) for key in keys} for row in found.rows]
    return json_object(
        {"spec": found.mechanism, "n": n, "delta": asked.at, "rows": rows, "notes": found.notes, "absent": found.absent}
    )


def dropouts(asked: Question) -> dict[str, Any]:
    """The guarantee if a larger or smaller share of the users is missing."""
    rows = []
    for share in sorted({*_MISSING, asked.dropouts}):
        eps = None
        if math.ceil(share * asked.n) < asked.n:  # somebody remains
            eps = amplify(asked.mechanism, n=asked.n, delta=asked.at, dropouts=share).epsilon
        rows.append({"dropouts": share, "epsilon": eps, "shown": None if eps is None else round_up(eps)})
    return json_object({"spec": asked.spec, "n": asked.n, "delta": asked.at, "dropouts": asked.dropouts, "rows": rows})


def compose(asked: Question) -> dict[str, Any]:
    """All rounds together, and how eps grows with their number; the lower ends are None where nothing is known.

    Examples
    --------
    >>> found = compose(Question.read({"spec": "grr:eps0=2,d=64", "n": "1e5", "delta": "1e-7", "rounds": "4"}))
    >>> 0.99 < found["lower"] / found["epsilon"] <= 1.0, found["rows"][0]["rounds"]
    (True, 1)
    """
    mechanism, n = asked.remaining()
    most = min(MOST_ROUNDS, max(30, 3 * asked.rounds))
    account = Accountant().compose(mechanism, n=n, count=most)
    counts = sorted({*(k for k in _ROUNDS if k <= most), asked.rounds})
    rows = {count: _bracket(account.first(count), asked.at) for count in counts}
    total = rows[asked.rounds]["epsilon"]
    return json_object(
        {
            "spec": asked.spec,
            "n": asked.n,
            "delta": asked.at,
            "rounds": asked.rounds,
            **rows[asked.rounds],
            "level": words.level(total),
            "guess": words.percent(words.guess(total, asked.at)),
            "rows": [{"rounds": count, **row} for count, row in rows.items()],
        }
    )


def _bracket(account: Accountant, delta: float) -> dict[str, Any]:
    """Both ends of the eps of these rounds."""
    found = account.guarantee(delta=delta)
    return {
        "epsilon": found.epsilon,
        "shown": round_up(found.epsilon),
        "lower": found.lower,
        "shown_lower": None if found.lower is None else round_down(found.lower),
    }


# -- lines to copy ---------------------------------------------------------------------------------------------


def python_code(asked: Question) -> str:
    """A script that prints the guarantee, and the total of all rounds if there are several.

    Examples
    --------
    >>> q = Question.read({"spec": "grr:eps0=2,d=64", "n": "1e6", "delta": "1e-8"})
    >>> print(python_code(q))
    import shuffledp as sdp
    <BLANKLINE>
    print(sdp.amplify("grr:eps0=2,d=64", n=1_000_000, delta=1e-08))
    """
    delta = f'"{asked.delta}"' if isinstance(asked.delta, str) else repr(asked.delta)
    missing = f", dropouts={asked.dropouts!r}" if asked.dropouts else ""
    lines = [
        "import shuffledp as sdp",
        "",
        f'print(sdp.amplify("{asked.spec}", n={asked.n:_}, delta={delta}{missing}))',
    ]
    if asked.rounds > 1:
        mechanism, n = asked.remaining()
        why = f"  # {asked.n - n:,} may be missing" if n < asked.n else ""
        lines += [
            f'rounds = sdp.Accountant().compose("{mechanism.spec}", n={n:_}, count={asked.rounds}){why}',
            f"print(rounds.guarantee(delta={asked.at!r}))",
        ]
    return "\n".join(lines)


def shell_code(asked: Question) -> str:
    """The same as commands.

    Examples
    --------
    >>> print(shell_code(Question.read({"spec": "grr:eps0=2,d=64", "n": "1e6", "delta": "0.01/n", "dropouts": "0.05"})))
    shuffledp amplify grr:eps0=2,d=64 --n 1000000 --delta 0.01/n --dropouts 0.05
    """
    delta = asked.delta if isinstance(asked.delta, str) else plain(asked.delta)
    command = ["shuffledp", "amplify", asked.spec, "--n", str(asked.n), "--delta", delta]
    if asked.dropouts:
        command += ["--dropouts", repr(asked.dropouts)]
    lines = [shlex.join(command)]
    if asked.rounds > 1:
        mechanism, n = asked.remaining()
        command = ["shuffledp", "compose", "--round", f"{mechanism.spec},n={n},count={asked.rounds}"]
        lines.append(shlex.join([*command, "--delta", plain(asked.at)]))
    return "\n".join(lines)
