"""Table 5: eps of any eps0-LDP randomizer that all users run, for up to 10^8 users, beside what is printed."""

from __future__ import annotations

from typing import Any

from ..bounds import BOUNDS
from ..mechanisms.known.general import General

#: (eps0, n) -> printed eps and seconds for T = 20, then for T = 10 (i7-10700KF, 3.8 GHz, Python 3.8).
PRINTED: dict[tuple[float, int], tuple[str, float, str, float]] = {
    (1.0, 10**4): ("0.0433", 0.45, "0.0440", 2.3),
    (1.0, 10**6): ("0.00503", 16.7, "0.00586", 4.7),
    (1.0, 10**8): ("0.000566", 106.2, "0.000977", 0.43),
    (3.0, 10**4): ("0.227", 3.8, "0.229", 1.5),
    (3.0, 10**6): ("0.0255", 13.9, "0.0264", 2.8),
    (3.0, 10**8): ("0.00283", 117.5, "0.00293", 5.2),
    (5.0, 10**4): ("0.743", 2.4, "0.743", 0.9),
    (5.0, 10**6): ("0.0778", 9.3, "0.0782", 3.1),
    (5.0, 10**8): ("0.00853", 44.6, "0.00977", 7.9),
    (7.0, 10**4): ("6.99", 0.24, "6.99", 0.31),
    (7.0, 10**6): ("0.224", 2.8, "0.225", 1.2),
    (7.0, 10**8): ("0.0242", 17.9, "0.0273", 5.1),
}


def table(settings: dict[str, Any]) -> dict[str, Any]:
    """One row per (eps0, n): our eps (relative accuracy ``tol``, never below the truth), and theirs with its time."""
    rows = []
    for (eps0, n), (eps20, seconds20, eps10, seconds10) in PRINTED.items():
        asked = {"n": n, "delta": settings["delta_times_n"] / n, "tol": settings["tol"]}
        eps = BOUNDS["general"].epsilon(General(eps0=eps0), **asked).epsilon
        rows.append(
            {
                "eps0": eps0,
                "n": n,
                "epsilon": eps,
                "T20": {"epsilon": eps20, "seconds": seconds20, "above": float(eps20) / eps - 1.0},
                "T10": {"epsilon": eps10, "seconds": seconds10, "above": float(eps10) / eps - 1.0},
            }
        )
    return {"rows": rows}
