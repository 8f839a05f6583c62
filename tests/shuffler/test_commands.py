"""The commands: from keys and a plan to a batch, and what is said when something is wrong."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import shuffledp as sdp
from shuffledp.cli import main
from shuffledp.shuffler import keys, sealing, signed
from shuffledp.shuffler.folder import ShufflerFolder
from shuffledp.shuffler.publication import Publication
from shuffledp.shuffler.store import ReceivedReports

pytestmark = pytest.mark.shuffler


def run(*words: object) -> Result:
    return CliRunner().invoke(main, ["shuffler", *map(str, words)])


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    fruit = sdp.queries.Histogram(column="fruit", labels=["apple", "pear"], mechanism="grr:eps0=2")
    path = tmp_path / "plan.json"
    sdp.Plan(query=fruit, users=100, delta=1e-6, name="fruit").save(path)
    return path


def test_from_keys_to_a_batch(plan: Path, tmp_path: Path) -> None:
    analyst, folder, published = tmp_path / "analyst", tmp_path / "shuffler", tmp_path / "fruit.json"
    assert run("keygen", "--analyst", analyst).exit_code == 0
    before = (analyst / "signing.key").read_bytes()
    assert run("keygen", "--analyst", analyst).exit_code == 0
    assert (analyst / "signing.key").read_bytes() == before
    assert run("keygen", folder).exit_code == 0
    made = run(
        *("publish", plan, "--keys", analyst, "-o", published, "--length", "1h", "--grace", "0s"),
        *("--starts", int(time.time()) - 4000, "--lasts", "1d", "--serial", 3),
    )
    assert made.exit_code == 0, made.output
    (folder / "publishers" / "a.pub").write_text((analyst / "signing.pub").read_text())
    (folder / "plans" / "fruit.json").write_text(published.read_text())
    home = ShufflerFolder(folder)
    publication = Publication.read(signed.read(published), keys.trusted(home.publishers))
    assert publication.window(0)[1] - publication.window(0)[0] == 3600 and publication.serial == 3
    size = publication.slots * publication.sealed_bytes
    store = home.open_store()
    store.add(
        [
            ReceivedReports(
                (bytes.fromhex(publication.digest), 0),
                [sealing.Report(os.urandom(16), os.urandom(size)) for _ in range(100)],
            )
        ],
        {},
    )
    store.shut()
    told = json.loads(run("status", folder, "--json").stdout)
    expected = {"period": 0, "state": "open", "contributors": 100, "refused": {}}
    assert told["periods"] == [{"publication": publication.digest, **expected}]
    assert f"digest: {publication.digest}" in made.stdout and publication.program_digest in made.stdout
    assert [key["state"] for key in told["keys"]] == ["active", "pending"] and told["problems"] == []
    released = json.loads(run("release", folder, "--json").stdout)["released"]
    assert [Path(path).name for path in released] == [f"{publication.digest}-0"]
    assert "nothing is due" in run("release", folder).stdout
    assert "released" in run("status", folder).stdout
    assert run("rotate", folder).stdout.splitlines() == ["key 1: retired", "key 2: active", "key 3: pending"]
    assert run("withdraw", published, "--keys", analyst, "-o", folder / "plans" / "w.json").exit_code == 0
    assert json.loads(run("status", folder, "--json").stdout)["plans"][0]["withdrawn"]
    (folder / "plans" / "bad.json").write_text("{}")
    assert "refused bad.json" in run("status", folder).stdout


def test_one_folder_does_not_hold_the_keys_of_both_roles(tmp_path: Path) -> None:
    for first, second in ((["--analyst"], []), ([], ["--analyst"])):
        folder = tmp_path / f"keys{len(first)}"
        assert run("keygen", folder, *first).exit_code == 0
        before = sorted(folder.rglob("*"))
        done = run("keygen", folder, *second)
        assert done.exit_code == 2 and "DIR must not hold keys of the other role" in done.stderr
        assert sorted(folder.rglob("*")) == before


def test_what_was_signed_or_is_secret_is_not_replaced(plan: Path, tmp_path: Path) -> None:
    analyst, published = tmp_path / "analyst", tmp_path / "fruit.json"
    run("keygen", "--analyst", analyst)
    assert run("publish", plan, "--keys", analyst, "-o", published).exit_code == 0
    for taken in (plan, published, analyst / "signing.key", analyst):
        before = taken.read_bytes() if taken.is_file() else b""
        for words in (["publish", plan], ["withdraw", published]):
            done = run(*words, "--keys", analyst, "-o", taken)
            assert done.exit_code == 2 and "out must be a new file" in done.stderr
            assert not before or taken.read_bytes() == before


def test_a_publication_that_has_expired_is_not_made(plan: Path, tmp_path: Path) -> None:
    run("keygen", "--analyst", tmp_path / "a")
    done = run("publish", plan, "--keys", tmp_path / "a", "-o", tmp_path / "x.json", "--starts", 10)
    assert done.exit_code == 2 and "--lasts must reach beyond now" in done.stderr and not (tmp_path / "x.json").exists()


def test_a_keygen_that_was_cut_short_is_finished(tmp_path: Path) -> None:
    folder = tmp_path / "shuffler"
    run("keygen", folder)
    for name in ("config.json", "keys/ohttp.json"):
        (folder / name).write_text("")
    assert run("keygen", folder).exit_code == 0
    assert run("status", folder).exit_code == 0
    assert os.stat(folder / "config.json").st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["status", "nowhere"], "DIR must be a shuffler's directory"),
        (["rotate", "nowhere"], "the file of keys must be one that keygen wrote"),
        (["serve", "nowhere", "--port", "0"], "the file of keys|DIR must be a shuffler's directory"),
    ],
)
def test_another_directory_is_refused_in_one_sentence(words: list[str], said: str, tmp_path: Path) -> None:
    import re

    words = [str(tmp_path / word) if word == "nowhere" else word for word in words]
    done = run(*words)
    assert done.exit_code == 2 and re.search(said, done.stderr) and "Traceback" not in done.output


def test_a_database_out_of_reach_is_named(tmp_path: Path) -> None:
    run("keygen", tmp_path / "s", "--store", f"postgresql://x@/x?host={tmp_path}")
    done = run("status", tmp_path / "s")
    assert done.exit_code == 2 and "must be in reach" in done.stderr and "check config.json" in done.stderr


def test_times_have_a_unit(plan: Path, tmp_path: Path) -> None:
    run("keygen", "--analyst", tmp_path / "a")
    for text in ("5", "x", "5y", "", "1.5h"):
        done = run("publish", plan, "--keys", tmp_path / "a", "-o", tmp_path / "x", "--length", text)
        assert done.exit_code == 2 and "--length must be a time such as 90s" in done.stderr
