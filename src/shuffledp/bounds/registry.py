"""Every bound by name.  An unknown name is an error that suggests the nearest one; there is no silent fallback."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from .._support import names as _names
from .._support import validation as check
from ..errors import BoundNotApplicableError, ExtensionError
from ..mechanisms.base import Mechanism
from ..mechanisms.extension import WORD, load_plugins
from ..numerics.family import Answer, Family, Smallest
from ..numerics.pair import FloatArray
from . import blanket_tails, budget_forms, closed_forms, protocol_claims
from . import dominating_pairs as pairs
from .base import Bound, DeltaFormula, EpsilonFormula, Numerical

_PAPER = "Wang et al., PVLDB 2024"
_BLANKET = "Balle, Bell, Gascon, Nissim, CRYPTO 2019"
_RATIO, _LAW, _BUDGET = "(p, beta, q)", "the whole law", "eps0"


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


def _tails(name: str, title: str, know: blanket_tails.Knows, needs: str, validity: str) -> list[Bound]:
    """Hoeffding's and Bennett's version of one blanket bound."""
    pair = (("hoeffding", "Hoeffding", blanket_tails.hoeffding), ("bennett", "Bennett", blanket_tails.bennett))
    return [
        DeltaFormula(
            name=f"blanket-{word}{name}",
            title=f"privacy blanket by {inequality}, {title}",
            citation=f"{_BLANKET}, {inequality}",
            needs=needs,
            validity=validity,
            curve=tail(know),
        )
        for word, inequality, tail in pair
    ]


_COVERED = "single-message mechanisms with at most 64 distinct input pairs whose blanket covers every output"

BOUNDS: dict[str, Bound] = {
    bound.name: bound
    for bound in (
        Numerical(
            name="blanket",
            title="exact privacy blanket, maximum over input pairs",
            citation=f"{_BLANKET}, evaluated without tail bounds",
            needs=_LAW,
            pairs=lambda m: m.law.blanket(),
        ),
        Numerical(
            name="swap",
            title="swap bound, maximum over input pairs and over what the others hold",
            citation="docs/swap.md, Theorems 1 and 2",
            needs=_LAW,
            validity="mechanisms whose laws share a common part",
            pairs=lambda m: m.law.swap(),
        ),
        Numerical(
            name="exact",
            title="every dataset, one by one",
            citation="numerics/binary.py",
            needs=_LAW,
            validity="binary randomized response, under whatever name, of up to 256 users",
            pairs=lambda m: m.law.exact(),
        ),
        Numerical(
            name="variation-ratio",
            title="variation-ratio reduction, repaired",
            citation=f"{_PAPER}, Theorem 4.7 with t = (p alpha, p alpha, s)/q",
            needs=_RATIO,
            pairs=pairs.variation_ratio,
        ),
        Numerical(
            name="variation-ratio-published",
            title="variation-ratio reduction as printed (not a bound)",
            citation=f"{_PAPER}, Theorems 4.1, 4.7, 4.8",
            sound=False,
            needs=_RATIO,
            pairs=pairs.published,
        ),
        Numerical(
            name="variation-ratio-lower",
            title="lower bound by two counts",
            citation=f"{_PAPER}, Theorem 5.1 with the six masses",
            side="lower",
            needs=_LAW,
            pairs=lambda m: m.law.two_counts(),
        ),
        Numerical(
            name="constant-dataset-lower",
            title="lower bound: the others all hold one value",
            citation="the exact divergence of a dataset, t = R(x*)",
            side="lower",
            needs=_LAW,
            pairs=lambda m: m.law.constant_datasets(),
        ),
        EpsilonFormula(
            name="analytic",
            title="closed form of the variation-ratio reduction, repaired",
            citation=f"{_PAPER}, Theorem 4.2 with the supremum over likely clone counts",
            needs=_RATIO,
            formula=closed_forms.analytic,
        ),
        EpsilonFormula(
            name="analytic-published",
            title="closed form as in the proof of Theorem 4.2 (not a bound)",
            citation=f"{_PAPER}, Theorem 4.2, F(Omega) of its appendix",
            sound=False,
            needs=_RATIO,
            validity="the printed condition on Omega and (p, beta, q) of Theorem 4.2",
            formula=closed_forms.analytic_published,
        ),
        EpsilonFormula(
            name="asymptotic",
            title="asymptotic form, with a complete proof",
            citation=f"{_PAPER}, Theorem 4.3 with v = 2/9 or 0",
            needs=_RATIO,
            validity="r (n-1) >= 8 log(4/delta)",
            formula=closed_forms.asymptotic,
        ),
        EpsilonFormula(
            name="asymptotic-published",
            title="asymptotic form as printed (proof incomplete)",
            citation=f"{_PAPER}, Theorem 4.3",
            sound=False,
            needs=_RATIO,
            validity="r n >= 8 log(2/delta)",
            formula=closed_forms.asymptotic_published,
        ),
        Numerical(
            name="general",
            title="stronger clone: uses eps0 only",
            citation="docs/proofs.md, corollary to the reduction theorem; Feldman, McMillan, Talwar, SODA 2023, whose "
            "proof has an erratum (arXiv:2208.04591)",
            needs=_BUDGET,
            validity="one randomizer that everybody runs, not adaptive within the round",
            pairs=pairs.stronger_clone,
        ),
        Numerical(
            name="swap-general",
            title="swap bound: uses eps0 only",
            citation="docs/swap.md, Theorem 3",
            needs=_BUDGET,
            validity="one randomizer that everybody runs",
            pairs=pairs.swap_general,
        ),
        Numerical(
            name="clone",
            title="clone, evaluated numerically",
            citation="Feldman, McMillan, Talwar, FOCS 2021",
            needs=_BUDGET,
            pairs=pairs.clone,
        ),
        EpsilonFormula(
            name="clone-closed",
            title="clone, closed form",
            citation="Feldman, McMillan, Talwar, FOCS 2021, Theorem 3.1",
            needs=_BUDGET,
            validity="eps0 <= log(n/(16 log(2/delta)))",
            formula=budget_forms.clone_closed,
        ),
        *_tails("", "with its exact range and second moment", blanket_tails.exactly, _LAW, _COVERED),
        *_tails("-gamma", "with the mechanism's blanket mass", blanket_tails.by_mass, "eps0 and gamma", _COVERED),
        *_tails("-generic", "for any randomizer that all users run", blanket_tails.generic, _BUDGET, "eps0 <= 300"),
        EpsilonFormula(
            name="efmrtt19",
            title="amplification by shuffling, the first bound",
            citation="Erlingsson, Feldman, Mironov, Raghunathan, Talwar, Thakurta, SODA 2019",
            needs=_BUDGET,
            validity="n >= 1000 and delta < 0.01 where eps0 < 1/2",
            formula=budget_forms.efmrtt19,
            largest_delta=0.00999999,
        ),
        EpsilonFormula(
            name="cheu-zhilyaev",
            title="the authors' claim for their protocol",
            citation="Cheu, Zhilyaev, IEEE S&P 2022, Claim 3.2",
            needs="cheu-zhilyaev",
            validity="cheu-zhilyaev with f(1-f) m > (33/5) log(4/delta), m blanket rows",
            formula=protocol_claims.cheu_zhilyaev,
        ),
        EpsilonFormula(
            name="balls-formula",
            title="the authors' formula for their protocol",
            citation="Luo, Wang, Yi, CCS 2022",
            needs="balls-into-bins",
            validity="balls-into-bins with eps <= 3",
            formula=protocol_claims.balls_formula,
        ),
        DeltaFormula(
            name="balls-search",
            title="the authors' numerical search, with the joint law of the two counts",
            citation="Luo, Wang, Yi, CCS 2022, released code",
            needs="balls-into-bins",
            validity="balls-into-bins with at least one blanket message that is sent for certain",
            curve=protocol_claims.balls_search,
            falling=True,
        ),
        _Local(
            name="local",
            title="the local guarantee, no shuffling",
            citation="definition",
            needs=_BUDGET,
        ),
    )
}


#: What bound="auto" stands for where two bounds are compared; an answer says which of them gave it.
AUTO = Numerical(
    name="auto",
    title="the smallest of the bounds that use all that is known",
    citation="each of them",
    needs="whatever is known",
    pairs=lambda m: choose("auto", m)[1] or Smallest({}),
)

#: Other names of a bound; answers and files carry its own.
ALIASES = {"stronger-clone": "general"}
#: The bounds that "auto" compares; every other sound bound is above one of them, by its proof.
_COMPARED = ("swap", "swap-general", "blanket", "exact", "variation-ratio")
#: Installed packages name their bounds in this group of entry points.
GROUP = "shuffledp.bounds"
#: The names of the library, which cannot be given to others; "auto" chooses among its bounds.
_OURS = ("auto", *BOUNDS, *ALIASES)
_plugins_loaded = False
_Bound = TypeVar("_Bound", bound=Bound)


def register_bound(bound: _Bound) -> _Bound:
    """Make a bound known by its name: ``bound=`` takes it, and comparisons, sweeps and listings show it.

    Parameters
    ----------
    bound : Bound
        Usually a :class:`~shuffledp.bounds.base.Numerical` (a family of shuffled pairs), an ``EpsilonFormula`` or a
        ``DeltaFormula``.  If you register a bound as ``sound``, you vouch for it: the library cannot check the proof.

    Raises
    ------
    ExtensionError
        It is not a bound, or its name is taken.

    Examples
    --------
    >>> register_bound("mine")
    Traceback (most recent call last):
    shuffledp.errors.ExtensionError: register_bound must be given a bound, got str; make a Numerical, \
