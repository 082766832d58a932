"""Small files of word vectors for the made-up studies: encoders that need neither torch nor transformers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.synthetic import TOPICS, topic_words


def by_topic(path: Path, *, width: int = 8, noise: float = 0.2) -> Path:
    """Vectors that lie near the center of their word's topic, so that averages tell topics apart."""
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(len(TOPICS), width))
    return _written(path, lambda topic: centres[topic] + noise * rng.normal(size=width))


def by_chance(path: Path, *, width: int = 6) -> Path:
    """Vectors drawn anew for every word, which know nothing of topics."""
    rng = np.random.default_rng(2)
    return _written(path, lambda topic: rng.normal(size=width))


def _written(path, vector):
    words = [(word, topic) for topic in range(len(TOPICS)) for word in topic_words(topic)]
    path.write_text("".join(f"{word} {' '.join(f'{x:.5f}' for x in vector(topic))}\n" for word, topic in words))
    return path
