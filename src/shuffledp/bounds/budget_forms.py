"""Earlier closed forms, which use eps0 alone."""

from __future__ import annotations

import math

from .base import Question, log_over


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
