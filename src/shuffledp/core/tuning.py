"""Numbers that only trade time for tightness: whatever they are, every answer stays on its private side.

One name, one sentence, one unit each.  Nothing that soundness rests on is here (numerics/ledger.py names that).
"""

from __future__ import annotations

#: Doubles of scratch memory that a sum works on at once: rows x nodes x atoms.
CELLS = 200_000
#: e^eps beyond this eps is not formed: upper values stop falling there, lower ones are those of eps -> inf.
LARGEST_EPSILON = 200.0

# -- the line on which a trapezoid sum is taken ------------------------------------------------------------------
#: Nodes of one block of a sum; blocks that add nothing are bounded as a whole.
BLOCK = 32
#: Nodes below e^-MARGIN times the accuracy that is asked for are bounded, not evaluated.
MARGIN = 10.0
#: The widest dither, in units of the range of X.
WIDEST_DITHER = 3.0
#: The most nodes of one row of the contour; beyond it the dither is widened.
MOST_NODES = 400_000.0
#: log of a delta below every positive double: a finer value is not needed.
UNDERFLOW = -760.0

# -- count tables --------------------------------------------------------------------------------------------------
#: The most count vectors of one table.
MOST_COUNTS = 20_000
#: The most categories of a draw for which counts are listed.
MOST_CATEGORIES = 7
#: Expected draws outside the heaviest category up to which a table is tried.
MOST_DRAWS = 2_000.0
#: Counts that are left out of a table have at most this probability.
LEAST_COUNT = 1e-48

# -- solver and families -------------------------------------------------------------------------------------------
#: Evaluations of one row before the solver keeps what it has.
STEPS = 80
#: Relative accuracy in delta of a look that only decides whether a member needs to be solved.
GLANCE = 1e-3
#: Of a lower bound over many users, members below this share of the largest spread are left out: any subset is one.
ENOUGH_SPREAD = 0.9
#: Users from which on a lower bound leaves such members out.
MANY_USERS = 1_000
#: Rows of one family that are evaluated at once, largest first, before the rest is compared with them.
AT_ONCE = 16

# -- profiles ------------------------------------------------------------------------------------------------------
#: Values of eps from which on a profile is drawn by chords.
MANY_POINTS = 128
#: Places of a profile that are evaluated first.
FIRST_KNOTS = 65

# -- the swap bound --------------------------------------------------------------------------------------------------
#: Step of the swap sum, in tilted deviations, and at most in abscissas: a coarse one raises the sum by e^-16 or less.
SWAP_STEP = 1.1
SWAP_NARROW = 0.55
#: log of the share of the first node below which the Gaussian tail of a sum is left to its bound.
SWAP_CUT = 25.0
#: Where the dither ends a sum, what is beyond is about one part in so many.
SWAP_FAR = 1e7
#: Blocks of nodes below this share of the first node are bounded, not summed.
SWAP_LITTLE = 1e-9
#: The most nodes of one swap sum.
SWAP_NODES = 4096
#: Blocks of waiting times k grow by this ratio with k, and shrink by it as k comes near n.
WAITS_GROWTH = 1.2
#: Places of a table of A, and how far below its largest value it goes (logarithm).
PLACES = 256
DEPTH = 60.0
#: Below this share of the first node a modulus stands for a real part.
SWAP_TINY = 1e-25
#: e^-this of delta is not worth a further waiting time.
WAITS_KEPT = 25.0
#: Free users that are expected, below which the swap bound is the local delta.
NOBODY_FREE = 1e-6
#: The widest dither of a swap sum that accuracy asks for, in tilted deviations.
WIDEST_SWAP_DITHER = 0.05
#: Below this many deviations of the saddle from 0 other abscissas may be better.
CLOSE = 3.5
#: Where one user's X is more than so many deviations of the sum, lattices resonate, and wider dithers may be better.
GRAINY = 0.1
#: What was the best line at one eps is so up to this part of it.
NEARBY = 0.01
#: Types that are tried in turn as the worst one, before a line is placed.
LEADERS = 4
#: Types of the largest spread that a first guess looks at.
GUESSED_TYPES = 4
#: The law that dominates all types is used if its spread is at most this far above that of the worst type.
NEARLY_JOINED = 1.1
#: Types x symbols up to which that law is tried.
MOST_JOINED = 256
