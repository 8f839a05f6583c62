"""The commands compare and bounds: tables in 80 columns, files, JSON, and one sentence for every bad input."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

import shuffledp as sdp
from reference.commands import good, refused, run
from shuffledp._support.delta_rules import delta_at
from shuffledp.bounds import BOUNDS

POINT = ["compare", "grr:eps0=2,d=16", "--n", "1e4", "--delta", "0.01/n"]
SWEEP = ["compare", "grr:d=16", "--n", "1e4", "--delta", "1e-6", "--sweep", "eps0=0.5:2:4"]


def test_the_table_fits_and_says_all() -> None:
    text = good(*POINT)
    assert max(map(len, text.splitlines())) <= 80
    c = sdp.compare("grr:eps0=2,d=16", n=10_000, delta=1e-6)
    places = [text.index(f" {row.bound} ") for row in c.rows]
    assert places == sorted(places), "the table is not in the order of eps"
    for row in c.rows:
        line = next(x for x in text.splitlines() if x.split()[:1] == [row.bound])
        assert row.shown in line.split() and row.kind in line
    assert "No analysis of this mechanism can claim less than" in text
    for name in c.absent:
        assert f"  {name}: " in text


def test_chosen_bounds() -> None:
    text = good(*POINT, "--bound", "blanket", "--bound", "clone")
    assert "blanket" in text and "clone" in text and "local" not in text


@pytest.mark.heavy
def test_json_is_what_the_api_says() -> None:
    assert json.loads(good(*POINT, "--json")) == sdp.compare("grr:eps0=2,d=16", n=10_000, delta=1e-6).to_dict()
    many = json.loads(good(*SWEEP, "--json"))
    assert many == sdp.sweep("grr:d=16", n=10_000, delta=1e-6, eps0=[0.5, 1.0, 1.5, 2.0]).to_dict()
    infinite = good("compare", "variation-ratio:inf,1,2", "--n", "2", "--delta", "1e-8", "--json")
    assert json.loads(infinite, parse_constant=pytest.fail)["rows"][-1]["epsilon"] == "inf"


def test_grids() -> None:
    data = json.loads(
        good("compare", "general:eps0=1", "--delta", "0.01/n", "--sweep", "n=1e3:1e7:9", "--bound", "general", "--json")
    )
    assert data["variable"] == "n" and data["rule"] == "0.01/n"
    assert data["values"] == [1000, 3162, 10_000, 31_623, 100_000, 316_228, 10**6, 3_162_278, 10**7]
    assert data["delta"] == [delta_at("0.01/n", n) for n in data["values"]]
    data = json.loads(good(*POINT[:-2], "--sweep", "delta=1e-6,0.01/n", "--bound", "local", "--json"))
    assert data["values"] == [1e-6, delta_at("0.01/n", 10_000)]
    base = ["compare", "general:eps0=1", "--bound", "general", "--json"]
    data = json.loads(good(*base, "--n", "1e4", "--sweep", "delta=1e-12:1e-4:9"))
    assert data["values"] == [float(f"1e-{k}") for k in range(12, 3, -1)]
    assert json.loads(good(*base, "--n", "9", "--sweep", "delta=0.1"))["values"] == [0.1]
    assert json.loads(good(*base, "--delta", "0.1", "--sweep", "n=10,1e2"))["values"] == [10, 100]
    assert json.loads(good(*base, "--delta", "0.1", "--sweep", "n=1:4:9"))["values"] == [1, 2, 3, 4], "each n once"


def test_sweep_tables() -> None:
    text = good(*SWEEP)
    assert max(map(len, text.splitlines())) <= 80
    assert "local/eps" in text and "Every bound at every value" in text and text.count("blanket") >= 4
    few = good(*SWEEP, "--bound", "blanket", "--bound", "clone")
    assert "Every bound" not in few and "clone" in few.splitlines()[2]


@pytest.mark.slow
def test_files(tmp_path: Path) -> None:
    paths = {kind: str(tmp_path / f"x.{kind}") for kind in ("csv", "html", "svg", "png", "pdf")}
    for base in (POINT, SWEEP):
        for kind, head in (("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
            result = run(*base, "--csv", paths["csv"], "--html", paths["html"], "--plot", paths[kind], "--json")
            assert result.exit_code == 0, result.output
            json.loads(result.stdout)
            assert Path(paths[kind]).read_bytes().startswith(head) and f"wrote {paths[kind]}" in result.stderr
        rows = list(csv.DictReader(Path(paths["csv"]).read_text().splitlines()))
        data = json.loads(result.stdout)
        if base is POINT:
            assert [row["bound"] for row in rows] == [row["bound"] for row in data["rows"]]
            assert [float(row["epsilon"]) for row in rows] == [row["epsilon"] for row in data["rows"]]
        else:
            assert [float(row["blanket"]) for row in rows] == data["bounds"]["blanket"]["epsilon"]
        assert "<table>" in Path(paths["html"]).read_text()
    assert len(list(tmp_path.iterdir())) == 5, "a temporary file was left behind"


@pytest.mark.slow_cases("0=2,d=16 --n 1e4 --delta*")
@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["compare", "grr:eps0=1,d=4", "--n", "10"], "needs --delta, or --sweep delta="),
        (["compare", "grr:eps0=1,d=4", "--delta", "0.1"], "needs --n, or --sweep n="),
        ([*POINT, "--sweep", "n=10:20:3"], "n is swept; leave out --n"),
        ([*POINT[:4], "--delta", "0.1", "--sweep", "delta=1e-5:1e-4:3"], "delta is swept; leave out --delta"),
        ([*POINT, "--sweep", "eps0=1:2:3"], "a spec without eps0"),
        ([*POINT, "--sweep", "d=1:2:3"], "a spec without d"),
        ([*POINT, "--sweep", "tol=1:2:3"], "sweep must be eps0=GRID"),
        ([*POINT, "--sweep", "q=1,2"], "q must be a parameter of grr (eps0, d), got no such name"),
        ([*SWEEP, "--sweep", "eps0=1,2"], "eps0 is swept; give it once."),
        ([*SWEEP[:1], "grr", *SWEEP[2:], "--sweep", "d=4,x"], "d must be a number, got 'x'"),
        ([*POINT, "--batched"], "--batched is for a sweep or several SPECs"),
        ([*SWEEP, "--style", "fancy"], "unknown style 'fancy'"),
        ([*POINT[:2], *POINT[1:]], "mechanisms must be different ones"),
        ([*POINT, "--sweep", "eps0"], "sweep must be eps0=GRID"),
        ([*POINT, "--sweep", ""], "sweep must be eps0=GRID"),
        ([*SWEEP[:-1], "eps0=1:2"], "START:STOP:COUNT"),
        ([*SWEEP[:-1], "eps0="], "eps0 must be a number"),
        ([*SWEEP[:-1], "eps0=1:2:0"], "the COUNT of eps0"),
        ([*SWEEP[:-1], "eps0=1:2:1e12"], "the COUNT of eps0"),
        ([*SWEEP[:-1], "eps0=1:2:20000"], "eps0 must hold 1 to 10,000 values"),
        ([*SWEEP[:-1], "eps0=1:inf:3"], "eps0 must"),
        ([*SWEEP[:-1], "eps0=-1:1:3"], "eps0 must"),
        (["compare", "general:eps0=1", "--delta", "0.1", "--sweep", "n=0:10:3"], "n must lie in"),
        (["compare", "general:eps0=1", "--delta", "0.1", "--sweep", "n=1:inf:3"], "n must lie in"),
        (["compare", "general:eps0=1", "--delta", "0.1", "--sweep", "n=1:1e30:3"], "n must be a whole number"),
        (["compare", "general:eps0=1", "--delta", "0.1", "--sweep", "n=10.5,20"], "n must be a whole number"),
        (["compare", "general:eps0=1", "--n", "9", "--sweep", "delta=0.1:1:3"], "delta must lie in"),
        (["compare", "general:eps0=1", "--n", "9", "--delta", "x"], "delta must be a number"),
        (["compare", "general:eps0=1", "--n", "9", "--delta", "0.01/m"], "delta must be a number in (0, 1) or a rule"),
        (["compare", "general:eps0=1", "--n", "9", "--delta", "90/n"], "delta must lie in"),
        (["compare", "general:eps0=1", "--n", "0", "--delta", "0.1"], "n must"),
        (["compare", "genral:eps0=1", "--n", "9", "--delta", "0.1"], "did you mean 'general'"),
        ([*POINT, "--bound", "blankt"], "did you mean 'blanket'"),
        ([*POINT, "--bound", ""], "unknown bound"),
        ([*POINT, "--bound", "auto"], "bound 'auto' is the best of the table, not a row of it; leave it out"),
        ([*POINT, "--tol", "2"], "tol must"),
        ([*POINT, "--plot", "x.jpg"], "plot must end in .pdf, .svg or .png"),
        ([*POINT, "--plot", "/no/such/folder/x.png"], "plot must be a file that can be written"),
        ([*POINT, "--csv", "/no/such/folder/x.csv"], "csv must be a file that can be written"),
        ([*POINT, "--html", ""], "html must be the path of a file"),
        (["compare"], "SPEC"),
    ],
    ids=lambda x: " ".join(x)[-60:] if isinstance(x, list) else "",
)
def test_bad_input_is_one_sentence(args: list[str], words: str) -> None:
    assert words in refused(run(*args))


def test_a_wrong_suffix_costs_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shuffledp.accounting.sweeping.sweep", lambda *a, **k: pytest.fail("computed before checking"))
    refused(run(*SWEEP, "--plot", "x.gif"))


def test_missing_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "pip install '.[plot]'" in refused(run(*POINT, "--plot", "x.pdf"))


@pytest.mark.parametrize("second", ["same.svg", "./same.svg", "link.svg"])
def test_one_file_for_two_outputs(second: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("link.svg").symlink_to("same.svg")
    monkeypatch.setattr(
        "shuffledp.accounting.comparison.compare", lambda *a, **k: pytest.fail("computed before checking")
    )
    for one, two in (("csv", "plot"), ("html", "csv"), ("plot", "html")):
        line = refused(run(*POINT, f"--{one}", "same.svg", f"--{two}", second))
        assert "must be different files" in line and f"--{one}" in line and f"--{two}" in line
    assert not Path("same.svg").exists()


@pytest.mark.parametrize("terms", [["--n", "10"], ["--sweep", "n=10,20"]])
def test_nothing_applies(terms: list[str], tmp_path: Path) -> None:
    """The reasons and no empty table; where there is nothing to draw, nothing is written."""
    base = ["compare", "general:eps0=1", "--delta", "0.1", *terms, "--bound", "blanket"]
    text = good(*base)
    assert "blanket: needs the whole law" in text and "\u2500" not in text and "best saves" not in text
    assert len(text.splitlines()) <= 5, text
    files = ["--csv", str(tmp_path / "a.csv"), "--html", str(tmp_path / "a.html"), "--plot", str(tmp_path / "a.svg")]
    assert "to draw, got none" in refused(run(*base, *files))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.heavy
def test_several_variables_and_mechanisms(tmp_path: Path) -> None:
    base = ["compare", "grr", "subset", "--n", "1e4", "--delta", "1e-6", "--sweep", "eps0=1,2", "--sweep", "d=4,64"]
    base += ["--bound", "auto", "--bound", "clone-closed"]
    files = {kind: str(tmp_path / f"grid.{kind}") for kind in ("csv", "svg")}
    data = json.loads(good(*base, "--json", "--csv", files["csv"], "--plot", files["svg"], "--style", "paper"))
    names = ["auto", "clone-closed"]
    study = sdp.sweep(["grr", "subset"], eps0=[1, 2], d=[4, 64], n=10_000, delta=1e-6, bounds=names)
    assert data == study.to_dict() and Path(files["csv"]).read_text() == study.to_csv()
    assert b"<text" not in Path(files["svg"]).read_bytes(), "in the style of papers letters are shapes"
    text = good(*base, "--plot", files["svg"])
    assert Path(files["svg"]).read_text().count(", auto</text>") == 4, "a curve for each mechanism and d"
    assert max(map(len, text.splitlines())) <= 80 and text.count("auto") == 8 + 1
    assert all(row.row is None or row.row.shown in text for row in study)
    long = good(
        "compare",
        "--batched",
        "grr:d=4",
        "--delta",
        "1e-6",
        "--sweep",
        "eps0=1:5:9",
        "--sweep",
        "n=10:1e5:9",
        "--bound",
        "clone-closed",
    )
    assert (
        "60 of 81 rows; all: --csv, --html or --json." in long and "rows have no answer; --csv and --json say" in long
    )


def test_bounds() -> None:
    text = good("bounds")
    assert max(map(len, text.splitlines())) <= 80
    flat = " ".join(text.split())
    for name, bound in BOUNDS.items():
        kind = bound.side if bound.sound else "not a bound"
        assert f"{name} ({kind}): {bound.title}" in flat
        assert f"needs {bound.needs}; range: {bound.validity}; {bound.citation}" in flat
    data = json.loads(good("bounds", "--json"))
    assert list(data) == list(BOUNDS) and data["variation-ratio-published"]["sound"] is False


def test_help_and_the_other_commands_are_still_there() -> None:
    text = good("--help")
    for command in ("amplify", "profile", "certify", "mechanisms", "compare", "bounds"):
        assert f"  {command} " in text
    assert "finite:matrix.csv" in good("compare", "--help") and "--sweep" in good("compare", "--help")


@pytest.mark.slow
def test_a_real_process(tmp_path: Path) -> None:
    out = tmp_path / "x.pdf"
    done = subprocess.run(
        [sys.executable, "-m", "shuffledp", *SWEEP, "--plot", str(out), "--json"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["variable"] == "eps0" and out.read_bytes().startswith(b"%PDF")
    assert done.stderr == f"wrote {out}\n", "progress is shown on a terminal only"
