"""Whether intervals and tests hold in the designs that people have: level, coverage and width by simulation.

    python benchmarks/calibration.py [--repetitions 200] [--counts 1000] [--designs NAME ...] [--out FILE]

Texts and features are made up: a unit (a prompt, a document) has an effect of its own, which half of a text's features
and words come from. Under P = Q all sides are of one source; ``opposite`` has two candidates equally far from the human
side in different directions, ``shifted`` two that are not. What counts texts alone, without clusters, does not depend
on a shift and is repeated more often. Every repetition is kept in .cache/calibration, so that a run that was stopped
goes on.

    python benchmarks/calibration.py --shares 400 --out benchmarks/results/calibration_shares.md

tells how often the interval of "accounts for X% of the gap" covers the share in the distributions instead. A thing that
10% of people's texts and 40% of a model's have moves texts between fixed clusters; ``moved`` is how far the model's
texts differ otherwise: with 0, the whole gap goes when it is held equal. Texts are independent.
"""

from __future__ import annotations

import json
import math
import os
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from frame import arguments, page, table, write
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core import compare
from mauve_core.analyses.feature_measures import Discriminator
from mauve_core.analyses.lexical_measures import Distinct, Zipf
from mauve_core.analyses.measure_inputs import Collection, MeasureContext, Tokens, by_unit
from mauve_core.analyses.text_measures import (
    collection_of,
    measured,
    with_groups,
)
from mauve_core.base.config import HUMAN, CompareConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.findings.clusters import gap_test, gap_test_of
from mauve_core.findings.finding import findings_between, held_equal
from mauve_core.findings.format_checks import preflight
from mauve_core.scoring.result import Partition
from mauve_core.scoring.tables import reduced_integral
from mauve_core.stats.divergences import frontier_integral
from mauve_core.stats.scores import SCORES
from mauve_core.stats.two_groups import exchange_test, share_difference
from mauve_core.texts import Corpus, corpus_from_texts
from mauve_core.texts.pairing import units_among

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


def rows_of(name: str, records: list[Record]) -> Iterator[list[str]]:
    for test in records[0]["p"] if records else ():
        if not holds(test, DESIGNS[name]):
            continue
        level = LEVELS.get(test.split()[0], 0.05)
        count, rejected = len(records), rejections(records, test, level)
        error = (level * (1 - level) / count) ** 0.5
        off = (rejected / count - level) / error
        yield [name, test, f"{level:g}", f"{rejected} of {count:,}", f"{off:+.1f}"]


def power_rows(name: str, records: list[Record]) -> Iterator[list[str]]:
    """How often tests find that one candidate is farther, where it is."""
    for score in () if DESIGNS[name].is_tie else SCORES:
        found = [rejections(records, f"{test}, {score}", 0.05) / len(records) for test in ("closer", "write alike")]
        yield [name, score, *(f"{share:.3f}" for share in found)]


def rejections(records: list[Record], test: str, level: float) -> int:
    """A test that a draw does not allow rejects nothing."""
    return sum(record["p"][test] is not None and record["p"][test] <= level for record in records)


def interval_rows(name: str, records: list[Record]) -> Iterator[list[str]]:
    """Coverage of the mean over repetitions, and width against the spread over repetitions."""
    for quantity in records[0]["scores"] if records else ():
        if quantity.startswith("measure") and not holds(quantity, DESIGNS[name]):
            continue  # its mean depends on the words of each repetition
        values, lows, highs = zip(*(record["scores"][quantity] for record in records), strict=True)
        truth, spread = statistics.fmean(values), statistics.stdev(values)
        covered = sum(low <= truth <= high for low, high in zip(lows, highs, strict=True)) / len(records)
        width = statistics.fmean(high - low for low, high in zip(lows, highs, strict=True)) / (2 * 1.96 * spread)
        yield [name, quantity, f"{truth:.3f}", f"{covered:.3f}", f"{width:.2f}"]


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


# Shares of the gap

OF_HUMAN, OF_MODEL, MODEL = 0.1, 0.4, "m"


class Setting(NamedTuple):
    n: int
    k: int
    moved: float


SETTINGS = [Setting(n, k, moved) for n, k in ((400, 40), (2000, 40), (2000, 200)) for moved in (0.0, 0.15, 0.4)]


