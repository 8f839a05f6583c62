"""The swap bound in ball arithmetic: a finite sum of positive terms, so that its upper end is a proof.

For any c, h, s > 0, the same for all types x, and any number w of waits k = 0 ... w-1 (docs/swap.md, Theorem 2)

    delta(E) <= max_x [U(x) + exposed(x)] + (1-beta)^w local(E),
    U(x) = (h/2 pi) sum_{y in hZ} exp(s^2 (c^2 - y^2)/2) / (c^2 + y^2) A(|M_x(c+iy)|),
    A(r) = sum_{k<w} beta (1-beta)^k r^{n-1-k} / (n-1-k),

because each wait k >= w contributes at most local(E).  With r0 = M_x(c) >= |M_x(c+iy)|, and the waits in
blocks [first, last],

    A(r) <= sum over blocks of (r/r0)^{n-1-last} * (the block's part of A(r0), at its largest 1/(n-1-k)),

so the powers of r0 are computed once.  In particular A(r) <= (r/r0)^{n-w} A(r0), which bounds all nodes that are far
down, and with |M_x(c+iy)| <= M_x(c) exp(-(2/pi^2) Var_c y^2) for y <= pi/range (line.block_bounds) and the dither the
nodes that are not visited.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from flint import arb

from ...errors import CertificationError
from ..pair import ShuffledPair
from ..rows import take_rows
from ..swap.curve import SwapCurve
from ..swap.lines import FINE, LINES, on_line
from ..swap.pair import SwapPair
from ..swap.sums import node_count, weighed
from .balls import ball, largest, precision, smallest
from .pairs import MASS_SLACK, MAX_SYMBOLS, PROOF_SLACK, Law, Method, Proof, Tilted, law_at, line_of

#: Types of one victim pair, nodes, the exponents c X and s c: more than any proof that is chosen needs.
MAX_TYPES, MAX_NODES, MAX_EXPONENT = 1024, 16_384, 1_000
#: Blocks of waits grow by this ratio.
_GROWTH = 1.1
#: Where M(c) alone proves delta with this much of log delta to spare, no node is needed.
_CRUDE = 0.1
#: Lines are proposed as for this accuracy of eps.
_TOL = 1e-4
#: A node whose (r/r0)^(n-w) is below this is bounded by that power alone.
_FAR = Fraction(1, 2**60)


@dataclass(frozen=True)
class _Block:
    """Some waits: their part of A(r0), and the smallest power of r among them."""

    part: arb
    power: int


def work(types: Sequence[ShuffledPair], method: Method) -> float:
    """Steps of one proof, in units of about 5 microseconds; refused where no proof needs that many types or nodes."""
    if len(types) > MAX_TYPES:
        raise CertificationError(
            f"a victim pair must have at most {MAX_TYPES:,} types, got {len(types):,}; merge some."
        )
    if method.nodes > MAX_NODES:
        raise CertificationError(
            f"the swap sum must have at most {MAX_NODES:,} nodes, got {method.nodes:,}; certify again."
        )
    symbols = [int(np.count_nonzero(np.asarray(pair.t))) for pair in types]
    if max(symbols, default=0) > MAX_SYMBOLS:
        raise CertificationError(f"a type must have at most {MAX_SYMBOLS:,} symbols, got {max(symbols):,}; merge some.")
    visits = method.nodes + 1 if method.kind == "swap" else 1
    blocks = 16 + math.log(max(method.waits, 1)) / math.log(_GROWTH)
    steps = sum(visits * (count + 4) + min(visits, 16) * blocks for count in symbols)  # a far node needs no blocks
    return steps * max(1.0, method.bits / 256)


def prove(types: Sequence[ShuffledPair], common_mass: float, n: int, eps: Fraction, method: Method) -> Proof:
    """delta(eps) <= upper for a victim among n users, the others of any of these types; no claim from below."""
    if method.kind not in ("swap", "local"):
        raise CertificationError(f"a swap bound is proved by 'swap' or 'local', got {method.kind!r}; certify again.")
    if not types or not 0.0 <= common_mass <= 1.0:
        raise CertificationError(
            f"a swap bound needs at least one type and a common mass in [0, 1], got {len(types)} and {common_mass!r}; "
            "certify again."
        )
    with precision(method.bits):
        laws = [law_at(pair, eps, n=n) for pair in types]
        alone = largest([law.local for law in laws])
        if method.kind == "local":
            return Proof.of(arb(0), alone)
        return Proof.of(arb(0), _Sum(common_mass, n, method).largest(laws, alone))


class _Sum:
    """The sum at one (c, h, s), and the waits."""

    def __init__(self, common_mass: float, n: int, method: Method) -> None:
        self.c, self.s, self.h = line_of(method, "swap sum", MAX_NODES)
        if not 1 <= method.waits < n:
            raise CertificationError(f"waits must be from 1 to n - 1 = {n - 1:,}, got {method.waits:,}; certify again.")
        if method.s * method.c > MAX_EXPONENT:
            raise CertificationError(f"the dither s c must be at most {MAX_EXPONENT:,}; certify again.")
        self.n, self.method = n, method
        beta = Fraction(common_mass) * (1 - MASS_SLACK)
        self.beta, self.miss = ball(beta), ball(1 - beta)
        #: every power of r in A is at least this
        self.fewest = n - method.waits
        self.scale = (self.s * self.s * self.c * self.c / 2).exp() / arb.pi()

    def largest(self, laws: Sequence[Law], alone: arb) -> arb:
        """max over types of U + exposed, plus what the waits beyond the last one add."""
        for law in laws:
            for x in law.values:
                if not (self.c * x < MAX_EXPONENT and self.c * x > -(10**9)):  # e^-10^9 is a number like any other
                    raise CertificationError(f"c times a value must be at most {MAX_EXPONENT:,}; certify again.")
        open_ = []
        for law in laws:
            line = law.tilted(self.c)
            top = line.top.upper()
            blocks = self._blocks(top)
            peak = sum((block.part for block in blocks), arb(0))
            # the node 0, and an integral for the others
            crude = peak * self.scale * (self.h / (2 * self.c * self.c) + arb.pi() / (2 * self.c)) + law.exposed
            open_.append((crude.upper(), law.exposed, line, blocks, peak))
        best = arb(0)
        for crude, exposed, line, blocks, peak in sorted(open_, key=lambda item: item[0], reverse=True):
            if not crude <= best:
                value = (self._sum(line, line.top.upper(), blocks, peak) + exposed).upper()
                best = best.max(smallest([value, crude]))
        return best + self.miss**self.method.waits * alone

    def _blocks(self, top: arb) -> list[_Block]:
        """The parts of A(top)."""
        ratio = self.miss / top
        out = []
        first = 0
        while first < self.method.waits:
            # 1/(n-1-k) must not grow much within a block either
            wide = min(int(first * (_GROWTH - 1.0)), int((self.n - 1 - first) * (1.0 - 1.0 / _GROWTH)))
            last = min(first + max(1, wide), self.method.waits) - 1
            width = last - first + 1
            geometric = arb(1)
            if width > 1:  # 1 + ratio + ... + ratio^(width-1), which the quotient misses near ratio = 1
                geometric = width * ratio.max(arb(1)) ** (width - 1)
                quotient = (1 - ratio**width) / (1 - ratio)
                if quotient.is_finite():
                    geometric = smallest([geometric, quotient.upper()])
            weight = self.beta * self.miss**first * top ** (self.n - 1 - first)
            out.append(_Block((weight * geometric / (self.n - 1 - last)).upper(), self.n - 1 - last))
            first = last + 1
        return out

    def _sum(self, line: Tilted, top: arb, blocks: Sequence[_Block], peak: arb) -> arb:
        """U of one type, the nodes beyond the last one included."""
        far = ball(_FAR)
        half, square = self.s * self.s / 2, self.c * self.c
        total = peak / (2 * square)
        for k in range(1, self.method.nodes + 1):
            y = self.h * k
            ratio = smallest([(abs(line.at(y)) / top).upper(), arb(1)])  # |M(c+iy)| <= M(c)
            size = ratio**self.fewest
            if size < far:
                size *= peak
            else:
                size = sum((block.part * ratio**block.power for block in blocks), arb(0))
            total += size.upper() * (-half * y * y).exp() / (square + y * y)
        rest = line.rest(self.fewest, self.s, self.h, self.method.nodes, square)
        return self.scale * (self.h * total + peak * rest)


class Proposal(NamedTuple):
    """A method, log of the delta that it is about to prove, and -d(log delta)/d(eps)."""

    method: Method
    log_delta: float
    fall: float


@np.errstate(all="ignore")
def propose(member: SwapPair, n: int, eps: float, delta: float) -> Proposal:
    """The first line that proves delta at eps, or else the best one; nothing here needs to be trusted."""
    bits, at = 112 + 2 * n.bit_length(), np.array([max(eps - float(PROOF_SLACK), 0.0)])
    curve = SwapCurve.of([member], np.array([float(n)]), _TOL)
    local = curve.members.local(curve.which, at)
    log_local, fall = float(local.log_delta[0]), max(float(local.slope[0]), 1e-3)
    if n <= 2 or member.common_mass <= 0.0 or log_local <= math.log(delta) - 1e-9:
        return Proposal(Method("local", bits), log_local, fall)
    here, slope = curve.placed(at)
    fall, every = max(float(slope[0]), 1e-3), np.arange(here.owner.size)
    rest, waits = float(here.waiting.log_rest[0]) + log_local, n - int(here.waiting.fewest[0])
    best = Proposal(Method("local", bits), log_local, fall)
    for k in range(len(LINES)):
        line = here.line(np.zeros(1, dtype=np.int64), np.array([k]), FINE)
        types = here.on(every, take_rows(line, here.owner))
        crude = weighed(1.0 / types.line.c**2 + np.pi / (types.line.c * types.line.h), types.peak, types.line)
        value = float(np.logaddexp(np.logaddexp(crude, here.log_bare).max(), rest))
        enough = value <= math.log(delta) - _CRUDE  # M(c) alone proves it: no node is needed
        if not enough:
            value = float(np.logaddexp(on_line(here, np.array([k]), FINE).max(), rest))
        if value < best.log_delta:
            nodes = 1 if enough else min(max(math.ceil(float(node_count(types).max())), 1), MAX_NODES)
            c, h, s = (float(part[0]) for part in line)
            best = Proposal(Method("swap", bits, c=c, s=s, h=h, nodes=nodes, waits=waits), value, fall)
        if value <= math.log(delta):
            break
    return best


def cap(members: Sequence[SwapPair]) -> float:
    """The eps from which on the local divergence alone proves delta = 0; inf if there is none."""
    return max((member.limit for member in members), default=0.0) + 4.0 * float(PROOF_SLACK)
