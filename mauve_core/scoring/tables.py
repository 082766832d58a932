"""Present a comparison as a table and in sentences for people.

No score is shown bare: each has its mean and spread over k-means seeds and its bootstrap interval, with n, k and the
encoder. A rank holds a candidate against the first of its group alone, so two of different ranks may not differ beyond
chance either; letters show every pair (:func:`mauve_core.stats.multiple_tests.shared_letters`). Human vs.
human stands below, and each candidate at that size, like for like.

Two samples of one source fall into clusters unequally by chance, so a score of finite samples is never that of equal
sources. For independent texts and p near q, the frontier integral is about sum (p - q)^2 / (6 m), m = (p + q) / 2,
whose mean under P = Q is the :func:`floor`; the delete-a-group jackknife over units (Quenouille 1956) removes what
falls as 1/n. Many clusters without a text of one side say that the sides differ, or that n is small for k: MAUVE of
NeurIPS 2021 takes their estimated probability of 0 as it is, MAUVE* adds half a text to every cluster (JMLR 2023,
section 7.3.2).
"""

from __future__ import annotations

import math
import string
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple, TypedDict, TypeVar

import numpy as np

from mauve_core.base.config import HUMAN, EncoderConfig, PartitionKind, names_server
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import (
    NONE,
    SCORE_DECIMALS,
    UNBROKEN,
    as_percent,
    interval,
    over_generations,
    printable,
    with_plain_spaces,
    with_spread,
    written,
)
from mauve_core.base.json_codec import Count, NotNegative, Share
from mauve_core.base.words import Words
from mauve_core.encoders.catalogue import has_no_tokenizer, names_word_vectors, with_weights
from mauve_core.scoring.result import (
    SIGNIFICANT,
    Candidate,
    Comparison,
    Difference,
    Estimate,
    LikeForLike,
    SeedSpread,
    Source,
    lower_median,
)
from mauve_core.scoring.streams import stream
from mauve_core.stats.multiple_tests import shared_letters
from mauve_core.stats.scores import REFERENCE_SCORE, SCORES
from mauve_core.texts.normalizing_steps import titles_of_steps

DETECTABLE = "Detectable: a true difference that the test finds 8 times in 10. Four times as many {items} halve it."

_GAP = "  "

# Cells of a further line of a row, below its rank, letters, candidate, n and k.
_BELOW = ("", "", "", "", "")


@dataclass(frozen=True)
class Standing:
    """A candidate's place under one score.

    Attributes
    ----------
    rank : int
        1 is closest to the human side; tied candidates share a rank, and the ranks they take up are skipped.
    tied : bool
        Whether another candidate has the same rank.
    letters : str
        Two candidates share one exactly if they are not told apart; empty for one candidate.
    candidate : Candidate
    """

    rank: int
    tied: bool
    letters: str
    candidate: Candidate


def standings(comparison: Comparison, score: str = "mauve", kind: PartitionKind = "pairwise") -> list[Standing]:
    """Rank the candidates, the best first, with ties.

    Candidates are sorted by the mean of ``score``. The first opens a group. A candidate ties with the group if the
    test does not tell it apart from the group's first candidate (``mauve_core.scoring.differences``); otherwise it
    opens the next group. Every member of a group has the rank of its first candidate. Candidates of two runs, which are
    not tested, tie where their intervals overlap.

    Raises
    ------
    InputError
        The score is unknown.
    """
    if score not in comparison.score_names:
        raise InputError(f"No score is named {score!r}", allowed=", ".join(comparison.score_names))
    ordered = sorted(
        comparison.candidates, key=lambda item: item.estimate(score, kind).mean, reverse=SCORES[score].higher_is_closer
    )
    names = [candidate.name for candidate in ordered]
    estimates = {candidate.name: candidate.estimate(score, kind) for candidate in ordered}
    tied = tie_rule(comparison, score, estimates)
    letters = letters_of(names, tied) if len(names) > 1 else [""]
    placed = zip(shared_ranks(names, tied), letters, ordered, strict=True)
    return [Standing(rank, shared, own, candidate) for (rank, shared), own, candidate in placed]


def rank_sentence(comparison: Comparison, score: str = "mauve") -> str:
    """Explain how :func:`standings` ranks, in one or two sentences."""
    if len(comparison.candidates) < 2:
        return "Rank: there is one candidate, so nothing is ranked."
    rule = f"Rank: by mean {SCORES[score].title}. From the top, a candidate "
    if not comparison.is_tested:
        return f"{rule}whose interval overlaps that of its group's first ties with it (=)."
    found = [each for each in comparison.differences if each.score == score]
    told = tests_sentence(found, comparison.words)
    return f"{rule}ties with the first of its group (=) unless the two are told apart. {told}"


