"""Present a comparison as a table and in sentences for people.

No score is shown bare: each has its mean and spread over k-means seeds and its bootstrap interval, beside n, k and
the encoder. Candidates that are not told apart from the first of their group share a rank, any two that are not told
apart a letter.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mauve_core.base.config import SCORES, PartitionKind
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import (
    NONE,
    SCORE_DECIMALS,
    interval,
    over_generations,
    printable,
    with_plain_spaces,
    with_spread,
    written,
)
from mauve_core.base.words import Words
from mauve_core.encoders.catalogue import has_no_tokenizer, with_weights
from mauve_core.scoring.encoder_use import length_in_words, pooling_in_words
from mauve_core.scoring.reduced_integral import floor_sentence, reduced_integral
from mauve_core.scoring.reference import (
    HUMAN_VS_HUMAN,
    REFERENCE_SCORE,
    like_for_like_sentence,
    like_for_like_title,
    reference_sentences,
)
from mauve_core.scoring.result import SIGNIFICANT, Candidate, Comparison, Difference, Source, lower_median
from mauve_core.scoring.spread import Estimate, SeedSpread
from mauve_core.scoring.ties import letters_of, letters_sentence, shared_ranks, tie_rule
from mauve_core.texts.normalizing_steps import titles_of_steps

# Whether a larger score means closer to the human side.
HIGHER_IS_CLOSER = {"mauve": True, "mauve_star": True, "frontier_integral": False, "mid": False}

TITLES = {"mauve": "MAUVE", "mauve_star": "MAUVE*", "frontier_integral": "Frontier integral", "mid": "Mid-point"}

DETECTABLE = "Detectable: a true difference that the test finds 8 times in 10. Four times as many texts halve it."

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
    if score not in HIGHER_IS_CLOSER:
        raise InputError(f"No score is named {score!r}", allowed=", ".join(HIGHER_IS_CLOSER))
    ordered = sorted(
        comparison.candidates, key=lambda item: item.estimate(score, kind).mean, reverse=HIGHER_IS_CLOSER[score]
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
    rule = f"Rank: by mean {TITLES[score]}. From the top, a candidate "
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
    over = "texts" if not paired else "prompts" if paired == len(differences) else "prompts where two share them"
    return words.said(
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
        said = f"Resampled by group: {of_human:,} groups of {comparison.human.n:,} human texts."
    else:
        said = comparison.words.said("Human texts and candidates share no prompts: texts are resampled one by one.")
    if any(np.unique(comparison.contents[name]).size < own.size for name, own in units.items() if comparison.contents):
        said += " Equal texts are resampled together."
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
        "scores like for like with human vs. human take the first generation"
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
    score = f"{TITLES['mauve']} {mean_and_spread(estimate)} ({reach})"
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
    rows = [["Rank", "Letters", "Candidate", "n", "k", *(TITLES[score] for score in SCORES), "Bias-reduced"]]
    for standing in standings(comparison):
        candidate = standing.candidate
        rank = f"{standing.rank} =" if standing.tied else str(standing.rank)
        counts = [texts_scored(candidate.source).replace(",", ""), str(candidate.partitions[0].k)]
        reduced = reduced_integral(comparison, candidate.name)
        own = (NONE, "") if reduced is None else (written(reduced.value, SCORE_DECIMALS), reduced.interval)
        rows.append([rank, standing.letters, printable(candidate.name), *counts, *_means(candidate), own[0]])
        if candidate.source.generations > 1:
            rows.append([*_BELOW, *(_over_generations(candidate.scores[score]) for score in SCORES), ""])
        rows.append([*_interval_row(candidate), own[1]])
    if comparison.halves is not None:
        halves = comparison.halves
        counts = [str(halves.source.n), str(halves.partitions[0].k)]
        rows.append([NONE, "", comparison.words.said(HUMAN_VS_HUMAN), *counts, *_means(halves), NONE])
        rows.append([*_interval_row(halves), ""])
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


def _means(candidate: Candidate) -> list[str]:
    """Format the means with the spread over seeds, named if another one follows."""
    found = []
    for score in SCORES:
        estimate = candidate.scores[score]
        named = " (seeds)" if estimate.generations is not None and estimate.sd is not None else ""
        found.append(with_spread(estimate.mean, estimate.sd, SCORE_DECIMALS) + named)
    return found


def _over_generations(estimate: Estimate) -> str:
    if estimate.generations is None or estimate.generations_sd is None:
        return ""
    return over_generations(estimate.generations_sd, len(estimate.generations), SCORE_DECIMALS)


def _interval_row(candidate: Candidate) -> list[str]:
    return [*_BELOW, *(interval_of(candidate.scores[score]) for score in SCORES)]


def _reading_help(comparison: Comparison) -> str:
    score = comparison.config.score
    repeated = any(source.generations > 1 for source in comparison.sources)
    return "\n".join(
        [
            *textwrap.wrap(f"Each score: {spread_sentence(comparison)};", 110),
            f"below it the {texts_interval(score.confidence, comparison.words.items)} ({score.bootstrap} resamples).",
            *(["n: texts of one generation × generations; k is chosen for one generation."] if repeated else []),
            *filter(None, [pairing_sentence(comparison)]),
            "MAUVE and MAUVE*: 1 is the closest. Frontier integral and mid-point: 0 is the closest.",
            *textwrap.wrap(floor_sentence(comparison), 110),
            *textwrap.wrap(places_sentence(comparison), 110),
            *textwrap.wrap(printable(reference_sentences(comparison)), 110),
            *textwrap.wrap(comparison.words.said(like_for_like_sentence(comparison)), 110),
        ]
    )


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
    lines.append(comparison.words.said("partition: pairwise, each candidate with the human side"))
    if comparison.normalization:
        lines.append(f"normalized on every side before encoding: {titles_of_steps(comparison.normalization)}")
    return lines