def clusters_of(setting: Setting):
    """(k,) probabilities of the clusters of people's texts without it, of the model's, and of those with it."""
    rng = np.random.default_rng(0)
    without, with_it, other = (rng.dirichlet(np.full(setting.k, spread)) for spread in (3, 0.5, 0.5))
    return without, (1 - setting.moved) * without + setting.moved * other, with_it


def truth_of(setting: Setting) -> float:
    human, model, with_it = clusters_of(setting)
    mixed = ((OF_HUMAN, human), (OF_MODEL, model), (OF_HUMAN, model))
    p, q, equal = (share * with_it + (1 - share) * each for share, each in mixed)
    return 1 - float(frontier_integral(p, equal) / frontier_integral(p, q))


def sample(setting: Setting, repeat: int):
    """The arguments of ``held_equal`` for drawn texts, each a unit."""
    rng, (human, model, with_it) = np.random.default_rng([repeat, setting.n]), clusters_of(setting)
    has, labels = [], {}
    for name, share, without in ((HUMAN, OF_HUMAN, human), (MODEL, OF_MODEL, model)):
        own = rng.random(setting.n) < share
        drawn = (rng.choice(setting.k, setting.n, p=each) for each in (with_it, without))
        labels[name] = np.where(own, *drawn).astype(np.int32)
        has.append(own)
    part = Partition("pairwise", 0, setting.k, 1.0, labels)
    return [part], (HUMAN, MODEL), *has, np.arange(2 * setting.n), SeedSequence(repeat)


def shares_row(setting: Setting, repeats: int) -> list[object]:
    truth, covered, said, shown = truth_of(setting), 0, [], []
    for repeat in range(repeats):
        found = held_equal(*(given := sample(setting, repeat)))
        if found is not None:
            covers = found.low <= truth <= found.high + 1e-9
            covered, said = covered + covers, [*said, found.share]
            tested = gap_test_of(given[0], MODEL, None, seed=SeedSequence(repeat))
            shown += [covers] if tested.explains and found.low > 0 else []
    cells = [setting.n, setting.k, f"{truth:.0%}", f"{np.median(said):.0%}", len(said), f"{covered / len(said):.3f}"]
    return [*cells, len(shown), f"{np.mean(shown or np.nan):.3f}"]


def shares_page(repeats: int) -> str:
    header = ["n", "k", "share", "median said", "with an interval", "covers", "shown", "covers if shown"]
    rows = table(header, [shares_row(each, repeats) for each in SETTINGS])
    return page(f"Coverage of a finding's share of the gap, {repeats} simulations a row", rows)


def report(names: list[str], repetitions: int, repetitions_of_counts: int) -> str:
    tests, intervals, power = [], [], []
    for name in names:
        records = kept(name, "clustered", clustered, repetitions)
        counts = kept(name, "counted", counted, repetitions_of_counts) if DESIGNS[name].is_null else []
        for of in (records, counts):
            tests += rows_of(name, of)
            intervals += interval_rows(name, of)
        power += power_rows(name, records)
    return page(
        "Calibration of intervals and tests",
        f"n = 200 texts a side unless said, k = 20, {SCORE.seeds} k-means seeds, {SCORE.bootstrap} resamples.",
        "## Level",
        "Tests where the hypothesis holds; the last column is the distance from the level in standard errors.",
        table(["design", "test", "level", "rejected", "off"], tests),
        "## Power",
        """Where one candidate is farther: the share of repetitions in which tests at .05 find that one is closer, and
that the two do not write alike.""",
        table(["design", "score", "closer", "write alike"], power),
        "## Intervals",
        """At 95%: how often they hold the mean over repetitions, and their width against 3.92 standard deviations over
repetitions.""",
        table(["design", "quantity", "mean", "coverage", "width"], intervals),
    )


if __name__ == "__main__":
    parser = arguments(__doc__, repetitions=200, counts=1000, shares=0)
    parser.add_argument("--designs", nargs="+", choices=DESIGNS, default=[*DESIGNS])
    options = parser.parse_args()
    with TemporaryDirectory() as home:
        os.environ.setdefault("MAUVE_LENS_HOME", home)
        if options.shares:
            text = shares_page(options.shares)
        else:
            text = report(options.designs, options.repetitions, options.counts)
    write(text, options.out)
