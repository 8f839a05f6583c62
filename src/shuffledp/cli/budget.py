"""Budget commands: which setting and how many users meet a target, and what many rounds cost together."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from .._support import validation as valid
from .._support.delta_rules import delta_at
from .._support.locking import alone_with
from .._support.numbers import round_down, round_up
from .._support.progress import progress
from ..errors import ImpossibleError, ParameterError
from . import options
from .base import NAMES_HELP, SPEC_HELP, answer, main, print_json, say, show, was_given, wrote

if TYPE_CHECKING:
    from ..accounting.guarantee import Guarantee
    from ..composing.accountant import Accountant
    from ..composing.composed_guarantee import ComposedGuarantee
    from ..mechanisms.base import Mechanism

_COUNT = options.times("--count", "Rounds over the same users, for which the target holds.")


@main.command(epilog=NAMES_HELP, short_help="Find the least noisy settings that meet a budget.")
@click.argument("subject", metavar="NAME_OR_SPEC", required=False)
@options.n(required=False)
@click.option("--bound", help="Which bound; it must be a guarantee.  [default: auto]")
@click.option("--epsilon", metavar="EPS", help="The central eps to be reached, > 0.")
@options.delta(required=False)
@click.option("--programme", metavar="FILE", help="Calibrate a whole programme (YAML or JSON) instead of one spec.")
@click.option("--save", metavar="FILE", help="With --programme: write it with the budgets that were found.")
@click.option("--plans", metavar="DIR", help="With --programme: write a plan for each question, and a lock file.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A known parameter; may be repeated.")
@click.option("--unknown", metavar="KEY", help="The parameter to solve for, where several could be meant.")
@_COUNT
@options.tol("Relative accuracy of eps.  [default: 1e-4; 1e-3 of a programme]", default=None)
@options.crowd
@options.as_json
def calibrate(
    subject: str | None,
    programme: str | None,
    save: str | None,
    plans: str | None,
    settings: tuple[str, ...],
    as_json: bool,
    **given: Any,
) -> None:
    """The least noisy setting whose n shuffled reports meet (eps, delta); exit code 1 if there is none.

    \b
      shuffledp calibrate grr --set d=64 --n 1e6 --epsilon 1 --delta 1e-8
      shuffledp calibrate subset:d=64 --n 1e6 --epsilon 1 --delta 1e-8 --count 13 --dropouts 0.03
      shuffledp calibrate cheu-zhilyaev:d=16,messages=2 --unknown flip --n 1e4 --epsilon 1 --delta 1e-6
      shuffledp calibrate --programme telemetry.yaml --plans plans

    The rounds of a programme file are questions, or leave budgets open; one scale is found for all of them.
    """
    if programme is not None:
        every = click.get_current_context().command.params
        stated = {option.name for option in every if option.name and was_given(option.name)}
        beside = stated - {"programme", "save", "plans", "tol", "as_json"}
        if beside:
            name = "the spec" if "subject" in beside else f"--{min(beside).replace('_', '-')}"
            raise click.UsageError(f"--programme FILE says it all; leave out {name}.")
        _calibrate_programme(programme, save, plans, given["tol"], as_json)
        return
    for name, path in (("--save", save), ("--plans", plans)):
        if path is not None:
            raise click.UsageError(f"{name} needs --programme FILE, whose calibrated form it writes.")
    if subject is None or None in (given[key] for key in ("n", "epsilon", "delta")):
        raise click.UsageError("calibrate needs NAME_OR_SPEC, --n, --epsilon and --delta, or --programme FILE.")
    from ..calibration.questions import calibrate as run

    fixed = _settings(settings)
    with _impossible_too(as_json), progress("calibrating"):
        n, unknown, eps = (given.pop(key) for key in ("n", "unknown", "epsilon"))
        eps = valid.parse_number("epsilon", eps)
        terms = options.crowd_of({**given, "bound": given["bound"] or "auto", "tol": given["tol"] or 1e-4})
        found = run(subject, n=n, epsilon=eps, unknown=unknown, **terms, **fixed)
        reached = _reached(found, n, terms)
    data = {"mechanism": found.spec, "target_epsilon": eps, "guarantee": reached.to_dict()}
    answer(as_json, data, found.spec, str(reached))


def _calibrate_programme(file: str, save: str | None, plans: str | None, tol: float | None, as_json: bool) -> None:
    """Print what was found, and write the programme where that was asked."""
    from ..programme.calibrating import calibrate_programme

    with _impossible_too(as_json), progress("calibrating") as advance:
        found = calibrate_programme(file, progress=advance, **({} if tol is None else {"tol": tol}))
    files: list[str] = []
    if save is not None:
        found.save(save)
        files.append(save)
    if plans is not None:
        files += found.save_plans(plans)
    show(found, as_json)
    wrote(*files)


@contextlib.contextmanager
def _impossible_too(as_json: bool) -> Iterator[None]:
    """An unreachable target is an answer: with --json it is printed on stdout as well."""
    try:
        yield
    except ImpossibleError as error:
        if as_json:
            print_json({"impossible": True, "reason": str(error)})
        raise


def _reached(mechanism: Mechanism | str, n: int, terms: dict[str, Any]) -> Guarantee | ComposedGuarantee:
    """What the answer guarantees: one round by amplify, several by the accountant."""
    if terms["count"] == 1:
        from ..accounting.amplification import amplify

        one: Guarantee = amplify(mechanism, n=n, **{key: value for key, value in terms.items() if key != "count"})
        return one
    from ..composing.accountant import Accountant

    round_ = {key: value for key, value in terms.items() if key not in ("delta", "tol")}
    return Accountant().compose(mechanism, n=n, **round_).guarantee(delta=delta_at(terms["delta"], n))


def _settings(texts: tuple[str, ...]) -> dict[str, Any]:
    """--set key=value, each once; the options of the command are not parameters of a mechanism."""
    found: dict[str, Any] = {}
    taken = {option.name for option in click.get_current_context().command.params}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not key or key in found or key in taken:
            raise ParameterError(
                f"set must be KEY=VALUE with a parameter of the mechanism, each once, got {text!r}; write --set d=64."
            )
        found[key] = valid.parse_number(key, value)
    return found


_CROWD = ("reports_per_user", "dropouts", "colluding")


@main.command(epilog=SPEC_HELP, short_help="Find how many users a target needs.")
@click.argument("spec")
@click.option("--epsilon", required=True, metavar="EPS", help="The central eps to be reached, > 0.")
@options.delta()
@options.bound("Which bound; it must be a guarantee.")
@_COUNT
@options.tol()
@options.crowd
@options.as_json
def users(spec: str, epsilon: str, as_json: bool, **given: Any) -> None:
    """The smallest number of users whose shuffled reports of SPEC meet (eps, delta); exit code 1 if there is none."""
    from ..calibration.questions import users_needed

    eps = valid.parse_number("epsilon", epsilon)
    with _impossible_too(as_json), progress("counting"):
        terms = options.crowd_of(given)
        n = users_needed(spec, epsilon=eps, **terms)
        reached = _reached(spec, n, terms)
    data = {"n": n, "target_epsilon": eps, "guarantee": reached.to_dict()}
    answer(as_json, data, "1 user" if n == 1 else f"{n:,} users", str(reached))


# -- many rounds -----------------------------------------------------------------------------------------------

#: Settings of a round that Accountant.compose reads as they are written: names, and numbers or shares of users.
_AS_WRITTEN = ("name", "bound", "n", "dropouts", "colluding")
#: All settings of a round that may follow its spec.
_SETTINGS = ("n", "count", "name", "bound", "participation_limit", *_CROWD)
_TAIL = re.compile(rf",\s*({'|'.join(_SETTINGS)}|memoized)\s*=\s*([^,=]*)$", re.ASCII)
_ROUND_HELP = f"Rounds to add; may be repeated.  Also: name, bound, participation_limit, {', '.join(_CROWD)}."


@main.command(epilog=SPEC_HELP)
@click.argument("ledger", required=False)
@click.option("--round", "rounds", multiple=True, metavar="SPEC,n=N[,count=K]", help=_ROUND_HELP)
@options.delta("Show eps of all rounds together at this delta, or rule such as 0.01/n.", required=False)
@click.option("--epsilon", metavar="EPS", help="Show delta of all rounds together at this eps.")
@click.option("--target", metavar="EPS", help="With --delta: exit code 1, and nothing is saved, if eps exceeds this.")
@click.option("--remaining", metavar="SPEC,n=N", help="With --target: how many more such rounds fit.")
@options.as_json
def compose(
    ledger: str | None,
    rounds: tuple[str, ...],
    delta: float | str | None,
    epsilon: str | None,
    target: str | None,
    remaining: str | None,
    as_json: bool,
) -> None:
    """What many rounds over the same users cost together.

    LEDGER is a JSON file of the rounds that were run; with --round it is created or extended, in one step.  Without
    LEDGER the rounds are only counted.

    \b
      shuffledp compose --round grr:eps0=2,d=64,n=1e6,count=30 --delta 1e-8
      shuffledp compose ledger.json --round grr:eps0=2,d=64,n=1e6 --delta 1e-8 --target 1
      shuffledp compose ledger.json --delta 1e-8 --target 1 --remaining grr:eps0=2,d=64,n=1e6
    """
    if ledger is None and not rounds:
        raise click.UsageError("compose needs a LEDGER, --round SPEC,n=N, or both.")
    if target is not None and delta is None:
        raise click.UsageError("--target needs --delta, at which it is compared.")
    if remaining is not None and target is None:
        raise click.UsageError("--remaining needs --target and --delta, which state the budget.")
    most = None if target is None else _budget(target)
    more = [_round(text) for text in rounds]
    further = None if remaining is None else _round(remaining)
    result: dict[str, Any] = {"ledger": ledger, "saved": False}
    alone = alone_with(ledger, name="ledger") if ledger and rounds else contextlib.nullcontext()
    with alone, progress("composing"):
        accountant = _load(ledger, bool(rounds))
        for round_ in more:
            accountant.compose(**round_)
        lines = [] if delta is None else list(_at_delta(accountant, delta, most, further, result))
        if epsilon is not None:
            lines.insert(1, _delta_at(accountant, epsilon, result))
        if ledger is not None and rounds and result.get("within", True):
            accountant.save(ledger)
            result["saved"] = True
    result["rounds"] = [_shown(entry) for entry in accountant.entries]
    answer(as_json, result, *lines, table=None if lines else accountant.table())
    if ledger is not None and rounds:
        say(f"wrote {ledger}" if result["saved"] else f"{ledger} was not changed", err=True)
    click.get_current_context().exit(0 if result.get("within", True) else 1)


def _budget(target: str) -> float:
    """--target as a number."""
    number = valid.parse_number("target", target)
    return valid.inside("target", number, hint="it is the central eps that must not be exceeded")


def _at_delta(accountant: Accountant, delta: Any, most: float | None, further: Any, result: Any) -> Iterator[str]:
    """eps of all rounds at delta, whether the budget allows it, and how many more fit: in words, and in ``result``."""
    together = accountant.guarantee(delta=delta)
    result["guarantee"] = together.to_dict()
    yield str(together)
    if most is not None:
        result |= {"target_epsilon": most, "within": together.epsilon <= most}
        yield f"This is {'within' if result['within'] else 'OVER'} the budget eps = {round_down(most, 12)}."
    if most is not None and further is not None:
        number = result["remaining"] = accountant.remaining(epsilon=most, delta=delta, **further)
        fit = "1 more round of {} fits." if number == 1 else f"{number:,} more rounds of {{}} fit."
        yield fit.format(further["mechanism"])


def _round(text: str) -> dict[str, Any]:
    """SPEC,n=N,count=K,... as parameters of Accountant.compose; the spec itself may hold commas."""
    found: dict[str, Any] = {}
    spec = text.strip()
    while match := _TAIL.search(spec):
        key, value = match[1], match[2].strip()
        if key in found:
            raise ParameterError(f"{key} must be given once, got it twice in {text!r}; remove one of them.")
        if key == "memoized":  # refused by the accountant, unless it is false
            found[key] = value.lower() not in ("0", "false", "no")
        else:
            found[key] = value if key in _AS_WRITTEN else valid.parse_number(key, value)
        spec = spec[: match.start()]
    if "n" not in found:
        _refuse_unknown(spec)
        raise ParameterError(f"a round must be SPEC,n=N with its number of users, got {text!r}; add n=1e6 to it.")
    return {"mechanism": spec, **found}


def _refuse_unknown(spec: str) -> None:
    """A key after n that is not a setting of a round hides n, so the error names that key."""
    keys = [part.partition("=")[0].strip() for part in spec.split(",")]
    unknown = [key for key in keys[keys.index("n") :] if key not in _SETTINGS] if "n" in keys else []
    if unknown:
        raise ParameterError(
            f"a round has no setting {unknown[0]!r}, it takes {', '.join(_SETTINGS)}; correct the name or remove it."
        )


def _load(ledger: str | None, adding: bool) -> Accountant:
    from ..composing.accountant import Accountant

    if ledger is None or (adding and not os.path.lexists(ledger)):
        return Accountant()
    found = Accountant.load(ledger)
    if not found.entries and not adding:
        raise ParameterError(f"ledger must hold at least one round, got none in {ledger!r}; add some with --round.")
    return found


def _delta_at(accountant: Accountant, epsilon: str, result: dict[str, Any]) -> str:
    eps = valid.parse_number("epsilon", epsilon)
    value = accountant.delta(epsilon=eps)
    result |= {"epsilon": eps, "delta_at_epsilon": value}
    # what holds at eps holds at an eps that is rounded up
    said = f"at most {round_up(value)}" if value else "0"
    return f"At eps = {round_up(eps, 12)} delta is {said}."


def _shown(entry: Any) -> dict[str, Any]:
    keys = ("name", "n", "count", "bound", "participation_limit", "reports_per_user", "cost")
    return {"mechanism": entry.mechanism.spec, **{key: getattr(entry, key) for key in keys}}
