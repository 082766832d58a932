"""Continuations of the same prompts while transformers' Trainer trains a model: before the first step, then regularly.

The weights are those in memory; nothing is saved or loaded. Training goes on as if nothing had been written: texts are
drawn by random numbers of their own, the same at every step, and dropout is off only meanwhile.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

from transformers import GenerationConfig, TrainerCallback

from mauve_core.base.errors import InputError, MauveLensError
from mauve_core.decoding.decoders import parse_decoder
from mauve_core.decoding.files import GenerationSettings, Prompts
from mauve_core.decoding.generate import continue_prompts
from mauve_core.encoders.catalogue import ModelIdentity
from mauve_core.encoders.loading import check_vocabulary
from mauve_core.encoders.models import LoadedModel

# Prompts at a time unless the settings say otherwise: training has left little memory.
BATCH_ROWS = 32


class SamplingCallback(TrainerCallback):  # type: ignore[misc]
    """Continue prompts before the first step and after every ``every`` steps, and give the texts to ``take``.

    Parameters, errors and warnings are those of :class:`mauve_core.reporting.in_training.ScoresCallback`.
    """

    def __init__(
        self, trainer: Any, prompts: Sequence[str], *, every: int, decoder: str, settings: GenerationSettings | None
    ) -> None:
        if type(every) is not int or every < 1:
            raise InputError("every cannot be used", allowed="a number of steps, at least 1", received=str(every)[:40])
        if trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled:
            raise InputError(
                "Samples need the whole model on one device", allowed="a Trainer without FSDP or DeepSpeed"
            )
        if trainer.processing_class is None:
            raise InputError("The Trainer has no tokenizer", todo="Give it one: Trainer(processing_class=tokenizer)")
        texts = [prompts] if isinstance(prompts, str) else list(prompts)
        self.trainer, self.every, self.decoder = trainer, every, parse_decoder(decoder)
        self.prompts = Prompts(tuple(map(str, range(1, len(texts) + 1))), tuple(texts))
        self.settings = settings or GenerationSettings()

    def take(self, texts: list[str]) -> None:
        """Do something with the continuations, one for each prompt and in their order."""
        raise NotImplementedError

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        if state.is_world_process_zero and not state.global_step:
            self._sample(control)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        if state.is_world_process_zero and not state.global_step % self.every:
            try:
                self._sample(control)
            except MauveLensError as error:  # hours of training are worth more than one score
                warnings.warn(f"No scores at step {state.global_step:,}: {error}", stacklevel=2)

    def _sample(self, control: Any) -> None:
        due = control.should_log  # which logging anything resets: this step's loss would not be logged
        with _writing(self.trainer) as loaded:
            rows, texts = self.settings.batch_rows or BATCH_ROWS, []
            for start in range(0, len(self.prompts.ids), rows):
                batch = self.prompts.chosen(range(start, min(start + rows, len(self.prompts.ids))))
                texts += continue_prompts(loaded, batch, self.decoder, self.settings)
            self.take(texts)
        control.should_log = due


@contextmanager
def _writing(trainer: Any) -> Iterator[LoadedModel]:
    """The model in training as one that writes, which follows the decoder and none of its own generation settings."""
    model, tokenizer = trainer.model, trainer.processing_class
    tokenizer = deepcopy(getattr(tokenizer, "tokenizer", tokenizer))
    own, training = model.generation_config, model.training
    end = tokenizer.eos_token_id if own.eos_token_id is None else own.eos_token_id
    positions = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    loaded = LoadedModel(
        folder=Path(),
        config=model.config,
        tokenizer=tokenizer,
        kind="causal",
        dtype="float32",
        device=str(model.device),
        max_positions=min(positions or tokenizer.model_max_length, tokenizer.model_max_length),
        default_pooling="last",
        identity=ModelIdentity(name="in training", kind="folder", location="", digest=""),
        model=model,
    )
    check_vocabulary(loaded.known_tokens, tokenizer, loaded.identity.name)
    model.generation_config = GenerationConfig(eos_token_id=end)
    model.eval()
    try:
        yield loaded
    finally:
        model.generation_config = own
        model.train(training)
