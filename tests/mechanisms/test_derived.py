"""Derived values are computed once, and nothing else about a mechanism changes by it."""

import copy
import pickle
from dataclasses import dataclass, replace

import pytest

import shuffledp as sdp

SPECS = ["grr:eps0=1,d=4", "subset:eps0=1,d=9", "wheel:eps0=1,d=9,s=2", "gaussian:sigma=1", "joint:<grr:1,2; grr:2,3>"]


@dataclass(frozen=True, kw_only=True)
class Counted(sdp.GRR):
    calls = 0

    @property
    def keep(self) -> float:
        type(self).calls += 1
        return super().keep / 2.0

    @property
    def twice(self) -> float:
        return 2.0 * super().keep


def test_a_property_is_computed_once_per_object() -> None:
    one, two = Counted(eps0=1.0, d=4), Counted(eps0=2.0, d=4)
    assert [one.keep, one.keep, one.keep] == [sdp.GRR(eps0=1.0, d=4).keep / 2.0] * 3
    assert two.keep > one.keep
    assert Counted.calls == 2


def test_super_gives_the_value_of_the_class_below() -> None:
    m = Counted(eps0=1.0, d=4)
    assert m.twice == 4.0 * m.keep  # asked before the value was kept
    assert Counted(eps0=1.0, d=4).keep * 4.0 == m.twice
    fresh = Counted(eps0=1.0, d=4)
    assert fresh.keep * 4.0 == fresh.twice  # and after


@pytest.mark.parametrize("spec", SPECS)
def test_what_was_derived_is_no_part_of_the_mechanism(spec: str) -> None:
    used, fresh = sdp.mechanism(spec), sdp.mechanism(spec)
    assert used.law.blanket() is used.law.blanket()
    assert used.codec == used.codec  # type: ignore[attr-defined]
    assert (used, hash(used), repr(used)) == (fresh, hash(fresh), repr(fresh))
    assert pickle.dumps(used) == pickle.dumps(sdp.mechanism(spec))
    for again in (pickle.loads(pickle.dumps(used)), copy.deepcopy(used), copy.copy(used)):
        assert (again, again.spec, again.codec) == (used, used.spec, used.codec)  # type: ignore[attr-defined]


def test_replaced_parameters_are_seen() -> None:
    m = sdp.GRR(eps0=1.0, d=4)
    assert (m.keep, m.spec) == (m.keep, "grr:eps0=1,d=4")
    other = replace(m, d=8)
    assert other.keep == sdp.GRR(eps0=1.0, d=8).keep < m.keep
    assert other.spec == "grr:eps0=1,d=8"


def test_a_kept_value_cannot_be_overwritten() -> None:
    m = sdp.GRR(eps0=1.0, d=4)
    with pytest.raises(AttributeError):
        m.keep = 0.5  # type: ignore[misc]
