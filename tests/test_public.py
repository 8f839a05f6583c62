"""What user scripts may rely on is written down, and the code agrees with it."""

from __future__ import annotations

import json

import pytest

from house import public

WRITTEN = json.loads(public.FILE.read_text("utf-8"))
FOUND = public.contract()


@pytest.mark.parametrize("part", sorted(WRITTEN))
def test_the_contract_is_what_is_written(part: str) -> None:
    """A difference is a change of the public contract: ``make tables`` writes it, and CHANGELOG.md says what to do."""
    found = json.loads(json.dumps(FOUND[part]))
    names = {name for name in {*found, *WRITTEN[part]} if not _same(found, WRITTEN[part], name)}
    assert not names, f"{part}: {sorted(names)} changed; run make tables and say so in CHANGELOG.md"


def _same(found: object, written: object, name: str) -> bool:
    if isinstance(found, dict) and isinstance(written, dict):
        return name in found and name in written and found[name] == written[name]
    return name in found and name in written  # type: ignore[operator]


def test_nothing_is_left_out() -> None:
    assert set(WRITTEN) == set(FOUND)
