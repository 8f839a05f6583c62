"""What user scripts may rely on: names, signatures, specs, commands, JSON keys, formats of files.

docs/public.json has it all.  A test compares that file with the code, so that a change of the contract is seen in
review.
"""

from __future__ import annotations

import inspect
import json
from typing import Any

import click

import shuffledp
from reference.commands import run
from reference.places import ROOT
from shuffledp import extend, queries
from shuffledp.accounting import certificate_claim
from shuffledp.bounds import registry as bounds
from shuffledp.cli import base, main
from shuffledp.composing import ledger_file
from shuffledp.mechanisms.registry import signatures
from shuffledp.programme import plans, spec
from shuffledp.protocol import batch, collector_file, plan
from shuffledp.shuffler import publication, release, statement

FILE = ROOT / "docs" / "public.json"
#: One question per command that answers in JSON; the keys of the answer are a promise.
QUESTIONS = {
    "amplify": ["grr:eps0=1,d=4", "--n", "1e4", "--delta", "1e-6"],
    "profile": ["grr:eps0=1,d=4", "--n", "1e4", "--epsilon", "0.1"],
    "compare": ["grr:eps0=1,d=4", "--n", "1e4", "--delta", "1e-6", "--bound", "blanket"],
    "calibrate": ["grr:d=4", "--n", "1e4", "--delta", "1e-6", "--epsilon", "0.1"],
    "users": ["grr:eps0=1,d=4", "--delta", "1e-6", "--epsilon", "0.1"],
    "compose": ["--round", "grr:eps0=1,d=4,n=1e4,count=2", "--delta", "1e-6"],
    "plan": ["histogram", "--n", "1e4", "--delta", "1e-6", "--epsilon", "0.5", "--d", "4"],
}


def contract() -> dict[str, Any]:
    """Everything that is promised, as plain JSON."""
    return {
        "names": {name: _described(getattr(shuffledp, name)) for name in sorted(shuffledp.__all__)},
        "queries": {name: _described(getattr(queries, name)) for name in sorted(queries.__all__)},
        "extend": sorted(name for name in vars(extend) if not name.startswith("_") and name != "annotations"),
        "mechanisms": dict(sorted(signatures())),
        "bounds": sorted(bounds.names()),
        "commands": _commands(main),
        "json": {name: _keys(name, asked) for name, asked in QUESTIONS.items()},
        "exit codes": {"done": 0, "target not met": 1, "bad input": base._UNUSABLE, "could not certify": 3}
        | {"internal error": base._INTERNAL, "stopped": base.STOPPED, "the reader of a pipe has gone": base._UNREAD},
        "files": _files(),
    }


def _described(value: Any) -> Any:
    if not inspect.isclass(value):
        return _parameters(value)
    shown = sorted(name for name in dir(value) if not name.startswith("_"))
    return {"takes": _parameters(value), "has": shown}


def _parameters(value: Any) -> str:
    """Names and defaults without annotations."""
    try:
        taken = inspect.signature(value)
    except ValueError:
        return ""
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in taken.parameters.values()]
    return str(taken.replace(parameters=plain, return_annotation=inspect.Signature.empty))


def _commands(group: click.Group) -> dict[str, Any]:
    return {
        name: _commands(command)
        if isinstance(command, click.Group)
        else sorted(option for taken in command.params for option in (*taken.opts, *taken.secondary_opts))
        for name, command in sorted(group.commands.items())
    }


def _keys(command: str, asked: list[str]) -> list[str]:
    return sorted(json.loads(run(command, *asked, "--json").stdout))


def _files() -> dict[str, Any]:
    """Kind of file -> the version that is written."""
    return {
        "plan": plan.VERSION,
        "batch": batch.MAGIC.decode().split()[-1],
        "collector's state": collector_file.VERSION,
        "ledger": ledger_file.FORMAT,
        "certificate": certificate_claim.FORMAT,
        "programme": spec.VERSION,
        "lock of a programme": plans.VERSION,
        "publication and withdrawal": publication.VERSION,
        "manifest": release.CONTEXT.split()[-1],
        "statement": statement.CONTEXT.split()[-1],
    }


def text() -> str:
    return json.dumps(contract(), indent=1, sort_keys=True) + "\n"


def write() -> None:
    FILE.write_text(text(), "utf-8")
