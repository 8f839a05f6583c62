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
#: Times that a contour is evaluated, with a finer dither each time, where the dither costs more than was asked for.
REFINEMENTS = 3
#: Relative accuracy in delta that the first dither of a contour is for, where a finer one is asked for.
FIRST_DITHER = 1e-4
#: log of a delta below every positive double: a finer value is not needed.
UNDERFLOW = -760.0

# -- count tables --------------------------------------------------------------------------------------------------
#: The most count vectors of one table.
MOST_COUNTS = 200_000
#: Count vectors that cost about as much as one contour; a row of a table is used about twice.
COUNTS_OF_A_USE = 1_000
#: The most categories of a draw for which counts are listed.
MOST_CATEGORIES = 7
#: Expected draws outside the heaviest category up to which a table is tried.
MOST_DRAWS = 2_000.0

# -- solver and families -------------------------------------------------------------------------------------------
#: Steps of a first guess, most of which are needed only where it is poor.
GUESSES = 16
#: Evaluations of one row before the solver keeps what it has.
STEPS = 80
#: Relative accuracy in delta of a look that only decides whether a member needs to be solved.
GLANCE = 1e-2
#: An analysis whose log delta exceeds that of another one by this, at such a look, is not evaluated.
CLEARLY = 0.5
#: Members above this share of the largest spread are likely to be the worst; lower bounds over many users leave out
#: all others, because any subset of the members is one.
ENOUGH_SPREAD = 0.9
#: Users from which on a lower bound leaves such members out.
MANY_USERS = 1_000
#: Rows of one family that are evaluated at once, largest first, before the rest is compared with them.
AT_ONCE = 16
#: Rows of a search that are bounded at once: pairs of inputs x questions.
MOST_ROWS = 1_000_000
#: Pairs x symbols of a matrix over its blanket that are evaluated for one question; the bounds of other pairs count.
MOST_BLANKET_CELLS = 600_000
#: Numbers that the laws of rows which are evaluated at once consist of: rows x types x atoms.
LARGEST_CURVE = 2_000_000

#: Shuffled pairs of a family, up to which its profile may be sampled at many eps.
FEW_LAWS = 64
#: Symbols of all types of a swap bound, up to which its profile may be sampled at many eps.
FEW_SYMBOLS = 1_024

# -- profiles ------------------------------------------------------------------------------------------------------
#: Values of eps from which on a profile is drawn by chords.
MANY_POINTS = 128
#: Places of a profile that are evaluated first.
FIRST_KNOTS = 65

# -- mixtures ------------------------------------------------------------------------------------------------------
#: Crude values of pieces exceed the true ones by about e to this.
CRUDE = 3.0
#: Pieces that add less than this share of the accuracy asked for are not evaluated.
LEAST_SHARE = 1e-3

# -- the swap bound --------------------------------------------------------------------------------------------------
#: Step of the swap sum in tilted deviations: it raises the sum by about exp(-2 (pi/1.1)^2).
SWAP_STEP = 1.1
#: Its largest step in abscissas: it raises the sum by about exp(-2 pi/0.55).
SWAP_NARROW = 0.55
#: e^-this of a swap sum, or of delta, is not worth another node, block of nodes or waiting time.
SWAP_CUT = 24.0
#: The most nodes of one swap sum.
SWAP_NODES = 4096
#: Blocks of waiting times k grow by this ratio with k, and shrink by it as k comes near n.
WAITS_GROWTH = 1.2
#: Waiting times below this part of their mean are one block.
SHORT_WAIT = 0.01
#: Places of a table of A.
PLACES = 256
#: How far below its largest value A is tabulated (logarithm).
DEPTH = 60.0
#: Free users that are expected, below which the swap bound is the local delta.
NOBODY_FREE = 1e-6
#: The same where the types are a table: among so few all of them would have to be summed, over thousands of nodes.
#: With few types, a law that dominates all is tried down to a quarter of that, even far from 0.
FEW_FREE = 12.0
#: The widest dither of a swap sum that accuracy asks for, in tilted deviations.
WIDEST_SWAP_DITHER = 0.05
#: Below this many deviations of the saddle from 0 other abscissas may be better.
CLOSE = 3.5
#: Where one user's X is more than this many deviations of the sum, lattices resonate, and wider dithers may be better.
GRAINY = 0.1
#: The best line at one eps is kept while eps changes by less than this share of it, and of its distance to the limit.
NEARBY = 0.02
#: ... and while the abscissa changes by less than this share of it.
SAME_LINE = 0.1
#: A dither may be that of a normal law whose log delta is lower than the target by half of this.
WIDE = 50.0
#: Types are equally bad where their log U differ by less than this.
ALIKE = 0.5
#: Types that are tried in turn as the worst one, before a line is placed.
LEADERS = 8
#: Types that the best line is chosen for, the worst ones on the usual line ...
CONTENDERS = 3
#: ... if they are at most this far behind the worst one, in log delta.
BEHIND = 2.0
#: Types of the largest spread that a first guess looks at.
GUESSED_TYPES = 4
#: The law that dominates all types is used if its spread is at most this far above that of the worst type.
NEARLY_JOINED = 1.1
#: Types x symbols up to which that law is tried.
MOST_JOINED = 256
#: Values of X on which laws of more than twice as many symbols are spread ...
GRID = 4096
#: ... if that raises E X^2 by at most this part, and so eps by half of it.
GRID_COST = 4e-5
#: Dither of a sum over several classes of users, in tilted deviations.
CLASS_DITHER = 0.02
#: Pairs x types x symbols of a matrix that are evaluated for one question; the bounds of other pairs count.
MOST_SWAP_CELLS = 200_000
#: Open pairs x types x symbols up to which laws are looked at before pairs are evaluated.
MOST_OPEN_CELLS = 15_000_000
#: Nodes x symbols of all open types up to which they are summed on one line before pairs are evaluated.
MOST_SUMMED_CELLS = 40_000_000

# -- all crowds of few users -----------------------------------------------------------------------------------------
#: Products that may be formed to go through all crowds for one question: about 50 ms.
MOST_CROWD_WORK = 85_000_000
#: Entries of a matrix up to which that is considered at all.
MOST_CROWD_CELLS = 4096
#: Up to here every k is evaluated on its own and the answer is the truth to rounding.
EVERY_K = 256
