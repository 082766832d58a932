"""Whether intervals and tests hold in the designs that people have: level, coverage and width by simulation.

    python benchmarks/calibration.py [--repetitions 200] [--designs NAME ...] [--out FILE]

Texts and features are made up: a unit (a prompt, a document) has an effect of its own, which half of a text's features
and words come from. Under P = Q all sides are of one source; ``opposite`` has two candidates equally far from the human
side in different directions, ``shifted`` two that are not. Every repetition is kept in .cache/calibration, so that a
run that was stopped goes on. 200 repetitions of all designs take about an hour on one core.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

HOME = TemporaryDirectory()
os.environ.setdefault("MAUVE_LENS_HOME", HOME.name)

from mauve_core import compare  # noqa: E402 (the home folder comes first)
from mauve_core.analysis.findings.of_run import findings_between  # noqa: E402
from mauve_core.analysis.gap_test import gap_test  # noqa: E402
from mauve_core.analysis.preflight import preflight  # noqa: E402
from mauve_core.base.config import HUMAN, SCORES, CompareConfig, ScoreConfig  # noqa: E402
from mauve_core.base.errors import InputError  # noqa: E402
from mauve_core.base.files import write_atomically  # noqa: E402
from mauve_core.corpus import Corpus, corpus_from_texts  # noqa: E402
from mauve_core.numerics.statistics.exchange_test import exchange_test  # noqa: E402
from mauve_core.numerics.statistics.share_difference import share_difference  # noqa: E402

KEPT = Path(".cache/calibration")
DIMENSION, LIKENESS, WORDS, LENGTH = 8, 0.5, 400, 30
SCORE = ScoreConfig(bootstrap=200)


@dataclass(frozen=True)
class Design:
    """Texts a side, texts a unit, whether sides share units, how often each text stands, and shifts of a and b."""

    n: int = 200
    of_b: int = 200
    each: tuple[int, int] = (1, 1)
    shared: bool = False
    copies: int = 1
    shifts: tuple[tuple[int, float], tuple[int, float]] = ((0, 0.0), (0, 0.0))

    @property
    def is_null(self) -> bool:
        return self.shifts == ((0, 0.0), (0, 0.0))

    @property
    def is_tie(self) -> bool:
        """Whether both candidates are equally far."""
        return abs(self.shifts[0][1]) == abs(self.shifts[1][1])


DESIGNS = {
    "independent": Design(),
    "shared prompts": Design(shared=True),
    "five a prompt, shared": Design(each=(5, 5), shared=True),
    "five a prompt, not shared": Design(each=(5, 5)),
    "pieces of documents": Design(n=240, of_b=240, each=(2, 6)),
    "every text of b twice": Design(copies=2),
    "half as many texts of b": Design(of_b=100),
    "opposite directions": Design(shifts=((0, 1.5), (1, 1.5))),
    "opposite, shared prompts": Design(shared=True, shifts=((0, 1.5), (1, 1.5))),
    "opposite, five a prompt": Design(each=(5, 5), shifts=((0, 1.5), (1, 1.5))),
    "shifted": Design(shifts=((0, 1.2), (0, 1.6))),
    "shifted, shared prompts": Design(shared=True, shifts=((0, 1.2), (0, 1.6))),
}


def sides_of(design: Design, seed: int) -> tuple[dict[str, Corpus], dict[str, NDArray[np.float32]]]:
    """The texts and the features of the human side and of candidates a and b."""
    rng = np.random.default_rng([len(design.shifts), seed])
    usual = rng.dirichlet(np.full(WORDS, 0.3))
    effects: dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
    corpora, features = {}, {}
    for index, (name, size) in enumerate((("human", design.n), ("a", design.n), ("b", design.of_b))):
        unique = size // (design.copies if name == "b" else 1)
        units = np.repeat(np.arange(unique), rng.integers(design.each[0], design.each[1] + 1, unique))[:unique]
        units = units if design.shared else units + 10_000 * index
        rows, texts = [], []
        axis, shift = design.shifts[max(0, index - 1)]
        for unit in units:
            if unit not in effects:
                effects[unit] = rng.normal(size=DIMENSION), rng.dirichlet(100 * usual + 1e-9)
            effect, words = effects[unit]
            row = np.sqrt(LIKENESS) * effect + np.sqrt(1 - LIKENESS) * rng.normal(size=DIMENSION)
            row[axis] += shift if index else 0.0
            mixed = LIKENESS * words + (1 - LIKENESS) * usual
            rows.append(row)
            texts.append(" ".join(f"w{word}" for word in rng.choice(WORDS, LENGTH, p=mixed)))
        times = design.copies if name == "b" else 1
        prompts = [f"prompt {unit + 100_000 * turn}" for turn in range(times) for unit in units]
        ids = [f"{name} {number}" for number in range(len(prompts))]
        corpora[name] = corpus_from_texts(texts * times, name=name, prompts=prompts, ids=ids)
        features[name] = np.tile(np.array(rows, dtype=np.float32), (times, 1))
    return corpora, features


def repetition(design: Design, seed: int) -> dict[str, Any]:
    """What one draw of the sides gives: p-values, and scores and differences with their intervals."""
    corpora, features = sides_of(design, seed)
    config = CompareConfig(encoder=None, score=SCORE, projection=False)
    human, candidates = corpora[HUMAN], {name: corpora[name] for name in "ab"}
    found = compare(human, candidates, config, features=features, progress="none")
    record: dict[str, Any] = {"scores": {}, "p": {}}
    for name in "ab":
        for score in SCORES:
            own = found[name][score]
            record["scores"][f"{score} of {name}"] = own.mean, own.low, own.high
        record["p"][f"gap test of {name}"] = gap_test(found, "pairwise", name).p_value
    for each in found.differences:
        record["scores"][f"{each.score}, a less b"] = each.difference, each.low, each.high
        record["p"][f"closer, {each.score}"] = each.p_value
        record["p"][f"write alike, {each.score}"] = each.p_alike
    if design.is_null:
        flagged = [row for row in preflight(corpora).flagged if row.candidate == "b" and row.kind != "duplicates"]
        record["p"]["preflight of b"] = float(not flagged)
        try:
            number = len(findings_between(human, corpora["b"], seed=seed))
        except InputError:
            number = 0
        record["p"]["findings of b"] = float(number == 0)
    planted(record, found.units(HUMAN, "b"), seed)
    return record


def planted(record: dict[str, Any], units: dict[str, NDArray[np.int64]], seed: int) -> None:
    """A property that a tenth of the texts of either side have, alike within units: its test and interval."""
    rng = np.random.default_rng([1, seed])
    codes = np.concatenate([*units.values()])
    shares = rng.beta(0.1 / LIKENESS, 0.9 / LIKENESS, int(codes.max()) + 1)
    sides = np.arange(codes.size) < units[HUMAN].size
    has = rng.random(codes.size) < shares[codes]
    p = float(exchange_test(has, sides, codes)[0])
    record["p"]["a property"] = p
    record["scores"]["difference of a property"] = (
        float(has[~sides].mean() - has[sides].mean()),
        *share_difference(has, ~sides, codes, SCORE.confidence, p),
    )


LEVELS = {"gap": 0.01, "preflight": 0.01, "findings": 0.05}
"""Of the others .05."""


def rows_of(name: str, records: list[dict[str, Any]]) -> Iterator[str]:
    design, count = DESIGNS[name], len(records)
    for test in records[0]["p"]:
        tie, of_pair = design.is_tie if test.startswith("closer") else design.is_null, test[:4] in ("clos", "writ")
        if not (tie and design.copies == 1 if of_pair else design.is_null or test == "a property"):
            continue  # a candidate that has every text twice is farther, and repeats itself
        level = LEVELS.get(test.split()[0], 0.05)
        rejected = sum(record["p"][test] <= level for record in records)
        error = (level * (1 - level) / count) ** 0.5
        off = (rejected / count - level) / error
        yield f"| {name} | {test} | {level:g} | {rejected} of {count} | {off:+.1f} |"


def interval_rows(name: str, records: list[dict[str, Any]]) -> Iterator[str]:
    """Coverage of the mean over repetitions, and width against the spread over repetitions."""
    for quantity in records[0]["scores"]:
        values, lows, highs = zip(*(record["scores"][quantity] for record in records), strict=True)
        truth, spread = statistics.fmean(values), statistics.stdev(values)
        covered = sum(low <= truth <= high for low, high in zip(lows, highs, strict=True)) / len(records)
        width = statistics.fmean(high - low for low, high in zip(lows, highs, strict=True)) / (2 * 1.96 * spread)
        yield f"| {name} | {quantity} | {truth:.3f} | {covered:.3f} | {width:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--designs", nargs="+", choices=DESIGNS, default=[*DESIGNS])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    KEPT.mkdir(parents=True, exist_ok=True)
    tests, intervals = [], []
    for name in options.designs:
        path = KEPT / f"{name}.jsonl"
        records = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        for seed in range(len(records), options.repetitions):
            records.append(repetition(DESIGNS[name], seed))
            with path.open("a") as stream:
                stream.write(json.dumps(records[-1]) + "\n")
        tests += rows_of(name, records[: options.repetitions])
        intervals += interval_rows(name, records[: options.repetitions])
    page = f"""# Calibration of intervals and tests

    python benchmarks/calibration.py --repetitions {options.repetitions}

n = 200 texts a side unless said, k = 20, {SCORE.seeds} k-means seeds, {SCORE.bootstrap} resamples.

Tests where the hypothesis holds; the last column is the distance from the level in standard errors.

| design | test | level | rejected | off |
| --- | --- | --- | --- | --- |
{chr(10).join(tests)}

Intervals at 95%: how often they hold the mean over repetitions, and their width against 3.92 standard deviations over
repetitions.

| design | quantity | mean | coverage | width |
| --- | --- | --- | --- | --- |
{chr(10).join(intervals)}
"""
    if options.out is None:
        print(page)
    else:
        write_atomically(options.out, lambda stream: stream.write(page.encode()))


if __name__ == "__main__":
    main()
