"""Running a command of the command line in a test, and reading how it refuses."""

from __future__ import annotations

from click.testing import CliRunner, Result

from shuffledp.cli import main


def run(*args: str) -> Result:
    """One command."""
    return CliRunner().invoke(main, list(args))


def refused(result: Result, code: int = 2) -> str:
    """One sentence on stderr (after click's usage lines, if any), nothing on stdout, no traceback."""
    assert result.exit_code == code, (result.exit_code, result.output, result.exception)
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.stdout == ""
    said = [line for line in result.stderr.splitlines() if line and not line.startswith(("Usage:", "Try "))]
    assert len(said) == 1 and said[0][-1] in ".?" and "Traceback" not in result.stderr, result.stderr
    return said[0]
