"""Closed forms: those of Wang et al. (Theorems 4.2 and 4.3), repaired and as printed; and earlier ones, by eps0 alone.

Notation of the former: alpha = beta/(p-1), s = 1 - alpha - p alpha, r = p alpha/q, l = s/q, N = number of other
messages, kappa = r/(1-2r), L = log(4/delta).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..mechanisms.known.variation_ratio import VariationRatio
from .base import Question, log_over


class Terms(NamedTuple):
    """The quantities in the formulas; ``top`` is p alpha."""

    beta: float
    alpha: float
    top: float
    s: float
    r: float
    l: float
    N: int
    L: float

    @property
    def kappa(self) -> float:
        """r/(1-2r); inf where all others are clones of the two inputs."""
        return self.r / (1.0 - 2.0 * self.r) if self.r < 0.5 else math.inf

    @property
    def rest(self) -> float:
        """s kappa, 0 without a remainder."""
        return self.s * self.kappa if self.s > 0.0 else 0.0

    @property
    def fewest(self) -> float:
        """The number of clones is larger than this, except with probability delta/4 (Chernoff, Hoeffding)."""
        return 2.0 * self.r * self.N - math.sqrt(min(6.0 * self.r, 0.5) * self.N * self.L)


def terms_of(ratio: VariationRatio, N: int, delta: float) -> Terms:
    """The terms for N other messages."""
    top, alpha, s = ratio.masses()
    q = ratio.q
    return Terms(ratio.beta, alpha, top, s, min(top / q, 0.5), s / q, N, log_over(4.0, delta))


def analytic(ask: Question) -> float:
    """Theorem 4.2, repaired: the largest F(C) over all likely numbers of clones C, not F at a single C."""
    terms = _question_terms(ask)
    exact = ask.mechanism.law.published_law_exact
    return worst_of_likely_counts(terms, published_law=exact) if terms.N else math.inf


def worst_of_likely_counts(terms: Terms, *, published_law: bool) -> float:
    """eps = log(1 + max F(C)) over Om_- <= C <= Om_+, for the repaired pair or for the pair as printed."""
    r, N, L, beta = terms.r, terms.N, terms.L, terms.beta
    low = terms.fewest
    high = min(2.0 * r * N + math.sqrt(min(6.0 * r, 0.5) * N * L), float(N))
    if low < 2.0 * L:
        return math.inf  # the cap by the local guarantee makes this log p
    if published_law:
        k, mu = terms.alpha + 0.5 * beta - terms.rest, N * terms.rest
    else:
        fewest_rest = max(0.0, terms.l * N - math.sqrt(min(2.0 * terms.l, 0.5) * N * L))
        k, mu = terms.alpha + 0.5 * beta, terms.top * fewest_rest  # (s r / l) e_- = p alpha e_-
    if k <= 0.0:
        worst = high
    else:
        b = 1.0 / math.sqrt(2.0 * L)
        worst = min(max((math.sqrt(b * b + (mu + 0.5 * beta) / k) - b) ** 2, low), high)
    below = k * worst - beta * math.sqrt(0.5 * L * worst) + mu  # 0 at C = 2L without a remainder and with alpha = 0
    return math.log1p(beta * (math.sqrt(2.0 * L * worst) + 1.0) / below) if below > 0.0 else math.inf


def analytic_published(ask: Question) -> float:
    """F(Omega) of the paper's proof of Theorem 4.2 under its printed condition: its eps can be ten times too small."""
    terms = _question_terms(ask)
    ratio = ask.mechanism.variation_ratio()
    p, beta, q, N = ratio.p, ratio.beta, ratio.q, terms.N
    omega = terms.fewest if N else 0.0
    if math.isinf(p):
        least = 2.0 * (beta - 1.0) * N / (beta + 1.0)
    else:
        slope = q + p * (beta - 1.0 + (beta + 1.0) * p) - p * q
        least = (2.0 * p * (beta + 1.0 + (beta - 1.0) * p) * N + beta) / slope if slope else math.inf
    if terms.alpha + 0.5 * beta < terms.rest or omega < least or omega <= 0.0:
        raise ask.refuse(f"n = {ask.n:,} and delta = {ask.delta:g} with p = {p:g}, beta = {beta:g}, q = {q:g}")
    half = math.sqrt(0.5 * omega * terms.L)
    below = terms.alpha * omega + beta * (0.5 * omega - half) + terms.rest * (N - omega)
    return math.log1p(beta * (2.0 * half + 1.0) / below) if below > 0.0 else math.inf


