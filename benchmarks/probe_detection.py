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
from dataclasses import dataclass, replace

import numpy as np
from frame import arguments, page, table, write
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core.analyses.probe_results import LEVEL, combined_p_value, detectable_by, permutations_for, split_test
from mauve_core.analyses.probes import PAPER
from mauve_core.base.config import DEFAULT_MODEL, EncoderConfig, ScoreConfig
from mauve_core.base.config import PROBE_SPLITS as SPLITS
from mauve_core.encoders.features import FeatureStore
from mauve_core.scoring.partitioning import partitions
from mauve_core.stats.divergences import mauve, probabilities
from mauve_core.stats.multiple_tests import holm
from mauve_core.stats.resampling import PermutationTest
from mauve_core.texts import Corpus, read_corpus
from mauve_core.texts.kinds import kind_of

CONTROL = "none"

Features = NDArray[np.float32]


def in_pairs(corpus: Corpus, words: int | None) -> Corpus:
    """The texts in random order, each cut to its first words; rows 2i and 2i + 1 are a pair."""
    rows = np.random.default_rng(0).permutation(len(corpus))[: len(corpus) // 2 * 2]
    taken = corpus.take(rows)
    if words is None:
        return taken
    first = re.compile(rf"(?:\s*\S+){{0,{words}}}")
    return replace(taken, texts=tuple("".join(first.findall(text)[:1]) for text in taken.texts))


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


@dataclass(frozen=True)
class Table:
    """One simulated table of probes: MAUVE of each half, adjusted p-values, detectable drops."""

    scores: dict[str, float]
    adjusted: dict[str, float]
    detectable: dict[str, float]


def simulated(features: Mapping[str, Features], score: ScoreConfig, seed: SeedSequence) -> Table:
    """A table of probes of these texts in random halves."""
    cuts, starts, exchanges = (child.spawn(SPLITS) for child in seed.spawn(3))
    scores: dict[str, list[float]] = {name: [] for name in features}
    tests: dict[str, list[PermutationTest]] = {name: [] for name in features if name != CONTROL}
    for cut, start, exchange in zip(cuts, starts, exchanges, strict=True):
        pairs = np.random.default_rng(cut).permutation(len(features[CONTROL]) // 2)
        reference, half = (2 * rows[:, None] + [0, 1] for rows in np.split(pairs[: len(pairs) // 2 * 2], 2))
        seeds = start.spawn(score.seeds)
        for name, array in features.items():
            sides = {"reference": features[CONTROL][reference.ravel()], "comparison": array[half.ravel()]}
            parts = partitions("pairwise", sides, seeds, score, lambda: None)
            p, q = (probabilities(np.stack([part.counts(side) for part in parts])) for side in sides)
            scores[name].append(float(mauve(p, q, score.scale).mean()))
            if name in tests:
                tests[name].append(split_test(parts, score.scale, permutations_for(len(tests)), exchange))
    combined = [combined_p_value([test.p_value for test in each]) for each in tests.values()]
    return Table(
        {name: float(np.mean(values)) for name, values in scores.items()},
        dict(zip(tests, holm(combined).tolist(), strict=True)),
        {name: detectable_by(each, score.scale, len(tests)) or 1.0 for name, each in tests.items()},
    )


def rows_of(model: str, tables: list[Table]) -> list[list[str]]:
    rows = []
    for name in tables[0].adjusted:
        drops = np.array([each.scores[CONTROL] - each.scores[name] for each in tables])
        found = np.mean([each.adjusted[name] <= LEVEL for each in tables])
        known = np.mean([each.detectable[name] for each in tables])
        untouched = np.mean([each.scores[CONTROL] for each in tables])
        drop = f"{drops.mean():.3f} ± {drops.std(ddof=1):.3f}"
        rows.append(
            [model, name, f"{untouched:.3f}", drop, f"{np.mean(drops > 0):.0%}", f"{known:.3f}", f"{found:.0%}"]
        )
    return rows


def report(options: argparse.Namespace) -> str:
    corpus = in_pairs(read_corpus(options.file, metadata_fields=()), options.words or None)
    score, rows = ScoreConfig(), list[list[str]]()
    for model in options.encoder:
        features = all_features(corpus, model)
        seeds = SeedSequence(0).spawn(options.simulations)
        rows += rows_of(model, [simulated(features, score, seed) for seed in seeds])
    cut = f", each cut to its first {options.words} words" if options.words else ""
    return page(
        "Detection of perturbations",
        f"""{len(corpus):,} human texts{cut}, in halves of {len(corpus) // 4 * 2:,}. {options.simulations} tables of
probes, each with {SPLITS} random splits of these texts and {score.seeds} k-means seeds, corrected for {len(PAPER)}
perturbations. Drop: MAUVE of the untouched half minus that of the perturbed one, mean ± standard deviation over tables.
Detectable: the drop that a table says it would have detected, mean. All tables are of the same texts.""",
        table(["encoder", "perturbation", "untouched MAUVE", "drop", "drop above 0", "detectable", "detected"], rows),
    )


if __name__ == "__main__":
    parser = arguments(__doc__, simulations=100, words=0)
    parser.add_argument(
        "file", metavar="FILE", help="human texts, each cut to its first --words before it is perturbed"
    )
    parser.add_argument("--encoder", nargs="+", default=[DEFAULT_MODEL])
    options = parser.parse_args()
    write(report(options), options.out)
