"""Ratings and texts whose truth is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mauve_core.runs.ratings import OPTIONS, Rating
from mauve_core.texts import Corpus, corpus_from_texts

# True scores, of mean 0.
STRENGTHS = {"human": 60.0, "nucleus": 20.0, "beam": -80.0}


def make_rating(rater: str = "ann", prompt_id: str = "p1", **changes: object) -> Rating:
    values = {
        "left": "human",
        "right": "beam",
        "question": "sensible",
        "option": "slightly A",
        "created": "2024-05-06T07:08:09.123+00:00",
        "seconds": 31.5,
        "left_digest": "0123456789abcdef",
        "right_digest": "fedcba9876543210",
        **changes,
    }
    return Rating(rater=rater, prompt_id=prompt_id, **values)  # type: ignore[arg-type]


def make_corpora(names: Sequence[str] = ("human", "nucleus", "beam"), n: int = 12) -> dict[str, Corpus]:
    """Each source's text for each of n prompts, three words and more."""
    return {
        name: corpus_from_texts(
            [f"text of {name} for {i}" for i in range(n)],
            name=name,
            ids=[f"id{i}" for i in range(n)],
            prompts=[f"prompt {i}" for i in range(n)],
        )
        for name in names
    }


def simulated(strengths: Mapping[str, float] = STRENGTHS, per_pair: int = 40, seed: int = 0) -> list[Rating]:
    """Each two sources rated so often by two raters in turn, one answer in eight a tie."""
    rng = np.random.default_rng(seed)
    names, ratings = list(strengths), []
    for i, one in enumerate(names):
        for two in names[i + 1 :]:
            for prompt in range(per_pair):
                left, right = (one, two) if rng.random() < 0.5 else (two, one)
                chance = 1 / (1 + np.exp(-(strengths[left] - strengths[right]) / 100))
                option = (
                    "tie" if rng.random() < 0.125 else rng.choice(OPTIONS[:2] if rng.random() < chance else OPTIONS[3:])
                )
                rater = ("ann", "ben")[prompt % 2]
                ratings.append(make_rating(rater, f"p{prompt}", left=left, right=right, option=str(option)))
    return ratings
