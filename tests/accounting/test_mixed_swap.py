"""Classes of users by the swap bound: what whole laws gain over blankets, and when it applies."""

from __future__ import annotations

import pytest

import shuffledp as sdp
from shuffledp.accounting import mixed


def test_one_class_is_as_amplify_has_it() -> None:
    one = sdp.amplify_mixed([("grr:eps0=1,d=2", 4000), ("grr:eps0=1,d=2", 6000)], delta=1e-6)
    assert one.bound == "swap"
    assert one.epsilon == pytest.approx(sdp.amplify("grr:eps0=1,d=2", n=10**4, delta=1e-6).epsilon, rel=2e-3)


@pytest.mark.parametrize(
    ("family", "gain"), [("grr:eps0={},d=2", 0.86), ("unary:eps0={},d=6", 0.86), ("subset:eps0={},d=6,k=2", 0.96)]
)
def test_whole_laws_hide_better_than_blankets(family: str, gain: float, monkeypatch: pytest.MonkeyPatch) -> None:
    classes = [(family.format(eps0), 5000) for eps0 in (1, 2)]
    both = sdp.amplify_mixed(classes, delta=1e-6)
    monkeypatch.setattr(mixed, "swap_candidates", lambda *_: [])
    before = sdp.amplify_mixed(classes, delta=1e-6)
    assert (both.bound, before.bound) == ("swap", "blanket")
    for now, then in zip(both.classes, before.classes, strict=True):
        assert now.epsilon < gain * then.epsilon
    # at best every user has the smaller budget and hides as well
    assert both.classes[0].epsilon > sdp.amplify(classes[0][0], n=10**4, delta=1e-6).lower  # type: ignore[operator]


@pytest.mark.heavy
def test_missing_users_are_left_to_the_blanket() -> None:
    classes = [("grr:eps0=1,d=2", 500), ("grr:eps0=2,d=2", 500)]
    assert sdp.amplify_mixed(classes, delta=1e-6).bound == "swap"
    assert sdp.amplify_mixed(classes, delta=1e-6, dropouts=10).bound == "blanket"
