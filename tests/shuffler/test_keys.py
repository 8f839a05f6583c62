"""GatewayKeys for Oblivious HTTP: four states, an overlap, one file that is replaced in one step."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from shuffledp.errors import ParameterError
from shuffledp.shuffler import oblivious_http
from shuffledp.shuffler.oblivious_http import GatewayKeys, rotate


def states(keys: GatewayKeys) -> dict[int, str]:
    return {key.number: key.state for key in keys.keys}


def sealed_to(keys: GatewayKeys) -> bytes:
    return oblivious_http.encapsulate(oblivious_http.decode_configs(keys.handed_out)[0], b"hello")[0]


def test_a_key_is_served_through_one_rotation_after_it_was_handed_out(tmp_path: Path) -> None:
    path = tmp_path / "ohttp.json"
    keys = GatewayKeys.fresh()
    keys.save(path)
    assert os.stat(path).st_mode & 0o777 == 0o600
    old = sealed_to(keys)
    private = keys.keys[0].private
    for number in range(2):
        keys = rotate(path)
        assert os.stat(path).st_mode & 0o777 == 0o600
        assert GatewayKeys.load(path) == keys
        if number == 0:
            assert states(keys) == {1: "retired", 2: "active", 3: "pending"}
            assert oblivious_http.decapsulate(old, keys.opening)[1] == b"hello"
            assert oblivious_http.decode_configs(keys.handed_out)[0].id == 2
    assert states(keys) == {1: "erased", 2: "retired", 3: "active", 4: "pending"}
    with pytest.raises(oblivious_http.UnknownKeyError, match="fetch /ohttp-keys again"):
        oblivious_http.decapsulate(old, keys.opening)
    for form in (private, json.dumps(keys.keys[0].private.hex()).encode()):
        assert form not in path.read_bytes() or form == b'""'
    import base64

    assert base64.urlsafe_b64encode(private)[:20] not in path.read_bytes()


def test_all_front_ends_know_a_key_before_it_is_handed_out() -> None:
    before = GatewayKeys.fresh()
    after = before.rotated()
    assert oblivious_http.decapsulate(sealed_to(after), before.opening)[1] == b"hello"


def test_numbers_never_come_again_and_ids_are_one_byte() -> None:
    keys = GatewayKeys.fresh()
    for _ in range(600):
        keys = keys.rotated()
    assert max(states(keys)) == 602 and len(keys.keys) == 19 and len(keys.accepted) == 3
    assert oblivious_http.decapsulate(sealed_to(keys), keys.opening)[0] == 601 % 256


def test_two_who_rotate_at_once_rotate_twice(tmp_path: Path) -> None:
    path = tmp_path / "ohttp.json"
    GatewayKeys.fresh().save(path)
    threads = [threading.Thread(target=rotate, args=(path,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(states(GatewayKeys.load(path))) == 10


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        "[]",
        '{"ohttp": 3}',
        '{"ohttp": []}',
        '{"ohttp": [{"number": 1, "state": "active"}]}',
        '{"ohttp": [{}]}',
    ],
)
def test_a_damaged_file_is_refused_in_one_sentence(tmp_path: Path, content: str) -> None:
    path = tmp_path / "ohttp.json"
    path.write_text(content)
    with pytest.raises(ParameterError, match="the file of keys must"):
        GatewayKeys.load(path)
    with pytest.raises(ParameterError, match="keygen wrote"):
        GatewayKeys.load(tmp_path / "missing")
