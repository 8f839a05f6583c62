# Written by make tables, from the table of names in __init__.py.
from .heavy_hitters import HeavyHitters as HeavyHitters
from .histogram import Histogram as Histogram
from .key_value import KeyValue as KeyValue
from .location import Location as Location
from .marginals import Marginals as Marginals
from .mean import Mean as Mean
from .mean import VectorMean as VectorMean
from .ranges import RangeQuery as RangeQuery
from .sets import SetFrequency as SetFrequency

__all__: list[str]
KINDS: dict[str, tuple[str, str]]
