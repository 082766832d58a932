"""What is said of an encoder is what it did: its own limit, and the pooling that it came to."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from mauve_core.base.config import CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.json_codec import from_json
from mauve_core.encoders.features import FeatureStore
from mauve_core.reporting.paper import methods_paragraph
from mauve_core.reporting.score_sections import making_section
from mauve_core.scoring.compare import compare
from mauve_core.scoring.serialization import (
    ComparisonRecord,
    arrays_of_comparison,
    comparison_from_record,
    record_of_comparison,
)
from mauve_core.scoring.tables import length_in_words, pooling_in_words, to_table
from tests.handmade import make_comparison
from tests.tiny_models import MAKERS

SERVER = "openai:http://localhost:8000/v1#bge"


@pytest.mark.parametrize(
    ("encoder", "recorded", "length", "pooling"),
    [
        (
            EncoderConfig("m"),
            (256, "mean pooling, unit length"),
            "256 tokens, the model's own limit",
            "mean pooling, u",
        ),
        (EncoderConfig("m", max_tokens=256), (256, "last"), "256 tokens", "the last token"),
        (EncoderConfig("m", pooling="mean"), (1024, "mean"), "1,024 tokens", "the mean over tokens"),
        (EncoderConfig("m"), (None, ""), "1,024 tokens or the model's own limit", "the model's usual pooling"),
        (EncoderConfig("m", pooling="first"), (None, ""), "1,024 tokens or the", "the first token"),
        (EncoderConfig("words.vec"), (1024, ""), "1,024 words", "the mean of the vectors of a text's words"),
        (EncoderConfig(SERVER, max_tokens=99), (99, ""), "99 words", "the server's own pooling"),
    ],
)
def test_the_words(encoder: EncoderConfig, recorded: tuple[int | None, str], length: str, pooling: str) -> None:
    found = make_comparison()
    human = dataclasses.replace(found.human, max_tokens=recorded[0], pooling=recorded[1])
    assert length_in_words(encoder, human).startswith(length)
    assert pooling_in_words(encoder, human).startswith(pooling)
    found = dataclasses.replace(found, human=human, config=CompareConfig(encoder=encoder))
    for told in (methods_paragraph(found), to_table(found), str(making_section(found))):
        assert length in told
        assert "modules.json" not in told
    assert pooling in to_table(found)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "pooling", "said"),
    [("gpt2", "auto", "the last token"), ("bert", "auto", "the first token"), ("bert", "mean", "the mean over tokens")],
)
def test_a_run_records_it_also_for_stored_features(tmp_path: Path, name: str, pooling: str, said: str) -> None:
    model = MAKERS[name](tmp_path / name)
    texts = [f"some words of text {i} and more of them again and again" for i in range(24)]
    score, store = ScoreConfig(k=2, seeds=1, bootstrap=100), FeatureStore(tmp_path / "features")
    config = CompareConfig(EncoderConfig(str(model), pooling=pooling, max_tokens=5000), score, projection=False)
    for _ in range(2):
        found = compare(texts, {"m": texts[::-1]}, config, feature_store=store, device="cpu", draw_map=False)
        read = found.human.max_tokens
        assert read is not None
        assert read < 5000
        assert (
            f"the last layer, {said}, float32), reading the text alone up to {read} tokens, the model's own limit"
            in (methods_paragraph(found))
        )
    arrays = arrays_of_comparison(found)
    again = comparison_from_record(from_json(ComparisonRecord, record_of_comparison(found)), arrays)
    assert again.human == found.human
