"""How often the gate fails where nothing differs, how often it finds greedy decoding, and how long it takes.

    python benchmarks/gate.py TEXTS --features FEATURES [FEATURES ...] --out benchmarks/results/gate.md

TEXTS is a folder with human.jsonl, nucleus.jsonl, greedy.jsonl and any other decoders, all with a text of every prompt
in one order; FEATURES are folders with a .npy file for each of them, one folder an encoder. Files of features with
another number of rows than human.npy are left out.

*Null splits*: the human texts as reference, baseline and candidate, a third each; all human texts against two halves of
one decoder's; and, answering the same prompts, two decoders whose texts are exchanged at random within each prompt.

*Greedy*: the candidate is greedy, the baseline nucleus, on random prompts drawn without replacement. Draws overlap, so
their shares are those of these texts. All prompts together give one draw; there, seeds of the clustering differ.

*Time*: of the command with features in the feature store, after a first run has encoded the texts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
from frame import arguments, page, table, write
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from mauve_core.analyses.gate import GateResult, run_gate
from mauve_core.base.config import HUMAN, CompareConfig, ScoreConfig
from mauve_core.scoring.gate import BASELINE, CANDIDATE
from mauve_core.scoring.gate_rule import MEASURE, GateRule
from mauve_core.stats.scores import SCORES
from mauve_core.texts import Corpus, corpus_from_texts

HUMAN_TEXTS, NUCLEUS, GREEDY = "human", "nucleus", "greedy"
MEASURES = (MEASURE, "mauve")

Features = NDArray[np.float32]
# Features and prompts of the reference, the baseline and the candidate.
Sides = tuple[tuple[Features, NDArray[np.intp]], ...]


@cache
def features_in(folder: Path) -> dict[str, Features]:
    found = {path.stem: np.load(path) for path in sorted(folder.glob("*.npy"))}
    return {name: array for name, array in found.items() if len(array) == len(found[HUMAN_TEXTS])}


def corpus(name: str, prompts: NDArray[np.intp]) -> Corpus:
    """Texts that stand for those of the features."""
    return corpus_from_texts(
        [f"text {row}" for row in range(prompts.size)], name=name, prompts=[f"prompt {each}" for each in prompts]
    )


def gate(sides: Sides, measure: str, seed: int) -> GateResult:
    reference, baseline, candidate = (corpus(f"side {i}", prompts) for i, (_, prompts) in enumerate(sides))
    config = CompareConfig(encoder=None, score=ScoreConfig(seed=seed), projection=False)
    features = dict(zip((HUMAN, BASELINE, CANDIDATE), (array for array, _ in sides), strict=True))
    return run_gate(reference, baseline, candidate, config, GateRule(), measures=[measure], features=features)


def human_thirds(texts: dict[str, Features], rng: Generator) -> Sides:
    parts = np.array_split(rng.permutation(len(texts[HUMAN_TEXTS])), 3)
    return tuple((texts[HUMAN_TEXTS][rows], rows) for rows in parts)


def decoder_halves(texts: dict[str, Features], rng: Generator) -> Sides:
    array = texts[str(rng.choice([name for name in texts if name != HUMAN_TEXTS]))]
    one, other = np.array_split(rng.permutation(len(array)), 2)
    every = np.arange(len(array))
    return (texts[HUMAN_TEXTS], every), (array[one], one), (array[other], other)


def exchanged(texts: dict[str, Features], rng: Generator) -> Sides:
    first, second = (texts[name] for name in rng.choice([n for n in texts if n != HUMAN_TEXTS], 2, replace=False))
    swap, every = rng.random((len(first), 1)) < 0.5, np.arange(len(first))
    sides = texts[HUMAN_TEXTS], np.where(swap, second, first), np.where(swap, first, second)
    return tuple((array, every) for array in sides)


NULLS: dict[str, Callable[[dict[str, Features], Generator], Sides]] = {
    "human texts on all three sides": human_thirds,
    "two halves of one decoder": decoder_halves,
    "two decoders, exchanged within prompts": exchanged,
}


def null_verdict(job: tuple[Path, str, str, SeedSequence]) -> tuple[int, str]:
    folder, null, measure, seed = job
    rng = np.random.default_rng(seed)
    result = gate(NULLS[null](features_in(folder), rng), measure, int(rng.integers(2**31)))
    return result.tests[0].n, result.verdict


def greedy_verdict(job: tuple[Path, int, str, SeedSequence]) -> tuple[int, str]:
    folder, n, measure, seed = job
    rng, texts = np.random.default_rng(seed), features_in(folder)
    rows = rng.permutation(len(texts[HUMAN_TEXTS]))[:n]
    sides = tuple((texts[name][rows], rows) for name in (HUMAN_TEXTS, NUCLEUS, GREEDY))
    return n, gate(sides, measure, int(rng.integers(2**31))).verdict


SIDES_OF_FILES = {"reference": HUMAN_TEXTS, "baseline": NUCLEUS, "candidate": GREEDY}


def row(cells: list[str], found: list[tuple[int, str]]) -> list[str]:
    counts = Counter(verdict for _, verdict in found)
    shares = [f"{counts[verdict] / len(found):.3f}" for verdict in ("fail", "pass", "undecided")]
    return [*cells, str(found[0][0]), str(len(found)), *shares]


def null_rows(folders: list[Path], draws: int, pool: ProcessPoolExecutor) -> list[list[str]]:
    rows = []
    for folder in folders:
        for index, null in enumerate(NULLS):
            for measure in MEASURES:
                seeds = SeedSequence([len(folder.name), index]).spawn(draws)
                found = list(pool.map(null_verdict, [(folder, null, measure, seed) for seed in seeds], chunksize=5))
                rows.append(row([folder.name, null, measure], found))
                print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    return rows


def greedy_rows(folders: list[Path], draws: int, pool: ProcessPoolExecutor) -> list[list[str]]:
    rows = []
    for folder in folders:
        whole = len(features_in(folder)[HUMAN_TEXTS])
        for n in (whole // 2, 4 * whole // 5, whole):
            for measure in MEASURES:
                seeds = SeedSequence([len(folder.name), n]).spawn(draws)
                found = list(pool.map(greedy_verdict, [(folder, n, measure, seed) for seed in seeds], chunksize=5))
                rows.append(row([folder.name, measure], found))
                print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    return rows


def difference_rows(folders: list[Path]) -> list[list[str]]:
    """All prompts: greedy minus nucleus under every score, at the level of one measure."""
    rows = []
    for folder in folders:
        texts = features_in(folder)
        every = np.arange(len(texts[HUMAN_TEXTS]))
        for measure in SCORES:
            test = gate(tuple((texts[name], every) for name in SIDES_OF_FILES.values()), measure, 0).tests[0]
            numbers = (test.baseline, test.candidate, test.difference, test.sd, test.smallest_effect)
            rows.append([folder.name, measure, *(f"{number:.3f}" for number in numbers)])
    return rows


def seconds(texts: Path, encoder: str) -> tuple[float, float]:
    """Of the command on two threads: with texts to encode, and again."""
    files = [f"--{side}={texts / f'{name}.jsonl'}" for side, name in SIDES_OF_FILES.items()]
    taken = []
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "MAUVE_LENS_HOME": home, "OMP_NUM_THREADS": "2"}
        for _ in range(2):
            start = time.monotonic()
            command = [sys.executable, "-m", "mauve_core", "gate", *files, "--encoder", encoder, "--quiet"]
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
            taken.append(time.monotonic() - start)
            if not done.stdout.startswith("FAIL"):
                raise SystemExit(f"The command did not find greedy decoding: {done.stdout[:200]}")
    return taken[0], taken[1]


def report(options: argparse.Namespace) -> str:
    first, again = seconds(options.texts, options.encoder)
    with ProcessPoolExecutor(options.workers) as pool:
        nulls = null_rows(options.features, options.draws, pool)
        greedy = greedy_rows(options.features, options.draws, pool)
    rule, n = GateRule(), len(features_in(options.features[0])[HUMAN_TEXTS])
    verdicts = ["fail", "pass", "undecided"]
    return page(
        "The gate of a pipeline",
        f"""The texts are {n} continuations of WebText prompts a side: people's, and GPT-2 large's under several
