"""Reproducing: parts are kept and taken again, the report stands alone, and bad input gets one sentence."""

from __future__ import annotations

import io
import json
import math
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

import shuffledp as sdp
from shuffledp.cli import main
from shuffledp.paper import parts, reproduce
from shuffledp.paper.plan import Unit, units
from shuffledp.paper.words import PARTS

FAST = ["figure4", "errata"]


def counted(log: list[str]) -> Any:
    def progress(missing: list[Unit]) -> Iterator[Unit]:
        for unit in missing:
            log.append(unit.name)
            yield unit

    return progress


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Everything, with three points per curve."""
    folder = tmp_path_factory.mktemp("paper")
    return folder, reproduce(folder, points=3)


@pytest.mark.slow
def test_everything_is_there(whole: tuple[Path, dict[str, Any]]) -> None:
    folder, found = whole
    assert set(found["results"]) == set(PARTS) and len(found["computed"]) == len(units()) and not found["reused"]
    assert len(found["claims"]) == 9
    for part in range(1, 6):
        for kind, start in (("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")):
            data = (folder / f"figure{part}.{kind}").read_bytes()
            assert data.startswith(start) and len(data) > 10_000
    assert not list(folder.rglob("*.part"))


@pytest.mark.slow
def test_results_json_is_what_was_returned(whole: tuple[Path, dict[str, Any]]) -> None:
    folder, found = whole
    stored = json.loads((folder / "results.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert stored == {key: found[key] for key in stored}
    panel = stored["results"]["figure1"]["figure1-n10000-d16"]
    assert panel["settings"]["delta"] == pytest.approx(1e-6) and len(panel["settings"]["x"]) == 3
    assert all(len(curve["epsilon"]) == 3 for curve in panel["data"].values())
    for claim in stored["claims"]:
        assert claim["verdict"] in ("holds", "partly", "does not hold") and claim["measured"] and claim["comment"]


@pytest.mark.slow
def test_verdicts(whole: tuple[Path, dict[str, Any]]) -> None:
    verdicts = {claim["place"]: claim["verdict"] for claim in whole[1]["claims"]}
    assert verdicts["Theorems 4.1, 4.7, 4.8"] == "does not hold"
    assert verdicts["Abstract; section 7.2; figures 3 and 4"] == "holds"
    assert verdicts["Section 7.2; figure 4"] == "does not hold"
    assert verdicts["Section 7.3; figure 5"] == "does not hold"
    assert verdicts["Abstract; section 7.4; table 5"] == "partly"


@pytest.mark.slow
def test_no_sound_curve_is_below_a_lower_bound(whole: tuple[Path, dict[str, Any]]) -> None:
    """Upper bounds are above both lower bounds at every point of every panel."""
    sound = {"blanket", "repaired", "stronger-clone", "clone", "specific", "specific-gamma", "generic", "efmrtt19"}
    sound |= {"analytic", "asymptotic", "rows", "basic", "claim"}
    compared = 0
    for part in ("figure1", "figure2", "figure3", "figure4", "figure5"):
        for panel in whole[1]["results"][part].values():
            for key in sound & set(panel["data"]):
                curves = (panel["data"][k]["epsilon"] for k in (key, "dataset", "two-counts"))
                for upper, *lower in zip(*curves, strict=True):
                    if upper is not None:
                        assert upper >= max(lower), (part, key)
                        compared += 1
    assert compared > 250


@pytest.mark.slow
def test_the_report_stands_alone(whole: tuple[Path, dict[str, Any]]) -> None:
    text = (whole[0] / "report.html").read_text(encoding="utf-8")
    page = ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>\n"))  # well-formed, so that nothing is left open
    ids = []
    for element in page.iter():
        assert element.tag.rpartition("}")[2] not in ("script", "link", "iframe", "object", "embed", "img")
        for name, value in element.attrib.items():
            local = name.rpartition("}")[2]
            assert local not in ("src", "srcset", "data", "poster"), (element.tag, name)
            assert local != "href" or value.startswith("#"), value
            assert "url(" not in value or "url(#" in value
            if local == "id":
                ids.append(value)
    assert len(ids) == len(set(ids)) > 100
    style = page.find(".//style")
    assert style is not None and style.text is not None and "url(" not in style.text and "@import" not in style.text
    assert len([e for e in page.iter() if e.tag.endswith("}svg")]) == 5
    for claim in whole[1]["claims"]:
        assert claim["verdict"] in text
    for word in ("5/128", "31/162", "0.50891"):
        assert word in text


@pytest.mark.slow
def test_every_part_can_be_taken_again(whole: tuple[Path, dict[str, Any]]) -> None:
    folder, found = whole
    for unit in units(points=3):
        assert parts.load(folder / "parts", unit) == found["results"][unit.part][unit.name]["data"]


@pytest.mark.slow
def test_a_second_run_computes_nothing(tmp_path: Path) -> None:
    first = reproduce(tmp_path, only=FAST, points=3)
    pictures = [(tmp_path / f"figure4.{kind}").read_bytes() for kind in ("pdf", "svg", "png")]
    log: list[str] = []
    again = reproduce(tmp_path, only=FAST, points=3, progress=counted(log))
    assert log == [] and again["computed"] == [] and again["reused"] == first["computed"]
    assert again["results"] == first["results"] and again["claims"] == first["claims"]
    assert pictures == [(tmp_path / f"figure4.{kind}").read_bytes() for kind in ("pdf", "svg", "png")]


@pytest.mark.slow
def test_an_interrupted_run_goes_on(tmp_path: Path) -> None:
    def stop_after_one(missing: list[Unit]) -> Iterator[Unit]:
        yield missing[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce(tmp_path, only=FAST, points=3, progress=stop_after_one)
    kept = tmp_path / "parts" / "figure4-ratio16-delta6.json"
    before = kept.stat().st_mtime_ns, kept.read_bytes()
    assert not (tmp_path / "results.json").exists()
    log: list[str] = []
    found = reproduce(tmp_path, only=FAST, points=3, progress=counted(log))
    assert log == found["computed"] == ["figure4-ratio128-delta9", "errata"]
    assert found["reused"] == ["figure4-ratio16-delta6"]
    assert (kept.stat().st_mtime_ns, kept.read_bytes()) == before


@pytest.mark.heavy
@pytest.mark.slow_cases("cut", "empty", "list", "settings", "version")
@pytest.mark.parametrize("damage", ["cut", "edited", "version", "settings", "list", "empty"])
def test_damaged_and_foreign_parts_are_computed_again(tmp_path: Path, damage: str) -> None:
    clean = reproduce(tmp_path, only=["errata"])
    path = tmp_path / "parts" / "errata.json"
    text = path.read_text(encoding="utf-8")
    stored = json.loads(text)
    if damage == "cut":
        text = text[: len(text) // 2]
    elif damage == "edited":
        text = text.replace("5/128", "3/128")
    elif damage == "version":
        text = json.dumps({**stored, "key": {**stored["key"], "version": "0.0.1"}})
    elif damage == "settings":
        text = json.dumps({**stored, "key": {**stored["key"], "settings": {"points": 7}}})
    else:
        text = "[]" if damage == "list" else ""
    path.write_text(text, encoding="utf-8")
    found = reproduce(tmp_path, only=["errata"])
    assert found["computed"] == ["errata"] and found["results"] == clean["results"]
    assert reproduce(tmp_path, only=["errata"])["reused"] == ["errata"]


def test_other_points_are_other_settings(tmp_path: Path) -> None:
    one, two = (units(("figure4",), points=points)[0] for points in (2, 3))
    parts.store(tmp_path, one, {"x": 1})
    assert parts.load(tmp_path, one) == {"x": 1} and parts.load(tmp_path, two) is None


def test_nan_is_never_stored(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        parts.store(tmp_path, units(("errata",))[0], {"x": math.nan})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.heavy
def test_claims_need_their_parts(tmp_path: Path) -> None:
    found = reproduce(tmp_path, only=["errata"])
    assert [claim["place"] for claim in found["claims"]] == ["Theorems 4.1, 4.7, 4.8"]
    assert {Path(f).name for f in found["files"]} == {"results.json", "report.html"}


@pytest.mark.slow
def test_a_part_does_not_replace_the_whole(tmp_path: Path) -> None:
    """only names what to compute; results.json and the report cover all that the directory holds."""
    first = reproduce(tmp_path, only=["figure4"], points=3)
    found = reproduce(tmp_path, only=["errata"], points=3)
    assert found["computed"] == ["errata"] and found["reused"] == first["computed"]
    assert set(found["results"]) == {"figure4", "errata"}
    assert found["results"]["figure4"] == first["results"]["figure4"]
    assert {claim["place"] for claim in found["claims"]} == {"Theorems 4.1, 4.7, 4.8", "Section 7.2; figure 4"}
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Figure 4: Balls into bins" in text and "5/128" in text
    assert set(json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["results"]) == {"figure4", "errata"}


@pytest.mark.heavy
@pytest.mark.slow_cases("half")
@pytest.mark.parametrize("spoil", ["half", "points"])
def test_only_whole_parts_of_the_same_settings_are_taken(tmp_path: Path, spoil: str) -> None:
    reproduce(tmp_path, only=["figure4"], points=3)
    if spoil == "half":
        (tmp_path / "parts" / "figure4-ratio16-delta6.json").unlink()
    found = reproduce(tmp_path, only=["errata"], points=3 if spoil == "half" else 2)
    assert set(found["results"]) == {"errata"} and found["computed"] == ["errata"] and found["reused"] == []


@pytest.mark.slow
def test_the_report_says_no_more_than_was_done(whole: tuple[Path, dict[str, Any]]) -> None:
    """A part may come from an earlier run."""
    text = (whole[0] / "report.html").read_text(encoding="utf-8")
    assert "enumerated in this run" not in text and "enumerated case by case" in text
    claim = next(c for c in whole[1]["claims"] if "7.1" in c["place"])
    assert "25 % or more counts as about 30 %" in claim["comment"]


# -- the command ----------------------------------------------------------------------------------------------


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["reproduce", *args])


def said(result: Result, code: int = 2) -> str:
    assert result.exit_code == code, (result.output, result.exception)
    lines = [line for line in result.stderr.splitlines() if line]
    assert result.stdout == "" and len(lines) == 1 and "Traceback" not in result.stderr, result.output
    return lines[0]


@pytest.mark.heavy
def test_command(tmp_path: Path) -> None:
    result = run("--only", "errata", "--out", str(tmp_path / "new" / "place"))
    assert result.exit_code == 0 and result.stderr == "", result.output
    assert "does not hold" in result.stdout and "Parts computed: 1; taken from an earlier run: 0." in result.stdout
    assert (tmp_path / "new" / "place" / "report.html").is_file()


@pytest.mark.heavy
def test_command_json(tmp_path: Path) -> None:
    result = run("--only", "errata", "--out", str(tmp_path), "--json")
    data = json.loads(result.stdout)
    assert data["computed"] == ["errata"] and data["claims"][0]["verdict"] == "does not hold"
    assert [Path(f).name for f in data["files"]] == ["results.json", "report.html"]


def test_unknown_part(tmp_path: Path) -> None:
    line = said(run("--only", "figur1", "--out", str(tmp_path)))
    assert line == "shuffledp: unknown part 'figur1'; did you mean 'figure1'?"
    assert list(tmp_path.iterdir()) == []


def test_out_is_a_file(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("x", encoding="utf-8")
    assert "out must be a directory that can be written" in said(run("--only", "errata", "--out", str(place)))


@pytest.mark.parametrize("out", ["", None, 3])
def test_out_is_no_path(out: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(sdp.ParameterError, match=r"^out must be the path of a directory, got [^\n]*\.$"):
        reproduce(out, only=["errata"])
    if out == "":
        assert "out must be the path of a directory, got ''" in said(run("--only", "errata", "--out", out))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["parts/errata.json", "report.html", "results.json", "figure4.svg"])
def test_a_directory_in_the_way(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told before the work, and told of the directory that the user named."""
    monkeypatch.setattr(Unit, "run", lambda unit: pytest.fail("computed before checking"))
    (tmp_path / name).mkdir(parents=True)
    line = said(run("--only", "errata", "--only", "figure4", "--out", str(tmp_path)))
    assert f"out must be a directory where {name} can be a file, got {str(tmp_path)!r}" in line


