"""The headline question, answered: how private are n shuffled reports?  ``python examples/headline.py``."""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import product

from rich.console import Console
from rich.table import Table

import shuffledp as sdp
from shuffledp._support.numbers import round_down, round_up

EPS0 = 3.0
CROWDS = [10**k for k in range(4, 13, 2)]


def grr(d: int, ratio: float) -> list[list[float]]:
    """Generalized randomized response: keep the value with probability ratio/(ratio + d - 1)."""
    return [[(ratio if x == y else 1.0) / (ratio + d - 1) for y in range(d)] for x in range(d)]


def guarantees(console: Console) -> None:
    randomizers = {
        f"any {EPS0:g}-LDP randomizer that all users run": sdp.General(eps0=EPS0),
        f"randomized response, 16 options, eps0 = {EPS0:g}": sdp.FiniteRandomizer(grr(16, 20.085536923187668)),
    }
    for title, mechanism in randomizers.items():
        sdp.amplify(mechanism, n=1000, delta=1e-6)  # imports and derivations, once
        table = Table("users", "delta", "eps (never less)", "cannot be below", "as printed", "time", title=title)
        for n in CROWDS:
            start = time.perf_counter()
            ours = sdp.amplify(mechanism, n=n, delta=0.01 / n)
            spent = time.perf_counter() - start
            printed = sdp.amplify(mechanism, n=n, delta=0.01 / n, bound="variation-ratio-published")
            mark = " too small!" if ours.lower is not None and printed.epsilon < ours.lower else ""
            table.add_row(
                f"1e{len(str(n)) - 1}",
                round_up(0.01 / n),
                round_up(ours.epsilon),
                "" if ours.lower is None else round_down(ours.lower),
                f"{round_up(printed.epsilon)}{mark}",
                f"{spent * 1e3:.1f} ms",
            )
        console.print(table)


def true_divergence(rows: list[list[Fraction]], others: tuple[int, ...], ratio: Fraction) -> Fraction:
    """D_E between the shuffled outputs when the victim holds 0 or 1, from the definition, in fractions."""
    laws: list[dict[tuple[int, ...], Fraction]] = []
    for victim in (0, 1):
        law: dict[tuple[int, ...], Fraction] = {}
        for outputs in product(range(len(rows[0])), repeat=len(others) + 1):
            chance = Fraction(1)
            for user, output in zip((victim, *others), outputs, strict=True):
                chance *= rows[user][output]
            seen = tuple(sorted(outputs))
            law[seen] = law.get(seen, Fraction(0)) + chance
        laws.append(law)
    return sum((max(laws[0][seen] - ratio * laws[1][seen], Fraction(0)) for seen in laws[0]), Fraction(0))


def counter_example(console: Console) -> None:
    """Why the printed bound is not one: 3 options, e^eps0 = 2, 3 users, e^eps = 3/2."""
    third = [[Fraction(2 if x == y else 1, 4) for y in range(3)] for x in range(3)]
    truth = true_divergence(third, (0, 2), Fraction(3, 2))
    eps = 0.4054651081081644  # log(3/2), rounded up
    small = sdp.FiniteRandomizer([[float(x) for x in row] for row in third])
    published = sdp.profile(small, n=3, epsilon=eps, bound="variation-ratio-published")
    ours = sdp.profile(small, n=3, epsilon=eps)
    console.print(
        "Counter-example to the printed bound: randomized response, 3 options, e^eps0 = 2, 3 users, others hold 0, 2\n"
        f"  true delta at e^eps = 3/2, in exact fractions   {truth} = {round_down(truth, 6)}\n"
        f"  the bound as printed                            {Fraction(float(published)).limit_denominator(128)}"
        f" = {round_up(float(published), 6)}   below the truth\n"
        f"  ours                                            {round_up(float(ours), 6)}   above it"
    )


def proof(console: Console) -> None:
    start = time.perf_counter()
    g = sdp.amplify(sdp.General(eps0=EPS0), n=10**12, delta=1e-14, certify=True)
    sdp.verify(g.certificate)
    console.print(f"\nProved and verified in {time.perf_counter() - start:.2f} s:\n{g}")


def side_by_side(console: Console) -> None:
    bounds = ["blanket", "variation-ratio", "general", "clone", "blanket-bennett", "constant-dataset-lower"]
    console.print(f"\nBounds side by side:\n{sdp.compare('grr:eps0=3,d=16', n=10_000, delta=1e-6, bounds=bounds)}")


def programme(console: Console) -> None:
    target = {"epsilon": 0.5, "delta": "1e-8"}
    once = sdp.calibrate("grr", n=1_000_000, epsilon=0.05, delta=1e-8, d=64)
    rounds = [{"name": "weekly question", "mechanism": once.spec, "users": 1_000_000, "count": 30}]
    checked = sdp.check({"version": 1, "name": "30 weeks", "target": target, "rounds": rounds})
    console.print(f"\nThe largest local budget for eps = 0.05, and 30 rounds of it:\n{checked}")


def main() -> None:
    console = Console(width=110)
    guarantees(console)
    counter_example(console)
    proof(console)
    side_by_side(console)
    programme(console)


if __name__ == "__main__":
    main()
