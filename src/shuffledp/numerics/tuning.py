"""Numbers that only trade time for tightness: with any values, every answer stays on its private side.

Each has one name, one sentence and one unit.  Nothing here carries soundness; numerics/ledger.py lists what does.
"""

from __future__ import annotations

#: Doubles of scratch memory that a sum works on at once: rows x nodes x atoms.
CELLS = 200_000
#: Beyond this eps e^eps is not formed: upper values stop falling, and lower ones are those of eps -> inf.
LARGEST_EPSILON = 200.0

# -- the line on which a trapezoid sum is taken ------------------------------------------------------------------
#: Nodes of one block of a sum; a block that adds next to nothing is bounded as a whole.
BLOCK = 32
#: Nodes below e^-MARGIN times the accuracy that is asked for are bounded, not evaluated.
MARGIN = 10.0
#: The widest dither, in units of the range of X.
WIDEST_DITHER = 3.0
#: The relative accuracy in delta for which a row of the contour may have the most nodes; for others it has fewer.
FINEST = 1e-6
#: The most nodes of one row of the contour; beyond it the dither is widened.
MOST_NODES = 400_000.0
#: Times that a contour may be evaluated, with a finer dither and step each time, until these cost as little as asked.
REFINEMENTS = 3
#: log of a delta that is below every positive double: no finer value is needed.
UNDERFLOW = -760.0

# -- count tables --------------------------------------------------------------------------------------------------
#: The most count vectors of one table.
MOST_COUNTS = 200_000
#: Count vectors that cost about as much as one contour, for each time that a table is used.
COUNTS_OF_A_USE = 1_000
#: The most categories of a draw for which counts are listed.
MOST_CATEGORIES = 7
#: Expected draws outside the heaviest category up to which a table is tried.
MOST_DRAWS = 2_000.0

# -- solver and families -------------------------------------------------------------------------------------------
#: Iterations of a first guess at most; few are needed unless it is poor.
GUESSES = 16
#: Evaluations of one row, after which the solver returns its best safe answer.
STEPS = 80
#: Relative accuracy in delta of an evaluation that only decides whether a member must be solved.
GLANCE = 1e-2
#: An analysis whose log delta exceeds that of another by this, at such an accuracy, is not evaluated further.
CLEARLY = 0.5
#: Members above this share of the largest spread are likely to be the worst.
ENOUGH_SPREAD = 0.9
#: Rows of one family that are evaluated at once, largest first, before the others are compared with them.
AT_ONCE = 16
#: Rows of a search that are bounded at once: pairs of inputs x questions.
MOST_ROWS = 1_000_000
#: Pairs x symbols of a matrix over its blanket that are evaluated for one question; the bounds of other pairs count.
MOST_BLANKET_CELLS = 600_000
#: Size of the laws of rows that are evaluated at once: rows x types x atoms.
LARGEST_CURVE = 2_000_000

#: Up to this many shuffled pairs, the profile of a family may be sampled at many eps.
FEW_LAWS = 64
#: Up to this many symbols over all types, the profile of a swap bound may be sampled at many eps.
FEW_SYMBOLS = 1_024

# -- profiles ------------------------------------------------------------------------------------------------------
#: From this many values of eps on, a profile uses chords.
MANY_POINTS = 128
#: Places of a profile that are evaluated first.
FIRST_KNOTS = 65

# -- mixtures ------------------------------------------------------------------------------------------------------
#: log of about how far crude values of pieces exceed the true ones.
CRUDE = 3.0
#: A piece that adds less than this share of the requested accuracy is not evaluated.
LEAST_SHARE = 1e-3

# -- the swap bound --------------------------------------------------------------------------------------------------
#: Step of the swap sum, over 1/(tilted deviation): it raises the sum by about exp(-2 (pi/1.1)^2).
SWAP_STEP = 1.1
#: Its largest step, over the abscissa: it raises the sum by about exp(-2 pi/0.55).
SWAP_NARROW = 0.55
#: A node, block of nodes or waiting time below e^-this of a swap sum, or of delta, is not evaluated.
SWAP_CUT = 24.0
#: Windows around the mean of X, each a third of the one before, by which the nodes of a type that is not evaluated are
#: bounded.
SWAP_WINDOWS = 4
#: The most nodes of one swap sum.
SWAP_NODES = 4096
#: Blocks of waiting times k grow by this ratio with k, and shrink by it as k comes near n.
WAITS_GROWTH = 1.2
#: Waiting times below this share of their mean form one block.
SHORT_WAIT = 0.01
#: Places at which A is tabulated.
PLACES = 256
#: How far below its largest value A is tabulated, as a logarithm.
DEPTH = 60.0
#: With fewer expected free users the swap bound is the local delta.
NOBODY_FREE = 1e-6
#: The same where the types are a table: with fewer free users all types would be summed, over thousands of nodes.
FEW_FREE = 12.0
#: The widest dither of a usual swap sum, in tilted deviations.
WIDEST_SWAP_DITHER = 0.05
#: If the saddle is fewer deviations from 0 than this, other abscissas may be better.
CLOSE = 3.5
#: If the range of one user's X exceeds this many deviations of the sum, lattices resonate: wider dithers may be better.
GRAINY = 0.2
#: A dither may be that of a normal law whose log delta is lower than the target by half of this.
WIDE = 50.0
#: How many types are tried in turn as the worst one before a line is placed.
LEADERS = 8
#: The best line is chosen for this many types, the worst ones on the usual line ...
CONTENDERS = 3
#: ... that are at most this far below the worst one in log delta.
BEHIND = 2.0
#: A first guess looks at this many types, those of the largest spread.
GUESSED_TYPES = 4
#: Dither of a sum over several classes of users, in tilted deviations.
CLASS_DITHER = 0.02
#: Pairs x types x symbols of a matrix that are evaluated for one question; the bounds of other pairs count.
MOST_SWAP_CELLS = 200_000
#: Up to this many open pairs x types x symbols, laws are bounded before pairs are evaluated.
MOST_OPEN_CELLS = 15_000_000
#: Up to this many nodes x symbols over all open types, these are summed on one line before pairs are evaluated.
MOST_SUMMED_CELLS = 40_000_000
