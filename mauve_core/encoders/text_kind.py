"""Texts as a kind of item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import DEFAULT_MODEL, EncoderConfig
from mauve_core.base.progress import Progress, silent
from mauve_core.base.words import TEXTS, Words
from mauve_core.encoders.catalogue import available_models, check_model, has_no_tokenizer, must_be_fetched
from mauve_core.encoders.encoder import Encoder, feature_key
from mauve_core.encoders.features import Features, FeatureStore
from mauve_core.encoders.tokenizing import NoFeaturesError
from mauve_core.texts.building import read_texts
from mauve_core.texts.corpus import Corpus
from mauve_core.texts.kinds import AvailableModel, Offer, PerturbedCorpus
from mauve_core.texts.perturbations import PERTURBATIONS, PROBES, Perturbation, PerturbationKind, perturb
from mauve_core.texts.properties import PROPERTIES, Property, text_properties
from mauve_core.texts.reading import SUFFIXES

# Settings of every encoder, and those that word vectors and servers lack.
OF_ANY, OF_NETWORKS = frozenset({"max_tokens", "with_prompt"}), frozenset({"pooling", "layer", "dtype", "revision"})


def _settings(model: str) -> frozenset[str]:
    return OF_ANY if has_no_tokenizer(model) else OF_ANY | OF_NETWORKS


def _models() -> tuple[AvailableModel, ...]:
    return available_models()


TYPED = "Or type a Hugging Face id or the path of a folder or GGUF file."

OFFER = Offer(
    models=_models,
    others=f"{TYPED} A file of word vectors (.txt or .vec, optionally .gz) also works.",
    settings=_settings,
    fetched=must_be_fetched,
    check=check_model,
)


@dataclass(frozen=True)
class TextKind:
    """Texts of a language; see :class:`mauve_core.texts.kinds.Kind`."""

    name: str = "text"
    words: Words = TEXTS
    model: str = DEFAULT_MODEL
    offer: Offer = OFFER
    suffixes: tuple[str, ...] = tuple(suffix.removeprefix(".") for suffix in SUFFIXES)
    has_words: bool = True
    properties: Mapping[str, Property] = field(default_factory=lambda: PROPERTIES)
    perturbations: Mapping[str, PerturbationKind[str]] = field(default_factory=lambda: PERTURBATIONS)
    probes: tuple[str, ...] = PROBES
    libraries: tuple[str, ...] = ()

    def measure(self, corpus: Corpus) -> dict[str, NDArray[np.float64]]:
        return text_properties(corpus.texts)

    def described(self, corpus: Corpus) -> tuple[str, ...]:
        return corpus.texts

    def recognizes(self, path: Path, field: str | None = None) -> bool:  # noqa: ARG002 (as below)
        return True  # whatever is no other kind is read as texts, or refused

    def columns(self, path: Path) -> tuple[str, ...]:  # noqa: ARG002 (which field holds texts is guessed from all rows)
        return ()

    def read(
        self,
        path: str | Path,
        *,
        name: str | None,
        fields: Mapping[str, Any],
        progress: Progress = silent,  # noqa: ARG002 (reading texts takes seconds)
    ) -> Corpus:
        return read_texts(path, name=name, **fields)

    def encoder(self, config: EncoderConfig, device: str) -> TextEncoder:
        return TextEncoder(config, Encoder(config, device=device))

    def perturb(
        self, corpus: Corpus, perturbation: Perturbation, *, seed: int, progress: Progress = silent
    ) -> PerturbedCorpus:
        done = perturb(corpus.texts, corpus.ids, perturbation, seed=seed, progress=progress)
        return PerturbedCorpus(replace(corpus, texts=done.texts), done.changed, done.notes)


@dataclass(frozen=True, eq=False)
class TextEncoder:
    """An encoder of the texts of corpora, with their prompts if the settings say so."""

    config: EncoderConfig
    model: Encoder

    def encode(self, corpus: Corpus, *, store: FeatureStore | None = None, progress: Progress = silent) -> Features:
        inputs = corpus.encoder_inputs(self.config.with_prompt)
        try:
            return self.model.encode(inputs, store=store, progress=progress)
        except NoFeaturesError as error:
            raise error.of_side(corpus.name, corpus.label) from error

    def key(self, corpus: Corpus) -> str:
        return feature_key(corpus.encoder_inputs(self.config.with_prompt), self.config)


TEXT = TextKind()
