"""How often probes detect what was perturbed, and how large a drop of MAUVE they could have detected.

    python benchmarks/probe_detection.py human.jsonl --words 100 --encoder smollm2-135m minilm --out REPORT

Tables of probes as ``mauve-lens probe`` makes them, of the same texts over and over, each with other random halves. All
texts are encoded once. A perturbation that exchanges parts does so within fixed pairs of texts, and halves are dealt
whole pairs, so that no part of the reference half enters the other.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core.base.config import EncoderConfig, ScoreConfig
from mauve_core.base.files import write_atomically
from mauve_core.corpus import Corpus, read_corpus
from mauve_core.corpus.kinds import kind_of
from mauve_core.encoders.feature_store import FeatureStore
from mauve_core.experiments.robustness import PAPER, SPLITS

CONTROL = "none"

Features = NDArray[np.float32]


def in_pairs(corpus: Corpus, words: int | None) -> Corpus:
    """The texts in random order, each cut to its first words; rows 2i and 2i + 1 are a pair."""
    rows = np.random.default_rng(0).permutation(len(corpus))[: len(corpus) // 2 * 2]
    taken = corpus.take(rows)
    if words is None:
        return taken
    first = re.compile(rf"(?:\s*\S+){{0,{words}}}")
    return replace(taken, texts=tuple(first.match(text)[0] for text in taken.texts))


def all_features(corpus: Corpus, model: str) -> dict[str, Features]:
    """Features of every text, untouched and after each of the paper's perturbations."""
    kind, store = kind_of(corpus.kind), FeatureStore()
    encoder = kind.encoder(EncoderConfig(model=model), "auto")
    found = {CONTROL: encoder.encode(corpus, store=store).array}
    for item in PAPER:
        pairs = np.arange(len(corpus)).reshape(-1, 2 if item.kind.part is not None else len(corpus))
        done = [kind.perturb(corpus.take(pair), item, seed=0) for pair in pairs]
        texts = tuple(text for each in done for text in each.corpus.texts)
        found[item.spec] = encoder.encode(replace(corpus, texts=texts), store=store).array
        print(model, item.spec, f"{np.mean(np.concatenate([each.changed for each in done])):.3f} changed", flush=True)
    return found