EpsilonFormula or DeltaFormula of shuffledp.bounds.
    """
    if not isinstance(bound, Bound):
        got = bound.__name__ if isinstance(bound, type) else type(bound).__name__
        raise ExtensionError(
            f"register_bound must be given a bound, got {got}; make a Numerical, EpsilonFormula or DeltaFormula of "
            "shuffledp.bounds."
        )
    if not isinstance(bound.name, str) or not WORD.fullmatch(bound.name):
        raise ExtensionError(
            f"a bound must have a name of small letters, digits and hyphens, got {bound.name!r:.60}; rename it."
        )
    if bound.side not in ("upper", "lower") or not isinstance(bound.sound, bool):
        raise ExtensionError(
            f"bound {bound.name!r} must have side 'upper' or 'lower' and sound True or False, got {bound.side!r:.40} "
            f"and {bound.sound!r:.40}; correct them."
        )
    known = {_names.plain(name): name for name in (*_OURS, *BOUNDS)}.get(_names.plain(bound.name))
    before = None if known is None or known in _OURS else BOUNDS[known]
    again = before is not None and (before.title, before.citation) == (bound.title, bound.citation)
    if known is not None and not again:  # a cell of a notebook may be run twice
        raise ExtensionError(f"a bound must have a name of its own, got {bound.name!r}, which is taken; rename it.")
    BOUNDS[bound.name] = bound
    return bound


def known() -> dict[str, Bound]:
    """Every bound by name, those of plug-ins included."""
    global _plugins_loaded
    if not _plugins_loaded:
        _plugins_loaded = True
        load_plugins(GROUP, register_bound)
    return BOUNDS


def names() -> list[str]:
    """Every name that ``bound=`` takes."""
    return ["auto", *known()]


def unalias(name: Any) -> Any:
    """The name that a bound has in answers and files; anything but another name of a bound is left as it is."""
    return ALIASES.get(name, name) if isinstance(name, str) else name


def called(name: str) -> str:
    """The name that a bound has in answers and files, of whatever ``bound=`` takes; an unknown one is refused.

    Examples
    --------
    >>> called("stronger-clone"), called("auto")
    ('general', 'auto')
    """
    own = unalias(name)
    return own if isinstance(own, str) and own in BOUNDS else check.one_of("bound", own, names())


def choose(name: str, mechanism: Mechanism) -> tuple[Bound, Family | None]:
    """The bound of that name, and its family if choosing the bound required building it.

    "auto" is the smallest of all sound bounds, always: the families of ``_COMPARED`` that apply are all asked, and a
    bound is left out only where it is proved not to be below another one.

    Examples
    --------
    >>> from shuffledp.mechanisms.known.variation_ratio import VariationRatio
    >>> choose("auto", VariationRatio(p=3.0, beta=0.4, q=3.0))[0].name
    'variation-ratio'
    """
    if name != "auto":
        return BOUNDS[called(name)], None
    found: dict[str, Family] = {}
    for candidate in _COMPARED:
        if candidate == "swap-general" and "swap" in found and not getattr(found["swap"], "gives_up", False):
            continue  # never below it: the types have at most the ratios that eps0 allows (docs/swap.md, Theorem 3)
        try:
            found[candidate] = BOUNDS[candidate].family(mechanism)
        except BoundNotApplicableError:
            continue
    if not found:
        found["variation-ratio"] = BOUNDS["variation-ratio"].family(mechanism)  # it says why it does not apply
    if len(found) == 1:
        ((only, family),) = found.items()
        return BOUNDS[only], family
    return AUTO, Smallest(found)
