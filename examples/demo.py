"""A collection from the plan to the picture: 40,000 flights report where they went.  Run by ``make demo``.

Every flight is a user with a client of its own; the shuffler sees messages, the analyst a shuffled batch.
"""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow.parquet as pq
from rich.console import Console

import shuffledp as sdp
from shuffledp._support.figures import save
from shuffledp._support.progress import progress

DATA = Path(__file__).parent / "data" / "flights.parquet"
OUT = Path(__file__).parent.parent / "build" / "demo"
#: The analyst names the options in advance; every other destination is "other".
AIRPORTS = [
    "ATL",
    "BOS",
    "CLT",
    "DCA",
    "DEN",
    "DTW",
    "FLL",
    "IAH",
    "LAX",
    "MCO",
    "MIA",
    "MSP",
    "ORD",
    "RDU",
    "SFO",
    "TPA",
]


def main(most: int = 40_000) -> None:
    """The story, with the first ``most`` flights of the file."""
    console = Console(width=110)
    OUT.mkdir(parents=True, exist_ok=True)
    destinations = pq.read_table(DATA, columns=["dest"])["dest"].to_pylist()[:most]

    console.print("[bold]1. The plan[/] is one file that clients, shuffler and collector share.")
    query = sdp.queries.Histogram(column="dest", labels=AIRPORTS, mechanism="grr:eps0=3")
    plan = sdp.Plan(query=query, users=len(destinations), delta=1e-8, name="Where do flights from New York go?")
    plan.save(OUT / "plan.json")
    console.print(f"   {plan.query.question}; eps0 = 3 on the device, digest {plan.digest[:12]}...\n")

    console.print("[bold]2. The clients[/]: each flight randomizes its own destination and sends one byte.")
    client, shuffler = sdp.Client(OUT / "plan.json"), sdp.Shuffler(plan)
    start = time.perf_counter()
    with progress("reporting") as advance:
        for i, destination in enumerate(destinations):
            shuffler.add(client.report(destination))
            if i % 1000 == 0:
                advance(i, len(destinations))
    spent = time.perf_counter() - start
    console.print(
        f"   {len(destinations):,} reports in {spent:.1f} s ({1e6 * spent / len(destinations):.0f} us each).\n"
    )

    console.print("[bold]3. The shuffler[/] passes them on in one uniformly random order.")
    shuffler.write(OUT / "flights.batch")
    console.print(f"   wrote {(OUT / 'flights.batch').stat().st_size:,} bytes.\n")

    console.print("[bold]4. The analyst[/] counts the batch and sees shares with intervals.")
    collector = sdp.Collector(OUT / "plan.json")
    collector.ingest(OUT / "flights.batch")
    answer = collector.estimate()
    truth = query.exact([destinations])
    console.print(answer.top(8).table().text(), highlight=False)
    low, high = answer.interval()
    inside = int(((low <= truth.value) & (truth.value <= high)).sum())
    console.print(f"   {inside} of {truth.value.size} intervals of 95 % hold the truth.\n")
    save(answer.plot(truth=truth), OUT / "flights.png")

    console.print("[bold]5. What may be said about privacy[/]")
    console.print(f"   {collector.statement()}", highlight=False)
    console.print("\nThe picture (flights.png), the plan and the batch are in build/demo.")


if __name__ == "__main__":
    main()
