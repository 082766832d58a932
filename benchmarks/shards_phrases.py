"""Count phrases of clusters in all texts of shards, beside scikit-learn's CountVectorizer on the same texts in memory.

    python benchmarks/shards_phrases.py demo --workdir FOLDER --out benchmarks/results/shards_phrases.md

The texts are those of a run, each repeated with its words in another order. Word vectors by chance stand in for an
encoder, so that the pass is most of the work. Both sides' counts must be equal.
"""

from __future__ import annotations

import argparse
import platform
import re
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.feature_extraction.text import CountVectorizer

from mauve_core.base.config import HUMAN, EncoderConfig, ScoreConfig
from mauve_core.base.files import write_atomically
from mauve_core.runs import RunStore
from mauve_core.shards.cluster_texts import chosen_path
from mauve_core.shards.clustering import labels_path
from mauve_core.shards.comparison import compare_shards, kept_clusters
from mauve_core.shards.engines import LocalEngine
from mauve_core.shards.plan import Plan, Work, plan_of
from mauve_core.texts.properties import LONGEST_PHRASE, PHRASE_PATTERN

MODEL = "model"
K, SHARDS = 30, 4


def written(texts: Sequence[str], number: int, folder: Path, seed: int) -> Path:
    """Shards of so many texts: those given, again and again, their words in another order each time."""
    rng, rows = np.random.default_rng(seed), []
    for row in range(number):
        words = texts[row % len(texts)].split()
        rows.append({"id": f"{row}", "text": " ".join(rng.permutation(words).tolist())})
    folder.mkdir(parents=True)
    for index, part in enumerate(np.array_split(np.arange(number), SHARDS)):
        pq.write_table(pa.Table.from_pylist([rows[row] for row in part]), folder / f"{index}.parquet")
    return folder


def vectors(texts: Sequence[str], path: Path) -> Path:
    """A vector by chance for every word of the texts."""
    rng = np.random.default_rng(0)
    words = sorted({word for text in texts for word in re.findall(r"\w+", text.lower())})
    path.write_text("".join(f"{word} {' '.join(f'{x:.4f}' for x in rng.normal(size=16))}\n" for word in words))
    return path


def counted_by_peer(work: Work) -> tuple[list[list[int]], float]:
    """Texts with each phrase, both sides of each cluster after each other, and the seconds that the counting took."""
    _, clusters = kept_clusters(work, MODEL)
    phrases = [cluster.phrases.phrases for cluster in clusters]
    vocabulary = sorted({phrase for own in phrases for phrase in own})
    columns = {phrase: column for column, phrase in enumerate(vocabulary)}
    chosen, found, seconds = work.arrays(chosen_path(work, MODEL)), [], 0.0
    vectorizer = CountVectorizer(
        token_pattern=PHRASE_PATTERN, ngram_range=(1, LONGEST_PHRASE), vocabulary=vocabulary, binary=True
    )
    for source in (HUMAN, MODEL):
        shards = work.plan.sides[source]
        texts = [text for shard in shards for text in pq.read_table(shard).column("text").to_pylist()]
        labels = np.concatenate(
            [np.load(labels_path(work, MODEL, source, index))[int(chosen["seed"])] for index in range(len(shards))]
        )
        began = time.perf_counter()
        matrix = vectorizer.transform(texts)
        sums = [np.asarray(matrix[np.flatnonzero(labels == each.number)].sum(axis=0)).ravel() for each in clusters]
        seconds += time.perf_counter() - began
        found += [own[[columns[phrase] for phrase in each]].tolist() for own, each in zip(sums, phrases, strict=True)]
    return found, seconds


def measured(plan: Plan, folder: Path) -> tuple[float, float, int, int]:
    """Seconds of the pass and of the peer, phrases, and the most memory of the worker."""
    engine, work = LocalEngine(1), Work.begin(folder, plan)
    try:
        found = compare_shards(work, engine)
    finally:
        engine.close()
    theirs, seconds = counted_by_peer(work)
    clusters = kept_clusters(work, MODEL)[1]
    if theirs != [cluster.phrases.texts[side].tolist() for side in (0, 1) for cluster in clusters]:
        raise SystemExit("The counts differ")
    (own,) = [one for one in found.passes if one.name == "count"]
    return own.seconds, seconds, sum(map(len, theirs)) // 2, own.peak_bytes


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("run", help="a stored run with one candidate or more")
    parser.add_argument("--workdir", type=Path, required=True)
    parser.add_argument("--texts", type=int, default=20_000, help="of each side")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    run = RunStore().load(args.run)
    sides = [corpus.texts for corpus in list(run.corpora.values())[:2]]
    every = [text for side in sides for text in side]
    encoder = EncoderConfig(str(vectors(every, args.workdir / "words.txt")))
    places = [
        written(side, args.texts, args.workdir / name, seed)
        for seed, (name, side) in enumerate(zip((HUMAN, MODEL), sides, strict=True))
    ]
    plan = plan_of(places[0], {MODEL: places[1]}, encoder=encoder, score=ScoreConfig(k=K, seeds=1, bootstrap=100))
    rounds = [measured(plan, args.workdir / f"work-{turn}") for turn in range(args.rounds)]
    words = sum(len(text.split()) for text in every) / len(every)
    ours, theirs = (median(each[way] for each in rounds) for way in (0, 1))
    ratios = [each[1] / each[0] for each in rounds]
    ours_s = 2 * args.texts / ours
    write_atomically(
        args.out,
        lambda stream: stream.write(
            f"""# Phrases of clusters in all texts of shards

Made by `python benchmarks/shards_phrases.py {args.run} --texts {args.texts} --rounds {args.rounds}` on
{platform.machine()}, one worker. Two sides of {args.texts:,} texts of {words:.0f} words in {SHARDS} shards each;
k = {K}, so that all texts are counted; {rounds[0][2]:,} phrases. The counts are equal.

| | seconds | texts/s | |
| --- | --- | --- | --- |
| the pass, reading included | {ours:.1f} | {ours_s:,.0f} | {rounds[0][3] / 2**20:.0f} MiB |
| CountVectorizer, texts in memory | {theirs:.1f} | {2 * args.texts / theirs:,.0f} | |

Time of CountVectorizer over that of the pass: {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}), median of
{args.rounds} rounds.
""".encode()
        ),
    )


if __name__ == "__main__":
    main()
