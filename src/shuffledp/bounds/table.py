"""The bounds of the library: what each is, who proved it, where it holds, and the function behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..mechanisms.base import Mechanism
from ..numerics.family import Answer, Family
from ..numerics.pair import FloatArray
from . import blanket_tails, closed_forms, protocol_claims
from . import dominating_pairs as pairs
from .base import Bound, DeltaFormula, EpsilonFormula, Numerical

#: name | what it must know | what it is; then who proved it; then where it holds, unless that is everywhere.
#: Listings, comparisons and figures show the bounds in this order.
_WORDS = """
blanket | the whole law | exact privacy blanket, maximum over input pairs
    Balle, Bell, Gascon, Nissim, CRYPTO 2019, evaluated without tail bounds
swap | the whole law | swap bound, maximum over input pairs and over what the others hold
    docs/swap.md, Theorems 1 and 2
    mechanisms whose laws share a common part
binary | the whole law | every dataset of binary randomized response, under whatever name
    numerics/binary.py
    at most 10,000,000 users, of whom about 15,000 or fewer report a random bit
variation-ratio | (p, beta, q) | variation-ratio reduction, repaired
    Wang et al., PVLDB 2024, Theorem 4.7 with t = (p alpha, p alpha, s)/q
variation-ratio-published | (p, beta, q) | variation-ratio reduction as printed (not a bound)
    Wang et al., PVLDB 2024, Theorems 4.1, 4.7, 4.8
variation-ratio-lower | the whole law | lower bound by two counts
    Wang et al., PVLDB 2024, Theorem 5.1 with the six masses
constant-dataset-lower | the whole law | lower bound: the others all hold one value
    the exact divergence of a dataset, t = R(x*)
analytic | (p, beta, q) | closed form of the variation-ratio reduction, repaired
    Wang et al., PVLDB 2024, Theorem 4.2 with the supremum over likely clone counts
analytic-published | (p, beta, q) | closed form as in the proof of Theorem 4.2 (not a bound)
    Wang et al., PVLDB 2024, Theorem 4.2, F(Omega) of its appendix
    the printed condition on Omega and (p, beta, q) of Theorem 4.2
asymptotic | (p, beta, q) | asymptotic form, with a complete proof
    Wang et al., PVLDB 2024, Theorem 4.3 with v = 2/9 or 0
    r (n-1) >= 8 log(4/delta)
asymptotic-published | (p, beta, q) | asymptotic form as printed (proof incomplete)
    Wang et al., PVLDB 2024, Theorem 4.3
    r n >= 8 log(2/delta)
general | eps0 | stronger clone: uses eps0 only
    docs/proofs.md, corollary to the reduction theorem; Feldman, McMillan, Talwar, SODA 2023, whose proof has an \
erratum (arXiv:2208.04591)
    one randomizer that everybody runs, not adaptive within the round
swap-general | eps0 | swap bound: uses eps0 only
    docs/swap.md, Theorem 3
    one randomizer that everybody runs
clone | eps0 | clone, evaluated numerically
    Feldman, McMillan, Talwar, FOCS 2021
clone-closed | eps0 | clone, closed form
    Feldman, McMillan, Talwar, FOCS 2021, Theorem 3.1
    eps0 <= log(n/(16 log(2/delta)))
blanket-hoeffding | the whole law | privacy blanket by Hoeffding, with its exact range and second moment
    Balle, Bell, Gascon, Nissim, CRYPTO 2019, Hoeffding
    single-message mechanisms with at most 64 distinct input pairs whose blanket covers every output
blanket-bennett | the whole law | privacy blanket by Bennett, with its exact range and second moment
    Balle, Bell, Gascon, Nissim, CRYPTO 2019, Bennett
    single-message mechanisms with at most 64 distinct input pairs whose blanket covers every output
blanket-hoeffding-gamma | eps0 and gamma | privacy blanket by Hoeffding, with the mechanism's blanket mass
    Balle, Bell, Gascon, Nissim, CRYPTO 2019, Hoeffding
    single-message mechanisms with at most 64 distinct input pairs whose blanket covers every output
blanket-bennett-gamma | eps0 and gamma | privacy blanket by Bennett, with the mechanism's blanket mass
    Balle, Bell, Gascon, Nissim, CRYPTO 2019, Bennett
    single-message mechanisms with at most 64 distinct input pairs whose blanket covers every output
blanket-hoeffding-generic | eps0 | privacy blanket by Hoeffding, for any randomizer that all users run
    Balle, Bell, Gascon, Nissim, CRYPTO 2019, Hoeffding
    eps0 <= 300
blanket-bennett-generic | eps0 | privacy blanket by Bennett, for any randomizer that all users run
    Balle, Bell, Gascon, Nissim, CRYPTO 2019, Bennett
    eps0 <= 300
