"""Scores of a few texts a side while the rest is encoded: those of comparing just these, and only where it is long."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mauve_app.components.live_updates import progress_data
from mauve_core import compare, corpus_from_texts
from mauve_core.analyses import comparison_task
from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.formatting import SCORE_DECIMALS, printable, with_plain_spaces, with_spread
from mauve_core.base.progress import Told
from mauve_core.encoders.features import FeatureStore
from mauve_core.jobs import queue, worker
from mauve_core.texts import Corpus
from mauve_core.texts.pairing import equal_draws
from tests.job_folders import job

WORDS = [f"word{number}" for number in range(12)]
N, FEW = 120, 20
NONE = "\N{SLIGHTLY SMILING FACE}"


@pytest.fixture
def corpora(monkeypatch: pytest.MonkeyPatch) -> dict[str, Corpus]:
    monkeypatch.setattr(comparison_task, "PREVIEWED", FEW)
    monkeypatch.setattr(comparison_task, "QUICK", "/no/such/model")
    rng = np.random.default_rng(0)
    starts = {HUMAN: WORDS, "near": WORDS, "far": WORDS[:2]}
    return {
        name: corpus_from_texts([" ".join(rng.choice(words, 3)) for _ in range(N)], name=name)
        for name, words in starts.items()
    }


@pytest.fixture
def config(tmp_path: Path) -> CompareConfig:
    rng = np.random.default_rng(0)
    path = tmp_path / "v.txt"
    path.write_text("".join(f"{word} {' '.join(f'{x:.3f}' for x in rng.normal(size=4))}\n" for word in WORDS))
    return CompareConfig(EncoderConfig(str(path)), ScoreConfig(k=40, seeds=2, bootstrap=100), projection=False)


def model_of(config: CompareConfig) -> str:
    assert config.encoder is not None
    return config.encoder.model


def told(corpora: dict[str, Corpus], config: CompareConfig, store: FeatureStore) -> list[str]:
    found: list[str] = []
    comparison_task.tell_preview(corpora, config, store, "cpu", lambda stage, *_: found.append(stage))
    return [each for each in found if isinstance(each, Told)]


def test_it_tells_the_scores_of_the_drawn_texts(corpora: dict[str, Corpus], config: CompareConfig) -> None:
    draws = equal_draws(corpora, 0, FEW)
    assert {len(draw) for draw in draws.values()} == {FEW}
    few = {name: corpus.take(draws[name]) for name, corpus in corpora.items()}
    same = compare(few.pop(HUMAN), few, replace(config, score=replace(config.score, k=None)), draw_map=False)
    (line,) = told(corpora, config, FeatureStore())
    assert line == printable(line), "a console shows it as it is"
    assert line.startswith(f"Preview ({FEW} texts a side, {printable(model_of(config))}), whose scores differ")
    for name in ("near", "far"):
        score = same[name]["mauve"]
        assert f"{name} {with_plain_spaces(with_spread(score.mean, score.sd, SCORE_DECIMALS))} (" in line


def test_the_quick_encoder_takes_the_place_of_a_slow_one_and_of_a_server(
    corpora: dict[str, Corpus], config: CompareConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison_task, "QUICK", model_of(config))
    (own,) = told(corpora, config, FeatureStore())
    served = replace(config, encoder=EncoderConfig("openai:http://127.0.0.1:9/v1#m"))
    assert told(corpora, served, FeatureStore()) == [own]


def test_not_where_the_whole_answer_is_near_or_has_none(corpora: dict[str, Corpus], config: CompareConfig) -> None:
    store = FeatureStore()
    assert told({name: corpus.take(range(3 * FEW)) for name, corpus in corpora.items()}, config, store) == []
    served = replace(config, encoder=EncoderConfig("openai:http://127.0.0.1:9/v1#m"))
    assert told(corpora, served, store) == []
    refused = corpus_from_texts([NONE] * N, name="near")
    assert told({**corpora, "near": refused}, config, store) == []
    compare(corpora[HUMAN], {"near": corpora["near"]}, config, feature_store=store)
    assert told({HUMAN: corpora[HUMAN], "near": corpora["near"]}, config, store) == []


def test_a_job_keeps_it_in_sight() -> None:
    with job(1, status="running") as state:
        reporter = worker._Reporter(queue.jobs_folder() / state.id)
        reporter(Told("Preview"), 1, 1)
        reporter("Encoding", 1, 2)
        state = queue.status(state.id)
        assert (state.told, state.stage) == ("Preview", "Encoding")
        assert progress_data(state)["said"] == "Preview"
