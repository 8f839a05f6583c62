"""audit: draw reports of some inputs, and bound from below how well they distinguish the inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support import validation as check
from ..errors import BoundNotApplicableError, ParameterError
from ..mechanisms.base import Mechanism
from ..mechanisms.randomizer import Randomizer
from ..mechanisms.registry import mechanism as parse
from ..mechanisms.registry import of_matrix
from ..randomness import sampling as randomness
from .confidence import log_ratio
from .events import PROVE, Event, Search
from .foreign import called, kind, looked_at, printable, short
from .law import compare, listed, matrix_of, same, stated
from .reading import Raw, joined, read, single, vector_of
from .result import Audit

#: Inputs audited unless they are named, and at most that many if they are.
FEW_INPUTS, MOST_INPUTS = 8, 32
#: Reports asked for at once: of a library mechanism or vectorized function, and of a function of one value.
_BATCH, _CALLS = 20_000, 1_000

Progress = Callable[[int, int], object]


def audit(
    randomizer: Mechanism | str | Callable[[Any], Any],
    *,
    inputs: Sequence[Any] | NDArray[Any] | None = None,
    claimed: Mechanism | str | ArrayLike | None = None,
    eps0: float | None = None,
    samples: int = 20_000,
    confidence: float = 0.99,
    vectorized: bool = False,
    outputs: Sequence[Any] | None = None,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Run a randomizer and bound its eps0 from below; flag a claim that it breaks.

    Parameters
    ----------
    randomizer : mechanism, spec or function
        A library mechanism, or any function that turns a value into a report: numbers, text, tuples, sets, lists or
        arrays of one length.  Every call must use fresh randomness: an answer that is remembered looks like a leak.
        It is called in this process, with your rights and without a time limit: its exceptions become one
        error message, but nothing is done about code that ends the process or never returns.
    inputs : at least two values, at most 32
        Default: those of the mechanism or of the claim (8 of them, evenly spread, if there are more).
    claimed : mechanism, spec or matrix
        The law that the reports should follow, and its eps0.  A library mechanism claims itself by default.  Rows of
        a matrix are the inputs in order, its columns the reports 0, 1, ... or those in ``outputs``.
    eps0 : float >= 0
        The claimed local budget, if not that of ``claimed``.
    samples : int in [400, 10^7]
        Reports drawn per input.
    confidence : float in [0.5, 1)
    vectorized : bool
        The function takes an array of values and returns an array with one report each.
    rng : numpy Generator
        For library mechanisms: a seeded source instead of the secure one.
    progress : function
        Called with (reports drawn, reports in all).

    Returns
    -------
    Audit

    Notes
    -----
    For every ordered pair of the m inputs an event is searched on half of the reports and counted on the other
    half.  If k0, k1 of n held-out reports of x0, x1 lie in it, log(L(k0)/U(k1)) <= eps0 with the one-sided
    Clopper-Pearson bounds L, U, each at error alpha/(2 m(m-1)): by the union bound all of them hold together with
    probability 1 - alpha, and the largest is reported.  U is positive at k1 = 0, so the bound is finite.
    The law is compared by Pearson's chi-square for every input (rare cells pooled, p-value times the number of
    inputs); a report of probability zero refutes it.  alpha = 1 - confidence, shared
    half and half if a law is compared.  The pairs of a metric mechanism are compared with its largest eps.

    Examples
    --------
    A unary encoder that never flips the bit of the true value:

    >>> import numpy as np
    >>> import shuffledp as sdp
    >>> random = np.random.default_rng(0)
    >>> def encoder(value):
    ...     bits = random.random(8) < 0.3
    ...     bits[value] = True
    ...     return bits
    >>> found = audit(encoder, inputs=[0, 1, 2], eps0=1.7, samples=4000)
    >>> found.violated, found.lower > 4
    (True, True)
    """
    runner = parse(randomizer) if isinstance(randomizer, str) else randomizer
    own = isinstance(runner, Mechanism) and claimed is None and outputs is None
    claim = runner if own else _claim(claimed)
    budget = _budget(eps0, claim if isinstance(claim, Mechanism) else None)
    samples = check.whole("samples", samples, low=400, high=10**7, hint="20_000 reports per input is the default")
    confidence = check.share("confidence", confidence, low=0.5, low_open=False)
    draw = _drawer(runner, vectorized, rng)
    chosen, count = _inputs(inputs, runner, claim)
    law = stated(claim, chosen, outputs, own) if isinstance(claim, Mechanism) else ""
    if outputs is not None and claim is None:
        raise ParameterError("outputs must go with a claimed matrix, got no claim; pass claimed=.")
    raw = _collect(draw, chosen, samples, progress)
    alpha = (1.0 - confidence) * (1.0 if isinstance(law, str) else 0.5)
    source = runner if isinstance(runner, Randomizer) else None
    look: Callable[..., Any] = looked_at if source is None else lambda step, *reports: step(*reports)
    lower, event, pair, hits = look(_search, raw, source, alpha)
    verdict = None if isinstance(law, str) else look(compare, law, raw, chosen, alpha)
    return Audit(
        lower=lower,
        confidence=confidence,
        event=event.words,
        pair=(chosen[pair[0]], chosen[pair[1]]),
        hits=hits,
        proved_on=len(raw[0][PROVE]),
        samples=samples,
        inputs=tuple(chosen),
        listed=count,
        claimed=budget,
        law=None if verdict is None else verdict.pvalue,
        law_words=law if isinstance(law, str) else verdict.words if verdict else "",
        randomizer=_name(runner),
    )


