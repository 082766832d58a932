"""Tiny checkpoints, made once a session, and texts of very unequal length for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.encoders.cuda_stand_in import stand_in
from tests.tiny_models import MAKERS, SENTENCES


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """tiny("gpt2") is the folder of a tiny GPT-2; its name holds the type, as the peer wants it."""
    root = tmp_path_factory.mktemp("models")
    made: dict[str, Path] = {}

    def folder(name: str) -> str:
        if name not in made:
            made[name] = MAKERS[name](root / f"tiny-{name}")
        return str(made[name])

    return folder


@pytest.fixture(scope="session")
def texts() -> tuple[str, ...]:
    """40 texts of 1 to 30 words, some of them equal in length and none empty."""
    words = " ".join(SENTENCES).split()
    rng = np.random.default_rng(20)
    return tuple(" ".join(rng.choice(words, size=size)) for size in rng.integers(1, 31, size=40))


@pytest.fixture(params=["stand-in", pytest.param("gpu", marks=pytest.mark.gpu)])
def cuda(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of all CUDA devices: of two for which the CPU stands in, and of real ones where there are some."""
    if request.param == "stand-in":
        stand_in(monkeypatch)
    return "cuda"
