"""Many candidates under many seeds at once, beside as many calls of mauve-text.

    python benchmarks/many_comparisons.py [--texts 5000] [--dimension 1280] [--candidates 8] [--seeds 5] [--rounds 5]

Features are made up (see benchmarks/peer.py). Ours is `partitioning.grouped_partitions`, which every run goes through,
and the scores of every partition; the bootstrap, which mauve-text has not, is timed by itself. A round of mauve-text is
one call for each candidate under one seed, so that the rounds together are all its calls; its time counts as often as
there are seeds.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mauve
import numpy as np
from peer import best_objective, in_turn, made_up_sides, printed_by

from mauve_core.base.config import HUMAN, CompareConfig, ScoreConfig
from mauve_core.base.files import write_atomically
from mauve_core.scoring.compare import compare
from mauve_core.scoring.partitioning import clustering_seeds, grouped_partitions, measured
from mauve_core.stats.divergences import score_counts
from mauve_core.texts import corpus_from_texts

DECAY = 0.5


def report(texts: int, dimension: int, candidates: int, seeds: int, rounds: int, command: str) -> str:
    human, *others = made_up_sides(texts, dimension, decay=DECAY, seed=0, sides=1 + candidates)
    names = [f"candidate {place}" for place in range(candidates)]
    features = {HUMAN: human, **dict(zip(names, others, strict=True))}
    k = round(texts / 10)

    def ours(turn: int) -> tuple[float, float]:
        score = ScoreConfig(k=k, seeds=seeds, seed=turn)
        sides = measured(features, score)
        pairs = {name: {HUMAN: sides[HUMAN], name: sides[name]} for name in names}
        streams = dict.fromkeys(names, clustering_seeds(score)["pairwise"])
        found = grouped_partitions("pairwise", pairs, streams, score, lambda: None)
        parts = [(name, part) for name in names for part in found[name]]
        scores = [float(score_counts(part.counts(HUMAN), part.counts(name))["mauve"]) for name, part in parts]
        return float(np.mean(scores)), float(np.mean([part.objective for _, part in parts]))

    def peer(turn: int) -> tuple[float, float]:
        scores, objectives = [], []
        for name in names:
            call: Any = lambda name=name: mauve.compute_mauve(  # noqa: E731
                p_features=human, q_features=features[name], num_buckets=k, seed=turn, verbose=True
            )
            result, printed = printed_by(call)
            scores.append(float(result.mauve))
            objectives.append(best_objective(printed))
        return float(np.mean(scores)), float(np.mean(objectives))

    def whole(turn: int) -> tuple[float, float]:
        corpora = {name: corpus_from_texts([f"text {row}" for row in range(texts)], name=name) for name in features}
        config = CompareConfig(encoder=None, score=ScoreConfig(k=k, seeds=seeds, seed=turn), projection=False)
        candidates_of = {name: corpora[name] for name in names}
        found = compare(corpora[HUMAN], candidates_of, config, features=features)
        return float(np.mean([each.scores["mauve"].mean for each in found.candidates])), float("nan")

    seconds, results = in_turn({"peer": peer, "ours": ours, "run": whole}, rounds)
    rows = []
    for name, what in (
        ("peer", f"mauve-text, {candidates * seeds} calls"),
        ("ours", f"ours, {candidates} x {seeds} partitions and scores"),
        ("run", "a whole run: these, joint partitions, human halves, bootstrap intervals"),
    ):
        times = seeds if name == "peer" else 1
        ratios = [seeds * theirs / (times * own) for theirs, own in zip(seconds["peer"], seconds[name], strict=True)]
        mean, objective = np.mean(results[name], axis=0)
        shown = "" if np.isnan(objective) else f"{objective:,.0f}"
        rows.append(
            f"| {what} | {times * statistics.median(seconds[name]):.1f} s | **{statistics.median(ratios):.1f}** "
            f"({min(ratios):.1f} to {max(ratios):.1f}) | {mean:.4f} | {shown} |"
        )
    lines = "\n".join(rows)
    return f"""# Many comparisons

    {command}

{candidates} candidates against one human side, {seeds} seeds, {texts:,} texts per side, dimension {dimension:,},
k = {k}; medians of {rounds} rounds in which all ways ran in turn, on {os.cpu_count()} cores.

| what | time | mauve-text / this (least to most) | mean MAUVE | mean objective |
| --- | --- | --- | --- | --- |
{lines}

numpy {version("numpy")}, mauve-text {version("mauve-text")}, Python {platform.python_version()}.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    numbers = {"texts": 5000, "dimension": 1280, "candidates": 8, "seeds": 5, "rounds": 5}
    for name, usual in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    values = {name: getattr(options, name) for name in numbers}
    given = " ".join(f"--{name} {value}" for name, value in values.items())
    command = f"python benchmarks/many_comparisons.py {given}{'' if options.out is None else f' --out {options.out}'}"
    page = report(**values, command=command)
    if options.out is None:
        print(page)
    else:
        write_atomically(options.out, lambda stream: stream.write(page.encode()))


if __name__ == "__main__":
    main()