def _search(
    raw: list[Raw], source: Randomizer | None, alpha: float
) -> tuple[float, Event, tuple[int, int], tuple[int, int]]:
    """The largest proved bound over all ordered pairs."""
    search = Search(read(raw, source))
    count, trials = len(raw), len(raw[0][PROVE])
    share = alpha / (count * (count - 1))
    best: tuple[float, Event, tuple[int, int], tuple[int, int]] | None = None
    for i in range(count):
        for j in range(i + 1, count):
            for event, (x0, x1) in zip(search.best(i, j, share), ((i, j), (j, i)), strict=True):
                hits = (event.hits(x0, PROVE), event.hits(x1, PROVE))
                bound = max(0.0, log_ratio(hits, trials, share))
                if best is None or bound > best[0]:
                    best = (bound, event, (x0, x1), hits)
    if best is None:
        raise ParameterError("inputs must hold at least two values, got fewer; name two that should look alike.")
    return best


# -- what was asked --------------------------------------------------------------------------------------------


def _claim(claimed: Any) -> Mechanism | None:
    if claimed is None or isinstance(claimed, Mechanism):
        return claimed
    return parse(claimed) if isinstance(claimed, str) else of_matrix(claimed)


def _budget(eps0: object, claim: Mechanism | None) -> float | None:
    """The claimed eps0: named, or that of the claim between any two inputs."""
    if eps0 is not None:
        return check.in_range("eps0", eps0, low=0.0, high=check.MAX_EPS0, hint="eps0 is the claimed local budget")
    if claim is None:
        return None
    try:
        return max(claim.local_epsilon, claim.law.crowd_epsilon)
    except BoundNotApplicableError:
        return None


def _inputs(inputs: Any, runner: Any, claim: Any) -> tuple[list[Any], int]:
    """The inputs to audit, and the number that they were picked from."""
    if inputs is None:
        every = _every(runner if isinstance(runner, Randomizer) else claim)
        if claim is not runner and matrix_of(claim) is not None:  # which has a row for each of them
            return _enough(every), len(every)
        places = np.unique(np.linspace(0, len(every) - 1, FEW_INPUTS).round().astype(np.int64))
        return _enough([every[k] for k in places]), len(every)
    if not check.is_list(inputs) or not hasattr(inputs, "__getitem__"):  # a set has no order
        raise ParameterError(f"inputs must be a list of values, got {short(inputs)}; pass for example inputs=[0, 1].")
    chosen = list(inputs)
    return _enough([x.item() if isinstance(x, np.generic) else x for x in chosen]), len(chosen)


