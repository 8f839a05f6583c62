"""Spec strings: names, positions, and one sentence for what is unknown, missing, repeated or no number."""

from __future__ import annotations

import pytest

import shuffledp as sdp
from shuffledp.mechanisms.registry import names, signatures


@pytest.mark.parametrize(
    ("spec", "made"),
    [
        ("general:eps0=1", sdp.General(eps0=1)),
        ("general:1", sdp.General(eps0=1)),
        (" general : eps0 = 1e0 ", sdp.General(eps0=1)),
        ("general:eps0=1,", sdp.General(eps0=1)),
        ("variation-ratio:p=3,beta=0.5,q=3", sdp.VariationRatio(p=3, beta=0.5, q=3)),
        ("variation-ratio:q=3,p=3,beta=0.5", sdp.VariationRatio(p=3, beta=0.5, q=3)),
        ("variation-ratio:3,0.5,3", sdp.VariationRatio(p=3, beta=0.5, q=3)),
        ("variation-ratio:p=3,0.5,3", sdp.VariationRatio(p=3, beta=0.5, q=3)),
        ("variation-ratio:3,0.5,q=3", sdp.VariationRatio(p=3, beta=0.5, q=3)),
        ("Variation_Ratio:3,0.5,3", sdp.VariationRatio(p=3, beta=0.5, q=3)),
        ("variation-ratio:inf,1,1_000", sdp.VariationRatio(p=float("inf"), beta=1, q=1000)),
    ],
)
def test_specs(spec: str, made: object) -> None:
    assert sdp.mechanism(spec) == made


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("genral:eps0=1", "did you mean 'general'"),
        ("variation:3,0.5,3", "did you mean 'variation-ratio'"),
        ("xyz", "lists all \\d+"),
        ("", "lists all \\d+"),
        (":", "lists all \\d+"),
        ("general", "needs eps0"),
        ("general:", "needs eps0"),
        ("variation-ratio:p=3,q=3", "needs beta"),
        ("general:eps=1", "no parameter 'eps'"),
        ("general:eps0=1,eps0=2", "once"),
        ("general:1,eps0=2", "once"),
        ("general:1,2", "extra value '2'"),
        ("general:eps0=one", "eps0 must be a number, got 'one'"),
        ("general:eps0=", "eps0 must be a number"),
        ("general:eps0=nan", "eps0 must be a number, got NaN"),
        ("general:eps0=inf", "eps0 must lie in"),
        ("general:eps0=-1", "eps0 must lie in"),
        ("general:eps0==1", "eps0 must be a number"),
        ("finite", "file"),
        ("finite:", "file"),
        ("finite:/no/such/file.csv", "No such file"),
    ],
)
def test_bad_specs_are_one_sentence(spec: str, words: str) -> None:
    with pytest.raises(sdp.ParameterError, match=words) as caught:
        sdp.mechanism(spec)
    text = str(caught.value)
    assert text[-1] in ".?" and "\n" not in text and "Traceback" not in text


@pytest.mark.parametrize("spec", ["variation-ratio:q=3,3,0.5", "variation-ratio:3,q=3,0.5"])
def test_a_value_out_of_its_place_is_not_called_extra(spec: str) -> None:
    """Three values for three parameters: the sentence must speak of their places, not of one too many."""
    with pytest.raises(sdp.ParameterError) as caught:
        sdp.mechanism(spec)
    assert "extra" not in str(caught.value)


@pytest.mark.parametrize("spec", [None, 3, ["general:1"], b"general:1"])
def test_a_spec_is_text(spec: object) -> None:
    with pytest.raises(sdp.ParameterError, match="spec must be a string"):
        sdp.mechanism(spec)  # type: ignore[arg-type]


def test_every_name_has_a_signature() -> None:
    table = dict(signatures())
    assert sorted(table) == names()
    assert table["general"] == "eps0" and table["variation-ratio"] == "p,beta,q" and table["finite"] == "file"
