import math
from collections.abc import Callable

import pytest

from shuffledp.numerics.search import bisect, smallest_whole


def bisected(excess: Callable[[int], float], low: int, high: int) -> int:
    """The slow search, for an excess that falls."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if excess(middle) <= 0.0 else (middle + 1, high)
    return low


def shapes(least: int) -> dict[str, Callable[[int], float]]:
    return {
        "sign": lambda k: 1.0 if k < least else -1.0,
        "infinite": lambda k: math.inf if k < least else -math.inf,
        "root": lambda k: math.sqrt(max(least - 0.5, 0.5)) - math.sqrt(k),
        "steep": lambda k: (least - 0.5 - k) ** 3,
        "steps": lambda k: math.ceil((least - k) / 7) if k < least else (least - k) // 7,
        "half infinite": lambda k: math.inf if k < least // 2 else float(least - 0.5 - k),
    }


@pytest.mark.parametrize("start", [1, 7, 10**6, 10**15])
@pytest.mark.parametrize("least", [1, 2, 6, 7, 8, 123_456, 10**12 + 7, 10**15])
@pytest.mark.parametrize("shape", shapes(1))
def test_equals_the_slow_search(start: int, least: int, shape: str) -> None:
    excess = shapes(least)[shape]
    looked: list[int] = []

    def counted(k: int) -> float:
        looked.append(k)
        return excess(k)

    found = smallest_whole(counted, low=1, high=10**15, start=start)
    assert found == bisected(excess, 1, 10**15)
    assert len(looked) < 140
    assert smallest_whole(lambda k: 1.0, low=1, high=10**15, start=start) is None


def test_a_smooth_excess_costs_few_looks() -> None:
    looked: list[int] = []

    def excess(n: int) -> float:  # as eps falls with the number of users
        looked.append(n)
        return 3.0e4 / math.sqrt(n) - 1.0

    assert smallest_whole(excess, low=1, high=10**15, start=899_999_000) == 900_000_000
    assert len(looked) <= 12  # a bisection takes 17 and more


def test_a_start_that_is_far_off_costs_few_looks() -> None:
    looked: list[int] = []

    def excess(n: int) -> float:  # several rounds, whose search starts from an approximation
        looked.append(n)
        return 10.0 * (8850.0 / n) ** 0.7 - 10.0

    assert smallest_whole(excess, low=1, high=10**15, start=11_634) == 8850
    assert len(looked) <= 12  # doubling the steps alone takes 19


def test_a_wiggle_ends_where_the_number_below_fails() -> None:
    def excess(n: int) -> float:
        return 1e6 - n + 500.0 * math.sin(0.1 * n)

    found = smallest_whole(excess, low=1, high=10**15, start=3)
    assert found is not None and excess(found) <= 0.0 < excess(found - 1)


@pytest.mark.parametrize("root", [1e-3, 0.7, 1.0, 41.5])
@pytest.mark.parametrize("geometric", [False, True])
def test_a_real_search_ends_on_the_safe_side(root: float, geometric: bool) -> None:
    below = bisect(lambda x: x <= root, safe=1e-6, unsafe=100.0, geometric=geometric)
    above = bisect(lambda x: x >= root, safe=100.0, unsafe=1e-6, geometric=geometric)
    assert below <= root <= above
    assert below == pytest.approx(root, rel=1e-15) and above == pytest.approx(root, rel=1e-15)


def test_a_real_search_ends_where_it_is_told() -> None:
    looks: list[float] = []

    def holds(x: float) -> bool:
        looks.append(x)
        return x >= 0.3

    found = bisect(holds, safe=1.0, unsafe=0.0, close=lambda x: 0.1)
    assert 0.3 <= found <= 0.4 and len(looks) == 4
    assert bisect(holds, safe=1.0, unsafe=0.0, close=lambda x: 1.0) == 1.0 and len(looks) == 4


def test_a_geometric_search_of_tiny_numbers_does_not_underflow() -> None:
    found = bisect(lambda x: x <= 1e-200, safe=1e-300, unsafe=0.5, close=lambda at: 1e-15 * at, geometric=True)
    assert 1e-200 * (1.0 - 2e-15) <= found <= 1e-200