def _every(subject: Any) -> list[Any]:
    found = listed(subject) if isinstance(subject, Randomizer) else None
    if found is None and (matrix := matrix_of(subject)) is not None:
        found = list(range(len(matrix)))
    if found is not None:
        return found
    what = f"{subject.spec}, which does not list its own" if isinstance(subject, Mechanism) else "a function"
    raise ParameterError(f"inputs must be given for {what}, got None; pass at least two values that should look alike.")


def _enough(chosen: list[Any]) -> list[Any]:
    if not 2 <= len(chosen) <= MOST_INPUTS:
        raise ParameterError(
            f"inputs must hold 2 to {MOST_INPUTS} values, got {len(chosen)}; name some that should look alike."
        )
    for k, x in enumerate(chosen):
        if any(same(x, y) for y in chosen[:k]):
            raise ParameterError(f"inputs must differ from each other, got {short(x)} twice; leave one out.")
    return chosen


def _name(runner: Any) -> str:
    if isinstance(runner, Mechanism):
        return runner.spec
    name = looked_at(getattr, runner, "__name__", kind(runner))
    return "the given function" if name == "<lambda>" else printable(name)[:80] if type(name) is str else kind(runner)


# -- drawing ---------------------------------------------------------------------------------------------------

Draw = tuple[Callable[[Any, int], Raw], int]


def _drawer(runner: Any, vectorized: bool, rng: np.random.Generator | None) -> Draw:
    """A function from (value, how many) to reports, and how many to ask for at once."""
    if not isinstance(vectorized, bool):
        raise ParameterError(
            f"vectorized must be True or False, got {short(vectorized)}; "
            "it says whether the function takes an array of values."
        )
    if isinstance(runner, Randomizer):
        if runner._noise_by_shuffler:
            raise ParameterError(
                f"randomizer must send noise of its own, got {runner.spec}, whose shuffler makes it; pass lambda x: "
                "mechanism.seen(x) with vectorized=True and two inputs."
            )
        if not runner.single_message:
            raise ParameterError(
                f"randomizer must send one report per user, got {runner.spec}, whose messages mix with others'; "
                "pass a function that returns the sorted messages of one user."
            )
        if vectorized:
            raise ParameterError("vectorized must be left out for a mechanism of the library, got True; omit it.")
        randomness.source(rng)  # refuses anything but a generator
        return lambda value, size: runner.privatize(_repeated(value, size), rng=rng).data, _BATCH
    if isinstance(runner, Mechanism) or not callable(runner):
        got = runner.spec if isinstance(runner, Mechanism) else short(runner)
        raise ParameterError(
            f"randomizer must be a mechanism that can be run, its spec, or a function, got {got}; "
            "pass for example 'grr:eps0=1,d=4'."
        )
    if rng is not None:
        raise ParameterError("rng must be left out for a function, which draws its own randomness, got one; omit it.")
    function = runner

    def many(value: Any, size: int) -> Raw:
        return looked_at(vector_of, called(function, _repeated(value, size), value), size)

    def one_by_one(value: Any, size: int) -> Raw:
        return [looked_at(single, called(function, value, value)) for _ in range(size)]

    return (many, _BATCH) if vectorized else (one_by_one, _CALLS)


def _repeated(value: Any, size: int) -> NDArray[Any]:
    try:
        one = np.asarray(value)
    except ValueError:
        raise ParameterError(f"inputs must have entries of equal length, got {short(value)}; pad it.") from None
    return np.broadcast_to(one, (size, *one.shape)).copy()


def _collect(draw: Draw, inputs: list[Any], samples: int, progress: Progress | None) -> list[Raw]:
    function, batch = draw
    raw, total = [], samples * len(inputs)
    for k, value in enumerate(inputs):
        parts: list[Raw] = []
        for start in range(0, samples, batch):
            size = min(batch, samples - start)
            parts.append(function(value, size))
            if progress is not None:
                progress(k * samples + start + size, total)
        raw.append(joined(parts))
    return raw