efmrtt19 | eps0 | amplification by shuffling, the first bound
    Erlingsson, Feldman, Mironov, Raghunathan, Talwar, Thakurta, SODA 2019
    n >= 1000 and delta < 0.01 where eps0 < 1/2
cheu-zhilyaev | cheu-zhilyaev | the authors' claim for their protocol
    Cheu, Zhilyaev, IEEE S&P 2022, Claim 3.2
    cheu-zhilyaev with f(1-f) m > (33/5) log(4/delta), m blanket rows
balls-formula | balls-into-bins | the authors' formula for their protocol
    Luo, Wang, Yi, CCS 2022
    balls-into-bins with eps <= 3
balls-search | balls-into-bins | the authors' numerical search, with the joint law of the two counts
    Luo, Wang, Yi, CCS 2022, released code
    balls-into-bins with at least one blanket message that is sent for certain
local | eps0 | the local guarantee, no shuffling
    definition
"""

#: Families of shuffled pairs, evaluated numerically.
_PAIRS: dict[str, Callable[[Mechanism], Family]] = {
    "blanket": lambda m: m.law.blanket(),
    "swap": lambda m: m.law.swap(),
    "binary": lambda m: m.law.binary(),
    "variation-ratio": pairs.variation_ratio,
    "variation-ratio-published": pairs.published,
    "variation-ratio-lower": lambda m: m.law.two_counts(),
    "constant-dataset-lower": lambda m: m.law.constant_datasets(),
    "general": pairs.stronger_clone,
    "swap-general": pairs.swap_general,
    "clone": pairs.clone,
}
#: Closed forms eps(n, delta).
_FORMULAS = {
    "analytic": closed_forms.analytic,
    "analytic-published": closed_forms.analytic_published,
    "asymptotic": closed_forms.asymptotic,
    "asymptotic-published": closed_forms.asymptotic_published,
    "clone-closed": closed_forms.clone_closed,
    "efmrtt19": closed_forms.efmrtt19,
    "cheu-zhilyaev": protocol_claims.cheu_zhilyaev,
    "balls-formula": protocol_claims.balls_formula,
}
#: Closed forms delta(eps).
_CURVES = {
    "blanket-hoeffding": blanket_tails.hoeffding(blanket_tails.exactly),
    "blanket-bennett": blanket_tails.bennett(blanket_tails.exactly),
    "blanket-hoeffding-gamma": blanket_tails.hoeffding(blanket_tails.by_mass),
    "blanket-bennett-gamma": blanket_tails.bennett(blanket_tails.by_mass),
    "blanket-hoeffding-generic": blanket_tails.hoeffding(blanket_tails.generic),
    "blanket-bennett-generic": blanket_tails.bennett(blanket_tails.generic),
    "balls-search": protocol_claims.balls_search,
}
#: What else some of them declare; the others are upper bounds, and proved.
_MORE: dict[str, dict[str, Any]] = {
    "variation-ratio-published": {"sound": False},
    "analytic-published": {"sound": False},
    "asymptotic-published": {"sound": False},
    "variation-ratio-lower": {"side": "lower"},
    "constant-dataset-lower": {"side": "lower"},
    "efmrtt19": {"largest_delta": 0.00999999},
    "balls-search": {"falling": True},
}


@dataclass(frozen=True, kw_only=True)
class _Local(Bound):
    """No shuffling: eps is the local guarantee, whatever n and delta are."""

    def family(self, mechanism: Mechanism) -> Family:
        """The victim's report alone, without a crowd."""
        return pairs.alone(mechanism)

    def _epsilon(self, mechanism: Mechanism, n: int, delta: float, tol: float) -> Answer:
        return Answer(mechanism.local_epsilon, 0, 0)

    def _log_delta(self, mechanism: Mechanism, eps: FloatArray, n: int, tol: float) -> FloatArray:
        return pairs.alone(mechanism).log_delta(eps, n=1, tol=tol, side=self.side)


def bounds() -> Iterator[Bound]:
    """Every bound, in the order of the table."""
    for entry in _WORDS.replace("\n    ", " | ").strip().splitlines():
        name, needs, title, citation, *validity = entry.split(" | ")
        about: dict[str, Any] = {"name": name, "needs": needs, "title": title, "citation": citation}
        about |= {"validity": validity[0]} if validity else {}
        about |= _MORE.get(name, {})
        if name in _PAIRS:
            yield Numerical(**about, pairs=_PAIRS[name])
        elif name in _FORMULAS:
            yield EpsilonFormula(**about, formula=_FORMULAS[name])
        elif name == "local":
            yield _Local(**about)
        else:
            yield DeltaFormula(**about, curve=_CURVES[name])
