import numpy as np

from contract.cases import Case, frequencies
from shuffledp.mechanisms.multimessage.augmented import Augmented
from shuffledp.mechanisms.multimessage.balcer_cheu import BalcerCheu
from shuffledp.mechanisms.multimessage.balcer_coin import BalcerCoin
from shuffledp.mechanisms.multimessage.balls_into_bins import BallsIntoBins
from shuffledp.mechanisms.multimessage.cheu_zhilyaev import CheuZhilyaev
from shuffledp.mechanisms.multimessage.mix_dump import MixDump
from shuffledp.mechanisms.multimessage.poisson_histogram import PoissonHistogram
from shuffledp.mechanisms.multimessage.poisson_sum import PoissonSum
from shuffledp.mechanisms.multimessage.pure_dump import PureDump


def bits(n):
    values = (np.arange(n) % 3 == 0).astype(int)
    return values, np.array([values.mean()])


def numbers(n):
    """Users between -0.8 and 0.6, off the grid."""
    values = -0.8 + 1.4 * np.arange(n) / n
    return values, values.mean(keepdims=True)


def few_indices(n):
    """Users with no index, one or two of six."""
    rows = np.stack([np.arange(n) % 7 - 1, np.where(np.arange(n) % 3 == 0, (np.arange(n) + 2) % 7 - 1, -1)], axis=1)
    return rows, np.array([(rows == i).any(axis=1).mean() for i in range(6)])


#: The matrix of one message is not the protocol, so laws are tested in tests/mechanisms/test_multimessage.py.
CASES = [
    Case(m, data, enumerable=False, same_law=False)
    for m, data in (
        (BalcerCheu(coin=0.3, messages=1), bits),
        (BalcerCheu(coin=0.9, total_messages=700), bits),
        (BalcerCoin(messages=0.25), bits),
        (CheuZhilyaev(flip=0.2, d=5, messages=1.5), frequencies(5)),
        (CheuZhilyaev(flip=0.4, d=2, total_messages=1001), frequencies(2)),
        (BallsIntoBins(d=11, special=2, messages=0.5), frequencies(5)),
        (PureDump(d=4, messages=1.25), frequencies(4)),
        (PureDump(d=300, total_messages=900), frequencies(300)),
        (MixDump(d=2, flip=0.2, messages=1), frequencies(2)),
        (MixDump(d=5, flip=0.3, messages=0.5), frequencies(5)),
        (MixDump(d=4, flip=0.1, messages=0), frequencies(4)),
        (PoissonHistogram(d=4, poisson_per_index=0.3), frequencies(4)),
        (PoissonHistogram(d=6, poisson_per_index=0.05, indices=2), few_indices),
        (PoissonSum(units=1, poisson=0.7), numbers),
        (PoissonSum(units=5, poisson=3.0), numbers),
        (Augmented(d=4, keep=0.7, dummies="poisson", mean=9.5), frequencies(4)),
        (Augmented(d=5, keep=1.0, dummies="binomial", mean=20.25), frequencies(5)),
        (Augmented(d=3, keep=0.5, dummies="geometric", mean=0.5), frequencies(3)),
        (Augmented(d=2, keep=0.9, dummies="geometric", mean=30.0, tail=1e-9), frequencies(2)),
    )
]
