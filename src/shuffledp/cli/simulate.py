"""simulate: a plan, or a folder of plans, on data whose truth is known."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .._support.units import figures
from ..errors import ParameterError
from . import options
from .base import answer, drawn, main, prepared, say, wrote
from .collect import VIEW, about, accept_option, engine_option, fit_option, rows_per_second, shown_options, viewed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np

    from ..estimation.estimate import Estimate
    from ..protocol.plan import Plan
    from ..protocol.simulation import SimulatedQuantiles, Simulation
    from ..queries.columns import ValueCounts
    from ..queries.quantiles import Quantiles

_PLOT = "Draw the answer (.pdf, .svg or .png); of a folder of plans, a folder for one picture each."


@main.command(short_help="Try a plan on data, beside the truth.")
@click.argument("plan")
@click.argument("data")
@engine_option
@click.option("--seed", type=int, help="A seeded generator, to repeat the run; nothing of it is for release.")
@fit_option
@shown_options
@click.option("--plot", metavar="FILE", help=_PLOT)
@accept_option
@options.as_json
def simulate(
    plan: str, data: str, engine_name: str, seed: int | None, plot: str | None, accept: bool, as_json: bool, **view: Any
) -> None:
    """Privatize and estimate DATA as PLAN says, beside the truth: how large the error is, and was predicted to be.

    PLAN may also be a folder of plans that calibrate --plans wrote: each of them is run on its columns of DATA, and a
    few lines say how precise its answer is.

    The truth is read from the data, so the output is not private.
    """
    if seed is not None and seed < 0:
        raise ParameterError(f"seed must be a whole number of at least 0, got {seed}; choose another.")
    asked = _Asked(data, engine_name, accept)
    if os.path.isdir(plan):
        _simulate_all(plan, asked, seed, plot, as_json, view)
    else:
        _simulate_one(plan, asked, seed, plot, as_json, view)


class _Run(NamedTuple):
    """An answer beside the truth, and what the values were like."""

    found: Simulation | SimulatedQuantiles
    values: ValueCounts
    note: str

    def to_dict(self) -> dict[str, Any]:
        return {**self.found.to_dict(), "values": self.values.to_dict()}


class _Asked(NamedTuple):
    """What plans are run on, and how."""

    data: str
    engine_name: str
    accept: bool

    def run(self, plan: Plan, rng: np.random.Generator | None, what: str, view: dict[str, Any]) -> _Run:
        from ..engines.base import engine
        from ..engines.local import Local
        from ..protocol.simulation import simulated

        told: list[ValueCounts] = []
        with rows_per_second(what) as advance:
            collector = engine(self.engine_name).count(
                plan, self.data, rng=rng, progress=advance, accept=self.accept, tell=told.append
            )
        shown = viewed(collector.estimate(release_early=True), **view)
        found = simulated(shown, _alike(Local().exact(plan, self.data), shown))
        return _Run(found, told[0], _other_size(plan, collector.users))


def _alike(truth: Any, shown: Estimate | Quantiles) -> Estimate | Quantiles:
    """The truth of what is shown."""
    from ..estimation.estimate import COUNT
    from ..queries.quantiles import Quantiles

    if isinstance(shown, Quantiles):
        found: Quantiles = truth.quantiles(shown.shares)
        return found
    counts: Estimate = truth.counts() if shown.quantity == COUNT else truth
    return counts


def _other_size(plan: Plan, users: int) -> str:
    """What to make of data of another size than the plan's; empty if they are of about its size."""
    if plan.smallest_batch <= users <= plan.users:
        return ""
    times = figures(math.sqrt(max(plan.users, users) / min(plan.users, users)), 2)
    size = "smaller" if users < plan.users else "larger"
    return (
        f"note: these are {users:,} users, and the plan is for {plan.users:,}, whose shares, means and quantiles have "
        f"errors about {times} times {size}."
    )


def _simulate_one(
    path: str, asked: _Asked, seed: int | None, plot: str | None, as_json: bool, view: dict[str, Any]
) -> None:
    from ..protocol.plan import Plan

    prepared(plot)
    run = asked.run(Plan.load(path), next(_streams(seed, 1)), "simulating", view)
    say(*str(run.values).split("\n"), *filter(None, [run.note]), err=True)
    drawn(run.found, plot)
    wrote(plot)
    answer(as_json, run.to_dict(), *run.found.table().text().split("\n"), "", str(run.found))


def _simulate_all(
    folder: str, asked: _Asked, seed: int | None, plot: str | None, as_json: bool, view: dict[str, Any]
) -> None:
    """Every plan of a folder; nothing is written or said of any before all of them are done."""
    from ..programme.shipped import shipped_plans

    given = next((key for key in VIEW if view[key] not in (None, False)), None)
    if given:
        raise ParameterError(
            f"{given} must be left out for a folder of plans, whose questions differ, got it with {folder!r}; ask for "
            "one plan of it."
        )
    plans = shipped_plans(folder)
    pictures = _pictures(plot, plans)
    runs: dict[str, _Run] = {}
    for (file, plan), rng in zip(plans.items(), _streams(seed, len(plans)), strict=True):
        with about(file):
            runs[file] = asked.run(plan, rng, f"simulating {plan.name or file}", view)
    for file, run in runs.items():
        drawn(run.found, pictures.get(file))
    wrote(*pictures.values())
    for run in runs.values():
        say(*str(run.values).split("\n"), err=True)
    say(*dict.fromkeys(run.note for run in runs.values() if run.note), err=True)
    lines: list[str] = []
    for file, run in runs.items():
        lines += [plans[file].name or file, *(f"  {line}" for line in run.found.words()), ""]
    data = {file: {"name": plans[file].name, **run.to_dict()} for file, run in runs.items()}
    answer(as_json, {"plans": data}, *lines, "The truth is shown: this output is not private.")


def _streams(seed: int | None, count: int) -> Iterator[np.random.Generator | None]:
    """A generator for every plan, which does not depend on the others; None: secure randomness."""
    import numpy as np

    for number in range(count):
        yield None if seed is None else np.random.default_rng([seed, number] if number else seed)


def _pictures(plot: str | None, plans: Iterable[str]) -> dict[str, str]:
    """The picture of every plan, in a folder that is made if it is not there."""
    if not plot:
        return {}
    if os.path.splitext(plot)[1].lower() in (".pdf", ".svg", ".png"):
        raise ParameterError(f"plot must be a folder for the pictures of a folder of plans, got {plot!r}; name one.")
    found = {file: os.path.join(plot, os.path.splitext(file)[0] + ".png") for file in plans}
    for path in found.values():
        prepared(path)
    os.makedirs(plot, exist_ok=True)
    return found
