"""The JavaScript client in Node: its own tests, and against the running service."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import shuffledp as sdp
from handbook.blocks import blocks
from reference.deployed import CLIENT, MANY, Deployed
from reference.places import ROOT
from shuffledp.shuffler.oblivious_http import rotate

pytestmark = pytest.mark.shuffler
LABELS = ["apple", "pear", "plum"]


def plan(users: int, mechanism: str = "grr:eps0=3") -> sdp.Plan:
    query = sdp.queries.Histogram(column="fruit", labels=LABELS, mechanism=mechanism)
    return sdp.Plan(query=query, users=users, delta=1e-6, name="fruit")


def statuses(said: list[dict[str, Any]]) -> Counter[str]:
    return Counter(one["status"] for one in said)


@pytest.fixture
def deployed(tmp_path: Path) -> Iterator[Deployed]:
    with Deployed(tmp_path, plan(10)) as made:
        yield made


def test_node() -> None:
    """clients/js/test: vectors of RFC 9180, 9292, 9458 and of every law, refusals, resending, size."""
    files = sorted(map(str, CLIENT.glob("test/*.test.js")))
    done = subprocess.run(["node", "--test", *files], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-5000:]
    said = dict(
        line[2:].split() for line in done.stdout.splitlines() if line.startswith(("# pass", "# fail", "# skip"))
    )
    assert int(said["pass"]) > 100 and (said["fail"], said["skipped"]) == ("0", "0")


def test_200_clients_are_counted(tmp_path: Path) -> None:
    """Through Oblivious HTTP, the service killed and its key rotated between: one report each, and the answer fits."""
    values = ["apple"] * 120 + ["pear"] * 60 + ["plum"] * 20
    folder = str(tmp_path / "clients")
    with Deployed(tmp_path, plan(200)) as served:
        assert statuses(served.reported(values[:120], folder=folder)) == {"sent": 120}
        served.stop(signal.SIGKILL)
        assert {one["code"] for one in served.reported(values[100:140], folder=folder)} == {"delivery"}
        rotate(served.home.ohttp)
        served.start()
        assert statuses(served.reported(values, folder=folder)) == {"already sent": 120, "sent": 80}
        messages = served.released()
    assert len(messages) == 200
    collector = sdp.Collector(served.plan)
    collector.ingest_frame(pd.DataFrame({"message": messages}), batch="ab" * 16, users=200)
    found = collector.estimate()
    off = (found.value[:3] - np.array([0.6, 0.3, 0.1])) / found.stderr[:3]
    assert np.all(np.abs(off) < 5), off  # beyond by chance in one run of a million


def test_lost_answers_make_no_second_report(deployed: Deployed, tmp_path: Path) -> None:
    """The service is killed while clients send: what they resend is what they sent, and counts once."""
    folder, values = tmp_path / "clients", ["pear"] * 60
    with subprocess.Popen(["node", MANY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as clients:
        assert clients.stdin is not None and clients.stdout is not None
        clients.stdin.write(deployed.asked(values, folder=str(folder)))
        clients.stdin.close()
        while not any(folder.glob("*/*")):
            time.sleep(0.005)
        time.sleep(0.1)
        deployed.stop(signal.SIGKILL)
        said = statuses(json.loads(clients.stdout.read()))
    deployed.start()
    again = statuses(deployed.reported(values, folder=str(folder)))
    assert again == Counter({"already sent": said["sent"], "sent": 60 - said["sent"]})
    assert len(deployed.released()) == 60


def test_messages_and_blanks(tmp_path: Path) -> None:
    """A plan of several messages, which is pinned: all arrive, blanks are told apart, and the collector reads them."""
    with Deployed(tmp_path, plan(30, "pure-dump:poisson=2")) as served:
        (unpinned,) = served.reported(["pear"])
        assert (unpinned["code"], "pin programDigest" in unpinned["message"]) == ("law", True)
        pin = served.publication.program_digest
        assert statuses(served.reported(["pear"] * 30, programDigest=pin)) == {"sent": 30}
        messages = served.released()
    assert 30 <= len(messages) < 30 * served.publication.slots
    collector = sdp.Collector(served.plan)
    collector.ingest_frame(pd.DataFrame({"message": messages}), batch="ab" * 16, users=30)
    found = collector.estimate()
    assert abs(found.value[1] - 1) < 5 * found.stderr[1]


def test_refusals_and_withdrawal(deployed: Deployed) -> None:
    """Without the outer layer; a plan that is not there; a publisher that is not pinned; two at once; a withdrawal."""
    assert deployed.reported(["pear"], plain=True)[0]["status"] == "sent"
    assert "is not offered by the service" in deployed.reported(["pear"], name="nuts")[0]["message"]
    stranger = deployed.reported(["pear"], publishers=["ed25519 " + "A" * 43])[0]
    assert (stranger["code"], "not pinned" in stranger["message"]) == ("trust", True)
    deployed.withdraw()
    end = time.monotonic() + 20
    while (said := deployed.reported(["pear"])[0]).get("code") != "trust":  # until the service has seen the file
        assert time.monotonic() < end and said.get("code") in (None, "delivery", "time")  # time: since the list
    assert "was withdrawn by its publisher; nothing is sent." in said["message"]


def test_two_processes_make_one_report(deployed: Deployed, tmp_path: Path) -> None:
    """Two programs with one folder, at once."""
    asked = deployed.asked(["pear"] * 10, folder=str(tmp_path / "clients"))
    both = [subprocess.Popen(["node", MANY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in "ab"]
    for one in both:
        assert one.stdin is not None
        one.stdin.write(asked)
        one.stdin.flush()
    said = [statuses(json.loads(one.communicate(timeout=60)[0])) for one in both]
    assert sum(one["refused"] for one in said) == 0
    assert len(deployed.released()) == 10


def node(code: str, folder: Path = CLIENT) -> str:
    """What a module prints, without an environment."""
    program = ["node", "--input-type=module", "-e", code]
    empty = {"PATH": os.environ["PATH"]}
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, env=empty, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_it_runs_on_node_alone() -> None:
    """No package, no environment; and without WebCrypto's curves it says so, as on a page that is not secure."""
    names = node("const m = await import('./src/index.js'); console.log(Object.keys(m).sort().join());")
    assert names == "BrowserStorage,Client,MemoryStorage,Refusal"
    insecure = """
        Object.defineProperty(globalThis, "crypto", { value: { getRandomValues() {} } });
        const { Client, MemoryStorage } = await import("./src/index.js");
        const settings = { service: "https://s.example", storage: new MemoryStorage(), fetch() { throw new Error(); } };
        const client = new Client({ ...settings, publishers: ["ed25519 " + "A".repeat(43)] });
        await client.report("fruit", 1).catch((error) => console.log(error.message));
    """
    assert node(insecure) == "The platform must offer Ed25519; update the browser, and serve the page over https."


def test_the_documented_program_runs(deployed: Deployed, tmp_path: Path) -> None:
    """The example for Node of docs/shuffler/javascript.md, with this service and publisher."""
    page = (ROOT / "docs" / "shuffler" / "javascript.md").read_text("utf-8")
    found = [block.code for block in blocks(page) if block.kind == "js"]
    code = next(one for one in found if "FileStorage" in one)
    code = code.replace("https://shuffler.example", deployed.address).replace("./clients/js", CLIENT.as_uri())
    code = re.sub(r'"ed25519 [^"]+"', json.dumps(deployed.publisher), code)
    assert "status: 'sent'" in node(code, tmp_path)
    assert "status: 'already sent'" in node(code, tmp_path)
    for one in found:  # the others are for browsers: they must at least parse
        subprocess.run(["node", "--input-type=module", "--check"], input=one, text=True, check=True, timeout=30)
