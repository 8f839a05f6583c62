"""The figure of an audit: the eps0 that was found, against the claimed one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Unpack

from .._support.canvas import Placing, canvas
from .._support.figures import BEYOND_BAR, WITHIN_BAR
from .._support.numbers import round_down

if TYPE_CHECKING:
    from .._support.canvas import Figure
    from .result import Audit


def draw_audit(audit: Audit, **where: Unpack[Placing]) -> Figure:
    """A bar up to the proved lower bound on eps0, and a line at the claimed eps0: a bar beyond it breaks the claim.

    Examples
    --------
    >>> import numpy as np
    >>> import shuffledp as sdp
    >>> found = sdp.audit("grr:eps0=1,d=3", samples=4000, rng=np.random.default_rng(0))
    >>> [line.get_label() for line in draw_audit(found).axes[0].lines]
    ['claimed ε₀ = 1']
    """
    found, sure = max(audit.lower, 0.0), f"{round_down(100 * audit.confidence, 10)}% confidence"
    verdict = "VIOLATION" if audit.violated else "no violation found"
    look = BEYOND_BAR if audit.breaks_eps0 else WITHIN_BAR
    law = "; the reports do not follow the claimed law" if audit.refutes_law else ""
    title = f"Audit of {audit.randomizer}: {verdict}{law}"
    with canvas(title, height=(1.5, 1.9), **where) as page:
        axes = page.axes
        axes.barh(0, found, height=0.5, label=f"ε₀ is at least {round_down(found, 4)} ({sure})", **look)
        far = found
        if audit.claimed is not None and math.isfinite(audit.claimed):
            far = max(far, audit.claimed)
            claimed = f"claimed ε₀ = {round_down(audit.claimed, 6)}"
            axes.axvline(audit.claimed, color="#000000", linestyle=(0, (5, 1.5)), label=claimed)
        axes.set_xlim(0.0, 1.1 * far or 1.0)
        axes.set_yticks([])
        axes.set_ylim(-0.6, 0.6)
        page.explain("local budget ε₀")
    return page.figure