def places_sentence(comparison: Comparison, score: str = "mauve") -> str:
    """Explain ranks and letters, for what shows both."""
    return f"{rank_sentence(comparison, score)} {letters_sentence(comparison)}".rstrip()


def tests_sentence(differences: Sequence[Difference], words: Words) -> str:
    """Explain how differences under one score were tested, in a sentence or two."""
    paired = sum(each.paired for each in differences)
    groups = f"{words.group}s"
    over = words.items if not paired else groups if paired == len(differences) else f"{groups} where two share them"
    return (
        f"Told apart: the two scores differ significantly (t test of the difference, jackknife over {over}; p at most "
        f"{SIGNIFICANT:g} after Holm's correction for all pairs)."
    )


def texts_interval(confidence: float | None = None, items: str = "texts") -> str:
    """Say what the interval of a score is: ``95% bootstrap interval over texts at this n and k``."""
    percent = "" if confidence is None else f"{confidence:.0%} "
    return f"{percent}bootstrap interval over {items} at this n and k"


def pairing_sentence(comparison: Comparison) -> str:
    """Say what the intervals resample: prompts, and how many, or single texts; empty for candidates of two runs."""
    shared = pairing_in_words(comparison)
    if not shared and not comparison.is_tested:
        return ""
    units = comparison.units(*(source.name for source in comparison.sources))
    of_human = np.unique(units[comparison.human.name]).size
    several = any(np.unique(own).size < own.size for own in units.values())
    if shared:
        said = f"Resampled by {(comparison.prompts_by or 'prompts').removesuffix('s')}: {shared}."
    elif several:
        said = f"Resampled by group: {of_human:,} groups of {comparison.human.n:,} {comparison.words.reference_items}."
    else:
        said = comparison.words.fill(
            "{Reference_items} and candidates share no {group}s: {items} are resampled one by one."
        )
    if any(np.unique(comparison.contents[name]).size < own.size for name, own in units.items() if comparison.contents):
        said += f" Equal {comparison.words.items} are resampled together."
    return said


def pairing_in_words(comparison: Comparison) -> str:
    """Say how many prompts, ids or rows each candidate shares with the human texts; empty for none."""
    counts = [comparison.shared_prompts(candidate.name) for candidate in comparison.candidates]
    if not any(counts):
        return ""
    number = f"{min(counts):,}" if min(counts) == max(counts) else f"{min(counts):,} to {max(counts):,}"
    if comparison.prompts_by == "ids":
        return f"{number} ids shared with the {comparison.words.reference_items}"
    if comparison.prompts_by == "rows":
        return f"{number} rows of one file shared with the {comparison.words.reference_items}"
    return f"{number} prompts shared with the {comparison.words.reference_items}, matched by equal prompts"


