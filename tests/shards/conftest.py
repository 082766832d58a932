"""Plans of small corpora in shards: made-up features, and texts whose encoder is a file of word vectors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mauve_core.base.config import HUMAN, EncoderConfig
from mauve_core.shards.plan import Plan, plan_of
from tests.sharded import SCORE, MadeUp, made_sides, made_texts, written_features, written_texts
from tests.word_files import by_topic


@pytest.fixture(scope="session")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> MadeUp:
    sides = made_sides()
    places = written_features(tmp_path_factory.mktemp("features"), sides)
    return MadeUp(plan_of(places[HUMAN], {"model": places["model"]}, encoder=None, score=SCORE), sides)


@pytest.fixture
def text_plan(tmp_path: Path) -> Callable[..., Plan]:
    """Plans of the same texts in any number of shards."""
    words = by_topic(tmp_path / "words.txt")

    def planned(shards: int = 3, **settings: Any) -> Plan:
        places = written_texts(tmp_path / f"in-{shards}", made_texts(), shards)
        encoder = EncoderConfig(str(words))
        return plan_of(places[HUMAN], {"model": places["model"]}, encoder=encoder, score=SCORE, **settings)

    return planned
