"""How often the test of two candidates by a text measure is wrong where nothing differs, and who is told apart.

    python benchmarks/measure_test.py demo --pairs 1000 --out benchmarks/results/measure_test.md

Nothing differs: two random halves of one candidate's texts (independent), or two candidates whose texts are exchanged
at random within each prompt (paired), each against the human texts; or thirds of one candidate's texts, one of which
takes the place of the human texts, so that all three have one T. Then the pairs of the run that are told apart, and
those whose intervals of gaps are apart, as a reader would guess.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from itertools import combinations
from typing import Literal

import numpy as np
from frame import arguments, page, table, write
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from mauve_core.analyses.measure_inputs import Collection, MeasureContext, Positions, Tokens, by_unit
from mauve_core.analyses.measure_terms import (
    Measure,
    MeasureDifference,
    Measurements,
    NotDefinedError,
    Replicates,
    groups_of,
    replicate,
)
from mauve_core.analyses.text_measures import (
    MEASURES,
    Measured,
    collection_of,
    measure_differences,
    stored_measurements,
)
from mauve_core.base.config import DEFAULT_MODEL, HUMAN
from mauve_core.base.formatting import significant
from mauve_core.base.progress import Progress, silent
from mauve_core.runs import RunStore
from mauve_core.scoring.tables import overlap

ALPHA = 0.05
ONE, OTHER = "one", "other"
Null = Literal["halves", "exchanged", "thirds"]
NULLS: dict[Null, str] = {
    "halves": "independent halves",
    "exchanged": "exchanged within prompts",
    "thirds": "thirds, one of them P",
}
# Measures of a second or more per pair: they get ``--slow-pairs``.
SLOW = {"discriminator", "self-bleu"}


class Known(MeasureContext):
    """A context that tokenizes and scores each text once, however texts are mixed."""

    def __init__(self, sides: Mapping[str, Collection], tokenizer: str, scorer: str | None) -> None:
        super().__init__(scorer, tokenizer=tokenizer)
        self._ids: dict[str, NDArray[np.int64]] = {}
        self._losses: dict[str, NDArray[np.float64]] = {}
        for side in sides.values():
            self._ids |= dict(zip(side.texts, super().tokens(side).by_text(), strict=True))
            if scorer is not None:
                scored = super().likelihoods(side)
                each = [scored.values[scored.owner == row] for row in range(len(side))]
                self._losses |= dict(zip(_keys(side), each, strict=True))

    def tokens(self, texts: Collection, progress: Progress = silent) -> Tokens:  # noqa: ARG002
        rows = [self._ids[text] for text in texts.texts]
        return Tokens(np.concatenate(rows), np.array([len(row) for row in rows], dtype=np.int64))

    def likelihoods(self, texts: Collection, progress: Progress = silent) -> Positions:  # noqa: ARG002
        rows = [self._losses[key] for key in _keys(texts)]
        owner = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        return Positions(owner, np.concatenate(rows), np.zeros(len(rows), dtype=np.bool_))


def _keys(texts: Collection) -> list[str]:
    prompts = texts.prompts or [""] * len(texts)
    return [f"{prompt}\0{text}" for prompt, text in zip(prompts, texts.texts, strict=True)]


@cache
def prepared(run_id: str, scorer: str | None) -> tuple[dict[str, Collection], Known]:
    run = RunStore().load(run_id)
    sides = {each.name: collection_of(run.corpora[each.name], each.name, run.features(each.name))
             for each in run.comparison.sources}  # fmt: skip
    human, candidates = by_unit(sides.pop(HUMAN), sides)
    sides, encoder = {HUMAN: human, **candidates}, run.comparison.config.encoder
    return sides, Known(sides, DEFAULT_MODEL if encoder is None else encoder.model, scorer)


def null_sides(sides: Mapping[str, Collection], null: Null, rng: Generator) -> tuple[Collection, ...]:
    """The human side and two candidates that do not differ."""
    names = sorted(name for name in sides if name != HUMAN)
    if null == "exchanged":
        first, second = (sides[str(name)] for name in rng.choice(names, 2, replace=False))
        of_second = {identifier: row for row, identifier in enumerate(second.ids)}
        second = second.take(np.array([of_second[identifier] for identifier in first.ids]))
        swap = rng.random(len(first)) < 0.5
        return sides[HUMAN], _mixed(first, second, swap), _mixed(second, first, swap)
    texts = sides[str(rng.choice(names))]
    parts = 2 if null == "halves" else 3
    order, size = rng.permutation(len(texts)), len(texts) // parts
    human, one, other = (texts.take(np.sort(order[part * size : (part + 1) * size])) for part in (2 % parts, 0, 1))
    return (sides[HUMAN] if null == "halves" else human), one, other


def _mixed(one: Collection, other: Collection, swap: NDArray[np.bool_]) -> Collection:
    """The texts of ``one``, or those of ``other`` where ``swap``; both answer the same prompts in the same order."""
    texts = tuple(np.where(swap, other.texts, one.texts).tolist())
    features = None
    if one.features is not None and other.features is not None:
        features = np.where(swap[:, None], other.features, one.features)
    return Collection(one.name, one.ids, texts, one.prompts, features)


def tested(item: Measure, sides: tuple[Collection, ...], context: Known) -> tuple[MeasureDifference, ...]:
    """The tests of two candidates, as :func:`mauve_core.analyses.text_measures.measure` makes them."""
    human, one, other = sides
    groups = groups_of(human)
    candidates = {}
    for name, texts in ((ONE, one), (OTHER, other)):
        own = groups_of(texts)
        found = replicate(item.terms(texts, human, context), own, groups, relational=item.relational)
        candidates[name] = Measured(texts, own, found)
    return measure_differences(item, Measured(human, groups, _human(item, human, context)), candidates)


# T(P) of the human texts by measure: most pairs share them.
_HUMAN: dict[str, Replicates | None] = {}


def _human(item: Measure, human: Collection, context: Known) -> Replicates | None:
    """T(P) with and without each group."""
    if human.name == HUMAN and item.name in _HUMAN:
        return _HUMAN[item.name]
    terms, groups = item.human_terms(human, context), groups_of(human)
    found = None if terms is None else replicate(terms, groups, groups, relational=False)
    if human.name == HUMAN:
        _HUMAN[item.name] = found
    return found


def null_p_values(run_id: str, scorer: str | None, name: str, null: Null, seed: SeedSequence) -> tuple[float, ...]:
    """p-value of one null pair for the value and for the gap, NaN without a test; and intervals that disagree."""
    sides, context = prepared(run_id, scorer)
    try:
        found = tested(MEASURES[name], null_sides(sides, null, np.random.default_rng(seed)), context)
    except NotDefinedError:
        return np.nan, np.nan, 0
    p = {each.of: np.nan if each.p_value is None else each.p_value for each in found}
    wrong = sum(_disagree(each) for each in found)
    return p["value"], p.get("gap", np.nan), wrong


def _disagree(test: MeasureDifference) -> bool:
    """Whether the interval contains 0 although p is small, or does not although p is large."""
    if test.p_value is None or test.low is None or test.high is None:
        return False
    return (test.p_value <= ALPHA) == (test.low <= 0 <= test.high)


def null_row(job: tuple[str, str | None, str, Null, int], pool: ProcessPoolExecutor) -> tuple[list[str], int]:
    run_id, scorer, name, null, pairs = job
    seeds = SeedSequence([len(run_id), *name.encode(), *null.encode()]).spawn(pairs)
    chunk = max(1, pairs // 50)
    found = np.array(list(pool.map(partial(null_p_values, run_id, scorer, name, null), seeds, chunksize=chunk)))
    cells = []
    for column in (0, 1):
        known = found[~np.isnan(found[:, column]), column]
        rate = float((known <= ALPHA).mean()) if known.size else np.nan
        cells.append(f"{rate:.3f} ± {np.sqrt(rate * (1 - rate) / max(known.size, 1)):.3f}")
    counted = int((~np.isnan(found[:, 0])).sum())
    return [MEASURES[name].title, NULLS[null], f"{counted:,}", *cells], int(found[:, 2].sum())


def real_rows(found: Measurements) -> list[list[object]]:
    """How many pairs of a run are told apart by each measure, by the test and by intervals of gaps."""
    rows = []
    for measure in found.measures:
        gaps = found.tests(measure)
        if not gaps:
            continue
        values = found.tests(measure, "value")
        ends = {row.candidate: (row.gap.low, row.gap.high) for row in found.rows if row.measure == measure and row.gap}
        apart = [
            not overlap(ends[one], ends[other])  # type: ignore[arg-type]
            for one, other in combinations(ends, 2)
            if None not in ends[one] and None not in ends[other]
        ]
        counts = [sum(each.told_apart for each in tests) for tests in (gaps, values)]
        rows.append([MEASURES[measure].title, len(gaps), counts[0], sum(apart), counts[1]])
    return rows


def closest(found: Measurements) -> list[list[str]]:
    """For each measure, the candidate with the smallest gap and those that are not told apart from it."""
    rows = []
    for measure in found.measures:
        gaps = {row.candidate: row.gap.value for row in found.rows if row.measure == measure and row.gap}
        if not found.tests(measure) or not gaps:
            continue
        best = min(gaps, key=gaps.__getitem__)
        near = [each.seen_from(best) for each in found.tests(measure) if best in (each.first, each.second)]
        tied = [
            f"{each.second} (p {NO_TEST if each.p_adjusted is None else significant(each.p_adjusted)})"
            for each in near
            if not each.told_apart
        ]
        rows.append([MEASURES[measure].title, best, ", ".join(tied) or "none"])
    return rows


NO_TEST = "unknown"


def report(options: argparse.Namespace) -> str:
    have = {"features", "words"} | ({"model"} if options.scorer else set())
    names = [
        item.name
        for item in MEASURES.values()
        if item.reads_candidate and item.needs <= have and item.name in (options.measure or MEASURES)
    ]
    prepared(options.run, options.scorer)
    rows, wrong = [], 0
    with ProcessPoolExecutor(options.workers) as pool:
        for name in names:
            for null in NULLS:
                pairs = options.slow_pairs if name in SLOW else options.pairs
                row, disagree = null_row((options.run, options.scorer, name, null, pairs), pool)
                print(*row, disagree, sep=" | ", file=sys.stderr, flush=True)
                rows.append(row)
                wrong += disagree
    parts = [
        f"## Where nothing differs: share of p-values of at most {ALPHA:g}",
        "Value: T(A) = T(B). Gap: |T(A) - T(P)| = |T(B) - T(P)|. ± is the standard error of the share.",
        table(["measure", "nothing differs", "pairs", "value", "gap"], rows),
        f"Intervals that contain 0 where p is at most {ALPHA:g}, or do not where it is larger: {wrong}.",
    ]
    measured = stored_measurements(RunStore().load(options.run))
    if measured is not None and measured.differences:
        parts += [
            f"## Told apart in {options.run}, of all pairs of candidates",
            table(["measure", "pairs", "gaps", "gaps, by intervals", "values"], real_rows(measured)),
            f"## Closest to the human texts in {options.run}",
            table(["measure", "smallest gap", "not told apart from it"], closest(measured)),
        ]
    return page("The test of two candidates by a text measure", *parts)


if __name__ == "__main__":
    parser = arguments(__doc__, pairs=1000, slow_pairs=200, workers=2)
    parser.add_argument("run", metavar="RUN", help="a stored run, measured")
    parser.add_argument("--measure", action="append", choices=list(MEASURES), help="default: all without a scorer")
    parser.add_argument("--scorer", metavar="MODEL", help="also those that need a scoring model")
    options = parser.parse_args()
    write(report(options), options.out)
