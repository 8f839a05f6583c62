"""The shuffler: requests beside a bare handler, batches of reports, memory, and the release of ten million reports.

The rate of one core is one over the CPU time that the server takes for a request, which other work on the machine does
not change; wall times are beside it.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

import shuffledp as sdp
from shuffledp.shuffler import keys, oblivious_http, sealing, signed
from shuffledp.shuffler.folder import ShufflerFolder
from shuffledp.shuffler.oblivious_http import GatewayKeys
from shuffledp.shuffler.publication import Publication, publish
from shuffledp.shuffler.store import table_of

from .rows import Row, at_most, spelled

MANY, REQUESTS, CONNECTIONS, REPORTS = 10_000_000, 4000, 64, 5000
_DAY = 86_400
_BARE = """
import socket, uvicorn
async def app(scope, receive, send):
    body = b""
    while True:
        event = await receive()
        body += event["body"]
        if not event.get("more_body"):
            break
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json"),
               (b"content-length", b"13")]})
    await send({"type": "http.response.body", "body": b'{"stored": 1}'})
made = socket.create_server(("127.0.0.1", 0), backlog=256)
print(f"http://127.0.0.1:{made.getsockname()[1]}", flush=True)
uvicorn.Server(uvicorn.Config(app, http="h11", ws="none", lifespan="off", log_level="critical", access_log=False,
               server_header=False, date_header=False)).run(sockets=[made])
"""
#: What ``shuffledp shuffler release`` does; the most memory is the process's own word, as what a parent is told of a
#: child includes the parent before the child began.
_RELEASE = """
import json, sys, time
from pathlib import Path
from shuffledp.shuffler.folder import ShufflerFolder
from shuffledp.shuffler.service import Service
made = [str(path) for path in Service(ShufflerFolder(Path(sys.argv[1]))).release_due()]
most = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]
print(json.dumps({"released": made, "most": most, "cpu": time.process_time()}))
"""


class Served:
    """A server in a process of its own."""

    def __init__(self, *command: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        if self._process.stdout is None:
            raise RuntimeError("no output")
        self.port = int(self._process.stdout.readline().split()[0].rpartition(":")[2])

    def cpu(self) -> float:
        """CPU seconds so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Resident MB."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1e3

    def load(self, path: str, kind: str, bodies: list[bytes]) -> tuple[float, float]:
        """CPU and wall seconds for all these bodies, over several connections at once."""
        requests = [
            f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: {kind}\r\ncontent-length: {len(b)}\r\n\r\n".encode() + b
            for b in bodies
        ]
        begun, start = self.cpu(), time.perf_counter()
        asyncio.run(_send_all(self.port, requests))
        return self.cpu() - begun, time.perf_counter() - start

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


async def _send_all(port: int, requests: list[bytes]) -> None:
    left = iter(requests)

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for request in left:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(head[:100])
            size = int(head.lower().partition(b"content-length:")[2].split()[0])
            await reader.readexactly(size)
        writer.close()

    await asyncio.gather(*(client() for _ in range(CONNECTIONS)))


def made(folder: Path, ago: int) -> tuple[ShufflerFolder, Publication]:
    """A shuffler with one plan, whose first period began some seconds ago and lasts a day."""
    home = ShufflerFolder.make(folder)
    fruit = sdp.queries.Histogram(column="x", labels=list(range(16)), mechanism="grr:eps0=2")
    plan = sdp.Plan(query=fruit, users=1000, delta=1e-6, name="x")
    key, analyst = Ed25519PrivateKey.generate(), X25519PrivateKey.generate()
    begun = int(time.time()) - ago
    envelope = publish(plan, key, analyst.public_key(), serial=1, starts=begun, length=_DAY, expires=begun + 9 * _DAY)
    (home.publishers / "one.pub").write_text(keys.line(key.public_key()))
    signed.save(home.plans_folder / "x.json", envelope)
    return home, Publication.read(envelope, keys.trusted([key.public_key()]))


def reports(publication: Publication, number: int) -> list[sealing.Report]:
    """Random bytes of the right size: the shuffler cannot tell."""
    size = publication.slots * publication.sealed_bytes
    return [sealing.Report(os.urandom(16), os.urandom(size)) for _ in range(number)]


