"""All parties at once: clients in Node, Chromium and Python, a service that is killed, a key that is rotated.

What comes out is the answer within its intervals, and a statement that a third party verifies with one command.
"""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from reference.browser import launched
from reference.commands import run
from reference.deployed import Deployed
from reference.shuffling import until
from reference.site import Site, Tab
from shuffledp.shuffler import keys
from shuffledp.shuffler.oblivious_http import rotate
from shuffledp.shuffler.service import Service

pytestmark = pytest.mark.shuffler
LABELS = ["home", "search", "settings", "help"]
SHARES = np.array([0.4, 0.3, 0.2, 0.1])


def held(count: int) -> list[str]:
    """Values in these shares, in an order that has nothing to do with them."""
    values = [label for label, share in zip(LABELS, SHARES, strict=True) for _ in range(round(share * count))]
    return [values[7919 * i % count] for i in range(count)]


def sent_from_python(world: Deployed, values: Sequence[str]) -> int:
    """How many of these users' reports the shuffler has now; each user has a folder of its own."""

    def one(i: int) -> bool:
        folder = world.folder / "python" / str(i)
        client = sdp.Sender(folder, publishers=[world.publisher], service=world.address, timeout=10)
        try:
            return client.report(world.publication.name, values[i])
        except sdp.NotSentError:
            return False

    with ThreadPoolExecutor(8) as pool:
        return sum(pool.map(one, range(len(values))))


def killed_among(world: Deployed, reports: int) -> None:
    """Kill the service once this many clients in Python have drawn."""
    until(lambda: len([*world.folder.glob("python/*/*-*.json")]) >= reports, seconds=120)
    world.stop(signal.SIGKILL)


def sent_from_chromium(world: Deployed, values: Sequence[str]) -> list[Any]:
    site = Site()
    site.files["settings.json"] = {"service": world.address, "publishers": [world.publisher]} | {
        "name": world.publication.name
    }
    try:
        with launched() as browser:
            return [Tab(browser.new_context(), site).report(value) for value in values]
    finally:
        site.close()


def released(world: Deployed) -> Path:
    """The folder of the only period, once it is over."""
    world.stop()
    later = time.time() + world.publication.length + world.publication.grace + 1
    (folder,) = Service(world.home, clock=lambda: later).release_due()
    return folder


@pytest.mark.parametrize("times", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_from_clients_to_the_verified_statement(tmp_path: Path, times: int) -> None:
    node, python, chromium = 200 * times, 200 * times, 20 * times
    users = node + python + chromium
    query = sdp.queries.Histogram(column="page", labels=LABELS, mechanism="grr:eps0=3")
    plan = sdp.Plan(query=query, users=users, minimum_batch=users // 2, delta=1e-6, name="pages")
    memory = str(tmp_path / "node")
    with Deployed(tmp_path, plan) as world:
        keys.generate(tmp_path / "analyst", "signing")
        values = held(node)
        assert {one["status"] for one in world.reported(values[: node // 2], folder=memory)} == {"sent"}
        killer = threading.Thread(target=killed_among, args=(world, python // 4))
        killer.start()
        assert python // 8 < sent_from_python(world, held(python)) < python
        killer.join()
        rotate(world.home.ohttp)
        world.start()
        assert sent_from_python(world, held(python)) == python  # what was kept, or was sent already
        assert len(world.reported(values, folder=memory)) == node
        assert set(sent_from_chromium(world, held(chromium))) == {"sent"}
        folder = released(world)
    manifest = json.loads(json.loads((folder / "manifest.json").read_text())["payload"])
    assert (manifest["contributors"], manifest["messages"]) == (users, users)  # none lost, none twice

    publication, statement = str(world.home.plans_folder / "1.json"), str(tmp_path / "statement.json")
    parties = {"publication": publication, "keys": str(tmp_path / "analyst"), "statement": statement}
    parties |= {"shuffler": str(world.home.folder / "keys/signing.pub"), "colluding": "5%"}
    parties["publisher"] = str(tmp_path / "publisher/signing.pub")
    done = run("collect", str(folder), *(x for k, v in parties.items() for x in (f"--{k}", v)), "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    off = (np.array(found["value"][:4]) - SHARES) / np.array(found["stderr"][:4])
    assert np.all(np.abs(off) < 5), off  # beyond by chance in one run of a million
    assert found["users"] == users and not found["released"][0]["refused"]

    third = ["--shuffler", parties["shuffler"], "--analyst", str(tmp_path / "analyst/signing.pub")]
    verified = run("certify", "--verify", statement, *third)
    assert verified.exit_code == 0, verified.output
    assert "certified" in verified.stdout and f"For the {users:,} users" in verified.stdout
    claim = json.loads(run("certify", "--verify", statement, *third, "--json").stdout)["guarantee"]
    assert claim["n"] == users and claim["epsilon"] < plan.epsilon