@pytest.mark.heavy
def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    line = said(run("--only", "figure4", "--out", str(tmp_path)))
    assert "pip install '.[plot]'" in line and list(tmp_path.iterdir()) == []
    assert run("--only", "errata", "--out", str(tmp_path)).exit_code == 0  # needs no figure


def test_interrupted_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("shuffledp.paper.reproduce", stop)
    assert (
        said(run("--out", str(tmp_path)), 130) == "shuffledp: stopped; the same command goes on with what is missing."
    )


@pytest.mark.parametrize(("option", "value"), [("points", 1), ("points", 2.5), ("only", ["figure9"]), ("only", [3])])
def test_bad_parameters(tmp_path: Path, option: str, value: object) -> None:
    options: dict[str, Any] = {option: value}
    with pytest.raises(sdp.ParameterError, match=option if option == "points" else "part"):
        reproduce(tmp_path, **options)


def test_units_are_distinct() -> None:
    names = [unit.name for unit in units()]
    assert len(names) == len(set(names)) == 19
    assert {unit.part for unit in units()} == set(PARTS)


def test_progress_is_shown_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    from shuffledp._support import progress
    from shuffledp.cli import reproduce as command

    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    work: Iterable[Unit] = units(("errata",))
    for terminal, words in (("", ""), ("1", "errata")):
        monkeypatch.setenv("FORCE_COLOR", terminal)  # rich then takes stderr for a terminal
        monkeypatch.setattr(progress, "on_terminal", lambda terminal=terminal: bool(terminal))
        monkeypatch.setattr("sys.stderr", said := io.StringIO())
        assert list(command._one_by_one(list(work))) == list(work)
        assert words in said.getvalue() and bool(said.getvalue()) == bool(words)
