"""Scores of a model while transformers' Trainer trains it, in the Trainer's own log and so in every tracker it has."""

from __future__ import annotations

import shutil
import warnings
import weakref
from collections.abc import Sequence
from tempfile import mkdtemp
from typing import Any

from mauve_core.base.config import HUMAN
from mauve_core.decoding.files import GenerationSettings
from mauve_core.decoding.in_training import SamplingCallback
from mauve_core.encoders.features import FeatureStore
from mauve_core.reporting.tracked_runs import numbers_of
from mauve_core.scoring.compare import compare
from mauve_core.texts import corpus_from_texts
from mauve_core.texts.building import Texts, as_corpus

# Name of the candidate.
SAMPLES = "samples"


class ScoresCallback(SamplingCallback):
    """Log the scores of the model's samples, before the first step and after every ``every`` steps.

    They are logged as ``eval_mauve`` with ``eval_mauve_low`` and ``eval_mauve_high``, its interval, and so on for every
    score; with several seeds also ``eval_mauve_sd``.

    Parameters
    ----------
    trainer : transformers.Trainer
        With its tokenizer (``processing_class``). The first process writes and scores; the others wait.
    references : Corpus, path, list, column or table
        Texts of people, n of them; see :func:`mauve_core.texts.building.as_corpus`. Encoded once.
    prompts : sequence of str
        Continued as they are, without a chat template; as many as there are references for scores as published. Where
        the references have prompts, equal ones pair the texts.
    every : int
    decoder : str
        As in :func:`mauve_core.decoding.parse_decoder`.
    settings : GenerationSettings, optional
        Length of the samples, seed, and prompts at a time (32).
    **comparing
        Of :func:`mauve_core.compare`: ``encoder``, ``k``, ``seeds`` (default: 1), ``config``, ``device`` and others.

    Raises
    ------
    InputError
        ``every`` is no number of steps, the decoder is unknown, or the model is spread over devices (FSDP, DeepSpeed);
        as training begins, whatever ``compare`` refuses.

    Warns
    -----
    UserWarning
        What makes the scores doubtful, such as few texts. Samples of a later step that cannot be scored: training goes
        on without scores of that step.
    """

    def __init__(
        self,
        trainer: Any,
        references: Texts,
        prompts: Sequence[str],
        *,
        every: int = 500,
        decoder: str = "ancestral",
        settings: GenerationSettings | None = None,
        **comparing: Any,
    ) -> None:
        super().__init__(trainer, prompts, every=every, decoder=decoder, settings=settings)
        self._references, folder = as_corpus(references, HUMAN), mkdtemp(prefix="mauve-lens-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        kept: dict[str, Any] = {"feature_store": FeatureStore(folder), "progress": "none", "draw_map": False}
        self._comparing = kept | ({} if "config" in comparing else {"seeds": 1}) | comparing

    def take(self, texts: list[str]) -> None:
        """Score the texts and log the scores."""
        samples = corpus_from_texts(texts, name=SAMPLES, prompts=self.prompts.texts)
        result = compare(self._references, {SAMPLES: samples}, **self._comparing)
        for doubt in result.warnings:
            warnings.warn(doubt, stacklevel=2)
        self.trainer.log({f"eval_{name}": value for name, value in numbers_of(result[SAMPLES]).items()})
