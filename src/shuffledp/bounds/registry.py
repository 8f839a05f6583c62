"""Every bound by name.  An unknown name is an error that suggests the nearest one; there is no silent fallback."""

from __future__ import annotations

from typing import Any, TypeVar

from .._support import names as _names
from .._support import validation as check
from ..errors import BoundNotApplicableError, ExtensionError
from ..mechanisms.base import Mechanism
from ..mechanisms.extension import WORD, load_plugins
from ..numerics.family import Family, Smallest
from .base import Bound, Numerical
from .table import bounds

BOUNDS: dict[str, Bound] = {bound.name: bound for bound in bounds()}

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
_COMPARED = ("swap", "swap-general", "blanket", "binary", "variation-ratio")
#: Installed packages name their bounds in this group of entry points.
GROUP = "shuffledp.bounds"
#: The names of the library, which cannot be given to others; "auto" chooses among its bounds.
_OURS = ("auto", *BOUNDS, *ALIASES)
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
EpsilonFormula or DeltaFormula of shuffledp.extend.
    """
    if not isinstance(bound, Bound):
        got = bound.__name__ if isinstance(bound, type) else type(bound).__name__
        raise ExtensionError(
            f"register_bound must be given a bound, got {got}; make a Numerical, EpsilonFormula or DeltaFormula of "
            "shuffledp.extend."
        )
    if not isinstance(bound.name, str) or not WORD.fullmatch(bound.name):
        raise ExtensionError(
            f"a bound must have a name of lowercase letters, digits and hyphens, got {bound.name!r:.60}; rename it."
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
    load_plugins(GROUP, register_bound)
    return BOUNDS


def names() -> list[str]:
    """Every name that ``bound=`` takes."""
    return ["auto", *known()]


def unalias(name: Any) -> Any:
    """The name that a bound has in answers and files; anything but another name of a bound is left as it is."""
    return ALIASES.get(name, name) if isinstance(name, str) else name


def called(name: str) -> str:
    """The name in answers and files of a bound that ``bound=`` takes; an unknown one is refused.

    Examples
    --------
    >>> called("stronger-clone"), called("auto")
    ('general', 'auto')
    """
    own = unalias(name)
    return own if isinstance(own, str) and (own == "auto" or own in BOUNDS) else check.one_of("bound", own, names())


def bound_of(name: str) -> Bound:
    """The bound of that name as a table shows it; "auto" has a title and a side of its own.

    Examples
    --------
    >>> bound_of("auto").side, bound_of("constant-dataset-lower").side
    ('upper', 'lower')
    """
    return AUTO if (own := called(name)) == "auto" else BOUNDS[own]


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
    if (own := called(name)) != "auto":
        return BOUNDS[own], None
    found: dict[str, Family] = {}
    for candidate in _COMPARED:
        if candidate == "swap-general" and "swap" in found:
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
