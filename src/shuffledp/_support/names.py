"""What a mechanism may be called: short names of the literature, other spellings, and words for what it is for.

This module holds words only, so that the package can use them without loading anything else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from .spelling import american, nearest

#: Other names of the same mechanism -> the word of its spec.
ALIASES = {
    "krr": "grr",
    "oue": "optimized-unary",
    "sue": "unary",
    "rappor": "unary",
    "olh": "local-hash",
    "hr": "hadamard",
    "ss": "subset",
    "pm": "piecewise",
    "hm": "hybrid",
}


class Purpose(NamedTuple):
    """What some mechanisms are for, and the words under which they are looked for."""

    what: str
    mechanisms: tuple[str, ...]
    words: str


#: Words that name no mechanism here, by what they mean (purpose: mechanisms: words); the tests compare every purpose
#: with the mechanisms.
_TABLE = """
noise on a number: laplace gaussian metric-laplace: normal noise additive geometric discrete-laplace staircase
  number numeric
the mean of a number: window binomial laplace levels piecewise hybrid: mean average square-wave sw stochastic-rounding
  quantization
the mean of a number from several messages a user: poisson-sum: unary-sum real-sum summation
one bit of a number or vector: harmony duchi: 1bit 1-bit-mean microsoft rounding
vectors: privunit window-vector duchi harmony: vector l2 unit-vector sphere gradient embedding linf cube
a yes/no question: randomized-response: rr warner coin binary bit boolean bernoulli yes-no
one of d options: grr subset hadamard local-hash: direct-encoding de k-ary frequency frequency-oracle histogram
  categorical category local-histogram
one bit for each option: unary optimized-unary: unary-encoding ue one-hot bit-vector bloom-filter basic-rappor
  histogram-encoding
short reports of many options: local-hash hadamard: count-mean-sketch cms hcms apple sketch count-sketch count-min
  hash hashing blh binary-local-hash lh rahd
sets of items: privset wheel sampling-rappor: set sets itemset itemsets set-valued basket padding-and-sampling
  ldpminer multi-set
keys with values: pckv-grr: key-value kv pckv privkv pckv-ue
ranges over a tree: hierarchical-grr: hierarchy hierarchical tree range ranges hh cdf quantile
one of several queries, drawn at random: parallel: subsampling sampling queries several-queries mixture
strings that nobody can list: prefix-hash: heavy-hitters strings words urls prefix prefixes trie
answers to several questions in one report: joint: tuple tuples together multivariate cross-table record
places on a map: planar-laplace planar-cells: planar geo geo-indistinguishability location place gps map
privacy that depends on a distance: metric-general metric-laplace planar-laplace planar-cells exponential-metric:
  metric d-privacy dx-privacy distance
points with distances: exponential-metric: exponential em softmax permute-and-flip
a histogram from several messages a user: pure-dump mix-dump balls-into-bins cheu-zhilyaev poisson-histogram:
  shuffle-dp-histogram shuffled-histogram multi-message dump dummy dummies balls bins fake-users cobalt
noise that the shuffler adds: augmented: augmented-shuffle shuffler-noise sbin sageo s1geo local-noise-free lnf
a sum of bits from several messages a user: balcer-cheu balcer-coin: sum binary-sum count bits
a matrix of your own: finite: matrix custom table channel csv npy
a randomizer of which only eps0 is known: general: ldp any-ldp eps0 black-box
"""
PURPOSES = tuple(
    Purpose(what, tuple(mechanisms.split()), words.strip())
    for what, mechanisms, words in (row.split(":") for row in _TABLE.replace("\n  ", " ").strip().split("\n"))
)
#: A word without hyphens -> its purpose.
_MEANINGS = {word.replace("-", ""): purpose for purpose in PURPOSES for word in purpose.words.split()}


@lru_cache(maxsize=4096)
def plain(name: str) -> str:
    """Small letters and digits alone: Local_Hash, local hash, LocalHash and local-hash are one name.

    So are the British and the American spelling of one.

    Examples
    --------
    >>> plain("Local_Hash"), plain("kRR"), plain("optimised-unary")
    ('localhash', 'krr', 'optimizedunary')
    """
    return american("".join(c for c in name.lower() if c.isalnum()))


def resolve(name: str, known: Iterable[str]) -> str | None:
    """The one of the known names that is meant, by another case, other hyphens or an alias; else None.

    Examples
    --------
    >>> resolve("OUE", ["grr", "optimized-unary"]), resolve("Grr", ["grr"]), resolve("gr", ["grr"])
    ('optimized-unary', 'grr', None)
    """
    by_word = {plain(word): word for word in known}
    found = plain(name)
    return by_word.get(found) or by_word.get(_ALIASES.get(found, ""))


_ALIASES = {plain(alias): plain(word) for alias, word in ALIASES.items()}


def near(name: str, known: Iterable[str]) -> str | None:
    """The known name that is spelled most like this one, aliases included; None if none is."""
    by_word = {plain(word): word for word in known}
    spelled = nearest(plain(name), [*by_word, *_ALIASES], cutoff=0.6)
    return by_word.get(_ALIASES.get(spelled, spelled)) if spelled else None


def meant(name: str) -> Purpose | None:
    """What a word is for, if it says so; of several words the first that does.

    Examples
    --------
    >>> meant("Normal noise").mechanisms, meant("grr")
    (('laplace', 'gaussian', 'metric-laplace'), None)
    """
    words = re.findall(r"[^\W_]+", name.lower())
    for word in (plain(name), *words):
        if word in _MEANINGS:
            return _MEANINGS[word]
    close = nearest(plain(name), _MEANINGS, cutoff=0.8)
    return _MEANINGS[close] if close and len(close) > 4 else None


def advice(name: str, known: Iterable[str]) -> str | None:
    """A question or a hint in place of an unknown name: by meaning, then by spelling; None where there is neither."""
    names = list(known)
    spelled, purpose = near(name, names), meant(name)
    if plain(name) not in _MEANINGS and spelled is not None:
        return f"did you mean {spelled!r}?"
    if purpose is None:
        return None
    listed = [repr(word) for word in purpose.mechanisms]
    several = f"{', '.join(listed[:-1])} or {listed[-1]}" if len(listed) > 1 else listed[0]
    return f"see {several} ({purpose.what})."
