"""Preflight: in what format a candidate differs from the human texts, before its score is believed.

A score may come from leading white space or from where texts are cut, not from the writing. Twelve kinds of format are
measured in every text (:mod:`mauve_core.analysis.format_measures`). For each kind and candidate,
:func:`mauve_core.stats.two_groups.auc_of` says how well this alone tells the two sides apart.

**Rule.** A kind is flagged if both hold:

- its p-value is at most ``LEVEL`` after Holm's correction for the twelve kinds of this candidate (a kind of two
  measures counts its smaller p-value twice), so that a candidate that differs in no format has any flag with a chance
  of at most ``LEVEL``;
- its AUC is at least ``LEAST_EFFECT`` away from 1/2, that is, 10 points between two shares: thousands of texts also
  show differences that move no score.

Texts of one prompt, and equal texts, are not independent, which is taken into account as that function's module says.
A side of too few units (:func:`mauve_core.stats.units.too_few`) has no flag.

Whether a candidate copies human texts is no matter of format and has a rule of its own
(:mod:`mauve_core.analysis.copied`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mauve_core.analysis.copied import LEAST, TITLE, CopiedTexts, copied_texts
from mauve_core.analysis.format_kinds import KINDS, Measure
from mauve_core.analysis.format_measures import (
    FormatMeasures,
    excluded_empty,
    format_measures,
    repeated_of_all,
    repeats,
)
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import (
    NONE,
    SCORE_DECIMALS,
    UNBROKEN,
    as_percent,
    interval,
    printable,
    significant,
    with_plain_spaces,
    written,
)
from mauve_core.base.json_codec import Count, Share
from mauve_core.base.progress import Progress, silent
from mauve_core.base.words import TEXTS, Words
from mauve_core.scoring.result import Comparison
from mauve_core.stats.multiple_tests import holm
from mauve_core.stats.two_groups import Auc, auc_of
from mauve_core.stats.units import too_few
from mauve_core.texts import Corpus
from mauve_core.texts.kinds import kind_of
from mauve_core.texts.pairing import prompts_of, units_among

# Chance of any flag for a candidate whose format does not differ.
LEVEL = 0.01

# Distance of a flagged AUC from 1/2.
LEAST_EFFECT = 0.05

CONFIDENCE = 0.95

# Progress stage; counts sources.
STAGE = "Checking the format"

# Draws the texts in which repetitions are counted, where sides have different sizes.
_SEED = 20_210

_Floats = NDArray[np.float64]
Summary = Literal["share", "median", "mean"]


@dataclass(frozen=True)
class FormatDifference:
    """One kind of format, a candidate against the human side.

    Attributes
    ----------
    kind : str
        A name in ``mauve_core.analysis.format_kinds.KINDS``.
    candidate : str
        Its name.
    measure : str
        What was measured of each text, in words.
    summary : {"share", "median", "mean"}
        What ``human_value`` and ``candidate_value`` are: the share of texts with a yes, or the median; the mean where
        medians are equal. Values are None on a side where no text has the number.
    human_n, candidate_n : int
        Texts that have the number; all of the file where repetitions are counted, of which equally many are compared.
    human_value, candidate_value : float or None
        The share, median or mean of either side.
    auc, low, high : float
        Chance that a candidate's text has the larger number than a human one, with its 95% interval; 1/2 for nothing,
        above it if the candidate has more.
    p : float
        After Holm's correction for the kinds of this candidate.
    flagged : bool
        Whether the difference is large and unlikely enough to doubt the score.
    todo : str
        What to do if it is flagged.
    """

    kind: str
    candidate: str
    measure: str
    summary: Summary
    human_n: Count
    human_value: float | None
    candidate_n: Count
    candidate_value: float | None
    auc: Share
    low: Share
    high: Share
    p: Share
    flagged: bool
    todo: str

    @property
    def title(self) -> str:
        """Title of the kind."""
        return KINDS[self.kind].title

    @property
    def kind_in_words(self) -> str:
        """The title in the middle of a sentence."""
        return self.title[:1].lower() + self.title[1:]


@dataclass(frozen=True)
class Preflight:
    """Every kind for every candidate.

    Attributes
    ----------
    rows : tuple of FormatDifference
        Kinds in the order of ``KINDS``, candidates in their own.
    level : float
        Largest p-value of a flag.
    least_effect : float
        Least distance of a flagged AUC from 1/2.
    confidence : float
        Confidence level of the intervals.
    copied : tuple of CopiedTexts
        One per candidate.
    """

    rows: tuple[FormatDifference, ...]
    level: Share = LEVEL
    least_effect: Share = LEAST_EFFECT
    confidence: Share = CONFIDENCE
    copied: tuple[CopiedTexts, ...] = ()

    @property
    def copying(self) -> tuple[CopiedTexts, ...]:
        """The candidates that copy, those with the largest share first."""
        found = (row for row in self.copied if row.flagged)
        return tuple(sorted(found, key=lambda row: -row.candidate_copied / row.candidate_n))

    @property
    def shown(self) -> bool:
        """Whether there is anything to warn of."""
        return bool(self.flagged or self.copying)

    @property
    def flagged(self) -> tuple[FormatDifference, ...]:
        """The flagged rows by kind, the furthest from 1/2 first: the kinds, and the candidates within a kind."""
        found = sorted((row for row in self.rows if row.flagged), key=lambda row: -abs(row.auc - 0.5))
        kinds = list(dict.fromkeys(row.kind for row in found))
        return tuple(sorted(found, key=lambda row: kinds.index(row.kind)))

    @property
    def clean(self) -> int:
        """Number of candidates without a flag on a format."""
        return len({row.candidate for row in self.rows} - {row.candidate for row in self.flagged})


def preflight(
    corpora: Mapping[str, Corpus], progress: Progress = silent, comparison: Comparison | None = None
) -> Preflight:
    """Check every candidate against the human side.

    Parameters
    ----------
    corpora : mapping of str to Corpus
        By source, including ``human``. A side without prompts is looked up in those of the others, by id.
    progress : callable
        May raise CancelledError.
    comparison : Comparison, optional
        Of these texts, for scores without copied ones.

    Returns
    -------
    Preflight
        Without rows for items that are not texts.
    """
    if not all(kind_of(corpus.kind).has_words for corpus in corpora.values()):
        return Preflight(())
    found: dict[str, FormatMeasures] = {}
    prompts = prompts_of(corpora)
    for done, (name, corpus) in enumerate(corpora.items()):
        progress(STAGE, done, len(corpora))
        found[name] = format_measures(corpus.texts, prompts[name])
    progress(STAGE, len(corpora), len(corpora))
    human = _Side(corpora[HUMAN], found[HUMAN])
    candidates = {name: _Side(corpora[name], found[name]) for name in corpora if name != HUMAN}
    by_candidate = [_compared(name, human, side) for name, side in candidates.items()]
    rows = tuple(row for rows in zip(*by_candidate, strict=True) for row in rows)
    return Preflight(rows, copied=copied_texts(corpora, prompts, comparison))


@dataclass(frozen=True, eq=False)
class _Side:
    corpus: Corpus
    measures: FormatMeasures

    @cached_property
    def units(self) -> NDArray[np.int64]:
        """Unit of each text."""
        return units_among({self.corpus.name: self.corpus})[self.corpus.name]


def _compared(name: str, human: _Side, candidate: _Side) -> list[FormatDifference]:
    numbers = {**human.measures.numbers, **_of_both(human, candidate)[0]}
    others = {**candidate.measures.numbers, **_of_both(human, candidate)[1]}
    codes = human.units, candidate.units
    known = not too_few(*codes)
    best: list[tuple[Measure, Auc]] = []
    p_values = []
    for kind in KINDS.values():
        tried = [(each, _auc(others[each.name], numbers[each.name], codes[1], codes[0])) for each in kind.measures]
        best.append(min(tried, key=lambda pair: pair[1].p))
        p_values.append(min(best[-1][1].p * len(tried), 1.0))
    rows = []
    for kind, (measure, auc), p in zip(KINDS.values(), best, holm(p_values).tolist(), strict=True):
        summary, values = _summary(measure, numbers[measure.name], others[measure.name])
        n = auc.m, auc.n
        if measure.name == "repeats":  # the share of a file is not that of the texts that are compared
            found = [repeated_of_all(side.corpus) for side in (human, candidate)]
            n = found[0][1], found[1][1]
            values = found[0][0] / max(n[0], 1), found[1][0] / max(n[1], 1)
        counted = known or measure.name == "repeats"  # which is about texts, not about what texts have
        rows.append(
            FormatDifference(
                kind=kind.name,
                candidate=name,
                measure=measure.title,
                summary=summary,
                human_n=n[0],
                human_value=values[0],
                candidate_n=n[1],
                candidate_value=values[1],
                auc=auc.auc,
                low=auc.low if counted else 0.0,
                high=auc.high if counted else 1.0,
                p=p if counted else 1.0,
                flagged=counted and p <= LEVEL and abs(auc.auc - 0.5) >= LEAST_EFFECT,
                todo=kind.todo,
            )
        )
    return rows


def _of_both(human: _Side, candidate: _Side) -> tuple[dict[str, _Floats], dict[str, _Floats]]:
    """Return the numbers that depend on both sides: texts in the pooled main language, and repetitions."""
    pooled = Counter(each for side in (human, candidate) for each in side.measures.languages if each)
    main = pooled.most_common(1)[0][0] if pooled else ""
    rng = np.random.default_rng(_SEED)
    size = min(len(side.corpus) + excluded_empty(side.corpus) for side in (human, candidate))
    found = []
    for side in (human, candidate):
        guesses = side.measures.languages
        language = np.array([float(each == main) if each else np.nan for each in guesses], dtype=np.float64)
        found.append({"language": language, "repeats": repeats(side.corpus, size, rng)})
    return found[0], found[1]


def _auc(
    first: _Floats,
    second: _Floats,
    first_codes: NDArray[np.int64],
    second_codes: NDArray[np.int64],
) -> Auc:
    """Compare the numbers that are there; those of drawn texts come without codes."""
    there = [np.isfinite(side) for side in (first, second)]
    codes = [
        None if each.size != kept.size else each[kept]
        for each, kept in zip((first_codes, second_codes), there, strict=True)
    ]
    return auc_of(
        first[there[0]],
        second[there[1]],
        first_groups=codes[0],
        second_groups=codes[1],
        confidence=CONFIDENCE,
    )


def _summary(measure: Measure, human: _Floats, candidate: _Floats) -> tuple[Summary, tuple[float | None, float | None]]:
    sides = [side[np.isfinite(side)] for side in (human, candidate)]

    def values(of: str) -> tuple[float | None, float | None]:
        one, other = (float(getattr(np, of)(side)) if side.size else None for side in sides)
        return one, other

    if measure.binary:
        return "share", values("mean")
    medians = values("median")
    return ("mean", values("mean")) if medians[0] == medians[1] else ("median", medians)


# For people


def headline(found: Preflight) -> str:
    """Say how many candidates copy, how many differ in format, and in what, with the AUC furthest from 1/2."""
    copies = ""
    if found.copying:
        told, total = len(found.copying), len(found.copied)
        who = "The candidate copies" if total == 1 else f"{told} of {total} candidates cop{'ies' if told == 1 else 'y'}"
        copies = f"{who} human texts. "
    if not found.flagged:
        return f"{copies}No difference of format was found in {len(KINDS)} kinds."
    told, total = len({row.candidate for row in found.flagged}), len({row.candidate for row in found.rows})
    who = "The candidate differs" if total == 1 else f"{told} of {total} candidates differ{'s' if told == 1 else ''}"
    return f"{copies}{who} from the human texts in format: {_kinds(found)}."


def short_headline(found: Preflight) -> str:
    """List the flagged kinds with the AUC furthest from 1/2, below a verdict that says who copies and who differs."""
    parts = [TITLE] if found.copying else []
    parts += [f"Differences of format: {_kinds(found)}"] if found.flagged else []
    return ". ".join(parts)


def _kinds(found: Preflight) -> str:
    furthest: dict[str, FormatDifference] = {}
    for row in found.flagged:
        furthest.setdefault(row.kind, row)
    return ", ".join(f"{row.kind_in_words} (AUC {written(row.auc, SCORE_DECIMALS)})" for row in furthest.values())


def rule_sentence(found: Preflight) -> str:
    """Explain the columns and the rule."""
    rule = (
        "AUC: the chance that a candidate's text has more of it than one of the other side, with its "
        f"{found.confidence:.0%} interval; 0.5 tells nothing apart. Listed: p at most {found.level:g} after Holm's "
        f"correction for {len(KINDS)} kinds, and an AUC at least {found.least_effect:g} away from 0.5."
    )
    copied = (
        f" {TITLE} are listed if the interval of the AUC lies above {0.5 + LEAST / 2:g}; human texts are held against "
        "the other human texts."
    )
    return rule + (copied if found.copied else "")


# Columns of :func:`shown_rows`.
COLUMNS = ("Format", "Candidate", "Human", "Candidate's", "AUC", "What to do")


def shown_rows(found: Preflight, rows: Sequence[FormatDifference] | None = None) -> list[tuple[str, ...]]:
    """Return the cells of some rows, the flagged ones by default, unescaped; the second is the candidate's name.

    Copied texts of the candidates that copy come first.
    """
    return [row.cells() for row in found.copying] + [
        (
            f"{row.title}: {_measured(row)}",
            row.candidate,
            _value(row.summary, row.human_value, row.human_n),
            _value(row.summary, row.candidate_value, row.candidate_n),
            _auc_cell(row),
            row.todo,
        )
        for row in (found.flagged if rows is None else rows)
    ]


def to_text(found: Preflight, words: Words = TEXTS) -> str:
    """Format the flagged kinds for a terminal, below a verdict, a line each with the candidate furthest from people."""
    lines = (f"  ! {printable(with_plain_spaces(line))}" for line in flagged_lines(found, words))
    return "\n".join([with_plain_spaces(short_headline(found)), *lines])


def flagged_lines(found: Preflight, words: Words = TEXTS) -> list[str]:
    """Describe each flagged kind with the candidate furthest from the human texts and what to do, unescaped."""
    by_kind: dict[str, list[FormatDifference]] = {}
    for row in found.flagged:
        by_kind.setdefault(row.kind, []).append(row)
    others = len(found.copying) - 1
    lines = [f"{row.line(words)}{f' And {others} more.' if others else ''}" for row in found.copying[:1]]
    for rows in by_kind.values():
        row = rows[0]
        more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        human = _value(row.summary, row.human_value, row.human_n)
        candidate = _value(row.summary, row.candidate_value, row.candidate_n)
        lines.append(
            f"{row.title}: {_measured(row)}: {words.reference} {human}, {row.candidate} {candidate}, "
            f"AUC {_auc_cell(row)}{more}. {row.todo}"
        )
    return lines


def _auc_cell(row: FormatDifference) -> str:
    among = " in equally many texts" if row.kind == "duplicates" and row.human_n != row.candidate_n else ""
    return f"{written(row.auc, SCORE_DECIMALS)} ({interval(row.low, row.high, SCORE_DECIMALS)}){among}"


def _measured(row: FormatDifference) -> str:
    """What the values are: ``median line breaks per 100 words``."""
    return row.measure if row.summary == "share" else f"{row.summary} {row.measure}"


def _value(summary: Summary, value: float | None, n: int) -> str:
    if value is None:
        return NONE
    if summary == "share":
        return f"{round(value * n):,} of {n:,} ({as_percent(value)})".replace(" ", UNBROKEN)
    return significant(value, 3)
