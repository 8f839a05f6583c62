"""What an audit found, in numbers and in plain words."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .._support.json_ready import json_ready
from .._support.numbers import round_down, round_up
from .._support.tables import Table
from .._support.text import visible
from .foreign import short

if TYPE_CHECKING:
    from .._support.canvas import Figure, Placing


@dataclass(frozen=True)
class Audit:
    """A lower bound on the eps0 of a running randomizer, and whether it breaks a claim.

    Attributes
    ----------
    lower : float >= 0
        The randomizer is not eps0-LDP for any eps0 below this, with the stated confidence.
    confidence : float
        Over the whole audit: the chance that ``lower`` is too large, or that a true claim is called broken, is at
        most 1 - confidence.  (The half of it that goes to the law, where one is compared, rests on the chi-square
        approximation: in simulations the level was met to about a quarter of its size.)
    event, pair, hits, proved_on
        The event, in words; the two inputs it distinguishes; how often it was seen among the ``proved_on`` held-out
        reports of each.
    samples, inputs, listed
        Reports drawn per input; the inputs audited; the number of inputs they were picked from.
    claimed : float or None
        The claimed eps0 (inf if the claim has none).
    law : float or None
        p-value of the claimed law over all inputs, 0 if a report was seen that it rules out; None if not tested.
    law_words : str
        The worst disagreement with the claimed law, or why it was not tested.
    violated, breaks_eps0, refutes_law : bool
        ``breaks_eps0``: the claimed eps0 is below ``lower``; ``refutes_law``: the law is refuted; ``violated``: either.

    Examples
    --------
    >>> import numpy as np
    >>> import shuffledp as sdp
    >>> found = sdp.audit("grr:eps0=1,d=3", samples=4000, rng=np.random.default_rng(0))
    >>> found.violated, 0.5 < found.lower <= 1.0
    (False, True)
    """

    lower: float
    confidence: float
    event: str
    pair: tuple[Any, Any]
    hits: tuple[int, int]
    proved_on: int
    samples: int
    inputs: tuple[Any, ...]
    listed: int
    claimed: float | None
    law: float | None
    law_words: str
    randomizer: str

    @property
    def violated(self) -> bool:
        """A claim is broken: the eps0, or the law."""
        return self.breaks_eps0 or self.refutes_law

    @property
    def breaks_eps0(self) -> bool:
        """The claimed eps0 is too small."""
        return self.claimed is not None and self.lower > self.claimed

    @property
    def refutes_law(self) -> bool:
        """The reports do not follow the claimed law; it shares the error probability with ``lower``."""
        return self.law is not None and self.law <= 0.5 * (1.0 - self.confidence)

    def __repr__(self) -> str:
        """One line: the verdict, what was found and what was claimed."""
        claimed = "none" if self.claimed is None else round_up(self.claimed, 6)
        said = ("VIOLATION: " if self.violated else "") + f"eps0 >= {round_down(max(self.lower, 0.0), 4)}"
        sure = f"{round_down(100 * self.confidence, 10)}% confidence"
        return visible(f"<Audit {said} with {sure}, claimed {claimed}: {self.randomizer}>")

    def _repr_html_(self) -> str:
        """A small table for notebooks."""
        facts = [
            ("randomizer", self.randomizer),
            ("eps0 (found)", f"at least {round_down(max(self.lower, 0.0), 4)}"),
            ("eps0 (claimed)", "" if self.claimed is None else round_down(self.claimed, 6)),
            ("confidence", f"{round_down(100 * self.confidence, 10)}%"),
            ("p-value of the law", "" if self.law is None else round_down(self.law, 2)),
            ("verdict", "VIOLATION" if self.violated else "no violation found"),
            ("inputs", f"{len(self.inputs):,} of {self.listed:,}"),
            ("reports of each", f"{self.samples:,}"),
        ]
        return Table.facts(facts, notes=[str(self)]).html()

    def plot(self, **where: Unpack[Placing]) -> Figure:
        """A figure: the eps0 that was found against the claimed one (needs the extra ``plot``).

        width : inches; ax : matplotlib axes to draw in, in place of a new figure; labels : other words for those of
        the figure
        """
        from .drawing import draw_audit

        return draw_audit(self, **where)

    def __str__(self) -> str:
        """A few sentences that a reviewer can paste."""
        return visible(" ".join([self._found(), *self._eps0(), *self._law(), self._scope()]))

    def _found(self) -> str:
        x0, x1 = (short(x) for x in self.pair)
        sure = f"with {round_down(100 * self.confidence, 10)}% confidence"
        if self.lower <= 0.0:
            return f"No event was found that distinguishes inputs of {self.randomizer} {sure}."
        k0, k1 = self.hits
        seen = f"{k0:,} of {self.proved_on:,} held-out reports of input {x0}"
        if k1:
            other = f"in {k1:,} of as many of input {x1}"
        else:
            other = (
                f"never in as many of input {x1}, so the true eps0 may be infinite: more reports would raise the bound"
            )
        return (
            f"The eps0 of {self.randomizer} is at least {round_down(self.lower, 4)} {sure}: "
            f"{self.event} in {seen}, and {other}."
        )

    def _eps0(self) -> list[str]:
        if self.claimed is None:
            return ["No eps0 was claimed."]
        if math.isinf(self.claimed):
            return ["The claim has no finite eps0 that could be broken."]
        if self.breaks_eps0:
            return [f"VIOLATION: the claimed eps0 = {round_down(self.claimed, 6)} is too small."]
        return [f"This does not contradict the claimed eps0 = {round_up(self.claimed, 6)}."]

    def _law(self) -> list[str]:
        if self.law is None:
            return [f"The law was not tested: {self.law_words}."] if self.law_words else []
        if self.refutes_law:
            size = f"p = {round_up(self.law, 2)}" if self.law else "this settles it"
            return [f"VIOLATION: the reports do not follow the claimed law ({size}); {self.law_words}."]
        return [f"The p-value of the claimed law is {round_down(self.law, 2)}."]

    def _scope(self) -> str:
        many = f"{len(self.inputs)} of {self.listed:,}" if self.listed > len(self.inputs) else f"{len(self.inputs)}"
        return (
            f"Audited {many} inputs with {self.samples:,} reports each; "
            "an audit can find a leak, but finding none proves nothing."
        )

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary; infinity is written as the string "inf"."""
        found = {f.name: _plain(getattr(self, f.name)) for f in fields(self)}
        return {**found, "violated": self.violated}


def _plain(value: Any) -> Any:
    """Lists, numbers and text; anything else by its short form."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return json_ready(value) if value is None or isinstance(value, bool | int | float | str) else short(value)