def asymptotic(ask: Question) -> float:
    """Theorem 4.3 with a complete proof: needs r N >= 8 L."""
    terms = _question_terms(ask)
    clones = terms.r * terms.N
    if clones < 8.0 * terms.L:
        raise ask.refuse(f"r (n-1) = {clones:.4g} and 8 log(4/delta) = {8.0 * terms.L:.4g}")
    v = 2.0 / 9.0 if terms.l * terms.N >= 8.0 * terms.L else 0.0
    return _level(terms, v, math.sqrt(32.0 * terms.L / clones) + 4.0 / clones)


def asymptotic_published(ask: Question) -> float:
    """Theorem 4.3 as printed."""
    terms = _question_terms(ask)
    r, n, least = terms.r, terms.N + 1, 8.0 * log_over(2.0, ask.delta)
    if terms.N == 0 or r * n < least:
        raise ask.refuse(f"r n = {r * n:.4g} and 8 log(2/delta) = {least:.4g}")
    v = max(0.0, 4.0 / 9.0 * (1.0 - 3.0 * r) / (1.0 - 2.0 * r)) if r < 0.5 else 0.0
    return _level(terms, v, math.sqrt(32.0 * terms.L / (r * terms.N)) + 4.0 / (r * n))


def _level(terms: Terms, v: float, spread: float) -> float:
    u = terms.alpha + terms.top
    return math.log1p(terms.beta / ((1.0 - v) * u + v) * spread)


def _question_terms(ask: Question) -> Terms:
    return terms_of(ask.mechanism.variation_ratio(), ask.mechanism.law.other_messages(ask.n), ask.delta)


# -- earlier ones, which use eps0 alone -----------------------------------------------------------------------------


def clone_closed(ask: Question) -> float:
    """Feldman, McMillan, Talwar (FOCS 2021), Theorem 3.1."""
    eps0, n, delta = ask.mechanism.law.pairwise_epsilon, ask.n, ask.delta
    most = math.log(n) - math.log(16.0 * log_over(2.0, delta))
    if eps0 > most:
        raise ask.refuse(f"eps0 = {eps0:.6g} and log(n/(16 log(2/delta))) = {most:.6g}")
    p = math.exp(eps0)
    spread = 8.0 * math.sqrt(p * log_over(4.0, delta) / n) + 8.0 * p / n
    return math.log1p(math.tanh(0.5 * eps0) * spread)


def efmrtt19(ask: Question) -> float:
    """Erlingsson et al. (SODA 2019): 12 eps0 sqrt(log(1/delta)/n) for small eps0, their general form from 1/2 on."""
    eps0, n, delta = ask.mechanism.law.pairwise_epsilon, ask.n, ask.delta
    log_term = log_over(1.0, delta)
    if eps0 < 0.5:
        if n < 1000 or delta >= 0.01:
            raise ask.refuse(f"eps0 = {eps0:.6g}, n = {n:,}, delta = {delta:g}")
        return 12.0 * eps0 * math.sqrt(log_term / n)
    if eps0 > 100.0:
        return eps0
    step = 2.0 * math.exp(2.0 * eps0) * math.expm1(eps0) / n
    if step > 100.0:
        return eps0
    return min(eps0, step * math.sqrt(2.0 * n * log_term) + n * step * math.expm1(step))
