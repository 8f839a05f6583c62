"""Shuffled outputs in exact fractions: small enough to enumerate, so that nothing has to be believed.

The adversary sees the multiset of the reports.  Its law is built message by message as a dictionary from counts
to fractions, and divergences are sums over that dictionary: no floats, no formula of this library.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, permutations, product

Law = dict[tuple[int, ...], Fraction]
Matrix = list[list[Fraction]]


def hockey_stick(first: Law, second: Law, ratio: Fraction) -> Fraction:
    """D_E(first || second), the sum of max(0, first - E second) with E = ``ratio``.

    Examples
    --------
    >>> coin = {(1, 0): Fraction(2, 3), (0, 1): Fraction(1, 3)}
    >>> hockey_stick(coin, {(1, 0): Fraction(1, 3), (0, 1): Fraction(2, 3)}, Fraction(1))
    Fraction(1, 3)
    """
    zero = Fraction(0)
    return sum((max(zero, mass - ratio * second.get(seen, zero)) for seen, mass in first.items()), zero)


def send(law: Law, message: Sequence[Fraction]) -> Law:
    """The law of the counts after one more independent message; what ``message`` lacks to 1 leaves no trace.

    Examples
    --------
    >>> send({(0, 0): Fraction(1)}, [Fraction(1, 4), Fraction(1, 4)])[(0, 0)]
    Fraction(1, 2)
    """
    out: Law = {}
    nothing = 1 - sum(message)
    for counts, mass in law.items():
        if nothing:
            out[counts] = out.get(counts, Fraction(0)) + mass * nothing
        for symbol, chance in enumerate(message):
            if chance:
                more = (*counts[:symbol], counts[symbol] + 1, *counts[symbol + 1 :])
                out[more] = out.get(more, Fraction(0)) + mass * chance
    return out


def among(victim: Sequence[Sequence[Fraction]], others: Iterable[Sequence[Fraction]], ratio: Fraction) -> Fraction:
    """D_E between the counts with the victim's first and with its second law, the others' messages being the same.

    Examples
    --------
    >>> laws = [[Fraction(2, 3), Fraction(1, 3)], [Fraction(1, 3), Fraction(2, 3)]]
    >>> among(laws, [], Fraction(1)) > among(laws, [laws[0]], Fraction(1))
    True
    """
    law: Law = {(0,) * len(victim[0]): Fraction(1)}
    for message in others:
        law = send(law, message)
    return hockey_stick(send(law, victim[0]), send(law, victim[1]), ratio)


def worst(matrix: Matrix, users: int, ratio: Fraction) -> tuple[Fraction, tuple[int, int], tuple[int, ...]]:
    """The largest D_E over all neighboring datasets: its value, the victim's two inputs and the others' inputs.

    Examples
    --------
    >>> worst(response(2, Fraction(2)), 1, Fraction(1))
    (Fraction(1, 3), (0, 1), ())
    """
    inputs = range(len(matrix))
    cases = (
        (among([matrix[a], matrix[b]], [matrix[x] for x in others], ratio), (a, b), others)
        for a, b in permutations(inputs, 2)
        for others in combinations_with_replacement(inputs, users - 1)
    )
    return max(cases, key=lambda case: case[0])


def response(d: int, keep: Fraction) -> Matrix:
    """Generalized randomized response on d options with e^eps0 = ``keep``, one row per input.

    Examples
    --------
    >>> response(3, Fraction(2))[0]
    [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]
    """
    total = keep + d - 1
    return [[(keep if x == y else Fraction(1)) / total for y in range(d)] for x in range(d)]


def sampling_rappor(d: int, s: int, half: Fraction) -> tuple[list[tuple[int, ...]], Matrix]:
    """Sampling RAPPOR on sets of s of d items, e^(eps0/2) = ``half``: the inputs, and a row of 2^d bits for each.

    One of the s items is drawn and its one-hot row is sent, every bit flipped with probability 1/(half + 1).

    Examples
    --------
    >>> sets, rows = sampling_rappor(2, 1, Fraction(2))
    >>> sets, sum(rows[0])
    ([(0,), (1,)], Fraction(1, 1))
    """
    law = dict(zip(*flipped_bits(d, 1 / (half + 1)), strict=True))
    sets = list(combinations(range(d), s))
    one_hot = [law[tuple(int(place == item) for place in range(d))] for item in range(d)]
    return sets, [[sum(chances) / s for chances in zip(*(one_hot[i] for i in held), strict=True)] for held in sets]


def flipped_bits(d: int, flip: Fraction) -> tuple[list[tuple[int, ...]], Matrix]:
    """All rows of d bits, and the law of each after every bit was flipped with probability ``flip``.

    Examples
    --------
    >>> inputs, rows = flipped_bits(2, Fraction(1, 4))
    >>> inputs[1], rows[1][1], sum(rows[1])
    ((0, 1), Fraction(9, 16), Fraction(1, 1))
    """
    inputs = list(product((0, 1), repeat=d))

    def chance(held: tuple[int, ...], sent: tuple[int, ...]) -> Fraction:
        wrong = sum(a != b for a, b in zip(held, sent, strict=True))
        return flip**wrong * (1 - flip) ** (d - wrong)

    return inputs, [[chance(held, sent) for sent in inputs] for held in inputs]


def largest_ratio(matrix: Matrix) -> Fraction:
    """p: the largest ratio of the probabilities that two rows, without zeros, give to one output.

    Examples
    --------
    >>> largest_ratio(response(3, Fraction(2)))
    Fraction(2, 1)
    """
    ratios: list[Fraction] = [max(column) / min(column) for column in zip(*matrix, strict=True)]
    return max(ratios)


def total_variation(matrix: Matrix) -> Fraction:
    """beta: the largest total variation distance of two rows.

    Examples
    --------
    >>> total_variation(response(3, Fraction(2)))
    Fraction(1, 4)
    """
    zero = Fraction(0)
    return max(
        sum((max(zero, a - b) for a, b in zip(first, second, strict=True)), zero)
        for first, second in permutations(matrix, 2)
    )


def reduction(p: Fraction, beta: Fraction, q: Fraction, users: int, ratio: Fraction, *, printed: bool) -> Fraction:
    """D_E of the pair that the variation-ratio reduction names, as printed or repaired.

    The victim sends (p alpha, alpha, s) or (alpha, p alpha, s), alpha = beta/(p-1), s = 1 - alpha - p alpha.  Each of
    the others sends t = (r, r, 1 - 2r), r = p alpha/q, as printed (Theorem 4.7), and t = (p alpha, p alpha, s)/q as
    repaired.

    Examples
    --------
    >>> half, quarter = Fraction(3, 2), Fraction(1, 4)
    >>> reduction(Fraction(2), quarter, Fraction(2), 3, half, printed=True)
    Fraction(1, 32)
    """
    alpha = beta / (p - 1)
    top, rest = p * alpha, 1 - alpha - p * alpha
    r = top / q
    other = [r, r, 1 - 2 * r] if printed else [r, r, rest / q]
    return among([[top, alpha, rest], [alpha, top, rest]], [other] * (users - 1), ratio)
