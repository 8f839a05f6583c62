"""The figures of a trade-off function, of Renyi divergences and of a table of (eps, delta)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support import figures
from .._support.canvas import Labels, canvas
from .._support.figures import SQUARE_WIDTH, TEXT_WIDTH
from .._support.numbers import round_up
from .._support.ticks import logarithmic
from ..numerics.composition.gaussian import gaussian_tradeoff

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .outputs import PrivacyProfile, RenyiCurve, TradeOff

_GUARANTEED: dict[str, Any] = {"color": "#0072B2", "linestyle": "-"}
_ATTACK: dict[str, Any] = {"color": "#D55E00", "linestyle": (0, (5, 1.5))}
_GAUSSIAN: dict[str, Any] = {"color": "#009E73", "linestyle": (0, (1, 1))}
_NOTHING: dict[str, Any] = {"color": "#000000", "linewidth": 0.8, "zorder": 0.9}


def draw_tradeoff(
    tradeoff: TradeOff, *, width: float = SQUARE_WIDTH, ax: Axes | None = None, labels: Labels | None = None
) -> Figure:
    """beta against alpha: guaranteed, of an attack, of Gaussian DP with the mu of the guarantee, and of a blind guess.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> figure = draw_tradeoff(sdp.tradeoff("grr:eps0=3,d=4", n=100))
    >>> [line.get_label() for line in figure.axes[0].lines]
    ['no information', 'guaranteed', 'Gaussian DP, μ = 0.723', 'an attack']
    """
    alpha = np.concatenate([np.linspace(0.0, 0.1, 101), np.linspace(0.1, 1.0, 181)[1:]])
    title = f"Errors of a test: {tradeoff.subject}, {tradeoff.neighbors}"
    with canvas(title, width, 3.4 if figures.is_wide(width) else 3.8, ax=ax, labels=labels) as page:
        axes = page.axes
        axes.plot([0.0, 1.0], [1.0, 0.0], label="no information", **_NOTHING)
        axes.plot(alpha, tradeoff(alpha), label="guaranteed", **_GUARANTEED)
        if math.isfinite(tradeoff.mu):
            name = f"Gaussian DP, μ = {round_up(tradeoff.mu, 4)}"
            axes.plot(alpha, gaussian_tradeoff(tradeoff.mu, alpha), label=name, **_GAUSSIAN)
        attack = tradeoff.attack(alpha)
        if attack is not None:
            axes.plot(alpha, attack, label="an attack", **_ATTACK)
        axes.set_xlim(0.0, 1.0)
        axes.set_ylim(0.0, 1.0)
        axes.set_aspect("equal")
        axes.set_xlabel("false-positive rate \N{GREEK SMALL LETTER ALPHA}")
        axes.set_ylabel("false-negative rate β")
        page.legend(*axes.get_legend_handles_labels(), beside=figures.is_wide(width))
    return page.figure


def draw_renyi(
    curve: RenyiCurve, *, width: float = TEXT_WIDTH, ax: Axes | None = None, labels: Labels | None = None
) -> Figure:
    """The divergence against its order, from above and from below.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> figure = draw_renyi(sdp.renyi("grr:eps0=3,d=4", n=100, orders=[1.5, 2.0, 4.0, 8.0]))
    >>> [line.get_label() for line in figure.axes[0].lines]
    ['at most', 'at least']
    """
    title = f"Renyi divergences: {curve.subject}, {curve.neighbors}"
    lines = {"at most": (curve.upper, _GUARANTEED), "at least": (curve.lower, _ATTACK)}
    return _two_sides(title, curve.orders, lines, ("order", "divergence"), width=width, ax=ax, labels=labels, log="xy")


def draw_profile(
    profile: PrivacyProfile, *, width: float = TEXT_WIDTH, ax: Axes | None = None, labels: Labels | None = None
) -> Figure:
    """delta against eps, from above and from below.

    Examples
    --------
    >>> import shuffledp as sdp
    >>> figure = draw_profile(sdp.amplify("grr:eps0=3,d=4", n=100, delta=1e-6).profile())
    >>> [line.get_label() for line in figure.axes[0].lines]
    ['at most', 'at least']
    """
    title = f"Privacy profile: {profile.subject}, {profile.neighbors}"
    lines = {"at most": (profile.upper, _GUARANTEED), "at least": (profile.lower, _ATTACK)}
    return _two_sides(title, profile.epsilon, lines, ("ε", "δ"), width=width, ax=ax, labels=labels, log="y")


def _two_sides(
    title: str,
    x: Any,
    lines: dict[str, tuple[Any, dict[str, Any]]],
    words: tuple[str, str],
    *,
    width: float,
    ax: Axes | None,
    labels: Labels | None,
    log: str,
) -> Figure:
    """Both sides of a curve on logarithmic axes; what is 0 or infinite leaves a gap."""
    with canvas(title, width, 3.0 if figures.is_wide(width) else 3.3, ax=ax, labels=labels) as page:
        axes = page.axes
        drawn: list[float] = []
        for name, (values, look) in lines.items():
            if values is not None:
                shown = np.ma.masked_less_equal(np.ma.masked_invalid(values), 0.0)
                drawn.extend(shown.compressed())
                axes.plot(x.reshape(-1), shown.reshape(-1), label=name, **look)
        if drawn:
            logarithmic(axes, "y", min(drawn), max(drawn))
        if "x" in log:
            logarithmic(axes, "x", float(x.min()), float(x.max()))
        axes.set_xlabel(words[0])
        axes.set_ylabel(words[1])
        page.legend(*axes.get_legend_handles_labels())
    return page.figure
