"""Running a command of the command line in a test, and reading how it refuses."""

from __future__ import annotations

from click.testing import CliRunner, Result

from shuffledp.cli import main


def run(*args: object, columns: int = 80) -> Result:
    """One command, on a terminal of this width."""
    return CliRunner().invoke(main, [str(arg) for arg in args], env={"COLUMNS": str(columns)})


def good(*args: object, columns: int = 80) -> str:
    """What a command prints that does what it is asked to."""
    result = run(*args, columns=columns)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def refused(result: Result, code: int = 2) -> str:
    """One sentence on stderr, nothing on stdout, no traceback."""
    assert result.exit_code == code, (result.exit_code, result.output, result.exception)
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.stdout == ""
    said = [line for line in result.stderr.splitlines() if line]
    assert len(said) == 1 and said[0][-1] in ".?" and "Traceback" not in result.stderr, result.stderr
    return said[0]
