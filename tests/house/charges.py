"""The soundness ledger as a table: every error that is charged, and the one function that charges it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

from house.typeset import typeset
from shuffledp import mechanisms, numerics
from shuffledp.numerics.ledger import CHARGES, Charge

#: The files that a referee reads, in this order; others follow by name, then composition, proofs and mechanisms.
READING = ("pair", "rows", "line", "contour", "direct", "curve", "solve", "family")
LAST = ("composition", "proof")


def every_charge() -> list[tuple[str, Charge]]:
    """The module, without shuffledp.numerics if it is in there, and the charge, in reading order."""
    for package in (numerics, mechanisms):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    found = [(charge.function.__module__.removeprefix(f"{numerics.__name__}."), charge) for charge in CHARGES]

    def place(item: tuple[str, Charge]) -> tuple[int, str, int]:
        first = item[0].partition(".")[0]
        rank = READING.index(first) if first in READING else len(READING) + (first in LAST) + 2 * (first == "shuffledp")
        return rank, item[0], inspect.getsourcelines(item[1].function)[1]

    return sorted(found, key=place)


def table() -> str:
    """One row per charge."""
    lines = ["| error | charged by | proof |", "|---|---|---|"]
    for module, charge in every_charge():
        path = f"numerics.{module}".removeprefix("numerics.shuffledp.").replace(".", "/") + ".py"
        proof = charge.proof.removeprefix("docs/proofs.md, ").replace("docs/swap.md", "[the swap bound](swap.md)")
        proof = proof.replace("docs/outputs.md", "[every output](outputs.md)")
        lines.append(f"| {typeset(charge.error)} | `{charge.function.__name__}`, `{path}` | {typeset(proof)} |")
    return "\n".join(lines)
