"""Reading how a function refuses what it was given."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import shuffledp as sdp


def refused(words: str, call: Callable[..., object], *args: object, **kwargs: object) -> None:
    """One sentence of moderate length, in which these words are."""
    with pytest.raises(sdp.ParameterError, match=words) as caught:
        call(*args, **kwargs)
    text = str(caught.value)
    assert text[-1] in ".?" and "\n" not in text and len(text) < 400, text