def to_table(comparison: Comparison) -> str:
    """Format a leaderboard with spread and intervals, then texts, settings and warnings; safe for a terminal."""
    parts = [_leaderboard(comparison), _reading_help(comparison), _texts(comparison)]
    parts.append("Settings\n" + "\n".join(f"  {line}" for line in _settings(comparison)))
    if comparison.warnings:
        parts.append("Warnings\n" + "\n".join(f"  ! {printable(warning)}" for warning in comparison.warnings))
    return "\n\n".join(parts)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Format rows of cells as left-aligned columns without trailing blanks; every row has as many cells as the first.

    Non-breaking spaces become plain ones, so that a search in the terminal finds them.
    """
    rows = [[with_plain_spaces(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = (_GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def mean_and_spread(estimate: Estimate | SeedSpread) -> str:
    """Format the mean and, with several values, their spread: ``0.843 ± 0.012``.

    With several generations, both spreads are named: ``0.843 ± 0.012 (seeds) ± 0.020 (5 generations)``.
    """
    if isinstance(estimate, SeedSpread):
        return with_spread(estimate.mean, estimate.sd, SCORE_DECIMALS)
    return f"{estimate}"


def texts_scored(source: Source) -> str:
    """Format the number of texts of a source: ``512``, or ``512 × 5`` with generations."""
    return texts_in_words(source.n_scored, source.generations)


def texts_in_words(n: int, generations: int) -> str:
    """Format a number of texts, of each generation if there are several: ``512``, or ``512 × 5``."""
    return f"{n:,} × {generations:,}" if generations > 1 else f"{n:,}"


def spread_sentence(comparison: Comparison) -> str:
    """Say what each ± is, without a period: over the k-means seeds, and over generations if a candidate has several."""
    seeds = comparison.config.score.seeds
    spread = "one k-means seed, so the spread is unknown"
    if seeds > 1:
        spread = f"mean \u00b1 standard deviation over {seeds} k-means seeds"
    if not any(source.generations > 1 for source in comparison.sources):
        return spread
    return (
        f"{spread}. Of several generations, the score is the mean of theirs: \u00b1 (seeds) is the spread of this mean "
        "over the k-means seeds, \u00b1 (generations) the spread over generations, each averaged over the seeds; "
        f"scores like for like with {comparison.words.halves} take the first generation"
    )


def pooled_sentence(source: Source) -> str:
    """Say that all generations count together where they do; empty for a candidate without repeats."""
    if source.generations == 1:
        return ""
    return (
        f"All {source.generations:,} generations of {source.name} count together here, so a score is not the "
        "leaderboard's, which is the mean of the generations' own scores."
    )


def interval_of(estimate: Estimate) -> str:
    """Format the interval: ``0.790 to 0.900``."""
    return interval(estimate.low, estimate.high, SCORE_DECIMALS)


def score_in_words(comparison: Comparison, candidate: str, kind: PartitionKind = "pairwise") -> str:
    """Give a candidate's MAUVE with the leaderboard's digits, and what its interval is one of.

    It reads ``MAUVE 0.795 ± 0.031 (0.740 to 0.840 at n = 512, k = 51), rank 5=``.
    """
    (standing,) = (each for each in standings(comparison, kind=kind) if each.candidate.name == candidate)
    estimate, n = standing.candidate.estimate("mauve", kind), standing.candidate.source.n_scored
    reach = f"{interval_of(estimate)} at n = {n:,}, k = {comparison.partition(kind, candidate).k:,}"
    score = f"{SCORES['mauve'].title} {mean_and_spread(estimate)} ({reach})"
    return score if len(comparison.candidates) == 1 else f"{score}, rank {rank_label(standing.rank, standing.tied)}"


def seed_in_words(comparison: Comparison, candidate: str, kind: PartitionKind, seed: int) -> str:
    """Name a partition's seed, with MAUVE in that partition: ``seed 3 of 5, where it is 0.793 (the median)``."""
    values = comparison.candidate(candidate).estimate("mauve", kind).values
    if len(values) == 1:
        return "the run's only seed"
    median = ""
    if kind == "pairwise" and values[seed] == lower_median(values):
        median = " (the median)"
    elif kind == "joint" and seed == comparison.median_seed(candidate, kind):
        median = " (the median over all candidates)"
    return f"seed {seed + 1} of {len(values)}, where it is {written(values[seed], SCORE_DECIMALS)}{median}"


def rank_label(rank: int, tied: bool) -> str:
    """``2``, or ``2=`` for a shared rank; a dash for the human halves, which have no rank."""
    if rank == 0:
        return NONE
    return f"{rank}=" if tied else str(rank)


def _leaderboard(comparison: Comparison) -> str:
    names = comparison.score_names
    rows = [["Rank", "Letters", "Candidate", "n", "k", *(SCORES[name].title for name in names), "Bias-reduced"]]
    for standing in standings(comparison):
        candidate = standing.candidate
        rank = f"{standing.rank} =" if standing.tied else str(standing.rank)
        counts = [texts_scored(candidate.source).replace(",", ""), str(candidate.partitions[0].k)]
        reduced = reduced_integral(comparison, candidate.name)
        own = (NONE, "") if reduced is None else (written(reduced.value, SCORE_DECIMALS), reduced.interval)
        rows.append([rank, standing.letters, printable(candidate.name), *counts, *_means(candidate, names), own[0]])
        if candidate.source.generations > 1:
            rows.append([*_BELOW, *(_over_generations(candidate.scores[name]) for name in names), ""])
        rows.append([*_interval_row(candidate, names), own[1]])
    if comparison.halves is not None:
        halves = comparison.halves
        counts = [str(halves.source.n), str(halves.partitions[0].k)]
        rows.append([NONE, "", comparison.words.halves, *counts, *_means(halves, names), NONE])
        rows.append([*_interval_row(halves, names), ""])
        if comparison.like_for_like:
            rows = [[*row, cell] for row, cell in zip(rows, _like_for_like_cells(comparison, halves), strict=True)]
    if len(comparison.candidates) == 1:  # no letters
        rows = [[rank, *rest] for rank, _, *rest in rows]
    return aligned(rows)


