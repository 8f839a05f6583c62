"""One bar: on a terminal only, late, and gone afterward whatever happens."""

from __future__ import annotations

import sys
import threading
import time

import pytest

from shuffledp._support import progress as module
from shuffledp._support.progress import each, progress

SHOWN_AGAIN = "\x1b[?25h"


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda self: True, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    for name in ("JPY_PARENT_PID", "PAGER"):
        monkeypatch.delenv(name, raising=False)


def test_nothing_without_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    with progress("work") as advance:
        advance(1, 2)
    assert list(each([1, 2], str)) == [1, 2] and capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("kernel", [{"JPY_PARENT_PID": "7"}, {"TERM": "xterm-color", "PAGER": "cat"}])
def test_a_notebook_keeps_no_redraws(
    kernel: dict[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cell with ! gives the command a pty, and keeps whatever is written there."""
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    for name, value in kernel.items():
        monkeypatch.setenv(name, value)
    with progress("work") as advance:
        advance(1, 2)
    assert capsys.readouterr() == ("", "")


def test_a_colored_pipe_is_no_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress("work") as advance:
        advance(1, 2)
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("terminal")
def test_short_work_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    before = threading.active_count()
    with progress("work") as advance:
        advance(1, 1)
    assert capsys.readouterr() == ("", "")
    deadline = time.monotonic() + 5.0
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= before, "the timer goes on"


@pytest.mark.usefixtures("terminal")
def test_long_work_is_shown_without_a_call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that cannot say how far it is still shows a sign of life."""
    monkeypatch.setattr(module, "PATIENCE", 0.01)
    said, deadline = "", time.monotonic() + 10.0
    with progress("waiting"):
        while "waiting" not in said and time.monotonic() < deadline:
            time.sleep(0.01)
            said += capsys.readouterr().err
    assert "waiting" in said


@pytest.mark.usefixtures("terminal")
def test_names_are_shown_and_are_not_markup(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    assert list(each(["[red]a"], str)) == ["[red]a"]
    out, err = capsys.readouterr()
    assert "[red]a" in err and "0/1" in err and out == ""


@pytest.mark.usefixtures("terminal")
def test_an_error_passes_and_the_bar_ends(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    with pytest.raises(ZeroDivisionError), progress("work"):
        _ = 1 / 0
    assert SHOWN_AGAIN in capsys.readouterr().err, "the cursor stays hidden"
