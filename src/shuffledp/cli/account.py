"""Accounting commands: amplify, profile, certify, and the list of mechanisms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from . import options
from .base import SPEC_HELP, answer, grid, main, print_json, say

if TYPE_CHECKING:
    from ..accounting.guarantee import Guarantee


@main.command(epilog=SPEC_HELP)
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


@main.command(epilog=SPEC_HELP)
@click.argument("spec")
@options.common
@click.option("--epsilon", default="0:1:11", show_default=True, help="Values a,b,c or a range START:STOP:COUNT of eps.")
@click.option("--side", type=click.Choice(["upper", "lower"]), default="upper", show_default=True)
@options.tol("Relative accuracy of delta.")
def profile(spec: str, n: int, epsilon: str, bound: str, side: Any, tol: float, as_json: bool) -> None:
    """delta as a function of eps: the privacy profile of n shuffled reports of SPEC."""
    from ..accounting.amplification import profile as run

    eps = grid("epsilon", epsilon)
    delta = run(spec, n=n, epsilon=eps, bound=bound, tol=tol, side=side).tolist()
    if as_json:
        from ..bounds import unalias

        print_json({"mechanism": spec, "n": n, "bound": unalias(bound), "side": side, "epsilon": eps, "delta": delta})
        return
    from .._support.numbers import round_down, round_up
    from .._support.tables import Table, number_column
    from .terminal import show_table

    head, rounded = ("at most", round_up) if side == "upper" else ("at least", round_down)
    # what is true at eps is true at a larger eps, or below at a smaller one
    columns = {"epsilon": ("eps", eps), "delta": (f"delta ({head})", delta)}
    say(f"{spec}, n = {n:,}")
    show_table(
        Table(tuple(number_column(k, h, x, [rounded(value, 6) for value in x]) for k, (h, x) in columns.items()))
    )


@main.command()
@options.as_json
def mechanisms(as_json: bool) -> None:
    """Every mechanism: its spec (optional parameters in brackets) and what it is."""
    from ..mechanisms.registry import find, signatures

    rows = [(f"{name}:{needs}", (find(name).__doc__ or "").partition("\n")[0]) for name, needs in signatures()]
    if as_json:
        print_json(dict(rows))
        return
    from .._support.tables import Column, Table
    from .terminal import show_table

    columns = zip(("spec", "what it is"), zip(*rows, strict=True), strict=True)
    show_table(Table(tuple(Column(name=head, head=head, values=texts) for head, texts in columns)))


@main.command(epilog=SPEC_HELP)
@click.argument("spec", required=False)
@options.n(required=False)
@options.delta(required=False)
@options.bound("Which bound to certify.")
@options.tol()
@click.option("--out", type=click.Path(dir_okay=False), help="Write the certificate here instead of stdout.")
@click.option("--verify", "file", type=click.Path(dir_okay=False), help="Re-check this certificate from scratch.")
@options.file("--shuffler", "With --verify: the file is a statement of 'collect', signed with this public key,")
@options.file("--analyst", "and with this one.")
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
