"""The import layers, lowest first: the one list that the test of imports and docs/architecture.md share.

A module may import its own package and the packages of lower layers; packages of one layer do not import each other.
"""

from __future__ import annotations

from typing import NamedTuple


class Layer(NamedTuple):
    """One or more packages (or modules) of ``shuffledp`` and what they are for, in one sentence."""

    packages: tuple[str, ...]
    sentence: str


LAYERS = (
    Layer(("errors",), "The exceptions: everything that the library raises on purpose."),
    Layer(
        ("_support",),
        "What every part needs and no theory: validation, files, delta rules, numbers, names and tables.",
    ),
    Layer(
        ("randomness", "estimation"),
        "Secure random bits and permutations; estimates with standard errors, intervals and constraints.",
    ),
    Layer(
        ("numerics",),
        "The one formula: shuffled pairs, families of pairs, their evaluators and composition; knows no mechanism.",
    ),
    Layer(("mechanisms",), "What one user runs: every mechanism declares its law, reports, variance on one page."),
    Layer(("bounds",), "The theorems as functions: each takes a mechanism and a crowd size and gives eps or delta."),
    Layer(
        ("accounting", "extend"),
        "One batch: a question, its guarantee, certificates, comparisons, crowds; what mechanisms of one's own import.",
    ),
    Layer(
        ("composing", "calibration", "auditing"),
        "Many rounds and their ledger; settings that meet a target; looking for leaks in code that runs.",
    ),
    Layer(("queries",), "Questions about users in their own words and units: domain, mechanism, estimator, answer."),
    Layer(("protocol",), "The collection: plan, client, shuffler, batch and collector; small imports, no engine."),
    Layer(
        ("planning", "engines"),
        "Choosing a mechanism for a task and making its plan; running it: record batches in, reports or counts out.",
    ),
    Layer(("programme",), "Several questions against one budget: read from a file, calibrated into plans, checked."),
    Layer(
        ("plots", "paper", "web", "shuffler"),
        "Figures of results; the paper's figures and claims, judged; the page in the browser; the shuffler's service.",
    ),
    Layer(("cli", "__main__"), "The commands: read arguments, ask the layers below, print."),
)
#: Package -> its place, 0 the lowest.
LEVEL = {name: place for place, layer in enumerate(LAYERS) for name in layer.packages}


def may_import(own: str, other: str) -> bool:
    """Whether a module of one package may import the other package.

    >>> may_import("bounds", "numerics"), may_import("numerics", "bounds"), may_import("composing", "auditing")
    (True, False, False)
    """
    return own == other or LEVEL[other] < LEVEL[own] or (own, other) == ("__main__", "cli")


def table() -> str:
    """The layers as a Markdown table, highest number on top of the house."""
    rows = [
        f"| {place} | {', '.join(f'`{name}`' for name in layer.packages if name != '__main__')} | {layer.sentence} |"
        for place, layer in enumerate(LAYERS, 1)
    ]
    return "\n".join(["| layer | packages | what it is for |", "|---|---|---|", *rows])
