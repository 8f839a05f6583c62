"""The mechanisms of the library, by name; it is read without loading any of them."""

from __future__ import annotations

#: The word of the spec -> module and class; a module is imported when its word is used.
CATALOG: dict[str, tuple[str, str]] = {
    # known by their parameters or law only
    "general": ("known.general", "General"),
    "variation-ratio": ("known.variation_ratio", "VariationRatio"),
    "finite": ("known.finite", "FiniteRandomizer"),
    # Table 2: eps0-LDP randomizers
    "laplace": ("numeric.laplace", "Laplace"),
    "privunit": ("numeric.privunit", "PrivUnit"),
    "gaussian": ("numeric.gaussian", "Gaussian"),
    "piecewise": ("numeric.window", "Piecewise"),
    "hybrid": ("numeric.hybrid", "Hybrid"),
    "levels": ("numeric.window", "Levels"),
    "grr": ("categorical.grr", "GRR"),
    "randomized-response": ("categorical.randomized_response", "RandomizedResponse"),
    "unary": ("categorical.unary", "Unary"),
    "optimized-unary": ("categorical.optimized_unary", "OptimizedUnary"),
    "subset": ("categorical.subset", "Subset"),
    "local-hash": ("categorical.local_hash", "LocalHash"),
    "hadamard": ("categorical.hadamard", "Hadamard"),
    "sampling-rappor": ("sets.sampling_rappor", "SamplingRappor"),
    "wheel": ("sets.wheel", "Wheel"),
    "duchi": ("numeric.duchi", "Duchi"),
    "harmony": ("numeric.harmony", "Harmony"),
    "privset": ("sets.privset", "PrivSet"),
    "pckv-grr": ("sets.pckv_grr", "PCKVGRR"),
    "hierarchical-grr": ("composite.hierarchical_grr", "HierarchicalGRR"),
    "parallel": ("composite.parallel", "Parallel"),
    "prefix-hash": ("composite.prefix_hash", "PrefixHash"),
    # means, made for the shuffle model
    "window": ("numeric.window", "Window"),
    "window-vector": ("numeric.window_vector", "WindowVector"),
    "binomial": ("numeric.binomial", "Binomial"),
    # several answers in one report
    "joint": ("composite.joint", "Joint"),
    # Table 3: metric privacy
    "metric-general": ("metric.general", "MetricGeneral"),
    "metric-laplace": ("metric.laplace", "MetricLaplace"),
    "planar-laplace": ("metric.planar_laplace", "PlanarLaplace"),
    "planar-cells": ("metric.planar_cells", "PlanarCells"),
    "exponential-metric": ("metric.exponential", "ExponentialMetric"),
    # Table 4: multi-message protocols
    "balcer-cheu": ("multimessage.balcer_cheu", "BalcerCheu"),
    "balcer-coin": ("multimessage.balcer_coin", "BalcerCoin"),
    "cheu-zhilyaev": ("multimessage.cheu_zhilyaev", "CheuZhilyaev"),
    "balls-into-bins": ("multimessage.balls_into_bins", "BallsIntoBins"),
    "pure-dump": ("multimessage.pure_dump", "PureDump"),
    "mix-dump": ("multimessage.mix_dump", "MixDump"),
    # what runs today
    "poisson-histogram": ("multimessage.poisson_histogram", "PoissonHistogram"),
    "poisson-sum": ("multimessage.poisson_sum", "PoissonSum"),
    # noise that the shuffler adds
    "augmented": ("multimessage.augmented", "Augmented"),
}
