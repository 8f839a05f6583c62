"""The order in which the members of many questions are looked at."""

from __future__ import annotations

from shuffledp.numerics.many.members import Queue


def test_the_largest_first_and_each_once() -> None:
    a, b, c = [1.0], [3.0], [2.0]
    questions = [[a, b, c], [c], [a, b, c], []]
    queue = Queue(questions, lambda x: x[0], [0.0, 0.9, 0.6, 0.0])
    assert len(queue.members) == 3
    named = [[queue.members[k][0] if k >= 0 else None for k in row] for row in queue.table.tolist()]
    assert named == [[3.0, 2.0, 3.0, None], [2.0, None, 2.0, None], [1.0, None, None, None]]
