"""k questions to the same users, shuffled separately or sent as one tuple: ``python -m benchmarks.joint_answers``."""

from __future__ import annotations

import sys

import shuffledp as sdp
from shuffledp._support.numbers import round_down, round_up

USERS, DELTA = 10**4, 1e-6
QUESTION = "grr:eps0={e},d=4"


def row(eps0: float, questions: int) -> str:
    """One line: both numbers, and the lower bound of the tuple."""
    one = sdp.mechanism(QUESTION.format(e=eps0))
    rounds = sdp.Accountant()
    rounds.compose(one, n=USERS, count=questions)
    tuples = sdp.amplify(sdp.Joint([one] * questions), n=USERS, delta=DELTA)
    lower = "" if tuples.lower is None else round_down(tuples.lower, 4)
    found = [round_up(rounds.epsilon(delta=DELTA), 4), round_up(tuples.epsilon, 4), lower]
    return f"| {questions} x `{one.spec}` | " + " | ".join(found) + " |"


def table() -> str:
    """The whole table."""
    lines = ["| questions | separately shuffled | one tuple | one tuple, lower bound |", "|---|---|---|---|"]
    return "\n".join(lines + [row(e, k) for e in (0.5, 1.0, 2.0) for k in (1, 2, 3, 5)])


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
