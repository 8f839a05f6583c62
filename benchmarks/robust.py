"""Questions on which programs for privacy are known to fail: ours and others, side by side, on docs/robust.md.

    python -m benchmarks.robust            print the table
    python -m benchmarks.robust --write    renew it on the page

Every answer comes from a process of its own, with limits on CPU time and memory; what ends there is part of the result.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from datetime import date
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "robust.md"
SECONDS, MEMORY = 60, 4 * 2**30

_OURS = "import shuffledp as sdp\nanswer = sdp.amplify('general:eps0={e}', n={n}, delta={d}, bound='general').epsilon"
_TEXTBOOK = "from benchmarks.conventional import amplify; answer = amplify({n}, {e}, {d})"
_ROUND = "import shuffledp as sdp; one = sdp.Accountant().compose('grr:eps0=2,d=16', n={n})\n"
_ROUNDS = "import shuffledp as sdp; acc = sdp.Accountant().compose('grr:eps0=2,d=16', n={n}, count={k})\n"
_UPPER, _LOWER = "answer = acc.epsilon(delta={d})", "answer = acc.lower_epsilon(delta={d})"
_PLD = "answer = one.to_pld().self_compose({k}).get_epsilon_for_delta({d})"
_RDP = (
    "from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon\n"
    "from shuffledp.numerics.composition.conversions import ORDERS\n"
    "answer = compute_epsilon(ORDERS, {k} * one.renyi(ORDERS), {d})[0]"
)
#: What is asked, in words and in numbers.
BATCHES = [
    ("an ordinary batch: eps0 = 1, n = 10,000, delta = 1e-6", {"e": 1, "n": 10**4, "d": 1e-6}),
    ("a huge crowd: eps0 = 1, n = 1e12, delta = 1e-10", {"e": 1, "n": 10**12, "d": 1e-10}),
    ("a tiny delta: eps0 = 1, n = 1e6, delta = 1e-200", {"e": 1, "n": 10**6, "d": 1e-200}),
    ("a tiny budget: eps0 = 1e-6, n = 1e6, delta = 1e-9", {"e": 1e-6, "n": 10**6, "d": 1e-9}),
    ("a large budget: eps0 = 30, n = 1e6, delta = 1e-6", {"e": 30, "n": 10**6, "d": 1e-6}),
    ("three users: eps0 = 1, delta = 1e-3", {"e": 1, "n": 3, "d": 1e-3}),
]
ROUNDS = [
    ("30 rounds of 100,000 users, delta = 1e-6", {"n": 10**5, "k": 30, "d": 1e-6}),
    ("one million rounds of 1e9 users, delta = 1e-6", {"n": 10**9, "k": 10**6, "d": 1e-6}),
    ("30 rounds of 100,000 users, delta = 1e-60", {"n": 10**5, "k": 30, "d": 1e-60}),
    ("10 rounds of 1e12 users, delta = 1e-9", {"n": 10**12, "k": 10, "d": 1e-9}),
    ("1,000 rounds of 500 users, delta = 1e-6", {"n": 500, "k": 1000, "d": 1e-6}),
]


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def answered(code: str) -> str:
    """The answer of a program and its CPU time, or how it ended."""
    whole = (
        f"import time, warnings; warnings.simplefilter('ignore'); start = time.process_time()\n{code}\n"
        "print(f'{answer:.5g} ({time.process_time() - start:.2g} s)')"
    )
    run = subprocess.run(
        [sys.executable, "-c", whole], capture_output=True, text=True, preexec_fn=_limited, cwd=PAGE.parents[1]
    )
    if run.returncode == 0:
        return run.stdout.strip().splitlines()[-1]
    if "MemoryError" in run.stderr:
        return f"out of {MEMORY >> 30} GB"
    return f"ended after {SECONDS} s" if run.returncode < 0 else run.stderr.strip().splitlines()[-1][:60]


def table() -> str:
    """Both tables, in Markdown."""
    lines = ["| one batch, stronger clone | shuffledp | windowed sum of binomial tails (SciPy) |", "|---|---|---|"]
    lines += [f"| {what} | {answered(_OURS.format(**q))} | {answered(_TEXTBOOK.format(**q))} |" for what, q in BATCHES]
    heads = ("shuffledp", "shuffledp, lower", "dp-accounting, PLD", "dp-accounting, RDP")
    lines += ["", f"| many rounds of `grr:eps0=2,d=16` | {' | '.join(heads)} |", "|---|---|---|---|---|"]
    for what, q in ROUNDS:
        asked = [_ROUNDS + _UPPER, _ROUNDS + _LOWER, _ROUND + _PLD, _ROUND + _RDP]
        lines.append(f"| {what} | {' | '.join(answered(code.format(**q)) for code in asked)} |")
    return "\n".join([*lines, "", f"Measured on {date.today():%Y-%m-%d}."])


def main(arguments: list[str]) -> None:
    made = table()
    if "--write" in arguments:
        mark = re.compile(r"(<!-- robust: start[^>]*-->).*?(<!-- robust: end -->)", re.DOTALL)
        PAGE.write_text(mark.sub(lambda m: f"{m[1]}\n\n{made}\n\n{m[2]}", PAGE.read_text("utf-8")), "utf-8")
    print(made)


if __name__ == "__main__":
    main(sys.argv[1:])
