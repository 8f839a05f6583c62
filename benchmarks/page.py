"""The page under load: clients on loopback, each with a request of its own every second; nobody may wait long.

python -m benchmarks.page [--clients 50] [--seconds 20] [--curves]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import httpx

#: What the 95th of 100 requests may take, in milliseconds.
MOST = 250.0
SPECS = (
    "grr:eps0={e},d={d}",
    "general:eps0={e}",
    "unary:eps0={e},d={d}",
    "subset:eps0={e},d={d}",
    "local-hash:eps0={e},d={d}",
    "hadamard:eps0={e},d={d}",
    "pure-dump:d={d},messages={e}",
    "harmony:eps0={e},dim={d}",
)


def question(rng: random.Random, path: str) -> tuple[str, dict[str, str]]:
    """A request that nobody else sends."""
    spec = rng.choice(SPECS).format(e=f"{rng.uniform(0.5, 4.0):.6f}", d=rng.randint(4, 1000))
    given = {"spec": spec, "n": str(rng.randint(10**4, 10**7)), "delta": f"{10 ** rng.uniform(-10, -7):.3e}"}
    return path, given


async def client(
    k: int, address: str, begin: float, seconds: float, paths: tuple[str, ...], spent: list[float], bad: Counter[str]
) -> None:
    """One client: a request every second, begun at a moment of its own in the second after ``begin``."""
    rng = random.Random(k)
    async with httpx.AsyncClient(base_url=address, timeout=30.0, verify=False) as session:
        await asyncio.sleep(begin + rng.random() - time.monotonic())
        end = time.monotonic() + seconds
        turn = 0
        while (start := time.monotonic()) < end:
            path, given = question(rng, paths[turn % len(paths)])
            turn += 1
            try:
                answer = await session.get(path, params=given)
                if answer.status_code != 200:
                    bad[f"{answer.status_code} {answer.text[:100]}"] += 1
            except httpx.HTTPError as error:
                bad[repr(error)[:100]] += 1
            spent.append(1e3 * (time.monotonic() - start))
            await asyncio.sleep(max(0.0, start + 1.0 - time.monotonic()))


async def load(address: str, clients: int, seconds: float, paths: tuple[str, ...]) -> tuple[list[float], Counter[str]]:
    """The time of every request in milliseconds, and what went wrong."""
    spent: list[float] = []
    bad: Counter[str] = Counter()
    begin = time.monotonic() + 2.0  # when all of them are there: else those made first would all begin at once
    await asyncio.gather(*(client(k, address, begin, seconds, paths, spent, bad) for k in range(clients)))
    return sorted(spent), bad


def _cpu(process: int) -> float:
    """CPU seconds of a process and its children so far (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    children = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()
    return own + sum(_cpu(int(child)) for child in children)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--curves", action="store_true", help="every second request is a curve")
    asked = parser.parse_args()
    paths = ("/api/guarantee", "/api/curves") if asked.curves else ("/api/guarantee",)
    server = subprocess.Popen(
        [sys.executable, "-m", "shuffledp", "serve", "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    if server.stdout is None:
        raise RuntimeError("no output")
    try:
        address = server.stdout.readline().split()[0]
        httpx.get(
            f"{address}api/guarantee?spec=general:eps0=1&n=100&delta=1e-3", timeout=60
        )  # what is imported is imported
        before = _cpu(server.pid)
        spent, bad = asyncio.run(load(address, asked.clients, asked.seconds, paths))
        busy = 1e3 * (_cpu(server.pid) - before) / len(spent)
    finally:
        server.terminate()
        server.wait(10)
    half, most = spent[len(spent) // 2], spent[int(0.95 * len(spent))]
    print(
        f"{asked.clients} clients, {len(spent)} requests in {asked.seconds:g} s: {sum(bad.values())} errors, ", end=""
    )
    print(
        f"median {half:.1f} ms, 95 % within {most:.1f} ms, longest {spent[-1]:.1f} ms; {busy:.1f} ms of CPU a request"
    )
    for what, count in bad.items():
        print(f"  {count} times {what}")
    return int(bool(bad) or most > MOST)


if __name__ == "__main__":
    sys.exit(main())
