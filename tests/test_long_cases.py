"""The list of long cases names tests that exist, by names that are the same everywhere."""

from __future__ import annotations

import re
from pathlib import Path

from house import long_cases

ROOT = Path(__file__).parent.parent


def test_every_listed_case_is_one_of_a_test() -> None:
    listed = long_cases.LIST.read_text(encoding="utf-8").splitlines()
    assert listed == sorted(set(listed)) and len(listed) > 100
    for case in listed:
        assert not long_cases.PATH.search(case), case
        file, _, rest = case.partition("::")
        name = rest.partition("[")[0].rpartition("::")[2]
        text = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"def {re.escape(name)}\(", text) or file.startswith("src/"), case
