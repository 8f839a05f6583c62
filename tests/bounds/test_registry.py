"""Names of bounds: one of its own for each, others that are understood, and what the listing says of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shuffledp as sdp
from reference.commands import run
from shuffledp.bounds import BOUNDS, names
from shuffledp.bounds.registry import ALIASES

ASKED = {"n": 1000, "delta": 1e-6}


def test_answers_and_proofs_carry_the_name_of_the_bound() -> None:
    found = sdp.amplify("grr:eps0=1,d=4", **ASKED, bound="stronger-clone", certify=True)
    same = sdp.amplify("grr:eps0=1,d=4", **ASKED, bound="general")
    assert found.bound == "general" and found.epsilon >= same.epsilon > found.epsilon * (1.0 - 1e-3)
    assert found.certificate is not None and found.certificate.bound == "general"
    shown = run("profile", "grr:eps0=1,d=4", "--n", "1000", "--bound", "stronger-clone", "--json")
    assert json.loads(shown.stdout)["bound"] == "general"


def test_tables_carry_the_name_of_the_bound() -> None:
    c = sdp.compare("grr:eps0=1,d=4", **ASKED, bounds=["stronger-clone", "general", "clone"])
    assert [row.bound for row in c.rows] == ["general", "clone"]
    assert c["stronger-clone"] == c["general"] and "stronger-clone" in c
    s = sdp.sweep("grr:d=4", eps0=[1.0, 2.0], **ASKED, bounds=["stronger-clone"])
    assert list(s.bounds) == ["general"]
    assert (s.epsilon("stronger-clone") == s.epsilon("general")).all()


def test_ledgers_carry_the_name_of_the_bound(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    sdp.Accountant().compose("grr:eps0=1,d=4", n=1000, bound="stronger-clone").save(path)
    assert '"general"' in path.read_text() and "stronger-clone" not in path.read_text()
    assert [entry.bound for entry in sdp.Accountant.load(path).entries] == ["general"]


def test_other_names_are_not_bounds_of_their_own() -> None:
    assert not set(ALIASES) & set(names()) and set(ALIASES.values()) <= set(BOUNDS)
    with pytest.raises(sdp.ShuffleDPError, match="which is taken"):
        sdp.register_bound(type(BOUNDS["clone"])(**{**vars(BOUNDS["clone"]), "name": "stronger-clone"}))


def test_what_holds_for_one_randomizer_says_so_and_names_the_erratum() -> None:
    """Feldman, McMillan and Talwar withdrew their proof for adaptive sequences; ours is for one randomizer."""
    for name in ("general", "swap-general"):
        assert BOUNDS[name].validity.startswith("one randomizer that everybody runs")
        assert BOUNDS[name].citation.startswith("docs/")
    assert "erratum (arXiv:2208.04591)" in BOUNDS["general"].citation
