"""The same question as lines to copy: Python and the command line."""

from __future__ import annotations

import shlex

from ..mechanisms.base import plain
from .questions import Question


def python(asked: Question) -> str:
    """A script that prints the guarantee, and the total of all rounds if there are several.

    Examples
    --------
    >>> q = Question.read({"spec": "grr:eps0=2,d=64", "n": "1e6", "delta": "1e-8"})
    >>> print(python(q))
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


def shell(asked: Question) -> str:
    """The same as commands.

    Examples
    --------
    >>> print(shell(Question.read({"spec": "grr:eps0=2,d=64", "n": "1e6", "delta": "0.01/n", "dropouts": "0.05"})))
    shuffledp amplify grr:eps0=2,d=64 --n 1000000 --delta 0.01/n --dropouts 0.05
    """
    delta = asked.delta if isinstance(asked.delta, str) else plain(asked.delta)
    words = ["shuffledp", "amplify", asked.spec, "--n", str(asked.n), "--delta", delta]
    if asked.dropouts:
        words += ["--dropouts", repr(asked.dropouts)]
    lines = [shlex.join(words)]
    if asked.rounds > 1:
        mechanism, n = asked.remaining()
        words = ["shuffledp", "compose", "--round", f"{mechanism.spec},n={n},count={asked.rounds}"]
        lines.append(shlex.join([*words, "--delta", plain(asked.at)]))
    return "\n".join(lines)
