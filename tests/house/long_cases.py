"""Which cases make test leaves to make test-all: those that took long when every test was last timed.

    mkdir times
    CPU_TIMES=times python -m pytest -n 2 -m "not spark and not web"
    PYTHONPATH=tests python -m house.long_cases times

rewrites tests/long_cases.txt; cases that were not timed stay where they are.  A test with several cases loses those
above ``LONG`` CPU seconds, a test of its own is left out above ``ALONE``.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

LONG, ALONE = 0.25, 1.5
#: An absolute path in the name of a case.
PATH = re.compile(r"[\[:,]/")
LIST = Path(__file__).parent.parent / "long_cases.txt"


def long_cases(times: dict[str, float]) -> list[str]:
    """Of each test the long cases, but never all of them unless the shortest is too long for a test of its own.

    >>> long_cases({"a[1]": 0.1, "a[2]": 1.5, "b[1]": 1.5, "b[2]": 1.6, "c": 1.4, "d": 4.0})
    ['a[2]', 'b[2]', 'd']
    """
    tests = defaultdict(list)
    for case, seconds in times.items():
        tests[case.partition("[")[0]].append((seconds, case))
    found = []
    for cases in tests.values():
        first, *others = sorted(cases)
        found += [case for seconds, case in [first] if seconds > ALONE]
        found += [case for seconds, case in others if seconds > LONG]
    return sorted(found)


def main(folder: str) -> None:
    """Read the times, write the list."""
    times = {}
    for path in Path(folder).glob("*.txt"):
        for line in path.read_text(encoding="utf-8").splitlines():
            seconds, _, case = line.partition(" ")
            if not PATH.search(case):  # such a case has another name in every folder
                times[case] = float(seconds)
    kept = set(LIST.read_text(encoding="utf-8").splitlines()) - times.keys()
    LIST.write_text("".join(f"{case}\n" for case in sorted(kept | set(long_cases(times)))), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
