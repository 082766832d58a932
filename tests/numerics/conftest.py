"""What tests of numbers share."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["torch:cpu", pytest.param("cuda:0", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> str:
    """torch's arithmetic on the CPU, which stands in for devices, and on a GPU where there is one."""
    return str(request.param)
