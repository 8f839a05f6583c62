from __future__ import annotations

from typing import Any

import numpy as np

from contract.cases import Case, frequencies
from reference.places import DATA
from shuffledp.mechanisms.metric.exponential import ExponentialMetric
from shuffledp.mechanisms.metric.general import MetricGeneral
from shuffledp.mechanisms.metric.laplace import MetricLaplace
from shuffledp.mechanisms.metric.planar_cells import PlanarCells
from shuffledp.mechanisms.metric.planar_laplace import PlanarLaplace


def line(length: float) -> Any:
    def data(n: int) -> tuple[Any, Any]:
        values = np.linspace(0.0, length, n) ** 2 / length
        return values, np.array([values.mean()])

    return data


def disk(diameter: float) -> Any:
    def data(n: int) -> tuple[Any, Any]:
        angle, radius = np.linspace(0.0, 2.0, n), np.linspace(0.0, 0.5 * diameter, n)
        values = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
        return values, values.mean(axis=0)

    return data


GENERAL = [MetricGeneral(d01=d, dmax=far) for d, far in ((0.5, 0.5), (1.0, 3.0))]
LINE = [MetricLaplace(d01=d, dmax=far) for d, far in ((1.0, 1.0), (0.3, 2.0), (2.0, 6.0))]
PLANE = [PlanarLaplace(d01=d, dmax=far) for d, far in ((0.5, 2.0), (2.0, 2.0))]
#: Any two cells are neighbors in these, as the matrix of a local guarantee is.
MAPS = [
    PlanarCells(d01=4.0, dmax=4.0, across=3, up=2, wide=1.7, high=1.2),
    PlanarCells(d01=2.0, dmax=2.0, across=1, up=2, wide=0.5, high=2.0),
]
POINTS = [(3, ExponentialMetric.from_file(DATA / "distances-3.csv", eps=eps)) for eps in (0.5, 2.0)]
POINTS += [(5, ExponentialMetric.from_file(DATA / "distances-5.csv", eps=1.5))]

CASES = [
    *(Case(m, frequencies(1), enumerable=False, same_law=False) for m in GENERAL),
    # the listed inputs are three of many, so the matrix of them says less than the class
    *(Case(m, line(m.dmax), same_law=False, exact_ratio=False) for m in LINE),
    *(Case(m, disk(m.dmax), enumerable=False, same_law=False, exact_ratio=False) for m in PLANE),
    # the bounds are those of the plane
    *(Case(m, frequencies(m.across * m.up), same_law=False, exact_ratio=False) for m in MAPS),
    *(Case(m, frequencies(k)) for k, m in POINTS),
]
