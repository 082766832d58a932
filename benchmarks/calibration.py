"""Whether intervals and tests hold in the designs that people have: level, coverage and width by simulation.

    python benchmarks/calibration.py [--repetitions 200] [--counts 1000] [--designs NAME ...] [--out FILE]

Texts and features are made up: a unit (a prompt, a document) has an effect of its own, which half of a text's features
and words come from. Under P = Q all sides are of one source; ``opposite`` has two candidates equally far from the human
side in different directions, ``shifted`` two that are not. What counts texts alone, without clusters, does not depend
on a shift and is repeated more often. Every repetition is kept in .cache/calibration, so that a run that was stopped
goes on.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

HOME = TemporaryDirectory()
os.environ.setdefault("MAUVE_LENS_HOME", HOME.name)

from mauve_core import compare  # noqa: E402 (the home folder comes first)
from mauve_core.analyses.feature_measures import Discriminator  # noqa: E402
from mauve_core.analyses.lexical_measures import Distinct, Zipf  # noqa: E402
from mauve_core.analyses.measure_inputs import Collection, MeasureContext, Tokens, by_unit  # noqa: E402
from mauve_core.analyses.text_measures import (  # noqa: E402
    collection_of,
    measured,
    with_groups,
)
from mauve_core.base.config import HUMAN, CompareConfig, ScoreConfig  # noqa: E402
from mauve_core.base.errors import InputError  # noqa: E402
from mauve_core.base.files import write_atomically  # noqa: E402
from mauve_core.base.progress import Progress, silent  # noqa: E402
from mauve_core.findings.clusters import gap_test  # noqa: E402
from mauve_core.findings.finding import findings_between  # noqa: E402
from mauve_core.findings.format_checks import preflight  # noqa: E402
from mauve_core.scoring.tables import reduced_integral  # noqa: E402
from mauve_core.stats.scores import SCORES  # noqa: E402
from mauve_core.stats.two_groups import exchange_test, share_difference  # noqa: E402
from mauve_core.texts import Corpus, corpus_from_texts  # noqa: E402
from mauve_core.texts.pairing import units_among  # noqa: E402

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
    "a as people, b shifted": Design(shifts=((0, 0.0), (0, 0.9))),
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


# ``scores``: values with the ends of their intervals; ``p``: p-values; both by what they are of.
Record = dict[str, dict[str, Any]]


class Words(MeasureContext):
    """Takes the made-up words for tokens."""

    def tokens(self, texts: Collection, progress: Progress = silent) -> Tokens:  # noqa: ARG002
        return self.words(texts)


def clustered(design: Design, seed: int) -> Record:
    """What one draw of the sides gives: p-values, and scores and differences with their intervals."""
    corpora, features = sides_of(design, seed)
    config = CompareConfig(encoder=None, score=SCORE, projection=False)
    human, candidates = corpora[HUMAN], {name: corpora[name] for name in "ab"}
    found = compare(human, candidates, config, features=features, progress="none")
    record: Record = {"scores": {}, "p": {}}
    for name in "ab":
        for score in SCORES:
            own = found[name][score]
            record["scores"][f"{score} of {name}"] = own.mean, own.low, own.high
        record["scores"][f"bias-reduced integral of {name}"] = reduced_integral(found, name) or (math.nan,) * 3
        record["p"][f"gap test of {name}"] = gap_test(found, "pairwise", name).p_value
    for each in found.differences:
        record["scores"][f"{each.score}, a less b"] = each.difference, each.low, each.high
        record["p"][f"closer, {each.score}"] = each.p_value
        record["p"][f"write alike, {each.score}"] = each.p_alike
    own = {name: collection_of(corpora[name], name, features[name]) for name in (HUMAN, "b")}
    side, sides = by_unit(own.pop(HUMAN), own)
    record["p"]["C2ST of b"] = Discriminator().terms(sides["b"], side, Words(seed=seed)).p_value
    if design.is_null:
        try:
            number = len(findings_between(human, corpora["b"], seed=seed))
        except InputError:
            number = 0
        record["p"]["findings of b"] = float(number == 0)
    return record


def counted(design: Design, seed: int) -> Record:
    """The same of what counts texts alone."""
    corpora, _ = sides_of(design, seed)
    record: Record = {"scores": {}, "p": {}}
    flagged = [row for row in preflight(corpora).flagged if row.candidate == "b" and row.kind != "duplicates"]
    record["p"]["preflight of b"] = float(not flagged)
    planted(record, units_among({name: corpora[name] for name in (HUMAN, "b")}), seed)
    sides = {name: collection_of(corpus, name) for name, corpus in corpora.items()}
    context, grouped = Words(), with_groups(*by_unit(sides.pop(HUMAN), sides))
    for item in (Distinct(2), Zipf()):
        (test,) = (each for each in measured(item, *grouped, context, silent).differences if each.of == "value")
        record["p"][f"measure {item.name}, a and b"] = test.p_value
        record["scores"][f"measure {item.name}, a less b"] = test.difference, test.low, test.high
    return record


def planted(record: Record, units: dict[str, NDArray[np.int64]], seed: int) -> None:
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


# Of the others .05.
LEVELS = {"gap": 0.01, "preflight": 0.01, "findings": 0.05}


def holds(test: str, design: Design) -> bool:
    """Whether the hypothesis of a test is true in a design."""
    if test.startswith("measure"):  # distinct-n and the slope depend on the number of texts
        return design.copies == 1 and design.of_b == design.n
    if test.startswith(("closer", "write")):  # a candidate that has every text twice is farther, and repeats itself
        return design.copies == 1 and (design.is_tie if test.startswith("closer") else design.is_null)
    return design.is_null


def rows_of(name: str, records: list[Record]) -> Iterator[str]:
    for test in records[0]["p"] if records else ():
        if not holds(test, DESIGNS[name]):
            continue
        level = LEVELS.get(test.split()[0], 0.05)
        count, rejected = len(records), rejections(records, test, level)
        error = (level * (1 - level) / count) ** 0.5
        off = (rejected / count - level) / error
        yield f"| {name} | {test} | {level:g} | {rejected} of {count:,} | {off:+.1f} |"


def power_rows(name: str, records: list[Record]) -> Iterator[str]:
    """How often tests find that one candidate is farther, where it is."""
    for score in () if DESIGNS[name].is_tie else SCORES:
        found = [rejections(records, f"{test}, {score}", 0.05) / len(records) for test in ("closer", "write alike")]
        yield f"| {name} | {score} | " + " | ".join(f"{share:.3f}" for share in found) + " |"


def rejections(records: list[Record], test: str, level: float) -> int:
    """A test that a draw does not allow rejects nothing."""
    return sum(record["p"][test] is not None and record["p"][test] <= level for record in records)


def interval_rows(name: str, records: list[Record]) -> Iterator[str]:
    """Coverage of the mean over repetitions, and width against the spread over repetitions."""
    for quantity in records[0]["scores"] if records else ():
        if quantity.startswith("measure") and not holds(quantity, DESIGNS[name]):
            continue  # its mean depends on the words of each repetition
        values, lows, highs = zip(*(record["scores"][quantity] for record in records), strict=True)
        truth, spread = statistics.fmean(values), statistics.stdev(values)
        covered = sum(low <= truth <= high for low, high in zip(lows, highs, strict=True)) / len(records)
        width = statistics.fmean(high - low for low, high in zip(lows, highs, strict=True)) / (2 * 1.96 * spread)
        yield f"| {name} | {quantity} | {truth:.3f} | {covered:.3f} | {width:.2f} |"


def kept(name: str, kind: str, of: Callable[[Design, int], Record], count: int) -> list[Record]:
    """The first records of a design; those that are not kept are made."""
    path = KEPT / kind / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    records = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    for seed in range(len(records), count):
        records.append(of(DESIGNS[name], seed))
        with path.open("a") as stream:
            stream.write(json.dumps(records[-1]) + "\n")
    return records[:count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--counts", type=int, default=1000, help="repetitions of what counts texts alone")
    parser.add_argument("--designs", nargs="+", choices=DESIGNS, default=[*DESIGNS])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    tests, intervals, power = [], [], []
    for name in options.designs:
        records = kept(name, "clustered", clustered, options.repetitions)
        counts = kept(name, "counted", counted, options.counts) if DESIGNS[name].is_null else []
        for of in (records, counts):
            tests += rows_of(name, of)
            intervals += interval_rows(name, of)
        power += power_rows(name, records)
    page = f"""# Calibration of intervals and tests

    python benchmarks/calibration.py --repetitions {options.repetitions} --counts {options.counts}

n = 200 texts a side unless said, k = 20, {SCORE.seeds} k-means seeds, {SCORE.bootstrap} resamples.

## Level

Tests where the hypothesis holds; the last column is the distance from the level in standard errors.

| design | test | level | rejected | off |
| --- | --- | --- | --- | --- |
{chr(10).join(tests)}

## Power

Where one candidate is farther: the share of repetitions in which tests at .05 find that one is closer, and that the two
do not write alike.

| design | score | closer | write alike |
| --- | --- | --- | --- |
{chr(10).join(power)}

## Intervals

At 95%: how often they hold the mean over repetitions, and their width against 3.92 standard deviations over
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
