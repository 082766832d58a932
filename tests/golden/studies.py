"""The made-up studies of the items: topics with words of their own, and features that follow the topic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core import corpus_from_texts

Study = tuple[dict[str, Any], dict[str, NDArray[np.float32]]]

TOPICS = ("river", "engine", "planet", "violin", "harvest", "market", "glacier", "parliament")
WORDS = {topic: [topic, *(f"{topic}{letter}" for letter in "abcdefghijk")] for topic in TOPICS}
WIDTH = 16

FEW = "--seeds 2 --bootstrap 100 --no-map --quiet"

# Settings of comparisons; the second has none of the defaults.
SCORES: dict[str, dict[str, Any]] = {
    "stored": {"seeds": 2, "restarts": 2, "bootstrap": 100},
    "other": {
        "seeds": 1, "restarts": 3, "bootstrap": 120, "k": 5, "scale": 2.0, "explained_variance": 0.7,
        "confidence": 0.8, "unit_rows": "after", "seed": 11,
    },
}  # fmt: skip

JOB = {
    "id": "20260101-000000000001-abcd", "name": "job 1", "status": "done", "stage": "", "done": 0, "total": 0,
    "done_before": 0, "created": "", "started": None, "stage_started": None, "updated": "", "message": "",
    "run": "one", "kind": "comparison",
}  # fmt: skip


def study(n: int, seed: int = 7) -> Study:
    """A human side over all topics, and three candidates: nearly so, half of the topics more often, two topics."""
    weights = {
        "human": np.ones(len(TOPICS)),
        "close": 1 + 0.1 * np.arange(len(TOPICS)),
        "shifted": np.where(np.arange(len(TOPICS)) < len(TOPICS) // 2, 4.0, 1.0),
        "collapsed": np.where(np.arange(len(TOPICS)) < 2, 1.0, 1e-9),
    }
    centers = np.random.default_rng(0).normal(size=(len(TOPICS), WIDTH))
    corpora, features = {}, {}
    for place, (name, share) in enumerate(weights.items()):
        rng = np.random.default_rng(seed + place)
        topics = rng.choice(len(TOPICS), size=n, p=share / share.sum())
        texts = [
            " ".join(rng.choice(WORDS[TOPICS[topic]], size=20)) + f", {name} {i}." for i, topic in enumerate(topics)
        ]
        metadata = {"topic": [TOPICS[topic] for topic in topics], "words": [len(text) // 8 for text in texts]}
        corpora[name] = corpus_from_texts(
            texts, name=name, ids=ids(n), prompts=[f"prompt {i}" for i in range(n)], metadata=metadata
        )
        features[name] = (centers[topics] + 0.3 * rng.normal(size=(n, WIDTH))).astype(np.float32)
    return corpora, features


def ids(n: int) -> list[str]:
    return [f"t{i:04d}" for i in range(n)]


def repeated_study(n: int, generations: int = 3) -> Study:
    """The same whose candidate ``close`` answers each prompt several times, and without ``shifted``."""
    corpora, features = study(n)
    rows, again = np.repeat(np.arange(n), generations), np.tile(np.arange(generations), n)
    once = corpora["close"]
    pairs = list(zip(rows.tolist(), again.tolist(), strict=True))
    close = corpus_from_texts(
        [f"{once.texts[i]} again {g}" for i, g in pairs],
        name="close",
        ids=[ids(n)[i] + (f"#{g}" if g else "") for i, g in pairs],
        prompts=[f"prompt {i}" for i, _ in pairs],
        metadata={"generation": [g for _, g in pairs]},
        generation_field="generation",
    )
    noise = np.random.default_rng(2).normal(size=(len(rows), WIDTH)).astype(np.float32)
    corpora, features = {**corpora, "close": close}, {**features, "close": features["close"][rows] + noise}
    return tuple({name: each for name, each in part.items() if name != "shifted"} for part in (corpora, features))


def write_files(folder: Path, home: Path) -> None:
    """The study as files, two of word vectors, ratings, shards, and a job that has ended."""
    corpora, features = study(40)
    for name, corpus in corpora.items():
        rows = [
            {"id": id_, "prompt": f"prompt {i}", "text": text}
            for i, (id_, text) in enumerate(zip(ids(40), corpus.texts, strict=True))
        ]
        _write_rows(folder / f"{name}.jsonl", rows)
        np.save(folder / f"{name}.npy", features[name])
        side = {"human": "human", "shifted": "model"}.get(name)
        for shard in range(2 if side else 0):
            _write_rows(folder / "shards" / str(side) / f"{shard}.jsonl", rows[shard::2])
    centers = np.random.default_rng(1).normal(size=(len(TOPICS), 8))
    _write_vectors(folder / "topics.txt", centers, 0.2)
    _write_vectors(folder / "other.txt", 0 * centers, 1.0)
    answers = ("definitely A", "slightly A", "tie", "slightly B")
    rated = [
        f"ann,t{i:04d},{('human', 'close')[i % 2]},{('shifted', 'collapsed')[i // 2 % 2]},{question},{answers[i % 4]}"
        for i in range(24)
        for question in ("interesting", "sensible", "human-like")
    ]
    (folder / "ratings.csv").write_text("\n".join(["rater,prompt_id,left,right,question,option", *rated, ""]))
    job = home / "jobs" / JOB["id"]
    job.mkdir(parents=True)
    for name, text in {"state.json": json.dumps(JOB), "task.json": "{}", "log.txt": "a line\n", "alive": ""}.items():
        (job / name).write_text(text)


def _write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _write_vectors(path: Path, centers: NDArray[np.float64], noise: float) -> None:
    rng = np.random.default_rng(2)
    lines = []
    for topic, center in zip(TOPICS, centers, strict=True):
        for word in WORDS[topic]:
            lines.append(" ".join([word, *(f"{x:.5f}" for x in center + noise * rng.normal(size=len(center)))]))
    path.write_text("\n".join(lines) + "\n")