def _like_for_like_cells(comparison: Comparison, halves: Candidate) -> list[str]:
    """A column beside the leaderboard's rows: MAUVE of all at the size of human vs. human."""
    cells = [like_for_like_title(halves.source.n)]
    for standing in standings(comparison):
        found = comparison.at_size_of_halves(standing.candidate.name)
        estimate = None if found is None else found.scores[REFERENCE_SCORE]
        between = [""] if standing.candidate.source.generations > 1 else []  # beside the spread over generations
        shown = (NONE, "") if estimate is None else (mean_and_spread(estimate), interval_of(estimate))
        cells += [shown[0], *between, shown[1]]
    own = halves.scores[REFERENCE_SCORE]
    return [*cells, mean_and_spread(own), interval_of(own)]


def _means(candidate: Candidate, names: Sequence[str]) -> list[str]:
    """Format the means with the spread over seeds, named if another one follows."""
    found = []
    for score in names:
        estimate = candidate.scores[score]
        named = " (seeds)" if estimate.generations is not None and estimate.sd is not None else ""
        found.append(with_spread(estimate.mean, estimate.sd, SCORE_DECIMALS) + named)
    return found


def _over_generations(estimate: Estimate) -> str:
    if estimate.generations is None or estimate.generations_sd is None:
        return ""
    return over_generations(estimate.generations_sd, len(estimate.generations), SCORE_DECIMALS)


def _interval_row(candidate: Candidate, names: Sequence[str]) -> list[str]:
    return [*_BELOW, *(interval_of(candidate.scores[name]) for name in names)]


def _reading_help(comparison: Comparison) -> str:
    score = comparison.config.score
    repeated = any(source.generations > 1 for source in comparison.sources)
    return "\n".join(
        [
            *textwrap.wrap(f"Each score: {spread_sentence(comparison)};", 110),
            f"below it the {texts_interval(score.confidence, comparison.words.items)} ({score.bootstrap} resamples).",
            *(["n: texts of one generation × generations; k is chosen for one generation."] if repeated else []),
            *filter(None, [pairing_sentence(comparison)]),
            _closest(comparison.score_names),
            *textwrap.wrap(floor_sentence(comparison), 110),
            *textwrap.wrap(places_sentence(comparison), 110),
            *textwrap.wrap(printable(reference_sentences(comparison)), 110),
            *textwrap.wrap(like_for_like_sentence(comparison), 110),
        ]
    )


def _closest(names: Sequence[str]) -> str:
    """Say which end of each score is the closest to the human texts: ``MAUVE and MAUVE*: 1 is the closest.``"""
    found: dict[float, str] = {}
    for score in (SCORES[name] for name in names):
        title = score.title if score.title.isupper() else score.title.lower()
        found[score.best] = f"{found[score.best]} and {title}" if score.best in found else score.title
    return " ".join(f"{titles}: {best:g} is the closest." for best, titles in found.items())


def _texts(comparison: Comparison) -> str:
    lengths = ["median tokens", "cut"] if comparison.has_words else []
    rows = [[comparison.words.items.capitalize(), "n", *lengths, "from"]]
    notes = []
    for source in comparison.sources:
        median = "unknown" if source.tokens_median is None else f"{source.tokens_median:g}"
        cells = [median, str(source.cut)] if comparison.has_words else []
        rows.append(
            [printable(comparison.words.source(source.name)), f"{source.n:,}", *cells, printable(source.file_name)]
        )
        notes += [f"  {printable(comparison.words.source(source.name))}: {printable(note)}" for note in source.notes]
    return "\n".join([aligned(rows), *notes])


