"""Formulas in words that the library writes in plain text, as LaTeX: for the generated tables of the pages.

Messages, reports and files keep plain text; the site typesets what stands between dollar signs.
"""

from __future__ import annotations

import re

#: Whole formulas, longest first where one contains another.
_FORMULAS = {
    "t = (p alpha, p alpha, 1 - alpha - p alpha)/q": r"t = (p\alpha, p\alpha, 1 - \alpha - p\alpha)/q",
    "(r, r, 1 - 2r)": "(r, r, 1 - 2r)",
    "beta = (1-2f)/(2 s f (1-f)) E|N - N'| with N, N' ~ Bin(min(s, d-s), f), f = 1/(e^(eps0/2) + 1)": (
        r"\beta = \frac{1-2f}{2 s f (1-f)} \mathbb{E}\lvert N - N'\rvert"
        r" \text{ with } N, N' \sim \operatorname{Bin}(\min(s, d-s), f), f = 1/(e^{\varepsilon_0/2} + 1)"
    ),
    "beta = min(sp, 1-sp)(e-1)/Omega": r"\beta = \min(sp, 1-sp)(e-1)/\Omega",
    "(e-1)/(e+1) = 1/3": r"(e-1)/(e+1) = 1/3",
    "p = ((1-f)/f)^2": "p = ((1-f)/f)^2",
    "beta = (d-s)/s": r"\beta = (d-s)/s",
    "{0,1}^d": r"\{0,1\}^d",
    "F(Omega)": r"F(\Omega)",
    "Pr[Bin(n, t) >= k] <= exp(-n KL(k/n || t))": (
        r"\Pr[\operatorname{Bin}(n, t) \ge k] \le \exp(-n \operatorname{KL}(k/n \,\Vert\, t))"
    ),
    "M(c)^n": "M(c)^n",
    "M(c)": "M(c)",
    "|M|": r"\lvert M\rvert",
    "n/H^2": "n/H^2",
    "10^8": "10^8",
    "e^(eps0/2)": r"e^{\varepsilon_0/2}",
    "e^eps0": r"e^{\varepsilon_0}",
    "e^eps": r"e^{\varepsilon}",
    "P0, P1": "P_0, P_1",
    "eps0": r"\varepsilon_0",
    "eps": r"\varepsilon",
    "delta": r"\delta",
    "beta": r"\beta",
    "mu": r"\mu",
}
_FOUND = re.compile("|".join(rf"(?<![\w`/:-]){re.escape(plain)}(?![\w`(])" for plain in _FORMULAS))


def typeset(words: str) -> str:
    """The words with LaTeX for the formulas in them; code spans are left alone.

    >>> print(typeset("e^eps0 = 2, `eps0`, at most eps, not steps"))
    $e^{\\varepsilon_0}$ = 2, `eps0`, at most $\\varepsilon$, not steps
    """
    pieces = re.split(r"(`[^`]*`)", words)
    pieces[::2] = [_FOUND.sub(lambda match: f"${_FORMULAS[match[0]]}$", piece) for piece in pieces[::2]]
    return "".join(pieces)