def intake(folder: Path) -> Iterator[Row]:
    home, publication = made(folder / "intake", 60)
    digest = bytes.fromhex(publication.digest)
    plain = [sealing.pack(digest, 0, [one]) for one in reports(publication, REQUESTS)]
    config = oblivious_http.decode_configs(GatewayKeys.load(home.ohttp).handed_out)[0]
    fields = ((b"content-type", sealing.MEDIA_TYPE.encode()),)
    sealed = [
        oblivious_http.encapsulate(
            config,
            oblivious_http.BinaryRequest(
                method="POST", path="/reports", fields=fields, content=sealing.pack(digest, 0, [one])
            ).encode(),
        )[0]
        for one in reports(publication, REQUESTS)
    ]
    bare, served = Served("-c", _BARE), Served("-m", "shuffledp", "shuffler", "serve", str(home.folder), "--port", "0")
    try:
        for name, path, kind, bodies in (
            ("POST /reports, one report each", "/reports", sealing.MEDIA_TYPE, plain),
            ("POST /ohttp, one report each", "/ohttp", oblivious_http.REQUEST, sealed),
        ):
            half = len(bodies) // 2
            for server in (bare, served):  # the first requests compile and connect
                server.load(path, kind, bodies[:200])
            other = min(bare.load(path, kind, part)[0] / len(part) for part in (bodies[200:half], bodies[half:]))
            times = [(*served.load(path, kind, part), len(part)) for part in (bodies[200:half], bodies[half:])]
            mine, wall = min(cpu / n for cpu, _, n in times), min(wall / n for _, wall, n in times)
            ratio = other / mine
            note = f"{ratio:.2f} ({1 / mine:,.0f} a second of CPU, bare {1 / other:,.0f}; wall {1 / wall:,.0f}/s)"
            yield Row(f"{name}, rate beside a bare handler", note, ">= 0.35", ratio >= 0.35)
        batches = [sealing.pack(digest, 0, reports(publication, REPORTS)) for _ in range(20)]
        cpu, wall = served.load("/reports", sealing.MEDIA_TYPE, batches)
        number = len(batches) * REPORTS
        note = f"{number / cpu:,.0f} reports a second of CPU, wall {number / wall:,.0f}/s"
        yield Row(f"{REPORTS:,} reports in one request", note, ">= 5,000/s", number / wall >= 5000)
    finally:
        bare.stop()
        served.stop()


def fill(home: ShufflerFolder, publication: Publication, number: int) -> None:
    """Put reports into the store directly, in the order of their ids, as fast as it goes."""
    place = (bytes.fromhex(publication.digest), 0)
    store = home.open_store()
    store.shut()
    size, table = publication.slots * publication.sealed_bytes, table_of(place)
    connection = sqlite3.connect(home.folder / "store.sqlite")
    connection.execute("INSERT INTO periods VALUES (?, ?, 'open', '', '')", place)
    connection.execute("INSERT INTO counts VALUES (?, ?, '', 'contributors', ?)", (*place, number))
    connection.execute(f"CREATE TABLE {table} (id BLOB PRIMARY KEY, sealed BLOB NOT NULL) WITHOUT ROWID")
    step = 100_000
    for first in range(0, number, step):
        raw = os.urandom(step * (size + 8))
        width = size + 8
        rows = (
            (
                (((first + i) << 64) // number).to_bytes(8) + raw[i * width : i * width + 8],
                raw[i * width + 8 : (i + 1) * width],
            )
            for i in range(min(step, number - first))
        )
        connection.executemany(f"INSERT INTO {table} VALUES (?, ?)", rows)
        connection.commit()
    connection.close()


def large(folder: Path) -> Iterator[Row]:
    found = {}
    for number in (0, MANY):
        home, publication = made(folder / f"n{number}", 60)
        fill(home, publication, number)
        served = Served("-m", "shuffledp", "shuffler", "serve", str(home.folder), "--port", "0")
        digest = bytes.fromhex(publication.digest)
        batches = [sealing.pack(digest, 0, reports(publication, 500)) for _ in range(20)]
        _, wall = served.load("/reports", sealing.MEDIA_TYPE, batches)
        found[number] = served.memory(), 10_000 / wall
        served.stop()
        shutil.rmtree(home.folder)
    grown = found[MANY][0] - found[0][0]
    note = f"{found[MANY][0]:.0f} MB, {found[0][0]:.0f} MB with an empty store ({found[MANY][1]:,.0f} reports/s)"
    yield Row(f"memory of the service with {MANY:,} reports stored", note, "<= 64 MB more", grown <= 64)
    home, publication = made(folder / "release", 2 * _DAY)
    fill(home, publication, MANY)
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _RELEASE, str(home.folder)], capture_output=True, text=True, check=True
    )
    wall, said = time.perf_counter() - start, json.loads(done.stdout)
    manifest = json.loads(json.loads((Path(said["released"][0]) / "manifest.json").read_text())["payload"])
    row = at_most(f"release of {MANY:,} reports, wall", wall, 300, f" ({spelled(said['cpu'])} CPU)")
    yield row._replace(reached=bool(row.reached) and manifest["messages"] == MANY * publication.slots)
    most = int(said["most"]) / 1e3
    yield Row("its memory", f"{most:.0f} MB", "<= 1,000 MB", most <= 1000)


def rows() -> Iterator[Row]:
    folder = Path(tempfile.mkdtemp(prefix="shuffledp-bench-"))
    try:
        yield from intake(folder)
        yield from large(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
