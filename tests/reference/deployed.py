"""A shuffler as it is deployed: real keys, a published plan, the command in a process of its own, a released batch."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import pyarrow.parquet as pq

import shuffledp as sdp
from reference.places import ROOT
from shuffledp.shuffler import keys, sealing, signed
from shuffledp.shuffler.folder import ShufflerFolder
from shuffledp.shuffler.publication import Publication, publish, withdraw
from shuffledp.shuffler.service import Service

CLIENT = ROOT / "clients" / "js"
#: Runs as many clients in Node as it is given values.
MANY = str(CLIENT / "test" / "many.js")


class Deployed:
    """A shuffler's directory, a publisher and an analyst in one folder, and the service, which can be killed."""

    def __init__(self, folder: Path, plan: sdp.Plan, *, length: int = 3600, **more: Any) -> None:
        self.folder, self.plan = folder, plan
        keys.generate(folder / "publisher", "signing")
        keys.generate(folder / "analyst", "sealing")
        self.home = ShufflerFolder.make(folder / "shuffler")
        self.publisher = (folder / "publisher" / "signing.pub").read_text().strip()
        (self.home.publishers / "one.pub").write_text(self.publisher + "\n")
        self.key = keys.signing(folder / "publisher" / "signing.key")
        self.analyst = keys.sealing(folder / "analyst" / "sealing.key")
        starts = int(time.time()) - 60
        times = {"serial": 1, "starts": starts, "length": length, "expires": starts + 10**6, "grace": 60} | more
        self.publication = self.publish(**times)
        self.port, self.address = 0, ""
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop(signal.SIGKILL)

    def publish(self, **times: Any) -> Publication:
        """Drop a publication of the plan in."""
        envelope = publish(self.plan, self.key, self.analyst.public_key(), **times)
        signed.save(self.home.plans_folder / f"{times['serial']}.json", envelope)
        return Publication.read(envelope, keys.trusted([self.publisher]))

    def withdraw(self) -> None:
        signed.save(self.home.plans_folder / "withdrawn.json", withdraw(self.publication, self.key, reason="a test"))

    def start(self) -> str:
        """The address of the running service, the same after every start."""
        command = [sys.executable, "-m", "shuffledp", "shuffler", "serve", str(self.home.folder), "--port"]
        with open(self.folder / "log", "a") as log:
            self.process = subprocess.Popen(
                [*command, str(self.port)], stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT
            )
        if self.process.stdout is None:
            raise RuntimeError("no output")
        self.address = self.process.stdout.readline().split()[0].rstrip("/")
        self.port = int(self.address.rpartition(":")[2])
        return self.address

    def stop(self, sent: int = signal.SIGTERM) -> None:
        if self.process is not None:
            self.process.send_signal(sent)
            self.process.communicate(timeout=20)
            self.process = None

    def asked(self, values: Sequence[Any], **more: Any) -> str:
        """What ``many.js`` is told: the values of clients, and settings of them."""
        settings = {"service": self.address, "publishers": [self.publisher], "name": self.publication.name}
        return json.dumps(settings | {"values": list(values)} | more)

    def reported(self, values: Sequence[Any], **more: Any) -> list[dict[str, Any]]:
        """What as many clients in Node, each with a memory of its own, say of their values."""
        program = ["node", MANY]
        done = subprocess.run(program, input=self.asked(values, **more), capture_output=True, text=True, timeout=300)
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])
        found: list[dict[str, Any]] = json.loads(done.stdout)
        return found

    def released(self) -> list[bytes]:
        """The messages of the batches that are released once the period is over, without blanks."""
        self.stop()
        later = time.time() + self.publication.length + self.publication.grace + 1
        found = []
        for batch in Service(self.home, clock=lambda: later).release_due():
            period = int(batch.name.rpartition("-")[2])
            for part in sorted(batch.glob("*.parquet")):
                for row in pq.read_table(part).column("sealed").to_pylist():
                    digest = bytes.fromhex(self.publication.digest)
                    found.append(sealing.unseal(row, private=self.analyst, digest=digest, period=period))
        return [message for message in found if message is not None]