def _settings(comparison: Comparison) -> list[str]:
    encoder, score = comparison.config.encoder, comparison.config.score
    unknown = comparison.config.features_from is None
    origin = "none, features were given, of unknown origin" if unknown else comparison.config.made_by
    lines = [f"encoder: {printable(origin)}"]
    if encoder is not None:
        text = "prompt + text" if encoder.with_prompt else "text only"
        model = with_weights(encoder.model) + (f" at {encoder.revision}" if encoder.revision else "")
        inside = [f"pooling: {pooling_in_words(encoder, comparison.human)}"]
        inside += [] if has_no_tokenizer(encoder.model) else [f"layer {encoder.layer}", encoder.dtype]
        read = f"at most {length_in_words(encoder, comparison.human)}"
        lines = [f"encoder: {', '.join([printable(model), text, read, *inside])}"]
        if not comparison.has_words:
            lines = [f"encoder: {printable(model)}, {encoder.dtype}"]
    k = "a tenth of the smaller side, at most 5,000" if score.k is None else str(score.k)
    rows = ", then rows of unit length" if score.unit_rows == "after" else ""
    lines.append(
        f"clusters: k = {k}, {score.restarts} k-means++ start{'' if score.restarts == 1 else 's'} per seed, "
        f"PCA to {score.explained_variance:g} of the variance{rows}; "
        f"scaling constant {score.scale:g}, seed {score.seed}"
    )
    lines.append(f"partition: pairwise, each candidate with the {comparison.words.reference_items}")
    if comparison.normalization:
        lines.append(f"normalized on every side before encoding: {titles_of_steps(comparison.normalization)}")
    return lines


_LETTERS = string.ascii_lowercase + string.ascii_uppercase

_Item = TypeVar("_Item")


