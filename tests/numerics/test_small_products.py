"""Products in pieces are the products."""

import numpy as np
import pytest

from shuffledp.numerics import small_products


@pytest.mark.parametrize("shapes", [((3, 5, 7), (3, 7, 4)), ((50, 700), (700, 60)), ((2, 90, 300), (2, 300, 1))])
@pytest.mark.parametrize("parts", [(1.0, 1.0), (1.0 + 2.0j, 1.0), (1.0j, 0.3 - 1.0j)])
def test_pieces_make_the_product(shapes, parts):
    rng = np.random.default_rng(5)
    a, b = (part * rng.standard_normal(shape) for part, shape in zip(parts, shapes, strict=True))
    assert np.allclose(small_products.product(a, b), a @ b, rtol=1e-12, atol=1e-12)


def test_no_piece_is_large_enough_to_be_divided(monkeypatch):
    asked = []

    class Watched(np.ndarray):
        def __matmul__(self, other):
            asked.append(self.shape[-2] * self.shape[-1] * other.shape[-1])
            return np.asarray(self) @ np.asarray(other)

    a = np.ones((400, 300)).view(Watched)
    assert np.array_equal(small_products._real(a, np.ones((300, 20))), np.full((400, 20), 300.0))
    assert len(asked) > 1 and max(asked) <= small_products._MOST
