from __future__ import annotations

import pytest
import torch

from mauve_core.encoders.pooling import pool

# Row 0: (0, 1), (2, 3), (4, 5); row 1: (6, 7), (8, 9), (10, 11).
HIDDEN = torch.arange(2 * 3 * 2, dtype=torch.float32).reshape(2, 3, 2)


@pytest.mark.parametrize(
    ("pooling", "mask", "expected"),
    [
        ("last", [[1, 1, 0], [1, 1, 1]], [[2, 3], [10, 11]]),
        ("last", [[0, 1, 1], [1, 0, 0]], [[4, 5], [6, 7]]),
        ("first", [[1, 1, 0], [0, 1, 1]], [[0, 1], [8, 9]]),
        ("mean", [[1, 1, 0], [0, 0, 1]], [[1, 2], [10, 11]]),
    ],
)
def test_hand_values(pooling: str, mask: list[list[int]], expected: list[list[float]]) -> None:
    assert pool(HIDDEN, torch.tensor(mask), pooling).tolist() == expected  # type: ignore[arg-type]


def test_mean_is_taken_in_float32() -> None:
    # 2048 + 1 is 2048 in float16 (11 significant bits), so a float16 sum of 2048 and ones would lose every one.
    hidden = torch.cat([torch.full((1, 1, 1), 2048.0), torch.ones((1, 1023, 1))], dim=1).to(torch.float16)
    pooled = pool(hidden, torch.ones((1, 1024), dtype=torch.int64), "mean")
    assert pooled.dtype == torch.float32
    assert pooled.item() == pytest.approx((2048 + 1023) / 1024, rel=1e-6)  # float32 rounding