def overlap(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether two intervals, each (low, high), share a point."""
    return one[0] <= other[1] and other[0] <= one[1]


def shared_ranks(items: Sequence[_Item], tied: Callable[[_Item, _Item], bool]) -> list[tuple[int, bool]]:
    """Return each item's rank and whether it is shared; the best item comes first.

    The rule is that of :func:`mauve_core.scoring.tables.standings`.
    """
    leaders: list[int] = []
    for index, item in enumerate(items):
        leader = leaders[-1] if leaders else index
        leaders.append(leader if tied(item, items[leader]) else index)
    return [(leader + 1, leaders.count(leader) > 1) for leader in leaders]


def letters_of(items: Sequence[_Item], tied: Callable[[_Item, _Item], bool]) -> list[str]:
    """Return each item's letters, such as ``ab``: two share one exactly if they are tied; the best item comes first.

    After z come A to Z, then a1 to Z1, a2 and so on.
    """
    apart = np.zeros((len(items), len(items)), dtype=np.bool_)
    for row, column in combinations(range(len(items)), 2):
        apart[row, column] = apart[column, row] = not tied(items[row], items[column])
    return ["".join(map(_letter, np.flatnonzero(own).tolist())) for own in shared_letters(apart)]


def tie_rule(comparison: Comparison, score: str, estimates: Mapping[str, Estimate]) -> Callable[[str, str], bool]:
    """Return what says of two candidates that they are not told apart under a score.

    The test does (``mauve_core.scoring.differences``); of candidates of two runs, the overlap of the intervals of the
    ``estimates``.
    """

    def tied(one: str, other: str) -> bool:
        found = comparison.difference(score, one, other)
        if found is None:
            own, others = estimates[one], estimates[other]
            return overlap((own.low, own.high), (others.low, others.high))
        return not found.told_apart

    return tied


def told_apart(comparison: Comparison, score: str, one: str, other: str) -> bool:
    """Whether two candidates are told apart under a score in the partitions that are ranked."""
    estimates = {name: comparison.candidate(name).scores[score] for name in (one, other)}
    return not tie_rule(comparison, score, estimates)(one, other)


def letters_sentence(comparison: Comparison) -> str:
    """Explain the letters in a sentence; empty for one candidate."""
    if len(comparison.candidates) < 2:
        return ""
    shared = "are not told apart" if comparison.is_tested else "have overlapping intervals"
    return f"Candidates that share a letter {shared}."


def disagreement_sentence(differences: Sequence[Difference]) -> str:
    """Say that the test decides where only the interval excludes 0; empty if it nowhere does."""
    found = sum((each.low > 0 or each.high < 0) and not each.told_apart for each in differences)
    if not found:
        return ""
    pairs = "1 pair" if found == 1 else f"{found:,} pairs"
    return (
        f"Where an interval excludes 0 and the two are not told apart ({pairs}), Holm's correction for all pairs "
        "decides: an interval is of its pair alone."
    )


def _letter(number: int) -> str:
    again, place = divmod(number, len(_LETTERS))
    return f"{_LETTERS[place]}{again or ''}"


LIKE_FOR_LIKE_NOTE = (
    "Compare the last column. All its scores are of as many {items} per side (up to 5 % fewer of a candidate that "
    "lacks answers), in equally many clusters, against the same {reference_items}, and no {item} shares its {group} "
    "with {one} of the other side. Scores with all {items} come from more {items} in more clusters, and often from "
    "shared {group}s. The interval is that of one split."
)


SHARED_PROMPTS = (
    "A likely reason: candidates share the {reference_items}' {group}s; two halves of the {reference_items} do not."
)


def human_vs_human_sentence(words: Words, n: int, k: int | None = None) -> str:
    """Explain human vs. human in a sentence: ``n`` texts per side, in ``k`` clusters if there are any."""
    clusters = "" if k is None else f" in {k:,} clusters"
    return (
        f"{words.halves.capitalize()}: one random part of the {words.reference_items} against another, {n:,} "
        f"{words.items} per side{clusters}: about what a candidate that does not differ from the "
        f"{words.reference_items} would score at this size."
    )


def human_vs_human_label(comparison: Comparison) -> str:
    """Label of human vs. human beside candidates, with its number of texts per side where theirs is another:
    ``human vs. human (n = 256)``.
    """
    halves = comparison.halves
    if halves is None or all(each.source.n_scored == halves.source.n for each in comparison.candidates):
        return comparison.words.halves
    return f"{comparison.words.halves} (n{UNBROKEN}={UNBROKEN}{halves.source.n:,})"


def like_for_like_title(n: int) -> str:
    """Column title of MAUVE at the size of human vs. human: ``MAUVE at n = 256``."""
    return f"MAUVE at n = {n:,}"


def reference_sentences(comparison: Comparison) -> str:
    """Explain human vs. human and say which candidates reach it; empty without human vs. human."""
    halves = comparison.halves
    if halves is None:
        return ""
    about = human_vs_human_sentence(comparison.words, halves.source.n, halves.partitions[0].k)
    return f"{about} {_reaching(comparison, halves)}".strip()


def like_for_like_sentence(comparison: Comparison) -> str:
    """Explain the column of :func:`like_for_like_title` in a sentence; empty without these scores."""
    halves = comparison.halves
    if halves is None or not comparison.like_for_like:
        return ""
    splits = len(halves.partitions)
    over = "one random split" if splits == 1 else f"{splits:,} random splits, one per k-means seed"
    return (
        f"{like_for_like_title(halves.source.n)}: like for like with {comparison.words.halves}, the candidate's "
        f"{comparison.words.items} in the place of the second part; {over}, and the two sides share no "
        f"{comparison.words.group}."
    )


def _reaching(comparison: Comparison, halves: Candidate) -> str:
    """For each candidate whose MAUVE reaches that of human vs. human, say whether it also does like for like.

    Where one does not, and continues prompts of the human texts, that is named as a likely reason: texts of one prompt
    are alike, and the two parts of the human texts have no prompt in common.
    """
    human, sentences, prompts = halves.scores[REFERENCE_SCORE], [], False
    words = comparison.words
    for candidate in comparison.candidates:
        own, alike = candidate.scores[REFERENCE_SCORE], comparison.at_size_of_halves(candidate.name)
        if own.mean >= human.mean and alike is not None:
            sentences.append(
                f"With all its {words.items}, {candidate.name} reaches {words.halves} ({_short(own)} against "
                f"{_short(human)}); {_like_for_like(alike, human)}."
            )
            misses = alike.scores[REFERENCE_SCORE].mean < human.mean
            shares = comparison.prompts_by == "prompts" and comparison.shared_prompts(candidate.name) > 0
            prompts = prompts or (misses and shares)
    sentences += [words.fill(SHARED_PROMPTS)] if prompts else []
    return " ".join(sentences)


def _like_for_like(alike: LikeForLike, human: Estimate) -> str:
    own = alike.scores[REFERENCE_SCORE]
    if own.mean >= human.mean:
        return f"like for like it does, too ({_short(own)})"
    overlap = ", though the intervals overlap" if own.high >= human.low else ""
    return f"like for like it does not ({_short(own)}){overlap}"


def _short(estimate: Estimate) -> str:
    return written(estimate.mean, SCORE_DECIMALS)


_POOLINGS = {"last": "the last token", "first": "the first token", "mean": "the mean over tokens"}


def length_in_words(encoder: EncoderConfig, source: Source) -> str:
    """Say how much of a text was read at most: ``256 tokens, the model's own limit``."""
    if has_no_tokenizer(encoder.model):
        return f"{encoder.max_tokens:,} words"
    if source.max_tokens is None:
        return f"{encoder.max_tokens:,} tokens or the model's own limit"
    own = ", the model's own limit" if source.max_tokens < encoder.max_tokens else ""
    return f"{source.max_tokens:,} tokens{own}"


def pooling_in_words(encoder: EncoderConfig, source: Source) -> str:
    """Say how the vectors of a text's tokens became one: ``the last token``, ``mean pooling, unit length``."""
    if names_word_vectors(encoder.model):
        return "the mean of the vectors of a text's words"
    if names_server(encoder.model):
        return "the server's own pooling"
    used = source.pooling or encoder.pooling
    return "the model's usual pooling" if used == "auto" else _POOLINGS.get(used, printable(used))


class Reduced(NamedTuple):
    """The estimate, and its interval: that of the plain integral, less the bias.

    Negative where the sides are more alike than two samples of one source are on average.
    """

    value: float
    low: float
    high: float

    @property
    def interval(self) -> str:
        """Such as ``-0.013 to 0.018``."""
        return interval(self.low, self.high, SCORE_DECIMALS)


def reduced_integral(comparison: Comparison, name: str) -> Reduced | None:
    """Estimate the frontier integral of the sources of the human side and a candidate, in the pairwise clusters.

    Returns
    -------
    Reduced or None
        In [-1, 1]; None where units support no interval, and on a leaderboard of two runs, whose texts are not at hand.

    Raises
    ------
    InputError
        The candidate is unknown.
    """
    from mauve_core.scoring.differences import FOLDS, deal_to_groups, generation_codes, left_out_scores
    from mauve_core.stats.resampling import jackknife_estimate  # both import SciPy, which few callers need

    candidate, score = comparison.candidate(name), comparison.config.score
    if name not in candidate.partitions[0].labels or comparison.why_no_interval(HUMAN, name):
        return None
    folds = deal_to_groups(comparison.units(HUMAN, name), stream(score.seed, "differences"), most=FOLDS)
    generations, _ = generation_codes(comparison, name)
    left_out = left_out_scores(candidate.partitions, folds, generations, name, score.scale)
    whole, *without = left_out["frontier_integral"].mean(axis=1).tolist()
    sizes = np.bincount(np.concatenate([*folds.values()]), minlength=len(without))
    plain = candidate.scores["frontier_integral"]
    bias = whole - jackknife_estimate(whole, np.array(without), sizes)
    return Reduced(plain.mean - bias, plain.low - bias, plain.high - bias)


def floor(comparison: Comparison, candidate: Candidate) -> float:
    """The mean frontier integral of two samples of one source at this n and k: (k - 1)(1/n + 1/m)/6.

    For independent texts; of those that are alike within units it is larger.
    """
    n, m = comparison.human.n_scored, candidate.source.n_scored
    return (candidate.partitions[0].k - 1) * (1 / n + 1 / m) / 6


def floor_sentence(comparison: Comparison) -> str:
    """Say what two samples of one source show, and what takes it off."""
    floors = sorted({written(floor(comparison, each), SCORE_DECIMALS) for each in comparison.candidates})
    least = floors[0] if len(floors) == 1 else f"{floors[0]} to {floors[-1]}"
    return (
        f"Two samples of one source have a frontier integral of about {least} at this n and k, not 0. Bias-reduced: "
        "the frontier integral less this bias, by a jackknife; 0 for one source."
    )


EMPTY_CLUSTERS_TITLE = "Empty clusters"

# Columns of :func:`empty_cluster_rows`.
EMPTY_CLUSTERS_COLUMNS = ("Candidate", "k", "Without {reference} {items}", "Without model {items}", "Both sides, of 2k")

EMPTY_CLUSTERS_NOTE = (
    "Clusters of the pairwise partition without {items} of that side: mean ± standard deviation over the k-means "
    "seeds, and the mean's share of k. The last column is their sum and its share of the 2k bins of both sides, as in "
    "JMLR 2023, table 8."
)


@dataclass(frozen=True)
class EmptyClusters:
    """The empty clusters of one candidate's pairwise partitions.

    Attributes
    ----------
    candidate : str
    k : int
    human, model : SeedSpread
        Number of clusters without a human text, and without a text of the candidate, 0 to k.
    both : SeedSpread
        The sum of the two, 0 to 2k: JMLR 2023, table 8, "across both P and Q".
    """

    candidate: str
    k: int
    human: SeedSpread
    model: SeedSpread
    both: SeedSpread


def empty_clusters(comparison: Comparison) -> tuple[EmptyClusters, ...]:
    """Count the empty clusters of every candidate, in the order given (JMLR 2023, table 8).

    The table counts the bins without a sample, of P's histogram and of Q's, after vector quantization and before
    smoothing; its percentages are of the 2k bins of both. Of several generations, which have a histogram each, the
    number under a seed is the mean of theirs.
    """
    return tuple(_empty_clusters_of(comparison, candidate) for candidate in comparison.candidates)


def _empty_clusters_of(comparison: Comparison, candidate: Candidate) -> EmptyClusters:
    rows = comparison.generation_rows(candidate.name)
    human = [np.count_nonzero(part.counts(HUMAN) == 0) for part in candidate.partitions]
    model = [
        np.mean([np.count_nonzero(part.with_texts(candidate.name, each).counts(candidate.name) == 0) for each in rows])
        for part in candidate.partitions
    ]
    found = [np.array(each, dtype=np.float64) for each in (human, model)]
    spreads = [SeedSpread.of(each) for each in (*found, found[0] + found[1])]
    return EmptyClusters(candidate.name, candidate.partitions[0].k, *spreads)


def empty_cluster_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """Return the cells of a row per candidate, unescaped, the closest to the human texts first."""
    found = {each.candidate: each for each in empty_clusters(comparison)}
    return [
        (
            each.candidate,
            f"{each.k:,}",
            _empty_clusters_cell(each.human, each.k),
            _empty_clusters_cell(each.model, each.k),
            _empty_clusters_cell(each.both, 2 * each.k),
        )
        for each in (found[standing.candidate.name] for standing in standings(comparison))
    ]


def _empty_clusters_cell(number: SeedSpread, of: int) -> str:
    """``6.4 ± 1.1 (12.5%)``."""
    return f"{with_spread(number.mean, number.sd, 1)} ({as_percent(number.mean / of, 1)})"


class EmptyNumberJson(TypedDict):
    """A number of empty clusters.

    Attributes
    ----------
    mean : float
        Over the k-means seeds.
    sd : float or None
        Standard deviation over the seeds; None with one seed.
    share : float
        That of ``mean`` in k, or in 2k for both sides, 0 to 1.
    """

    mean: NotNegative
    sd: NotNegative | None
    share: Share


class EmptyClustersJson(TypedDict):
    """The empty clusters of one candidate's pairwise partitions.

    Attributes
    ----------
    candidate : str
        Its name.
    k : int
        Number of clusters.
    human, model : EmptyNumberJson
        Clusters without a human text, and without a text of the candidate.
    both : EmptyNumberJson
        The sum of the two, of 2k.
    """

    candidate: str
    k: Count
    human: EmptyNumberJson
    model: EmptyNumberJson
    both: EmptyNumberJson


def empty_clusters_json(comparison: Comparison) -> list[dict[str, Any]]:
    """Return JSON values by candidate, each with the entries of :class:`EmptyClustersJson`."""
    found = []
    for each in empty_clusters(comparison):
        bins = {"human": (each.human, each.k), "model": (each.model, each.k), "both": (each.both, 2 * each.k)}
        numbers = {side: {"mean": n.mean, "sd": n.sd, "share": n.mean / of} for side, (n, of) in bins.items()}
        found.append({"candidate": each.candidate, "k": each.k, **numbers})
    return found


# Over the square root of k: the largest share by which numbers of texts may differ.
#
# Where both sides are drawn from one distribution, twice n times a divergence is about chi-squared with k degrees of
# freedom (G-test): its mean, which is the bias of a score, is k, and its standard deviation is sqrt(2 k). Each side has
# half of the bias, in proportion to k / n. So if the number of texts on one side differs by a share of s, the bias
# changes by k s / 2. Half of a 95% interval is 1.96 sqrt(2 k): the ratio of the two is s sqrt(k) / 5.5. With s at most
# 0.5 / sqrt(k), a score moves by less than a tenth of half its interval. Where the sides differ, the bias is the same
# and the interval wider. This allows 5% at 100 clusters (1,000 texts) and 0.7% at 5,000.
SIZE_TOLERANCE = 0.5


def alike(sizes: Iterable[int], k: int) -> bool:
    """Return whether scores at these numbers of texts, at least 1 each, may be compared, in k clusters."""
    found = list(sizes)
    return not found or (max(found) - min(found)) * math.sqrt(k) <= SIZE_TOLERANCE * min(found)
