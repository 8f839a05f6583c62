"""All that a mechanism or a bound of one's own imports; docs/extending.md shows how.

Mechanisms derive from :class:`FrequencyOracle`, :class:`Randomizer` or :class:`Mechanism`, declare their parameters by
:func:`budget`, :func:`whole` and :func:`real`, write reports with a codec, and state their law in shuffled pairs.

Examples
--------
>>> from shuffledp.extend import FrequencyOracle, PairSet, ShuffledPair, register, register_bound
"""

from .bounds.base import Bound as Bound
from .bounds.base import DeltaFormula as DeltaFormula
from .bounds.base import EpsilonFormula as EpsilonFormula
from .bounds.base import Numerical as Numerical
from .bounds.base import Question as Question
from .bounds.registry import register_bound as register_bound
from .errors import BoundNotApplicableError as BoundNotApplicableError
from .errors import ParameterError as ParameterError
from .estimation.constraints import Ball as Ball
from .estimation.constraints import Box as Box
from .estimation.constraints import Simplex as Simplex
from .estimation.estimate import Estimate as Estimate
from .estimation.estimate import modeled as modeled
from .estimation.variance import Variance as Variance
from .estimation.variance import range_sampling as range_sampling
from .estimation.variance import share_sampling as share_sampling
from .mechanisms.accuracy import Accuracy as Accuracy
from .mechanisms.accuracy import of_shares as of_shares
from .mechanisms.base import Mechanism as Mechanism
from .mechanisms.codecs import Category as Category
from .mechanisms.codecs import Members as Members
from .mechanisms.codecs import Numbers as Numbers
from .mechanisms.codecs import PackedBits as PackedBits
from .mechanisms.free_setting import open_setting as open_setting
from .mechanisms.frequency import FrequencyOracle as FrequencyOracle
from .mechanisms.known.finite import FiniteRandomizer as FiniteRandomizer
from .mechanisms.known.general import General as General
from .mechanisms.known.variation_ratio import VariationRatio as VariationRatio
from .mechanisms.numeric.discrete_laplace import discrete_laplace as discrete_laplace
from .mechanisms.numeric.discrete_laplace import on_grid as on_grid
from .mechanisms.parameters import budget as budget
from .mechanisms.parameters import real as real
from .mechanisms.parameters import whole as whole
from .mechanisms.randomizer import Randomizer as Randomizer
from .mechanisms.registry import register as register
from .mechanisms.values import categories as categories
from .mechanisms.values import item_sets as item_sets
from .mechanisms.values import numbers as numbers
from .numerics.family import Family as Family
from .numerics.family import PairSet as PairSet
from .numerics.pair import ShuffledPair as ShuffledPair
from .numerics.pair import both_directions as both_directions
from .randomness.sampling import Source as Source
from .randomness.sampling import below as below
from .randomness.sampling import bernoulli as bernoulli
from .randomness.sampling import pick as pick
from .randomness.thresholds import chance_of as chance_of
from .randomness.thresholds import cuts as cuts
from .randomness.thresholds import threshold as threshold
