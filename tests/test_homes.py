"""No test reaches the library of the person who runs it, not even what is made before the first test of a module."""

from __future__ import annotations

from pathlib import Path

import pytest

from mauve_core.base.files import home


@pytest.fixture(scope="module")
def of_module() -> Path:
    return home()


def test_a_module_has_the_home_of_the_session_and_a_test_its_own(
    of_module: Path, shared_home: Path, own_home: Path
) -> None:
    assert of_module == shared_home
    assert home() == own_home != shared_home