decoders. The rule is the default: alpha {rule.alpha:g}, margin {rule.margin:g}, the measure's smallest effect.""",
        "## Where nothing differs: share of verdicts",
        "n is the number of texts of the baseline and of the candidate.",
        table(["encoder", "nothing differs", "measure", "n", "splits", *verdicts], nulls),
        "## Greedy decoding against a baseline of nucleus sampling: share of verdicts",
        f"Prompts are drawn without replacement; of all {n}, only the seed of the clustering differs.",
        table(["encoder", "measure", "n", "draws", *verdicts], greedy),
        "## How far greedy decoding is from nucleus sampling, with all prompts",
        table(
            ["encoder", "measure", "nucleus", "greedy", "difference", "sd", "smallest effect"],
            difference_rows(options.features),
        ),
        "## Time",
        f"""`mauve-lens gate --encoder {options.encoder}` of 3 x {n} texts on two threads: {first:.0f} s with the texts
to encode, {again:.1f} s again, with their features in the store.""",
    )


if __name__ == "__main__":
    parser = arguments(__doc__, draws=200, workers=2)
    parser.add_argument("texts", type=Path, metavar="TEXTS")
    parser.add_argument("--features", type=Path, nargs="+", required=True)
    parser.add_argument("--encoder", default="minilm", help="of the measured time")
    options = parser.parse_args()
    write(report(options), options.out)
