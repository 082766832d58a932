"""``mauve-lens explain`` of images: a run, folders without a run, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from mauve_core.__main__ import main
from mauve_core.store import Run
from tests.images.made import make_dark_run


@pytest.fixture
def dark_run(own_home: Path, tmp_path: Path) -> Run:
    del own_home
    return make_dark_run(tmp_path)


def test_a_run_of_images_is_explained_in_its_words(dark_run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", dark_run.id]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "dark 1. makes darker images: " in printed
    assert "of 100 images have a brightness of at most " in printed
    assert "same No difference was found" in printed
    assert "text" not in printed
    assert "human" not in printed
