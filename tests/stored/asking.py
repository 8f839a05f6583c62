"""Asking one question, through the public names only.

A question is a plain dictionary: what to ask, of which mechanism, on which terms.  A mechanism is a spec, or one of
{"matrix": rows}, {"distances": rows, "eps": eps}, {"parallel": [[weight, spec], ...]}, {"pair": {"P0", "P1", "t"}}.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import shuffledp as sdp
from reference.commands import run

from .judging import TOL, Number
from .values import users_values

Asked = dict[str, Any]
Answer = dict[str, Number]

#: Many rounds: profiles are sampled to 1e-4 or 1e-3 of delta, which moves eps by this share of it.
ROUNDS_REL = 2e-5
#: The same for a delta of many rounds.
ROUNDS_DELTA = 1e-3
#: Seeded draws may change, their law may not: six standard errors of a difference.
STDERRS = 6.0 * math.sqrt(2.0)


def ask(asked: Asked) -> Answer:
    """The answer; a refusal is one, too."""
    try:
        return _HOW[asked["ask"]](asked)
    except sdp.ShuffleDPError as error:
        return {"raises": Number("is", type(error).__name__)}


def _mechanism(given: Any) -> Any:
    if isinstance(given, str):
        return given
    if "matrix" in given:
        return sdp.FiniteRandomizer(given["matrix"])
    if "distances" in given:
        return sdp.ExponentialMetric(given["distances"], eps=given["eps"])
    if "parallel" in given:
        return sdp.Parallel([tuple(query) for query in given["parallel"]])
    return sdp.ShuffledPair(**given["pair"])


def _object(given: Any) -> Any:
    made = _mechanism(given)
    return sdp.mechanism(made) if isinstance(made, str) else made


def _terms(asked: Asked, *without: str) -> dict[str, Any]:
    return {key: value for key, value in asked.items() if key not in ("ask", "mechanism", *without)}


def _side(bound_side: str, sound: bool) -> str:
    """A formula that is no bound may not move at all."""
    return bound_side if sound else "exact"


def _bracket(guarantee: Any) -> Answer:
    found = {"epsilon": Number(_side(guarantee.kind, guarantee.sound), guarantee.epsilon)}
    if guarantee.lower is not None:
        found["lower"] = Number("lower", guarantee.lower)
    return found


def _amplify(asked: Asked) -> Answer:
    made = sdp.amplify(_mechanism(asked["mechanism"]), tol=TOL, **_terms(asked))
    return _bracket(made) | {"local": Number("exact", made.local_epsilon, 1e-9)}


def _certify(asked: Asked) -> Answer:
    made = sdp.amplify(_mechanism(asked["mechanism"]), tol=TOL, certify=True, **_terms(asked))
    sdp.verify(made.certificate)
    return _bracket(made)


def _profile(asked: Asked) -> Answer:
    side = asked.get("side", "upper")
    delta = sdp.profile(_mechanism(asked["mechanism"]), tol=TOL, **_terms(asked))
    return {"delta": Number(side, delta.tolist())}


def _compare(asked: Asked) -> Answer:
    made = sdp.compare(_mechanism(asked["mechanism"]), tol=TOL, **_terms(asked))
    return {row.bound: Number(_side(row.side, row.sound), row.epsilon) for row in made.rows}


def _sweep(asked: Asked) -> Answer:
    made = sdp.sweep(_mechanism(asked["mechanism"]), tol=TOL, **_terms(asked))
    found = {}
    for name in asked["bounds"]:
        row = made.row(name)
        values = [None if masked else float(x) for x, masked in _unmasked(made.epsilon(name))]
        found[name] = Number(_side(row.side, row.sound), [x for x in values if x is not None])
    return found


def _unmasked(values: Any) -> list[tuple[float, bool]]:
    return list(zip(values.data.tolist(), np.ma.getmaskarray(values).tolist(), strict=True))


def _calibrate(asked: Asked) -> Answer:
    """``found`` says which parameter to read, ``side`` which way is better; with a setting left open, the variance."""
    made = sdp.calibrate(_mechanism(asked["mechanism"]), tol=TOL, **_terms(asked, "found", "side"))
    if asked["found"] == "variance":
        return {"variance": Number("upper", float(made.variance(asked["n"])), 1e-5)}
    number = getattr(made, asked["found"])
    return {asked["found"]: Number(asked["side"], number, 1e-5, 1 if isinstance(number, int) else 0.0)}


def _users_needed(asked: Asked) -> Answer:
    found = sdp.users_needed(_mechanism(asked["mechanism"]), tol=TOL, **_terms(asked))
    return {"n": Number("upper", found, 4.0 * TOL, 1)}


def _delta_needed(asked: Asked) -> Answer:
    return {"delta": Number("upper", sdp.delta_needed(_mechanism(asked["mechanism"]), tol=TOL, **_terms(asked)))}


def _batch_table(asked: Asked) -> Answer:
    made = sdp.batch_table(_mechanism(asked["mechanism"]), tol=TOL, **_terms(asked))
    return {"sizes": Number("exact", list(made.sizes), 0.0), "epsilon": Number("upper", list(made.epsilons))}


def _amplify_mixed(asked: Asked) -> Answer:
    classes = [(_mechanism(given), users) for given, users in asked["classes"]]
    made = sdp.amplify_mixed(classes, tol=TOL, **_terms(asked, "classes"))
    return {"epsilon": Number("upper", made.epsilon), "classes": Number("upper", [c.epsilon for c in made.classes])}


def _account(asked: Asked) -> Any:
    account = sdp.Accountant()
    for terms in asked["rounds"]:
        account.compose(_mechanism(terms["mechanism"]), **{k: v for k, v in terms.items() if k != "mechanism"})
    return account


def _composed_epsilon(asked: Asked) -> Answer:
    terms = _terms(asked, "rounds")
    return {"epsilon": Number("upper", _account(asked).epsilon(**terms), ROUNDS_REL)}


def _composed_delta(asked: Asked) -> Answer:
    terms = _terms(asked, "rounds")
    return {"delta": Number("upper", _account(asked).delta(**terms), ROUNDS_DELTA)}


def _composed_bracket(asked: Asked) -> Answer:
    made = _account(asked).guarantee(delta=asked["delta"])
    found = {
        "epsilon": Number("upper", made.epsilon, ROUNDS_REL),
        "pure": Number("exact", made.pure_epsilon, 1e-9),
        "cost": Number("exact", made.cost, 0.0),
    }
    return found if made.lower is None else found | {"lower": Number("lower", made.lower, 1e-4)}


def _remaining(asked: Asked) -> Answer:
    found = _account(asked).remaining(mechanism=_mechanism(asked["mechanism"]), **_terms(asked, "rounds"))
    return {"count": Number("lower", found, 1e-4, 1)}


def _check(asked: Asked) -> Answer:
    made = sdp.check(asked["programme"])
    found = {"within": Number("is", made.within), "epsilon": Number("upper", made.epsilon, 1.01e-4)}
    return found | {"pure": Number("exact", made.pure_epsilon, 1e-9)}


def _variance(asked: Asked) -> Answer:
    variance = _object(asked["mechanism"]).variance(**_terms(asked))
    return {"variance": Number("exact", np.ravel(variance).tolist(), 1e-9)}


def _ratio(asked: Asked) -> Answer:
    found = _object(asked["mechanism"]).variation_ratio()
    return {key: Number("exact", getattr(found, key), 1e-9) for key in ("p", "beta", "q")}


def _law(asked: Asked) -> Answer:
    """The sum of squares of every row: enough to notice another law, whatever the order of the outputs."""
    rows = np.asarray(_object(asked["mechanism"]).probabilities())
    return {"squares": Number("exact", (rows**2).sum(axis=1)[:8].tolist(), 1e-9)}


def _estimate(asked: Asked) -> Answer:
    """Seeded reports of fixed values: the estimate by its law, within several standard errors."""
    mechanism = _object(asked["mechanism"])
    values = users_values(asked["values"], asked["users"])
    made = mechanism.estimate(mechanism.privatize(values, rng=np.random.default_rng(asked["seed"])))
    value, stderr = np.ravel(made.value)[:8], np.ravel(made.stderr)[:8]
    return {
        "value": Number("exact", value.tolist(), 0.0, (STDERRS * stderr).tolist()),
        "stderr": Number("exact", float(np.mean(stderr)), 0.15),
    }


def _reports(asked: Asked) -> Answer:
    """Fixed reports."""
    made = _object(asked["mechanism"]).estimate(np.array(asked["reports"]))
    return {
        "value": Number("exact", np.ravel(made.value).tolist(), 1e-9, 1e-12),
        "stderr": Number("exact", np.ravel(made.stderr).tolist(), 1e-9),
    }


def _command(asked: Asked) -> Answer:
    """A command with --json; ``read`` maps the path of a number in its answer to a side."""
    result = run(*asked["args"])
    found = {"exit code": Number("is", result.exit_code)}
    if asked["read"]:
        plain = json.loads(result.stdout)
        for path, side in asked["read"].items():
            value = plain
            for key in path.split("."):
                value = value[int(key) if isinstance(value, list) else key]
            rel = ROUNDS_REL if asked["args"][0] in ("compose", "check") else 1e-5
            found[path] = Number(side, _read(value), rel, 1 if isinstance(value, int) else 0.0)
    return found


def _read(value: Any) -> Any:
    """Certificates write numbers as decimals in full, and infinity is a word."""
    return [float(v) for v in value] if isinstance(value, list) else float(value)


_HOW: dict[str, Callable[[Asked], Answer]] = {
    "amplify": _amplify,
    "certify": _certify,
    "profile": _profile,
    "compare": _compare,
    "sweep": _sweep,
    "calibrate": _calibrate,
    "users_needed": _users_needed,
    "delta_needed": _delta_needed,
    "batch_table": _batch_table,
    "amplify_mixed": _amplify_mixed,
    "Accountant.epsilon": _composed_epsilon,
    "Accountant.delta": _composed_delta,
    "Accountant.guarantee": _composed_bracket,
    "Accountant.remaining": _remaining,
    "check": _check,
    "variance": _variance,
    "variation_ratio": _ratio,
    "probabilities": _law,
    "estimate": _estimate,
    "reports": _reports,
    "command": _command,
}
