"""Scores in the log of a real Trainer, which trains as it would without them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    default_data_collator,
)

from mauve_core.base.errors import InputError
from mauve_core.decoding import GenerationSettings
from mauve_core.decoding.in_training import SamplingCallback
from mauve_core.reporting import in_training
from mauve_core.reporting.in_training import ScoresCallback
from mauve_core.stats.scores import SCORES
from tests.tiny_models import SENTENCES, make_gpt2

pytestmark = pytest.mark.integration

PROMPTS = [" ".join(sentence.split()[:words]) for sentence in SENTENCES for words in (2, 3, 4, 5)]
REFERENCES = [f"{sentence} {number}" for sentence in SENTENCES for number in range(4)]
SHORT = GenerationSettings(max_new_tokens=6, min_new_tokens=6)
FEW_TEXTS = pytest.mark.filterwarnings("ignore::UserWarning")


def letters(texts: list[str]) -> Any:
    """Encode a text by its letters."""
    return np.array([[1, *(text.lower().count(letter) for letter in "abcdefghinorst")] for text in texts], dtype=float)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_gpt2(tmp_path_factory.mktemp("model") / "gpt2")


class Tracker(TrainerCallback):
    """What W&B's and TensorBoard's callbacks get."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, set[str]]] = []

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        self.steps.append((state.global_step, set(logs)))


def trainer_of(folder: Path, out: Path, steps: int = 4) -> Trainer:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rows = [{"input_ids": (ids := tokenizer(text)["input_ids"][:8]), "labels": ids} for text in SENTENCES * 4]
    settings = TrainingArguments(
        str(out), max_steps=steps, logging_steps=1, per_device_train_batch_size=1, use_cpu=True, report_to=[],
        save_strategy="no", disable_tqdm=True, learning_rate=1e-2, dataloader_pin_memory=False,
    )  # fmt: skip
    model = AutoModelForCausalLM.from_pretrained(folder)
    return Trainer(model, settings, default_data_collator, train_dataset=rows, processing_class=tokenizer)


def scores_of(trainer: Trainer, **given: Any) -> ScoresCallback:
    return ScoresCallback(trainer, REFERENCES, PROMPTS, **{"every": 2, "settings": SHORT, "encoder": letters, **given})


def losses(trainer: Trainer) -> dict[int, float]:
    return {row["step"]: row["loss"] for row in trainer.state.log_history if "loss" in row}


@FEW_TEXTS
def test_scores_with_their_intervals_are_logged_and_training_stays_the_same(folder: Path, tmp_path: Path) -> None:
    plain = trainer_of(folder, tmp_path)  # a new Trainer sets the seed of dropout and of the order
    plain.train()
    trainer, tracker = trainer_of(folder, tmp_path), Tracker()
    trainer.add_callback(scores_of(trainer))
    trainer.add_callback(tracker)
    trainer.train()
    logged = {row["step"]: row for row in trainer.state.log_history if "eval_mauve" in row}
    assert sorted(logged) == [0, 2, 4]
    for row in logged.values():
        assert all(row[f"eval_{name}_low"] <= row[f"eval_{name}"] <= row[f"eval_{name}_high"] for name in SCORES)
        assert "eval_mauve_sd" not in row
    assert [step for step, names in tracker.steps if "eval_mauve_low" in names] == [0, 2, 4]
    assert list(losses(trainer)) == [1, 2, 3, 4]  # that of a step with scores, too
    assert losses(trainer) == losses(plain)  # with dropout


@FEW_TEXTS
def test_the_samples_follow_the_weights_and_the_decoder_alone(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[list[str]] = []
    monkeypatch.setattr(SamplingCallback, "take", lambda _, texts: taken.append(texts))
    for penalty in (1.0, 50.0):
        trainer = trainer_of(folder, tmp_path, steps=2)
        trainer.model.generation_config.repetition_penalty = penalty
        trainer.add_callback(SamplingCallback(trainer, PROMPTS, every=2, decoder="greedy", settings=SHORT))
        trainer.train()
        assert trainer.model.generation_config.repetition_penalty == penalty
        assert trainer.processing_class.pad_token is None
    first, trained = taken[:2]
    assert first != trained
    assert taken[2:] == [first, trained]


@FEW_TEXTS
def test_several_seeds_have_a_spread(folder: Path, tmp_path: Path) -> None:
    trainer = trainer_of(folder, tmp_path, steps=1)
    trainer.add_callback(scores_of(trainer, seeds=2))
    trainer.train()
    assert trainer.state.log_history[0]["eval_mauve_sd"] >= 0


@FEW_TEXTS
def test_doubts_are_told(folder: Path, tmp_path: Path) -> None:
    trainer = trainer_of(folder, tmp_path, steps=1)
    trainer.add_callback(scores_of(trainer))
    with pytest.warns(UserWarning, match="24 texts"):
        trainer.train()


@FEW_TEXTS
def test_samples_that_cannot_be_scored_end_a_training_only_as_it_begins(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = trainer_of(folder, tmp_path)
    trainer.add_callback(scores_of(trainer, k=10_000))
    with pytest.raises(InputError, match=r"10,?000"):
        trainer.train()
    assert not trainer.state.global_step

    def fails_later(*given: Any, **settings: Any) -> Any:
        if trainer.state.global_step == 2:
            raise InputError("All texts are empty")
        return compare(*given, **settings)

    compare = in_training.compare
    trainer = trainer_of(folder, tmp_path)
    trainer.add_callback(scores_of(trainer))
    monkeypatch.setattr(in_training, "compare", fails_later)
    with pytest.warns(UserWarning, match="No scores at step 2: All texts are empty"):
        trainer.train()
    assert [row["step"] for row in trainer.state.log_history if "eval_mauve" in row] == [0, 4]
    assert list(losses(trainer)) == [1, 2, 3, 4]


def test_what_cannot_be_used_is_said_before_training(folder: Path, tmp_path: Path) -> None:
    trainer = trainer_of(folder, tmp_path)
    for every in (0, 2.0, True):
        with pytest.raises(InputError, match="every"):
            scores_of(trainer, every=every)
    with pytest.raises(InputError, match="nucleus"):
        scores_of(trainer, decoder="nuclear")
    trainer.is_fsdp_enabled = True
    with pytest.raises(InputError, match="FSDP"):
        scores_of(trainer)
    trainer.is_fsdp_enabled, trainer.processing_class = False, None
    with pytest.raises(InputError, match="processing_class"):
        scores_of(trainer)
