"""Accounting commands: amplify, profile, certify, and the list of mechanisms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from .._support.numbers import round_down, round_up
from .._support.progress import progress
from .._support.tables import Column, Table, number_column
from . import options
from .base import SPEC_HELP, answer, drawn, grid, main, prepared, say, was_given, wrote

if TYPE_CHECKING:
    from ..accounting.guarantee import Guarantee

_TRADEOFF = "In place of delta, the trade-off function of f-DP, and mu of Gaussian DP."
_RENYI = "In place of delta, Renyi divergences, and rho of zero-concentrated DP."
#: Orders that are shown by default, and the slack of the second mu.
_ORDERS, _SLACK = (1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 32.0, 64.0), 1e-12


@main.command(epilog=SPEC_HELP, short_help="How private n shuffled reports are: eps at a delta.")
@click.argument("spec")
@options.common
@options.delta()
@options.tol("Relative accuracy of eps (errors go up).")
@click.option("--certify", "certified", is_flag=True, help="Prove the answer in ball arithmetic.")
@options.crowd
def amplify(spec: str, certified: bool, as_json: bool, **given: Any) -> None:
    """The central (eps, delta) of n users who shuffle their reports of SPEC."""
    from ..accounting.amplification import amplify as run

    _show(run(spec, certify=certified, **options.crowd_of(given)), as_json)


def _show(guarantee: Guarantee, as_json: bool) -> None:
    answer(as_json, guarantee.to_dict(), str(guarantee))
    if guarantee.members > 1 and not as_json:
        say(f"({guarantee.evaluated:,} of {guarantee.members:,} input pairs evaluated)", err=True)


@main.command(epilog=SPEC_HELP, short_help="delta as a function of eps; trade-off and Renyi curves.")
@click.argument("spec")
@options.common
@click.option("--epsilon", default="0:1:11", show_default=True, help="Values a,b,c or a range START:STOP:COUNT of eps.")
@click.option(
    "--side", type=click.Choice(["upper", "lower"]), default="upper", show_default=True, help="Bounds of delta."
)
@options.tol("Relative accuracy of delta.")
@click.option("--tradeoff", is_flag=True, help=_TRADEOFF)
@click.option("--alpha", help="With --tradeoff: false-positive rates, likewise.")
@click.option("--renyi", is_flag=True, help=_RENYI)
@click.option("--orders", help="With --renyi: orders > 1, likewise.")
@options.file("--plot", "With --tradeoff or --renyi: write the figure here (PDF, SVG or PNG).")
@options.crowd
def profile(spec: str, tradeoff: bool, renyi: bool, plot: str | None, as_json: bool, **given: Any) -> None:
    """What n shuffled reports of SPEC reveal, as a function: delta of eps, or another with --tradeoff or --renyi.

    \b
      shuffledp profile grr:eps0=2,d=16 --n 1e4 --epsilon 0:0.2:5
      shuffledp profile grr:eps0=2,d=16 --n 1e4 --tradeoff --alpha 0.01,0.05,0.5
      shuffledp profile grr:eps0=2,d=16 --n 1e4 --renyi --orders 2:10:5
    """
    kind = "tradeoff" if tradeoff else "renyi" if renyi else "delta"
    if tradeoff and renyi:
        raise click.UsageError("--tradeoff and --renyi are two functions; ask for one of them.")
    if plot is not None and kind == "delta":
        raise click.UsageError("--plot needs --tradeoff or --renyi, whose figure it writes.")
    places = _own_options(kind, given)
    terms = options.crowd_of(given)
    if kind == "delta":
        _profile(spec, as_json, terms, **places)
    else:
        _output(kind, spec, next(iter(places.values())), plot, as_json, terms)


#: What each function takes beside the terms of all.
_OWN = {"delta": ("epsilon", "side", "tol"), "tradeoff": ("alpha",), "renyi": ("orders",)}


def _own_options(kind: str, given: dict[str, Any]) -> dict[str, Any]:
    """Take the options of one function out of all; those of another are refused, if they were written."""
    taken = {name: given.pop(name) for names in _OWN.values() for name in names}
    for name in taken:
        if name not in _OWN[kind] and was_given(name):
            owner = next(other for other, names in _OWN.items() if name in names)
            if owner == "delta":
                raise click.UsageError(f"--{name} does not go with --{kind}; leave one of them out.")
            raise click.UsageError(f"--{name} needs --{owner}; add it.")
    return {name: taken[name] for name in _OWN[kind]}


def _output(kind: str, spec: str, places: str | None, plot: str | None, as_json: bool, terms: dict[str, Any]) -> None:
    """A trade-off function or Renyi divergences: the sentence and the table, or all of it as JSON."""
    from ..accounting.tradeoffs import TradeOff, tradeoff
    from ..accounting.two_sides import RenyiCurve, renyi

    prepared(plot)
    found: TradeOff | RenyiCurve
    with progress("computing"):
        if kind == "tradeoff":
            found = tradeoff(spec, alpha=None if places is None else grid("alpha", places), **terms)
            mu = found.mu_with(slack=_SLACK)
            more = f" With a slack of {_SLACK:g}, mu = {round_up(mu)}." if math.isfinite(mu) else ""
            further: dict[str, Any] = {"slack": _SLACK, "mu_with_slack": mu if more else "inf"}
        else:
            found = renyi(spec, orders=_ORDERS if places is None else grid("orders", places), **terms)
            more, further = "", {}
        answer(as_json, {**found.to_dict(), **further}, f"{found}{more}", table=found.table())
    drawn(found, plot)
    wrote(plot)


def _profile(spec: str, as_json: bool, terms: dict[str, Any], *, epsilon: str, side: Any, tol: float) -> None:
    """delta at every eps."""
    from ..accounting.amplification import profile as run
    from ..bounds import unalias

    eps, n, bound = grid("epsilon", epsilon), terms["n"], unalias(terms["bound"])
    delta = run(spec, epsilon=eps, tol=tol, side=side, **terms).tolist()
    head, rounded = ("at most", round_up) if side == "upper" else ("at least", round_down)
    # what is true at eps is true at a larger eps, or below at a smaller one
    columns = {"epsilon": ("eps", eps), "delta": (f"delta ({head})", delta)}
    table = Table(tuple(number_column(k, h, x, [rounded(y, 6) for y in x]) for k, (h, x) in columns.items()))
    data = {"mechanism": spec, "n": n, "bound": bound, "side": side, "epsilon": eps, "delta": delta}
    answer(as_json, data, f"{spec}, n = {n:,}", table=table)


@main.command(short_help="List the mechanisms and their specs.")
@options.as_json
def mechanisms(as_json: bool) -> None:
    """Every mechanism: its spec (optional parameters in brackets) and what it is."""
    from ..mechanisms.registry import find, signatures

    rows = [(f"{name}:{needs}", (find(name).__doc__ or "").partition("\n")[0]) for name, needs in signatures()]
    columns = zip(("spec", "what it is"), zip(*rows, strict=True), strict=True)
    table = Table(tuple(Column(name=head, head=head, values=texts) for head, texts in columns))
    answer(as_json, dict(rows), table=table)


@main.command(epilog=SPEC_HELP, short_help="Write a proof of a guarantee, or verify one.")
@click.argument("spec", required=False)
@options.n(required=False)
@options.delta(required=False)
@options.bound("Which bound to certify.")
@options.tol()
@click.option("--out", type=click.Path(dir_okay=False), help="Write the certificate here instead of stdout.")
@click.option("--verify", "file", type=click.Path(dir_okay=False), help="Re-check this certificate from scratch.")
@options.file("--shuffler", "With --verify of a statement of 'collect': the shuffler's public key.")
@options.file("--analyst", "With --verify of a statement of 'collect': the analyst's public key.")
@options.as_json
def certify(
    spec: str | None,
    out: str | None,
    file: str | None,
    shuffler: str | None,
    analyst: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Write a certificate of SPEC's guarantee, or --verify one (exit code 3 if it does not hold).

    A signed statement of a collected period is verified in the same way, with the public keys of those who signed it:

    \b
      shuffledp certify --verify statement.json --shuffler shuffler.pub --analyst analyst.pub
    """
    asked = (spec, given["n"], given["delta"])
    if (shuffler is None) != (analyst is None) or (shuffler is not None and file is None):
        raise click.UsageError("--shuffler and --analyst stand together, with --verify FILE; give all three.")
    if file is not None:
        if any(part is not None for part in (*asked, out)):
            raise click.UsageError("--verify FILE stands alone; leave out SPEC, --n, --delta and --out.")
        if shuffler is not None and analyst is not None:
            _verify_statement(file, shuffler, analyst, as_json)
        else:
            _verify(file, as_json)
        return
    if spec is None or None in asked:
        raise click.UsageError("certify needs SPEC, --n and --delta, or --verify FILE.")
    from ..accounting.amplification import amplify as run

    guarantee = run(spec, certify=True, **given)
    if guarantee.certificate is None:
        raise click.ClickException("no certificate was made")
    if out is None:
        click.echo(guarantee.certificate.to_json(), nl=False)
        say(str(guarantee), err=True)
        return
    guarantee.certificate.write(out)
    _show(guarantee, as_json)


def _verify(file: str, as_json: bool) -> None:
    from ..accounting.certificate import verify

    proof = verify(file)
    data = {"verified": True, "notes": list(proof.notes), **proof.to_dict()}
    answer(as_json, data, f"Verified: {proof}", *proof.notes, f"Trusted: {proof.trust}.")


def _verify_statement(file: str, shuffler: str, analyst: str, as_json: bool) -> None:
    from ..shuffler.keys import trusted
    from ..shuffler.statement import verify_statement

    found = verify_statement(file, shufflers=trusted([shuffler]), analysts=trusted([analyst]))
    answer(as_json, found.to_dict(), *found.lines())
