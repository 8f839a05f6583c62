"""A whole programme in one command: eps = 1 per quarter, four questions, 32 rounds; which mechanisms?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import shuffledp as sdp

from .rows import Row, compared

EXAMPLE = Path(__file__).parent.parent / "examples" / "programme.yaml"
#: Seconds of CPU, start-up included, and the part of the budget that may be left over.
MOST, LEFT = 5.0, 0.005
#: Users of the example, and seconds of CPU from its questions to its statement.
USERS, MOST_CHAIN = 1_200_000, 60.0


def asked(*arguments: str) -> tuple[float, dict[str, Any]]:
    """CPU seconds of one command in a process of its own, and its JSON."""
    before = os.times()
    command = [sys.executable, "-m", "shuffledp", *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return spent, json.loads(done.stdout)


def chain(folder: Path) -> Row:
    """The example from four questions to a statement, at its 1,200,000 users: four commands, and what they cost."""
    rng, models = np.random.default_rng(0), EXAMPLE.with_name("models.txt").read_text("utf-8").split("\n")[:-1]
    crash = np.where(rng.random(USERS) < 0.05, rng.choice(np.array(models), USERS), "none")
    screen = rng.choice(np.array(["home", "search", "cart", "help"]), USERS)
    numbers = {"latency": rng.lognormal(1.0, 0.9, USERS), "session": rng.gamma(2.0, 11.0, USERS)}
    data, plans = str(folder / "quarter.parquet"), str(folder / "plans")
    pq.write_table(pa.table({"screen": screen, "crash_model": crash, **numbers}), data)
    spent = [
        asked(*arguments)[0]
        for arguments in (
            ("calibrate", "--programme", str(EXAMPLE), "--plans", plans),
            ("check", plans),
            ("simulate", plans, data, "--plot", str(folder / "pictures")),
            ("statement", plans, "-o", str(folder / "statement.html")),
        )
    ]
    shown = f"{sum(spent):.1f} s ({', '.join(f'{seconds:.1f}' for seconds in spent)})"
    what = f"the chain: `calibrate`, `check`, `simulate` with pictures, `statement`, {USERS:,} users, CPU with start-up"
    return Row(what, shown, f"< {MOST_CHAIN:.0f} s", sum(spent) < MOST_CHAIN)


def rows() -> Iterator[Row]:
    """The question, its check, and what a programme over its budget is told."""
    with tempfile.TemporaryDirectory() as folder:
        saved = str(Path(folder) / "calibrated.yaml")
        arguments = ("calibrate", "--programme", str(EXAMPLE), "--save", saved)
        spent, found = min((asked(*arguments) for _ in range(3)), key=itemgetter(0))
        chosen = ", ".join(entry["mechanism"] for entry in found["rounds"])
        what = "`calibrate --programme`: eps = 1 per quarter, four questions, 32 rounds, 5 % missing"
        yield compared.row(f"{what}, CPU with start-up", spent, 1.0, f"; {chosen}")
        yield chain(Path(folder))
        check = sdp.check(saved)
        close = check.within and check.epsilon >= check.target_epsilon * (1.0 - LEFT)
        wanted = f"within the budget, at most {LEFT:.1%} below it"
        yield Row("what `check` finds for it", f"eps = {check.epsilon:.4f}", wanted, close)
        over = json.loads(json.dumps(found["programme"]))
        over["target"]["epsilon"] = "0.5"
        path = Path(folder) / "over.json"
        path.write_text(json.dumps(over), encoding="utf-8")
        spent, told = asked("check", str(path))
        fits = told["fits"] or {}
        shown = f"{spent:.1f} s (eps = {fits.get('epsilon', float('nan')):.4f} would fit)"
        yield Row(
            "`check` over a budget of 0.5, with what would fit", shown, f"< {MOST:.0f} s", spent < MOST and bool(fits)
        )
