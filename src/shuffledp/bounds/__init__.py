"""One published bound per entry, all with one signature."""

from .base import Bound as Bound
from .base import DeltaFormula as DeltaFormula
from .base import EpsilonFormula as EpsilonFormula
from .base import Numerical as Numerical
from .registry import BOUNDS as BOUNDS
from .registry import bound_of as bound_of
from .registry import called as called
from .registry import choose as choose
from .registry import known as known
from .registry import names as names
from .registry import unalias as unalias
