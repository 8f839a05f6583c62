"""Estimates from a random sample of the users, and several of them side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..errors import ParameterError
from ..estimation.constraints import Constraint, Limit
from ..estimation.estimate import Estimate, moments_of
from ..estimation.moments import Moments
from ..estimation.variance import Variance


def sampled(estimate: Estimate, users: int) -> Estimate:
    """An estimate from a random sample of ``estimate.n`` out of ``users``, as one of all of them.

    Sampling without replacement adds (users - n)/(users - 1) of what drawing n users from a population adds: this
    part is counted as noise.  The remainder is what drawing the users adds.
    """
    n, sampling = estimate.n, estimate.sampling
    estimate = replace(estimate, moments=moments_of(estimate))  # of the reports there are
    if n >= users or n == 0:
        return replace(estimate, n=users)
    if sampling is None or estimate.constraint is None:
        raise ParameterError(
            "a mechanism that only a sample of the users runs must declare the constraint and the sampling variance "
            "of its estimate, got one without; pass constraint= and sampling= to Estimate in its _infer."
        )
    share = (users - n) / (users - 1.0)
    noise = Variance(estimate.stderr**2) if estimate.noise is None else estimate.noise
    more = share * sampling.at(np.clip(estimate.value, *estimate.constraint.limits))
    return replace(
        estimate,
        stderr=np.sqrt(estimate.stderr**2 + more),
        n=users,
        covariance=None,
        noise=noise.plus(sampling, share),
        sampling=Variance(0.0).plus(sampling, 1.0 - share),
    )


def without_reports(size: int, constraint: Constraint) -> Estimate:
    """The estimate without any report: 0, with infinite error."""
    error = np.full(size, np.inf)
    return Estimate(
        value=np.zeros(size),
        stderr=error,
        n=0,
        constraint=constraint,
        noise=Variance(error),
        sampling=Variance(0.0),
        influence=math.inf,
        moments=Moments(1, square=math.inf, own=0.0),
    )


def joined(parts: Sequence[Estimate], constraint: Constraint | None, users: int) -> Estimate:
    """Estimates of the same users one after the other, flattened."""

    def flat(entries: list[Limit]) -> Limit:
        pairs = zip(entries, parts, strict=True)
        return np.concatenate([np.broadcast_to(entry, part.value.shape).ravel() for entry, part in pairs])

    def flat_variance(found: list[Variance]) -> Variance:
        return Variance(flat([v.base for v in found]), flat([v.slope for v in found]), flat([v.bend for v in found]))

    noise = [Variance(p.stderr**2) if p.noise is None else p.noise for p in parts]
    sampling = [p.sampling for p in parts if p.sampling is not None]
    known = [p.influence for p in parts if p.influence is not None]
    return Estimate(
        value=np.concatenate([p.value.ravel() for p in parts]),
        stderr=np.concatenate([p.stderr.ravel() for p in parts]),
        n=users,
        constraint=constraint,
        noise=flat_variance(noise),
        sampling=flat_variance(sampling) if len(sampling) == len(parts) else None,
        grain=flat([p.grain for p in parts]),
        influence=flat(known) if len(known) == len(parts) else None,
    )
