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

import shuffledp as sdp

from .rows import Row, compared

EXAMPLE = Path(__file__).parent.parent / "examples" / "programme.yaml"
#: Seconds of CPU, start-up included, and the part of the budget that may be left over.
MOST, LEFT = 5.0, 0.005


def asked(*arguments: str) -> tuple[float, dict[str, Any]]:
    """CPU seconds of one command in a process of its own, and its JSON."""
    before = os.times()
    command = [sys.executable, "-m", "shuffledp", *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return spent, json.loads(done.stdout)


def rows() -> Iterator[Row]:
    """The question, its check, and what a programme over its budget is told."""
    with tempfile.TemporaryDirectory() as folder:
        saved = str(Path(folder) / "calibrated.yaml")
        arguments = ("calibrate", "--programme", str(EXAMPLE), "--save", saved)
        spent, found = min((asked(*arguments) for _ in range(3)), key=itemgetter(0))
        chosen = ", ".join(entry["mechanism"] for entry in found["rounds"])
        what = "`calibrate --programme`: eps = 1 per quarter, four questions, 32 rounds, 5 % missing"
        yield compared.row(f"{what}, CPU with start-up", spent, 1.0, f"; {chosen}")
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
